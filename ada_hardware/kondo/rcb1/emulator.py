# SPDX-License-Identifier: Apache-2.0
"""An emulated KHR-1: two RCB-1 on one line, 17 servos. It is silent where the real one is, and judges what it is told.

Assumptions: at power-on servos hold the home position; after a loss of power they are free until they get a position.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ada_dynamics.settings import setting
from ada_hardware.emulation.emulator import Reply
from ada_hardware.kondo.angle_map import Board, Servo
from ada_hardware.kondo.board_emulator import BoardEmulator
from ada_hardware.kondo.rcb1 import codec
from ada_hardware.kondo.rcb1 import commands as c
from ada_hardware.kondo.rcb1.bus import wire_time
from ada_hardware.kondo.rcb1.emulated_board import EmulatedBoard

_SLOW_SPEEDS = (6, 7)  # at which a long way is no jump


@dataclass(frozen=True)
class Rcb1EmulatorSettings:
    """How the emulated KHR-1 is built, and what it takes for wrong."""

    angle_map: str = setting("", "file of the angle map; empty: that of the KHR-1")
    first_id: int = setting(0, "ID of the board with channels 1 to 12", lower=0, upper=31)
    second_id: int = setting(
        1, "ID of the board with channels 13 to 24; the same: only the first is there", lower=0, upper=31
    )
    reply_delay: float = setting(0.001, "before a board answers", unit="s", lower=0.0, upper=10.0)
    boot_time: float = setting(0.0, "of silence after power-on", unit="s", lower=0.0, upper=60.0)
    boards_wait: bool = setting(True, "whether a frame of a motion ends on both boards together")
    max_step: float = setting(30.0, "that a position may be away, at speeds 0 to 5; 0: any", unit="deg", lower=0.0)
    free_is_allowed: bool = setting(False, "whether servos may be told to let go")
    seed: int = setting(0, "of what is random: which of two boards answers a question for its ID", lower=0)


class Rcb1Emulator(BoardEmulator[Rcb1EmulatorSettings, codec.Command]):
    """Two boards on one line.

    Attributes:
        boards: the upper one, and the lower one.
    """

    NAME: ClassVar[str] = "khr1"
    SETTINGS: ClassVar[type] = Rcb1EmulatorSettings
    BOARD: ClassVar[Board] = Board.RCB1
    ANGLE_MAP: ClassVar[str] = "khr1_angle_map.yaml"
    FAULTS: ClassVar[Mapping[str, str]] = {
        "dead_servo": "channel, 1 to 24, whose servo does not move any more",
        "wrong_id": "IDs of all boards are higher by so much",
        "silent_board": "1: the first board is silent, 2: the second, 3: both",
        "late": "answers come later by so much [s]",
        "bad_checksum": "each so-manieth answer has a wrong last byte",
        "battery_low": "share of the servos' speed that is lost; 1: the boards lose power and stay silent",
        "reboot": "the boards lose power, and are silent for so long [s]",
    }

    def __init__(self, settings: Rcb1EmulatorSettings) -> None:
        """Switch it on.

        Raises:
            InputError: the angle map is unusable.
        """
        parser = codec.CommandParser(checks_values=False)
        super().__init__(settings, parser, settings.angle_map, settings.boot_time)
        self._limits: dict[tuple[int, int], Servo] = {}
        self.boards = [self._board(0, settings.first_id)]
        if settings.second_id != settings.first_id:
            self.boards.append(self._board(1, settings.second_id))
        if settings.boards_wait and len(self.boards) == 2:
            self.boards[0].peer, self.boards[1].peer = self.boards[1], self.boards[0]
        self._random = random.Random(settings.seed)
        self._answers = 0

    def _obeyed(self, data: bytes) -> list[Reply]:
        replies: list[Reply] = []
        for command in self._parser.feed(data):
            self._judge(command)
            replies += self._answer(command)
        return replies

    def advance(self, now: float) -> list[Reply]:
        """Go on with motions."""
        super().advance(now)
        while (board := min(self.boards, key=lambda one: one.next_frame)).next_frame <= now:
            board.begin_frame()
        return []

    def fault(self, name: str, value: float) -> None:
        """Switch a fault on or off."""
        before = self._faults.get(name, 0.0)
        super().fault(name, value)
        if name == "dead_servo":
            self._kill_servo(int(before), False)
            self._kill_servo(int(value), True)
        elif name == "wrong_id":
            for board in self.boards:
                board.id += int(value) - int(before)
        elif name == "battery_low":
            for board in self.boards:
                board.slowness = 1.0 / (1.0 - value) if value < 1.0 else 1.0
            if value >= 1.0 or before >= 1.0:
                self._lose_power(float("inf") if value >= 1.0 else self.settings.boot_time)
        elif name == "reboot" and value:
            self._lose_power(value)

    def state(self) -> dict[str, object]:
        """Servo angles by joint, IDs, what plays."""
        servos = {
            servo.joint: self.boards[i].servos[channel]
            for (i, channel), servo in self._limits.items()
            if i < len(self.boards)
        }
        return {
            "ids": [board.id for board in self.boards],
            "angles": {joint: round(servo.at(self._time), 3) for joint, servo in servos.items()},
            "targets": {joint: servo.target for joint, servo in servos.items()},
            "free": [joint for joint, servo in servos.items() if servo.is_free],
            "playing": [board.is_playing(self._time) for board in self.boards],
            "played": [[list(one) for one in board.played[-100:]] for board in self.boards],
            "switches": [board.switches for board in self.boards],
        }

    # --- answers ----------------------------------------------------------------------------------------------------
    def _answer(self, command: codec.Command) -> list[Reply]:
        if command.code is c.Code.GET_ID:
            heard = [board for board in self.boards if not self._is_silent(board)]
            return [self._reply(command, self._random.choice(heard).id, ())] if heard else []
        found = []
        for board in self.boards:
            if (command.code is c.Code.SET_ID or board.id == command.board) and not self._is_silent(board):
                values = board.obey(command, self._time)
                if values is not None:
                    found.append(self._reply(command, board.id, values))
        return found[:1]  # of two boards with one ID the host hears something, here the first

    def _reply(self, command: codec.Command, board_id: int, values: tuple[int, ...]) -> Reply:
        data = codec.encode_reply(codec.Reply(command.code, board_id % c.BOARDS, values))
        self._answers += 1
        spoil = int(self._faults["bad_checksum"])
        if spoil and self._answers % spoil == 0:
            data = data[:-1] + bytes((data[-1] ^ 0x15,))
        return Reply(data, self.settings.reply_delay + wire_time(command.code) + self._faults["late"])

    def _is_silent(self, board: EmulatedBoard) -> bool:
        return bool(int(self._faults["silent_board"]) & (1 << self.boards.index(board)))

    def _lose_power(self, silence: float) -> None:
        for board in self.boards:
            board.limp(self._time)
        self._parser.forget()
        self._silent_until = self._time + silence

    def _kill_servo(self, channel: int, is_dead: bool) -> None:
        board, place = divmod(channel - 1, c.BOARD_CHANNELS)
        if 0 <= board < len(self.boards) and place in self.boards[board].servos:
            self.boards[board].servos[place].die(self._time, is_dead)

    def _board(self, number: int, board_id: int) -> EmulatedBoard:
        homes = {}
        for servo in self.map.servos.values():
            board, channel = divmod(servo.channel - 1, c.BOARD_CHANNELS)
            if board == number:
                homes[channel] = servo.home
                self._limits[number, channel] = servo
        return EmulatedBoard(board_id, homes)

    # --- the judge --------------------------------------------------------------------------------------------------
    def _judge(self, command: codec.Command) -> None:
        if command.code is c.Code.SET_ID and len(self.boards) > 1:
            self._accuse("SET_ID with two boards on the line: both take the ID")
        for field, value in zip(command.kind.fields, command.values, strict=True):
            if not field.allows(value):
                self._accuse(f"{command.code.name}: {field.name} is {value}; allowed are {field.allowed}")
        for i, board in enumerate(self.boards):
            if board.id != command.board:
                continue
            if command.code is c.Code.SET_POSITIONS:
                self._judge_positions(i, command.values[1:], command.values[0])
            elif command.code is c.Code.SET_FRAME:
                self._judge_limits(i, command.values[3:])
            elif command.code is c.Code.SET_SWITCHES and command.values[0] & c.SLEEP:
                self._judge_free(f"board {i + 1}")

    def _judge_positions(self, board: int, channels: tuple[int, ...], speed: int) -> None:
        self._judge_limits(board, channels)
        if self.boards[board].switches & c.SLEEP:
            self._accuse(f"positions for board {board + 1}, which sleeps")
        limit = self.settings.max_step
        for channel, motor in self.boards[board].servos.items():
            value, joint = channels[channel], self._limits[board, channel].joint
            if value in (c.FREE, c.LOW):
                self._judge_free(joint)
            step = abs(value - motor.at(self._time))
            if limit and value <= c.LARGEST_ANGLE and speed not in _SLOW_SPEEDS and step > limit:
                self._accuse(f"{joint}: a step of {step:.0f} deg at speed {speed}; at most {limit:g}")

    def _judge_limits(self, board: int, channels: tuple[int, ...]) -> None:
        for channel in self.boards[board].servos:
            servo, value = self._limits[board, channel], channels[channel]
            if value <= c.LARGEST_ANGLE and not servo.lowest <= value <= servo.highest:
                self._accuse(f"{servo.joint}: {value} deg is outside of {servo.lowest:g} to {servo.highest:g}")

    def _judge_free(self, whose: str) -> None:
        if not self.settings.free_is_allowed:
            self._accuse(f"{whose}: let go, without having been asked for")
