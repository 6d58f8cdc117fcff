# SPDX-License-Identifier: Apache-2.0
"""S3: up to which delay and stiffness the hybrid loop of S2 is passive (Tarao et al., eqs. 10, 15).

A touch on the emulated HEXA for each K_p and each delay of the network, with the delay compensated: the energy that the
robots gain, and what the loop's own observer says. Beside it the bound of an ideal spring, `prediction.PASSIVE_TO`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing import colours
from ada_dynamics.drawing.plots import figure_context, save
from ada_experiments.hybrid_motion import KNOWN, read_settings
from ada_experiments.hybrid_motion_rig import Network, Rig
from ada_experiments.motion_simulation.lock_step import Record
from ada_experiments.motion_simulation.prediction import longest_passive_delay
from ada_experiments.motion_simulation.touch import touches
from ada_experiments.settings import settings_of
from ada_tools.scenario import units
from ada_tools.scenario.registry import Claim, Outcome, Progress, Table, experiment
from ada_tools.scenario.scenario import Scenario

DOCUMENTED = (200.0, 400.0, 800.0)  # K_p of figs. 12-14 [N m/rad]
BEARS = 0.0275  # delay of the loop that all of them bear [s]: 27 ms, in steps
SAYS = 0.02  # share of a touch's energy from which on the observer warns: `LoopSettings.energy_tolerance`
CLEAR = 0.05  # gain, by ½ m_e v² of the approach, that nobody may overlook
NEAR = 0.15  # of the delay at which the stiffest table turns active from the ideal spring's: its servo lags, too
_SHOWN = 0.5  # gain at the ends of the scale
PICTURE = "s3_passivity.png"


@dataclass(frozen=True, eq=False)
class PassivityMap:
    """Touches by K_p (rows) and delay (columns).

    Attributes:
        kp: of the motors [N m/rad].
        bound: delay that an ideal spring as stiff as the touch bears, for each K_p [s].
        delay: of the loop, as measured; by columns [s].
        gain: energy that the robots gained, by ½ m_e v² of the approach.
        given: the most that a single touch gave beyond what it took, by the robots' energies and ½ m_e v².
        made: share of a touch's energy that the observer saw the loop make.
    """

    kp: Array
    bound: Array
    delay: Array
    gain: Array
    given: Array
    made: Array

    def turns_active(self, row: int) -> float:
        """Delay at which a table's touch begins to gain energy; infinite where it does not [s]."""
        gain = self.gain[row]
        active = np.flatnonzero(gain > 0.0)
        if not len(active) or active[0] == 0:
            return 0.0 if len(active) else float("inf")
        i = int(active[0])
        return float(np.interp(0.0, gain[i - 1 : i + 1], self.delay[i - 1 : i + 1]))


@experiment("late_loop")
def late_loop(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Energy of a touch over delay and K_p."""
    found = passivity_map(scenario, progress)
    output.mkdir(parents=True, exist_ok=True)
    draw(found, output / PICTURE)
    caption = "Energy that a touch gains over delay and K_p, and what the observer says; ▼: an ideal spring's bound"
    return Outcome(claims_of(found), [output / PICTURE], [table_of(found)], _notes(found), {PICTURE: caption})


def passivity_map(scenario: Scenario, progress: Progress) -> PassivityMap:
    """Do all touches of a scenario."""
    chosen = read_settings(scenario, ("delays",))
    part = settings_of(scenario, (*KNOWN, "delays"))
    delays = part.vector("delays", (units.TIME,) * len(part.items("delays")))
    if list(delays) != sorted(set(delays)) or delays[0] < 0.0:
        raise part.problem("delays", "they must not be negative, and the shortest first.")
    rig, shape = Rig(chosen), (len(chosen.stiffnesses), len(delays))
    gain, given, made, late = (np.empty(shape) for _ in range(4))
    bound = np.empty(shape[0])
    for i, kp in enumerate(chosen.stiffnesses):
        bound[i] = longest_passive_delay(rig.stiffness(i), rig.mass)
        for j, delay in enumerate(delays):
            progress((i * shape[1] + j) / gain.size, f"K_p = {kp:g} N m/rad, {1e3 * delay:g} ms each way")
            record = rig.hybrid(i, network=Network(delay, 0.0, 0.0, 0))
            gain[i, j], given[i, j] = record.gain, most_given(record)
            made[i, j], late[i, j] = record.made, record.delays.delay_p50
    return PassivityMap(np.array(chosen.stiffnesses), bound, late.mean(axis=0), gain, given, made)


def most_given(record: Record) -> float:
    """The most that a touch has given the robots since it began, by ½ m_e v²: from their energies alone."""
    step = float(record.t[1] - record.t[0])
    rows = (record.energy[first : last + 2] - record.energy[first] for first, last in touches(record.push, step))
    return max((float(row.max()) for row in rows), default=0.0) / record.touch_energy


def claims_of(found: PassivityMap) -> list[Claim]:
    """Figures and limits."""
    printed = np.isin(found.kp, DOCUMENTED)
    borne = found.gain[np.ix_(printed, found.delay <= BEARS)]
    stiffest = len(found.kp) - 1
    return [
        Claim("K_p = 200 to 800 is passive with forces up to 27 ms late (largest gain)", float(borne.max()), 0.0),
        Claim(
            "K_p = 800 is not with 35 ms (gain at the longest delay up to that)",
            float(found.gain[found.kp == 800.0][0][found.delay < 0.036][-1]),
            CLEAR,
            ">=",
        ),
        Claim(
            "the stiffest table turns active where an ideal spring does (share of that delay)",
            found.turns_active(stiffest) / float(found.bound[stiffest]),
            1.0,
            "~",
            within=NEAR,
            note="ω T = 1.224",
        ),
        Claim(
            "the observer warns where a touch clearly gives more than it took (motions that it overlooks)",
            float(np.sum((found.given > CLEAR) & (found.made <= SAYS))),
            0.0,
            "==",
        ),
        Claim(
            "and nowhere else (false alarms)",
            float(np.sum((found.given < 0.5 * SAYS) & (found.made > SAYS))),
            0.0,
            "==",
        ),
    ]


def table_of(found: PassivityMap) -> Table:
    """Gains, and the observer's word."""
    columns = ("K_p [N m/rad]", "bound [ms]", *(f"{1e3 * delay:.0f} ms late" for delay in found.delay))
    rows = [
        (f"{kp:g}", f"{1e3 * bound:.0f}", *(_cell(*pair) for pair in zip(gains, made, strict=True)))
        for kp, bound, gains, made in zip(found.kp, found.bound, found.gain, found.made, strict=True)
    ]
    return Table("Energy that a touch gains", columns, rows, "by ½ m_e v² of the approach; *: the observer warns")


def _cell(gain: float, made: float) -> str:
    return f"{100 * gain:+.0f} %{' *' if made > SAYS else ''}"


def _notes(found: PassivityMap) -> list[str]:
    turns = (f"K_p = {kp:g}: {1e3 * found.turns_active(i):.0f} ms" for i, kp in enumerate(found.kp))
    return [
        "Delays are those of the whole loop, from a pose to the middle of the step that its force is used in.",
        f"Touches gain energy from these delays on: {', '.join(turns)}. Softer tables bear less than an ideal "
        "spring as stiff as they are: their plate has a mass and jumps on the probe for some 10 ms, and a prediction "
        "by acceleration sends these jumps back, the larger the later it is.",
    ]


def draw(found: PassivityMap, path: Path | None = None) -> Any:
    """Two maps side by side: gain, and what the observer saw; matplotlib's Figure.

    Args:
        found: to be shown.
        path: file to write.
    """
    with figure_context() as new_figure:
        figure = new_figure(8.6, 3.4)
        panels: Any = figure.subplots(1, 2, sharey=True)
        shown = (
            ("(a) Energy that a touch gains [%]", found.gain),
            ("(b) Energy made, seen by the observer [%]", found.made),
        )
        rows, columns = np.arange(len(found.kp)), np.arange(len(found.delay))
        bound = np.interp(found.bound, found.delay, columns.astype(float), right=np.nan)  # NaN: beyond the map
        for axes, (title, values) in zip(panels, shown, strict=True):
            limits = {"vmin": -100 * _SHOWN, "vmax": 100 * _SHOWN}
            shades = axes.pcolormesh(
                columns, rows, 100 * values, cmap="RdBu_r", shading="nearest", rasterized=True, **limits
            )
            for (row, column), value in np.ndenumerate(values):
                ink = "white" if abs(value) > 0.7 * _SHOWN else colours.INK
                axes.text(column, row, f"{100 * value:.0f}", ha="center", va="center", color=ink)
            axes.plot(bound, rows + 0.35, "v", color=colours.INK)
            axes.set(title=title, xlabel="delay of the loop [ms]", xticks=columns, yticks=rows)
            axes.set_xticklabels([f"{1e3 * delay:.0f}" for delay in found.delay])
            axes.grid(False)
        panels[0].set_yticklabels([f"{kp:g}" for kp in found.kp])
        panels[0].set_ylabel("K_p [N m/rad]")
        figure.colorbar(shades, ax=list(panels), extend="max")
        if path is not None:
            save(figure, path)
    return figure
