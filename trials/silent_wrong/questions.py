# SPDX-License-Identifier: Apache-2.0
"""Quantities of a robot in a state and the judge's error of each, relative to the allowed one."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from trials.silent_wrong import residual
from trials.silent_wrong.judge import NoJudge
from trials.silent_wrong.residual import Closed, State
from trials.silent_wrong.robots import Fault, Refused, Robot, library
from trials.silent_wrong.states import HANDED, as_rows, closed_pose, towards_singular, tree_state
from trials.silent_wrong.texts import one

ROUNDINGS = 10.0  # allowed to each joint
ELIMINATION = 100.0  # times as many with loops, or the spread of conditions: they are eliminated by their squares
REDUNDANT = 1e-7  # singular value, relative, that may be a condition of its own or the error of a description
NEAR = 3e-4  # smallest singular value, relative, of the conditions in a pose that counts as near a singular one


def _room(robot: Robot) -> float:
    return ROUNDINGS * max(int(robot.tree.model.njoints), 4)


def _finite(*arrays: Any) -> None:
    if not all(np.isfinite(x).all() for x in arrays):
        raise NoJudge("its numbers overflow")


def on_tree(robot: Robot, rng: np.random.Generator) -> tuple[float, str]:
    """Inverse dynamics, and forward dynamics with the efforts found."""
    q, v, a = tree_state(robot.model, rng)
    with library():
        tau = robot.dynamics.inverse(q, v, a)
        found = robot.dynamics.forward(q, v, tau)
    return _of_tree(robot, q, v, a, tau, found)


def _of_tree(robot: Robot, q: Array, v: Array, a: Array, tau: Array, found: Array) -> tuple[float, str]:
    state = State(robot.tree, q, v)
    _finite(state.M, state.h)
    inverse, forward = state.of_inverse(a, tau), state.of_forward(found, tau)
    return max(inverse, forward) / _room(robot), f"inverse {inverse:.2g}, forward {forward:.2g} roundings"


def on_loops(robot: Robot, rng: np.random.Generator) -> tuple[float, str]:
    """Accelerations of a mechanism in a pose that closes its loops, and efforts that give them."""
    q = closed_pose(robot, rng)
    if q is None:
        raise Refused("flagged: no pose is found that closes the loops")
    return _of_loops(robot, q, rng)


def near_singular(robot: Robot, rng: np.random.Generator) -> tuple[float, str]:
    """The same, the nearer to a singular pose the better."""
    q = closed_pose(robot, rng)
    if q is None:
        raise Refused("flagged: no pose is found that closes the loops")
    return _of_loops(robot, towards_singular(robot, q, rng), rng)


def _of_loops(robot: Robot, q: Array, rng: np.random.Generator) -> tuple[float, str]:
    closed = Closed(robot.tree, q, rng.normal(size=robot.model.nv) * one((0.0, 1.0, 1.0, 30.0), rng))
    tau = rng.normal(size=robot.model.nv) * one((0.0, 1.0, 100.0), rng)
    _finite(closed.J, closed.v, closed.gamma, closed.M, closed.h)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with library():
            found = robot.dynamics.forward(q, closed.v, tau)
        figure = max(closed.of_motion(found, tau), closed.of_forces(found, tau))
        try:
            with library():
                tau = robot.dynamics.inverse(q, closed.v, found)
            figure = max(figure, closed.of_forces(found, tau))
        except Refused:
            pass  # motors that cannot, or not alone: forward dynamics stands by itself
    figure /= _room(robot) * max(ELIMINATION, closed.spread)
    least, kept = _least_condition(closed.J)
    near = " near a singular pose" if least < NEAR else ""
    redundant = " redundant" if kept < len(closed.J) else ""
    if figure > 1.0:
        _agree_on_redundance(least)
    if figure > 1.0 and said:
        raise Refused(f"flagged: {said[-1].message}"[:200])
    return figure, f"{len(closed.J)} conditions{redundant}{near}"


def _least_condition(J: Array) -> tuple[float, int]:
    """The smallest singular value that is a condition to the judge, relative to the largest, and how many are."""
    sizes = np.linalg.svd(J, compute_uv=False)
    kept = sizes[sizes > residual.RANK * np.max(sizes, initial=0.0)]
    return (float(kept[-1] / kept[0]) if len(kept) else 1.0), len(kept)


def _agree_on_redundance(least: float) -> None:
    """A constraint that the library counts once and the judge twice has two valid results."""
    if least < REDUNDANT:
        raise NoJudge(f"conditions that agree to {least:.0e}: redundant to the library, not to the judge")


def of_arguments(robot: Robot, rng: np.random.Generator) -> tuple[float, str]:
    """Anything in the place of a vector: the answer is that of the numbers meant, or an error."""
    model, names = robot.model, ("q", "v", "u")
    given = dict(zip(names, tree_state(model, rng), strict=True))
    if robot.q is not None:
        given |= {"q": robot.q, "v": Closed(robot.tree, robot.q, given["v"]).v}
    handed: dict[str, Any] = dict(given)
    said = {name: one(HANDED, rng) for name in names if rng.random() < 0.5}
    for name, how in said.items():
        handed[name] = HANDED[how](given[name], rng)
    before = {name: x.tobytes() for name, x in handed.items() if isinstance(x, np.ndarray)}
    method = "forward" if robot.q is not None else one(("forward", "inverse"), rng)
    with warnings.catch_warnings(), library():
        warnings.simplefilter("ignore")
        found = np.asarray(getattr(robot.dynamics, method)(*handed.values()))
    if any(handed[name].tobytes() != bits for name, bits in before.items()):
        raise Fault(f"{method} wrote into its arguments: {said}")
    meant = [as_rows(handed[name], size) for name, size in zip(names, (model.nq, model.nv, model.nv), strict=True)]
    rows = [x for x in meant if x is not None]
    if len(rows) < len(names):
        raise Fault(f"{method} took {said} for vectors")
    count = 0 if any(len(x) == 0 for x in rows) else max(map(len, rows))
    if len(found.reshape(-1, model.nv)) != count or not all(len(x) in (1, count) for x in rows):
        raise Fault(f"{method} gave {found.shape} for {said}")
    figure = 0.0
    for i in range(count):
        q, v, u = (x[min(i, len(x) - 1)] for x in rows)
        _finite_arguments(q, v, u)
        figure = max(figure, _of_answer(robot, method, (q, v, u), found.reshape(-1, model.nv)[i]))
    return figure / _room(robot), f"{method} of {said}"


def _finite_arguments(*arrays: Array) -> None:
    if not all(np.isfinite(x).all() for x in arrays):
        raise Fault("numbers that are not finite gave a result")


def _of_answer(robot: Robot, method: str, given: tuple[Array, Array, Array], found: Array) -> float:
    q, v, u = given
    if robot.model.nq > robot.model.nv and abs(float(np.linalg.norm(q[3:7])) - 1.0) > 1e-14:
        raise NoJudge("a quaternion that is not quite of unit length: pinocchio and the library round it differently")
    if robot.q is None:
        state = State(robot.tree, q, v)
        _finite(state.M, state.h)
        return state.of_forward(found, u) if method == "forward" else state.of_inverse(u, found)
    closed = Closed(robot.tree, q, v)
    if float(np.abs(closed.v - v).max()) > 1e-9 * float(np.abs(v).max()) or closed.conditions.gap(q) > 1e-9:
        raise NoJudge("off its loops")
    return max(closed.of_motion(found, u), closed.of_forces(found, u)) / max(ELIMINATION, closed.spread)
