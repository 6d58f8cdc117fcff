# SPDX-License-Identifier: Apache-2.0
"""Energy of the passive mechanisms of the catalogue after a minute, by integrator and time step."""

from __future__ import annotations

import time
import warnings

import numpy as np

import ada_dynamics as ada
from ada_dynamics.errors import AdaError
from ada_dynamics.robots.catalogue import CATALOGUE
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.methods import METHODS, IntegratorName
from benchmarks.report import Report
from benchmarks.timing import Schedule

INTEGRATORS: tuple[IntegratorName, ...] = ("semi_implicit", "rk4", "rkf45", "dop853")
STEPS = (1e-3, 2e-3)  # [s]
DURATION = 60.0  # [s]
LARGEST_GAIN = 2.0  # [%] of the swing
COLUMNS = [
    "mechanism", "swing [J]", "time step [ms]", "integrator", "gain [%]", "loss [%]", "violation [m]", "time [s]",
]  # fmt: skip


def run(report: Report, schedule: Schedule, quick: bool) -> None:
    """Simulate each mechanism with loops; a quick run takes two of them for a second."""
    del schedule  # times are shown, not compared
    report.begin("energy", "passive mechanisms with loops swing from rest")
    report.note(
        "gain and loss: the largest deviations of the total energy from its initial value, as shares of the swing, "
        "which is the larger of the largest kinetic energy and the range of the potential energy"
    )
    names = ["four_bar", "five_bar"] if quick else [name for name in CATALOGUE if ada.load(name).loops]
    rows = []
    for name in names:
        for step in STEPS:
            rows += [_row(report, name, step, integrator, 1.0 if quick else DURATION) for integrator in INTEGRATORS]
    report.table(f"{1 if quick else DURATION:g} s, deviation of the energy as a share of the swing", COLUMNS, rows)


def _row(
    report: Report, name: str, step: float, integrator: IntegratorName, duration: float
) -> list[str | int | float]:
    """Simulate one mechanism."""
    # Adaptive methods choose their own steps within the interval of the log.
    every = 1 if METHODS[integrator].is_adaptive else round(1e-2 / step)
    began = time.process_time()
    case = f"{name}, {integrator}, {1e3 * step:g} ms"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            log = Simulation(ada.load(name), integrator=integrator, step=step, log_every=every).run(duration)
        except AdaError as problem:
            report.note(f"{case}: {problem}")
            return [name, np.nan, 1e3 * step, integrator, *[np.nan] * 3, time.process_time() - began]
    for kind in sorted({warning.category.__name__ for warning in caught}):
        report.note(f"{case}: {kind}")
    total = log.energy.kinetic + log.energy.potential
    swing = max(float(log.energy.kinetic.max()), float(np.ptp(log.energy.potential)))
    gain, loss = (100.0 * float(part) / swing for part in (total.max() - total[0], total[0] - total.min()))
    report.aim(f"{case}: gain", gain, LARGEST_GAIN, "%")
    return [
        name, swing, 1e3 * step, integrator, gain, loss, float(log.loop_gap.max()), time.process_time() - began
    ]  # fmt: skip
