# SPDX-License-Identifier: Apache-2.0
"""Motion table of the document: a HEXA driven through the safety cycle, and the force sensor of the probe.

Each period: inverse kinematics of the pose, one cycle of `SafeCycle` (which checks the angles before sending them), one
sensor reading. In lock step a `ManualClock` advances by one period per exchange; in real time the caller keeps the
period.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.clock import SYSTEM_CLOCK, ManualClock
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.motion_simulation.frames import rotation_of, turn_between
from ada_experiments.motion_simulation.motion_table import MotionTable, Reading
from ada_experiments.motion_simulation.probe_sensor import ProbeSensor, SensorReading
from ada_hardware.hexa.kinematics import HOME, HexaKinematics
from ada_hardware.hexa.plant import LEAST_HOLD
from ada_robot.contract import Demand, Mode
from ada_robot.driver import RobotDriver
from ada_robot.errors import HardwareError, NoAnswer, Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings

APPROACH, TURNING = 0.05, 0.5  # [m/s], [rad/s]: mean speeds of the approach to the initial pose
LARGEST_STEP = 0.02  # [rad] of a crank per period: 10 rad/s
SETTLING = 0.2  # [s] at rest before the sensor is zeroed
_BENT = 1e-5  # [rad]
_READ_FIRST = 5  # periods before the table is activated


class HexaTable(MotionTable):
    """Driver of the HEXA motion table.

    Attributes:
        cycle: safety cycle of the HEXA.
        sensor: force sensor of the probe.
        bent: number of exchanges with angles limited by the acceleration of a crank.
    """

    NAME = "hexa"

    def __init__(
        self,
        driver: RobotDriver[Any],
        sensor: ProbeSensor,
        safety: SafetySettings | None = None,
        *,
        clock: ManualClock | None = None,
        after_exchange: Callable[[], object] = lambda: None,
    ) -> None:
        """Store the devices; `open` connects to them.

        Args:
            driver: driver of the HEXA, on the same clock.
            sensor: force sensor of the probe.
            safety: safety settings of the HEXA; default: those of the device, with steps up to LARGEST_STEP.
            clock: clock of the lock step; None for real time, with the period kept by the caller.
            after_exchange: called between the exchange with the table and the sensor reading; for emulated devices it
                passes the contact force to the sensor.
        """
        self.cycle = SafeCycle(driver, safety or SafetySettings(max_step=LARGEST_STEP), clock=clock or SYSTEM_CLOCK)
        self.sensor = sensor
        self._driver, self._clock, self._after = driver, clock, after_exchange
        self._kinematics = HexaKinematics()
        self._forget()

    def _forget(self) -> None:
        self._next = math.nan  # time of the next exchange, in lock step [s]
        self._pose: Array | None = None
        self._path: _Path | None = None
        self._read = 0
        self._refused = self.bent = 0

    @property
    def period(self) -> float:  # noqa: D102
        return self._driver.period

    @property
    def exchanges_to_force(self) -> int:
        """Two: a command acts from the next servo period, and its force is available at the end of that period."""
        return 2

    @property
    def kinematics(self) -> HexaKinematics:
        """Kinematics of the HEXA."""
        return self._kinematics

    # --- open and close -------------------------------------------------------------------------------------------
    def open(self) -> None:  # noqa: D102
        self._forget()
        self._warm_up()
        self.cycle.open(self._now())
        try:
            self.sensor.open()
        except BaseException:
            self.cycle.close(self._now())
            raise
        self._next = self._now()

    def _warm_up(self) -> None:
        """Compile or load everything required before the first deadline."""
        angles = self._kinematics.inverse(HOME)
        self._kinematics.jacobians(HOME, angles)
        self._kinematics.forward(angles, HOME)

    def stop(self) -> None:  # noqa: D102
        if self.cycle.phase is Phase.ACTIVE:
            self.cycle.deactivate(self._now(), "the motion simulation ended")
        if self.cycle.phase is not Phase.CLOSED:
            self.cycle.step(self._keep_time())

    def close(self) -> None:  # noqa: D102
        if self.cycle.phase is Phase.ACTIVE and self._clock is not None:
            while self.cycle.phase in (Phase.ACTIVE, Phase.STOPPING):
                self.stop()
        self.cycle.close(self._now())
        self.sensor.close()

    def idle(self) -> None:  # noqa: D102
        if self.cycle.phase is not Phase.CLOSED:
            self.cycle.step(self._keep_time())
            self._after()
            self.sensor.sense()

    # --- to the start ---------------------------------------------------------------------------------------------
    def prepare(self, pose: Array) -> Reading:  # noqa: D102
        if self.cycle.phase in (Phase.CLOSED, Phase.STOPPED):
            raise HardwareError(f"motion table hexa is {self.cycle.phase.value}: {self.cycle.reason}. Reset it first.")
        if self.cycle.phase is Phase.INACTIVE:
            return self._activated(pose)
        if self._path is None:
            self._kinematics.inverse(pose)  # raises an error with the unreachable leg
            self._path = _Path(self._plate(), pose)
            self.sensor.begin_zero()
        path = self._path
        path.time += self.period
        sensed = self._go(path.pose)
        ready = path.is_over and self.sensor.take_zero(sensed)
        return self._reading(sensed, ready)

    def _activated(self, pose: Array) -> Reading:
        now = self._keep_time()
        self.cycle.step(now)
        self._read += 1
        if self._read >= _READ_FIRST and self.cycle.feedback.is_fresh:
            self.cycle.activate(self._now())
        elif self._read > 500:
            raise NoAnswer("motion table hexa: no reply; check its program, its address and the network.")
        return Reading(np.zeros(6), pose, is_ready=False, is_fresh=False)

    # --- each period ----------------------------------------------------------------------------------------------
    def exchange(self, pose: Array, twist: Array) -> Reading:  # noqa: D102
        self._path = None
        return self._reading(self._go(pose), True)

    def _go(self, pose: Array) -> SensorReading:
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
        if cycle.demand is not None and np.abs(cycle.demand.values - angles).max() > _BENT:
            self.bent += 1
        refused = sum(cycle.check.refused.values())
        if refused > self._refused:
            self._refused = refused
            if cycle.phase is Phase.ACTIVE:
                raise Refused(f"motion table hexa: {cycle.check.last_refusal}")
        self._after()
        return self.sensor.sense()

    def _reading(self, sensed: SensorReading, ready: bool) -> Reading:
        cycle = self.cycle
        problem = "" if cycle.phase is Phase.ACTIVE else f"the HEXA is {cycle.phase.value}: {cycle.reason}"
        if not problem and sensed.problem:
            problem = f"force sensor: {sensed.problem}"
        fresh = cycle.feedback.is_fresh and sensed.is_fresh
        return Reading(sensed.wrench - self.sensor.zero, self._plate(), ready, fresh, sensed.is_saturated, problem)

    def _plate(self) -> Array:
        """Pose of the plate from the measured angles."""
        position = self.cycle.feedback.position
        if np.isfinite(position).all():
            self._pose = self._kinematics.forward(position, *(() if self._pose is None else (self._pose,))).pose
        if self._pose is None:
            raise NoAnswer("motion table hexa: no measured angles yet.")
        return self._pose

    # --- time -----------------------------------------------------------------------------------------------------
    def _now(self) -> float:
        return time.monotonic() if self._clock is None else self._clock.now()

    def _keep_time(self) -> float:
        """Wait for the next period in lock step; return the present time."""
        if self._clock is None:
            return time.monotonic()
        self._clock.sleep(self._next - self._clock.now())
        self._next += self.period
        return self._clock.now()


class _Path:
    """Rest-to-rest motion between two poses."""

    def __init__(self, start: Array, end: Array) -> None:
        self._start, self._way = start, end[:3, 3] - start[:3, 3]
        self._turn = turn_between(start, end)
        way, turn = float(np.linalg.norm(self._way)), float(np.linalg.norm(self._turn))
        self._duration = max(way / APPROACH, turn / TURNING, 0.1)
        self.time = 0.0

    @property
    def is_over(self) -> bool:
        return self.time > self._duration + SETTLING

    @property
    def pose(self) -> Array:
        s = min(self.time / self._duration, 1.0)
        share = s**3 * (10.0 + s * (6.0 * s - 15.0))  # zero velocity and acceleration at both ends
        pose = pose_of(self._start[:3, 3] + share * self._way)
        pose[:3, :3] = rotation_of(share * self._turn) @ self._start[:3, :3]
        return pose
