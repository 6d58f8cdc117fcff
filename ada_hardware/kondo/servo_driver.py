# SPDX-License-Identifier: Apache-2.0
"""Base of the drivers of all boards: positions to servos that hold, and back, over one serial line."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_hardware.kondo.angle_map import AngleMap, Board, Servo, joints_of_robot
from ada_hardware.kondo.servo_settings import READ, ServoSettings
from ada_hardware.opening import open_device_stream
from ada_hardware.plausible import PlausibleReadings
from ada_hardware.transport.wires import ByteStream, Serial
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Alarm, Feedback, RobotDriver
from ada_robot.errors import DeviceAlarm, HardwareError, NoAnswer, Refused, TransportError
from ada_robot.safety.settings import SafetySettings

S = TypeVar("S", bound=ServoSettings)
B = TypeVar("B")

SLACK = 5.0  # [deg] that a reading may differ from the last one of a servo that stands still
_LONGEST = 0.25  # [s] since the last reading, after which a servo can be anywhere
_MARGIN = 1.25  # of the period over what the line needs
_OUTSIDE = 3.5  # counts beyond its limits at which a servo may stand: three that it gives way, and what rounding hides
_FINEST = 3.0  # [deg] likewise, of boards with finer counts
_READINGS = 6  # at most, until two agree
_BLIND = 2  # code of the alarm; a number of our own, no board has one
_LEAST_UNSEEN = 2  # exchanges: one lost answer on a slow line does not count


def servo_readings(speed: float) -> PlausibleReadings:
    """Plausibility of servo angles [deg], of servos with a speed [rad/s]."""
    return PlausibleReadings(math.degrees(speed), SLACK, longest=_LONGEST)


class ServoDriver(RobotDriver[S], Generic[S, B]):
    """A robot with hobby servos behind boards that are asked on a line, a bus of type B.

    Attributes:
        map: its servos.
    """

    BOARD: ClassVar[Board]
    ANGLE_MAP: ClassVar[str]  # in config/
    SERVO_SPEED: ClassVar[float]  # [rad/s]
    SHORTEST_PERIOD: ClassVar[float]  # [s]
    modes = frozenset({Mode.POSITION})

    def __init__(
        self, settings: S, *, wire: ByteStream | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Read the angle map.

        Args:
            settings: of the robot.
            wire: to be used; None: the one at the settings' url.
            clock: steady time [s].

        Raises:
            MotionError: the angle map is unusable; the message names line and key.
            InputError: there is no such robot.
        """
        super().__init__(settings)
        path = settings.angle_map or resources.find("config", self.ANGLE_MAP)
        self.map = AngleMap.read(path, self.BOARD, joints_of_robot(settings.robot))
        self.joints, self.limits = self.map.joints, self.map.limits(self.SERVO_SPEED)
        self._wire, self._clock, self._given = wire, clock, wire
        self._bus: B | None = None
        self._target: Array | None = None  # last commanded servo angles [deg]
        self._is_started = self._is_free = False
        self._unseen = 0  # exchanges in a row without a believable reading
        self._unseen_since = math.nan  # when the first of them began [s]

    # --- properties -----------------------------------------------------------------------------------------------
    def _cycle_period(self) -> float:
        """Period as set, or as the line needs it, in whole 5 ms [s]."""
        if self.settings.period:
            return self.settings.period
        return max(self.SHORTEST_PERIOD, math.ceil(self._line_time() * _MARGIN / 0.005 - 1e-9) * 0.005)

    @property
    def _outside(self) -> float:
        """How far beyond its limits a servo may stand when it starts, and is brought back [deg]."""
        return max(_FINEST, _OUTSIDE * self.BOARD.value.resolution)

    def suited(self, safety: SafetySettings) -> SafetySettings:
        """Rules with a position margin of some counts: a servo under load stands a little off its target."""
        margin = math.radians(_OUTSIDE * self.BOARD.value.resolution)
        return replace(safety, position_margin=max(safety.position_margin, margin))

    @property
    def bus(self) -> B:
        """The line, for requests outside of cycles.

        Raises:
            Refused: the driver is not open.
        """
        if self._bus is None:
            raise Refused(f"{self.NAME}: the driver is not open; call open() first.", field="state", value="closed")
        return self._bus

    # --- implemented by boards ------------------------------------------------------------------------------------
    @abstractmethod
    def _line_time(self) -> float:
        """Time of a cycle's questions and answers on the line [s]."""

    @abstractmethod
    def _serial(self) -> Serial:
        """How the line is set."""

    @abstractmethod
    def _emulator_settings(self) -> Mapping[str, object]:
        """Settings that an emulator in this program must share."""

    @abstractmethod
    def _connect(self, wire: ByteStream) -> B:
        """The bus on an open line."""

    def _bus_options(self) -> dict[str, Any]:
        """Arguments of a `BoardBus` by the settings."""
        s = self.settings
        return {
            "timeout": s.reply_timeout,
            "retries": s.retries,
            "pause": s.retry_pause,
            "clock": self._clock,
            "counts": self.counts,
        }

    @abstractmethod
    def _find(self) -> None:
        """Find the boards on the open line, and where the servos are.

        Raises:
            NoAnswer: not all boards do.
        """

    @abstractmethod
    def _check_ready(self) -> None:
        """Check that nothing keeps the boards from following commands.

        Raises:
            DeviceAlarm: something does.
            NoAnswer: a board does not answer.
        """

    @abstractmethod
    def _read(self) -> bool:
        """Ask where the servos are, once; True if all readings are believed."""

    @abstractmethod
    def _read_until_believed(self) -> None:
        """Ask where the servos are until two readings agree.

        Raises:
            NoAnswer: they do not, or none comes.
        """

    @abstractmethod
    def _take_over(self, angles: Array) -> None:
        """Command the pose in which the servos stand [deg], the first time.

        Raises:
            DeviceAlarm: a board refuses.
            NoAnswer: a board does not answer.
        """

    @abstractmethod
    def _exchange(self, angles: Array) -> bool:
        """Command servo angles [deg], and ask where the servos are; True if all that was asked is answered."""

    @abstractmethod
    def _hold(self, is_blind: bool) -> None:
        """Command the pose that the servos are in; `is_blind`: it must not wait for boards that do not answer.

        Raises:
            HardwareError: no board takes it.
        """

    @abstractmethod
    def _measured(self) -> Array:
        """Servo angles that are believed; NaN where there is none [deg]."""

    @abstractmethod
    def _let_go(self) -> None:
        """Free all servos.

        Raises:
            NoAnswer: a board does not answer.
        """

    @staticmethod
    @abstractmethod
    def _place(servo: Servo) -> str:
        """Where a servo is plugged in, for people."""

    # --- driver ---------------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Open the line, and find the boards."""
        if self._bus is not None:
            self.close()
        self._open_line()
        try:
            self._find()
        except HardwareError:
            self.close()
            raise

    def _open_line(self) -> B:
        self._wire = self._given or open_device_stream(
            self.NAME, self.settings.url, self._serial(), emulator_settings=dict(self._emulator_settings())
        )
        self._bus = bus = self._connect(self._wire)
        return bus

    def start(self) -> None:
        """Command the pose that the servos are in.

        Raises:
            DeviceAlarm: a board is not ready or refuses, or a servo stands outside of its limits.
            NoAnswer: a board does not answer.
        """
        self._check_ready()
        self._read_until_believed()
        angles = self._held()
        self._check_inside(angles)
        self._take_over(angles)
        self._is_started, self._is_free, self._unseen = True, False, 0

    def stop(self) -> None:
        """Command the pose that the servos are in, so far as it is known; nothing before `start`."""
        if not self._is_started or self._bus is None:
            return
        is_blind = self._is_blind
        self._is_started = False
        with suppress(HardwareError):
            self._hold(is_blind)

    def idle(self) -> Feedback:
        """Ask where the servos are; nothing moves."""
        return self._feedback(self._read())

    def cycle(self, demand: Demand) -> Feedback:
        """Command positions, and ask where the servos are; nothing is commanded blind for longer than `blind_time`.

        Raises:
            Refused: the command is none of positions.
        """
        angles = self._asked_for(demand)
        begin = self._clock()
        is_fresh = self._read() if self._is_blind else self._exchange(angles)
        if is_fresh:
            self._unseen = 0
        else:
            self._unseen_since = self._unseen_since if self._unseen else begin
            self._unseen += 1
        return self._feedback(is_fresh)

    def close(self) -> None:
        """Free the line; the servos hold on."""
        self._is_started = False
        self._bus = None
        wire, self._wire = self._wire, self._given
        if wire is not None:
            with suppress(TransportError):
                wire.close()

    def release(self, *, confirm: bool = False) -> None:
        """Let all servos go: the robot falls down unless it is held.

        Raises:
            Refused: without `confirm`, or while it is started.
            NoAnswer: a board does not answer.
        """
        self._check_may_fall(confirm, "release")
        self._let_go()

    # --- helpers of drivers ---------------------------------------------------------------------------------------
    def _check_may_fall(self, confirm: bool, call: str) -> None:
        """Check that freeing the servos is confirmed.

        Raises:
            Refused: it is not confirmed, or the robot is started.
        """
        if not confirm:
            text = f"{self.NAME}: free servos let the robot fall; hold it, and call {call}(confirm=True)."
            raise Refused(text, field="confirm", value=False, allowed=True)
        if self._is_started:
            raise Refused(f"{self.NAME}: it follows commands; stop() first.", field="state", value="started")

    @property
    def _is_blind(self) -> bool:
        """True if it has been commanded for too long without being seen."""
        if not self._is_started or self._unseen < _LEAST_UNSEEN:
            return False
        return self._clock() - self._unseen_since >= self.settings.blind_time

    def _supply(self, is_fresh: bool) -> tuple[tuple[Alarm, ...], dict[str, float]]:
        """Alarms of the board, and other figures by name with unit, as they go with an answer; most have none."""
        return (), {}

    def _feedback(self, is_fresh: bool) -> Feedback:
        """The present feedback; `is_fresh`: it came just now."""
        alarms, values = self._supply(is_fresh)
        if self._is_blind:
            text = (
                f"no believable reading for {self._clock() - self._unseen_since:.2f} s (blind_time is "
                f"{self.settings.blind_time:g} s; {self.counts.last_problem}): look at line and power."
            )
            alarms = (*alarms, Alarm(_BLIND, text))
        unknown = np.full(len(self.joints), np.nan)
        is_driven = self._is_started and not self._is_free
        return Feedback(self._clock(), self._positions(), unknown, unknown, is_fresh, is_driven, alarms, values)

    def _asked_for(self, demand: Demand) -> Array:
        """Servo angles that a command wants [deg].

        Raises:
            Refused: the command is none of positions.
        """
        if demand.mode is not Mode.POSITION:
            text = f"{self.NAME}: it takes positions only, not {demand.mode.value}."
            raise Refused(text, field="mode", value=demand.mode.value, allowed=Mode.POSITION.value)
        return self.map.angles(demand.values)

    def _check_inside(self, angles: Array) -> None:
        """Check that servos stand within their limits.

        Raises:
            DeviceAlarm: one does not.
        """
        for servo, angle in zip(self.map.servos.values(), angles, strict=True):
            if not servo.lowest - self._outside <= angle <= servo.highest + self._outside:
                text = (
                    f"{self.NAME}: {servo.joint} ({self._place(servo)}) stands at {angle:.0f} deg of its servo, "
                    f"outside of its limits {servo.lowest:g} to {servo.highest:g}; turn it back by hand, or mend the "
                    "angle map."
                )
                raise DeviceAlarm(text, joint=servo.joint, value=float(angle), allowed=(servo.lowest, servo.highest))

    def _believes(self, readings: PlausibleReadings, angles: Array, whose: str, *, can_be: bool = True) -> bool:
        """True if new angles [deg] are believed; else they are counted, after the first believed reading."""
        is_believed = can_be and readings.take(angles, self._clock())
        if not is_believed and readings.believed is not None:
            self.counts.refused += 1
            self.counts.last_problem = f"{whose}: servos cannot be there: {np.round(angles)}"
        return is_believed

    def _until_believed(self, read: Callable[[], bool], whose: str, hint: str) -> None:
        """Read until two readings agree.

        Raises:
            NoAnswer: they do not, or none comes.
        """
        for _ in range(_READINGS + self.settings.retries):
            if read():
                return
        text = (
            f"{self.NAME}: {whose} does not tell twice in a row where the servos are "
            f"({self.counts.last_problem or 'readings differ'}); {hint}"
        )
        raise NoAnswer(text, field="position")

    def _held(self) -> Array:
        """Servo angles to hold [deg]: where servos are, or where they were commanded to if they are nearly there.

        A servo under load stands a little off its target. If its position became the next command, it would give
        way a little more each time.
        """
        measured, target = self._measured(), self._target
        return measured if target is None else np.where(np.abs(measured - target) <= SLACK, target, measured)

    def _positions(self) -> Array:
        """Joint positions to report [rad]."""
        is_read = self.settings.feedback == READ or self._target is None
        return self.map.positions(self._measured() if is_read or self._target is None else self._target)
