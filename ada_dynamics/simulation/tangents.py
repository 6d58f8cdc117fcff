# SPDX-License-Identifier: Apache-2.0
"""Changes of states as numbers of x = [q; v], and as velocities: of q on its manifold, and of v."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities.base import position_rates
from ada_dynamics.model.tree import Tree


class Tangents:
    """The tangent spaces of a mechanism's states."""

    def __init__(self, tree: Tree) -> None:
        """Args: the mechanism."""
        self._tree = tree

    def basis(self, X: Array) -> Array:
        """E of dx = E [d_q; d_v], (N, nq + nv, 2 nv), with d_q a velocity, in rows of states."""
        nq, nv = self._tree.nq, self._tree.nv
        E = np.zeros((len(X), nq + nv, 2 * nv))
        E[:, nq:, nv:] = np.eye(nv)
        positions = list(X[:, :nq].T)
        for j, unit in enumerate(np.eye(nv).tolist()):
            for i, rate in enumerate(position_rates(self._tree, positions, unit)):
                E[:, i, j] = rate
        return E

    def inverse(self, X: Array) -> Array:
        """E⁻ of [d_q; d_v] = E⁻ dx, for changes that stay on the manifold."""
        E = self.basis(X)
        return np.asarray(np.linalg.solve(E.swapaxes(-1, -2) @ E, E.swapaxes(-1, -2)), dtype=np.float64)
