# SPDX-License-Identifier: Apache-2.0
"""Motion table of the document: a HEXA driven through the safety cycle, and the force sensor of its probe.

Each period: inverse kinematics of the pose, one cycle of `SafeCycle` (which checks the angles before sending them), one
sensor reading. The clock of the table keeps the period: a `ManualClock` advances by one period per exchange, the clock
of the machine waits for the next one. `EmulatedTable` has both devices emulated in this process: the contact force on
the probe is passed to the sensor emulator, and everything else uses the byte protocols of the devices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, Clock, ManualClock
from ada_dynamics.dynamics.poses import inverse, wrench_matrix
from ada_dynamics.errors import InputError
from ada_experiments.motion_simulation.frames import Mounting, cross, displaced, displacement
from ada_experiments.motion_simulation.motion_table import FACE_TO_FACE, MotionTable, Reading, TableSettings
from ada_hardware.emulation.in_process import InProcessWire
from ada_hardware.force_torque.dynpick.driver import DynPickDriver, DynPickSettings
from ada_hardware.force_torque.dynpick.emulator import DynPickEmulator, DynPickEmulatorSettings
from ada_hardware.force_torque.pipeline import steady_mean
from ada_hardware.force_torque.rdt.driver import NetFtDriver, NetFtSettings
from ada_hardware.force_torque.rdt.emulator import NetFtEmulator, NetFtEmulatorSettings
from ada_hardware.force_torque.sensor_driver import Sample, SensorDriver
from ada_hardware.hexa.driver import HexaDriver, HexaSettings
from ada_hardware.hexa.emulator import HexaEmulator, HexaEmulatorSettings
from ada_hardware.hexa.kinematics import HOME, HexaKinematics, PlatePose
from ada_hardware.hexa.plant import LEAST_HOLD
from ada_robot.contract import Demand, Mode
from ada_robot.driver import RobotDriver
from ada_robot.errors import HardwareError, NoAnswer, Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import setting

APPROACH, TURNING = 0.05, 0.5  # [m/s], [rad/s]: mean speeds of the approach to the initial pose
LARGEST_STEP = 0.02  # [rad] of a crank per period: 10 rad/s
SETTLING = 0.2  # [s] at rest before the sensor is zeroed
_READ_FIRST, _READ_LAST = 5, 500  # periods before the table is activated, and for which its reply is awaited
ZERO_PERIODS = 50
_STEADY_FORCE, _STEADY_MOMENT = 0.5, 0.05  # [N], [N m]; maximum standard deviations for zeroing
SENSORS = ("netft", "dynpick")
_RATE, _NOISE = 1000.0, 2.0  # [Hz], and largest noise of an axis in counts, of the emulated sensor
_REPLY = 2e-4  # [s], from a command to the reply of the emulated table
_ABOVE = 0.01  # [m] initial height of the plate above the probe
_WEIGHT = 0.288 * 9.81  # [N] of real model 1 (table 2), carried by the sensor


class HexaTable(MotionTable):
    """Driver of the HEXA motion table.

    Attributes:
        cycle: safety cycle of the HEXA.
        sensor: driver of the force sensor of the probe.
    """

    exchanges_to_force = 2  # a command acts from the next servo period, its force is available at the end of that

    def __init__(
        self, driver: RobotDriver[Any], sensor: SensorDriver[Any, Any], *, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        """Store the devices; `open` connects to them.

        Args:
            driver: driver of the HEXA, on the same clock.
            sensor: driver of the force sensor of the probe, on the same clock; its period is at most half that of the
                table, since it is read within the period of the table.
            clock: clock that keeps the period.

        Raises:
            InputError: the sensor is too slow.
        """
        if sensor.period > 0.5 * driver.period * (1.0 + 1e-6):
            text = (
                f"sensor {sensor.NAME}: its period of {1e3 * sensor.period:g} ms would delay the table. It must be at "
                f"most half the table period of {1e3 * driver.period:g} ms."
            )
            raise InputError(text, field="period", value=sensor.period, allowed=0.5 * driver.period)
        self.cycle = SafeCycle(driver, SafetySettings(max_step=LARGEST_STEP), clock=clock)
        self.sensor, self.period, self._clock = sensor, driver.period, clock
        self._kinematics = HexaKinematics()
        self._forget()

    def _forget(self) -> None:
        self._next = self._clock.now()  # time of the next exchange [s]
        self._found: PlatePose | None = None
        self._path: _Path | None = None
        self._zero = np.zeros(6)  # of the sensor: mean of some periods at rest
        self._at_rest: list[Array] = []
        self.late = self._read = self._refused = 0

    # --- open and close -------------------------------------------------------------------------------------------
    def open(self) -> None:  # noqa: D102
        self._forget()
        angles = self._kinematics.inverse(HOME)  # compiles all before the first deadline
        self._kinematics.jacobians(HOME, angles)
        self._kinematics.forward(angles)
        self.cycle.open(self._clock.now())
        try:
            self.sensor.open()
        except BaseException:
            self.cycle.close(self._clock.now())
            raise
        self._next = self._clock.now()

    def close(self) -> None:  # noqa: D102
        if self.cycle.phase is Phase.ACTIVE:
            self.cycle.deactivate(self._clock.now(), "the motion simulation ended")
        while self.cycle.phase is Phase.STOPPING:
            self.cycle.step(self._keep_time())
        self.cycle.close(self._clock.now())
        self.sensor.close()

    def idle(self) -> None:  # noqa: D102
        if self.cycle.phase is not Phase.CLOSED:
            self.cycle.step(self._keep_time())
            self._sense()

    # --- to the start ---------------------------------------------------------------------------------------------
    def prepare(self, pose: Array) -> Reading:  # noqa: D102
        if self.cycle.phase in (Phase.CLOSED, Phase.STOPPED):
            raise HardwareError(f"motion table hexa is {self.cycle.phase.value}: {self.cycle.reason}. Reset it first.")
        if self.cycle.phase is Phase.INACTIVE:
            return self._activated(pose)
        if self._path is None:
            self._kinematics.inverse(pose)  # raises an error with the unreachable leg
            self._path = _Path(self._plate(), pose)
            self._at_rest = []
        path = self._path
        path.time += self.period
        sensed = self._go(path.pose)
        if path.is_over and sensed.is_fresh:
            self._at_rest.append(sensed.wrench)
        ready = len(self._at_rest) == ZERO_PERIODS
        if ready:
            self._zero, self._at_rest = steady_mean(self._at_rest, _STEADY_FORCE, _STEADY_MOMENT), []
        return self._reading(sensed, ready)

    def _activated(self, pose: Array) -> Reading:
        now = self._keep_time()
        self.cycle.step(now)
        self._read += 1
        if self._read >= _READ_FIRST and self.cycle.feedback.is_fresh:
            self.cycle.activate(self._clock.now())
        elif self._read > _READ_LAST:
            raise NoAnswer("motion table hexa: no reply; check its program, its address and the network.")
        return Reading(np.zeros(6), pose, is_ready=False, is_fresh=False)

    # --- each period ----------------------------------------------------------------------------------------------
    def exchange(self, pose: Array, twist: Array) -> Reading:  # noqa: D102
        self._path = None
        return self._reading(self._go(pose), True)

    def _go(self, pose: Array) -> Sample:
        angles = self._kinematics.inverse(pose)
        hold = self._kinematics.jacobians(pose, angles).hold
        if hold < LEAST_HOLD:
            raise Refused(
                f"motion table hexa: the pose at {np.round(pose[:3, 3], 4).tolist()} m is nearly singular (measure "
                f"{hold:.3g}, at least {LEAST_HOLD:g}); the motion ends. Move the contact to the middle of the "
                "workspace."
            )
        now = self._keep_time()
        cycle = self.cycle
        cycle.step(now, (Demand(Mode.POSITION, angles, now),))
        refused = sum(cycle.check.refused.values())
        if refused > self._refused:
            self._refused = refused
            if cycle.phase is Phase.ACTIVE:
                raise Refused(f"motion table hexa: {cycle.check.last_refusal}")
        return self._sense()

    def _sense(self) -> Sample:
        """Sample of this period."""
        now = self._clock.now()
        sample = self.sensor.read()
        while sample.is_fresh and sample.time < now:  # an earlier queued sample
            sample = self.sensor.read()
        return sample

    def _reading(self, sensed: Sample, ready: bool) -> Reading:
        cycle = self.cycle
        problem = "" if cycle.phase is Phase.ACTIVE else f"the HEXA is {cycle.phase.value}: {cycle.reason}"
        if not problem and (sensed.error or sensed.is_saturated):
            problem = f"force sensor: {sensed.error or 'an axis is at the end of its range'}"
        fresh = cycle.feedback.is_fresh and sensed.is_fresh
        return Reading(sensed.wrench - self._zero, self._plate(), ready, fresh, problem)

    def _plate(self) -> Array:
        """Pose of the plate from the measured angles."""
        position = self.cycle.feedback.position
        if np.isfinite(position).all():
            self._found = self._kinematics.forward(position, self._found and self._found.configuration)
        if self._found is None:
            raise NoAnswer("motion table hexa: no measured angles yet.")
        return self._found.pose

    def _keep_time(self) -> float:
        """Wait for the next period; return the present time."""
        self._clock.sleep(self._next - self._clock.now())
        now = self._clock.now()
        if now - self._next > self.period:
            self.late += 1
            self._next = now
        self._next += self.period
        return now


class _Path:
    """Rest-to-rest motion between two poses."""

    def __init__(self, start: Array, end: Array) -> None:
        self._start, self._way = start, displacement(start, end)
        way, turn = float(np.linalg.norm(self._way[:3])), float(np.linalg.norm(self._way[3:]))
        self._duration = max(way / APPROACH, turn / TURNING, 0.1)
        self.time = 0.0

    @property
    def is_over(self) -> bool:
        return self.time > self._duration + SETTLING

    @property
    def pose(self) -> Array:
        s = min(self.time / self._duration, 1.0)
        share = s**3 * (10.0 + s * (6.0 * s - 15.0))  # zero velocity and acceleration at both ends
        return displaced(self._start, share * self._way)


@dataclass(frozen=True)
class EmulatedTableSettings(TableSettings):
    """Servo of the HEXA, probe and sensor."""

    probe_dissipation: float = setting(
        20.0, "dissipation of the probe: loss of restitution per speed", unit="s/m", lower=0.0
    )
    sensor: str = setting("netft", "sensor of the probe", choices=SENSORS)


class EmulatedTable(HexaTable):
    """Emulated HEXA with an emulated force sensor.

    Attributes:
        hexa: emulated table.
        force_sensor: emulated sensor.
    """

    def __init__(self, settings: EmulatedTableSettings, mounting: Mounting) -> None:
        """Switch both devices on, in simulated time.

        Args:
            settings: settings of table and sensor.
            mounting: poses of probe, sensor and face.

        Raises:
            Unreachable: the plate cannot reach the probe.
        """
        self._mounting = mounting
        above = mounting.plate_pose(FACE_TO_FACE)
        above[:3, 3] += _ABOVE * mounting.tip_in_lab[:3, 2]
        self.hexa = HexaEmulator(
            HexaEmulatorSettings(
                stiffness=settings.kp,
                damping=settings.kd,
                rate_reference="difference" if settings.damps_errors else "none",
                position=tuple(above[:3, 3].tolist()),
                probe=tuple(mounting.tip_in_lab[:3, 3].tolist()),
                probe_stiffness=settings.probe_stiffness,
                probe_dissipation=settings.probe_dissipation,
                reply_delay=_REPLY,
            )
        )
        clock = ManualClock()
        wire = InProcessWire(self.hexa, clock=clock.now, sleep=clock.sleep, url="emulated hexa")
        driver = HexaDriver(HexaSettings(), wire=wire, clock=clock.now)
        self.force_sensor, sensor = _sensor(settings, clock)
        self._at_sensor = inverse(mounting.sensor_in_lab)
        self._weight = np.concatenate([self._at_sensor[:3, :3] @ (0.0, 0.0, -_WEIGHT), np.zeros(3)])
        self._load()
        super().__init__(driver, sensor, clock=clock)

    def _sense(self) -> Sample:
        self._load()
        return super()._sense()

    def _load(self) -> None:
        """Set the load of the sensor: contact force and weight of the probe, which is vertically above it."""
        on_probe = self.hexa.plant.probe_wrench
        tip = self._mounting.tip_in_lab[:3, 3]
        about_base = np.concatenate([on_probe[:3], on_probe[3:] + cross(tip, on_probe[:3])])
        self.force_sensor.set_wrench(wrench_matrix(self._at_sensor) @ about_base + self._weight)


def _sensor(settings: EmulatedTableSettings, clock: Clock) -> tuple[Any, SensorDriver[Any, Any]]:
    """Emulated sensor and its driver."""
    if settings.sensor == "netft":
        netft = NetFtEmulator(NetFtEmulatorSettings(rate=_RATE, noise=_NOISE))
        packets = InProcessWire(netft, clock=clock.now, sleep=clock.sleep, url="emulated netft")
        return netft, NetFtDriver(NetFtSettings(rate=_RATE), wire=packets, clock=clock.now)
    dynpick = DynPickEmulator(DynPickEmulatorSettings(noise=_NOISE, rate=_RATE))
    stream = InProcessWire(dynpick, clock=clock.now, sleep=clock.sleep, url="emulated dynpick")
    use = DynPickSettings(mode="continuous", rate=_RATE)
    return dynpick, DynPickDriver(use, wire=stream, clock=clock.now, sleep=clock.sleep)
