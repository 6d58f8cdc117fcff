# SPDX-License-Identifier: Apache-2.0
"""The controller node and the dynamics node over DDS: periods, the delay of each command, and the motion that it makes.

The log of exact states says which state each effort was worked out from: the control law of an earlier state gives that
very number. With these delays the same run in one process is to give the same motion.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_controllers import JointReference, State, make
from ada_dynamics.arrays import Array
from ada_dynamics.simulation import JointStops
from benchmarks.report import Report
from benchmarks.ros.figures import Window, keeping, quantiles
from benchmarks.ros.timing import Plan, bare_rows
from benchmarks.ros.world import Processes

ROBOT = "pa10"
GOALS = ([0.1, 0.7, 0.0, 0.8, 0.0, 0.3, 0.0], [0.3, 0.5, 0.2, 1.0, -0.2, 0.5, 0.3])  # [rad]
BETWEEN = 2.0  # [s] from goal to goal
SETTINGS = {"stiffness": [100.0], "damping": [20.0]}
MOST_BEHIND = 300  # steps that a command may be late and still be found
SAME = 1e-9  # [N m] between two computations of one effort
REPLAYED = 1e-6  # [rad] that the run in one process may differ with the same delays
DELAYED = 3  # periods: what the delay may be in the median


def run(report: Report, plan: Plan, seconds: float, quick: bool) -> None:
    """Measure.

    Args:
        report: gets tables and targets.
        plan: for folder and rate.
        seconds: how long.
        quick: whether nothing is compared with targets.
    """
    report.begin("control", f"computed torque for {ROBOT} at {plan.rate:g} Hz, states and commands over DDS")
    window, cpu = _measure(plan, seconds)
    folder = plan.folder / "control"
    rows = bare_rows(folder)
    table = []
    for name, file in (("control thread", "control"), ("physics thread", "physics")):
        kept = keeping(np.load(folder / f"{file}.npy"), window, plan.period, rows)
        times = [float(t) * 1e3 for t in (*kept.periods, kept.late[1], kept.late[3])]
        table.append([name, *times, kept.missed, kept.unexplained, kept.steps, cpu[name]])
    columns = [
        "period [ms]",
        "p50",
        "p99",
        "p99.9",
        "max",
        "late p99",
        "late max",
        "missed",
        "unexplained",
        "steps",
        "CPU",
    ]
    report.table("both nodes; CPU: of their processes", columns, table)
    log = Run.read(np.load(folder / "states.npy"), 1.0 / plan.rate)
    delays = Delays.of(log)
    found = quantiles(delays.steps[delays.steps >= 0].astype(float))
    unexplained = int((delays.steps < 0).sum())
    report.table(
        "steps from a state to the step that its command acts in",
        ["steps", "p50", "p99", "p99.9", "max", "commands", "unexplained", "states lost"],
        [["delay", *map(float, found), len(delays.steps), unexplained, log.lost]],
    )
    replayed, ideal = _replay(log, delays, 1.0 / plan.rate)
    report.table(
        "the same run in one process, difference of positions [rad]",
        ["with", "largest"],
        [["the delays that were measured", replayed], ["no delay", ideal]],
    )
    report.note(f"{log.pieces} pieces without a lost state, {len(log.q)} states, goals every {BETWEEN:g} s")
    if not quick:
        report.aim("median delay of a command", float(found[0]), DELAYED, "steps")
        report.aim("difference from the same run in one process, with the same delays", replayed, REPLAYED, "rad")


def _measure(plan: Plan, seconds: float) -> tuple[Window, dict[str, float]]:
    """Start everything, watch it; the window and each node's share of a core."""
    with Processes(plan.folder / "control") as processes:
        values = {"robot": ROBOT, "physics_rate": plan.rate, "publish_rate": plan.rate, "wrench_rate": 1.0}
        values |= {"marker_rate": 0.0, "initial_positions": GOALS[0], "publish_tf": "false"}
        node = processes.start("ada_robot.node.dynamics_node", "--ros-args", *_parameters(values), name="node")
        file = processes.folder / "states.npy"
        listener = processes.start("benchmarks.ros.state_listener", str(file), "22", name="listener").ready()
        values = {"robot": ROBOT, "rate": plan.rate, "state_timeout": 5.0, "blend": 0.0}
        values |= {f"computed_torque.{name}": value for name, value in SETTINGS.items()}
        controller = processes.start(
            "ada_controllers.node.controller_node", "--ros-args", *_parameters(values), name="controller"
        )
        goals = [",".join(map(str, goal)) for goal in GOALS]
        referee = processes.start("benchmarks.ros.referee", str(BETWEEN), *goals, name="referee").ready()
        bare = plan.bare(processes)
        time.sleep(plan.settle)
        begin, used = time.monotonic_ns(), (controller.seconds(), node.seconds())
        time.sleep(seconds)
        shares = [
            (now - then) / seconds for now, then in zip((controller.seconds(), node.seconds()), used, strict=True)
        ]
        window = Window(begin, time.monotonic_ns())
        for process in (referee, controller, listener, node, *bare):
            process.stop()
    return window, dict(zip(("control thread", "physics thread"), shares, strict=True))


def _parameters(values: dict[str, object]) -> list[str]:
    return [text for name, value in values.items() for text in ("-p", f"{name}:={value}")]


@dataclass(frozen=True)
class Run:
    """What the states say.

    Attributes:
        step: number of each state.
        q: positions, a row for each state.
        v: velocities.
        tau: efforts, in the step that led to the state.
        lost: states that are missing.
    """

    step: NDArray[np.int64]
    q: Array
    v: Array
    tau: Array
    lost: int

    @classmethod
    def read(cls, rows: Array, period: float) -> Run:
        """From rows of t, q, v and tau."""
        step = np.round(rows[:, 0] / period).astype(np.int64)
        step, first = np.unique(step, return_index=True)
        q, v, tau = np.split(rows[first, 1:], 3, axis=1)
        return cls(step, q, v, tau, int(step[-1] - step[0] + 1 - len(step)))

    @property
    def pieces(self) -> int:
        """Stretches without a gap."""
        return 1 + int((np.diff(self.step) > 1).sum())


@dataclass(frozen=True)
class Delays:
    """For each state, which one the effort was worked out from that led to it.

    Attributes:
        begin: first state that a command for a goal led to.
        end: behind the last one.
        source: row of the state; -1 where none gives this effort.
        goal: index of the goal that was followed; -1: the pose of the start.
        steps: from the state that was seen to the step in which its command acted, where that is known.
    """

    begin: int
    end: int
    source: NDArray[np.int64]
    goal: NDArray[np.int64]
    steps: NDArray[np.int64]

    @classmethod
    def of(cls, log: Run) -> Delays:
        """Find them, state by state: a source never lies before that of the state before."""
        dynamics = ada.Dynamics(ada.load(ROBOT))
        count = len(log.q)
        wanted = [_efforts(dynamics, log, np.array(goal)) for goal in GOALS]
        source, goal = np.full(count, -1), np.full(count, -1)
        at, present, begin = 0, 0, -1
        for k in range(1, count):
            for g in (present, 1 - present):
                first = max(at, k - MOST_BEHIND)
                hits = np.flatnonzero(np.abs(wanted[g][first:k] - log.tau[k]).max(axis=1) < SAME)
                if len(hits):
                    # two states that are the same to the last digits, at rest: the newest one
                    at, present = first + int(hits[-1]), g
                    source[k], goal[k] = at, g
                    begin = k if begin < 0 else begin
                    break
        end = int(np.flatnonzero(source >= 0)[-1]) + 1
        known = source[begin:end]
        steps = np.where(known >= 0, log.step[begin:end] - 1 - log.step[known], -1)
        return cls(begin, end, source, goal, steps)


def _efforts(dynamics: ada.Dynamics, log: Run, goal: Array) -> Array:
    """What the law gives for each state."""
    zero = np.zeros_like(log.v)
    wanted = zero + SETTINGS["damping"][0] * (0.0 - log.v) + SETTINGS["stiffness"][0] * (goal - log.q)
    return np.asarray(dynamics.inverse(log.q, log.v, wanted))


def _replay(log: Run, delays: Delays, period: float) -> tuple[float, float]:
    """Largest difference of positions from runs in one process: with the measured delays, and without any."""
    first, end = delays.begin, delays.end
    gaps = np.flatnonzero(np.diff(log.step[first:end]) > 1)
    end = first + int(gaps[0]) + 1 if len(gaps) else end
    at_once = np.where(delays.source >= 0, np.arange(len(log.q)) - 1, -1)
    runs = [_closed_loop(log, slice(first, end), source, delays.goal, period) for source in (delays.source, at_once)]
    with_delays, without = (float(np.abs(run - log.q[first:end]).max()) for run in runs)
    return with_delays, without


def _closed_loop(log: Run, piece: slice, source: NDArray[np.int64], goal: NDArray[np.int64], period: float) -> Array:
    """Positions of the controller and the robot in one process, from the first state of a piece on."""
    model = ada.load(ROBOT)
    controller = make("computed_torque", model, SETTINGS)
    effort = np.zeros(model.nv)
    stops = JointStops.for_model(model, period, q=log.q[0])
    first = piece.start
    sim = ada.Simulation(
        model, log.q[first], log.v[first], controller=lambda *_: effort, algorithm="ada", step=period, stops=stops
    )
    q, v = log.q[piece].copy(), log.v[piece].copy()
    controller.reset(State(q[0], v[0]), 0.0)
    targets = [JointReference(np.array(one)) for one in GOALS]
    for k in range(1, len(q)):
        seen = int(source[first + k])
        if seen < 0:  # nothing gives this effort: it is taken as it was
            effort[:] = log.tau[first + k]
        else:
            at = (q[seen - first], v[seen - first]) if seen >= first else (log.q[seen], log.v[seen])
            effort[:] = controller.update(State(*at), targets[goal[first + k]], period * k).effort
        sim.step()
        q[k], v[k] = sim.q, sim.v
    return q
