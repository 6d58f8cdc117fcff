# SPDX-License-Identifier: Apache-2.0
"""Emulated KHR-1: two RCB-1 boards on one line, 17 servos.

Assumptions: at power-on the servos hold the home position; after a loss of power they are free until the next position
command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ada_hardware.emulation.emulator import Reply
from ada_hardware.kondo.angle_map import Board, Servo
from ada_hardware.kondo.board_emulator import BoardEmulator, BoardEmulatorSettings, ServoMotion
from ada_hardware.kondo.rcb1 import codec
from ada_hardware.kondo.rcb1 import commands as c
from ada_hardware.kondo.rcb1.bus import wire_time
from ada_hardware.kondo.rcb1.emulated_board import EmulatedBoard
from ada_robot.settings import setting

_SLOW_SPEEDS = (6, 7)  # speeds at which large steps are allowed


@dataclass(frozen=True)
class Rcb1EmulatorSettings(BoardEmulatorSettings):
    """Settings of the emulated KHR-1 and the thresholds of its violation checks."""

    first_id: int = setting(0, "ID of the board with channels 1 to 12", lower=0, upper=31)
    second_id: int = setting(
        1, "ID of the board with channels 13 to 24; equal to first_id: no second board", lower=0, upper=31
    )
    boards_wait: bool = setting(True, "end each frame of a motion on both boards at the same time")


class Rcb1Emulator(BoardEmulator[Rcb1EmulatorSettings, codec.CommandFrame]):
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
        "bad_checksum": "every n-th reply has a wrong last byte",
        "battery_low": "fraction by which servo speed is reduced; 1: loss of power, no replies",
        "reboot": "loss of power, no replies for this time [s]",
    }

    def __init__(self, settings: Rcb1EmulatorSettings) -> None:
        """Raises InputError for an invalid angle map."""
        super().__init__(settings, codec.CommandParser(checks_values=False))
        self._limits: dict[tuple[int, int], Servo] = {}
        self.boards = [self._board(0, settings.first_id)]
        if settings.second_id != settings.first_id:
            self.boards.append(self._board(1, settings.second_id))
        if settings.boards_wait and len(self.boards) == 2:
            self.boards[0].peer, self.boards[1].peer = self.boards[1], self.boards[0]
        self._answers = 0

    def _execute_received(self, data: bytes) -> list[Reply]:
        replies: list[Reply] = []
        for command in self._parser.feed(data):
            self._check_command(command)
            replies += self._answer(command)
        return replies

    def advance(self, now: float) -> list[Reply]:
        """Advance running motions to the time `now`."""
        super().advance(now)
        while (board := min(self.boards, key=lambda one: one.next_frame)).next_frame <= now:
            board.begin_frame()
        return []

    def fault(self, name: str, value: float) -> None:
        """Set or clear a fault."""
        before = self._faults.get(name, 0.0)
        super().fault(name, value)
        if name == "wrong_id":
            for board in self.boards:
                board.id += int(value) - int(before)
        elif name == "battery_low":
            for board in self.boards:
                board.duration_factor = 1.0 / (1.0 - value) if value < 1.0 else 1.0
            if value >= 1.0 or before >= 1.0:
                self._lose_power(float("inf") if value >= 1.0 else self.settings.boot_time)

    def state(self) -> dict[str, object]:
        """Servo state, board IDs, switches and playback of stored motions."""
        return {
            **super().state(),
            "ids": [board.id for board in self.boards],
            "playing": [board.is_playing(self._time) for board in self.boards],
            "played": [[list(one) for one in board.played[-100:]] for board in self.boards],
            "switches": [board.switches for board in self.boards],
        }

    # --- answers ----------------------------------------------------------------------------------------------------
    def _answer(self, command: codec.CommandFrame) -> list[Reply]:
        if command.code is c.Code.GET_ID:
            reachable = [board for board in self.boards if not self._is_silent(board)]
            return [self._reply(command, self._random.choice(reachable).id, ())] if reachable else []
        found = []
        for board in self.boards:
            if (command.code is c.Code.SET_ID or board.id == command.board) and not self._is_silent(board):
                values = board.execute(command, self._time)
                if values is not None:
                    found.append(self._reply(command, board.id, values))
        return found[:1]  # two boards with one ID collide; the host receives the first reply

    def _reply(self, command: codec.CommandFrame, board_id: int, values: tuple[int, ...]) -> Reply:
        data = codec.encode_reply(codec.Reply(command.code, board_id % c.BOARDS, values))
        self._answers += 1
        spoil = int(self._faults["bad_checksum"])
        if spoil and self._answers % spoil == 0:
            data = data[:-1] + bytes((data[-1] ^ 0x15,))
        return Reply(data, self.settings.reply_delay + wire_time(command.code) + self._faults["late"])

    def _is_silent(self, board: EmulatedBoard) -> bool:
        return bool(int(self._faults["silent_board"]) & (1 << self.boards.index(board)))

    def _lose_power(self, silence: float) -> None:
        super()._lose_power(silence)
        for board in self.boards:
            board.power_off(self._time)

    def _motor(self, number: int) -> ServoMotion | None:
        board, place = divmod(number - 1, c.BOARD_CHANNELS)
        return self.boards[board].servos.get(place) if 0 <= board < len(self.boards) else None

    def _motors(self) -> dict[str, ServoMotion]:
        here = {key: servo for key, servo in self._limits.items() if key[0] < len(self.boards)}
        return {servo.joint: self.boards[i].servos[channel] for (i, channel), servo in here.items()}

    def _angle(self, position: float) -> float:
        return position

    def _board(self, number: int, board_id: int) -> EmulatedBoard:
        homes = {}
        for servo in self.map.servos.values():
            board, channel = divmod(servo.channel - 1, c.BOARD_CHANNELS)
            if board == number:
                homes[channel] = servo.home
                self._limits[number, channel] = servo
        return EmulatedBoard(board_id, homes)

    # --- the judge --------------------------------------------------------------------------------------------------
    def _check_command(self, command: codec.CommandFrame) -> None:
        if command.code is c.Code.SET_ID and len(self.boards) > 1:
            self._report_violation("SET_ID with two boards on the line: both take the ID")
        for field, value in zip(command.kind.fields, command.values, strict=True):
            if not field.allows(value):
                self._report_violation(f"{command.code.name}: {field.name} is {value}; allowed are {field.allowed}")
        for i, board in enumerate(self.boards):
            if board.id != command.board:
                continue
            if command.code is c.Code.SET_POSITIONS:
                self._check_positions(i, command.values[1:], command.values[0])
            elif command.code is c.Code.SET_FRAME:
                self._check_limits(i, command.values[3:])
            elif command.code is c.Code.SET_SWITCHES and command.values[0] & c.SLEEP:
                self._check_free(f"board {i + 1}")

    def _check_positions(self, board: int, channels: tuple[int, ...], speed: int) -> None:
        self._check_limits(board, channels)
        if self.boards[board].switches & c.SLEEP:
            self._report_violation(f"positions for board {board + 1} while it sleeps")
        limit = self.settings.max_step
        for channel, motor in self.boards[board].servos.items():
            value, joint = channels[channel], self._limits[board, channel].joint
            if value in (c.FREE, c.LOW):
                self._check_free(joint)
            step = abs(value - motor.at(self._time))
            if limit and value <= c.LARGEST_ANGLE and speed not in _SLOW_SPEEDS and step > limit:
                self._report_violation(f"{joint}: a step of {step:.0f} deg at speed {speed}; at most {limit:g}")

    def _check_limits(self, board: int, channels: tuple[int, ...]) -> None:
        for channel in self.boards[board].servos:
            servo, value = self._limits[board, channel], channels[channel]
            if value <= c.LARGEST_ANGLE and not servo.lowest <= value <= servo.highest:
                self._report_violation(
                    f"{servo.joint}: {value} deg is outside of {servo.lowest:g} to {servo.highest:g}"
                )
