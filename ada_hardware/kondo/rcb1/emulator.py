# SPDX-License-Identifier: Apache-2.0
"""Emulated KHR-1: two RCB-1 boards on one line, 17 servos.

Assumptions (not documented): at power-on the servos hold the home position; after a loss of power they are free until
the next position command; a channel without a servo reads 0xE1. Commands of other programs, such as those for stored
motions, are not answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ada_hardware.emulation.emulator import TimedReply
from ada_hardware.kondo.angle_map import Board, Servo
from ada_hardware.kondo.board_emulator import BoardEmulator, BoardEmulatorSettings, ServoMotion
from ada_hardware.kondo.motion_file import SECONDS_PER_DEGREE
from ada_hardware.kondo.rcb1 import codec as c
from ada_robot.settings import setting

_SLOW_SPEEDS = (6, 7)  # speeds at which large steps are allowed


class EmulatedBoard:
    """Board with servos on some of its 12 channels.

    Attributes:
        id: board ID.
        map: servos of the angle map by channel, 0 to 11.
        servos: their motion.
        home: stored home position, twelve channels.
        duration_factor: factor on all durations (weak battery).
    """

    def __init__(self, board_id: int, servos: Mapping[int, Servo]) -> None:
        """Start at the home position. Args: ID of the board; servos of the angle map by channel."""
        self.id, self.map = board_id, servos
        self.servos = {channel: ServoMotion(servo.home) for channel, servo in servos.items()}
        self.home = tuple(round(servos[i].home) if i in servos else c.LOW for i in range(c.BOARD_CHANNELS))
        self.switches = c.MOTION_ENABLE
        self.duration_factor = 1.0

    def execute(self, command: c.Rcb1Command, now: float) -> tuple[int, ...]:
        """Execute a command; return the reply values, empty for an ACK."""
        v, code = command.values, c.Rcb1Code
        match command.code:
            case code.SET_ID:
                self.id = command.board
            case code.SET_POSITIONS:
                self._move(v[0], v[1:], now)
            case code.GET_POSITIONS:
                return tuple(self._read(channel, now) for channel in range(c.BOARD_CHANNELS))
            case code.GET_HOME:
                return self.home
            case code.SET_SWITCHES:
                self.switches = v[0] & (c.SLEEP | c.MOTION_ENABLE)  # the other bits are undocumented
                if v[0] & c.SLEEP:
                    self.power_off(now)
            case code.GET_SWITCHES:
                return (self.switches,)
        return ()

    def power_off(self, now: float) -> None:
        """Free all servos (loss of power)."""
        for servo in self.servos.values():
            servo.release(now)

    def _move(self, speed: int, channels: Sequence[int], now: float) -> None:
        """Move servos to positions so that all arrive at the same time."""
        if self.switches & c.SLEEP:
            return
        ways = (abs(channels[i] - s.at(now)) for i, s in self.servos.items() if channels[i] <= c.LARGEST_ANGLE)
        level = min(max(speed, 0), c.SPEEDS - 1)
        duration = SECONDS_PER_DEGREE[level] * max(ways, default=0.0) * self.duration_factor
        for channel, servo in self.servos.items():
            value = channels[channel]
            if value <= c.LARGEST_ANGLE:
                servo.go(float(value), duration, now)
            elif value in (c.FREE, c.LOW):
                servo.release(now)

    def _read(self, channel: int, now: float) -> int:
        servo = self.servos.get(channel)
        return c.LOW if servo is None else min(max(round(servo.at(now)), 0), c.LARGEST_ANGLE)


@dataclass(frozen=True)
class Rcb1EmulatorSettings(BoardEmulatorSettings):
    """Settings of the emulated KHR-1 and the thresholds of its violation checks."""

    first_id: int = setting(0, "ID of the board with channels 1 to 12", lower=0, upper=31)
    second_id: int = setting(
        1, "ID of the board with channels 13 to 24; equal to first_id: no second board", lower=0, upper=31
    )


class Rcb1Emulator(BoardEmulator[Rcb1EmulatorSettings, c.Rcb1Command]):
    """Two emulated boards on one line.

    Attributes:
        boards: board of channels 1 to 12, board of channels 13 to 24.
    """

    NAME: ClassVar[str] = "khr1"
    SETTINGS: ClassVar[type] = Rcb1EmulatorSettings
    BOARD: ClassVar[Board] = Board.RCB1
    ANGLE_MAP: ClassVar[str] = "khr1_angle_map.yaml"
    FAULTS: ClassVar[Mapping[str, str]] = {
        "dead_servo": "channel (1 to 24) of a servo that no longer moves",
        "wrong_id": "offset added to the IDs of all boards",
        "silent_board": "board that does not reply: 1 first, 2 second, 3 both",
        "late": "additional delay of replies [s]",
        "battery_low": "fraction by which servo speed is reduced; 1: loss of power, no replies",
        "reboot": "loss of power, no replies for this time [s]",
    }

    def __init__(self, settings: Rcb1EmulatorSettings) -> None:
        """Raises InputError for an invalid angle map."""
        super().__init__(settings, c.command_parser())
        self.boards = [self._board(0, settings.first_id)]
        if settings.second_id != settings.first_id:
            self.boards.append(self._board(1, settings.second_id))

    def _execute_received(self, data: bytes) -> list[TimedReply]:
        replies: list[TimedReply] = []
        for command in self._parser.feed(data):
            self._check_command(command)
            replies += self._answer(command)
        return replies

    def fault(self, name: str, value: float) -> None:
        """Set or clear a fault."""
        before = self.faults.get(name, 0.0)
        super().fault(name, value)
        if name == "wrong_id":
            for board in self.boards:
                board.id += int(value) - int(before)
        elif name == "battery_low":
            for board in self.boards:
                board.duration_factor = 1.0 / (1.0 - value) if value < 1.0 else 1.0
            if value >= 1.0 or before >= 1.0:
                self._lose_power(float("inf") if value >= 1.0 else 0.0)

    def state(self) -> dict[str, object]:
        """Servo state, board IDs and switches."""
        return {
            **super().state(),
            "ids": [board.id for board in self.boards],
            "switches": [board.switches for board in self.boards],
        }

    # --- answers ----------------------------------------------------------------------------------------------------
    def _answer(self, command: c.Rcb1Command) -> list[TimedReply]:
        if command.code is c.Rcb1Code.GET_ID:
            reachable = [board for board in self.boards if not self._is_silent(board)]
            return [self._reply(command, self._random.choice(reachable).id, ())] if reachable else []
        found = []
        for board in self.boards:
            if (command.code is c.Rcb1Code.SET_ID or board.id == command.board) and not self._is_silent(board):
                values = board.execute(command, self._time)
                found.append(self._reply(command, board.id, values))
        return found[:1]  # two boards with one ID collide; the host receives the first reply

    def _reply(self, command: c.Rcb1Command, board_id: int, values: tuple[int, ...]) -> TimedReply:
        data = c.encode_reply(c.Rcb1Reply(command.code, board_id % c.BOARDS, values))
        return TimedReply(data, self.settings.reply_delay + c.wire_time(command.code) + self.faults["late"])

    def _is_silent(self, board: EmulatedBoard) -> bool:
        return bool(int(self.faults["silent_board"]) & (1 << self.boards.index(board)))

    def _lose_power(self, silence: float) -> None:
        super()._lose_power(silence)
        for board in self.boards:
            board.power_off(self._time)

    def _motor(self, number: int) -> ServoMotion | None:
        board, place = divmod(number - 1, c.BOARD_CHANNELS)
        return self.boards[board].servos.get(place) if 0 <= board < len(self.boards) else None

    def _motors(self) -> dict[str, ServoMotion]:
        return {servo.joint: board.servos[i] for board in self.boards for i, servo in board.map.items()}

    def _angle(self, position: float) -> float:
        return position

    def _board(self, number: int, board_id: int) -> EmulatedBoard:
        first = number * c.BOARD_CHANNELS + 1
        servos = {servo.channel - first: servo for servo in self.map.servos.values()}
        return EmulatedBoard(board_id, {i: servo for i, servo in servos.items() if 0 <= i < c.BOARD_CHANNELS})

    # --- the judge --------------------------------------------------------------------------------------------------
    def _check_command(self, command: c.Rcb1Command) -> None:
        if command.code is c.Rcb1Code.SET_ID and len(self.boards) > 1:
            self._report_violation("SET_ID with two boards on the line: both take the ID")
        for field, value in zip(command.kind.fields, command.values, strict=True):
            if not field.allows(value):
                self._report_violation(f"{command.code.name}: {field.name} is {value}; allowed are {field.allowed}")
        for i, board in enumerate(self.boards):
            if board.id != command.board:
                continue
            if command.code is c.Rcb1Code.SET_POSITIONS:
                if board.switches & c.SLEEP:
                    self._report_violation(f"positions for board {i + 1} while it sleeps")
                self._check_positions(board, command.values[0], command.values[1:])
            elif command.code is c.Rcb1Code.SET_SWITCHES and command.values[0] & c.SLEEP:
                self._check_free(f"board {i + 1}")

    def _check_positions(self, board: EmulatedBoard, speed: int, channels: tuple[int, ...]) -> None:
        limit = self.settings.max_step
        for channel, servo in board.map.items():
            value, joint = channels[channel], servo.joint
            if value in (c.FREE, c.LOW):
                self._check_free(joint)
            if value > c.LARGEST_ANGLE:
                continue
            if not servo.lowest <= value <= servo.highest:
                self._report_violation(f"{joint}: {value} deg is outside of {servo.lowest:g} to {servo.highest:g}")
            step = abs(value - board.servos[channel].at(self._time))
            if limit and speed not in _SLOW_SPEEDS and step > limit:
                self._report_violation(f"{joint}: a step of {step:.0f} deg at speed {speed}; at most {limit:g}")
