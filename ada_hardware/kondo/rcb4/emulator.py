# SPDX-License-Identifier: Apache-2.0
"""Emulated RCB-4 board with the servos of a KHR-3HV.

Assumptions (not documented): a frame lasts 15 ms; a command with a wrong checksum is not answered; while the servo bus
is off, servos hold and ignore commands; the measured position of a servo is target plus trim; at power-on the servos
hold the home position. The program in ROM and stored motions are not emulated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ada_hardware.emulation.emulator import TimedReply
from ada_hardware.kondo.angle_map import SERVO_SPEED_ICS, Board, Servo
from ada_hardware.kondo.board_emulator import BoardEmulator, BoardEmulatorSettings, ServoMotion
from ada_hardware.kondo.rcb4 import codec as c
from ada_hardware.kondo.rcb4.codec import COM_SPEEDS, wire_time
from ada_robot.settings import setting

_QUICK = 0.5  # [s] duration of a command below which large steps are violations
_VERSION = b"emulated RCB-4".ljust(64)
_SPEED = SERVO_SPEED_ICS * 180.0 / math.pi * c.COUNTS_PER_DEGREE  # [counts/s]


@dataclass(frozen=True)
class Rcb4EmulatorSettings(BoardEmulatorSettings):
    """Settings of the emulated board and the thresholds of its violation checks."""

    com_speed: int = setting(COM_SPEEDS[0], "rate of the line", unit="baud", choices=COM_SPEEDS)
    reply_delay: float = setting(0.0005, "delay of a reply", unit="s", lower=0.0, upper=10.0)
    battery: float = setting(11.1, "supply voltage", unit="V", lower=0.0, upper=24.0)
    trim: int = setting(0, "trim of all servos, in counts", lower=-500, upper=500)
    runs_program: bool = setting(True, "run the program in ROM at power-on")


class Rcb4Emulator(BoardEmulator[Rcb4EmulatorSettings, c.Rcb4Command]):
    """Emulated RCB-4 board.

    Attributes:
        ram: contents of the RAM.
        servos: servos by ICS number; positions in counts without trim.
    """

    NAME: ClassVar[str] = "khr3"
    SETTINGS: ClassVar[type] = Rcb4EmulatorSettings
    BOARD: ClassVar[Board] = Board.RCB4
    ANGLE_MAP: ClassVar[str] = "khr3_angle_map.yaml"
    FAULTS: ClassVar[Mapping[str, str]] = {
        "dead_servo": "ICS number + 1 of a servo that no longer moves",
        "late": "additional delay of replies [s]",
        "nack": "every n-th command is refused",
        "wrong_speed": "1: the rate of the line is wrong, replies are random bytes",
        "battery_low": "reduction of the supply voltage [V]",
        "reboot": "loss of power, no replies for this time [s]",
    }

    def __init__(self, settings: Rcb4EmulatorSettings) -> None:
        """Raises InputError for an invalid angle map."""
        super().__init__(settings, c.command_parser())
        self.servos = {i: ServoMotion(c.counts_of_angle(s.home)) for i, s in self.map.servos.items()}
        self.ram = bytearray(c.RAM_SIZE)
        for i in self.servos:
            self._put(c.device_address(i), 1)  # a servo
            self._put(c.device_address(i, 1), i)
            self._put(c.device_address(i, c.TRIM), *settings.trim.to_bytes(2, "little", signed=True))
        config = c.Config.ICS | c.Config.VECTOR_JUMP | (c.Config.RUN_PROGRAM if settings.runs_program else 0)
        self._put(c.CONFIG, *int(config).to_bytes(2, "little"))
        self._count = 0

    # --- the line ---------------------------------------------------------------------------------------------------
    def _execute_received(self, data: bytes) -> list[TimedReply]:
        if self.faults["wrong_speed"]:
            return [TimedReply(self._random.randbytes(len(data)), self.settings.reply_delay)]
        replies = []
        for command in self._parser.feed(data):
            self._count += 1
            reply = c.Rcb4Reply(c.code_of(command), is_ack=False)
            if not (self.faults["nack"] and self._count % int(self.faults["nack"]) == 0):
                reply = self._execute(command)
            replies.append(self._sent(command, reply))
        return replies

    def _motor(self, number: int) -> ServoMotion | None:
        return self.servos.get(number - 1)

    def _motors(self) -> dict[str, ServoMotion]:
        return {servo.joint: self.servos[i] for i, servo in self.map.servos.items()}

    def _angle(self, position: float) -> float:
        return c.angle_of_counts(position)

    def state(self) -> dict[str, object]:
        """Servo state and configuration."""
        return {**super().state(), "config": self._config}

    # --- actions ----------------------------------------------------------------------------------------------------
    def _execute(self, command: c.Rcb4Command) -> c.Rcb4Reply:
        self._check_command(command)
        code = c.code_of(command)
        if c.fault_of(command):
            return c.Rcb4Reply(code, is_ack=False)
        match command:
            case c.ReadRam(address, size):
                self._refresh()
                return c.Rcb4Reply(code, bytes(self.ram[address : address + size]))
            case c.WriteRam(address, data):
                self.ram[address : address + len(data)] = data
            case c.Version():
                return c.Rcb4Reply(code, _VERSION)
            case c.MoveServos(frame, moves):
                for move in moves:
                    self._move(move.servo, move.position, frame)
        return c.Rcb4Reply(code)

    def _move(self, number: int, position: int, frame: int) -> None:
        motor = self.servos.get(number)
        if motor is None or not self._config & c.Config.ICS:
            return
        self._put(c.device_address(number, c.FRAME), frame)
        if position == c.FREE:
            motor.release(self._time)
        elif position == c.HOLD:
            motor.go(motor.at(self._time), 0.0, self._time)
        else:
            way = abs(position - motor.at(self._time))
            motor.go(float(position), max(frame * c.FRAME_TIME, way / _SPEED), self._time)

    # --- its memory -------------------------------------------------------------------------------------------------
    @property
    def _config(self) -> int:
        return int.from_bytes(self.ram[c.CONFIG : c.CONFIG + 2], "little")

    def _refresh(self) -> None:
        """Update the RAM words that the board measures."""
        counts = round((self.settings.battery - self.faults["battery_low"]) / c.VOLTS_PER_COUNT)
        self._put(c.ADC, *min(max(counts, 0), 1023).to_bytes(2, "little"))
        for i, motor in self.servos.items():
            trim_at = c.device_address(i, c.TRIM)
            trim = int.from_bytes(self.ram[trim_at : trim_at + 2], "little", signed=True)
            measured = min(max(round(motor.at(self._time)) + trim, 0), 0xFFFF)
            target = c.FREE if motor.is_free else round(motor.target)
            self._put(c.device_address(i, c.MEASURED), *measured.to_bytes(2, "little"), *target.to_bytes(2, "little"))

    def _put(self, address: int, *values: int) -> None:
        self.ram[address : address + len(values)] = bytes(values)

    def _sent(self, command: c.Rcb4Command, reply: c.Rcb4Reply) -> TimedReply:
        delay = self.settings.reply_delay + self.faults["late"]
        if not c.fault_of(command):
            delay += wire_time(command, self.settings.com_speed)
        return TimedReply(c.encode_reply(reply), delay)

    # --- the judge --------------------------------------------------------------------------------------------------
    def _check_command(self, command: c.Rcb4Command) -> None:
        problem = c.fault_of(command)
        if problem is not None:
            self._report_violation(f"{c.code_of(command).name}: {problem.text}")
        if isinstance(command, c.MoveServos):
            self._check_moves(command.moves, command.frame)

    def _check_moves(self, moves: Sequence[c.Move], frame: int) -> None:
        if self._config & c.Config.RUN_PROGRAM and any(move.position != c.FREE for move in moves):
            self._report_violation("servos are commanded while the program of the board, which commands them too, runs")
        for move in moves:
            servo = self.map.servos.get(move.servo)
            if servo is not None and (c.LOWEST <= move.position <= c.HIGHEST or move.position == c.FREE):
                self._check_move(servo, move.position, frame * c.FRAME_TIME)

    def _check_move(self, servo: Servo, position: int, duration: float) -> None:
        if position == c.FREE:
            self._check_free(servo.joint)
            return
        low, high = c.counts_of_angle(servo.lowest), c.counts_of_angle(servo.highest)
        if not low <= position <= high:
            self._report_violation(f"{servo.joint}: {position} is outside of {low} to {high}")
        step = abs(position - self.servos[servo.channel].at(self._time)) / c.COUNTS_PER_DEGREE
        if self.settings.max_step and step > self.settings.max_step and duration < _QUICK:
            self._report_violation(
                f"{servo.joint}: a step of {step:.0f} deg in {duration:.3f} s; at most {self.settings.max_step:g}"
            )
