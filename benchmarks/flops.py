# SPDX-License-Identifier: Apache-2.0
"""How far the kernels are from what the processor can do at most.

The floor of a kernel is the time that its own operations take at the best rate of their mixture, no less than its
divisions take, and for one state no less than what they take where each waits for its operands (`shortest_time`; the
longest chain alone is printed beside it). Nothing else counts: neither loads and stores nor the checks of arguments. No
kernel can be faster.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

import ada_dynamics as ada
from ada_dynamics.dynamics.front import kernel_of
from ada_dynamics.expr import Function
from ada_dynamics.expr.evaluation import without_lanes
from ada_dynamics.expr.graph import ADD, COS, FMA, LANE_SUM, MUL, REC, SIN, SQRT, SUB, Expr
from ada_dynamics.expr.operation_count import critical_path
from ada_dynamics.jit import Kernel, Target
from ada_dynamics.jit.elementary import sincos_definition
from ada_dynamics.jit.fused import fused
from ada_dynamics.jit.lowering import Lanes
from ada_dynamics.jit.scalar import single_vector_bits
from benchmarks import peers, robots
from benchmarks.native import batch_by_address, rows_in_turn
from benchmarks.peaks import Mixture, at_best_rate, best_rate, divisions, latencies, one_by_one
from benchmarks.peers import PINOCCHIO
from benchmarks.report import Report
from benchmarks.shortest import shortest_time
from benchmarks.timing import Contender, Plan, Timings, measure

BATCH = 1024  # small enough for the caches
CALL, SINGLE, BATCHES = "call", "one state", "batch"
SHOWN = (ADD, MUL, FMA, REC, SQRT, SIN)
PEAKS = RATE, DIVISIONS, CHAIN, ORDER = "rate", "divisions", "chain", "order"
# Goals: times the floor of the processor at hand, and ns of a call from Python above the code for one state.
GOALS, CALLING = {SINGLE: 1.15, BATCHES: 1.3}, 60.0
# Times pinocchio's time per state in batches, or what the goal of batches allows where the processor cannot do as much.
AGAINST_PINOCCHIO = {"pa10full": 50.0, "humanoid": 40.0}


def run(report: Report, plan: Plan, quick: bool) -> None:
    """Counts, and distances to the floors."""
    report.begin("flops", "forward dynamics against the peak rates of one core")
    seconds = plan.seconds if quick else 0.2
    latency = latencies(seconds)
    products, all_kinds = best_rate(Mixture(0, 1, 1), seconds), best_rate(Mixture(1, 0, 1), seconds)
    rates = [((MUL, FMA), products), ((ADD, SUB, MUL, FMA), max(products, all_kinds))]
    described = [robots.pa10()] if quick else [robots.pa10(), robots.pa10(full=True), robots.humanoid()]
    counts, distances = [], []
    goals: list[tuple[str, float, float, str, bool]] = []
    for robot in described:
        dynamics = ada.Dynamics(robot.model())
        kernel = kernel_of(dynamics, "forward")
        assert isinstance(kernel, Kernel)
        floors = _floors(kernel.function, latency, rates)
        timings = _times(robot, dynamics, kernel, [peak for floor in floors.values() for peak in floor.peaks], plan)
        shortest = {label: min(timings.ratio(label, peak.label) for peak in floors[label].peaks) for label in floors}
        for label, floor in floors.items():
            counts.append([robot.name, label, dynamics.algorithm, *floor.mixture, floor.divisions])
            times = [timings.median(peak.label) * 1e9 for peak in floor.peaks]
            measured = timings.median(label) * 1e9
            distances.append([robot.name, label, floor.mixture.total / times[0], floor.mixture.total / measured])
            distances[-1] += [*times, *[""] * (len(PEAKS) - len(times)), measured, shortest[label]]
        goals += [(f"{robot.name}: {label} / floor", shortest[label], GOALS[label], "x", False) for label in floors]
        above = (timings.median(CALL) - timings.median(SINGLE)) * 1e9
        goals.append((f"{robot.name}: call from Python above one state", above, CALLING, "ns", False))
        if robot.name in AGAINST_PINOCCHIO and PINOCCHIO in timings.labels:
            faster = timings.ratio(PINOCCHIO, BATCHES)
            limit = min(AGAINST_PINOCCHIO[robot.name], faster * shortest[BATCHES] / GOALS[BATCHES])
            goals.append((f"{robot.name}: pinocchio / batch", faster, limit, "x", True))
    report.table("latencies [ns]", ["operation", "ns"], [[op, latency[op] * 1e-3] for op in SHOWN])
    columns = ["robot", "kernel", "algorithm", "additions", "products", "fused", "divisions"]
    report.table("instructions of one state, or of a block of states", columns, counts)
    report.note("with those of sines and cosines; what is in lanes of one state is one instruction")
    columns = ["robot", "kernel", "best per ns", "per ns", *(f"{peak} ns" for peak in PEAKS), "measured ns", "x floor"]
    report.table("distance to the floors, per state", columns, distances)
    for what, measured, limit, unit, at_least in goals:
        report.aim(what, measured, limit, unit, at_least=at_least)


class _Floor(NamedTuple):
    """What a kernel cannot do without: instructions, and the time that they take at best."""

    mixture: Mixture
    divisions: int
    peaks: list[Contender]


def _floors(
    function: Function, latency: Mapping[str, int], rates: Sequence[tuple[tuple[str, ...], float]]
) -> dict[str, _Floor]:
    """Of one state, and of a batch."""
    target = Target.host()
    one, many = fused(function).nodes(), without_lanes(fused(function)).nodes()
    sines_at_once = single_vector_bits(function, target.vector_bits) // 64
    floors = {}
    for label, nodes, lanes in ((SINGLE, one, 1), (BATCHES, many, target.lanes)):
        mixture, count = _count(nodes, sines_at_once if lanes == 1 else 1, target)
        floors[label] = _Floor(mixture, count, [at_best_rate(f"{label}: {RATE}", mixture, lanes)])
        floors[label].peaks.append(divisions(f"{label}: {DIVISIONS}", count, lanes))
    for label, time in ((CHAIN, critical_path(one, latency)), (ORDER, shortest_time(one, latency, rates))):
        floors[SINGLE].peaks.append(one_by_one(f"{SINGLE}: {label}", time / latency[FMA]))
    return floors


def _count(nodes: Sequence[Expr], sines_at_once: int, target: Target) -> tuple[Mixture, int]:
    """Instructions, and divisions among them. Lanes of one state are one instruction; their sums are a tree."""
    found = Counter(node.op for node in nodes)
    found[ADD] += found[SUB] + sum((node.args[0].lanes - 1).bit_length() for node in nodes if node.op is LANE_SUM)
    angles = {node.args[0].index: node.args[0].lanes for node in nodes if node.op in (SIN, COS)}
    pairs = -(-sum(angles.values()) // sines_at_once)
    text = sincos_definition(Lanes(1), target.fma)
    own = [len(re.findall(pattern, text)) for pattern in (r"= f(?:add|sub) ", r"= fmul ", r"= call \S+ @llvm\.fma")]
    mixture = Mixture(*(found[op] + pairs * more for op, more in zip((ADD, MUL, FMA), own, strict=True)))
    return mixture, found[REC]


def _times(
    robot: robots.Robot, dynamics: ada.Dynamics, kernel: Kernel, peaks: Sequence[Contender], plan: Plan
) -> Timings:
    """One state, a state in a batch, and a call from Python; pinocchio's state where it is installed; and peaks."""
    states = robots.random_states(robot.model(), BATCH)
    q, v, tau = (np.ascontiguousarray(x[0]) for x in states)
    dynamics.forward(q, v, tau)  # from now on `forward` is a builtin
    contenders = [
        *peaks,
        rows_in_turn(SINGLE, kernel, [x[:64] for x in states], 20),
        batch_by_address(BATCHES, kernel, states),
        Contender(CALL, "f(q, v, tau)", {"f": dynamics.forward, "q": q, "v": v, "tau": tau}),
    ]
    if robot.name in AGAINST_PINOCCHIO and PINOCCHIO in peers.available():
        contenders.append(peers.Pinocchio(robot).native(*states))
    return measure(contenders, plan)
