# SPDX-License-Identifier: Apache-2.0
"""What is asked of a robot in a state, and what the judge says of the answer: a figure that 1 or less allows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_experiments.pinocchio_loops import LoopConstraints
from trials.silent_wrong import residual
from trials.silent_wrong.judge import NoJudge
from trials.silent_wrong.residual import EPS, Closed, State
from trials.silent_wrong.robots import Fault, Refused, Robot, library
from trials.silent_wrong.states import CLOSED, HANDED, as_rows, closed_pose, towards_singular, tree_state
from trials.silent_wrong.texts import one

ROUNDINGS = 10.0  # allowed to each joint
ASSEMBLY = 100.0  # times as many where joints are eliminated from the leaves to each other: what ada and dca leave
ELIMINATION = 100.0  # times as many with loops, or the spread of conditions: they are eliminated by their squares
DERIVED = 1e4  # times as many for derivatives of forward dynamics, in M ∂v̇, or M's condition: explicit formulas
PERIOD = 1e-3  # [s] of a step of a motion
STEP = 1e-9  # of an interval's change: Simpson's rule over two steps, in motions without fast modes
GAPS = 10.0  # or of gaps that stay open
REDUNDANT = 1e-7  # singular value, relative, that may be a condition of its own or the error of a description
REST = 1.0  # speeds and accelerations of which roundings are allowed where less moves
ASSEMBLING = ("ada", "dca", "hybrid")
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
    more = ASSEMBLY if robot.dynamics.algorithm in ASSEMBLING else 1.0
    return max(inverse, forward / more) / _room(robot), f"inverse {inverse:.2g}, forward {forward:.2g} roundings"


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
    """What is one condition to the library and two to the judge has two answers, neither of which is wrong."""
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


def in_batches(robot: Robot, rng: np.random.Generator) -> tuple[float, str]:
    """Rows of states at once, in threads too, by a named algorithm: each row is judged, and its bits are its own."""
    count = int(rng.integers(2, 12))
    q, v, a = (np.array(x) for x in zip(*(tree_state(robot.model, rng) for _ in range(count)), strict=True))
    with library():
        tau = robot.dynamics.inverse(q, v, a)
        found = ada.in_threads(robot.dynamics.forward, q, v, tau, threads=int(rng.integers(1, 3)))
        alone = robot.dynamics.forward(q[-1], v[-1], tau[-1])
    if alone.tobytes() != found[-1].tobytes():
        raise Fault("a state alone has other bits than in a batch")
    figures = [_of_tree(robot, *row) for row in zip(q, v, a, tau, found, strict=True)]
    return max(figures)


def of_derivatives(robot: Robot, rng: np.random.Generator) -> tuple[float, str]:
    """Of trees against pinocchio's, put into the equation M ∂v̇ + ∂(M v̇ + h) = ∂τ; its losses and springs are ours."""
    tree, pin = robot.tree, robot.tree.pin
    q, v, tau = (np.asarray(robot.model.random_state(rng)[0]), *rng.normal(size=(2, robot.model.nv)))
    if tree.stiffness.any() or np.abs(tree.G.sum(axis=1)).max() != 1.0:
        raise NoJudge("springs and mimics")
    with library():
        a = robot.dynamics.forward(q, v, tau)
        by_q, by_v, by_tau = robot.dynamics.forward_derivatives(q, v, tau)
        inverse = robot.dynamics.inverse_derivatives(q, v, a)
    x, w, rate = tree.position(q), tree.velocity(v), tree.velocity(a)
    dq, dv, _ = (np.array(y) for y in pin.computeRNEADerivatives(tree.model, tree.data, x, w, rate))
    dq, dv = tree.G.T @ dq @ tree.G, tree.G.T @ (dv + np.diag(tree.damping)) @ tree.G
    state = State(tree, q, v, more=1.0)
    M, root = state.M, np.sqrt(state.inertia)
    figure, world, formulas = 0.0, state.in_the_world(a), max(DERIVED, state.condition)
    for mine, theirs, more in (
        (M @ by_q, -dq, by_q),
        (M @ by_v, -dv, by_v),
        (M @ by_tau, np.eye(len(M)), by_tau),
        (inverse.dq, dq, None),
        (inverse.dv, dv, None),
        (inverse.du, M, None),
    ):
        factor = 1.0 + root if more is None else formulas * (1.0 + root + root @ np.abs(more))
        room = EPS * ((state.efforts(a) + np.abs(tau))[:, None] + np.outer(root, factor)) + world
        figure = max(figure, float(np.max(np.abs(mine - theirs) / room)))
    return figure / _room(robot), f"{figure:.2g} roundings"


def of_motion(robot: Robot, rng: np.random.Generator) -> tuple[float, str]:
    """Two steps of a simulation: the speeds change as the judge's accelerations on the way say, positions as speeds."""
    model = robot.model
    closes = robot.q is not None
    q = closed_pose(robot, rng) if closes else np.asarray(model.random_state(rng)[0])
    if q is None:
        raise Refused("flagged: no pose is found that closes the loops")
    v, tau = rng.normal(size=(2, model.nv))
    if closes:
        v = Closed(robot.tree, q, v).v
    found = _of_two_steps(robot, q, v, tau, PERIOD)
    if found[0] > 1.0 and closes:
        _agree_on_redundance(_least_condition(Closed(robot.tree, q, v).J)[0])
    if found[0] > 1.0:  # errors of steps and of Simpson's rule fall with the fourth power, those of equations do not
        found = _of_two_steps(robot, q, v, tau, PERIOD / 4.0)
    if found[0] > 1.0 and (left := EPS * Closed(robot.tree, q, v).condition) > STEP:
        raise NoJudge(f"its own accelerations are good to {left:.0e}")
    return found


def _of_two_steps(robot: Robot, q: Array, v: Array, tau: Array, h: float) -> tuple[float, str]:
    model, closes = robot.model, robot.q is not None
    states = []
    with warnings.catch_warnings(record=True) as said, library():
        warnings.simplefilter("always")
        simulation = ada.Simulation(model, q, v, tau=tau, step=h, dynamics=robot.dynamics)
        for steps in range(3):
            if steps:
                simulation.step()
            states.append((simulation.q.copy(), simulation.v.copy()))
    if float(np.abs(robot.tree.friction).max(initial=0.0)) > 0.0:
        raise NoJudge("friction, which the simulation makes smooth")
    a = [Closed(robot.tree, *state).forward(tau) for state in states]
    speed = [state[1] for state in states]
    moved = model.difference(states[0][0], states[2][0])
    single = [name for name in model.joint_names if model.joints[name].nv == model.joints[name].nq == 1]
    flat = [model.v_index(name).start for name in single]
    speeds = speed[2] - speed[0] - h / 3.0 * (a[0] + 4.0 * a[1] + a[2])
    places = (moved - h / 3.0 * (speed[0] + 4.0 * speed[1] + speed[2]))[flat]
    size = h * (REST + max(float(np.abs(x).max()) for x in a) + max(float(np.abs(x).max()) for x in speed))
    if float(np.abs(a[2] - 2.0 * a[1] + a[0]).max()) > 1e-4 * size / h:
        raise NoJudge("it moves too fast for its steps")
    gap = LoopConstraints(robot.tree).gap(states[2][0]) if closes else 0.0
    # Where a description closes no better, motions are determined no better.
    figure = float(np.abs(np.concatenate([speeds, places])).max()) / (max(STEP, GAPS * gap) * size)
    if figure > 1.0 and any(issubclass(one.category, ada.SingularConfigurationWarning) for one in said):
        raise Refused(f"flagged: {said[-1].message}"[:200])
    return max(figure, gap / CLOSED), f"{figure:.2g} of what it may be off by, gap {gap:.1e}"
