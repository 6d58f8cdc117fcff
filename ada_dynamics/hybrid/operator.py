# SPDX-License-Identifier: Apache-2.0
"""A sub-chain as one articulated body, by its equations of motion (Takahashi 2012, eqs. 4.1-4.9, 4.12-4.33).

With M v̇ = τ - h + Σ Jᵢᵀ Fᵢ for the piece alone, Φᵢⱼ = Jᵢ M⁻¹ Jⱼᵀ and Bᵢ = Jᵢ M⁻¹ (τ - h) + J̇ᵢ v (eqs. 4.7, 4.8). The
base of the piece floats with six velocities where its inboard joint is cut, and is the world where it is not (eqs.
4.19, 4.20). M⁻¹ is not formed: with M = Lᵀ D L, eliminated from the leaves to the base, and Zᵢ = L⁻ᵀ Jᵢᵀ,

    Φᵢⱼ = Zᵢᵀ D⁻¹ Zⱼ,    Bᵢ = Zᵢᵀ D⁻¹ t + J̇ᵢ v,    t = L⁻ᵀ (τ - h),    L v̇ = D⁻¹ (t + Σ Zᵢ Fᵢ)

The last one is eq. 4.9: the base comes first on the way back, and the joints follow from its acceleration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada_dynamics.algorithms import kinematics
from ada_dynamics.algorithms.articulated_body import NO_OPERATOR, ArticulatedBody
from ada_dynamics.algorithms.joint_space import SubTree, local_motion, local_position
from ada_dynamics.hybrid.elimination import Method, PieceState
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.vector import ZERO3, Scalar, Vec3


class SubChain:
    """A piece of a tree in a state."""

    def __init__(
        self,
        part: SubTree,
        q: Sequence[Scalar],
        v: Sequence[Scalar],
        effort: Sequence[Scalar],
        w: Mapping[int, Vec3],
        external: Mapping[int, Force],
        method: Method,
    ) -> None:
        """Args: the piece; q, v, efforts, angular velocities and external wrenches of the tree; how to factorise M."""
        self.part = part
        tree = part.tree
        self._q = local_position(part, q)
        self._v, tau = local_motion(part, v, effort, w)
        outside = {i: external[link] for i, link in enumerate(part.links) if link in external}
        X = kinematics.transforms(tree, self._q)
        # a piece that floats is weightless: its weight is an acceleration of the world, which it meets at its joints
        upward = ZERO3 if part.floats else -tree.gravity
        self._carried = kinematics.motions(tree, X, self._q, self._v, None, kinematics.at_rest(upward))
        state = PieceState(tree, self._q, X, self._carried, tau, outside)
        self._factors = method(state)
        self._pulled: dict[int, list[Motion]] = {}  # Z of each handle

    def body(self, handles: tuple[int, ...]) -> ArticulatedBody:
        """Φ and B of eqs. 4.7 and 4.8, with handles on some links (by their numbers in the whole tree)."""
        place = {link: self.part.links.index(link) for link in handles}
        self._pulled = {link: self._factors.pulled(i) for link, i in place.items()}
        eased = {
            link: [-d * m for m, d in zip(z, self._factors.inverse, strict=True)] for link, z in self._pulled.items()
        }
        operators = {
            (i, j): NO_OPERATOR.less_outer(eased[i], self._pulled[j], i == j)
            for i in handles
            for j in handles
            if i <= j
        }
        bias = {}
        for link, i in place.items():
            own = Motion(self._carried[i].wd, self._carried[i].a)
            for m, value in zip(eased[link], self._factors.t, strict=True):
                own = own - value * m
            bias[link] = own
        return ArticulatedBody(handles, operators, bias)

    def released(self, forces: Mapping[int, Force]) -> dict[int, list[Scalar]]:
        """q̈ of the joints inside (eq. 4.9), by body of the whole tree, for forces on the handles."""
        t = list(self._factors.t)
        for link, force in forces.items():
            t = [x + z @ force for x, z in zip(t, self._pulled[link], strict=True)]
        a = self._factors.rates([d * x for d, x in zip(self._factors.inverse, t, strict=True)])
        bodies = self.part.tree.bodies
        return {link: a[bodies[i].v] for i, link in enumerate(self.part.links) if link in self.part.joints}
