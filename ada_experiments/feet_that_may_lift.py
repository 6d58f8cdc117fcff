# SPDX-License-Identifier: Apache-2.0
"""T6.5: the pushes of T6.1 and T6.2 on feet that may lift, which Takahashi 2012, sec. 6.4, leaves to the future."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.analysis.balance import balance_of
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.simulation import Log
from ada_experiments.pictures import picture, vector
from ada_experiments.push_measures import phase, swing_at_the_end, time_of_fall, trunk_angles
from ada_experiments.pushed_humanoid import (
    AT_THE_HAND,
    AT_THE_SHOULDER,
    Push,
    heights_of_corners,
    on_free_feet,
)
from ada_experiments.settings import settings_of
from ada_tools.scenario import units
from ada_tools.scenario.registry import Claim, Outcome, Progress, Table, experiment
from ada_tools.scenario.scenario import Scenario

_KNOWN = ("rotor_inertia", "stiffness", "ankle_gain", "duration")
_TURNING_INERTIA = units.MASS.times(units.LENGTH, 2)


class Case(NamedTuple):
    """A push, and the strategy against it."""

    name: str
    push: Push
    settings: dict[str, Any]


@experiment("feet_that_may_lift")
def feet_that_may_lift(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate both pushes with their strategies and with springs alone, feet on the ground by contact."""
    part = settings_of(scenario, _KNOWN)
    gain = part.positive("ankle_gain", units.TURNING_DAMPING)
    material = {
        "rotor_inertia": part.positive("rotor_inertia", _TURNING_INERTIA),
        "stiffness": part.positive("stiffness", units.STIFFNESS),
    }
    duration = part.positive("duration", units.TIME)
    cases = {
        "rotation": Case("upper-body rotation", AT_THE_HAND, {"strategy": "upper_body_rotation"}),
        "combined": Case("combined", AT_THE_SHOULDER, {"strategy": "combined", "ankle_gain": gain}),
        "hand": Case("springs alone", AT_THE_HAND, {"strategy": "springs"}),
        "shoulder": Case("springs alone", AT_THE_SHOULDER, {"strategy": "springs"}),
    }
    logs: dict[str, Log] = {}
    for i, (key, case) in enumerate(cases.items()):
        progress(i / len(cases), f"{case.push.name}, {case.name}")
        logs[key] = on_free_feet(case.push, case.settings, duration, **material)
    outcome = Outcome(_claims(logs), [_figure(cases, logs, output)], [_table(cases, logs)])
    outcome.notes = [
        "The controller takes the feet for fixed: it works with the joint angles of 'hoap2_standing', the simulated "
        "robot is 'hoap2_10dof' with eight corners of soles on the ground.",
        f"Assumed: {1e3 * material['rotor_inertia']:g} g m² of rotor inertia at each joint (not published), and "
        f"k_a = {gain:g} N m s/rad instead of 50: sampled at 1 kHz, a rate loop of 50 on a foot of 1 g m² that is not "
        "loaded swings up by itself. At 10 kHz the robot also stands with 50.",
    ]
    return outcome


def _claims(logs: dict[str, Log]) -> list[Claim]:
    kept = {key: logs[key] for key in ("rotation", "combined")}
    fallen = [time_of_fall(logs[key]) for key in ("hand", "shoulder")]
    standing = [float(np.asarray(log.com)[0, 2] - np.asarray(log.com)[:, 2].min()) for log in kept.values()]
    return [
        Claim("both strategies keep the robot up: the centre of mass comes down by", max(standing), 0.02, unit="m"),
        Claim(
            "and its swing dies out (largest angle of the last second)",
            max(swing_at_the_end(log) for log in kept.values()),
            5.0,
            unit="deg",
        ),
        Claim("T6.1: angular momenta in opposite phase", phase(logs["rotation"], AT_THE_HAND.start), -0.9),
        Claim("T6.2: angular momenta in phase", phase(logs["combined"], AT_THE_SHOULDER.start), 0.8, ">="),
        Claim(
            "no corner of a sole lifts far",
            max(float(heights_of_corners(log).max()) for log in kept.values()),
            0.005,
            unit="m",
        ),
        Claim("with springs alone the robot falls after both pushes", max(fallen), 3.0, unit="s", note="5 cm lower"),
    ]


def _table(cases: dict[str, Case], logs: dict[str, Log]) -> Table:
    columns = ("push", "strategy", "down after [s]", "highest corner of a sole [mm]", "turn about z, y [deg]")
    rows = []
    for key, case in cases.items():
        log = logs[key]
        down = time_of_fall(log)
        stands = np.isnan(down)
        angles = np.abs(trunk_angles(log)).max(axis=0)
        rows.append(
            (
                case.push.name,
                case.name,
                "-" if stands else f"{down:.2f}",
                f"{1e3 * heights_of_corners(log).max():.2f}" if stands else "-",
                f"{angles[2]:.1f}, {angles[1]:.1f}" if stands else "-",
            )
        )
    return Table("Feet that may lift", columns, rows)


def _figure(cases: dict[str, Case], logs: dict[str, Log], output: Path) -> Path:
    panels = []
    for key in ("rotation", "combined"):
        log, name = logs[key], cases[key].name
        panels += [
            vector(f"{name}: angular momentum", "[kg m²/s]", log.t, np.asarray(log.momentum)[:, 3:]),
            vector(f"{name}: upper body", "[deg]", log.t, trunk_angles(log)),
            Panel.of(
                f"{name}: highest corner of a sole",
                "[mm]",
                log.t,
                dict(zip(("right", "left"), 1e3 * heights_of_corners(log).T, strict=True)),
            ),
            Panel.of(f"{name}: margin of the ZMP", "[m]", log.t, {"": _finite(balance_of(log).margin)}),
        ]
    heights = {f"{case.name}, {case.push.link}": np.asarray(logs[key].com)[:, 2] for key, case in cases.items()}
    panels.append(Panel.of("Height of the centre of mass", "[m]", logs["hand"].t, heights))
    return picture(panels, output / "t6_5_feet.png", "Feet that may lift", 2)


def _finite(values: Any) -> Any:
    return np.where(np.isfinite(values), values, np.nan)
