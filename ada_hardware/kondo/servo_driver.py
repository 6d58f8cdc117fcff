# SPDX-License-Identifier: Apache-2.0
"""Base of the Kondo drivers: position commands and readings of hobby servos over one serial line."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Generic, TypeVar

import numpy as np

from ada_dynamics import resources
from ada_dynamics.arrays import Array
from ada_hardware.kondo.angle_map import AngleMap, Board, joints_of_robot
from ada_hardware.opening import open_device_wire
from ada_hardware.plausibility import PlausibilityCheck
from ada_hardware.transport.wires import Serial, Wire
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Alarm, Feedback, RobotDriver
from ada_robot.errors import DeviceAlarm, HardwareError, NoAnswer, Refused, TransportError
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import setting

fixed = partial(setting, read_only=True)
B = TypeVar("B")
SLACK = 5.0  # [deg] by which readings of a servo at rest may differ
_LONGEST = 0.25  # [s] since the last reading, after which a second one must agree
_MARGIN = 1.25  # period over transmission time
_TOLERANCE_COUNTS = 3.5  # counts that a servo may be beyond its limits: deflection of three counts, and rounding
_LEAST_TOLERANCE = 3.0  # [deg] the same, for boards with fine resolution
_READINGS = 10  # at most, until two agree
_BLIND = 2  # alarm code, defined here
_LEAST_MISSED = 2  # failed exchanges: a single lost reply does not count


@dataclass(frozen=True)
class ServoSettings:
    """Settings common to the Kondo drivers."""

    url: str = fixed("", 'serial line such as /dev/ttyUSB0; "dry:" opens none')
    angle_map: str = fixed("", "file with channels, signs and limits of the servos; empty: that of the robot")
    robot: str = fixed("", "robot with the joints of the map, by name or file; empty: any joints")
    period: float = fixed(
        0.0,
        "cycle period; 0: from the transmission time, at least 0.025 for RCB-1 and 0.015 for RCB-4",
        unit="s",
        lower=0.0,
        upper=1.0,
    )
    latency: float = fixed(
        0.008,
        "latency of the port per request, for the computed period; FTDI adapters have 0.016 unless their latency_timer "
        "is 1 ms",
        unit="s",
        lower=0.0,
        upper=0.1,
    )
    reply_timeout: float = fixed(0.05, "timeout of a reply", unit="s", lower=0.001, upper=1.0)
    blind_time: float = fixed(
        0.25,
        "time without plausible readings after which nothing more is commanded and the robot is stopped",
        unit="s",
        lower=0.02,
        upper=2.0,
    )


S = TypeVar("S", bound=ServoSettings)


def servo_readings(speed: float) -> PlausibilityCheck:
    """Return the plausibility check of angles [deg] for servos with a given speed [rad/s]."""
    return PlausibilityCheck(math.degrees(speed), SLACK, longest=_LONGEST)


class ServoDriver(RobotDriver[S], Generic[S, B]):
    """Robot with hobby servos on boards with a serial line; B is the type of the bus.

    Attributes:
        map: angle map of the servos.
    """

    BOARD: ClassVar[Board]
    ANGLE_MAP: ClassVar[str]  # in config/
    SERVO_SPEED: ClassVar[float]  # [rad/s]
    SHORTEST_PERIOD: ClassVar[float]  # [s]
    modes = frozenset({Mode.POSITION})

    def __init__(self, settings: S, *, wire: Wire | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Read the angle map.

        Args:
            settings: settings of the robot.
            wire: line to use; None to open the url of the settings.
            clock: monotonic time [s].

        Raises:
            MotionError: the angle map is invalid; the message names line and key.
            InputError: the robot of the settings is unknown.
        """
        super().__init__(settings)
        path = settings.angle_map or resources.find("config", self.ANGLE_MAP)
        self.map = AngleMap.read(path, self.BOARD, joints_of_robot(settings.robot))
        self.joints, self.limits = self.map.joints, self.map.limits(self.SERVO_SPEED)
        self._wire, self._clock, self._injected = wire, clock, wire
        self._bus: B | None = None
        self._target: Array | None = None  # last commanded servo angles [deg]
        self._is_started = self._is_free = False
        self._missed = 0  # exchanges in a row without a plausible reading
        self._missed_since = math.nan  # start of the first of them [s]

    # --- properties -----------------------------------------------------------------------------------------------
    def _cycle_period(self) -> float:
        """Period as set, or computed from the transmission time in multiples of 5 ms [s]."""
        if self.settings.period:
            return self.settings.period
        return max(self.SHORTEST_PERIOD, math.ceil(self._line_time() * _MARGIN / 0.005 - 1e-9) * 0.005)

    @property
    def _limit_tolerance(self) -> float:
        """Angle by which a servo may be beyond its limits at the start [deg]."""
        return max(_LEAST_TOLERANCE, _TOLERANCE_COUNTS * self.BOARD.value.resolution)

    def suited(self, safety: SafetySettings) -> SafetySettings:
        """Widen the position margin by some counts: a servo under load deflects from its target."""
        margin = math.radians(_TOLERANCE_COUNTS * self.BOARD.value.resolution)
        return replace(safety, position_margin=max(safety.position_margin, margin))

    @property
    def bus(self) -> B:
        """Bus for requests outside of cycles.

        Raises:
            Refused: the driver is not open.
        """
        if self._bus is None:
            raise Refused(f"{self.NAME}: the driver is not open; call open() first.", field="state", value="closed")
        return self._bus

    # --- implemented by boards ------------------------------------------------------------------------------------
    @abstractmethod
    def _line_time(self) -> float:
        """Time of all requests and replies of a cycle [s]."""

    @abstractmethod
    def _serial(self) -> Serial:
        """Settings of the serial line."""

    @abstractmethod
    def _connect(self, wire: Wire) -> B:
        """Create the bus on an open line."""

    @abstractmethod
    def _find(self) -> None:
        """Find the boards on the open line and read the servo angles; raises NoAnswer."""

    @abstractmethod
    def _check_ready(self) -> None:
        """Check that the boards can execute position commands; raises DeviceAlarm or NoAnswer."""

    @abstractmethod
    def _read(self) -> bool:
        """Read the servo angles once; return True if all readings are accepted."""

    @abstractmethod
    def _read_until_accepted(self) -> None:
        """Read the servo angles until two readings agree; raises NoAnswer."""

    @abstractmethod
    def _send_first_command(self, angles: Array) -> None:
        """Send the first position command: the present servo angles [deg]; raises DeviceAlarm or NoAnswer."""

    @abstractmethod
    def _exchange(self, angles: Array) -> bool:
        """Command servo angles [deg] and read them back; return True if all replies were received."""

    @abstractmethod
    def _hold(self, is_blind: bool) -> None:
        """Command the present servo angles; with `is_blind`, do not wait for boards that do not reply."""

    @abstractmethod
    def _measured(self) -> Array:
        """Servo angles last accepted [deg]; NaN without a reading."""

    @abstractmethod
    def _free_servos(self) -> None:
        """Free all servos; raises NoAnswer."""

    # --- driver ---------------------------------------------------------------------------------------------------
    def open(self) -> None:
        """Open the line and find the boards."""
        if self._bus is not None:
            self.close()
        self._open_line()
        try:
            self._find()
        except HardwareError:
            self.close()
            raise

    def _open_line(self) -> B:
        self._wire = self._injected or open_device_wire(self.NAME, self.settings.url, self.settings, self._serial())
        self._bus = bus = self._connect(self._wire)
        return bus

    def start(self) -> None:
        """Command the present servo angles.

        Raises:
            DeviceAlarm: a board is not ready or refuses the command, or a servo is outside of its limits.
            NoAnswer: a board does not reply.
        """
        self._check_ready()
        self._read_until_accepted()
        angles = self._hold_angles()
        self._check_servo_limits(angles)
        self._send_first_command(angles)
        self._is_started, self._is_free, self._missed = True, False, 0

    def stop(self) -> None:
        """Command the present servo angles if known; no effect before `start`."""
        if not self._is_started or self._bus is None:
            return
        is_blind = self._is_blind
        self._is_started = False
        with suppress(HardwareError):
            self._hold(is_blind)

    def idle(self) -> Feedback:
        """Read the servo angles without a command."""
        return self._feedback(self._read())

    def cycle(self, demand: Demand) -> Feedback:
        """Command positions and read the servo angles; after `blind_time` without accepted readings, only read.

        Raises:
            Refused: the command is not a position command.
        """
        angles = self._servo_angles(demand)
        begin = self._clock()
        is_fresh = self._read() if self._is_blind else self._exchange(angles)
        if is_fresh:
            self._missed = 0
        else:
            self._missed_since = self._missed_since if self._missed else begin
            self._missed += 1
        return self._feedback(is_fresh)

    def close(self) -> None:
        """Close the line; the servos hold their position."""
        self._is_started = False
        self._bus = None
        wire, self._wire = self._wire, self._injected
        if wire is not None:
            with suppress(TransportError):
                wire.close()

    def release(self, *, confirm: bool = False) -> None:
        """Free all servos: the robot falls unless it is supported.

        Raises:
            Refused: `confirm` is not set, or the driver is started.
            NoAnswer: a board does not reply.
        """
        if not confirm:
            text = f"{self.NAME}: the robot falls when its servos are freed; support it and call release(confirm=True)."
            raise Refused(text, field="confirm", value=False, allowed=True)
        if self._is_started:
            raise Refused(f"{self.NAME}: the driver is started; call stop() first.", field="state", value="started")
        self._free_servos()

    # --- helpers of drivers ---------------------------------------------------------------------------------------
    @property
    def _is_blind(self) -> bool:
        """True after `blind_time` of commands without an accepted reading."""
        if not self._is_started or self._missed < _LEAST_MISSED:
            return False
        return self._clock() - self._missed_since >= self.settings.blind_time

    def _supply(self, is_fresh: bool) -> tuple[tuple[Alarm, ...], dict[str, float]]:
        """Return alarms and named values with unit for the feedback; none by default."""
        return (), {}

    def _feedback(self, is_fresh: bool) -> Feedback:
        """Assemble the feedback; `is_fresh`: its reading was received in this cycle."""
        alarms, values = self._supply(is_fresh)
        if self._is_blind:
            text = (
                f"no plausible reading for {self._clock() - self._missed_since:.2f} s (blind_time is "
                f"{self.settings.blind_time:g} s; {self.counts.last_problem}): check line and power supply."
            )
            alarms = (*alarms, Alarm(_BLIND, text))
        unknown = np.full(len(self.joints), np.nan)
        is_driven = self._is_started and not self._is_free
        position = self.map.positions(self._measured())
        return Feedback(self._clock(), position, unknown, unknown, is_fresh, is_driven, alarms, values)

    def _servo_angles(self, demand: Demand) -> Array:
        """Servo angles of a position command [deg]; raises Refused."""
        if demand.mode is not Mode.POSITION:
            text = f"{self.NAME}: supports position commands only, not {demand.mode.value}."
            raise Refused(text, field="mode", value=demand.mode.value, allowed=Mode.POSITION.value)
        return self.map.angles(demand.values)

    def _check_servo_limits(self, angles: Array) -> None:
        """Check that all servos are within their limits; raises DeviceAlarm."""
        for servo, angle in zip(self.map.servos.values(), angles, strict=True):
            if not servo.lowest - self._limit_tolerance <= angle <= servo.highest + self._limit_tolerance:
                where = f"{self.NAME}: {servo.joint} ({self.BOARD.connector(servo.channel)})"
                text = (
                    f"{where}: servo angle {angle:.0f} deg is outside of its limits {servo.lowest:g} to "
                    f"{servo.highest:g} deg; turn it back by hand or correct the angle map."
                )
                raise DeviceAlarm(text, joint=servo.joint, value=float(angle), allowed=(servo.lowest, servo.highest))

    def _accepts(self, readings: PlausibilityCheck, angles: Array, whose: str, *, can_be: bool = True) -> bool:
        """Return True if a reading [deg] is accepted; after the first accepted one, rejected ones are counted."""
        now, before = self._clock(), readings.accepted_at
        is_accepted = can_be and readings.take(angles, now)
        if not is_accepted and readings.accepted is not None:
            self.counts.refused += 1
            if can_be and now - before > _LONGEST:  # as on a busy computer
                problem = f"servo angles {now - before:.2f} s after the last accepted ones; {_LONGEST:g} s are allowed"
            else:
                problem = f"implausible servo angles {np.round(angles)}"
            self.counts.last_problem = f"{whose}: {problem}"
        return is_accepted

    def _retry_until_accepted(self, read: Callable[[], bool], whose: str, hint: str) -> None:
        """Read until two readings agree; raises NoAnswer."""
        for _ in range(_READINGS):
            if read():
                return
        text = (
            f"{self.NAME}: {whose}: no two successive readings of the servo angles agree "
            f"({self.counts.last_problem or 'readings differ'}); {hint}"
        )
        raise NoAnswer(text, field="position")

    def _hold_angles(self) -> Array:
        """Servo angles to hold [deg]: the last command where the servo is close to it, else the measured angle.

        A servo under load deflects from its target. Commanding the measured angle would add this deflection each time.
        """
        measured, target = self._measured(), self._target
        return measured if target is None else np.where(np.abs(measured - target) <= SLACK, target, measured)
