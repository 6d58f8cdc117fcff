# SPDX-License-Identifier: Apache-2.0
"""Driver of the KHR-1: sends positions to both boards and reads them back once per cycle.

The boards hold the last position and have no watchdog timeout: if the host stops sending, the servos keep their
position. Positions are read in whole degrees; implausible readings are rejected (`ada_hardware.plausibility`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_hardware.kondo.angle_map import SERVO_SPEED, AngleMap, Board, Servo
from ada_hardware.kondo.board_bus import RETRIES, BoardBus, BoardRequest
from ada_hardware.kondo.motion_file import SECONDS_PER_DEGREE
from ada_hardware.kondo.rcb1 import codec as c
from ada_hardware.kondo.rcb1.codec import BAUD, NO_BOARD, Rcb1Code, Rcb1Command, Rcb1Reply, reply_parser, wire_time
from ada_hardware.kondo.servo_driver import SLACK, ServoDriver, ServoSettings, fixed, servo_readings
from ada_hardware.transport.wires import Serial, Wire
from ada_robot.errors import DeviceAlarm, NoAnswer, Refused

_SLOWEST = c.SPEEDS - 1


class Rcb1Bus(BoardBus[Rcb1Command, Rcb1Reply]):
    """RCB-1 boards on one serial line."""

    hint = f"Check the power switch, the cable, the line settings ({BAUD} baud, 8N1) and the ID of the board."

    def _request(self, command: Rcb1Command) -> BoardRequest[Rcb1Reply]:
        whom = "" if command.board == NO_BOARD else f" of board {command.board}"
        name = f"{command.code.name} ({command.code:#04x}){whom}"
        return BoardRequest(c.encode_command(command), lambda: reply_parser(command), wire_time(command.code), name)


@dataclass(frozen=True)
class Rcb1Settings(ServoSettings):
    """Settings of the KHR-1 driver."""

    robot: str = fixed("khr1", "robot whose joints the map must have, by name or file; empty: any joints")
    first_id: int = fixed(0, "ID of the board with channels 1 to 12", lower=0, upper=31)
    second_id: int = fixed(1, "ID of the board with channels 13 to 24", lower=0, upper=31)
    reply_timeout: float = fixed(0.030, "timeout of a reply", unit="s", lower=0.001, upper=1.0)

    def __post_init__(self) -> None:
        """Check that the two IDs differ; raises InputError."""
        if self.first_id == self.second_id:
            text = (
                f"first_id and second_id are both {self.first_id}; boards on one line need different IDs. Connect one "
                "board only and set its ID (ada hw service khr1 set-id)."
            )
            raise InputError(text, field="second_id", value=self.second_id)


class _BoardState:
    """State of one board."""

    def __init__(self, board_id: int, servos: dict[int, tuple[int, Servo]]) -> None:
        self.id = board_id
        self.servos = servos  # by channel 0 to 11: joint index, servo
        self.places = [place for place, _ in servos.values()]
        self.readings = servo_readings(SERVO_SPEED)
        # Commands for channels missing in the map: a frame always has all twelve.
        self.unmapped = {i: c.LOW for i in range(c.BOARD_CHANNELS) if i not in servos}


class Rcb1Driver(ServoDriver[Rcb1Settings, Rcb1Bus]):
    """KHR-1 on a serial line."""

    NAME: ClassVar[str] = "khr1"
    SETTINGS: ClassVar[type] = Rcb1Settings
    BOARD: ClassVar[Board] = Board.RCB1
    ANGLE_MAP: ClassVar[str] = "khr1_angle_map.yaml"
    SERVO_SPEED: ClassVar[float] = SERVO_SPEED
    SHORTEST_PERIOD: ClassVar[float] = 0.025  # 40 Hz

    def __init__(
        self, settings: Rcb1Settings, *, wire: Wire | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(settings, wire=wire, clock=clock)
        self._boards = list(_boards(self.map, (settings.first_id, settings.second_id)))
        self.period = self._cycle_period()

    # --- properties -----------------------------------------------------------------------------------------------
    @property
    def board_ids(self) -> tuple[int, ...]:
        """IDs of the boards with servos, the board of channels 1 to 12 first."""
        return tuple(board.id for board in self._boards)

    # --- driver ---------------------------------------------------------------------------------------------------
    def reset(self) -> None:
        """Check that both boards reply; they have no alarms.

        Raises:
            NoAnswer: a board does not reply.
        """
        for board in self._boards:
            self.bus.ask(Rcb1Command(Rcb1Code.GET_POSITIONS, board.id))

    # --- outside of cycles ----------------------------------------------------------------------------------------
    def wake(self, *, confirm: bool = False) -> None:
        """Clear the sleep switch of both boards; servos may jump to their last commanded angle.

        Raises:
            Refused: `confirm` is not set.
            NoAnswer: a board does not reply.
        """
        if not confirm:
            text = "khr1: servos may jump when boards wake; hold the robot, and call wake(confirm=True)."
            raise Refused(text, field="confirm", value=False, allowed=True)
        for board in self._boards:
            switches = self.bus.ask(Rcb1Command(Rcb1Code.GET_SWITCHES, board.id)).values[0]
            self.bus.ask(Rcb1Command(Rcb1Code.SET_SWITCHES, board.id, (switches & ~c.SLEEP,)))

    def set_id(self, board_id: int, *, alone: bool = False) -> None:
        """Set the ID of the only connected board; the driver may be closed.

        Raises:
            Refused: `alone` is not set, which confirms that the other board is disconnected; both would take the ID.
            NoAnswer: no board replies.
        """
        if not alone:
            text = "khr1: every board on the line takes the ID; connect one board and call set_id(..., alone=True)."
            raise Refused(text, field="alone", value=False, allowed=True)
        if self._bus is not None:
            self.bus.ask(Rcb1Command(Rcb1Code.SET_ID, board_id))
            return
        try:
            self._open_line().ask(Rcb1Command(Rcb1Code.SET_ID, board_id))
        finally:
            self.close()

    # --- helpers --------------------------------------------------------------------------------------------------
    def _line_time(self) -> float:
        codes = (Rcb1Code.SET_POSITIONS, Rcb1Code.GET_POSITIONS)
        return len(self._boards) * sum(wire_time(code) + self.settings.latency for code in codes)

    def _serial(self) -> Serial:
        return Serial(BAUD, "N", dtr=False)  # required by the level shifter in the cable

    def _connect(self, wire: Wire) -> Rcb1Bus:
        return Rcb1Bus(wire, self.settings.reply_timeout, self.counts, self._clock)

    def _free_servos(self) -> None:
        # supported by the red servos only
        for board in self._boards:
            self._read_unmapped(board)
            values = [c.FREE if i in board.servos else board.unmapped[i] for i in range(c.BOARD_CHANNELS)]
            self.bus.ask(Rcb1Command(Rcb1Code.SET_POSITIONS, board.id, (_SLOWEST, *values)))

    def _check_ready(self) -> None:
        for board in self._boards:
            if self.bus.ask(Rcb1Command(Rcb1Code.GET_SWITCHES, board.id)).values[0] & c.SLEEP:
                text = (
                    f"khr1: board {board.id} sleeps (software switch 0x01); its servos are free and may jump on "
                    "wake-up. Hold the robot and wake the board: ada hw service khr1 wake."
                )
                raise DeviceAlarm(text, field="board", value=board.id)

    def _send_first_command(self, angles: Array) -> None:
        for board in self._boards:
            self._read_unmapped(board)
        self._target = angles
        for board in self._boards:
            self._send(board, angles)

    def _hold(self, is_blind: bool) -> None:
        angles = self._hold_angles() if not is_blind and self._read() else self._target
        if angles is not None:
            self._target = angles
            for board in self._boards:
                with suppress(NoAnswer):  # the other board must still receive its command
                    self._send(board, angles, retries=0 if is_blind else RETRIES)

    def _find(self) -> None:
        for board in self._boards:
            board.readings.forget()
            try:
                self.bus.ask(Rcb1Command(Rcb1Code.GET_HOME, board.id))
            except NoAnswer as silence:
                who, found = self._replying_board()
                raise NoAnswer(f"khr1: {silence}{who}", field="board", value=board.id, allowed=found) from None
        self._read_until_accepted()

    def _read_unmapped(self, board: _BoardState) -> None:
        """Read the positions of unmapped servos, so that position frames keep them unchanged; raises NoAnswer."""
        if board.unmapped:
            first, second = (self.bus.ask(Rcb1Command(Rcb1Code.GET_POSITIONS, board.id)).values for _ in range(2))
            board.unmapped = {i: _unmapped_command(first[i], second[i], last) for i, last in board.unmapped.items()}

    def _replying_board(self) -> tuple[str, int | None]:
        """Return a sentence about a board that replies to GET_ID, and its ID; "" and None without a reply."""
        with suppress(NoAnswer):
            found = self.bus.ask(Rcb1Command(Rcb1Code.GET_ID)).board
            if found not in self.board_ids:
                return f" A board with ID {found} replies: set first_id or second_id to it, or change its ID.", found
            return f" The board with ID {found} replies.", found
        return "", None

    def _read_board(self, board: _BoardState) -> bool:
        """Read the servo angles of a board once; return True if the reading is accepted."""
        reply = self.bus.try_once(Rcb1Command(Rcb1Code.GET_POSITIONS, board.id))
        if reply is None:
            return False
        values = np.array([reply.values[channel] for channel in board.servos], dtype=np.float64)
        can_be = bool(np.all(values <= c.LARGEST_ANGLE))
        return self._accepts(board.readings, values, f"GET_POSITIONS, board {board.id}", can_be=can_be)

    def _read(self) -> bool:
        return sum(self._read_board(board) for board in self._boards) == len(self._boards)

    def _read_until_accepted(self) -> None:
        hint = "check the angle map for a channel without a servo, and the line for noise."
        for board in self._boards:
            self._retry_until_accepted(partial(self._read_board, board), f"{self.bus.url}: board {board.id}", hint)

    def _measured(self) -> Array:
        angles = np.full(len(self.map.servos), np.nan)
        for board in self._boards:
            if board.readings.accepted is not None:
                angles[board.places] = board.readings.accepted
        return angles

    def _exchange(self, angles: Array) -> bool:
        step = 0.0 if self._target is None else float(np.max(np.abs(angles - self._target))) + 1.0  # rounding error
        levels = [i for i, per_degree in enumerate(SECONDS_PER_DEGREE) if per_degree * step <= self.period]
        speed = max(levels, default=0)  # the slowest one that reaches the angles within one period
        self._target = angles.copy() if self._target is None else self._target.copy()
        is_fresh = True
        for board in self._boards:
            if self._is_blind:  # may become true while waiting for the previous board
                return False
            self._target[board.places] = angles[board.places]
            values = (speed, *self._bytes(board, angles))
            is_answered = self.bus.try_once(Rcb1Command(Rcb1Code.SET_POSITIONS, board.id, values)) is not None
            # one timeout per silent board is enough
            is_fresh = is_answered and self._read_board(board) and is_fresh
        return is_fresh

    def _send(self, board: _BoardState, angles: Array, *, retries: int = RETRIES) -> None:
        """Command the servos of a board at the slowest speed."""
        values = (_SLOWEST, *self._bytes(board, angles))
        self.bus.ask(Rcb1Command(Rcb1Code.SET_POSITIONS, board.id, values), retries)

    def _bytes(self, board: _BoardState, angles: Array) -> list[int]:
        values = [board.unmapped.get(channel, c.LOW) for channel in range(c.BOARD_CHANNELS)]
        for channel, (place, servo) in board.servos.items():
            low, high = math.ceil(servo.lowest), math.floor(servo.highest)
            values[channel] = min(max(round(float(angles[place])), low), high)
        return values


def _unmapped_command(first: int, second: int, commanded: int) -> int:
    """Return the value that keeps an unmapped channel unchanged.

    Args:
        first: reading of the channel.
        second: reading directly after it.
        commanded: last command of the channel.

    Returns:
        The last command if the servo is close to it, as in `ServoDriver._hold_angles`, else the measured angle. The
        special values FREE and HIGH are returned unchanged. LOW (no servo) if the readings differ or are anything else.
    """
    if max(first, second) <= c.LARGEST_ANGLE and abs(first - second) <= SLACK:
        return commanded if commanded <= c.LARGEST_ANGLE and abs(second - commanded) <= SLACK else second
    return second if first == second and second in (c.FREE, c.HIGH) else c.LOW


def _boards(angle_map: AngleMap, ids: Sequence[int]) -> Iterator[_BoardState]:
    """Return the boards that have servos."""
    for number, board_id in enumerate(ids):
        servos = {
            (servo.channel - 1) % c.BOARD_CHANNELS: (place, servo)
            for place, servo in enumerate(angle_map.servos.values())
            if (servo.channel - 1) // c.BOARD_CHANNELS == number
        }
        if servos:
            yield _BoardState(board_id, servos)
