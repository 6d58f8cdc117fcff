# SPDX-License-Identifier: Apache-2.0
"""Simulation of the HEXA mechanism: closed chains of the catalogue's `hexa`, motors, brakes, a probe.

    plant = HexaPlant(probe=Probe(tip=(0.0, 0.0, -0.5605)))
    plant.drive(torques)            # or plant.brake()
    plant.run()                     # one period of 2 ms
    plant.angles, plant.rates, plant.torques, plant.pose, plant.plate_wrench

Motors are direct drives with torques up to 20 N m. Brakes (an assumption; nothing is published about HEXA97's) hold a
crank elastically up to a friction torque of 20 N m, beyond which they slip. The limits of the motors are assumptions:
there are no published data of HEXA97. The range of the cranks contains the workspace (radius 0.15 m,
z = -0.55 ± 0.05 m, tilts of 15 deg about each axis: -3 to 84 deg), with a margin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import Contact, ContactPair, ContactPoint, Material, Plane
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.robots.mechanisms.parallel_robots import LEGS, hexa
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.servos import JointServos
from ada_dynamics.spatial.orientation import to_rpy
from ada_dynamics.spatial.rotation import from_quaternion
from ada_hardware.hexa.kinematics import HOME, JOINTS, PLATE, HexaKinematics
from ada_robot.contract import JointLimit

PERIOD = 2e-3  # [s] servo period (Tarao et al., sec. 4.3)
SUBSTEP = 5e-4  # [s]; half of it suffices for contacts of 1e6 N/m
TORQUE_LIMIT = 20.0  # [N m] of each motor, an assumption
LOWER = -0.35  # [rad]
UPPER = 1.75  # [rad]
RATE_LIMIT = 10.0  # [rad/s]
WATCHDOG = 0.02  # [s] without a command, ten periods, after which the table brakes by itself
LEAST_HOLD = 0.02  # smallest allowed distance from singular configurations of the second kind
LIMITS = tuple(JointLimit(name, LOWER, UPPER, RATE_LIMIT, TORQUE_LIMIT) for name in JOINTS)
BASE = "base"
FACE = -0.01  # [m] position of the plate's lower face along z
_GRIP = 3000.0  # [N m/rad] stiffness of a brake before it slips; oscillates at about 50 Hz with the cranks
_GRIP_LOSS = 6.0  # [N m s/rad]


@dataclass(frozen=True)
class Probe:
    """Fixed point under the plate that touches its lower face: real model 1 of Tarao et al.

    Normal force k δ (1 + 3/2 e δ̇), with friction in the tangential plane.
    """

    tip: tuple[float, float, float] = (0.0, 0.0, -0.5605)  # position in the base frame [m]
    stiffness: float = 3e5  # k of contact and probe mount [N/m]; many times that of the table
    dissipation: float = 0.0  # e [s/m]; 0 is elastic
    friction: float = 0.0  # friction coefficient
    # speed below which friction is viscous [m/s]; a smaller value makes 50 N of friction too stiff for the substep
    slip_speed: float = 0.02

    def contact(self) -> Contact:
        """Contact "probe" for a simulation of the catalogue's `hexa`; its wrench acts on the probe at its tip."""
        point = ContactPoint("tip", BASE, self.tip)
        face = Plane(PLATE, xyz=(0.0, 0.0, FACE), normal=(0.0, 0.0, -1.0))
        material = Material(self.stiffness, self.dissipation, self.friction, self.slip_speed)
        return Contact(pairs=[ContactPair("probe", point, face)], material=material)


class HexaPlant:
    """Mechanism of the table without its computer; only `run` advances the time.

    Attributes:
        kinematics: kinematics of the table.
        simulation: simulation of the closed chain (read only).
        is_braked: the brakes are closed.
    """

    def __init__(
        self,
        pose: Array = HOME,
        probe: Probe | None = None,
        *,
        plate_mass: float = 0.5,
        substep: float = SUBSTEP,
    ) -> None:
        """Start at rest with brakes on.

        Args:
            pose: initial pose of the plate in the base frame, 4x4.
            probe: a probe under the plate.
            plate_mass: mass of the plate and everything mounted on it [kg].
            substep: step of the integrator (fourth-order Runge-Kutta); a divisor of the period [s].

        Raises:
            Unreachable: the pose is out of reach.
            InputError: another value is invalid.
        """
        self.kinematics = HexaKinematics()
        self.kinematics.inverse(pose)  # raises Unreachable with the leg
        self._per_period = round(PERIOD / substep) if substep > 0.0 else 0
        if self._per_period < 1 or abs(self._per_period * substep - PERIOD) > 1e-9 * PERIOD:
            text = f"HEXA: substep is {substep!r} s; {PERIOD:g} s must be a multiple of it."
            raise InputError(text, field="substep", value=substep)
        mechanism = hexa(pose[:3, 3], to_rpy(pose[:3, :3]), mass=plate_mass)
        model = mechanism.model
        self.simulation = Simulation(
            model,
            q=mechanism.q,
            integrator="rk4",
            step=substep,
            contact=probe.contact() if probe is not None else None,
            servos=JointServos(joints=dict.fromkeys(JOINTS, (_GRIP, _GRIP_LOSS))),
        )
        self._probe = probe
        self._at = np.array([model.q_index(name).start for name in JOINTS])
        self._v_at = np.array([model.v_index(name).start for name in JOINTS])
        self._plate_q = model.q_index(PLATE)
        self._still = np.zeros(model.nv)
        self.is_braked = False
        self.brake()

    # --- commands -----------------------------------------------------------------------------------------------
    def brake(self) -> None:
        """Close the brakes; a moving crank is decelerated by them."""
        if not self.is_braked:
            self.is_braked = True
            self._grip, self._carried = self.angles, self.weight_torques
            self._hold()

    def drive(self, torques: ArrayLike) -> None:
        """Open the brakes and apply motor torques, clipped to the limit, until the next command [N m]."""
        wanted = np.asarray(torques, dtype=np.float64)
        self.is_braked = False
        self.simulation.servos.drive(np.clip(wanted, -TORQUE_LIMIT, TORQUE_LIMIT))

    def run(self, periods: int = 1) -> None:
        """Advance the time by a number of periods."""
        for _ in range(periods):
            if self.is_braked:
                self._slip()
            self.simulation.step(self._per_period)

    def stand_still(self) -> None:
        """Stop all motion at once with brakes on, to simulate a jammed mechanism."""
        sim = self.simulation
        sim.reset(sim.q, np.zeros(sim.model.nv), sim.t)
        self.is_braked = False
        self.brake()

    def _slip(self) -> None:
        """Move the brake position of a crank whose brake torque exceeds the friction limit."""
        stretch = TORQUE_LIMIT / _GRIP
        apart = self.angles - self._grip
        slipped = np.clip(apart, -stretch, stretch)
        if not np.array_equal(slipped, apart):
            self._grip = self._grip + (apart - slipped)
            self._hold()

    def _hold(self) -> None:
        # with the weight as feedforward, so that the plate does not sink when the brakes close
        self.simulation.servos.hold(self._grip, 0.0, self._carried)

    # --- measurements -------------------------------------------------------------------------------------------
    @property
    def time(self) -> float:
        """Simulation time [s]."""
        return self.simulation.t

    @property
    def angles(self) -> Array:
        """Crank angles [rad]."""
        found: Array = self.simulation.q[self._at]
        return found

    @property
    def rates(self) -> Array:
        """Crank rates [rad/s]."""
        found: Array = self.simulation.v[self._v_at]
        return found

    @property
    def torques(self) -> Array:
        """Torques of motors or brakes [N m]."""
        found: Array = self.simulation.tau[self._v_at]
        return found

    @property
    def pose(self) -> Array:
        """Pose of the plate in the base frame, 4x4."""
        x, y, z, *turn = self.simulation.q[self._plate_q].tolist()
        found = np.eye(4)
        found[:3, 3] = x, y, z
        found[:3, :3] = from_quaternion(*turn)
        return found

    @property
    def weight_torques(self) -> Array:
        """Motor torques that compensate the weight of all parts in this configuration [N m]."""
        try:
            return np.asarray(self.simulation.dynamics.inverse(self.simulation.q, self._still, self._still)[self._v_at])
        except AdaError:  # in a singular configuration no torques carry it
            return np.zeros(LEGS)

    @property
    def probe_wrench(self) -> Array:
        """Wrench [f, n] of the plate on the probe, at its tip, in base axes; zero without a probe [N, N m]."""
        return self.simulation.contact_wrenches().get("probe", np.zeros(6))

    @property
    def plate_wrench(self) -> Array:
        """Wrench [f, n] of the probe on the plate, at its origin, in base axes; zero without a probe [N, N m]."""
        if self._probe is None:
            return np.zeros(6)
        force, moment = np.split(-self.probe_wrench, 2)
        return np.concatenate([force, moment + np.cross(self._probe.tip - self.pose[:3, 3], force)])
