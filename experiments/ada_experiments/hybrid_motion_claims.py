# SPDX-License-Identifier: Apache-2.0
"""S2: claims about the hybrid motion simulation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ada_dynamics.arrays import Array
from ada_experiments import space_robots
from ada_experiments.hybrid_motion_rig import HybridCase, HybridSettings, plate_takes
from ada_experiments.motion_simulation.lock_step import Record
from ada_tools.scenario.registry import Claim, Quantity

CONSERVED = 1e-8  # linear: equal and opposite forces in every stage of the integrator
# angular: the point of application is constant on each robot within a step, while they slide 0.01 mm/ms
SLIDES = 1e-4
SAME_MOTION = 1e-6  # [m], through the table and back: rounding of the sensor counts
# relative difference from the numeric model: bouncing plate mass (5 % of the contact mass) and servo lag
ALIKE = 0.15
SQUARE_ROOT = 0.1  # tolerance of the exponents
PLATE = 0.03  # the residual delay takes up to 0.8 % of the energy, the servo lag adds up to 3 %
GROWS = 0.05  # energy fed in relative to that of the contact, at least, for an uncompensated loop
DELAY = 1e-4  # [s]


def peak(record: Record) -> float:
    """Largest force without the oscillation of the plate on the probe [N]."""
    return float(record.smoothed().max())


def duration(record: Record) -> float:
    """Duration of the first contact [s]."""
    begin, end = record.touch
    return end - begin


def impulse(force: Array, step: float) -> float:
    """Impulse of a force [N s]."""
    return float(np.sum(force) * step)


def differences(case: HybridCase) -> tuple[float, float, float]:
    """Relative differences of the hybrid from the numeric contact: peak, duration, impulse."""
    numeric, step = case.numeric, float(case.hybrid.t[1] - case.hybrid.t[0])
    return (
        abs(peak(case.hybrid) / numeric.peak - 1.0),
        abs(duration(case.hybrid) / numeric.duration - 1.0),
        abs(impulse(case.hybrid.push, step) / impulse(numeric.force, step) - 1.0),
    )


def momentum_change(record: Record) -> tuple[float, float]:
    """Relative change of linear and angular momentum."""
    before, after = record.momentum
    parts = (slice(0, 3), slice(3, 6))
    changes = [float(np.abs(after[p] - before[p]).max() / np.linalg.norm(before[p])) for p in parts]
    return changes[0], changes[1]


def expected_delay(step: float) -> float:
    """Loop delay without a network [s].

    A pose acts from the next servo period, its force is available at the end of that period, is sent in the third cycle
    after the pose, and acts for a step: the delay is counted to the middle of this step.
    """
    return 3.5 * step


def claims_of(
    chosen: HybridSettings,
    cases: Sequence[HybridCase],
    bad: Sequence[Record],
    other: Record,
    simple: Record,
    violations: int,
) -> list[Claim]:
    """Claims with their measured values and limits."""
    usual = cases[: len(chosen.stiffnesses)]
    changes = np.array([momentum_change(case.hybrid) for case in cases])
    found = np.array([differences(case) for case in cases])
    first = cases[0].hybrid
    return [
        *_physics(chosen, usual, cases, changes),
        Claim("impulse: largest difference from the numerical model", found[:, 2].max(), ALIKE),
        Claim(
            "peak with the impedance of eqs. 10 and 15 instead of the HEXA: difference",
            abs(peak(simple) / peak(first) - 1.0),
            ALIKE,
        ),
        *_loop(chosen, cases, bad),
        Claim(
            "order-n (Rosenthal) and ADA: difference of the hybrid motion",
            float(np.abs(other.distance - first.distance).max()),
            SAME_MOTION,
            unit="m",
        ),
        Claim("invalid commands to the HEXA", float(violations), 0.0, "=="),
    ]


def quantities_of(cases: Sequence[HybridCase]) -> dict[str, Quantity]:
    """Differences of the hybrid and numeric models, and energy gains with and without compensation."""
    peaks, durations, _ = np.max([differences(case) for case in cases], axis=0)
    return {
        "peak_difference": Quantity(float(peaks)),
        "duration_difference": Quantity(float(durations)),
        "gain": Quantity(max(case.hybrid.gain for case in cases)),
        "gain_uncompensated": Quantity(max(case.late.gain for case in cases)),
    }


def _physics(
    chosen: HybridSettings, usual: Sequence[HybridCase], cases: Sequence[HybridCase], changes: Array
) -> list[Claim]:
    peaks, durations = [peak(case.hybrid) for case in usual], [duration(case.hybrid) for case in usual]
    exponent = space_robots.exponent
    return [
        Claim(
            "linear momentum of both robots is conserved (measured force with opposite signs)",
            changes[:, 0].max(),
            CONSERVED,
        ),
        Claim("angular momentum about the world origin is conserved", changes[:, 1].max(), SLIDES),
        Claim(
            "peak force increases with K_p (smallest ratio of neighbours)",
            min(b / a for a, b in pairwise(peaks)),
            1.2,
            ">=",
        ),
        Claim(
            "duration decreases with K_p (smallest ratio of neighbours)",
            min(a / b for a, b in pairwise(durations)),
            1.2,
            ">=",
        ),
        Claim(
            "peak force proportional to the square root of K_p (exponent)",
            abs(exponent(peaks, chosen.stiffnesses) - 0.5),
            SQUARE_ROOT,
            note="mass on a spring: exponent ±0.5",
        ),
        Claim(
            "duration inversely proportional to the square root of K_p (exponent)",
            abs(exponent(durations, chosen.stiffnesses) + 0.5),
            SQUARE_ROOT,
            note="mass on a spring: exponent ±0.5",
        ),
        Claim(
            "effect of other masses on the peak, relative to the numerical model (fig. 15)",
            abs(
                peak(cases[-1].hybrid) / peak(usual[-1].hybrid) / (cases[-1].numeric.peak / usual[-1].numeric.peak)
                - 1.0
            ),
            SQUARE_ROOT,
        ),
    ]


def _loop(chosen: HybridSettings, cases: Sequence[HybridCase], bad: Sequence[Record]) -> list[Claim]:
    records = [case.hybrid for case in cases]
    compensated, late = bad
    answers = compensated.delays.answers + compensated.delays.lost
    return [
        Claim(
            "loop delay measured by the packets: error",
            max(abs(r.delays.delay_p50 - expected_delay(chosen.step)) for r in records),
            DELAY,
            unit="s",
            note="expected: three and a half steps, without network",
        ),
        Claim(
            "uncompensated: smallest energy gain of a contact / ½ m_e v²",
            min(case.late.gain for case in cases),
            GROWS,
            ">=",
            note="exp(π ω T) - 1 minus the losses of plate and probe",
        ),
        Claim("compensated: largest energy gain / ½ m_e v²", max(r.gain for r in records), 0.0),
        Claim(
            "compensated: loss due to the impact of the plate mass, 2 m_p / m_e (largest difference)",
            max(abs(case.hybrid.gain + plate_takes(case)) for case in cases),
            PLATE,
        ),
        Claim(
            "share of detected lost packets: difference from the network",
            abs(compensated.delays.lost / answers - chosen.network.loss),
            0.05,
            note="about 500 answers; four standard deviations are 0.05",
        ),
        Claim("disturbed network, uncompensated: energy gain", late.gain, max(GROWS, cases[-2].late.gain), ">="),
        Claim("disturbed network, compensated: energy gain", compensated.gain, 0.0),
    ]
