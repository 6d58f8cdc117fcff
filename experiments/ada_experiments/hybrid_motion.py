# SPDX-License-Identifier: Apache-2.0
"""S2: two space robots in contact on a motion table, after Tarao et al. (secs. 3, 4, figs. 9-16).

The robots are simulated; the contact is physical, between a plate on a HEXA and a probe on a force sensor. Here HEXA
and sensor are emulated byte-exactly, and the two programs run in lock step with a network in between. The same contact
in pure simulation (S1) is shown for comparison, as in the figures of the document.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ada_dynamics.drawing.panels import Curve, Panel
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.errors import InputError
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments import space_robots
from ada_experiments.motion_simulation.delay import ActiveLoopWarning
from ada_experiments.motion_simulation.hexa_table import EmulatedTable, EmulatedTableSettings
from ada_experiments.motion_simulation.loop import Compensation, Network, Record, run
from ada_experiments.motion_simulation.motion_table import ImpedanceTable, TableSettings, plate_mechanics
from ada_experiments.motion_simulation.robots import RobotPair
from ada_experiments.pictures import exponent, picture
from ada_experiments.settings import read_settings
from ada_experiments.space_robots import ContactSettings
from ada_robot.settings import checked
from ada_tools.scenario.registry import Claim, Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario

GROWS = 0.05  # energy fed in relative to that of the contact, at least, for an uncompensated loop


class HybridCase(NamedTuple):
    """One of figs. 12-15."""

    name: str
    stiffness: float  # of the contact: table (eq. 15) and probe in series [N/m]
    hybrid: Record  # on the table, with delay compensation
    late: Record  # on the table, without compensation
    numeric: space_robots.ContactRun  # pure simulation


class HybridRig:
    """Robots, table and network of a scenario.

    Attributes:
        violations: number of invalid commands received by the emulated table.
    """

    def __init__(self, chosen: ContactSettings) -> None:
        """Store the settings.

        Raises:
            InputError: there is not one damping for each stiffness.
        """
        if len(chosen.dampings) != len(chosen.stiffnesses):
            text = f"there are {len(chosen.dampings)} dampings for {len(chosen.stiffnesses)} stiffnesses."
            raise InputError(text, field="dampings", value=chosen.dampings)
        self.chosen = chosen
        self.violations = 0

    def case(self, name: str, i: int, *, heavy: bool) -> HybridCase:
        """One of figs. 12-15."""
        stiffness, kp = self.stiffness(i), self.chosen.stiffnesses[i]
        hybrid, late = (self.hybrid(i, compensation=order, heavy=heavy) for order in (2, 0))
        numeric = space_robots.touch(name, kp, stiffness, self._pair(heavy), self.chosen.duration, "ada")
        return HybridCase(name, stiffness, hybrid, late, numeric)

    def stiffness(self, i: int) -> float:
        """Contact stiffness: table (eq. 15) and probe in series [N/m]."""
        return 1.0 / (
            1.0 / space_robots.table_stiffness(self.chosen.stiffnesses[i]) + 1.0 / self.chosen.probe_stiffness
        )

    @property
    def mass(self) -> float:
        """Effective contact mass of the standard robots [kg]."""
        return self._pair().effective_mass()

    def hybrid(
        self,
        i: int,
        *,
        compensation: Compensation = 2,
        heavy: bool = False,
        algorithm: Algorithm = "order_n",
        network: Network = Network(),  # noqa: B008  (immutable)
    ) -> Record:
        """Contact on the emulated table."""
        chosen, pair = self.chosen, self._pair(heavy, algorithm)
        given = {name: getattr(chosen, name) for name in ("probe_stiffness", "probe_dissipation", "sensor")}
        given |= {"kp": chosen.stiffnesses[i], "kd": chosen.dampings[i]}
        table = EmulatedTable(checked(EmulatedTableSettings, given), pair.mounting)
        with warnings.catch_warnings():  # passivity is evaluated by the caller
            warnings.simplefilter("ignore", ActiveLoopWarning)
            found = run(pair, table, chosen.duration, compensation=compensation, network=network)
        self.violations += len(table.hexa.violations)
        return found

    def impedance(self, i: int) -> Record:
        """Contact on the substitute with the impedance of eqs. 10 and 15."""
        chosen, pair = self.chosen, self._pair()
        settings = TableSettings(
            kp=chosen.stiffnesses[i], kd=chosen.dampings[i], probe_stiffness=chosen.probe_stiffness
        )
        return run(pair, ImpedanceTable(settings, pair.mounting), chosen.duration)

    def _pair(self, heavy: bool = False, algorithm: Algorithm = "order_n") -> RobotPair:
        settings = replace(self.chosen.pair, algorithm=algorithm)
        return RobotPair(space_robots.heavier(settings) if heavy else settings)


def plate_takes(case: HybridCase) -> float:
    """Fraction of the contact energy ½ m_e v² dissipated by stopping the table mass: m_p v² (eq. 10's M P̈)."""
    plate = plate_mechanics(pose_of((0.0, 0.0, space_robots.TABLE_HEIGHT))).mass
    mass = 1.0 / float(np.linalg.inv(plate)[2, 2])
    return 2.0 * mass / case.numeric.mass


@experiment("hybrid_motion")
def hybrid_motion(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Contacts on the table for figs. 12-15, with and without compensation, over a good and a bad network."""
    chosen = read_settings(scenario, ContactSettings)
    rig = HybridRig(chosen)
    last = len(chosen.stiffnesses) - 1
    names = [(f"K_p = {kp:g} N m/rad", i, False) for i, kp in enumerate(chosen.stiffnesses)]
    names.append((f"K_p = {chosen.stiffnesses[last]:g}, other masses", last, True))
    parts = 2 * len(names) + 4
    cases = []
    for done, (name, i, heavy) in enumerate(names):
        progress(2 * done / parts, f"hybrid motion simulation, {name}")
        cases.append(rig.case(name, i, heavy=heavy))
    progress(2 * len(names) / parts, "hybrid motion simulation, bad network")
    bad = [rig.hybrid(last, compensation=order, network=chosen.network) for order in (2, 0)]
    progress((parts - 2) / parts, "hybrid motion simulation, ADA")
    other = rig.hybrid(0, algorithm="ada")
    progress((parts - 1) / parts, "hybrid motion simulation, impedance")
    simple = rig.impedance(0)
    uncompensated = Claim(
        "disturbed network, uncompensated: energy gain", bad[1].gain, max(GROWS, cases[-2].late.gain), ">="
    )
    quantities = quantities_of(chosen, cases, bad[0], other, simple)
    quantities["invalid_commands"] = Quantity(rig.violations)
    figure = _forces(cases, output / "s2_forces.png")
    return Outcome([uncompensated], [figure], [table_of(cases)], quantities=quantities)


def peak(record: Record) -> float:
    """Largest force without the oscillation of the plate on the probe [N]."""
    return float(record.smoothed().max())


def duration(record: Record) -> float:
    """Duration of the first contact [s]."""
    begin, end = record.touch
    return end - begin


def differences(case: HybridCase) -> tuple[float, float, float]:
    """Relative differences of the hybrid from the numeric contact: peak, duration, impulse."""
    hybrid, numeric = case.hybrid, case.numeric
    return (
        abs(peak(hybrid) / numeric.peak - 1.0),
        abs(duration(hybrid) / numeric.duration - 1.0),
        abs(float(np.sum(hybrid.push) / np.sum(numeric.force)) - 1.0),
    )


def momentum_change(record: Record) -> tuple[float, float]:
    """Relative change of linear and angular momentum."""
    before, after = record.momentum
    parts = (slice(0, 3), slice(3, 6))
    changes = [float(np.abs(after[p] - before[p]).max() / np.linalg.norm(before[p])) for p in parts]
    return changes[0], changes[1]


def quantities_of(
    chosen: ContactSettings, cases: Sequence[HybridCase], bad: Record, other: Record, simple: Record
) -> dict[str, Quantity]:
    """Conservation, differences of the hybrid and numeric models, and energy gains with and without compensation."""
    usual, heavy = cases[:-1], cases[-1]
    peaks, durations = [peak(case.hybrid) for case in usual], [duration(case.hybrid) for case in usual]
    linear, angular = np.max([momentum_change(case.hybrid) for case in cases], axis=0)
    off_peak, off_duration, off_impulse = np.max([differences(case) for case in cases], axis=0)
    first, numeric = cases[0].hybrid, cases[0].numeric
    by_mass = peak(heavy.hybrid) / peaks[-1] / (heavy.numeric.peak / usual[-1].numeric.peak)
    gains, late = [case.hybrid.gain for case in cases], [case.late.gain for case in cases]
    # A pose acts from the next servo period, its force is available at the end of that period, is sent in the third
    # cycle after the pose, and acts for a step: the delay is counted to the middle of this step.
    delays = [abs(float(np.median(case.hybrid.delay)) - 3.5 * chosen.step) for case in cases]
    values = {
        "linear_momentum_change": linear,
        "angular_momentum_change": angular,
        "peak_growth": min(b / a for a, b in pairwise(peaks)),
        "duration_decrease": min(a / b for a, b in pairwise(durations)),
        "peak_exponent_error": abs(exponent(peaks, chosen.stiffnesses) - 0.5),
        "duration_exponent_error": abs(exponent(durations, chosen.stiffnesses) + 0.5),
        "mass_effect_error": abs(by_mass - 1.0),
        "peak_difference": off_peak,
        "duration_difference": off_duration,
        "impulse_difference": off_impulse,
        "impedance_difference": abs(peak(simple) / peak(first) - 1.0),
        "impedance_by_spring": peak(simple) / numeric.peak,
        "highest_by_spring": simple.push.max() / numeric.peak,
        "least_gain_uncompensated": min(late),
        "gain_uncompensated": max(late),
        "largest_gain": max(gains),
        "gain": max(gains),
        "impact_loss_error": max(abs(case.hybrid.gain + plate_takes(case)) for case in cases),
        "loss_error": abs(bad.lost / (bad.answers + bad.lost) - chosen.network.loss),
        "gain_in_bad_network": bad.gain,
    }
    found = {name: Quantity(float(value)) for name, value in values.items()}
    found["delay_error"] = Quantity(max(delays), "s")
    found["order_n_difference"] = Quantity(float(np.abs(other.distance - first.distance).max()), "m")
    return found


_BEFORE, _AFTER = 0.03, 0.06  # [s] displayed margins of a contact


def _forces(cases: Sequence[HybridCase], path: Path) -> Path:
    panels = []
    for case in cases:
        begin, end = case.hybrid.touch
        series = []
        for label, t, force, style in (
            ("hybrid", case.hybrid.t, case.hybrid.push, ""),
            ("hybrid, delay not compensated", case.late.t, case.late.push, ":"),
            ("numeric", case.numeric.log.t, case.numeric.force, "--"),
        ):
            rows = (t > begin - _BEFORE) & (t < end + _AFTER)
            series.append(Curve(label, t[rows] - begin, force[rows], style))
        panels.append(Panel(case.name, "Force [N]", series))
    return picture(panels, path, "Contact force (as figs. 12-15)", 2)


def table_of(cases: Sequence[HybridCase]) -> Table:
    """Values of the first contacts."""
    columns = ("case", "k [N/m]", "peak: hybrid, numeric [N]", "duration: likewise [ms]", "energy: compensated, not")
    rows = [
        (
            case.name,
            f"{case.stiffness:.0f}",
            f"{peak(case.hybrid):.2f}, {case.numeric.peak:.2f}",
            f"{1e3 * duration(case.hybrid):.0f}, {1e3 * case.numeric.duration:.0f}",
            f"{100 * case.hybrid.gain:+.1f} %, {100 * case.late.gain:+.1f} %",
        )
        for case in cases
    ]
    return Table("Contacts", columns, rows, "peaks of the mean over 10 ms; energy relative to ½ m_e v² of the approach")
