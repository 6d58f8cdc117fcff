# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics one by one and in batches, against the differential inverse kinematics of pink with quadprog."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import ada_dynamics as ada
from ada_dynamics import ik
from ada_dynamics.arrays import Array
from ada_experiments.pinocchio_tree import PinocchioTree
from benchmarks.report import Report
from benchmarks.timing import Schedule

TOLERANCE, MOST_STEPS = 1e-6, 100
NEAR = 0.2  # rad, or fraction of the characteristic length: range of the goals of mechanisms with loops
PINK_DAMPING = (0.0, 1e-3, 1.0)  # its lm_damping; the damping of this package also scales with the squared residual


class SolverResult(NamedTuple):
    """Number of reached goals, mean number of steps, and time per goal [s] of one program."""

    name: str
    reached: int
    steps: float
    seconds: float


def run(report: Report, _schedule: Schedule, quick: bool) -> None:
    """The arm PA-10, and a hexapod, whose loops pink does not support."""
    report.begin("ik", "inverse kinematics: goals reached from one start within the joint limits")
    for robot, link, count in (("pa10", "flange", 2000), ("stewart", "platform", 200)):
        count = min(count, 20) if quick else count
        rows = [
            (one.name, f"{one.reached} of {count}", f"{one.steps:.1f}", 1e6 * one.seconds)
            for one in measure(robot, link, count)
        ]
        report.table(f"{robot}, pose of {link}", ["", "reached", "steps", "us each"], rows)


def measure(robot: str, link: str, count: int, seed: int = 0) -> list[SolverResult]:
    """Results of all programs for the same goals; pink only if it is installed, for robots without loops.

    Args:
        robot: catalogue name.
        link: link to move.
        count: number of goals: poses at random configurations within the limits; near the start for robots with loops.
        seed: seed of the goals.
    """
    model = ada.load(robot)
    start = ada.close_loops(model)
    dynamics = ada.Dynamics(model, q0=start)
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
        _result("ada.solve_ik", [one.reached for one in each], [one.steps for one in each], between - begin),
        _result("ik.solve_many", many.reached.tolist(), many.steps.tolist(), end - between),
    ]
    try:
        import pink  # noqa: F401
        import quadprog  # noqa: F401  (required by pink to find any step)
    except ImportError:
        return found
    return found if model.loops else [*found, *(_pink(model, link, start, goals, damping) for damping in PINK_DAMPING)]


def _result(name: str, reached: Sequence[bool], steps: Sequence[int], seconds: float) -> SolverResult:
    return SolverResult(name, int(np.sum(reached)), float(np.mean(steps)), seconds / len(reached))


def _goals(dynamics: ada.Dynamics, link: str, start: Array, count: int, rng: np.random.Generator) -> Array:
    model = dynamics.model
    if not model.loops:
        return np.array(dynamics.pose(link, np.array([model.random_state(rng)[0] for _ in range(count)])))
    goals: list[Array] = []
    unit = dynamics.constraints.coordinates.units[list(dynamics.constraints.indices())]
    while len(goals) < count:
        y = rng.uniform(-NEAR, NEAR, dynamics.constraints.coordinates.mobility) * unit
        q, _ = dynamics.project_to_constraints(
            model.integrate(start, dynamics.constraints.tangent_map(start) @ y), np.zeros(model.nv)
        )
        goals.append(dynamics.pose(link, q))
    return np.array(goals)


def _pink(model: ada.Model, link: str, start: Array, goals: Array, damping: float) -> SolverResult:
    """Differential inverse kinematics of pink with full steps, until the goal is reached."""
    import pink

    tree = PinocchioTree(model)
    joint, pose = tree.frames[link]
    tree.model.addFrame(tree.pin.Frame("goal", joint, 0, pose, tree.pin.FrameType.OP_FRAME))
    for name, last in tree.last.items():
        own = tree.model.joints[last]
        if own.nq == own.nv == model.joints[name].nq == 1:
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
    return _result(f"pink, lm_damping {damping:g}", reached, steps, time.perf_counter() - begin)


def _descend(configuration: Any, task: Any, solve: Callable[[Any, Any], Any]) -> tuple[int, float]:
    """Number of steps and the residual; the iteration ends if no step is feasible within the limits."""
    from pink.exceptions import NoSolutionFound, NotWithinConfigurationLimits

    steps = 0
    while (left := float(np.max(np.abs(task.compute_error(configuration))))) > TOLERANCE and steps < MOST_STEPS:
        try:
            configuration.integrate_inplace(solve(configuration, task), 1.0)
        except (NoSolutionFound, NotWithinConfigurationLimits):
            break
        steps += 1
    return steps, left
