# SPDX-License-Identifier: Apache-2.0
"""Derivatives of inverse dynamics by composite bodies: a few products for each pair of related joints.

A change of a coordinate changes the motion with which its joint carries a subtree. In one frame for a whole branch of
the tree, all bodies of the subtree see the same nine numbers,

    δw,   δẇ - δw x w,   δa - 2 δw x V,

where V is the velocity of the body at the origin of the frame. Wrenches are linear in these, so that the responses of
the bodies are added up from the leaves to the base, as inertias are. The effort of a joint changes with a coordinate of
an ancestor by the response of its own subtree, and with one of a descendant by the response of the latter.

Carpentier and Mansard ("Analytical derivatives of rigid body dynamics algorithms", RSS 2018) and Singh, Russell and
Wensing ("Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra", RA-L 2022) derive the
terms by hand. Here they are derivatives of the equations of one joint and one body, `kinematics.moved` and
`rnea.needed_force`. Joints of several branches, or of a serial chain, are computed side by side, in lanes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from functools import cache, cached_property
from operator import add
from typing import Any, NamedTuple

from ada_dynamics.algorithms.kinematics import Moving, at_rest, moved, spin_matrix
from ada_dynamics.algorithms.ldl import SymmetricMatrix
from ada_dynamics.algorithms.passive import joint_passive_efforts
from ada_dynamics.algorithms.rnea import needed_force
from ada_dynamics.algorithms.side_by_side import chains_of, levels_of, packed, related_groups, side_by_side
from ada_dynamics.expr import Function, directional, extract, trace
from ada_dynamics.expr.evaluation import substitute
from ada_dynamics.model.tree import WORLD, Body, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import MatrixRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import (
    UNIT3,
    ZERO,
    ZERO3,
    Mat3,
    Scalar,
    Vec3,
    cross,
    leaves,
    product,
    skew,
    symmetric_of,
)

Vector = Sequence[Scalar]
Vectors = dict[str, list[Scalar]]
Wrenches = Mapping[int, Force]
BY_Q, BY_V, BY_A = VARIABLES = ("dq", "dv", "du")
OF_STATE = (BY_Q, BY_V)
WIDEST = 8  # joints side by side, as many as the widest vectors of any processor have lanes
REST = [ZERO] * 6
AT_ORIGIN = UNIT3, ZERO3


class Change(NamedTuple):
    """Change of the motion of a subtree."""

    turn: Vec3  # δw
    rate: Motion  # δẇ - δw x w, δa - 2 δw x V


class Response(NamedTuple):
    """Change of the wrench of a subtree per change of its motion."""

    inertia: RigidInertia  # per rate
    moment: Mat3  # per turn
    momentum: Vec3  # the force per turn is 2 δw x momentum

    def __add__(self, other: Response) -> Response:  # type: ignore[override]
        return Response(self.inertia + other.inertia, self.moment + other.moment, self.momentum + other.momentum)

    def __matmul__(self, change: Change) -> Force:
        turned = Force(self.moment @ change.turn, 2.0 * cross(change.turn, self.momentum))
        return self.inertia @ change.rate + turned


class JointCoordinate(NamedTuple):
    """One velocity of one joint; changes and wrenches by the variable, its position, rate or acceleration.

    Attributes:
        body: the body that the joint carries.
        j: number of the velocity of the joint.
        axis: column of S.
        effort: of inertia and weight.
        changes: of the motion of the subtree.
        velocities: change of the velocity V of the subtree with positions, in axes that move with it, and with rates.
        wrenches: change of the wrench of the subtree, in axes that move with it.
        passed: the same in fixed axes, as the ancestors feel it.
        felt: change of the effort per number of a change of motion.
        own: further changes of the efforts of the same joint.
    """

    body: Body
    j: int
    axis: Motion
    effort: Scalar
    changes: Mapping[str, Change]
    velocities: Mapping[str, Vec3]
    wrenches: Mapping[str, Force]
    passed: Mapping[str, Force]
    felt: list[Scalar]
    own: Mapping[str, list[Scalar]]


# --- equations of one joint and one body ------------------------------------------------------------------------------
_OF_JOINT = {"place": 6, "relative": 6, "rate": 6}


@cache
def _moved_along() -> Function:
    """Change of `moved` with the place of the frame, near the identity, and with its relative velocity and rate."""

    def body(parent: Vector, **given: Vector) -> Vectors:
        X = Transform(MatrixRotation(UNIT3 + skew(Vec3(*given["place"][:3]))), Vec3(*given["place"][3:]))
        found = moved(X, _motion(given["relative"]), _motion(given["rate"]), _moving(parent))
        pairs = (zip(given[name], given[f"d_{name}"], strict=True) for name in _OF_JOINT)
        seeds = {x: change for each in pairs for x, change in each}
        return {"change": directional((*found.w, *found.wd, *found.a), seeds)}

    return trace("moved_along", {"parent": 9, **_OF_JOINT, **{f"d_{name}": 6 for name in _OF_JOINT}}, body)


@cache
def _moment_along() -> Function:
    """Change of the moment of `needed_force` with each component of δw, a row each."""

    def body(inertia: Vector, moving: Vector, V: Vector) -> Vectors:
        found = needed_force(RigidInertia(inertia[0], Vec3(*inertia[1:4]), symmetric_of(inertia[4:])), _moving(moving))
        w, rows = Vec3(*moving[:3]), []
        for e in UNIT3:
            change = (*e, *cross(e, w), *(2.0 * cross(e, Vec3(*V))))
            rows += directional(found.moment, dict(zip(moving, change, strict=True)))
        return {"rows": rows}

    return trace("moment_along", {"inertia": 10, "moving": 9, "V": 3}, body)


def _joint_along(body: Body) -> Function:
    """Subspace, relative velocity, its rate and passive efforts of a joint, and their changes with each variable."""
    joint, n = body.joint, body.joint.nv

    def along(q: Vector, v: Vector, a: Vector) -> Vectors:
        found = {
            "subspace": leaves(joint.subspace(q)),
            "relative": leaves(joint.relative_velocity(q, v)),
            "rate": leaves(joint.bias(q, v) + joint.relative_velocity(q, a)),
            "passive": joint_passive_efforts(body, q, v),
        }
        result = dict(found)
        for j in range(n):
            unit = [float(i == j) for i in range(n)]
            for variable, x, change in ((BY_Q, q, joint.position_rate(q, unit)), (BY_V, v, unit), (BY_A, a, unit)):
                seeds = dict(zip(x, change, strict=True))
                result |= {f"{variable}_{j}_{name}": directional(values, seeds) for name, values in found.items()}
        return result

    return trace("joint_along", {"q": joint.nq, "v": n, "a": n}, along)


def _of_motion(carrier: Any, pose: Any, of_joint: Sequence[Motion], parent: Any, velocity: Vec3) -> tuple[Any, ...]:
    """Pose, motion and velocity of a body in the frame of its branch, and S v, its rate and S in this frame."""
    X = (_pose(*carrier) @ _pose(*pose)).flat()
    relative, rate, *subspace = map(X.to_parent, of_joint)
    motion = moved(Transform(), relative, rate, _moving(leaves(parent)))
    return (X.rotation.matrix(), X.position), motion[:3], velocity + relative.linear, (relative, rate, *subspace)


def _of_body(R: Mat3, p: Vec3, inertia: RigidInertia, motion: Sequence[Vec3], V: Vec3) -> tuple[Response, Force]:
    """Response of one body to changes of its motion, and the wrench that it needs."""
    moving = _moving(leaves(motion))
    inertia = _pose(R, p).to_parent(inertia)
    about = inertia.about_origin
    entries = (inertia.mass, *inertia.first_moment, *about[0], *about[1][1:], about[2][2])
    # the moment is linear in ẇ and a, so that they do not matter
    rows = substitute(_moment_along(), {"inertia": entries, "moving": (*moving.w, *REST), "V": V})["rows"]
    moment = Mat3.of((rows[:3], rows[3:6], rows[6:])).T
    return Response(inertia, moment, (inertia @ Motion(moving.w, V)).force), needed_force(inertia, moving)


def _of_coordinate(
    pose: tuple[Mat3, Vec3],
    axis: Motion,
    relative: Motion,
    rate: Motion,
    along: Sequence[tuple[Scalar, Motion, Motion]],
    parent: Sequence[Vec3],
    w: Vec3,
    V: Vec3,
    response: Response,
    wrench: Force,
) -> tuple[Any, ...]:
    """Effort, changes of motion and velocity, wrenches, passed wrenches, and what is felt per change.

    `along` has the changes of place (1: along the axis), relative velocity and rate with each variable, the
    acceleration last.
    """
    seen, places = _pose(*pose).to_parent, [x * axis for x, _, _ in along]
    state = {"parent": leaves(parent), "place": REST, "relative": leaves(relative), "rate": leaves(rate)}
    changes, velocities = [], []
    for place, (_, *rates) in zip(places, along, strict=True):
        d_relative, d_rate = map(seen, rates)
        given = {"d_place": leaves(place), "d_relative": leaves(d_relative), "d_rate": leaves(d_rate)}
        x = substitute(_moved_along(), {**state, **given})["change"]
        turn, wd, acceleration = (Vec3(*x[3 * k : 3 * k + 3]) for k in range(3))
        changes.append(Change(turn, Motion(wd - cross(turn, w), acceleration - 2.0 * cross(turn, V))))
        carried = cross(parent[0], place.linear) + cross(V - relative.linear, place.angular)
        velocities.append(carried + d_relative.linear)
    wrenches = tuple(response @ change for change in changes)
    passed = tuple(own + place.cross_force(wrench) for own, place in zip(wrenches, places, strict=True))
    per_turn = response.moment.T @ axis.angular + 2.0 * cross(response.momentum, axis.linear)
    felt = (per_turn, wrenches[-1])  # the inertia is symmetric
    return axis @ wrench, tuple(changes), tuple(velocities), wrenches, passed, felt


def _pose(R: Mat3, p: Vec3) -> Transform:
    return Transform(MatrixRotation(R), p)


def _motion(x: Vector) -> Motion:
    return Motion(Vec3(*x[:3]), Vec3(*x[3:6]))


def _moving(x: Vector) -> Moving:
    w, wd, a = (Vec3(*x[3 * i : 3 * i + 3]) for i in range(3))
    return Moving(w, wd, a, spin_matrix(w, wd))


# --- all joints -------------------------------------------------------------------------------------------------------
class RneaDerivatives:
    """Changes of the efforts M a + h, less those of wrenches that are fixed to bodies, with the coordinates of a tree.

    Attributes:
        groups: velocities whose columns are computed side by side.
        related: velocities with the same ancestors and descendants outside of their group, whatever the processor.
        coordinates: by velocity, those of all joints that move with it; several if joints mimic others.
        bases: of each body, pose in the world of the frame of its branch, which is that of its first body.
        poses: of each body in this frame.
        moving: motion of each body in this frame.
        velocities: of each body at the origin of this frame.
        paths: of each body, itself and its ancestors.
    """

    def __init__(
        self, tree: Tree, q: Vector, v: Vector, a: Vector, widest: int = WIDEST, variables: Sequence[str] = VARIABLES
    ) -> None:
        """Compute motion and changes in a state, with some variables of which the acceleration is the last one."""
        self._ancestry = [tree.ancestry(body.index) for body in tree.bodies]
        self.paths = [frozenset(path) for path in self._ancestry]
        self.tree, self.groups = tree, related_groups(tree, self.paths, widest)
        self.related = related_groups(tree, self.paths, WIDEST)
        self._state, self._variables = (q, v), variables
        self._equations = [_joint_along(body) for body in tree.bodies]
        self._levels = levels_of(tree, widest)
        self._chains = chains_of(tree, self._levels, widest)
        self._chain_of = {i: chain for chain in self._chains for i in chain}
        self._move(a)
        self._load({})

    def accelerated(self, a: Vector, wrenches: Wrenches) -> RneaDerivatives:
        """Changes with all variables, for other accelerations, and wrenches in the frames of the branches."""
        other = copy(self)
        other._variables = VARIABLES
        other._move(a)
        other._load(wrenches)
        return other

    def is_above(self, i: int, j: int) -> bool:
        """Return True if velocity i is that of one joint, which carries the joint of velocity j and is another one."""
        both = self.coordinates[i], self.coordinates[j]
        are_plain = all(len(own) == 1 and own[0].body.multiplier == 1.0 for own in both)
        return are_plain and self._carries(both[0][0], both[1][0])

    def entries(self, variable: str, i: int, group: Sequence[int]) -> list[Scalar]:
        """Changes of effort i with the coordinates of a group."""
        return [self.mass_matrix[i, j] if variable == BY_A else self._entry(variable, i, j) for j in group]

    def efforts(self, index: int, wrench: Force) -> dict[int, Scalar]:
        """Efforts of a wrench on a body in the frame of its branch, by velocity; its numbers may have lanes."""
        found: dict[int, Scalar] = {}
        for i, own in enumerate(self.coordinates):
            for one in own:
                if one.body.index in self.paths[index]:
                    found[i] = found.get(i, ZERO) + one.body.multiplier * (one.axis @ wrench)
        return found

    def bias_efforts(self) -> list[Scalar]:
        """h, where the accelerations are zero."""
        result: list[Scalar] = []
        for i, own in enumerate(self.coordinates):
            passive = (self._joints[one.body.index]["passive"][i - one.body.v.start] for one in own)
            efforts = (one.body.multiplier * (one.effort + x) for one, x in zip(own, passive, strict=True))
            result.append(sum(efforts, ZERO))
        return result

    @cached_property
    def mass_matrix(self) -> SymmetricMatrix:
        """Changes of the efforts with the accelerations."""
        M = SymmetricMatrix(self.tree.nv)
        for j in range(self.tree.nv):
            for i in range(j + 1):
                M.add(i, j, self._entry(BY_A, i, j))
        return M

    def _entry(self, variable: str, i: int, j: int) -> Scalar:
        pairs = ((effort, other) for effort in self.coordinates[i] for other in self.coordinates[j])
        terms = (a.body.multiplier * b.body.multiplier * self._between(variable, a, b) for a, b in pairs)
        return sum(terms, ZERO)

    def _between(self, variable: str, effort: JointCoordinate, other: JointCoordinate) -> Scalar:
        """Change of the effort of one coordinate with another one, without multipliers."""
        is_above, is_own = self._carries(effort, other), effort.body is other.body
        if not (is_above or is_own or self._carries(other, effort)):
            return ZERO
        efforts, others, lane = self._beside(effort, other)
        key = (variable, is_above, *((one.body.index, one.j) for one in (*efforts, *others)))
        if key not in self._products and (is_above or is_own):
            wrenches = packed([(one.wrenches if is_own else one.passed)[variable] for one in others])
            self._products[key] = packed([one.axis for one in efforts]) @ wrenches
        elif key not in self._products:
            changes = leaves(packed([one.changes[variable] for one in others]))
            self._products[key] = product(packed([tuple(one.felt) for one in efforts]), changes)
        found = extract(self._products[key], lane)
        return found + other.own[variable][effort.j] if is_own else found

    def _beside(
        self, effort: JointCoordinate, other: JointCoordinate
    ) -> tuple[list[JointCoordinate], list[JointCoordinate], int]:
        """Pairs of coordinates that are computed side by side, if possible equally far apart, and the lane of one."""
        lower, upper = (effort, other) if self._carries(other, effort) else (other, effort)
        chain, path = self._chain_of[lower.body.index], self._ancestry[lower.body.index]
        distance = path.index(upper.body.index)
        above = [self.tree.bodies[i] for k in chain for i in self._ancestry[k][distance : distance + 1]]
        alike = len(above) == len(chain) and {body.joint.nv for body in above} == {upper.body.joint.nv}
        if alike and (distance == 0 or chain in self._levels):
            lowers = [self._by_joint[i, lower.j] for i in chain]
            uppers = [self._by_joint[body.index, upper.j] for body in above]
            pairs = (lowers, uppers) if lower is effort else (uppers, lowers)
            return *pairs, chain.index(lower.body.index)
        chain = self._chain_of[other.body.index]
        return [effort] * len(chain), [self._by_joint[i, other.j] for i in chain], chain.index(other.body.index)

    def _carries(self, a: JointCoordinate, b: JointCoordinate) -> bool:
        return a.body is not b.body and a.body.index in self.paths[b.body.index]

    def _move(self, a: Vector) -> None:
        """Compute the motion of each body, its composite response, and the wrench that it needs."""
        self.bases: dict[int, Transform] = {}
        self.poses: dict[int, Transform] = {}
        self._places: dict[int, tuple[Mat3, Vec3]] = {}  # the same as numbers
        self.moving: dict[int, Moving] = {}
        self.velocities: dict[int, Vec3] = {}
        self._of_joints: dict[int, Sequence[Motion]] = {}  # S v, its rate, and S
        self._parents: dict[int, Moving] = {}  # motion of what carries each body
        q, v = self._state
        own = [{"q": body.positions(q), "v": body.velocities(v), "a": body.velocities(a)} for body in self.tree.bodies]
        self._joints = [substitute(along, each) for along, each in zip(self._equations, own, strict=True)]
        for level in reversed(self._levels):
            items = [self._in_parent(self.tree.bodies[i], own[i]["q"]) for i in level]
            for i, (place, motion, *more) in zip(level, side_by_side(_of_motion, items), strict=True):
                self.poses[i], self._places[i], self.moving[i] = _pose(*place), place, _moving(leaves(motion))
                self.velocities[i], self._of_joints[i] = more
        found: dict[int, tuple[Response, Force]] = {}
        for chain in self._chains:
            motions = ((self._places[i], self.moving[i][:3], self.velocities[i]) for i in chain)
            items = [(*place, self.tree.bodies[i].inertia, *x) for i, (place, *x) in zip(chain, motions, strict=True)]
            found |= zip(chain, side_by_side(_of_body, items), strict=True)
        self._responses = self._composite([found[i][0] for i in range(len(found))])
        self._needed = [found[i][1] for i in range(len(found))]

    def _in_parent(self, body: Body, q: Vector) -> tuple[Any, ...]:
        """Pose and motion of what carries a body, and those of its joint."""
        i, above, pose, joint = body.index, body.parent, body.transform(q), self._joints[body.index]
        place = pose.rotation.matrix(), pose.position
        if above == WORLD:
            carrier, place, velocity = AT_ORIGIN, AT_ORIGIN, ZERO3
            self.bases[i], self._parents[i] = pose, at_rest(pose.rotation.to_child(-self.tree.gravity))
        else:
            carrier, velocity = self._places[above], self.velocities[above]
            self.bases[i], self._parents[i] = self.bases[above], self.moving[above]
        numbers = (*joint["relative"], *joint["rate"], *joint["subspace"])
        of_joint = tuple(_motion(numbers[k:]) for k in range(0, len(numbers), 6))
        return carrier, place, of_joint, self._parents[i][:3], velocity

    def _composite(self, values: Sequence[Any]) -> list[Any]:
        """Sum over each body and all that it carries."""
        total = list(values)
        parents = [body.parent for body in self.tree.bodies]
        for level in self._levels:
            is_branch = [parents[i] for i in level] in self._levels
            for some in [level] if is_branch else [[i] for i in level if parents[i] != WORLD]:
                sums = side_by_side(add, [(total[parents[i]], total[i]) for i in some])
                for i, x in zip(some, sums, strict=True):
                    total[parents[i]] = x
        return total

    def _load(self, applied: Wrenches) -> None:
        """Compute the coordinates of the joints, with wrenches on bodies."""
        wrenches = [x - applied[i] if i in applied else x for i, x in enumerate(self._needed)]
        self._wrenches: list[Force] = self._composite(wrenches)
        self.coordinates: list[list[JointCoordinate]] = [[] for _ in range(self.tree.nv)]
        self._by_joint: dict[tuple[int, ...], JointCoordinate] = {}
        self._products: dict[Hashable, Scalar] = {}
        for chain in self._chains:
            for j in range(self.tree.bodies[chain[0]].joint.nv):
                self._add_coordinates([self.tree.bodies[i] for i in chain], j)

    def _add_coordinates(self, chain: Sequence[Body], j: int) -> None:
        """Velocity j of the joints of some bodies, side by side."""
        items: list[tuple[Any, ...]] = []
        for body in chain:
            i, joint = body.index, self._joints[body.index]
            relative, rate, *axes = self._of_joints[i]
            along = []
            for variable in self._variables:
                rates = (_motion(joint[f"{variable}_{j}_{name}"]) for name in ("relative", "rate"))
                along.append((float(variable == BY_Q), *rates))
            state = (self._parents[i][:3], self.moving[i].w, self.velocities[i], self._responses[i], self._wrenches[i])
            items.append((self._places[i], axes[j], relative, rate, tuple(along), *state))
        for body, item, found in zip(chain, items, side_by_side(_of_coordinate, items), strict=True):
            by_variable = [dict(zip(self._variables, each, strict=True)) for each in found[1:5]]
            further = {variable: self._own(body, variable, j) for variable in self._variables}
            made = JointCoordinate._make((body, j, item[1], found[0], *by_variable, leaves(found[5]), further))
            self.coordinates[body.v.start + j].append(made)
            self._by_joint[body.index, j] = made

    def _own(self, body: Body, variable: str, j: int) -> list[Scalar]:
        """Changes of the efforts of a joint by those of its subspace, of passive efforts and of armature."""
        joint, X, wrench = self._joints[body.index], self.poses[body.index], self._wrenches[body.index]
        turned, passive = (joint[f"{variable}_{j}_{name}"] for name in ("subspace", "passive"))
        efforts = [X.to_parent(_motion(turned[6 * k :])) @ wrench + passive[k] for k in range(body.joint.nv)]
        if variable == BY_A:
            efforts[j] = efforts[j] + body.armature
        return efforts
