# SPDX-License-Identifier: Apache-2.0
"""T6.3: pushes of T6.1 and T6.2 without control and with parts of it (Takahashi 2012, sec. 6.3.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.analysis.balance import fixed_feet_of
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.simulation import Log
from ada_experiments.pictures import picture
from ada_experiments.push_measures import time_of_fall
from ada_experiments.push_sweep import angles_of
from ada_experiments.pushed_humanoid import AT_THE_HAND, AT_THE_SHOULDER, Push, on_fixed_feet
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

_UNTIL_DOWN = 0.95  # [s]; before the push; a robot without motors has fallen by then
_AFTER_PUSH = 5.0  # [s]; with springs alone the robot leans forward and swings back 3 to 4 s after the push


class ControlCase(NamedTuple):
    """A push and the activity of the motors."""

    name: str
    push: Push
    settings: dict[str, Any] | None
    duration: float


CASES = {
    "off": ControlCase("motors off", AT_THE_HAND, None, _UNTIL_DOWN),
    "hand": ControlCase("springs (eq. 6.6) alone", AT_THE_HAND, {"strategy": "springs"}, 1.0 + _AFTER_PUSH),
    "shoulder": ControlCase("springs (eq. 6.6) alone", AT_THE_SHOULDER, {"strategy": "springs"}, 1.0 + _AFTER_PUSH),
    "hand, gains only": ControlCase(
        "upper-body rotation, no gravity compensation",
        AT_THE_HAND,
        {"strategy": "upper_body_rotation", "carry_weight": False},
        _UNTIL_DOWN,
    ),
    "shoulder, gains only": ControlCase(
        "combined strategy, no gravity compensation",
        AT_THE_SHOULDER,
        {"strategy": "combined", "carry_weight": False},
        _UNTIL_DOWN,
    ),
}


@experiment("pushes_without_control")
def pushes_without_control(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate the pushes without control and without the strategies."""
    angles = angles_of(settings_of(scenario, ("full_angles",)))
    logs: dict[str, Log] = {}
    for i, (key, case) in enumerate(CASES.items()):
        progress(i / len(CASES), f"{case.push.name}, {case.name}")
        logs[key] = on_fixed_feet(case.push, case.settings, case.duration)
    falls = {key: time_of_fall(log) for key, log in logs.items()}
    margins = {key: fixed_feet_of(logs[key]) for key in ("hand", "shoulder")}
    hand = CASES["hand"]
    behind = {
        label: _inside_the_heels(on_fixed_feet(hand.push, {"strategy": "springs", "full_angle": angle}, hand.duration))
        for label, angle in angles.items()
    }
    ahead = float(margins["shoulder"].soles[:, 0].max() - np.max(margins["shoulder"].zmp[:, 0]))
    both = max(float(np.min(found.margin)) for found in margins.values())
    quantities = {
        "inside_the_heels": Quantity(_inside_the_heels(logs["hand"]), "m", sweep=behind),
        "fall_without_motors": Quantity(falls["off"], "s"),
        "margin_of_springs": Quantity(both, "m"),
        "fall_of_rotation_gains": Quantity(falls["hand, gains only"], "s"),
        "fall_of_combined_gains": Quantity(falls["shoulder, gains only"], "s"),
    }
    rows = [
        (
            case.push.name,
            case.name,
            "-" if np.isnan(falls[key]) else f"{falls[key]:.2f}",
            f"{1e3 * np.min(margins[key].margin):.1f}" if key in margins else "-",
        )
        for key, case in CASES.items()
    ]
    columns = ("push", "motors", "fall after [s]", "smallest ZMP margin [mm]")
    notes = [
        "Fixed feet can pull on the ground where free feet would tip: with springs and gravity compensation the robot "
        f"swings back ({1e3 * ahead:.0f} mm remain to the toes after the push at the shoulder; negative: beyond them). "
        "With free feet it falls (T6.5)."
    ]
    table = Table("Without control", columns, rows)
    return Outcome([], _figures(logs, margins, output), [table], notes, quantities=quantities)


def _inside_the_heels(log: Log) -> float:
    """Smallest distance of the zero-moment point in front of the heels [m]."""
    found = fixed_feet_of(log)
    return float(np.min(found.zmp[:, 0]) - found.soles[:, 0].min())


def _figures(logs: dict[str, Log], margins: dict[str, Any], output: Path) -> list[Path]:
    heights = [
        Panel.of(f"{case.push.name}: {case.name}", "CoM z [m]", logs[key].t, {"": np.asarray(logs[key].com)[:, 2]})
        for key, case in CASES.items()
        if key not in margins
    ]
    tipping = [
        Panel.of(
            f"{CASES[key].push.name}: springs alone",
            "ZMP [m]",
            logs[key].t,
            {
                "x": found.zmp[:, 0],
                "heels": np.full(len(logs[key].t), found.soles[:, 0].min()),
                "toes": np.full(len(logs[key].t), found.soles[:, 0].max()),
            },
        )
        for key, found in margins.items()
    ]
    return [picture([*tipping, *heights], output / "t6_3_falls.png", "Without control", 2)]
