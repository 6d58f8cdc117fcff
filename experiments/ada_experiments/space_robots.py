# SPDX-License-Identifier: Apache-2.0
"""S1: contact of two free-flying space robots in numerical simulation (Tarao et al., secs. 4.1-4.3, figs. 12-15).

Robot 1 is at rest with its joints held; robot 2 moves towards its tip with free joints. The contact has the stiffness
of the motion table of the document: six motors of stiffness K_p, seen at its plate (eqs. 11-15).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel
from ada_dynamics.drawing.snapshots import plot_snapshots
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.simulation import Log, Simulation
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.motion_simulation.loop import Network
from ada_experiments.motion_simulation.motion_table import plate_mechanics
from ada_experiments.motion_simulation.robots import ARM, FIRST, FREE, SECOND, TOUCH, PairSettings, RobotPair
from ada_experiments.pictures import exponent, picture
from ada_experiments.settings import read_settings
from ada_robot.settings import checked
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario

TABLE_HEIGHT = -0.5  # [m], height of the HEXA plate, in the middle of its workspace
NORMAL = (0.0, 0.0, 1.0)  # of the plate: the contact normal is vertical on the table


class ContactSettings(NamedTuple):
    """Settings of S1, S2 and S3."""

    stiffnesses: Annotated[tuple[float, ...], "N m/rad"]  # K_p, ascending
    approach: Annotated[float, "m/s"]
    gap: Annotated[float, "m"]
    step: Annotated[float, "s"]
    duration: Annotated[float, "s"]
    # S2 and S3: of the emulated table
    dampings: Annotated[tuple[float, ...], "N m s/rad"] = ()  # K_d, for each K_p
    probe_stiffness: Annotated[float, "N/m"] = 0.0
    probe_dissipation: Annotated[float, "s/m"] = 0.0
    sensor: str = ""
    network: Network = Network()  # S2: the bad one
    delays: Annotated[tuple[float, ...], "s"] = ()  # S3: of the network, ascending

    @property
    def pair(self) -> PairSettings:
        """Settings of both robots."""
        return checked(PairSettings, {name: getattr(self, name) for name in ("approach", "gap", "step")})


@dataclass(frozen=True, eq=False)
class ContactRun:
    """One simulation."""

    name: str
    kp: float  # stiffness of the table's motors [N m/rad]
    stiffness: float  # of the contact [N/m]
    pair: RobotPair
    log: Log
    force: Array  # along the normal, at the rows of the log [N]
    seconds: float  # computing time

    @property
    def peak(self) -> float:
        """Largest force of the first contact [N]."""
        return float(self.force[self._first()].max())

    @property
    def duration(self) -> float:
        """Duration of the first contact [s], with linear extrapolation of the force to zero at both ends."""
        rows = self._first()
        t, f = self.log.t, self.force
        start, end = rows.start, rows.stop
        rise, fall = f[start + 1] - f[start], f[end - 2] - f[end - 1]
        h = t[1] - t[0]
        return float(t[end - 1] - t[start] + h * min(f[start] / rise, 1.0) + h * min(f[end - 1] / fall, 1.0))

    @property
    def mass(self) -> float:
        """Effective mass m_e of the contact [kg]."""
        return self.pair.effective_mass()

    @property
    def begin(self) -> float:
        """Begin of the first contact [s]."""
        return float(self.log.t[self._first().start])

    @property
    def end(self) -> float:
        """End of the first contact [s]."""
        return float(self.log.t[self._first().stop])

    @property
    def lumped_peak(self) -> float:
        """Peak force of a mass on a spring, v √(k m_e) [N]."""
        return self.pair.settings.approach * float(np.sqrt(self.stiffness * self.mass))

    @property
    def lumped_duration(self) -> float:
        """Half a period of a mass on a spring, π √(m_e / k) [s]."""
        return float(np.pi * np.sqrt(self.mass / self.stiffness))

    def _first(self) -> slice:
        touching = self.force > 0.0
        start = int(np.argmax(touching))
        return slice(start, start + int(np.argmin(touching[start:])))


@experiment("space_robots")
def space_robots(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Simulate the contacts of figs. 12-15; check momentum, energy, forces and durations."""
    chosen = read_settings(scenario, ContactSettings)
    pair, other = RobotPair(chosen.pair), RobotPair(heavier(chosen.pair))
    cases = [(f"K_p = {kp:g} N m/rad", kp, pair) for kp in chosen.stiffnesses]
    cases.append((f"K_p = {chosen.stiffnesses[-1]:g}, other masses", chosen.stiffnesses[-1], other))
    touches = []
    for i, (name, kp, robots) in enumerate(cases):
        progress(i / (len(cases) + 1), f"space robots, {name}")
        touches.append(touch(name, kp, table_stiffness(kp), robots, chosen.duration, "ada"))
    progress(1.0 - 1.0 / (len(cases) + 1), "space robots, order-n")
    first = touches[0]
    again = touch("order-n", first.kp, first.stiffness, pair, chosen.duration, "order_n")
    figures = [_forces(touches, output / "s1_forces.png"), _snapshots(first, output / "s1_robots.png")]
    return Outcome([], figures, quantities=quantities_of(touches, again, chosen))


def heavier(settings: PairSettings) -> PairSettings:
    """The robots of fig. 15: links of 20 kg on robot 1, a base of 100 kg on robot 2."""
    return replace(settings, link_mass_1=20.0, base_mass_2=100.0)


@cache
def table_stiffness(kp: float) -> float:
    """Stiffness of the table along the normal of its plate by eq. 15 [N/m]."""
    return plate_mechanics(pose_of((0.0, 0.0, TABLE_HEIGHT))).stiffness_along(kp, NORMAL)


def touch(name: str, kp: float, stiffness: float, pair: RobotPair, duration: float, algorithm: Algorithm) -> ContactRun:
    """Simulate one case."""
    q, v = pair.start
    contact, step = pair.contact(stiffness), pair.settings.step
    simulation = Simulation(
        pair.model, q=q, v=v, controller=pair.hold(), step=step, contact=contact, algorithm=algorithm
    )
    simulation.run(step)  # compile or load from the cache
    simulation.reset()
    started = time.perf_counter()
    log = simulation.run(duration)
    seconds = time.perf_counter() - started
    force = np.linalg.norm(log.contact_wrenches[TOUCH][:, :3], axis=1)
    return ContactRun(name, kp, stiffness, pair, log, force, seconds)


# --- claims -------------------------------------------------------------------------------------------------------
def momentum_change(log: Log) -> tuple[float, float]:
    """Largest relative change of the linear and of the angular momentum about the world origin."""
    momentum, com = log.momentum, log.com
    linear = momentum[:, :3]
    angular = momentum[:, 3:] + np.cross(com, linear)
    scale = float(np.linalg.norm(linear[0]))
    arm = float(np.linalg.norm(log.q[0, log.model.q_index(SECOND + FREE)][:3]))
    changes = (np.abs(x - x[0]).max() for x in (linear, angular))
    return next(changes) / scale, next(changes) / (scale * arm)


def energy_error(case: ContactRun) -> float:
    """Largest relative change of the energy, including the spring of the contact and the losses of `hold`."""
    log = case.log
    kinetic = np.asarray(log.energy.kinetic)
    spring = 0.5 * case.force**2 / case.stiffness
    balance = kinetic + spring + case.pair.hold_energy(log.t, log.q, log.v)
    return float(np.abs(balance - balance[0]).max() / kinetic[0])


def quantities_of(touches: Sequence[ContactRun], again: ContactRun, chosen: ContactSettings) -> dict[str, Quantity]:
    """Conservation, effect of stiffness and masses on the force, and the real-time factor of the simulations."""
    usual, other = touches[: len(chosen.stiffnesses)], touches[len(chosen.stiffnesses)]
    changes = np.array([momentum_change(case.log) for case in touches])
    peaks, durations = [case.peak for case in usual], [case.duration for case in usual]
    lumped = [abs(c.peak / c.lumped_peak - 1.0) for c in touches]
    lumped += [abs(c.duration / c.lumped_duration - 1.0) for c in touches]
    factors = [chosen.duration / case.seconds for case in (*touches, again)]
    return {
        "linear_momentum_change": Quantity(float(changes[:, 0].max())),
        "angular_momentum_change": Quantity(float(changes[:, 1].max())),
        "energy_error": Quantity(max(energy_error(case) for case in touches)),
        "order_n_difference": Quantity(_difference(touches[0], again)),
        "peak_exponent_error": Quantity(abs(exponent(peaks, chosen.stiffnesses) - 0.5)),
        "duration_exponent_error": Quantity(abs(exponent(durations, chosen.stiffnesses) + 0.5)),
        "lumped_difference": Quantity(max(lumped)),
        "peak_ratio": Quantity(min(b.peak / a.peak for a, b in pairwise(usual))),
        "duration_ratio": Quantity(min(a.duration / b.duration for a, b in pairwise(usual))),
        **held_quantities(touches[0]),
        "mass_effect": Quantity(abs(other.peak / usual[-1].peak - 1.0)),
        "real_time_factor": Quantity(min(factors), spread=(min(factors), max(factors))),
    }


def held_quantities(case: ContactRun) -> dict[str, Quantity]:
    """Largest motion of the arm of robot 1, and of both robots out of the plane of their axes (sec. 4.1)."""
    q, model = case.log.q, case.log.model
    arm = q[:, [model.q_index(FIRST + joint).start for joint in ARM]]
    bases = [q[:, model.q_index(prefix + FREE)] for prefix in (FIRST, SECOND)]
    out_of_plane = np.concatenate([base[:, [2, 3, 4]] for base in bases], axis=1)  # z, and the turn about x and y
    return {
        "arm_turned": Quantity(float(np.degrees(np.abs(arm - arm[0]).max())), "deg"),
        "out_of_plane": Quantity(float(np.abs(out_of_plane).max()), "m"),
    }


def _difference(one: ContactRun, two: ContactRun) -> float:
    return max(float(np.abs(one.log.q - two.log.q).max()), float(np.abs(one.log.v - two.log.v).max()))


# --- figures --------------------------------------------------------------------------------------------------------
def _forces(touches: Sequence[ContactRun], path: Path) -> Path:
    """Forces as in figs. 12-15."""
    shown = max(case.end for case in touches) * 1.3
    panels = []
    for case in touches:
        rows = case.log.t <= shown
        times, curve = case.log.t[rows] - case.begin, {"force": case.force[rows]}
        panels.append(Panel.of(case.name, "Force [N]", times, curve, xlabel="Time since the contact [s]"))
    return picture(panels, path, "Contact force (as figs. 12-15)", 2)


def _snapshots(case: ContactRun, path: Path) -> Path:
    times = np.linspace(case.begin, case.log.t[-1], 5)
    plot_snapshots(case.log, path, times=times, columns=5, plane="xy", title=f"Robot 1 (left) and robot 2, {case.name}")
    return path
