# SPDX-License-Identifier: Apache-2.0
"""Driver of the KHR-3HV and KXR: sends one position command for all servos and reads them back, once per cycle.

The servos hold the last position; the board has no watchdog timeout. While the driver is started, the program in the
ROM of the board is stopped, since it would command the servos, too. It remains stopped until a power cycle.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_hardware.kondo.angle_map import SERVO_SPEED_ICS, Board
from ada_hardware.kondo.board_bus import RETRIES, BoardBus, BoardRequest
from ada_hardware.kondo.rcb4 import codec as c
from ada_hardware.kondo.rcb4.codec import COM_SPEEDS, NACK, Rcb4Command, Rcb4Reply, code_of, reply_parser, wire_time
from ada_hardware.kondo.servo_driver import ServoDriver, ServoSettings, fixed, servo_readings
from ada_hardware.transport.wires import Serial, Wire
from ada_robot.driver import Alarm, LinkCounts
from ada_robot.errors import DeviceAlarm

_WORDS = struct.Struct("<hHH")  # trim, measured position including it, target without it, from TRIM on
_GENTLE = 0.3  # [s] duration of the first position command
_LOW_READINGS = 2  # successive low readings that raise the alarm: starting servos cause short voltage drops
_LOW_BATTERY = 1  # alarm code, defined here


class Rcb4Bus(BoardBus[Rcb4Command, Rcb4Reply]):
    """RCB-4 board on a serial line."""

    def __init__(
        self, wire: Wire, timeout: float, counts: LinkCounts, clock: Callable[[], float], com_speed: int
    ) -> None:
        """Use an open line with a rate of `com_speed` [baud]; the other arguments are those of `BoardBus`."""
        super().__init__(wire, timeout, counts, clock)
        self._com_speed = com_speed
        self.hint = (
            f"Check the power switch, the cable, and the COM setting of the board: {com_speed} baud, even parity "
            f"({', '.join(map(str, COM_SPEEDS))} can be set in HeartToHeart4)."
        )

    def ask(self, command: Rcb4Command, retries: int = RETRIES) -> Rcb4Reply:
        """Send a command until a reply is received; raises DeviceAlarm if the board refuses it (NACK)."""
        reply = super().ask(command, retries)
        if not reply.is_ack:
            text = (
                f"khr3: {self.url}: the board refused {code_of(command).name} (NACK, {NACK:#04x}); check that it is an "
                "RCB-4 and that the angle map has the right ids and sios."
            )
            raise DeviceAlarm(text, field="command", value=code_of(command).name)
        return reply

    def _request(self, command: Rcb4Command) -> BoardRequest[Rcb4Reply]:
        name = f"{code_of(command).name} ({code_of(command):#04x})"
        return BoardRequest(
            c.encode_command(command), lambda: reply_parser(command), wire_time(command, self._com_speed), name
        )


@dataclass(frozen=True)
class Rcb4Settings(ServoSettings):
    """Settings of the KHR-3HV and KXR driver."""

    angle_map: str = fixed("", "file with ids, sios, signs and limits of the servos; empty: that of the KHR-3HV")
    com_speed: int = fixed(
        COM_SPEEDS[0], "rate of the line, as set on the board with HeartToHeart4", unit="baud", choices=COM_SPEEDS
    )
    battery_low: float = fixed(9.0, "supply voltage below which an alarm is raised; 0: never", unit="V", lower=0.0)
    battery_interval: float = fixed(1.0, "interval of supply voltage readings", unit="s", lower=0.0, upper=3600.0)


class Rcb4Driver(ServoDriver[Rcb4Settings, Rcb4Bus]):
    """Robot with an RCB-4 board on a serial line.

    Attributes:
        version: firmware name read from the board; "" before `open`.
    """

    NAME: ClassVar[str] = "khr3"
    SETTINGS: ClassVar[type] = Rcb4Settings
    BOARD: ClassVar[Board] = Board.RCB4
    ANGLE_MAP: ClassVar[str] = "khr3_angle_map.yaml"
    SERVO_SPEED: ClassVar[float] = SERVO_SPEED_ICS
    SHORTEST_PERIOD: ClassVar[float] = 0.015  # update period of the servos

    def __init__(
        self, settings: Rcb4Settings, *, wire: Wire | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(settings, wire=wire, clock=clock)
        self.version = ""
        self._reads = _reads(self.map.servos)
        self._places = {servo: place for place, servo in enumerate(self.map.servos)}
        self._readings = servo_readings(SERVO_SPEED_ICS)
        self._battery, self._battery_time, self._low_readings = math.nan, -math.inf, 0
        self.period = self._cycle_period()

    # --- driver ---------------------------------------------------------------------------------------------------
    def reset(self) -> None:
        """Check that the board replies and its supply voltage is sufficient.

        Raises:
            NoAnswer: the board does not reply.
            DeviceAlarm: the supply voltage is low.
        """
        self.bus.ask(c.AckCheck())
        self._check_ready()

    # --- helpers --------------------------------------------------------------------------------------------------
    def _line_time(self) -> float:
        s = self.settings
        asked: list[c.Rcb4Command] = [self._moves(c.HOLD, 1), *(command for command, _ in self._reads)]
        return sum(wire_time(command, s.com_speed) + s.latency for command in asked)

    def _serial(self) -> Serial:
        return Serial(self.settings.com_speed, "E")

    def _connect(self, wire: Wire) -> Rcb4Bus:
        use = self.settings
        return Rcb4Bus(wire, use.reply_timeout, self.counts, self._clock, use.com_speed)

    def _free_servos(self) -> None:
        self.bus.ask(self._moves(c.FREE, 1))

    def _find(self) -> None:
        self._readings.forget()
        self._battery_time = -math.inf
        self.bus.ask(c.AckCheck())
        self.version = self.bus.ask(c.Version()).data.decode("ascii", errors="replace").strip("\0 ")
        self._read_until_accepted()

    def _send_first_command(self, angles: Array) -> None:
        self._stop_program()
        self._target = angles
        self.bus.ask(self._moves(angles, _frames(_GENTLE)))

    def _exchange(self, angles: Array) -> bool:
        self._target = angles
        reply = self.bus.try_once(self._moves(self._target, _frames(self.period)))
        is_answered = reply is not None and reply.is_ack
        if reply is not None and not reply.is_ack:
            self.counts.refused += 1
            self.counts.last_problem = "MOVE_SERVOS: refused by the board (NACK)"
        if reply is not None:  # one timeout per cycle is enough
            is_answered = self._read() and is_answered
        return is_answered

    def _hold(self, is_blind: bool) -> None:
        is_read = not is_blind and self._target is not None and self._read()
        if is_read and self._target is not None and np.array_equal(self._hold_angles(), self._target):
            # the deflection of a loaded servo must not enter its target: it would accumulate over restarts
            self.bus.ask(self._moves(self._target, _frames(self.period)))
        else:
            self._target = None
            self.bus.ask(self._moves(c.HOLD, 1), retries=0 if is_blind else RETRIES)

    def _measured(self) -> Array:
        accepted = self._readings.accepted
        return np.full(len(self.joints), np.nan) if accepted is None else accepted

    def _stop_program(self) -> None:
        """Stop the program in ROM and unrequested messages; switch the servo bus on."""
        config = int.from_bytes(self.bus.ask(c.ReadRam(c.CONFIG, 2)).data, "little")
        config &= ~(c.Config.RUN_PROGRAM | c.Config.VECTOR_JUMP | c.Config.SERVO_RESPONSE)
        config |= c.Config.ICS
        self.bus.ask(c.WriteRam(c.CONFIG, (config & 0xFFFF).to_bytes(2, "little")))

    def _moves(self, angles: Array | int, frame: int) -> c.MoveServos:
        """Command for all servos: angles [deg], or HOLD or FREE."""
        moves = []
        for number in sorted(self.map.servos):
            servo = self.map.servos[number]
            if isinstance(angles, int):
                moves.append(c.Move(number, angles))
            else:
                low, high = (
                    math.ceil(servo.lowest * c.COUNTS_PER_DEGREE),
                    math.floor(servo.highest * c.COUNTS_PER_DEGREE),
                )
                counts = c.counts_of_angle(float(angles[self._places[number]])) - c.CENTRE
                moves.append(c.Move(number, c.CENTRE + min(max(counts, low), high)))
        return c.MoveServos(frame, tuple(moves))

    def _read(self) -> bool:
        found = {}
        for command, servos in self._reads:
            reply = self.bus.try_once(command)
            if reply is None or not reply.is_ack:
                return False
            for servo in servos:
                found[servo] = _WORDS.unpack_from(reply.data, (servo - servos[0]) * c.DEVICE_SIZE)
        trim, measured, target = np.array([found[servo] for servo in self.map.servos]).T
        self._is_free = bool((target == c.FREE).any())
        angles = np.asarray((measured - trim - c.CENTRE) / c.COUNTS_PER_DEGREE)
        return self._accepts(self._readings, angles, "positions")

    def _read_until_accepted(self) -> None:
        hint = "check the line for noise, and the angle map for missing servos."
        self._retry_until_accepted(self._read, f"{self.bus.url}: the board", hint)

    def _read_battery(self) -> None:
        """Read the supply voltage if `battery_interval` has passed."""
        if self._clock() - self._battery_time < self.settings.battery_interval:
            return
        reply = self.bus.try_once(c.ReadRam(c.ADC, 2))
        if reply is not None and reply.is_ack:
            self._battery = int.from_bytes(reply.data, "little") * c.VOLTS_PER_COUNT
            self._battery_time = self._clock()
            self._low_readings = self._low_readings + 1 if self._battery < self.settings.battery_low else 0

    def _check_ready(self) -> None:
        for _ in range(_LOW_READINGS):
            self._battery_time = -math.inf
            self._read_battery()
        for alarm in self._alarms():
            raise DeviceAlarm(
                f"khr3: {alarm.text}", field="battery [V]", value=self._battery, allowed=self.settings.battery_low
            )

    def _alarms(self) -> tuple[Alarm, ...]:
        if self._low_readings < _LOW_READINGS:
            return ()
        low = self.settings.battery_low
        text = f"supply voltage {self._battery:.1f} V is below {low:g} V (battery_low): charge the battery."
        return (Alarm(_LOW_BATTERY, text),)

    def _supply(self, is_fresh: bool) -> tuple[tuple[Alarm, ...], dict[str, float]]:
        if is_fresh:
            self._read_battery()
        return self._alarms(), {} if math.isnan(self._battery) else {"battery [V]": self._battery}


def _frames(duration: float) -> int:
    """Convert a duration [s] to servo frames."""
    return min(max(round(duration / c.FRAME_TIME), 1), 255)


def _reads(servos: Iterable[int]) -> list[tuple[c.ReadRam, list[int]]]:
    """Return the smallest number of read commands that cover some ICS numbers, each with its numbers."""

    def size(first: int, last: int) -> int:
        return (last - first) * c.DEVICE_SIZE + _WORDS.size

    groups: list[list[int]] = []
    for servo in sorted(servos):
        if groups and size(groups[-1][0], servo) <= c.LONGEST_DATA:
            groups[-1].append(servo)
        else:
            groups.append([servo])
    return [(c.ReadRam(c.device_address(group[0], c.TRIM), size(group[0], group[-1])), group) for group in groups]
