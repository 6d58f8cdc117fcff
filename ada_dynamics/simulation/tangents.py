# SPDX-License-Identifier: Apache-2.0
"""Changes of states as numbers of x = [q; v], and as velocities: of q on its manifold, and of v."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.tree import Body, Tree


class Tangents:
    """The tangent spaces of a mechanism's states."""

    def __init__(self, tree: Tree) -> None:
        """Args: the mechanism."""
        self._tree = tree
        own = [body for body in tree.bodies if body.is_independent]
        self._turned = [body for body in own if type(body.joint).position_rate is not JointType.position_rate]
        # dq = d_q of all other joints
        self._plain = [
            (i, j)
            for body in own
            if body not in self._turned
            for i, j in zip(range(body.q.start, body.q.stop), range(body.v.start, body.v.stop), strict=True)
        ]

    def basis(self, X: Array) -> Array:
        """E of dx = E [d_q; d_v], (N, nq + nv, 2 nv), with d_q a velocity, in rows of states."""
        E = self._of_plain(len(X))
        for body in self._turned:
            E[:, body.q, body.v] = self._block(body, X)
        return E

    def inverse(self, X: Array) -> Array:
        """E⁻ of [d_q; d_v] = E⁻ dx, (N, 2 nv, nq + nv), for changes that stay on the manifold."""
        inverse = self._of_plain(len(X)).swapaxes(-1, -2)
        for body in self._turned:
            block = self._block(body, X)
            turned = block.swapaxes(-1, -2)
            inverse[:, body.v, body.q] = np.linalg.solve(turned @ block, turned)
        return inverse

    def _of_plain(self, count: int) -> Array:
        nq, nv = self._tree.nq, self._tree.nv
        E = np.zeros((count, nq + nv, 2 * nv))
        E[:, nq:, nv:] = np.eye(nv)
        for i, j in self._plain:
            E[:, i, j] = 1.0
        return E

    def _block(self, body: Body, X: Array) -> Array:
        """q̇ of a joint for each of its velocities, (N, nq, nv)."""
        q = list(X[:, body.q].T)
        block = np.zeros((len(X), body.joint.nq, body.joint.nv))
        for j, unit in enumerate(np.eye(body.joint.nv).tolist()):
            for i, rate in enumerate(body.joint.position_rate(q, unit)):
                block[:, i, j] = rate
        return block
