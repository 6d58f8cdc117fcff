# SPDX-License-Identifier: Apache-2.0
"""Linkages with more conditions than count, in motion: against independent coordinates in extended precision."""

from __future__ import annotations

import time

import numpy as np

from ada_dynamics.errors import AdaError
from ada_dynamics.robots import mechanisms
from ada_dynamics.simulation import Simulation
from benchmarks.linkages.families import FAMILIES
from benchmarks.linkages.linkage import linkage_of, model_of
from benchmarks.linkages.trials import INTERVAL, STEP, TRUE_STEP, Trial, groups, largest, trials
from benchmarks.report import Report
from benchmarks.timing import Plan

FINE = 1e-4  # [s]
TIMES = 10.0  # worse than the same method on independent coordinates
CATALOGUE = "bennett of the catalogue"
MAKERS = {**FAMILIES, CATALOGUE: lambda rng: linkage_of(*mechanisms.bennett(), mobility=1)}
COLUMNS = [
    "linkage", "mobility", "redundant", "speed", "error, 1 ms", "0.1 ms", "independent, 1 ms", "ratio", "drift [J]",
    "independent", "gap",
]  # fmt: skip


def run(report: Report, plan: Plan, quick: bool) -> None:
    """A linkage of each family and one of the catalogue; a quick run takes two of them for a tenth of a second."""
    del plan  # nothing is timed
    report.begin("linkages", "loops with redundant conditions in motion, against independent coordinates")
    report.note(
        f"truth: order 8, steps of {1e3 * TRUE_STEP:g} ms, own equations in independent coordinates and extended "
        "precision; independent: rkf45 at 1 ms on the same coordinates. Errors: the largest of joint rates [rad/s]"
    )
    seconds, names = (0.1, ["spherical_4", "bennett"]) if quick else (1.0, list(MAKERS))
    began, rows = time.process_time(), []
    for families in groups(names, MAKERS):
        for trial in trials(families, 1, seconds, seed=1, makers=MAKERS):
            rows.append(_row(report, trial, seconds))
    report.table(f"{seconds:g} s under gravity, rkf45 with its defaults, speeds in rad/s", COLUMNS, rows)
    report.note(f"{time.process_time() - began:.0f} s of computing, nearly all of it the judge's")


def _row(report: Report, trial: Trial, seconds: float) -> list[str | int | float]:
    """One linkage, with links' frames in any orientation."""
    try:
        error, drift, gap = _simulated(trial, seconds, STEP)
        fine, _, _ = _simulated(trial, seconds, FINE)
    except AdaError as refusal:
        report.note(f"{trial.family} is refused: {refusal}")
        error = drift = gap = fine = np.inf
    ratio = error / max(trial.error, trial.rounding)
    report.aim(f"{trial.family}: error / that on independent coordinates, or rounding", ratio, TIMES, "x")
    one = trial.linkage
    return [
        trial.family, one.mobility, one.redundant, trial.speed, error, fine, trial.error, ratio, drift, trial.drift, gap
    ]  # fmt: skip


def _simulated(trial: Trial, seconds: float, step: float) -> tuple[float, float, float]:
    """Largest error of a rate, change of energy, gap."""
    made, truth = model_of(trial.linkage, np.random.default_rng(1)), trial.truth
    every = round(INTERVAL / step)
    q, v = made.q(truth.angles[0]), made.v(truth.rates[0])
    log = Simulation(made.model, q, v, step=step, log_every=every).run(seconds)
    energy = log.total_energy
    return largest(log.v - made.v(truth.rates)), largest(energy - energy[0]), float(log.loop_gap.max())
