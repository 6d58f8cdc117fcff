# SPDX-License-Identifier: Apache-2.0
"""`ada bench ik`: inverse kinematics one by one and all at once, beside pink where it is installed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ada_dynamics import ik
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import require_link
from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install
from ada_dynamics.model.model import Model
from ada_tools.commands.common import table
from ada_tools.engines.pinocchio_tree import PinocchioTree

TOLERANCE, MOST_STEPS = 1e-6, 100
NEAR = 0.2  # rad, or in lengths of the mechanism: how far goals of mechanisms with loops are from the start
PINK_DAMPING = (0.0, 1e-3, 1.0)  # its lm_damping; ours goes with the square of what is left, too


@dataclass
class Tried:
    """A program's goals.

    Attributes:
        name: of the program.
        goals: how many it was given.
        reached: how many of them.
        steps: on average.
        seconds: for each goal.
    """

    name: str
    goals: int
    reached: int
    steps: float
    seconds: float


def measure(dynamics: Dynamics, link: str, start: Array, count: int, seed: int = 0) -> tuple[list[Tried], str]:
    """All programs on the same goals from the same start, and why one is missing.

    Args:
        dynamics: of the robot.
        link: that is to come to its pose.
        start: positions, with the loops closed.
        count: of goals: poses that random positions within the limits have; near the start where there are loops.
        seed: of the goals.
    """
    require_link(dynamics, link)
    goals = _goals(dynamics, link, start, count, np.random.default_rng(seed))
    settings: dict[str, Any] = {"tolerance": TOLERANCE, "max_steps": MOST_STEPS}
    enough = goals[np.arange(64) % count]  # for batch code, which is compiled from here on
    ik.solve_many(dynamics, ik.PoseTask(link, enough), start, **settings)
    begin = time.perf_counter()
    each = [ik.solve_ik(dynamics, ik.PoseTask(link, goal), start, **settings) for goal in goals]
    between = time.perf_counter()
    many = ik.solve_many(dynamics, ik.PoseTask(link, goals), start, **settings)
    end = time.perf_counter()
    found = [
        _tried("ada, one by one", [one.reached for one in each], [one.steps for one in each], between - begin),
        _tried("ada, all at once", many.reached.tolist(), many.steps.tolist(), end - between),
    ]
    if dynamics.model.loops:
        return found, "pink knows no loops: its tree falls apart at them"
    try:
        return [*found, *(_pink(dynamics.model, link, start, goals, damping) for damping in PINK_DAMPING)], ""
    except ImportError:
        return found, f"pink is not installed; {how_to_install('bench')}"


def _tried(name: str, reached: Sequence[bool], steps: Sequence[int], seconds: float) -> Tried:
    count = len(reached)
    return Tried(name, count, int(np.sum(reached)), float(np.mean(steps)), seconds / count)


def _goals(dynamics: Dynamics, link: str, start: Array, count: int, rng: np.random.Generator) -> Array:
    model = dynamics.model
    if not model.loops:
        return np.array(dynamics.pose(link, np.array([model.random_state(rng)[0] for _ in range(count)])))
    there: list[Array] = []
    unit = dynamics.constraints.coordinates.units[list(dynamics.constraints.indices())]
    while len(there) < count:
        y = rng.uniform(-NEAR, NEAR, dynamics.constraints.coordinates.mobility) * unit
        q, _ = dynamics.project_to_constraints(
            model.integrate(start, dynamics.constraints.tangent_map(start) @ y), np.zeros(model.nv)
        )
        there.append(dynamics.pose(link, q))
    return np.array(there)


# --- pink -----------------------------------------------------------------------------------------------------------
def _pink(model: Model, link: str, start: Array, goals: Array, damping: float) -> Tried:
    """Its differential inverse kinematics, a whole step in each period, until the goal is reached."""
    import pink
    import quadprog  # noqa: F401  (without it no step would be found, and no goal reached)

    tree = PinocchioTree(model)
    joint, pose = tree.frames[link]
    tree.model.addFrame(tree.pin.Frame("goal", joint, 0, pose, tree.pin.FrameType.OP_FRAME))
    for name, last in tree.last.items():
        own = tree.model.joints[last]
        if own.nq == own.nv == 1 and (model.q_index(name).stop - model.q_index(name).start) == 1:
            tree.model.lowerPositionLimit[own.idx_q] = model.lower[model.q_index(name)][0]
            tree.model.upperPositionLimit[own.idx_q] = model.upper[model.q_index(name)][0]
    data, q0 = tree.model.createData(), tree.position(start)
    limits = [pink.limits.ConfigurationLimit(tree.model)]
    reached, steps = [], []
    begin = time.perf_counter()
    for goal in goals:
        task = pink.tasks.FrameTask("goal", position_cost=1.0, orientation_cost=1.0, lm_damping=damping)
        task.set_target(tree.pin.SE3(goal))
        configuration = pink.Configuration(tree.model, data, q0.copy())
        taken, left = _descend(configuration, task, lambda c, t: pink.solve_ik(c, [t], 1.0, "quadprog", limits=limits))
        reached.append(left <= TOLERANCE)
        steps.append(taken)
    return _tried(f"pink, lm_damping {damping:g}", reached, steps, time.perf_counter() - begin)


def _descend(configuration: Any, task: Any, solve: Callable[[Any, Any], Any]) -> tuple[int, float]:
    """Steps taken, and what is left; a goal to which no step leads within the limits is not reached."""
    from pink.exceptions import NoSolutionFound, NotWithinConfigurationLimits

    no_step = (NoSolutionFound, NotWithinConfigurationLimits)
    for step in range(MOST_STEPS + 1):
        left = float(np.max(np.abs(task.compute_error(configuration))))
        if left <= TOLERANCE or step == MOST_STEPS:
            return step, left
        try:
            configuration.integrate_inplace(solve(configuration, task), 1.0)
        except no_step:
            return step, left
    raise AssertionError


# --- shown ----------------------------------------------------------------------------------------------------------
def link_of(model: Model, name: str | None) -> str:
    """A link by its name; the last one by default."""
    if name is None:
        return model.link_names[-1]
    if name not in model.link_names:
        raise InputError(f"{model.name!r} has no link {name!r}; it has {', '.join(model.link_names)}.")
    return name


def text(model: Model, link: str, found: Sequence[Tried], missing: str) -> list[str]:
    """A table, and what is missing."""
    rows = [
        (one.name, f"{one.reached} of {one.goals}", f"{one.steps:.1f}", f"{1e6 * one.seconds:.0f}") for one in found
    ]
    lines = table(("program", "reached", "steps", "µs each"), rows)
    note = [f"to {TOLERANCE:g} m, rad within {MOST_STEPS} steps from one start, within the joints' limits"]
    return [
        f"inverse kinematics of {model.name}, pose of {link}",
        "",
        *lines,
        "",
        *note,
        *([missing] if missing else []),
    ]
