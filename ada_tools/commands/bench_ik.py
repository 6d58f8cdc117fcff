# SPDX-License-Identifier: Apache-2.0
"""`ada bench ik`: inverse kinematics one by one and in batches, compared with pink if it is installed."""

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
from ada_dynamics.model.model import Model
from ada_dynamics.resources import how_to_install
from ada_tools.commands.common import table
from ada_tools.engines.pinocchio_tree import PinocchioTree

TOLERANCE, MOST_STEPS = 1e-6, 100
NEAR = 0.2  # rad, or fraction of the characteristic length: range of the goals of mechanisms with loops
PINK_DAMPING = (0.0, 1e-3, 1.0)  # its lm_damping; the damping of this package also scales with the squared residual


@dataclass
class SolverResult:
    """Result of one program.

    Attributes:
        name: name of the program.
        goals: number of goals.
        reached: number of reached goals.
        steps: mean number of steps.
        seconds: time per goal.
    """

    name: str
    goals: int
    reached: int
    steps: float
    seconds: float


def measure(dynamics: Dynamics, link: str, start: Array, count: int, seed: int = 0) -> tuple[list[SolverResult], str]:
    """Results of all programs for the same goals, and the reason why one is missing.

    Args:
        dynamics: dynamics of the robot.
        link: link to move.
        start: initial configuration, with closed loops.
        count: number of goals: poses at random configurations within the limits; near `start` for robots with loops.
        seed: seed of the goals.
    """
    require_link(dynamics, link)
    goals = _goals(dynamics, link, start, count, np.random.default_rng(seed))
    settings: dict[str, Any] = {"tolerance": TOLERANCE, "max_steps": MOST_STEPS}
    enough = goals[np.arange(64) % count]  # warm-up: compiles the batch code
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
        return found, "pink does not support loops"
    try:
        return [*found, *(_pink(dynamics.model, link, start, goals, damping) for damping in PINK_DAMPING)], ""
    except ImportError:
        return found, f"pink is not installed; {how_to_install('bench')}"


def _tried(name: str, reached: Sequence[bool], steps: Sequence[int], seconds: float) -> SolverResult:
    count = len(reached)
    return SolverResult(name, count, int(np.sum(reached)), float(np.mean(steps)), seconds / count)


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
def _pink(model: Model, link: str, start: Array, goals: Array, damping: float) -> SolverResult:
    """Differential inverse kinematics of pink with full steps, until the goal is reached."""
    import pink
    import quadprog  # noqa: F401  (required by pink to find any step)

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
    """Number of steps and the residual; the iteration ends if no step is feasible within the limits."""
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
    """Link by name; default: the last one."""
    if name is None:
        return model.link_names[-1]
    if name not in model.link_names:
        raise InputError(f"{model.name!r} has no link {name!r}; it has {', '.join(model.link_names)}.")
    return name


def text(model: Model, link: str, found: Sequence[SolverResult], missing: str) -> list[str]:
    """Table of results, and the missing program."""
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
