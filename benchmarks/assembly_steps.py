# SPDX-License-Identifier: Apache-2.0
"""One step of assembly and disassembly as a function of its own: two articulated bodies and the joint between them.

The algorithms' own equations are traced here, on operators that are inputs, so that a step can be counted and timed
apart from the mechanism that it belongs to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.algorithms import ada, dca
from ada_dynamics.algorithms.articulated_body import ArticulatedBody, FreeBody, Operator
from ada_dynamics.algorithms.assembly import ClosedStep
from ada_dynamics.algorithms.assembly_order import AssemblyOrder
from ada_dynamics.algorithms.closure import loop_rows
from ada_dynamics.algorithms.joint_equations import (
    Close,
    ClosingEquations,
    JointFrame,
    LoopJointEquations,
    Terms,
    TreeJointEquations,
    bias_between,
    moving_of,
)
from ada_dynamics.algorithms.ldl import DenseFactors
from ada_dynamics.arrays import Array
from ada_dynamics.expr import Expr, Function, trace
from ada_dynamics.model.joints import Revolute
from ada_dynamics.model.tree import NO_MOVE, WORLD, Body, Loop, Tree
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import MatrixRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO3, ZERO33, Mat3, Scalar, Vec3, symmetric_of

CLOSE: Mapping[str, Close] = {"ada": ada.close, "dca": dca.close}
# Numbers of the links: far end of the inner body, the joint's parent and child, far end of the outer body.
I, P, C, K = range(4)
LETTERS = "IPCK"


class Kind(NamedTuple):
    """Which handles the two bodies have, and which stay, by the letters of the links; no parent: the world."""

    parent: str  # "", "P" or "IP"
    child: str  # "C" or "CK"
    kept: str

    def __str__(self) -> str:
        return f"{self.parent or 'world'}+{self.child}->{self.kept or 'none'}"


BOTH = Kind("IP", "CK", "IK")  # both bodies have two handles: the step that deep orders consist of
ADD_LINK = Kind("P", "CK", "PK")  # one more link on the inner side
PAIR = Kind("P", "C", "PC")  # two links
CHAIN = Kind("P", "C", "P")  # of the order joint by joint


def kinds_by_depth(tree: Tree, order: AssemblyOrder) -> list[Counter[Kind]]:
    """How many steps of each kind an order of a serial chain has at each depth."""
    handles: dict[int, tuple[int, ...]] = {i: (i,) for i in range(len(tree.bodies))}
    found: list[Counter[Kind]] = [Counter() for _ in range(order.depth)]
    for number, step in enumerate(order.steps, start=len(tree.bodies)):
        (joint,) = step.joints
        parent = tree.bodies[joint].parent
        inner, outer = "", ""
        for part in step.parts:
            names = _letters(handles[part], parent, joint)
            if joint in handles[part]:
                outer = names
            else:
                inner = names
        handles[number] = step.handles
        found[step.depth - 1][Kind(inner, outer, _letters(step.handles, parent, joint))] += 1
    return found


def _letters(links: Sequence[int], parent: int, child: int) -> str:
    return "".join("P" if x == parent else "C" if x == child else "I" if x < child else "K" for x in links)


# --- a step ---------------------------------------------------------------------------------------------------------
def step(kind: Kind, algorithm: str = "ada", placement: Transform | None = None) -> Function:
    """Assembly and disassembly of one step.

    Args:
        kind: handles.
        algorithm: ada or dca.
        placement: of the joint on its parent, folded in; an input where it is not given, as for any robot.
    """
    inner, outer, kept = _sides(kind)
    sizes = _sizes(kind)
    sizes |= {"forces": 6 * len(kept)} if kept else {}
    sizes |= {} if placement is not None else {"place": 12}

    def body(**given: tuple[Expr, ...]) -> dict[str, Any]:
        parts = [_read(outer, given["own"]), *([_read(inner, given["other"])] if inner else [])]
        bias = {link: motion for part in parts for link, motion in part.bias.items()}
        joint = _joint(kind, placement or _placement(given), given, bias)
        joined, closed = CLOSE[algorithm](ClosingEquations(parts, [joint]), kept)
        forces = {link: _force(given["forces"][6 * i :]) for i, link in enumerate(kept)}
        release = ClosedStep([C], [joint], closed).release(forces)
        outcome, wrench = release.outcomes[C]
        passed = [release.forces[link] for link in sorted(release.forces) if link not in kept or link in (P, C)]
        result: dict[str, Any] = {"rate": outcome.rates, "wrench": _flat(wrench)}
        result["passed"] = [x for force in passed for x in _flat(force)]
        if kept:
            result["joined"] = _write(joined)
        return result

    return trace(f"step_{kind.parent}_{kind.child}_{kind.kept}_{algorithm}", sizes, body)


def assembly(kind: Kind) -> Function:
    """The way up of one step of ADA: the joined body, and `way`, all that the way back needs."""
    inner, outer, kept = _sides(kind)

    def body(**given: tuple[Expr, ...]) -> dict[str, Any]:
        parts = [_read(outer, given["own"]), *([_read(inner, given["other"])] if inner else [])]
        bias = {link: motion for part in parts for link, motion in part.bias.items()}
        joined, closed = ada.close(ClosingEquations(parts, [_joint(kind, _placement(given), given, bias)]), kept)
        return {"joined": _write(joined), "way": _way(closed, kept)}

    return trace(f"assembly_{kind.parent}_{kind.child}_{kind.kept}", _sizes(kind) | {"place": 12}, body)


def release(kind: Kind) -> Function:
    """The way down: the joint's acceleration, and forces on the handles of its two bodies (`inner`, `outer`)."""
    inner, outer, kept = _sides(kind)
    sizes = {"way": way_size(kind), "q": 1, "tau": 1, "forces": 6 * len(kept), "place": 12}

    def body(**given: tuple[Expr, ...]) -> dict[str, Any]:
        still = {link: Motion(ZERO3, ZERO3) for link in range(4)}  # the way holds all that depends on velocities
        joint = _joint(kind, _placement(given), {**given, "v": (0.0,), "w": (0.0,) * 3, "upward": (0.0,) * 3}, still)
        forces = {link: _force(given["forces"][6 * i :]) for i, link in enumerate(kept)}
        closed = _read_way(given["way"], given["tau"], kept)
        found = ClosedStep([C], [joint], closed).release(forces)
        result: dict[str, Any] = {"rate": found.outcomes[C][0].rates}
        for name, links in (("inner", inner), ("outer", outer)):
            if len(links) == 2:  # there is something inside
                result[name] = [x for link in links for x in _flat(found.forces[link])]
        return result

    return trace(f"release_{kind.parent}_{kind.child}_{kind.kept}", sizes, body)


def _sides(kind: Kind) -> tuple[list[int], list[int], tuple[int, ...]]:
    inner, outer = ([LETTERS.index(x) for x in part] for part in (kind.parent, kind.child))
    return inner, outer, tuple(sorted(LETTERS.index(x) for x in kind.kept))


def _sizes(kind: Kind) -> dict[str, int]:
    inner, outer, _ = _sides(kind)
    sizes = {"own": _size(outer), "q": 1, "v": 1, "tau": 1, "w": 3}
    return sizes | ({"other": _size(inner)} if inner else {"upward": 3})


def _placement(given: Mapping[str, Sequence[Scalar]]) -> Transform:
    return Transform(MatrixRotation(_mat(given["place"])), _vec(given["place"][9:]))


def _joint(
    kind: Kind, at: Transform, given: Mapping[str, Sequence[Scalar]], bias: Mapping[int, Motion]
) -> TreeJointEquations:
    massless = RigidInertia(0.0, ZERO3, ZERO33)  # not asked for
    parent = P if kind.parent else WORLD
    body = Body("joint", C, parent, Revolute(2), at, massless, slice(0, 1), slice(0, 1))
    q, v = given["q"], given["v"]
    moved = bias[P] if kind.parent else Motion(ZERO3, _vec(given["upward"]))
    between = bias_between(body, q, v, bias[C], moving_of(_vec(given["w"]), moved))
    return TreeJointEquations(
        body, q, JointFrame.of(body, q, "C" not in kind.kept), between, Terms(_HELD, tuple(given["tau"]))
    )


def closing() -> Function:
    """The last step of a ring: the joints at both ends of the whole chain are closed at once, and nothing stays open.

    `turn` is that of the last link, as the prefix of the velocities has it at last; `seat` is where the joint to the
    world, a revolute one, stands on it.
    """
    sizes = {"own": _size([C, K]), "q": 1, "v": 1, "tau": 1, "upward": 3, "place": 12, "turn": 12, "seat": 12}

    def body(**given: tuple[Expr, ...]) -> dict[str, Any]:
        whole = _read([C, K], given["own"])
        first = _joint(Kind("", "CK", ""), _placement(given), {**given, "w": (0.0,) * 3}, whole.bias)
        last = _loop_joint(given, whole.bias[K])
        _, closed = ada.close(ClosingEquations([whole], [first, last]), ())
        found = ClosedStep([C, K], [first, last], closed).release({})
        forces = [x for end in (C, K) for x in _flat(found.forces[end])]
        return {"rate": found.outcomes[C][0].rates, "forces": forces}

    return trace("closing_ring", sizes, body)


def _loop_joint(given: Mapping[str, Sequence[Scalar]], bias: Motion) -> LoopJointEquations:
    """From the last link to the world: its rows need to know how that link is turned, not what is in between."""
    massless = RigidInertia(0.0, ZERO3, ZERO33)  # not asked for
    one = slice(0, 1)
    bodies = [Body("link", i, WORLD, Revolute(2), NO_MOVE, massless, one, one) for i in range(len(LETTERS))]
    turned = Transform(MatrixRotation(_mat(given["turn"])))
    seat = Transform(MatrixRotation(_mat(given["seat"])), _vec(given["seat"][9:]))
    moving = {
        K: moving_of(_vec(given["turn"][9:]), bias),
        WORLD: moving_of(ZERO3, Motion(ZERO3, _vec(given["upward"]))),
    }
    loop = Loop("closing", Revolute(2), K, seat, WORLD, NO_MOVE)
    q, v = given["q"], given["v"]
    rows = loop_rows(Tree(bodies, {}, ZERO3, 1, 1), [turned] * len(bodies), q, v, moving, loop)
    return LoopJointEquations(rows, Terms(len(rows)))


def link() -> Function:
    """What each link needs before assembly: its velocity from its parent's, and its free acceleration."""
    sizes = {"w_parent": 3, "place": 9, "q": 1, "v": 1, "com": 3, "about": 6, "inverse": 6, "operator": 21}

    def body(**given: tuple[Expr, ...]) -> dict[str, Any]:
        joint = Revolute(2)
        turn = Transform(MatrixRotation(_mat(given["place"])), ZERO3) @ joint.pose(given["q"])
        own = joint.relative_velocity(given["q"], given["v"]).angular
        w = turn.rotation.to_child(_vec(given["w_parent"])) + own
        about, inverse = symmetric_of(given["about"]), symmetric_of(given["inverse"])
        bias = FreeBody(_operator(given["operator"]), _vec(given["com"]), about, inverse).acceleration(w)
        return {"w": w, "bias": [*bias.angular, *bias.linear]}

    return trace("link", sizes, body)


def free_link() -> Function:
    """A link as an articulated body, by its velocity."""
    sizes = {"w": 3, "com": 3, "about": 6, "inverse": 6, "operator": 21}

    def body(**given: tuple[Expr, ...]) -> dict[str, Any]:
        about, inverse = symmetric_of(given["about"]), symmetric_of(given["inverse"])
        bias = FreeBody(_operator(given["operator"]), _vec(given["com"]), about, inverse).acceleration(_vec(given["w"]))
        return {"body": [*given["operator"], *bias.angular, *bias.linear]}

    return trace("free_link", sizes, body)


def own_turn() -> Function:
    """A joint's turn and velocity, as `turn` takes them."""

    def body(**given: tuple[Expr, ...]) -> dict[str, Any]:
        joint = Revolute(2)
        R = (Transform(MatrixRotation(_mat(given["place"])), ZERO3) @ joint.pose(given["q"])).rotation.matrix()
        return {"turn": [*_entries(R), *joint.relative_velocity(given["q"], given["v"]).angular]}

    return trace("own_turn", {"place": 12, "q": 1, "v": 1}, body)


def turn() -> Function:
    """Two links' turns and velocities as one: what a parallel prefix of the velocities consists of."""

    def body(inner: tuple[Expr, ...], outer: tuple[Expr, ...]) -> dict[str, Any]:
        R, S = MatrixRotation(_mat(inner)), MatrixRotation(_mat(outer))
        w = S.to_child(_vec(inner[9:])) + _vec(outer[9:])
        return {"joined": [*_entries(R.matrix() @ S.matrix()), *w]}

    return trace("turn", {"inner": 12, "outer": 12}, body)


def turned() -> Function:
    """The velocity behind a turn, by that before it."""

    def body(before: tuple[Expr, ...], turn: tuple[Expr, ...]) -> dict[str, Any]:
        return {"behind": [*(MatrixRotation(_mat(turn)).to_child(_vec(before)) + _vec(turn[9:]))]}

    return trace("turned", {"before": 3, "turn": 12}, body)


# --- a way back as a row of numbers ---------------------------------------------------------------------------------
_HELD = 5  # λ of a revolute joint


def way_size(kind: Kind) -> int:
    """How many numbers the way back of such a step needs."""
    kept = kind.kept
    return _HELD * (_HELD - 1) // 2 + _HELD + 6 * _HELD * len(kept) + 1 + _HELD + 6 * len(kept)


def _way(closed: ada.ClosedByForces, kept: Sequence[int]) -> list[Scalar]:
    """What the accelerations need of it: factors, λ without forces, what forces pull, q̈ by all of these."""
    (rate,) = closed.rates
    row = [x for lower in closed.factors.lower for x in lower] + list(closed.start)
    row += [x for link in kept for motion in closed.pulled[link] for part in motion for x in part]
    return [*row, rate.offset, *rate.weights, *(x for link in kept for part in rate.columns[link] for x in part)]


def _read_way(x: Sequence[Scalar], tau: Sequence[Scalar], kept: Sequence[int]) -> ada.ClosedByForces:
    row = iter(x)

    def some(count: int) -> tuple[Scalar, ...]:
        return tuple(next(row) for _ in range(count))

    lower = tuple(some(i) for i in range(_HELD))
    start = some(_HELD)
    pulled = {link: [_motion(some(6)) for _ in range(_HELD)] for link in kept}
    (offset,) = some(1)
    rate = ada.Rate(offset, list(some(_HELD)), {link: _motion(some(6)) for link in kept})
    known = [*(0.0,) * _HELD, *tau]
    return ada.ClosedByForces(
        [Terms(_HELD, tuple(tau))], known, range(_HELD), DenseFactors(lower, (), ()), start, pulled, [rate]
    )


# --- operators as rows of numbers -----------------------------------------------------------------------------------
def _pairs(handles: Sequence[int]) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in sorted(handles) for j in sorted(handles) if i <= j)


def _size(handles: Sequence[int]) -> int:
    return sum(21 if i == j else 36 for i, j in _pairs(handles)) + 6 * len(handles)


def _read(handles: Sequence[int], x: Sequence[Scalar]) -> ArticulatedBody:
    operators = {}
    for i, j in _pairs(handles):
        operators[i, j] = _operator(x) if i == j else Operator(*(_mat(x[9 * k :]) for k in range(4)))
        x = x[21 if i == j else 36 :]
    bias = {link: _motion(x[6 * k :]) for k, link in enumerate(sorted(handles))}
    return ArticulatedBody(tuple(sorted(handles)), operators, bias)


def _write(body: ArticulatedBody) -> list[Scalar]:
    row: list[Scalar] = []
    for (i, j), operator in sorted(body.operators.items()):
        if i == j:
            row += operator_entries(operator)
        else:
            row += [x for block in operator for x in _entries(block)]
    return row + [x for handle in sorted(body.handles) for part in body.bias[handle] for x in part]


def operator_entries(operator: Operator) -> list[Scalar]:
    """Of a symmetric one."""
    return [*upper(operator.aa), *_entries(operator.la), *upper(operator.ll)]


def _operator(x: Sequence[Scalar]) -> Operator:
    la = _mat(x[6:])
    return Operator(symmetric_of(x[:6]), la.T, la, symmetric_of(x[15:21]))


def _vec(x: Sequence[Scalar]) -> Vec3:
    return Vec3(*x[:3])


def _mat(x: Sequence[Scalar]) -> Mat3:
    return Mat3.of((x[0:3], x[3:6], x[6:9]))


def upper(A: Mat3) -> list[Scalar]:
    """Of a symmetric matrix."""
    return [A[0][0], A[0][1], A[0][2], A[1][1], A[1][2], A[2][2]]


def _entries(A: Mat3) -> list[Scalar]:
    return [x for row in A for x in row]


def _motion(x: Sequence[Scalar]) -> Motion:
    return Motion(_vec(x), _vec(x[3:]))


def _force(x: Sequence[Scalar]) -> Force:
    return Force(_vec(x), _vec(x[3:]))


def _flat(force: Force) -> list[Scalar]:
    return [*force.moment, *force.force]


# --- examples -------------------------------------------------------------------------------------------------------
def inputs(function: Function, kind: Kind, count: int, seed: int = 0) -> dict[str, Array]:
    """Rows of inputs for a step, with operators as bodies could have them: symmetric and positive definite."""
    rng = np.random.default_rng(seed)
    rows = {name: rng.normal(size=(count, size)) for name, size in function.inputs.items()}
    for name, part in (("own", kind.child), ("other", kind.parent)):
        if name in rows:
            rows[name] = np.array([operator_row(dense_operator(len(part), rng), rng) for _ in range(count)])
    if "place" in rows:
        turns = np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(count)])
        turns *= np.linalg.det(turns)[:, None, None]
        rows["place"][:, :9] = turns.reshape(count, 9)
    return rows


def dense_operator(handles: int, rng: np.random.Generator) -> Array:
    """Φ of all handles as one matrix."""
    root = rng.normal(size=(6 * handles, 6 * handles))
    return np.asarray(root @ root.T + np.eye(6 * handles), dtype=np.float64)


def operator_row(phi: Array, rng: np.random.Generator) -> Array:
    """Φ, and a bias, as an input of a step."""
    handles = len(phi) // 6
    row: list[float] = []
    for i, j in _pairs(range(handles)):
        block = phi[6 * i : 6 * i + 6, 6 * j : 6 * j + 6]
        aa, al, la, ll = block[:3, :3], block[:3, 3:], block[3:, :3], block[3:, 3:]
        if i == j:
            row += [*aa[np.triu_indices(3)], *la.ravel(), *ll[np.triu_indices(3)]]
        else:
            row += [x for part in (aa, al, la, ll) for x in part.ravel()]
    return np.array([*row, *rng.normal(size=6 * handles)])
