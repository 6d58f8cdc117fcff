# SPDX-License-Identifier: Apache-2.0
"""Several links as one articulated body, by their equations of motion (Takahashi 2012, eqs. 4.1-4.9, 4.12-4.33).

With M v̇ = τ - h + Σ Jᵢᵀ Fᵢ for the links, Φᵢⱼ = Jᵢ M⁻¹ Jⱼᵀ and Bᵢ = Jᵢ M⁻¹ (τ - h) + J̇ᵢ v (eqs. 4.7, 4.8). Only the
whole needs a regular inertia, not each link. The base floats with six velocities if its inboard joint is cut, and is
the world otherwise (eqs. 4.19, 4.20). M⁻¹ is not formed: with M = Lᵀ D L, eliminated from the leaves to the base, and
Zᵢ = L⁻ᵀ Jᵢᵀ,

    Φᵢⱼ = Zᵢᵀ D⁻¹ Zⱼ,    Bᵢ = Zᵢᵀ s + J̇ᵢ v,    s = D⁻¹ L⁻ᵀ (τ - h),    L v̇ = s + Σ D⁻¹ Zᵢ Fᵢ

The last equation is eq. 4.9: the acceleration of the base is computed first, and those of the joints follow from it.

M is factorized either entry by entry, at a cost that grows with the cube of the number of links, or joint by joint with
articulated inertias, which have the same pivots D, at a cost that grows linearly. Which of them is cheaper depends on
the robot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ada_dynamics.algorithms import aba, crba, kinematics, rnea
from ada_dynamics.algorithms.articulated_body import NO_OPERATOR, ArticulatedBody
from ada_dynamics.algorithms.joint_equations import Outcome, Release
from ada_dynamics.algorithms.ldl import factorise
from ada_dynamics.model.joints import Floating
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import UNIT3, ZERO3, Scalar, Vec3

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class SubTree:
    """Some links of a tree as a separate tree; a floating base is at the origin, without rotation."""

    tree: Tree
    joints: tuple[int, ...]  # bodies of the whole tree whose joints are inside
    links: tuple[int, ...]  # bodies of the whole tree, in the order of the part's
    source: Tree


def sub_tree(tree: Tree, joints: Sequence[int]) -> SubTree:
    """The links connected by some joints of a tree (given by their bodies)."""
    inner = sorted(joints)
    links = sorted({link for j in inner for link in (j, tree.bodies[j].parent)} - {WORLD})
    place = {link: i for i, link in enumerate(links)}
    bodies: list[Body] = []
    nq = nv = 0
    for i, link in enumerate(links):
        own = replace(tree.bodies[link], index=i, damping=0.0, friction=0.0, stiffness=0.0)
        if link in inner:
            own = replace(own, parent=place.get(own.parent, WORLD))
        else:
            own = replace(own, parent=WORLD, joint=Floating(), placement=Transform(), armature=0.0)
        own = replace(own, q=slice(nq, nq + own.joint.nq), v=slice(nv, nv + own.joint.nv))
        nq, nv = nq + own.joint.nq, nv + own.joint.nv
        bodies.append(own)
    return SubTree(Tree(tuple(bodies), {}, tree.gravity, nq, nv), tuple(inner), tuple(links), tree)


def link_columns(tree: Tree, X: Sequence[Transform], q: Sequence[Scalar], link: int) -> list[Motion]:
    """Jacobian of a body by columns, in its frame."""
    body = tree.bodies[link]
    columns = [NO_MOTION] * tree.nv
    if body.parent != WORLD:
        columns = [X[link].to_child(m) for m in link_columns(tree, X, q, body.parent)]
    columns[body.v] = body.joint.subspace(q[body.q])
    return columns


class SubChain(ABC):
    """A sub-chain of a tree in a given state, with the factors of its mass matrix."""

    inverse: Sequence[Scalar]  # D⁻¹
    s: Sequence[Scalar]  # D⁻¹ L⁻ᵀ (τ - h)

    def __init__(
        self,
        part: SubTree,
        q: Sequence[Scalar],
        v: Sequence[Scalar],
        effort: Sequence[Scalar],
        w: Mapping[int, Vec3],
        external: Mapping[int, Force],
    ) -> None:
        """Compute the motion of the links with zero joint accelerations.

        Args:
            part: the sub-chain.
            q: positions of the tree.
            v: velocities of the tree.
            effort: joint efforts of the tree.
            w: angular velocities of the links, in their axes.
            external: external wrenches on the links.
        """
        self.part, self.tree = part, part.tree
        self.q: list[Scalar] = []
        self.v: list[Scalar] = []
        self.tau: list[Scalar] = []
        for link in part.links:
            own, inner = part.source.bodies[link], link in part.joints
            self.q += q[own.q] if inner else AT_ORIGIN
            # the dynamics depend on the angular velocity of the base, not on its linear velocity
            self.v += v[own.v] if inner else (*ZERO3, *w[link])
            self.tau += effort[own.v] if inner else (0.0,) * 6
        self._external = {i: external[link] for i, link in enumerate(part.links) if link in external}
        self.X = kinematics.transforms(self.tree, self.q)
        # a floating sub-chain, with a link more than joints, is weightless: weight is an acceleration of the world,
        # which acts through its joints
        upward = ZERO3 if len(part.links) > len(part.joints) else -self.tree.gravity
        self._moving = kinematics.motions(self.tree, self.X, self.q, self.v, None, kinematics.at_rest(upward))
        self._eased: dict[int, list[Motion]] = {}  # -D⁻¹ Z of each handle

    @abstractmethod
    def pulled(self, link: int) -> list[Motion]:
        """Z = L⁻ᵀ Jᵀ of a link, one row per velocity."""

    @abstractmethod
    def rates(self, y: Sequence[Scalar]) -> list[Scalar]:
        """L⁻¹ y."""

    def needed(self) -> list[Force]:
        """Wrench of inertia and weight of each body, minus the external wrench."""
        wrenches = [rnea.needed_force(body.inertia, m) for body, m in zip(self.tree.bodies, self._moving, strict=True)]
        for i, given in self._external.items():
            wrenches[i] = wrenches[i] - given
        return wrenches

    def body(self, handles: tuple[int, ...]) -> ArticulatedBody:
        """Φ and B of eqs. 4.7 and 4.8, with handles on some links (given by their bodies in the whole tree)."""
        place = {link: self.part.links.index(link) for link in handles}
        pulled = {link: self.pulled(i) for link, i in place.items()}
        self._eased = {link: [-d * m for m, d in zip(z, self.inverse, strict=True)] for link, z in pulled.items()}
        pairs = [(i, j) for i in handles for j in handles if i <= j]
        operators = {(i, j): NO_OPERATOR.less_outer(self._eased[i], pulled[j], i == j) for i, j in pairs}
        bias = {}
        for link, i in place.items():
            own = Motion(self._moving[i].wd, self._moving[i].a)
            for m, value in zip(pulled[link], self.s, strict=True):
                own = own + value * m
            bias[link] = own
        return ArticulatedBody(handles, operators, bias)

    def release(self, forces: Mapping[int, Force]) -> Release:
        """q̈ of each joint inside (eq. 4.9), by body of the whole tree, for forces on the handles; without wrenches."""
        y = list(self.s)
        for link, force in forces.items():
            y = [x - z @ force for x, z in zip(y, self._eased[link], strict=True)]
        a = self.rates(y)
        inside = {link: i for i, link in enumerate(self.part.links) if link in self.part.joints}
        return Release({link: (Outcome([], a[self.tree.bodies[i].v]), NO_FORCE) for link, i in inside.items()}, {})


class ByMassMatrix(SubChain):
    """Composite inertias, followed by elimination of one velocity after the other."""

    def __init__(self, *state: Any) -> None:
        """Args: as for `SubChain`."""
        super().__init__(*state)
        self._factors = factorise(crba.mass_matrix(self.tree, self.q))
        self.inverse = self._factors.inverse
        needed = rnea.gather_efforts(self.tree, self.q, kinematics.inward_sums(self.tree, self.X, self.needed()))
        left = self._factors.forward([a - b for a, b in zip(self.tau, needed, strict=True)])
        self.s = self._factors.divided(left)

    def pulled(self, link: int) -> list[Motion]:
        """Z of a link."""
        return self._factors.forward(link_columns(self.tree, self.X, self.q, link))

    def rates(self, y: Sequence[Scalar]) -> list[Scalar]:
        """L⁻¹ y."""
        return self._factors.backward(y)


class ByArticulatedInertia(SubChain):
    """Elimination by articulated inertias, eqs. 2.26-2.34 within the sub-chain."""

    def __init__(self, *state: Any) -> None:
        """Args: as for `SubChain`."""
        super().__init__(*state)
        inertia = [ArticulatedInertia.of_rigid(body.inertia) for body in self.tree.bodies]
        wrenches = self.needed()
        self.s: list[Scalar] = [0.0] * self.tree.nv
        self.inverse: list[Scalar] = [0.0] * self.tree.nv
        self._L: list[Force] = [NO_FORCE] * self.tree.nv  # U/D
        for body in reversed(self.tree.bodies):
            i, v = body.index, body.v
            free = aba.eliminate_joint(body, self.q[body.q], self.tau[v], inertia[i], wrenches[i])
            self._L[v] = [pivot.U_over_D for pivot in free.pivots]
            self.inverse[v] = free.inverse_D
            self.s[v] = [pivot.u_over_D for pivot in free.pivots]
            if body.parent != WORLD:
                inertia[body.parent] = inertia[body.parent] + self.X[i].to_parent(free.inertia)
                wrenches[body.parent] = wrenches[body.parent] + self.X[i].to_parent(free.wrench)

    def pulled(self, link: int) -> list[Motion]:
        """Z of a link: the projection of six unit forces on the joints on their path to the base."""
        rows = [NO_MOTION] * self.tree.nv
        forces = [Force(e, ZERO3) for e in UNIT3] + [Force(ZERO3, e) for e in UNIT3]
        while link != WORLD:
            body = self.tree.bodies[link]
            for k, s in zip(range(body.v.start, body.v.stop), body.joint.subspace(self.q[body.q]), strict=True):
                felt = [s @ force for force in forces]
                rows[k] = Motion(Vec3(*felt[:3]), Vec3(*felt[3:]))
                forces = [force - x * self._L[k] for force, x in zip(forces, felt, strict=True)]
            forces = [self.X[link].to_parent(force) for force in forces]
            link = body.parent
        return rows

    def rates(self, y: Sequence[Scalar]) -> list[Scalar]:
        """L⁻¹ y."""
        result: list[Scalar] = [0.0] * self.tree.nv
        accelerations: list[Motion] = []
        for body in self.tree.bodies:
            v = body.v
            pivots = [aba.Pivot(L, x) for L, x in zip(self._L[v], y[v], strict=True)]
            above = NO_MOTION
            if body.parent != WORLD:
                above = self.X[body.index].to_child(accelerations[body.parent])
            result[v], own = aba.joint_acceleration(body, self.q[body.q], pivots, above)
            accelerations.append(own)
        return result
