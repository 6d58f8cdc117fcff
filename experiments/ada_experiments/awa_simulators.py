# SPDX-License-Identifier: Apache-2.0
"""A2, A3: KHR-1 walks and falls in two simulators under the PID control of Awa 2009 (secs. 2.4, 4.2.1, 4.3).

The paper argues that two independent simulators avoid careless errors, there ODE and MATLAB. Here they are this library
and MuJoCo, which share the robot description, contact points and control, but not equations, contact law or integrator.
The walk of the paper in ODE depends on a careful choice of time step, control period and gains (sec. 4.3): A3 varies
each of them in both simulators, with the robot of table 4 (motors, soles and a board).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Curve, Panel
from ada_dynamics.drawing.snapshots import plot_snapshots
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load
from ada_dynamics.simulation import Contact, JointStops, Log, Material, Simulation
from ada_experiments.awa_equations import paper_robot
from ada_experiments.awa_walk import (
    BASE_NQ,
    BASE_NV,
    FEET,
    Gains,
    Walk,
    WalkControl,
    khr1_walk,
    standing_start,
    with_armature,
)
from ada_experiments.mujoco_twin import Twin
from ada_experiments.pictures import picture
from ada_experiments.settings import OR_ZERO, read_settings
from ada_tools.scenario.registry import Outcome, Progress, Quantity, Table, experiment
from ada_tools.scenario.scenario import Scenario, settings_of

OURS, THEIRS = "this library", "MuJoCo"
EVERY = 4  # simulation steps per compared row
SETTLED = 0.3  # [s] time after which feet and arms have settled
SMOOTHED = 0.05  # [s] averaging window of forces: soft contacts oscillate faster
LOADED = 0.1  # fraction of the weight above which a foot counts as loaded


class SimulatorSettings(NamedTuple):
    """Settings of A2 and A3."""

    robot: str
    step: Annotated[float, "s"]
    control_period: Annotated[float, "s"]
    friction: Annotated[float, "1"]
    armature: Annotated[float, "kg m^2"]
    touch_time: Annotated[float, "s"]  # time constant of MuJoCo contacts
    gains: Gains
    rest: Annotated[float, "s", OR_ZERO] = 0.5  # after the walk
    pace: Annotated[float, "1"] = 1.0  # relative speed of the walk

    @property
    def period(self) -> float:
        """Control period, at least one step [s]."""
        return max(self.step, self.control_period)


@dataclass(frozen=True)
class SimulatorRun:
    """A walk in one simulator, at times common to both."""

    t: Array
    q: Array
    desired: Array  # joint angles [rad]
    vertical: dict[str, Array]  # ground force by foot [N]

    @property
    def angles(self) -> Array:
        """Joint angles [rad]."""
        return self.q[:, BASE_NQ:]

    @property
    def up(self) -> Array:
        """Upward axis of the body in world axes."""
        x, y, z, w = self.q[:, 3:7].T
        return np.column_stack([2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)])

    @property
    def tilts(self) -> Array:
        """Roll and pitch of the body, (N, 2) [deg]."""
        up = self.up
        angles = np.column_stack([np.arctan2(-up[:, 1], up[:, 2]), np.arctan2(up[:, 0], up[:, 2])])
        return np.asarray(np.degrees(angles), dtype=np.float64)

    @property
    def leaning(self) -> Array:
        """Tilt of the body against the vertical [deg]."""
        return np.asarray(np.degrees(np.arccos(np.clip(self.up[:, 2], -1.0, 1.0))))

    @property
    def largest_tilt(self) -> float:
        """Largest tilt of the body against the vertical [deg]."""
        return float(self.leaning.max())

    def smoothed(self, foot: str) -> Array:
        """Moving average of the vertical force on a foot [N]."""
        count = max(1, round(SMOOTHED / (self.t[1] - self.t[0])))
        sums = np.cumsum(np.concatenate([[0.0], self.vertical[foot]]))
        at = np.arange(len(self.t))
        low, high = np.maximum(at - count // 2, 0), np.minimum(at + count // 2 + 1, len(self.t))
        return np.asarray((sums[high] - sums[low]) / (high - low), dtype=np.float64)

    def mean_force(self) -> float:
        """Mean vertical ground force after settling [N]."""
        settled = self.t >= SETTLED
        return float(sum(force[settled].mean() for force in self.vertical.values()))


@experiment("awa_simulators")
def awa_simulators(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Walk in both simulators and compare."""
    chosen = read_settings(scenario, SimulatorSettings)
    model = with_armature(load(chosen.robot), chosen.armature)
    walk = khr1_walk(model)
    progress(0.0, "KHR-1 walks in this library")
    contact = soles(model, chosen)
    ours, log = walk_here(model, walk, contact, chosen)
    progress(0.6, "KHR-1 walks in MuJoCo")
    theirs = walk_there(model, walk, contact, chosen)
    progress(0.9, "figures")
    weight = model.total_mass * float(np.linalg.norm(model.gravity))
    title = "The walk in this library, seen from the front"
    figures = [_figure(ours, theirs, output / "a2_body.png"), _strip(log, log.t[-1], output / "a2_walk.png", title)]
    quantities = quantities_of(ours, theirs) | agreement(ours, theirs, weight) | motor_quantities(log)
    return Outcome([], figures, quantities=quantities)


def soles(model: Model, chosen: SimulatorSettings) -> Contact:
    """Contact at the corners of both soles."""
    material = Material.for_weight(model.total_mass, step=chosen.step, friction=chosen.friction)
    return Contact.of_soles(model, FEET, material=material)


def walk_here(model: Model, walk: Walk, contact: Contact, chosen: SimulatorSettings) -> tuple[SimulatorRun, Log]:
    """Walk in this library: linearly implicit steps, Hunt-Crossley contact, soft stops."""
    duration = _duration(walk, chosen)
    simulation = Simulation(
        model,
        q=standing_start(model, walk, FEET[0]),
        controller=WalkControl(walk, chosen.gains, chosen.period, duration),
        integrator="semi_implicit",
        step=chosen.step,
        contact=contact,
        stops=JointStops(),
        control_period=chosen.period,
        log_every=EVERY,
    )
    log = simulation.run(duration)
    vertical = {
        foot: np.sum([log.contact_wrenches[p.name][:, 2] for p in contact.points if p.link == foot], axis=0)
        for foot in FEET
    }
    return _run(walk, log.t, log.q, vertical), log


def walk_there(model: Model, walk: Walk, contact: Contact, chosen: SimulatorSettings) -> SimulatorRun:
    """Walk in MuJoCo: the same contact points and joint limits, with its soft contacts and stops."""
    duration = _duration(walk, chosen)
    points = {foot: np.array([p.xyz for p in contact.points if p.link == foot]) for foot in FEET}
    twin = Twin(model, points, chosen.step, friction=chosen.friction, touch_time=chosen.touch_time)
    control = WalkControl(walk, chosen.gains, chosen.period, duration)
    start = standing_start(model, walk, FEET[0])
    motion = twin.run(start, np.zeros(model.nv), control, duration, chosen.period)
    rows = slice(None, None, EVERY)
    vertical = {foot: force[rows, 2] for foot, force in motion.forces.items()}
    return _run(walk, motion.t[rows], motion.q[rows], vertical)


def _duration(walk: Walk, chosen: SimulatorSettings) -> float:
    """Duration of the walk and the following rest, in whole compared rows [s]."""
    row = EVERY * chosen.step
    return row * round((walk.duration + chosen.rest) / row)


def _run(walk: Walk, t: Array, q: Array, vertical: Mapping[str, Array]) -> SimulatorRun:
    return SimulatorRun(t, q, walk.smooth(np.minimum(t, walk.duration)).angles, dict(vertical))


# --- what must hold -------------------------------------------------------------------------------------------------
def rms(x: Array) -> float:
    """Root mean square of all values."""
    return float(np.sqrt(np.mean(x**2)))


def same_support(ours: SimulatorRun, theirs: SimulatorRun, weight: float) -> float:
    """Fraction of time in which both simulators load the same feet."""
    same = np.ones(len(ours.t), dtype=bool)
    for foot in FEET:
        same &= (ours.smoothed(foot) > LOADED * weight) == (theirs.smoothed(foot) > LOADED * weight)
    return float(same[ours.t >= SETTLED].mean())


def agreement(ours: SimulatorRun, theirs: SimulatorRun, weight: float) -> dict[str, Quantity]:
    """Differences of the two simulators, and of their ground forces from the weight."""
    forces = max(rms(ours.smoothed(foot) - theirs.smoothed(foot)) for foot in FEET)
    return {
        "force_here": Quantity(abs(ours.mean_force() / weight - 1.0)),
        "force_there": Quantity(abs(theirs.mean_force() / weight - 1.0)),
        "heights_apart": Quantity(1e3 * rms(ours.q[:, 2] - theirs.q[:, 2]), "mm"),
        "tilts_apart": Quantity(rms(ours.tilts - theirs.tilts), "deg"),
        "same_support": Quantity(same_support(ours, theirs, weight)),
        "forces_apart": Quantity(forces / weight),
    }


def quantities_of(ours: SimulatorRun, theirs: SimulatorRun) -> dict[str, Quantity]:
    """Falls of the robot in either simulator, and the difference of joint angles."""
    return {
        "tilt_here": Quantity(ours.largest_tilt, "deg"),
        "tilt_there": Quantity(theirs.largest_tilt, "deg"),
        "angles_apart": Quantity(rms(ours.angles - theirs.angles), "rad"),
    }


def motor_quantities(log: Log) -> dict[str, Quantity]:
    """Largest torque and speed of the joints in the walk, and the largest torque at rest after it."""
    torques, speeds = np.abs(log.tau[:, BASE_NV:]), np.abs(log.v[:, BASE_NV:])
    walking = log.t >= SETTLED
    return {
        "largest_torque": Quantity(float(torques[walking].max()), "N m"),
        "largest_speed": Quantity(float(speeds[walking].max()), "rad/s"),
        "torque_at_rest": Quantity(float(torques[-1].max()), "N m"),
    }


# --- figures --------------------------------------------------------------------------------------------------------
def _figure(ours: SimulatorRun, theirs: SimulatorRun, path: Path) -> Path:
    def both(title: str, label: str, one: Array, two: Array) -> Panel:
        return Panel.of(title, label, ours.t, {OURS: one, THEIRS: two})

    panels = [
        both("Height of the body", "[m]", ours.q[:, 2], theirs.q[:, 2]),
        both("Roll", "[deg]", ours.tilts[:, 0], theirs.tilts[:, 0]),
        both("Pitch", "[deg]", ours.tilts[:, 1], theirs.tilts[:, 1]),
        both("Forward", "[m]", ours.q[:, 0], theirs.q[:, 0]),
        *(both(f"Force on the {f.replace('_', ' ')}", "[N]", ours.smoothed(f), theirs.smoothed(f)) for f in FEET),
    ]
    return picture(panels, path, "KHR-1 under PID control in two simulators", 2)


def _strip(log: Log, end: float, path: Path, title: str = "") -> Path:
    plot_snapshots(log, path, times=np.linspace(0.0, end, 6), columns=6, plane="yz", title=title)
    return path


FALLEN = 45.0  # [deg] irrecoverable tilt
LIES = 80.0  # [deg]
_GROUPS = {"steps": {"step", "control_period"}, "gains": {"kp", "ti", "td"}, "others": {"friction", "pace"}}
_NAMES = {"control_period": "control every", "kp": "K_p", "ti": "T_i", "td": "T_d"}


class WalkTrial(NamedTuple):
    """A walk in both simulators, with changes relative to the paper."""

    text: str  # description of the changes
    keys: frozenset[str]  # changed settings
    ours: SimulatorRun
    theirs: SimulatorRun

    @property
    def tilts(self) -> tuple[float, float]:
        """Largest tilts in both simulators [deg]."""
        return self.ours.largest_tilt, self.theirs.largest_tilt


@experiment("awa_own_robot")
def awa_own_robot(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Walk with the settings of the paper, then with single changes."""
    tried, walk = try_all(scenario, progress)
    progress(0.9, "figures")
    first = tried[0]
    figures = [_strip(walk, first.ours.t[-1], output / "a3_fig_9.png")]
    figures.append(picture(tilts(tried), output / "a3_tilt.png", "How far the body leans", 2))
    quantities = quantities_of(first.ours, first.theirs) | _falls(tried[1:])
    quantities["mass"] = Quantity(walk.model.total_mass, "kg")
    same = [(one.tilts[0] > FALLEN) == (one.tilts[1] > FALLEN) for one in tried]
    quantities["same_result"] = Quantity(sum(same) / len(same))
    return Outcome([], figures, [_changes_table(tried)], quantities=quantities)


def try_all(scenario: Scenario, progress: Progress) -> tuple[list[WalkTrial], Log]:
    """Walks with the settings of the paper and with each change, and the log of the first one in this library."""
    known = (*SimulatorSettings._fields, *Gains._fields)
    entries = settings_of(scenario, (*SimulatorSettings._fields, "changes")).parts("changes", known)
    found, logs = [], []
    for number, entry in enumerate([None, *entries]):
        texts = {} if entry is None else {key: entry.text(key) for key in entry.keys()}  # noqa: SIM118
        text = ", ".join(f"{_NAMES.get(key, key)} {value}" for key, value in texts.items()) or "as the paper has it"
        progress(0.9 * number / (1 + len(entries)), text)
        changes = {f"settings.{'gains.' if key in Gains._fields else ''}{key}": value for key, value in texts.items()}
        chosen = read_settings(scenario.with_changes(changes), SimulatorSettings, ("changes",))
        model = with_armature(paper_robot(load(chosen.robot)), chosen.armature)
        walk, contact = khr1_walk(model), soles(model, chosen)
        walk.times = walk.times / chosen.pace
        ours, log = walk_here(model, walk, contact, chosen)
        found.append(WalkTrial(text, frozenset(texts), ours, walk_there(model, walk, contact, chosen)))
        logs.append(log)
    return found, logs[0]


# --- what is found --------------------------------------------------------------------------------------------------
def _falls(tried: Sequence[WalkTrial]) -> dict[str, Quantity]:
    """Number of changes of each group that cause a fall, by simulator."""
    found = {}
    for name, keys in _GROUPS.items():
        some = [one for one in tried if keys & one.keys and (name != "steps" or one.keys <= keys)]
        for side, who in enumerate(("here", "there")):
            found[f"falls_by_{name}_{who}"] = Quantity(float(sum(one.tilts[side] > FALLEN for one in some)))
    return found


def _changes_table(tried: Sequence[WalkTrial]) -> Table:
    rows = []
    for one in tried:
        words = ["falls" if tilt > FALLEN else "walks" for tilt in one.tilts]
        rows.append((one.text, *(f"{tilt:.1f}" for tilt in one.tilts), *words))
    columns = ("changed", f"largest tilt, {OURS} [deg]", f"{THEIRS} [deg]", OURS, THEIRS)
    return Table("Changes, one at a time", columns, rows)


def tilts(tried: Sequence[WalkTrial]) -> list[Panel]:
    """Tilts of all falling walks and of the walk of the paper, until the body lies on the ground."""
    panels = []
    for side, name in enumerate((OURS, THEIRS)):
        series = []
        for one in tried:
            run = (one.ours, one.theirs)[side]
            if one is tried[0] or max(one.tilts) > FALLEN:
                lies = np.flatnonzero(run.leaning > LIES)  # the plot ends when the body lies on the ground
                rows = run.t <= run.t[lies[0] if len(lies) else -1]
                series.append(Curve(one.text, run.t[rows], run.leaning[rows]))
        panels.append(Panel(name, "tilt of the body [deg]", series))
    return panels
