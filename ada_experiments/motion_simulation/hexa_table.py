# SPDX-License-Identifier: Apache-2.0
"""The motion table of the document: a HEXA, driven byte for byte through `safety`, and a force sensor under the probe.

Each period: inverse kinematics of the pose, one cycle of `SafeCycle` (which checks the angles before they go out), one
reading of the sensor. In lock step a `ManualClock` goes on by one period with each exchange; in real time the caller
keeps the periods.
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
from ada_experiments.motion_simulation.probe_sensor import ProbeSensor, Sensed
from ada_hardware.hexa.kinematics import HOME, HexaKinematics
from ada_hardware.hexa.limits import LEAST_HOLD
from ada_robot.contract import Demand, Mode
from ada_robot.driver import RobotDriver
from ada_robot.errors import HardwareError, NoAnswer, Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings

APPROACH, TURNING = 0.05, 0.5  # [m/s], [rad/s]: mean speeds on the way to the start
LARGEST_STEP = 0.02  # [rad] of a crank in a period: 10 rad/s
SETTLING = 0.2  # [s] at rest there before the zero is taken
_BENT = 1e-5  # [rad]
_READ_FIRST = 5  # periods before the table is activated


class HexaTable(MotionTable):
    """See above.

    Attributes:
        cycle: what drives the HEXA.
        sensor: under the probe.
        bent: exchanges whose angles were demanded later, because a crank may not gain speed so fast.
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
        """Prepare; `open` finds the devices.

        Args:
            driver: of the HEXA, on the same clock.
            sensor: under the probe.
            safety: rules of the HEXA's joints; by default the device's, and steps up to LARGEST_STEP.
            clock: of a lock step; None: real time, the caller keeps the periods.
            after_exchange: called between the exchange with the table and the reading of the sensor; where both are
                emulated, it tells the sensor what the plate does to the probe.
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
        """Two: a command acts from the table's next servo period on, and its force is there at the end of that."""
        return 2

    @property
    def kinematics(self) -> HexaKinematics:
        """Of the HEXA."""
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
        """Compile, or load, what is needed before a period could be missed for it."""
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
            self._kinematics.inverse(pose)  # names the leg that does not reach
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
            raise NoAnswer("motion table hexa: it does not answer; look at its program, its address and the network.")
        return Reading(np.zeros(6), pose, is_ready=False, is_fresh=False)

    # --- each period ----------------------------------------------------------------------------------------------
    def exchange(self, pose: Array, twist: Array) -> Reading:  # noqa: D102
        self._path = None
        return self._reading(self._go(pose), True)

    def _go(self, pose: Array) -> Sensed:
        angles = self._kinematics.inverse(pose)
        hold = self._kinematics.jacobians(pose, angles).hold
        if hold < LEAST_HOLD:
            raise Refused(
                f"motion table hexa: the pose at {np.round(pose[:3, 3], 4).tolist()} m is near a singular one (measure "
                f"{hold:.3g}, at least {LEAST_HOLD:g}); the motion ends. Let the touch be nearer to the middle of the "
                "table's room."
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

    def _reading(self, sensed: Sensed, ready: bool) -> Reading:
        cycle = self.cycle
        problem = "" if cycle.phase is Phase.ACTIVE else f"the HEXA is {cycle.phase.value}: {cycle.reason}"
        if not problem and sensed.problem:
            problem = f"the force sensor says: {sensed.problem}"
        fresh = cycle.feedback.is_fresh and sensed.is_fresh
        return Reading(sensed.wrench - self.sensor.zero, self._plate(), ready, fresh, sensed.is_saturated, problem)

    def _plate(self) -> Array:
        """Where the plate is, by the angles that were told."""
        position = self.cycle.feedback.position
        if np.isfinite(position).all():
            self._pose = self._kinematics.forward(position, *(() if self._pose is None else (self._pose,))).pose
        if self._pose is None:
            raise NoAnswer("motion table hexa: it has not told its angles yet.")
        return self._pose

    # --- time -----------------------------------------------------------------------------------------------------
    def _now(self) -> float:
        return time.monotonic() if self._clock is None else self._clock.now()

    def _keep_time(self) -> float:
        """Wait for the next period in lock step; the present time."""
        if self._clock is None:
            return time.monotonic()
        self._clock.sleep(self._next - self._clock.now())
        self._next += self.period
        return self._clock.now()


class _Path:
    """From one pose to another, from rest to rest."""

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
        share = s**3 * (10.0 + s * (6.0 * s - 15.0))  # rates and their rates are zero at both ends
        pose = pose_of(self._start[:3, 3] + share * self._way)
        pose[:3, :3] = rotation_of(share * self._turn) @ self._start[:3, :3]
        return pose
