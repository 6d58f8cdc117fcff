# SPDX-License-Identifier: Apache-2.0
"""Demands for the driver: standstill after the start, then accepted commands, and ramps to rest.

Constant efforts do not hold a position, and without efforts an arm falls. A robot in mode EFFORT that must slow down
keeps the last efforts for `HELD` cycles, then decelerates in mode VELOCITY or POSITION. Effort control resumes from the
measured efforts, within the effort rate limits. `gives_up` reports robots that only their brakes can stop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.contract import Demand, Mode
from ada_robot.safety.demand_shaper import DemandShaper
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings
from ada_robot.safety.state_monitor import MeasuredState

HOLDING = (Mode.POSITION, Mode.VELOCITY)  # modes of ramps to rest, in order of preference
HELD = 5  # number of cycles with the last efforts before a change of mode
_FRESH = 2.5  # maximum age of the measurement at the start of a ramp, in periods


class Demands:
    """Converts accepted commands into the demands for the driver.

    Attributes:
        mode: mode of the demands.
        is_first: True until the first reply after the start.
    """

    def __init__(
        self,
        rules: JointRules,
        settings: SafetySettings,
        modes: Iterable[Mode],
        period: float,
        lateness: float = 0.0,
        commanded_speeds: Callable[[], Array | None] = lambda: None,
    ) -> None:
        """Create the demands; `begin` starts them.

        Args:
            rules: joint rules.
            settings: drive lag and timeouts.
            modes: modes supported by the driver.
            period: cycle time [s].
            lateness: tolerated delay of a cycle, in which the joints follow the last demand [s].
            commanded_speeds: returns the velocities that the driver derived from positions; None for other drivers.
        """
        self._commanded_speeds = commanded_speeds
        self._settings, self._modes, self._period = settings, frozenset(modes), period
        self._lateness = lateness
        self._shaper = DemandShaper(rules, period)
        self._none = np.zeros(len(rules.names))
        self._desired: Demand | None = None
        self._held, self._fell_back_at = 0, math.nan
        self._measured = MeasuredState(len(rules.names))
        self._resting_mode = next(mode for mode in (*HOLDING, Mode.EFFORT) if mode in self._modes)
        self.mode, self.is_first = self._resting_mode, True
        self.longest_ramp = rules.longest_ramp

    def begin(self, measured: MeasuredState) -> None:
        """Start at rest in the measured configuration. Args: measured joint state, kept and read in every cycle."""
        self._measured = measured
        self._shaper.rest_at(measured.position)
        self._shaper.exert_from(self._none)
        self._desired, self.mode, self.is_first = None, self._resting_mode, True
        self._held, self._fell_back_at = 0, math.nan

    @property
    def where(self) -> Array:
        """Reference of the steps of position commands: demanded positions, measured ones in other modes."""
        return self._shaper.position if self.mode is Mode.POSITION else self._measured.position

    @property
    def is_at_rest(self) -> bool:
        """True if the demanded velocity is zero."""
        return self.mode is not Mode.EFFORT and self._shaper.is_at_rest

    @property
    def has_command(self) -> bool:
        """True if a command is in force."""
        return self._desired is not None

    @property
    def can_ramp(self) -> bool:
        """True if the robot has a mode for ramps to rest."""
        return any(mode in self._modes for mode in HOLDING)

    def gives_up(self, now: float) -> str:
        """Return the reason for which only the brakes can stop the robot, or ""."""
        if not self.can_ramp and self._held >= HELD:
            return f"efforts were held for {HELD} cycles, and the robot has no other mode to hold its position"
        if now - self._fell_back_at > self.longest_ramp and self.is_at_rest:
            return f"effort control was interrupted for {now - self._fell_back_at:.2g} s"
        return ""

    # --- commands -------------------------------------------------------------------------------------------------
    def take(self, desired: Demand, interval: float) -> None:
        """Follow a command from now on. Args: accepted command; time since the previous one [s]."""
        self._desired = desired
        if desired.mode is not Mode.EFFORT:  # `next` enters EFFORT, unless the robot must slow down
            self._fell_back_at = math.nan
            if desired.mode is not self.mode:
                self._change_mode(desired.mode)
        if desired.mode is Mode.POSITION:
            self._shaper.aim(desired.values, min(interval, self._settings.command_timeout))

    def drop(self) -> None:
        """End the command: hold the last position setpoint, or decelerate to rest."""
        self._desired, self._fell_back_at = None, math.nan

    def distrust(self) -> None:
        """End the command, and decelerate in mode VELOCITY if available, which requires no position measurements."""
        self.drop()
        if self.mode is Mode.POSITION and Mode.VELOCITY in self._modes:
            self._change_mode(Mode.VELOCITY)

    def _change_mode(self, mode: Mode) -> None:
        """Change the mode without a jump."""
        if mode is Mode.EFFORT:
            self._shaper.exert_from(self._measured.effort)
        else:
            velocity = self._measured.speed if self.mode is Mode.EFFORT else self._shaper.velocity
            speeds = self._commanded_speeds() if self.mode is Mode.POSITION else None
            self._shaper.move_at(self.where, velocity if speeds is None else speeds)
        self.mode = mode

    def _choose_mode(self, now: float, desired: Demand | None) -> None:
        """Enter or leave EFFORT."""
        if self.mode is not Mode.EFFORT:
            if desired is not None and desired.mode is Mode.EFFORT:
                self._change_mode(Mode.EFFORT)
                self._held, self._fell_back_at = 0, math.nan
            return
        if desired is not None or not self.can_ramp:
            return
        measured = self._measured
        is_known = now - measured.at <= _FRESH * self._period and bool(np.isfinite(measured.velocity).all())
        if self._held >= HELD or (self._desired is None and is_known):
            self._change_mode(next(mode for mode in reversed(HOLDING) if mode in self._modes))
            self._fell_back_at = math.nan if self._desired is None else now

    # --- demands --------------------------------------------------------------------------------------------------
    def first(self) -> Demand:
        """Return the first demand after the start: zero velocities, or the measured positions."""
        if self.mode is Mode.POSITION and Mode.VELOCITY not in self._modes:
            return Demand(Mode.POSITION, self._shaper.position.copy())
        return Demand(Mode.EFFORT if self.mode is Mode.EFFORT else Mode.VELOCITY, self._none.copy())

    def answered(self) -> None:
        """Hold the positions of the first reply after the start."""
        self.is_first = False
        self._shaper.rest_at(self._measured.position)
        if self._desired is not None and self._desired.mode is Mode.POSITION:
            self._shaper.aim(self._desired.values, self._period)

    def next(self, now: float, slow_down: bool) -> Demand:
        """Return the demand of a cycle.

        Args:
            now: time of the cycle [s].
            slow_down: whether to decelerate instead of following the command.
        """
        desired = None if slow_down else self._desired
        self._choose_mode(now, desired)
        shaper, position = self._shaper, self._measured.position
        if self.mode is Mode.POSITION:
            return Demand(self.mode, shaper.slow_down() if slow_down else shaper.follow())
        if self.mode is Mode.EFFORT:
            self._held = 0 if desired else self._held + 1
            return Demand(self.mode, shaper.exert(desired.values if desired else shaper.effort))
        if desired is None:
            return Demand(self.mode, shaper.brake(position))
        speed = self._measured.velocity
        if not np.isfinite(speed).all():
            speed = np.where(np.isfinite(speed), speed, shaper.velocity)
        age = max(now - self._measured.at, 0.0) if math.isfinite(self._measured.at) else 0.0
        moved = speed * (self._settings.drive_lag + age)
        return Demand(self.mode, shaper.approach(desired.values, position, moved, self._lateness))
