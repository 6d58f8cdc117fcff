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

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments import space_robots
from ada_experiments.motion_simulation.delay import ActiveLoopWarning
from ada_experiments.motion_simulation.hexa_table import SENSORS, EmulatedTable, EmulatedTableSettings
from ada_experiments.motion_simulation.loop import Compensation, Network, Record, run
from ada_experiments.motion_simulation.motion_table import ImpedanceTable, TableSettings, plate_mechanics
from ada_experiments.motion_simulation.robots import PairSettings, RobotPair
from ada_experiments.pictures import picture
from ada_robot.settings import checked
from ada_tools.scenario.registry import Claim, Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

KNOWN = (
    "stiffnesses",
    "dampings",
    "approach",
    "gap",
    "step",
    "duration",
    "probe_stiffness",
    "probe_dissipation",
    "sensor",
    "network",
)
GROWS = 0.05  # energy fed in relative to that of the contact, at least, for an uncompensated loop
_NETWORK = ("delay", "jitter", "loss", "seed")


class HybridSettings(NamedTuple):
    """Settings of the scenario."""

    stiffnesses: tuple[float, ...]  # K_p [N m/rad]
    dampings: tuple[float, ...]  # K_d [N m s/rad]
    pair: PairSettings
    duration: float  # [s]
    probe_stiffness: float  # [N/m]
    probe_dissipation: float  # [s/m]
    sensor: str
    network: Network


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

    def __init__(self, chosen: HybridSettings) -> None:
        """Store the settings."""
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
        table = EmulatedTable(
            EmulatedTableSettings(
                kp=chosen.stiffnesses[i],
                kd=chosen.dampings[i],
                probe_stiffness=chosen.probe_stiffness,
                probe_dissipation=chosen.probe_dissipation,
                sensor=chosen.sensor,
            ),
            pair.mounting,
        )
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
    chosen = read_settings(scenario)
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
    quantities = quantities_of(chosen, cases, bad, other, simple, rig.violations)
    figures = pictures_of(cases, bad, output)
    return Outcome([uncompensated], figures, [table_of(cases)], _notes(chosen, cases, bad), {}, quantities)


def read_settings(scenario: Scenario, also: Sequence[str] = ()) -> HybridSettings:
    """Settings of a scenario, with units.

    Args:
        scenario: scenario of the experiment.
        also: additional keys read by the caller.
    """
    part = settings_of(scenario, (*KNOWN, *also))
    network = part.part("network", _NETWORK)
    stiffnesses = space_robots.stiffnesses_of(part)
    dampings = part.vector("dampings", ("N m s/rad",) * len(part.items("dampings")))
    if len(dampings) != len(stiffnesses) or min(dampings) <= 0.0:
        raise part.problem("dampings", f"there must be one positive value for each of {len(stiffnesses)} stiffnesses.")
    loss = network.quantity("loss", "1", 0.0)
    if not 0.0 <= loss <= 0.5:
        raise network.problem("loss", "it must be between 0 and 0.5.")
    return HybridSettings(
        stiffnesses,
        dampings,
        checked(PairSettings, space_robots.approach_of(part)),
        part.positive("duration", "s"),
        part.positive("probe_stiffness", "N/m"),
        part.positive("probe_dissipation", "s/m"),
        part.choice("sensor", SENSORS, SENSORS[0]),
        Network(
            network.quantity("delay", "s", 0.0),
            network.quantity("jitter", "s", 0.0),
            loss,
            round(network.quantity("seed", "1", 0.0)),
        ),
    )


def _notes(chosen: HybridSettings, cases: Sequence[HybridCase], bad: Sequence[Record]) -> list[str]:
    stiff = ", ".join(f"{case.stiffness:.0f}" for case in cases[: len(chosen.stiffnesses)])
    jumps = ", ".join(f"{case.hybrid.push.max():.1f}" for case in cases)
    network, delays = chosen.network, 1e3 * bad[0].delay
    return [
        "HEXA97's dimensions, masses and K_d are unknown. With the HEXA of the catalogue (plate at "
        f"{space_robots.TABLE_HEIGHT:g} m) and the probe the contact stiffness is k = {stiff} N/m. The pose of "
        "fig. 10, the position of the probe and the gap are assumed, as in S1.",
        "Plate and legs (1.4 kg at the plate) bounce on the probe at first contact. Peaks and comparison use the "
        f"mean over 10 ms; the highest single values are {jumps} N. The numerical model has no such mass, as in the "
        "document.",
        f"Disturbed network: {1e3 * network.delay:g} ms and up to {1e3 * network.jitter:g} ms jitter each way, "
        f"{100 * network.loss:g} % loss. The loop's delay was {np.median(delays):.1f} ms (median), "
        f"{delays.max():.1f} ms at most; {bad[0].lost} answers were lost, {bad[0].filled} forces estimated "
        f"from the identified stiffness of {bad[0].stiffness:.0f} N/m.",
    ]


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


def quantities_of(
    chosen: HybridSettings,
    cases: Sequence[HybridCase],
    bad: Sequence[Record],
    other: Record,
    simple: Record,
    violations: int,
) -> dict[str, Quantity]:
    """Conservation, differences of the hybrid and numeric models, and energy gains with and without compensation."""
    usual = cases[: len(chosen.stiffnesses)]
    changes = np.array([momentum_change(case.hybrid) for case in cases])
    peaks, durations, impulses = np.max([differences(case) for case in cases], axis=0)
    first = cases[0].hybrid
    return {
        **_physics(chosen, usual, cases, changes),
        "impulse_difference": Quantity(impulses),
        "impedance_difference": Quantity(abs(peak(simple) / peak(first) - 1.0)),
        "impedance_by_spring": Quantity(peak(simple) / cases[0].numeric.peak),
        "highest_by_spring": Quantity(float(simple.push.max()) / cases[0].numeric.peak),
        **_loop(chosen, cases, bad),
        "order_n_difference": Quantity(float(np.abs(other.distance - first.distance).max()), "m"),
        "invalid_commands": Quantity(float(violations)),
        "peak_difference": Quantity(float(peaks)),
        "duration_difference": Quantity(float(durations)),
    }


def _physics(
    chosen: HybridSettings, usual: Sequence[HybridCase], cases: Sequence[HybridCase], changes: Array
) -> dict[str, Quantity]:
    peaks, durations = [peak(case.hybrid) for case in usual], [duration(case.hybrid) for case in usual]
    exponent = space_robots.exponent
    return {
        "linear_momentum_change": Quantity(changes[:, 0].max()),
        "angular_momentum_change": Quantity(changes[:, 1].max()),
        "peak_growth": Quantity(min(b / a for a, b in pairwise(peaks))),
        "duration_decrease": Quantity(min(a / b for a, b in pairwise(durations))),
        "peak_exponent_error": Quantity(abs(exponent(peaks, chosen.stiffnesses) - 0.5)),
        "duration_exponent_error": Quantity(abs(exponent(durations, chosen.stiffnesses) + 0.5)),
        "mass_effect_error": Quantity(
            abs(
                peak(cases[-1].hybrid) / peak(usual[-1].hybrid) / (cases[-1].numeric.peak / usual[-1].numeric.peak)
                - 1.0
            )
        ),
    }


def _loop(chosen: HybridSettings, cases: Sequence[HybridCase], bad: Sequence[Record]) -> dict[str, Quantity]:
    records = [case.hybrid for case in cases]
    compensated, _ = bad
    answers = compensated.answers + compensated.lost
    return {
        "delay_error": Quantity(max(abs(np.median(r.delay) - expected_delay(chosen.pair.step)) for r in records), "s"),
        "least_gain_uncompensated": Quantity(min(case.late.gain for case in cases)),
        "largest_gain": Quantity(max(r.gain for r in records)),
        "impact_loss_error": Quantity(max(abs(case.hybrid.gain + plate_takes(case)) for case in cases)),
        "loss_error": Quantity(abs(compensated.lost / answers - chosen.network.loss)),
        "gain": Quantity(max(case.hybrid.gain for case in cases)),
        "gain_uncompensated": Quantity(max(case.late.gain for case in cases)),
        "gain_in_bad_network": Quantity(compensated.gain),
    }


_BEFORE, _AFTER = 0.03, 0.06  # [s] displayed margins of a contact


def pictures_of(cases: Sequence[HybridCase], bad: Sequence[Record], output: Path) -> list[Path]:
    """All figures, in the order of the report."""
    return [
        _forces(cases, output / "s2_forces.png"),
        _energies(cases, output / "s2_energy.png"),
        _network(bad, output / "s2_network.png"),
        _table(cases, output / "s2_table.png"),
    ]


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
            series.append(Series(label, t[rows] - begin, force[rows], style))
        panels.append(Panel(case.name, "Force [N]", series))
    return picture(panels, path, "Force of the touch (like figs. 12-15)", 2)


def _energies(cases: Sequence[HybridCase], path: Path) -> Path:
    panels = []
    for case in cases:
        series = [
            Series(label, record.t, (record.energy - record.energy[0]) / record.touch_energy, style)
            for label, record, style in (("compensated", case.hybrid, ""), ("not compensated", case.late, "--"))
        ]
        panels.append(Panel(case.name, "[½ m_e v²]", series))
    return picture(panels, path, "Energy of both robots since the start", 2)


def _network(bad: Sequence[Record], path: Path) -> Path:
    compensated, late = bad
    forces = [
        Series("compensated", compensated.t, compensated.push),
        Series("not compensated", late.t, late.push, "--"),
    ]
    delays = [Series("delay", compensated.t, 1e3 * compensated.delay)]
    panels = [Panel("Force", "[N]", forces), Panel("Delay of each force", "[ms]", delays)]
    return picture(panels, path, "A network with delay, jitter and loss", 2)


def _table(cases: Sequence[HybridCase], path: Path) -> Path:
    record = cases[0].hybrid
    begin, end = record.touch
    rows = (record.t > begin - _BEFORE) & (record.t < end + _AFTER)
    t = record.t[rows]
    curves = {"sent": 1e3 * record.sent[rows], "measured": 1e3 * record.plate[rows]}
    return picture([Panel.of(cases[0].name, "Face from the probe [mm]", t, curves)], path, "The motion table's plate")


def table_of(cases: Sequence[HybridCase]) -> Table:
    """Values of the first contacts."""
    columns = (
        "case",
        "k [N/m]",
        "peak, hybrid [N]",
        "numeric",
        "touch, hybrid [ms]",
        "numeric",
        "energy gained, compensated",
        "not compensated",
    )
    rows = []
    for case in cases:
        begin, end = case.hybrid.touch
        rows.append(
            (
                case.name,
                f"{case.stiffness:.0f}",
                f"{np.max(case.hybrid.smoothed()):.2f}",
                f"{case.numeric.peak:.2f}",
                f"{1e3 * (end - begin):.0f}",
                f"{1e3 * case.numeric.duration:.0f}",
                f"{100 * case.hybrid.gain:.1f} %",
                f"{100 * case.late.gain:.1f} %",
            )
        )
    return Table("The touch", columns, rows, "peaks of the mean over 10 ms; energy by ½ m_e v² of the approach")
