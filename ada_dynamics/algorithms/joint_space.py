# SPDX-License-Identifier: Apache-2.0
"""Several links as one articulated body, by their joint-space equations of motion (Takahashi 2012, eqs. 4.4-4.9).

With M v̇ = τ - h + Σ JᵢᵀFᵢ for the group, whose base floats unless a joint to the world belongs to it: Φᵢⱼ = Jᵢ M⁻¹
Jⱼᵀ. Only the group needs a regular inertia, not its links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ada_dynamics.algorithms import crba, kinematics, rnea
from ada_dynamics.algorithms.articulated_body import NO_OPERATOR, ArticulatedBody, Operator
from ada_dynamics.algorithms.ldl import DenseFactors, factorise_dense
from ada_dynamics.model.joints import Floating
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO3, Scalar, Vec3

AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class SubTree:
    """Some links of a tree as a separate tree; a floating base is at the origin, without rotation."""

    tree: Tree
    joints: tuple[int, ...]  # bodies of the whole tree whose joints are inside
    links: tuple[int, ...]  # bodies of the whole tree, in the order of the part's
    source: Tree

    @property
    def floats(self) -> bool:
        """Return True if the group contains no joint to the world."""
        return len(self.links) > len(self.joints)


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


def local_position(part: SubTree, q: Sequence[Scalar]) -> list[Scalar]:
    """Positions of the sub-tree from those of the whole tree."""
    result: list[Scalar] = []
    for link in part.links:
        result += q[part.source.bodies[link].q] if link in part.joints else AT_ORIGIN
    return result


def local_motion(
    part: SubTree, v: Sequence[Scalar], effort: Sequence[Scalar], w: Mapping[int, Vec3]
) -> tuple[list[Scalar], list[Scalar]]:
    """Velocities and efforts of the sub-tree, from those of the whole tree and the angular velocities of its links."""
    speeds: list[Scalar] = []
    efforts: list[Scalar] = []
    for link in part.links:
        inner, own = link in part.joints, part.source.bodies[link].v
        # the dynamics depend on the angular velocity of the base, not on its linear velocity
        speeds += v[own] if inner else (*ZERO3, *w[link])
        efforts += effort[own] if inner else (0.0,) * 6
    return speeds, efforts


def link_columns(tree: Tree, X: Sequence[Transform], q: Sequence[Scalar], link: int) -> list[Motion]:
    """Jacobian of a body by columns, in its frame."""
    body = tree.bodies[link]
    columns = [NO_MOTION] * tree.nv
    if body.parent != WORLD:
        columns = [X[link].to_child(m) for m in link_columns(tree, X, q, body.parent)]
    columns[body.v] = body.joint.subspace(q[body.q])
    return columns


class JointSpaceBody:
    """A group of links in a given state."""

    def __init__(
        self,
        part: SubTree,
        q: Sequence[Scalar],
        v: Sequence[Scalar],
        effort: Sequence[Scalar],
        w: Mapping[int, Vec3],
        external: Mapping[int, Force],
    ) -> None:
        """Factorize the mass matrix of the group.

        Args:
            part: the links.
            q: positions of the whole tree.
            v: velocities of the whole tree.
            effort: joint efforts of the whole tree.
            w: angular velocities of the links, in their axes.
            external: external wrenches on the links.
        """
        self.part = part
        tree = part.tree
        self._q = local_position(part, q)
        self._v, tau = local_motion(part, v, effort, w)
        self._external = {i: external[link] for i, link in enumerate(part.links) if link in external}
        self.X = kinematics.transforms(tree, self._q)
        h = rnea.inverse_dynamics(tree, self._q, self._v, None, self._external, gravity=not part.floats)
        self._factors: DenseFactors = factorise_dense(crba.mass_matrix(tree, self._q).dense())
        self._alone = self._solve([t - b for t, b in zip(tau, h, strict=True)])
        self._columns = [link_columns(tree, self.X, self._q, i) for i in range(len(part.links))]

    def _solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        return self._factors.backward(self._factors.divided(self._factors.forward(b)))

    def body(self, handles: tuple[int, ...]) -> ArticulatedBody:
        """The group as an articulated body with handles on some links."""
        at = {link: self.part.links.index(link) for link in handles}
        z = {link: self._factors.forward(self._columns[i]) for link, i in at.items()}
        y = {link: [-m for m in self._factors.divided(columns)] for link, columns in z.items()}
        operators: dict[tuple[int, int], Operator] = {
            (i, j): NO_OPERATOR.less_outer(y[i], z[j], i == j) for i in handles for j in handles if i <= j
        }
        moving = self._moving(self._alone)
        bias = {link: Motion(moving[i].wd, moving[i].a) for link, i in at.items()}
        return ArticulatedBody(handles, operators, bias)

    def _moving(self, a: Sequence[Scalar]) -> list[kinematics.Moving]:
        gravity = ZERO3 if self.part.floats else -self.part.tree.gravity
        return kinematics.motions(self.part.tree, self.X, self._q, self._v, a, kinematics.at_rest(gravity))

    def released(self, forces: Mapping[int, Force]) -> dict[int, tuple[list[Scalar], Force]]:
        """q̈ and wrench of the joints inside, by body, for forces on the handles."""
        pull: list[Scalar] = [0.0] * self.part.tree.nv
        given = dict(self._external)
        for link, force in forces.items():
            i = self.part.links.index(link)
            pull = [p + column @ force for p, column in zip(pull, self._columns[i], strict=True)]
            given[i] = given.get(i, NO_FORCE) + force
        a = [x + y for x, y in zip(self._alone, self._solve(pull), strict=True)]
        tree = self.part.tree
        wrenches = rnea.joint_wrenches(tree, self._q, self._v, a, given, gravity=not self.part.floats)
        places = {link: i for i, link in enumerate(self.part.links) if link in self.part.joints}
        return {link: (a[tree.bodies[i].v], wrenches[i]) for link, i in places.items()}
