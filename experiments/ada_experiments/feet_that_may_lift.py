# SPDX-License-Identifier: Apache-2.0
"""T6.5: the pushes of T6.1 and T6.2 with unilateral foot contact, proposed as future work in Takahashi 2012, sec.

6.4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.analysis.balance import balance_of
from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.simulation import Log
from ada_experiments.pictures import picture, vector
from ada_experiments.push_measures import drop, phase, swing_at_the_end, time_of_fall, trunk_angles
from ada_experiments.pushed_humanoid import AT_THE_HAND, AT_THE_SHOULDER, STEP, Push, heights_of_corners, on_free_feet
from ada_tools.scenario.registry import Claim, Outcome, Progress, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

_KNOWN = ("stiffness", "full_angle", "fine_step", "duration")


class FootCase(NamedTuple):
    """A push, and the strategy against it."""

    name: str
    push: Push
    settings: dict[str, Any]
    step: float = STEP


@experiment("feet_that_may_lift")
def feet_that_may_lift(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate both pushes with their strategies and with springs only, with the feet in contact."""
    part = settings_of(scenario, _KNOWN)
    stiffness, duration = part.positive("stiffness", "N/m"), part.positive("duration", "s")
    fine, full = part.positive("fine_step", "s"), {"full_angle": part.positive("full_angle", "rad")}
    cases = {
        "rotation": FootCase("upper-body rotation", AT_THE_HAND, {"strategy": "upper_body_rotation", **full}),
        "combined": FootCase("combined", AT_THE_SHOULDER, {"strategy": "combined", **full}),
        "often": FootCase(f"combined, {1e-3 / fine:g} kHz", AT_THE_SHOULDER, {"strategy": "combined", **full}, fine),
        "other": FootCase(
            "upper-body rotation, full angle 45 deg", AT_THE_SHOULDER, {"strategy": "upper_body_rotation"}
        ),
        "hand": FootCase("springs alone", AT_THE_HAND, {"strategy": "springs"}),
        "shoulder": FootCase("springs alone", AT_THE_SHOULDER, {"strategy": "springs"}),
    }
    logs: dict[str, Log] = {}
    for i, (key, case) in enumerate(cases.items()):
        progress(i / len(cases), f"{case.push.name}, {case.name}")
        logs[key] = on_free_feet(case.push, case.settings, duration, stiffness=stiffness, step=case.step)
    outcome = Outcome(_claims(logs), [_figure(cases, logs, output)], [_table(cases, logs)])
    outcome.notes = [
        "The controller assumes fixed feet and uses the joint angles of 'hoap2_standing'; the simulated robot is "
        "'hoap2_10dof' with eight sole corners on the ground.",
        "Rotor inertias are those of the laboratory, k_a = 50 N m s/rad is that of the document; control at 1 kHz. "
        "Without rotors an unloaded foot of 1 g m² is unstable in a rate loop of gain 50. At 1 kHz a small swing of "
        f"the combined strategy grows by a tenth in 2 s; at {1e-3 / fine:g} kHz it does not.",
        "With rotors eq. 6.7 is unstable at 3.6 rad/s (T6.6) until the damping has increased: up to 10 deg if it "
        "increases over 45 deg. The document does not give that angle; here it is "
        f"{full['full_angle']:g} rad.",
    ]
    return outcome


def _claims(logs: dict[str, Log]) -> list[Claim]:
    kept = {key: logs[key] for key in ("rotation", "combined")}
    fallen = [time_of_fall(logs[key]) for key in ("hand", "shoulder")]
    return [
        Claim(
            "both strategies, k_a = 50 at 1 kHz: largest drop of the centre of mass",
            max(drop(log) for log in kept.values()),
            0.02,
            unit="m",
        ),
        Claim(
            "upper-body rotation, gains varying up to 45 deg: time of the fall after the push at the shoulder",
            time_of_fall(logs["other"]),
            float(logs["other"].t[-1]),
            unit="s",
            note="centre of mass 5 cm lower; it stands with the full angle of the other cases",
        ),
        Claim(
            "combined strategy at a higher control rate: angle in the last second",
            swing_at_the_end(logs["often"]),
            5.0,
            unit="deg",
        ),
        Claim(
            "upper-body rotation, unstable by eq. 6.7: angle in the last second",
            swing_at_the_end(logs["rotation"]),
            5.0,
            unit="deg",
            note="T6.6",
        ),
        Claim("T6.1: angular momenta in opposite phase", phase(logs["rotation"], AT_THE_HAND.start), -0.9),
        Claim("T6.2: angular momenta in phase", phase(logs["combined"], AT_THE_SHOULDER.start), 0.8, ">="),
        Claim(
            "largest lift of a sole corner",
            max(float(heights_of_corners(log).max()) for log in kept.values()),
            0.005,
            unit="m",
        ),
        Claim(
            "springs alone: time of the later fall",
            float(np.max(fallen)),
            float(logs["hand"].t[-1]),
            unit="s",
            note="centre of mass 5 cm lower; the robot leans forward for seconds and falls backward",
        ),
    ]


def _table(cases: dict[str, FootCase], logs: dict[str, Log]) -> Table:
    columns = ("push", "strategy", "fall after [s]", "highest corner of a sole [mm]", "turn about z, y [deg]")
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


def _figure(cases: dict[str, FootCase], logs: dict[str, Log], output: Path) -> Path:
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
    heights = [
        Series(f"{case.name}, {case.push.link}", logs[key].t, np.asarray(logs[key].com)[:, 2])
        for key, case in cases.items()
    ]
    panels.append(Panel("Height of the centre of mass", "[m]", heights))
    return picture(panels, output / "t6_5_feet.png", "Feet that may lift", 2)


def _finite(values: Any) -> Any:
    return np.where(np.isfinite(values), values, np.nan)
