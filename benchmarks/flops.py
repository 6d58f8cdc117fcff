# SPDX-License-Identifier: Apache-2.0
"""How far the kernels are from what the processor can do at most."""

from __future__ import annotations

import numpy as np

import ada_dynamics as ada
from ada_dynamics.expr import Machine, cost, floors
from ada_dynamics.expr.count import critical_path
from ada_dynamics.expr.graph import FMA
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.fused import fused
from benchmarks import peers, robots
from benchmarks.native import batch_by_address, rows_in_turn
from benchmarks.peaks import Peaks, measure_peaks
from benchmarks.peers import PINOCCHIO
from benchmarks.report import Report
from benchmarks.timing import Contender, Plan, Timings, measure

BATCH = 1024  # small enough for the caches
CALL, SINGLE, BATCHES = "call", "single", "batch"
# Goals: times the floor of the processor at hand, and ns of a call from Python above the code for one state.
ONE_STATE, IN_BATCH, CALLING = 1.15, 1.3, 60.0
# Times pinocchio's time per state in batches, or what IN_BATCH allows where the processor cannot do as much.
AGAINST_PINOCCHIO = {"pa10full": 50.0, "humanoid": 40.0}


def run(report: Report, plan: Plan, quick: bool) -> None:
    """Peaks, counts, and distances to the floors."""
    report.begin("flops", "forward dynamics against the peak rates of one core")
    peaks = measure_peaks(plan.seconds if quick else 0.2)
    _show_peaks(report, peaks)
    described = [robots.pa10()] if quick else [robots.pa10(), robots.pa10(full=True), robots.humanoid()]
    counts, distances = [], []
    goals: list[tuple[str, float, float, str, bool]] = []
    for robot in described:
        model = robot.model()
        dynamics = ada.Dynamics(model)
        kernel = dynamics.kernel("forward")
        assert isinstance(kernel, Kernel)
        timings = _times(robot, dynamics, kernel, plan)
        # floors are compared with undisturbed runs
        best = {label: timings.best(label) * 1e9 for label in timings.labels}
        single, batch = best[SINGLE], best[BATCHES]
        of, nodes = cost(kernel.function), fused(kernel.function).nodes()
        latency = critical_path(nodes, peaks.latency) * 1e-3
        # A unit that fuses takes one multiplication, one addition, or both of a fused pair at a time.
        fusions = sum(node.lanes for node in nodes if node.op is FMA)
        of_scalars, of_vectors = (2.0 * (of.work - fusions) / peak for peak in (peaks.scalar_fma, peaks.vector_fma))
        all_fused = floors(of, Machine(scalar=peaks.scalar_fma, vector=peaks.vector_fma))
        counts.append([robot.name, dynamics.algorithm, of.flops, of.sincos_pairs, of.divisions, of.work])
        floor = max(of_scalars, latency)
        distances.append([robot.name, "one state", of.work / single, of_scalars, all_fused.scalar, latency, single])
        distances[-1] += [single / floor]
        distances.append([robot.name, "batch", of.work / batch, of_vectors, all_fused.batch, "", batch])
        distances[-1] += [batch / of_vectors]
        if all(node.lanes == 1 for node in nodes):
            goals.append((f"{robot.name}: one state / floor", single / floor, ONE_STATE, "x", False))
        goals.append((f"{robot.name}: batch / floor", batch / of_vectors, IN_BATCH, "x", False))
        goals.append((f"{robot.name}: call from Python above one state", best[CALL] - single, CALLING, "ns", False))
        if robot.name in AGAINST_PINOCCHIO and PINOCCHIO in best:
            most = best[PINOCCHIO] / (IN_BATCH * of_vectors)
            limit = min(AGAINST_PINOCCHIO[robot.name], most)
            goals.append((f"{robot.name}: pinocchio / batch", best[PINOCCHIO] / batch, limit, "x", True))
    report.table("operations of one evaluation", ["robot", "algorithm", "flops", "sincos", "divisions", "work"], counts)
    report.note("work = flops + 36 for each sincos pair; the critical path uses this machine's own latencies")
    columns = ["robot", "kernel", "Gflop/s", "floor ns", "all FMA ns", "critical path ns", "measured ns", "x the floor"]
    report.table("distance to the floors", columns, distances)
    report.note("a fused multiplication and addition count as one operation at half the peak of fused ones")
    report.note("the floor of one state is the larger of throughput and critical path")
    report.note("with limbs in lanes of one state it has no target: the throughput is that of scalars")
    for what, measured, limit, unit, at_least in goals:
        report.aim(what, measured, limit, unit, at_least=at_least)


def _show_peaks(report: Report, peaks: Peaks) -> None:
    rows = [["scalar", peaks.scalar, peaks.scalar_fma], ["vector", peaks.vector, peaks.vector_fma]]
    report.table("peak rates, one core [Gflop/s]", ["", "multiply and add", "fused"], rows)
    report.note(
        f"vectors gain a factor of {peaks.vector / peaks.scalar:.1f} here, and of 8.1 where the targets of other "
        "sections were set; here targets are relative to this processor's floors"
    )
    latencies = [
        [op, time * 1e-3] for op, time in peaks.latency.items() if op in ("add", "mul", "fma", "rec", "sqrt", "sin")
    ]
    report.table("latencies [ns]", ["operation", "ns"], latencies)


def _times(robot: robots.Robot, dynamics: ada.Dynamics, kernel: Kernel, plan: Plan) -> Timings:
    """One state, a state in a batch, and a call from Python; pinocchio's state where it is installed."""
    states = robots.random_states(robot.model(), BATCH)
    q, v, tau = (np.ascontiguousarray(x[0]) for x in states)
    dynamics.forward(q, v, tau)  # from now on `forward` is a builtin
    contenders = [
        rows_in_turn(SINGLE, kernel, [x[:64] for x in states], 20),
        batch_by_address(BATCHES, kernel, states),
        Contender(CALL, "f(q, v, tau)", {"f": dynamics.forward, "q": q, "v": v, "tau": tau}),
    ]
    if robot.name in AGAINST_PINOCCHIO and PINOCCHIO in peers.available():
        contenders.append(peers.Pinocchio(robot).native(*states))
    return measure(contenders, plan)
