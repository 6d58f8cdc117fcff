# SPDX-License-Identifier: Apache-2.0
"""How far the kernels are from what the processor can do at most."""

from __future__ import annotations

import ada_dynamics as ada
from ada_dynamics.expr import Machine, cost, floors
from ada_dynamics.expr.count import critical_path
from ada_dynamics.jit import Kernel
from benchmarks import robots
from benchmarks.native import batch_by_address, rows_in_turn
from benchmarks.peaks import Peaks, measure_peaks
from benchmarks.report import Report
from benchmarks.timing import Plan, measure

BATCH = 1024  # small enough for the caches


def run(report: Report, plan: Plan, quick: bool) -> None:
    """Peaks, counts, and distances to the floors."""
    report.begin("flops", "forward dynamics against the peak rates of one core")
    peaks = measure_peaks(plan.seconds if quick else 0.2)
    _show_peaks(report, peaks)
    described = [robots.pa10()] if quick else [robots.pa10(), robots.pa10(full=True), robots.humanoid()]
    counts, distances = [], []
    for robot in described:
        model = robot.model()
        dynamics = ada.Dynamics(model)
        kernel = dynamics.kernel("forward")
        assert isinstance(kernel, Kernel)
        single, batch = _times(model, kernel, plan)
        of, nodes = cost(kernel.function), kernel.function.nodes()
        latency = critical_path(nodes, peaks.latency) * 1e-3
        plain = floors(of, Machine(scalar=peaks.scalar, vector=peaks.vector))
        fused = floors(of, Machine(scalar=peaks.scalar_fma, vector=peaks.vector_fma))
        counts.append([robot.name, dynamics.algorithm, of.flops, of.sincos_pairs, of.divisions, of.work])
        floor = max(plain.scalar, latency)
        distances.append([robot.name, "one state", of.work / single, plain.scalar, fused.scalar, latency, single])
        distances[-1] += [single / floor]
        distances.append([robot.name, "batch", of.work / batch, plain.batch, fused.batch, "", batch])
        distances[-1] += [batch / plain.batch]
    report.table("operations of one evaluation", ["robot", "algorithm", "flops", "sincos", "divisions", "work"], counts)
    report.note("work = flops + 36 for each sincos pair; the critical path uses this machine's own latencies")
    columns = ["robot", "kernel", "Gflop/s", "floor ns", "all FMA ns", "critical path ns", "measured ns", "x the floor"]
    report.table("distance to the floors", columns, distances)
    report.note("the floor of one state is the larger of throughput and critical path")


def _show_peaks(report: Report, peaks: Peaks) -> None:
    rows = [["scalar", peaks.scalar, peaks.scalar_fma], ["vector", peaks.vector, peaks.vector_fma]]
    report.table("peak rates, one core [Gflop/s]", ["", "multiply and add", "fused"], rows)
    report.note(
        f"vectors gain a factor of {peaks.vector / peaks.scalar:.1f} here, and of 8.1 where the targets were set: the "
        "targets of batches are as much too high or too low"
    )
    latencies = [[op, time * 1e-3] for op, time in peaks.latency.items() if op in ("add", "mul", "rec", "sqrt", "sin")]
    report.table("latencies [ns]", ["operation", "ns"], latencies)


def _times(model: ada.Model, kernel: Kernel, plan: Plan) -> tuple[float, float]:
    """Best times of one state and of a state in a batch [ns]: floors are compared with undisturbed runs."""
    states = robots.random_states(model, BATCH)
    single = rows_in_turn("single", kernel, [x[:64] for x in states], 20)
    timings = measure([single, batch_by_address("batch", kernel, states)], plan)
    return timings.best("single") * 1e9, timings.best("batch") * 1e9
