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
`rnea.needed_force`. Joints of one branch are computed side by side, in lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

from ada_dynamics.algorithms.kinematics import Moving, at_rest, moved, spin_matrix
from ada_dynamics.algorithms.ldl import SymmetricMatrix
from ada_dynamics.algorithms.passive import joint_passive_efforts
from ada_dynamics.algorithms.rnea import needed_force
from ada_dynamics.expr import Function, directional, extract, pack, trace
from ada_dynamics.expr.evaluation import substitute
from ada_dynamics.expr.per_lane import per_lane
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
Result = TypeVar("Result")
BY_Q, BY_V, BY_A = VARIABLES = ("dq", "dv", "du")
OF_STATE = (BY_Q, BY_V)
WIDEST = 8  # joints side by side, as many as the widest vectors of any processor have lanes
REST = [ZERO] * 6


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


def _of_body(R: Mat3, p: Vec3, inertia: RigidInertia, motion: Sequence[Vec3], V: Vec3) -> tuple[Response, Force]:
    """Response of one body to changes of its motion, and the wrench that it needs."""
    moving = _moving(leaves(motion))
    inertia = Transform(MatrixRotation(R), p).to_parent(inertia)
    about = inertia.about_origin
    entries = (inertia.mass, *inertia.first_moment, *about[0], *about[1][1:], about[2][2])
    # the moment is linear in ẇ and a, so that they do not matter
    rows = substitute(_moment_along(), {"inertia": entries, "moving": (*moving.w, *REST), "V": V})["rows"]
    moment = Mat3.of((rows[:3], rows[3:6], rows[6:])).T
    return Response(inertia, moment, (inertia @ Motion(moving.w, V)).force), needed_force(inertia, moving)


def _of_coordinate(
    axis: Motion,
    relative: Motion,
    rate: Motion,
    along: Sequence[tuple[Motion, Motion, Motion]],
    parent: Sequence[Vec3],
    w: Vec3,
    V: Vec3,
    response: Response,
    wrench: Force,
) -> tuple[Any, ...]:
    """Effort, changes of motion and velocity, wrenches, passed wrenches, and what is felt per change.

    `along` has the changes of place, relative velocity and rate with each variable, the acceleration last.
    """
    state = {"parent": leaves(parent), "place": REST, "relative": leaves(relative), "rate": leaves(rate)}
    changes, velocities = [], []
    for place, d_relative, d_rate in along:
        given = {"d_place": leaves(place), "d_relative": leaves(d_relative), "d_rate": leaves(d_rate)}
        x = substitute(_moved_along(), {**state, **given})["change"]
        turn, wd, acceleration = (Vec3(*x[3 * k : 3 * k + 3]) for k in range(3))
        changes.append(Change(turn, Motion(wd - cross(turn, w), acceleration - 2.0 * cross(turn, V))))
        carried = cross(parent[0], place.linear) + cross(V - relative.linear, place.angular)
        velocities.append(carried + d_relative.linear)
    wrenches = tuple(response @ change for change in changes)
    passed = tuple(own + place.cross_force(wrench) for own, (place, _, _) in zip(wrenches, along, strict=True))
    per_turn = response.moment.T @ axis.angular + 2.0 * cross(response.momentum, axis.linear)
    felt = (per_turn, wrenches[-1])  # the inertia is symmetric
    return axis @ wrench, tuple(changes), tuple(velocities), wrenches, passed, felt


def _motion(x: Vector) -> Motion:
    return Motion(Vec3(*x[:3]), Vec3(*x[3:6]))


def _moving(x: Vector) -> Moving:
    w, wd, a = (Vec3(*x[3 * i : 3 * i + 3]) for i in range(3))
    return Moving(w, wd, a, spin_matrix(w, wd))


# --- side by side -----------------------------------------------------------------------------------------------------
def _like(form: Any, values: Iterator[Scalar]) -> Any:
    """Nested tuples of the same form with other scalars."""
    parts = [_like(part, values) if isinstance(part, tuple) else next(values) for part in form]
    return form._make(parts) if hasattr(form, "_make") else tuple(parts)


def _packed(items: Sequence[Any]) -> Any:
    """Nested tuples in lanes."""
    return _like(items[0], map(pack, zip(*map(leaves, items), strict=True)))


def _side_by_side(compute: Callable[..., Result], items: Sequence[tuple[Any, ...]]) -> list[Result]:
    """`compute` of each item, all of them in the lanes of one evaluation."""
    found = compute(*_packed(items))
    values = leaves(found)
    return [_like(found, iter([extract(x, lane) for x in values])) for lane in range(len(items))]


def _related_groups(tree: Tree, paths: Sequence[frozenset[int]], widest: int) -> list[list[int]]:
    """Consecutive velocities, at most `widest`, that have the same ancestors and descendants outside of their group."""
    groups: list[list[int]] = []
    moving: list[set[int]] = []  # bodies that move with the velocities of each group
    related = [path.union(k for k, other in enumerate(paths) if i in other) for i, path in enumerate(paths)]
    for j in range(tree.nv):
        own = {body.index for body in tree.bodies if body.v.start <= j < body.v.stop}
        both = own | moving[-1] if groups else own
        alike = {frozenset(related[i] - both) for i in both}
        if groups and len(groups[-1]) < widest and len(alike) == 1:
            groups[-1].append(j)
            moving[-1] = both
        else:
            groups.append([j])
            moving.append(own)
    return groups


# --- all joints -------------------------------------------------------------------------------------------------------
class RneaDerivatives:
    """Changes of the efforts M a + h, less those of wrenches that are fixed to bodies, with the coordinates of a tree.

    Attributes:
        groups: velocities whose joints are computed side by side.
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
        self.paths = [frozenset(tree.ancestry(body.index)) for body in tree.bodies]
        self.tree, self.groups = tree, _related_groups(tree, self.paths, widest)
        self.related = _related_groups(tree, self.paths, WIDEST)
        self._state, self._variables = (q, v), variables
        self._equations = [_joint_along(body) for body in tree.bodies]
        single = {body.v.start: body.index for body in tree.bodies if body.joint.nv == 1}
        together = [[single.pop(j) for j in group if j in single] for group in self.groups]
        others = set(range(len(tree.bodies))) - {i for some in together for i in some}
        self._chains = [*filter(None, together), *([i] for i in sorted(others))]
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
        return self._is_plain(i) and self._is_plain(j) and self._carries(self.coordinates[i][0], self.coordinates[j][0])

    def entries(self, variable: str, i: int, group: Sequence[int]) -> list[Scalar]:
        """Changes of effort i with the coordinates of a group."""
        return [self.mass_matrix[i, j] for j in group] if variable == BY_A else self._entries(variable, i, group)

    def _entries(self, variable: str, i: int, group: Sequence[int]) -> list[Scalar]:
        """The same; with accelerations only if the joint carries theirs, as the mass matrix is symmetric."""
        columns, effort = [self.coordinates[j][0] for j in group], self.coordinates[i][0]
        if any(one.body.joint.nv > 1 for one in columns) or not all(map(self._is_plain, (i, *group))):
            return [self._entry(variable, i, j) for j in group]
        total = pack([one.own[variable][0] if one is effort else 0.0 for one in columns])
        is_inertia = variable == BY_A
        above = [float(self._carries(effort, one) or (one is effort and is_inertia)) for one in columns]
        if any(above):
            total = total + per_lane(above) * (effort.axis @ _packed([one.passed[variable] for one in columns]))
        below = [float(self._carries(one, effort) or one is effort) for one in columns]
        if any(below) and not is_inertia:
            changes = leaves(_packed([one.changes[variable] for one in columns]))
            total = total + per_lane(below) * product(effort.felt, changes)
        return [extract(total, lane) for lane in range(len(group))]

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
        for group in self.groups:
            for i in range(group[-1] + 1):
                for j, x in zip(group, self._entries(BY_A, i, group), strict=True):
                    if i <= j:
                        M.add(i, j, x)
        return M

    def _entry(self, variable: str, i: int, j: int) -> Scalar:
        total = ZERO
        for effort in self.coordinates[i]:
            for other in self.coordinates[j]:
                factor = effort.body.multiplier * other.body.multiplier
                if self._carries(effort, other):
                    total = total + factor * (effort.axis @ other.passed[variable])
                elif self._carries(other, effort):
                    total = total + factor * product(effort.felt, leaves(other.changes[variable]))
                elif effort.body is other.body:
                    own = other.own[variable][i - effort.body.v.start]
                    total = total + factor * (effort.axis @ other.wrenches[variable] + own)
        return total

    def _is_plain(self, i: int) -> bool:
        return len(self.coordinates[i]) == 1 and self.coordinates[i][0].body.multiplier == 1.0

    def _carries(self, a: JointCoordinate, b: JointCoordinate) -> bool:
        return a.body is not b.body and a.body.index in self.paths[b.body.index]

    def _move(self, a: Vector) -> None:
        """Compute the motion of each body, its composite response, and the wrench that it needs."""
        self.bases: list[Transform] = []
        self.poses: list[Transform] = []
        self.moving: list[Moving] = []
        self.velocities: list[Vec3] = []
        self._joints: list[Vectors] = []
        self._parents: list[Moving] = []  # motion of what carries each body
        q, v = self._state
        for body, equations in zip(self.tree.bodies, self._equations, strict=True):
            own = {"q": body.positions(q), "v": body.velocities(v), "a": body.velocities(a)}
            self._move_body(body, own["q"], substitute(equations, own))
        found: dict[int, tuple[Response, Force]] = {}
        for chain in self._chains:
            of_chain = ((self.poses[i], self.tree.bodies[i], self.moving[i][:3], self.velocities[i]) for i in chain)
            items = [(X.rotation.matrix(), X.position, body.inertia, *motion) for X, body, *motion in of_chain]
            found |= zip(chain, _side_by_side(_of_body, items), strict=True)
        self._responses = self._composite([found[i][0] for i in range(len(found))])
        self._needed = [found[i][1] for i in range(len(found))]

    def _move_body(self, body: Body, q: Vector, joint: Vectors) -> None:
        pose = body.transform(q)
        if body.parent == WORLD:
            base, X = pose, Transform()
            parent, velocity = at_rest(pose.rotation.to_child(-self.tree.gravity)), ZERO3
        else:
            base, X = self.bases[body.parent], (self.poses[body.parent] @ pose).flat()
            parent, velocity = self.moving[body.parent], self.velocities[body.parent]
        relative, rate = (X.to_parent(_motion(joint[name])) for name in ("relative", "rate"))
        self.bases.append(base)
        self.poses.append(X)
        self._parents.append(parent)
        self._joints.append(joint)
        self.moving.append(moved(Transform(), relative, rate, parent))
        self.velocities.append(velocity + relative.linear)

    def _composite(self, values: Sequence[Any]) -> list[Any]:
        """Sum over each body and all that it carries."""
        total = list(values)
        for body in reversed(self.tree.bodies):
            if body.parent != WORLD:
                total[body.parent] = total[body.parent] + total[body.index]
        return total

    def _load(self, applied: Wrenches) -> None:
        """Compute the coordinates of the joints, with wrenches on bodies."""
        wrenches = [x - applied[i] if i in applied else x for i, x in enumerate(self._needed)]
        self._wrenches: list[Force] = self._composite(wrenches)
        self.coordinates: list[list[JointCoordinate]] = [[] for _ in range(self.tree.nv)]
        for chain in self._chains:
            for j in range(self.tree.bodies[chain[0]].joint.nv):
                self._add_coordinates([self.tree.bodies[i] for i in chain], j)

    def _add_coordinates(self, chain: Sequence[Body], j: int) -> None:
        """Velocity j of the joints of some bodies, side by side."""
        items: list[tuple[Any, ...]] = []
        for body in chain:
            i, joint, seen = body.index, self._joints[body.index], self.poses[body.index].to_parent
            own = (joint["subspace"][6 * j :], joint["relative"], joint["rate"])
            axis, relative, rate = (seen(_motion(x)) for x in own)
            along = []
            for variable in self._variables:
                d_relative, d_rate = (joint[f"{variable}_{j}_{name}"] for name in ("relative", "rate"))
                place = axis if variable == BY_Q else _motion(REST)
                along.append((place, seen(_motion(d_relative)), seen(_motion(d_rate))))
            state = (self._parents[i][:3], self.moving[i].w, self.velocities[i])
            items.append((axis, relative, rate, tuple(along), *state, self._responses[i], self._wrenches[i]))
        for body, item, found in zip(chain, items, _side_by_side(_of_coordinate, items), strict=True):
            by_variable = [dict(zip(self._variables, each, strict=True)) for each in found[1:5]]
            further = {variable: self._own(body, variable, j) for variable in self._variables}
            made = JointCoordinate._make((body, item[0], found[0], *by_variable, leaves(found[5]), further))
            self.coordinates[body.v.start + j].append(made)

    def _own(self, body: Body, variable: str, j: int) -> list[Scalar]:
        """Changes of the efforts of a joint by those of its subspace, of passive efforts and of armature."""
        joint, X, wrench = self._joints[body.index], self.poses[body.index], self._wrenches[body.index]
        turned, passive = (joint[f"{variable}_{j}_{name}"] for name in ("subspace", "passive"))
        efforts = [X.to_parent(_motion(turned[6 * k :])) @ wrench + passive[k] for k in range(body.joint.nv)]
        if variable == BY_A:
            efforts[j] = efforts[j] + body.armature
        return efforts
