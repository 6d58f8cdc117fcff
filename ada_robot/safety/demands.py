# SPDX-License-Identifier: Apache-2.0
"""The demands of each cycle: rest after the start, then commands, and ramps to rest where those end.

Efforts hold nothing by themselves, and no efforts let an arm fall. Where there is a reason to slow down in EFFORT, the
last efforts are held for `HELD` cycles; then the robot comes to rest by velocities or positions. Once the reason
is gone, efforts go on from those that the motors give, no faster than their rate allows. `gives_up` says when neither
helps any more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from ada_dynamics.arrays import Array
from ada_robot.contract import Demand, Mode
from ada_robot.safety.demand_shaper import DemandShaper
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.measured import Measured
from ada_robot.safety.settings import SafetySettings

HOLDING = (Mode.POSITION, Mode.VELOCITY)  # modes in which a robot can be brought to rest, the better one first
HELD = 5  # cycles in which the last efforts are held, before a robot is brought to rest in another mode
_FRESH = 2.5  # periods that a measurement may be old of which a ramp to rest begins


class Demands:
    """From demands that are commanded to those that the driver gets.

    Attributes:
        mode: of the demands.
        is_first: whether none was answered since the start.
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
        """Prepare.

        Args:
            rules: limits.
            settings: lag of the drives, timeouts.
            modes: that the driver has.
            period: of the cycle [s].
            lateness: of a cycle, in which joints go on as demanded: limits are kept whenever it comes [s].
            commanded_speeds: of the driver: the last ones that it made of positions; another mode continues from them.
        """
        self._commanded_speeds = commanded_speeds
        self._settings, self._modes, self._period = settings, frozenset(modes), period
        self._lateness = lateness
        self._shaper = DemandShaper(rules, period)
        self._none = np.zeros(len(rules.names))
        self._wanted: Demand | None = None
        self._held, self._fell_back_at = 0, math.nan
        self._measured = Measured(len(rules.names))
        self._resting_mode = next(mode for mode in (*HOLDING, Mode.EFFORT) if mode in self._modes)
        self.mode, self.is_first = self._resting_mode, True
        self.longest_ramp = rules.longest_ramp

    def begin(self, measured: Measured) -> None:
        """Begin at rest in a pose.

        Args:
            measured: the pose; followed from now on.
        """
        self._measured = measured
        self._shaper.rest_at(measured.position)
        self._shaper.exert_from(self._none)
        self._wanted, self.mode, self.is_first = None, self._resting_mode, True
        self._held, self._fell_back_at = 0, math.nan

    @property
    def where(self) -> Array:
        """Where the joints are demanded to be, or are; what a position command may jump from."""
        return self._shaper.position if self.mode is Mode.POSITION else self._measured.position

    @property
    def is_at_rest(self) -> bool:
        """True if the demand stands still."""
        return self.mode is not Mode.EFFORT and self._shaper.is_at_rest

    @property
    def has_command(self) -> bool:
        """True if a command is in force."""
        return self._wanted is not None

    @property
    def can_ramp(self) -> bool:
        """True if the robot can be brought to rest by demands: by efforts alone it cannot."""
        return any(mode in self._modes for mode in HOLDING)

    def gives_up(self, now: float) -> str:
        """Why a robot that still has a reason to slow down is left to its brakes; "" where it is not."""
        if not self.can_ramp and self._held >= HELD:
            return f"its efforts were held for {HELD} cycles, and there is no other mode to hold it by"
        if now - self._fell_back_at > self.longest_ramp and self.is_at_rest:
            return f"no efforts could be followed for {now - self._fell_back_at:.2g} s"
        return ""

    # --- commands -------------------------------------------------------------------------------------------------
    def take(self, wanted: Demand, interval: float) -> None:
        """Follow a command from now on.

        Args:
            wanted: checked.
            interval: since the one before [s].
        """
        self._wanted = wanted
        if wanted.mode is not Mode.EFFORT:  # efforts begin with a demand, once nothing is a reason to slow down
            self._fell_back_at = math.nan
            if wanted.mode is not self.mode:
                self._change_mode(wanted.mode)
        if wanted.mode is Mode.POSITION:
            self._shaper.aim(wanted.values, min(interval, self._settings.command_timeout))

    def drop(self) -> None:
        """Drop the command: hold the last commanded position, or come to rest and stay there."""
        self._wanted, self._fell_back_at = None, math.nan

    def distrust(self) -> None:
        """Come to rest by speeds where that is possible: holding a position relies on measured ones."""
        self.drop()
        if self.mode is Mode.POSITION and Mode.VELOCITY in self._modes:
            self._change_mode(Mode.VELOCITY)

    def _change_mode(self, mode: Mode) -> None:
        """Go on in another mode, without a jump."""
        if mode is Mode.EFFORT:
            self._shaper.exert_from(self._measured.effort)
        else:
            velocity = self._measured.speed if self.mode is Mode.EFFORT else self._shaper.velocity
            speeds = self._commanded_speeds() if self.mode is Mode.POSITION else None
            self._shaper.move_at(self.where, velocity if speeds is None else speeds)
        self.mode = mode

    def _choose_mode(self, now: float, wanted: Demand | None) -> None:
        """Enter and leave EFFORT."""
        if self.mode is not Mode.EFFORT:
            if wanted is not None and wanted.mode is Mode.EFFORT:
                self._change_mode(Mode.EFFORT)
                self._held, self._fell_back_at = 0, math.nan
            return
        if wanted is not None or not self.can_ramp:
            return
        measured = self._measured
        is_known = now - measured.at <= _FRESH * self._period and bool(np.isfinite(measured.velocity).all())
        if self._held >= HELD or (self._wanted is None and is_known):
            self._change_mode(next(mode for mode in reversed(HOLDING) if mode in self._modes))
            self._fell_back_at = math.nan if self._wanted is None else now

    # --- demands --------------------------------------------------------------------------------------------------
    def first(self) -> Demand:
        """Rest after the start; where possible such that the pose is measured before it is held."""
        if self.mode is Mode.POSITION and Mode.VELOCITY not in self._modes:
            return Demand(Mode.POSITION, self._shaper.position.copy())
        return Demand(Mode.EFFORT if self.mode is Mode.EFFORT else Mode.VELOCITY, self._none.copy())

    def answered(self) -> None:
        """Hold the pose of the first answer after the start."""
        self.is_first = False
        self._shaper.rest_at(self._measured.position)
        if self._wanted is not None and self._wanted.mode is Mode.POSITION:
            self._shaper.aim(self._wanted.values, self._period)

    def next(self, now: float, slow_down: bool) -> Demand:
        """The demand of a cycle.

        Args:
            now: its time [s].
            slow_down: on the way to rest, whatever is commanded.
        """
        wanted = None if slow_down else self._wanted
        self._choose_mode(now, wanted)
        shaper, position = self._shaper, self._measured.position
        if self.mode is Mode.POSITION:
            return Demand(self.mode, shaper.slow_down() if slow_down else shaper.follow())
        if self.mode is Mode.EFFORT:
            self._held = 0 if wanted else self._held + 1
            return Demand(self.mode, shaper.exert(wanted.values if wanted else shaper.effort))
        if wanted is None:
            return Demand(self.mode, shaper.brake(position))
        speed = self._measured.velocity
        if not np.isfinite(speed).all():
            speed = np.where(np.isfinite(speed), speed, shaper.velocity)
        age = max(now - self._measured.at, 0.0) if math.isfinite(self._measured.at) else 0.0
        moved = speed * (self._settings.drive_lag + age)
        return Demand(self.mode, shaper.approach(wanted.values, position, moved, self._lateness))
