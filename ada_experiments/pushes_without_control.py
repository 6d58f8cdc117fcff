# SPDX-License-Identifier: Apache-2.0
"""T6.3: the pushes of T6.1 and T6.2 without control, and with less than all of it (Takahashi 2012, sec. 6.3.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.analysis.fixed_feet import fixed_feet_of
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.simulation import Log
from ada_experiments.pictures import picture
from ada_experiments.push_measures import time_of_fall
from ada_experiments.pushed_humanoid import AT_THE_HAND, AT_THE_SHOULDER, Push, on_fixed_feet
from ada_experiments.settings import settings_of
from ada_tools.scenario.registry import Claim, Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario

_UNTIL_DOWN = 0.95  # [s]; before the push. A robot without motors is down by then; what it does there does not count
_AFTER_PUSH = 5.0  # [s]; springs alone let the robot lean forward, and it swings back 3 to 4 s after the push


class Case(NamedTuple):
    """A push, and what the motors do."""

    name: str
    push: Push
    settings: dict[str, Any] | None
    duration: float


CASES = {
    "off": Case("motors off", AT_THE_HAND, None, _UNTIL_DOWN),
    "hand": Case("springs (eq. 6.6) alone", AT_THE_HAND, {"strategy": "springs"}, 1.0 + _AFTER_PUSH),
    "shoulder": Case("springs (eq. 6.6) alone", AT_THE_SHOULDER, {"strategy": "springs"}, 1.0 + _AFTER_PUSH),
    "hand, gains only": Case(
        "upper-body rotation, nothing carries the weight",
        AT_THE_HAND,
        {"strategy": "upper_body_rotation", "carry_weight": False},
        _UNTIL_DOWN,
    ),
    "shoulder, gains only": Case(
        "combined strategy, nothing carries the weight",
        AT_THE_SHOULDER,
        {"strategy": "combined", "carry_weight": False},
        _UNTIL_DOWN,
    ),
}


@experiment("pushes_without_control")
def pushes_without_control(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Show that the robot falls without control, and tips without the strategies."""
    settings_of(scenario, ())
    logs: dict[str, Log] = {}
    for i, (key, case) in enumerate(CASES.items()):
        progress(i / len(CASES), f"{case.push.name}, {case.name}")
        logs[key] = on_fixed_feet(case.push, case.settings, case.duration)
    falls = {key: time_of_fall(log) for key, log in logs.items()}
    margins = {key: fixed_feet_of(logs[key]) for key in ("hand", "shoulder")}
    behind = float(np.min(margins["hand"].zmp[:, 0]) - margins["hand"].soles[:, 0].min())
    ahead = float(margins["shoulder"].soles[:, 0].max() - np.max(margins["shoulder"].zmp[:, 0]))
    both = max(float(np.min(found.margin)) for found in margins.values())
    claims = [
        Claim("without motors the robot falls at once", falls["off"], 0.7, unit="s", note="its mass 5 cm lower"),
        Claim("with springs alone both pushes take the zero-moment point out of the soles", both, 0.0, unit="m"),
        Claim(
            "with the document's gains and nothing that carries the weight it falls before the push: upper-body "
            "rotation",
            falls["hand, gains only"],
            _UNTIL_DOWN,
            unit="s",
        ),
        Claim("and combined strategy", falls["shoulder, gains only"], _UNTIL_DOWN, unit="s"),
    ]
    rows = [
        (
            case.push.name,
            case.name,
            "-" if np.isnan(falls[key]) else f"{falls[key]:.2f}",
            f"{1e3 * np.min(margins[key].margin):.1f}" if key in margins else "-",
        )
        for key, case in CASES.items()
    ]
    columns = ("push", "motors", "down after [s]", "least margin of the ZMP [mm]")
    notes = [
        "Fixed feet pull at the ground where free ones would tip: with springs alone and the weight carried the robot "
        f"swings back ({1e3 * ahead:.0f} mm are left before the toes after the push at the shoulder, negative: none). "
        "T6.5 has feet that may lift, and there it falls."
    ]
    return Outcome(
        claims,
        _figures(logs, margins, output),
        [Table("Without control", columns, rows)],
        notes,
        quantities={"inside_the_heels": Quantity(behind, "m")},
    )


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
