# SPDX-License-Identifier: Apache-2.0
"""A3: the robot of Awa 2009, composed of motors, soles and a board (table 4), and the conditions under which it falls.

The walk of the paper in ODE depends on a careful choice of time step, control period and gains (sec. 4.3). Here each of
them is varied individually in both simulators of A2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.drawing.snapshots import plot_snapshots
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.simulation import Log
from ada_experiments.awa_equations import paper_robot
from ada_experiments.awa_simulators import (
    KNOWN,
    OURS,
    THEIRS,
    SimulatorRun,
    SimulatorSettings,
    quantities_of,
    read_settings,
    soles,
    walk_here,
    walk_there,
)
from ada_experiments.awa_walk import Walk, khr1_walk, with_armature
from ada_experiments.pictures import picture
from ada_tools.scenario.fields import Part
from ada_tools.scenario.registry import Claim, Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

FALLEN = 45.0  # [deg] irrecoverable tilt
LIES = 80.0  # [deg]
_GROUPS = {"steps": {"step", "control_period"}, "gains": {"kp", "ti", "td"}, "others": {"friction", "pace"}}
_NAMES = {"control_period": "control every", "kp": "K_p", "ti": "T_i", "td": "T_d"}
_CHANGES = ("step", "control_period", "kp", "ti", "td", "friction", "pace")
_CAPTIONS = {
    "a3_fig_9.png": "Like fig. 9: the paper's own robot walks in this library, seen from the front",
    "a3_fall.png": "The fall that comes last of all, until the body lies",
    "a3_tilt.png": "How far the body leans where it falls in one of the simulators, beside the paper's walk",
}


@dataclass(frozen=True)
class SettingChange:
    """Settings with changes relative to the paper.

    Attributes:
        text: description.
        keys: changed settings.
        settings: resulting settings.
        pace: relative speed of the walk.
    """

    text: str
    keys: frozenset[str]
    settings: SimulatorSettings
    pace: float


@dataclass(frozen=True)
class WalkTrial:
    """A walk in both simulators."""

    change: SettingChange
    ours: SimulatorRun
    theirs: SimulatorRun

    @property
    def tilts(self) -> tuple[float, float]:
        """Largest tilts in both simulators [deg]."""
        return self.ours.largest_tilt, self.theirs.largest_tilt


@experiment("awa_own_robot")
def awa_own_robot(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Walk with the settings of the paper, then with single changes."""
    tried, logs = try_all(scenario, progress)
    progress(0.9, "figures")
    first, walk = tried[0], logs[0]
    fallen = [(one.ours, log) for one, log in zip(tried, logs, strict=True) if one.tilts[0] > FALLEN]
    figures = [_strip(walk, first.ours.t[-1], output / "a3_fig_9.png")]
    if fallen:
        run, log = max(fallen, key=lambda pair: _fall_of(pair[0]))
        figures.append(_strip(log, _fall_of(run), output / "a3_fall.png"))
    figures.append(picture(tilts(tried), output / "a3_tilt.png", "How far the body leans", 2))
    quantities = quantities_of(first.ours, first.theirs) | _falls(tried[1:])
    quantities["mass"] = Quantity(walk.model.total_mass, "kg")
    return Outcome(_claims(tried), figures, [_table(tried)], _NOTES, dict(_CAPTIONS), quantities)


def try_all(scenario: Scenario, progress: Progress) -> tuple[list[WalkTrial], list[Log]]:
    """Walks with the settings of the paper and with each change; the logs are those of this library."""
    part = settings_of(scenario, (*KNOWN, "changes"))
    chosen = read_settings(part)
    model = with_armature(paper_robot(load(part.text("robot"))), chosen.armature)
    changes = [SettingChange("as the paper has it", frozenset(), chosen, 1.0), *_changes(part, chosen)]
    found = []
    for number, change in enumerate(changes):
        progress(0.9 * number / len(changes), change.text)
        found.append(_walk(model, change))
    return [one for one, _ in found], [log for _, log in found]


def _changes(part: Part, chosen: SimulatorSettings) -> list[SettingChange]:
    """Changes defined by the entries of the scenario."""
    found = []
    for entry in part.parts("changes", _CHANGES):
        keys = [key for key in _CHANGES if entry.has(key)]
        settings, pace = chosen, 1.0
        for key in keys:
            if key == "pace":
                pace = entry.positive(key, "1")
            elif key == "friction":
                settings = replace(settings, friction=entry.positive(key, "1"))
            elif key == "step":
                settings = _stepped(settings, entry.positive(key, "s"))
            elif key == "control_period":
                settings = replace(settings, period=entry.positive(key, "s"))
            else:
                unit = "1/s" if key == "kp" else "s"
                settings = replace(settings, gains=replace(settings.gains, **{key: entry.quantity(key, unit)}))
        text = ", ".join(f"{_NAMES.get(key, key)} {entry.text(key)}" for key in keys)
        found.append(SettingChange(text, frozenset(keys), settings, pace))
    return found


def _stepped(chosen: SimulatorSettings, seconds: float) -> SimulatorSettings:
    """Settings with another step; the control period is at least one step."""
    return replace(chosen, step=seconds, period=max(seconds, chosen.period))


def _walk(model: Model, change: SettingChange) -> tuple[WalkTrial, Log]:
    walk, chosen = _at_pace(khr1_walk(model), change.pace), change.settings
    contact = soles(model, chosen)
    ours, log = walk_here(model, walk, contact, chosen)
    return WalkTrial(change, ours, walk_there(model, walk, contact, chosen)), log


def _at_pace(walk: Walk, pace: float) -> Walk:
    walk.times = walk.times / pace
    return walk


# --- what is found --------------------------------------------------------------------------------------------------
def _falls(tried: Sequence[WalkTrial]) -> dict[str, Quantity]:
    """Number of changes of each group that cause a fall, by simulator."""
    found = {}
    for name, keys in _GROUPS.items():
        some = [one for one in tried if keys & one.change.keys and (name != "steps" or one.change.keys <= keys)]
        for side, who in enumerate(("here", "there")):
            found[f"falls_by_{name}_{who}"] = Quantity(float(sum(one.tilts[side] > FALLEN for one in some)))
    return found


def _claims(tried: Sequence[WalkTrial]) -> list[Claim]:
    same = [(one.tilts[0] > FALLEN) == (one.tilts[1] > FALLEN) for one in tried]
    return [
        Claim(
            "both simulators agree on walking or falling (share of the changes)",
            sum(same) / len(same),
            0.75,
            ">=",
            note="near the limit the result depends on the contact models, which differ",
        )
    ]


def _table(tried: Sequence[WalkTrial]) -> Table:
    rows = []
    for one in tried:
        words = ["falls" if tilt > FALLEN else "walks" for tilt in one.tilts]
        rows.append((one.change.text, *(f"{tilt:.1f}" for tilt in one.tilts), *words))
    columns = ("changed", f"largest tilt, {OURS} [deg]", f"{THEIRS} [deg]", OURS, THEIRS)
    return Table("Changes, one at a time", columns, rows)


def _leaning(run: SimulatorRun) -> Array:
    """Tilt of the body against the vertical [deg]."""
    return np.degrees(np.arccos(np.clip(run.up[:, 2], -1.0, 1.0)))


def _fall_of(run: SimulatorRun) -> float:
    """Time at which the body lies on the ground; the end if it does not fall [s]."""
    lies = np.flatnonzero(_leaning(run) > LIES)
    return float(run.t[lies[0] if len(lies) else -1])


def _strip(log: Log, end: float, path: Path) -> Path:
    plot_snapshots(log, path, times=np.linspace(0.0, end, 6), columns=6, plane="yz", title="")
    return path


def tilts(tried: Sequence[WalkTrial]) -> list[Panel]:
    """Tilts of all falling walks and of the walk of the paper, until the body lies on the ground."""
    panels = []
    for side, name in enumerate((OURS, THEIRS)):
        series = []
        for one in tried:
            run = (one.ours, one.theirs)[side]
            if one is tried[0] or max(one.tilts) > FALLEN:
                rows = run.t <= _fall_of(run)
                series.append(Series(one.change.text, run.t[rows], _leaning(run)[rows]))
        panels.append(Panel(name, "tilt of the body [deg]", series))
    return panels


_NOTES = [
    "Table 4 gives 17 motors of 45 g, two soles of 2 g and boards of 25 g: 0.794 kg with one board. Brackets, battery, "
    "cables and the second board of table 1 (1.2 kg) are missing.",
    "The positions of the parts follow the rule of sec. 4.1, the centre of mass at half of each link; head and "
    "forearms keep that of the description. Lengths are those of khr1.urdf.xacro.",
    "The paper gives neither ODE's step and error reduction nor the sample motion. ODE reaches the speed of a motor "
    "within one step; here a servo has a finite gain, as in A2.",
]
