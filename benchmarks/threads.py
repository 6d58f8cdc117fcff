# SPDX-License-Identifier: Apache-2.0
"""Batches and rollouts on several threads: the same numbers bit for bit, and how time falls with their number."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from benchmarks import robots
from benchmarks.report import Report
from benchmarks.timing import Schedule, on_all_cpus

STEP = 1e-3  # [s]


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Curves by the clock on the wall, for as many threads as there are processors."""
    report.begin("threads", "batches and rollouts on several threads")
    states, starts, steps = (2048, 256, 20) if quick else (2**18, 4096, 100)
    model = ada.load("pa10")
    q, v, tau = robots.random_states(model, states)
    dynamics, sim = ada.Dynamics(model), ada.Simulation(model, integrator="rk4", step=STEP)
    works: dict[str, Callable[[int], Array]] = {
        f"forward dynamics, {states} states": lambda n: ada.in_threads(dynamics.forward, q, v, tau, threads=n),
        f"rk4, {starts} starts, {steps} steps": lambda n: (
            sim.rollout(q[:starts], None, steps * STEP, rows_every=steps, threads=n).q
        ),
    }
    with on_all_cpus():
        most = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        for name, work in works.items():
            report.table(
                f"{model.name}: {name}", ["threads", "ms", "times as fast"], _curve(work, most, schedule.rounds)
            )
    report.note(
        "the same numbers bit for bit; virtual processors may be two threads of one core, which share its units"
    )


def _curve(work: Callable[[int], Array], most: int, rounds: int) -> list[list[float]]:
    """Threads, medians [ms] and gains."""
    numbers = range(1, most + 1)
    expected = work(1)
    for n in numbers:
        if not np.array_equal(work(n), expected):
            raise AdaError(f"{n} threads give other numbers than one.")
    seconds: dict[int, list[float]] = {n: [] for n in numbers}
    for _ in range(rounds):
        for n in numbers:
            begin = time.perf_counter()
            work(n)
            seconds[n].append(time.perf_counter() - begin)
    gains = {n: median(one / other for one, other in zip(seconds[1], seconds[n], strict=True)) for n in numbers}
    return [[n, 1e3 * median(seconds[n]), gains[n]] for n in numbers]
