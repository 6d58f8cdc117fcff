# SPDX-License-Identifier: Apache-2.0
"""S2: robots, emulated table and network in several configurations, and the numeric contact."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ada_dynamics.clock import ManualClock
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.robots.load import load
from ada_dynamics.robots.mechanisms import hexa
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments import space_robots
from ada_experiments.motion_simulation.dynamics_program import LoopSettings
from ada_experiments.motion_simulation.emulated_table import EmulatedTable, EmulatedTableSettings
from ada_experiments.motion_simulation.free_robot import JointHold
from ada_experiments.motion_simulation.lock_step import Record, run
from ada_experiments.motion_simulation.motion_table import ImpedanceTable, TableSettings, plate_mechanics
from ada_experiments.motion_simulation.passivity import ActiveLoopWarning
from ada_experiments.motion_simulation.robot_pair import PairSettings, RobotPair
from ada_experiments.tarao_impedance import platform_jacobian, stiffness_along

HEAVY_LINK, HEAVY_BASE = 20.0, 100.0  # [kg], fig. 15


@dataclass(frozen=True)
class Network:
    """Network between the dynamics and the table control."""

    delay: float  # in each direction [s]
    jitter: float  # [s]
    loss: float
    seed: int

    def faults(self) -> Mapping[str, float]:
        """Faults for `lock_step.run`."""
        return {"delay": self.delay, "jitter": self.jitter, "drop": self.loss}


@dataclass(frozen=True)
class HybridSettings:
    """Settings of the scenario."""

    stiffnesses: tuple[float, ...]  # K_p [N m/rad]
    dampings: tuple[float, ...]  # K_d [N m s/rad]
    approach: float  # [m/s]
    gap: float  # [m]
    step: float  # [s]
    duration: float  # [s]
    probe_stiffness: float  # [N/m]
    probe_dissipation: float  # [s/m]
    sensor: str
    network: Network


@dataclass(frozen=True, eq=False)
class HybridCase:
    """One of figs. 12-15.

    Attributes:
        name: name of the case.
        kp: motor stiffness [N m/rad].
        stiffness: contact stiffness: table (eq. 15) and probe in series [N/m].
        hybrid: on the table, with delay compensation.
        late: on the table, without compensation.
        numeric: pure simulation.
    """

    name: str
    kp: float
    stiffness: float
    hybrid: Record
    late: Record
    numeric: space_robots.ContactRun


class HybridRig:
    """Robots, table and network of a scenario.

    Attributes:
        violations: number of invalid commands received by the emulated table.
    """

    def __init__(self, chosen: HybridSettings) -> None:
        """Store the settings."""
        self.chosen = chosen
        self.violations = 0
        self._jacobian = platform_jacobian(
            hexa(position=(0.0, 0.0, space_robots.TABLE_HEIGHT), rpy=(0.0,) * 3), "platform"
        )

    def case(self, name: str, i: int, *, heavy: bool) -> HybridCase:
        """One of figs. 12-15."""
        kp = self.chosen.stiffnesses[i]
        both = self.stiffness(i)
        hybrid, late = (self.hybrid(i, compensation=order, heavy=heavy) for order in (2, 0))
        return HybridCase(name, kp, both, hybrid, late, self._numeric(name, kp, both, heavy))

    def stiffness(self, i: int) -> float:
        """Contact stiffness: table (eq. 15) and probe in series [N/m]."""
        table = stiffness_along(self._jacobian, self.chosen.stiffnesses[i], space_robots.NORMAL)
        return 1.0 / (1.0 / table + 1.0 / self.chosen.probe_stiffness)

    @property
    def mass(self) -> float:
        """Effective contact mass of the standard robots [kg]."""
        return self._pair(False, "order_n").effective_mass()

    def hybrid(
        self,
        i: int,
        *,
        compensation: int = 2,
        heavy: bool = False,
        algorithm: Algorithm = "order_n",
        network: Network | None = None,
    ) -> Record:
        """Contact on the emulated table."""
        chosen = self.chosen
        pair = self._pair(heavy, algorithm)
        table = EmulatedTable(
            EmulatedTableSettings(
                kp=chosen.stiffnesses[i],
                kd=chosen.dampings[i],
                probe_stiffness=chosen.probe_stiffness,
                probe_dissipation=chosen.probe_dissipation,
                sensor=chosen.sensor,
            ),
            pair.mounting,
            clock=ManualClock(),
        )
        faults, seed = (network.faults(), network.seed) if network else ({}, 0)
        loop = LoopSettings(compensation=compensation)
        with warnings.catch_warnings():  # passivity is evaluated by the caller
            warnings.simplefilter("ignore", ActiveLoopWarning)
            found = run(pair, table, chosen.duration, loop, faults=faults, seed=seed)
        self.violations += len(table.hexa.violations)
        return found

    def impedance(self, i: int) -> Record:
        """Contact on the substitute with the impedance of eqs. 10 and 15."""
        chosen = self.chosen
        pair = self._pair(False, "order_n")
        settings = TableSettings(
            kp=chosen.stiffnesses[i], kd=chosen.dampings[i], probe_stiffness=chosen.probe_stiffness
        )
        return run(pair, ImpedanceTable(settings, pair.mounting), chosen.duration)

    def _pair(self, heavy: bool, algorithm: Algorithm) -> RobotPair:
        chosen = self.chosen
        settings = PairSettings(algorithm=algorithm, step=chosen.step, approach=chosen.approach, gap=chosen.gap)
        if heavy:
            settings = replace(settings, link_mass_1=HEAVY_LINK, base_mass_2=HEAVY_BASE)
        return RobotPair(settings)

    def _numeric(self, name: str, kp: float, stiffness: float, heavy: bool) -> space_robots.ContactRun:
        chosen = self.chosen
        one, two = load("space_robot_a"), load("space_robot_b")
        usual = PairSettings()
        settings = space_robots.SpaceRobotSettings(
            chosen.stiffnesses,
            chosen.approach,
            chosen.gap,
            usual.offset,
            chosen.step,
            chosen.duration,
            (np.array(usual.arm_1), np.array(usual.arm_2)),
            JointHold(usual.hold_stiffness, usual.hold_damping),
        )
        robots = space_robots.heavier(one, two) if heavy else (one, two)
        pair = space_robots.pair_from(settings, *robots)
        return space_robots.touch(name, kp, stiffness, pair, settings, "ada")


def plate_takes(case: HybridCase) -> float:
    """Fraction of the contact energy ½ m_e v² dissipated by stopping the table mass: m_p v² (eq. 10's M P̈)."""
    plate = plate_mechanics(pose_of((0.0, 0.0, space_robots.TABLE_HEIGHT))).mass
    mass = 1.0 / float(np.linalg.inv(plate)[2, 2])
    return 2.0 * mass / case.numeric.mass
