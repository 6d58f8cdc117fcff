# SPDX-License-Identifier: Apache-2.0
"""Emulated PA-10: controller, servos, brakes, watchdog, alarms, and the rigid body dynamics of the arm.

Documented (docs/pa10_hardware.md): the packets; S is needed after power-on and after a timeout; meaning of the status
words; a timeout stops all axes; units of speeds and angles. Assumed: before S, C is answered with the status "not
controllable"; an alarm of one axis does not stop the others unless they are set to stop together; S makes axes without
an alarm controllable again; an axis can pass its limit by 1 mrad and raises an alarm 1 deg beyond
it; brakes close at once.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ada_hardware.emulation.emulator import Emulator, TimedReply
from ada_hardware.pa10.alarms import COMMUNICATION_TIMEOUT, DEAD_MAN, EMERGENCY_STOP, HOST_TIMEOUT, LIMIT_SWITCH
from ada_hardware.pa10.alarms import AxisStatus as Bit
from ada_hardware.pa10.alarms import ControllerStatus as Own
from ada_hardware.pa10.axis_data import AxisData, axis_of, encode_axis_data
from ada_hardware.pa10.cyclic import (
    ANGLE_COUNT,
    BRAKE,
    IN_TORQUE,
    SERVO,
    SPEED_COUNT,
    TORQUE,
    AxisCommand,
    AxisResponse,
    CyclicCommand,
    CyclicResponse,
    ModeBit,
    decode_command,
    encode_response,
)
from ada_hardware.pa10.emulated_arm import AT_SPEED, AT_TORQUE, BRAKED, FREE, EmulatedArm
from ada_hardware.pa10.packets import HOST, Packet, PacketParser, PacketType, encode_packet
from ada_hardware.pa10.settings import Pa10EmulatorSettings
from ada_hardware.pa10.variants import AXES, GEAR, arm, variant

_ROUNDING = 1  # [counts] rounding error of the difference of two speeds
STOPPED, CONTROL, TEACHING = "stopped", "control", "teaching"
POSITION_LIMIT = 0x080
_OVERRUN = 1e-3  # [rad] beyond its limit at which the controller stops an axis
_BEYOND = math.radians(1.0)  # distance beyond a limit that raises an alarm
_TOLERANCE = 1.02
_PERIOD = 0.002  # [s] cycle of the controller
_REPLY_TIME = 0.0003  # [s] delay of an answer
_FASTEST_BRAKE = 0.05  # [rad/s] at which brakes may close without wear
_UPPER, _LOWER, _LOCKED, _UNPOWERED = (
    int(bit) for bit in (Bit.UPPER_LIMIT, Bit.LOWER_LIMIT, Bit.NOT_CONTROLLABLE, Bit.POWER_OFF)
)
Mask: TypeAlias = NDArray[np.bool_]
_POLES = 8  # of the motors, assumed


class Bounds(NamedTuple):
    """Largest commands of an axis, for the violation checks."""

    name: str  # name of the axis; "" for a slot without an axis
    speed: float = 0.0  # largest speed [counts]
    torque: float = 0.0  # largest torque [counts]
    step: float = 0.0  # largest increase of the speed per second [counts/s]


class Pa10Emulator(Emulator[Pa10EmulatorSettings]):
    """Emulated controller and arm. Arrays are by slot, seven entries each.

    Attributes:
        timeouts: number of watchdog timeouts.
    """

    NAME: ClassVar[str] = "pa10"
    SETTINGS: ClassVar[type] = Pa10EmulatorSettings
    WIRE: ClassVar[str] = "packets"
    tick = 0.002
    FAULTS: ClassVar[dict[str, str]] = {
        "emergency_stop": "1: pressed; 0: released",
        "dead_man": "1: switch released; effective while the host has enabled its monitoring",
        "limit_switch": "1: a limit switch is actuated",
        "axis_alarm": "axis + code / 4096, such as 2 + 0x0F0 / 4096: an alarm of one axis",
        "motor_power": "1: 100 V motor supply off: brakes close, servos do not switch on",
        "no_control": "1: the controller does not accept control: as after E, S has no effect",
        "off": "1: switched off; 0: on again, as after power-on",
        "mute": "1: operates, but does not answer",
        "slow": "additional delay of answers [s]",
        "sequence": "offset added to the sequence number of answers",
        "angle_noise": "standard deviation of reported angles [counts]",
        "angle_offset": "offset of all reported angles [rad]",
        "angle_stuck": "axis with a stuck resolver: its reported angle is constant and its reported speed 0",
    }

    def __init__(self, settings: Pa10EmulatorSettings) -> None:
        super().__init__(settings)
        self._variant = variant(settings.variant)
        axes = arm(settings.variant, settings.axes, settings.rated_torque)
        self._has_axis = np.isin(np.arange(AXES), axes.slots)
        self._lower, self._upper = np.full(AXES, -np.inf), np.full(AXES, np.inf)
        self._torque_count = GEAR * np.array([self._variant.motor_torque(rated) for rated in settings.rated_torque])
        bounds = [Bounds("")] * AXES
        for slot, limit in zip(axes.slots, axes.limits, strict=True):
            self._lower[slot], self._upper[slot] = limit.lower, limit.upper
            # allows a host at its limit in every cycle, including rounding errors
            rise = _TOLERANCE * (settings.max_acceleration or limit.velocity / 0.1) / SPEED_COUNT
            torque = limit.effort / self._torque_count[slot] + 0.5
            bounds[slot] = Bounds(limit.name, limit.velocity / SPEED_COUNT + 0.5, torque, rise)
        self._names = tuple(one.name for one in bounds)
        self._bounds = bounds
        start = np.where(self._has_axis, np.array(settings.start), 0.0)
        self.arm = EmulatedArm(self._variant.model, start, self._lower, self._upper, settings.speed_time_constant)
        self._stuck_at = start
        self._watchdog = settings.watchdog or self._variant.watchdog
        self._parser = PacketParser(self._variant, HOST)
        self._random = np.random.default_rng(0)
        self._time = self._checked_at = -math.inf
        self.timeouts = 0
        self._switch_on()

    def _switch_on(self) -> None:
        self.mode = STOPPED
        self._last_packet_time = -math.inf
        self._axis_alarms = [0] * AXES
        self._controller_alarm = 0
        self._is_locked = np.ones(AXES, dtype=bool)  # not controllable
        self._servo_since = np.full(AXES, np.inf)  # time of the servo-on command [s]
        self._modes = np.full(AXES, BRAKE)
        self._follows = np.zeros(AXES, dtype=bool)  # servo on, brake off, no alarm
        self._waits_for_servos = False
        self._watches_dead_man = False
        self._alarm_reported_at = math.inf
        self.arm.brake()
        self._forget_commands()

    # --- time -----------------------------------------------------------------------------------------------------
    def advance(self, now: float) -> list[TimedReply]:
        """Advance the arm and the watchdog to the time `now`."""
        before, self._time = (now if self._time == -math.inf else self._time), max(now, self._time)
        end = self._last_packet_time + self._watchdog
        if self.mode == CONTROL and end < self._time:
            self._move(before, max(end, before))
            self.timeouts += 1
            self._raise_all(COMMUNICATION_TIMEOUT, HOST_TIMEOUT)
            self.mode = STOPPED
            before = max(end, before)
        self._move(before, self._time)
        return []

    def _move(self, before: float, now: float) -> None:
        if now <= before:
            return
        if self._waits_for_servos:
            ready_at = self._servo_since + self.settings.servo_on_time
            turns_on = self._follows & (self.arm.ways == BRAKED) & (ready_at <= now)
            if turns_on.any():
                moment = max(before, float(ready_at[turns_on].min()))
                self.arm.advance(moment - before)
                self._release(turns_on)
                before = moment
        self.arm.advance(now - before)
        self._watch_limits()

    def _release(self, axes: Mask) -> None:
        in_torque = (self._modes & TORQUE) > 0
        self.arm.ways = np.where(axes, np.where(in_torque, AT_TORQUE, AT_SPEED), self.arm.ways)
        self._waits_for_servos = bool((self._follows & (self.arm.ways == BRAKED)).any())

    def _watch_limits(self) -> None:
        q = self.arm.q
        beyond = (q > self._upper) | (q < self._lower)
        if self.mode == TEACHING or not beyond.any():
            return
        for i in np.flatnonzero(beyond & self._has_axis).tolist():
            bound = self._upper[i] if q[i] > self._upper[i] else self._lower[i]
            if abs(q[i] - bound) > _BEYOND and self._axis_alarms[i] == 0:
                self._report_violation(f"{self._names[i]} was driven beyond its limit")
                self._raise(i, POSITION_LIMIT)
            elif self.arm.ways[i] == AT_SPEED and self._is_outward(self.arm.speeds)[i]:
                self.arm.speeds[i] = 0.0

    def _is_outward(self, speeds: NDArray[np.float64]) -> Mask:
        """Axes beyond their limit that are commanded further outwards."""
        q = self.arm.q
        return ((q >= self._upper + _OVERRUN) & (speeds > 0)) | ((q <= self._lower - _OVERRUN) & (speeds < 0))

    # --- alarms ---------------------------------------------------------------------------------------------------
    def _raise(self, slot: int, code: int) -> None:
        self._axis_alarms[slot] = code
        stops = np.arange(AXES) == slot
        stops |= (self._modes & ModeBit.STOP_TOGETHER) > 0
        self._stop_axes(stops)

    def _raise_all(self, axis_code: int, controller_code: int) -> None:
        for slot in np.flatnonzero(self._has_axis).tolist():
            if not self._axis_alarms[slot]:
                self._axis_alarms[slot] = axis_code
        self._controller_alarm = controller_code
        self._stop_axes(np.ones(AXES, dtype=bool))

    def _stop_axes(self, axes: Mask) -> None:
        self.arm.brake(axes)
        self._is_locked |= axes
        self._follows &= ~axes
        self._servo_since[axes] = np.inf

    def _raise_switches(self) -> None:
        """Raise the alarms of active switches; they persist while the switch is active."""
        if self.faults["emergency_stop"]:
            self._raise_all(EMERGENCY_STOP, EMERGENCY_STOP)
        if self.faults["dead_man"] and self._watches_dead_man:
            self._raise_all(DEAD_MAN, DEAD_MAN)
        if self.faults["limit_switch"]:
            self._raise_all(LIMIT_SWITCH, LIMIT_SWITCH)

    def fault(self, name: str, value: float) -> None:
        """Set or clear (0) a fault."""
        super().fault(name, value)
        if name == "axis_alarm" and value:
            axis = int(value)
            self._raise(axis - 1, round((value - axis) * 4096))
        elif name == "off":
            self._switch_on()
        elif name == "motor_power" and value:
            self._brake_all()
        elif name == "no_control" and value:
            self._end()
        elif name == "angle_stuck":
            self._stuck_at = self.arm.q.copy()
        self._raise_switches()

    # --- packets --------------------------------------------------------------------------------------------------
    def receive(self, data: bytes, now: float) -> list[TimedReply]:
        """Process a packet; damaged packets are not answered."""
        self.advance(now)
        if self.faults["off"]:
            return []
        replies = []
        for packet in self._parser.feed(data):
            self._last_packet_time = self._time
            answer = self._answer(packet)
            if answer is not None and not self.faults["mute"]:
                shift = int(self.faults["sequence"])
                answer = answer._replace(sequence=(answer.sequence + shift) % 128)
                replies.append(TimedReply(encode_packet(answer), _REPLY_TIME + self.faults["slow"]))
        return replies

    def _answer(self, packet: Packet) -> Packet | None:
        kind = packet.type
        if kind is PacketType.CYCLE:
            return self._cycle(packet)
        if kind is PacketType.START:
            self._start()
        elif kind is PacketType.END:
            self._end()
        elif kind is PacketType.TEACH:
            self._teach()
        elif kind is PacketType.CLEAR_ALARM:
            return self._clear(packet)
        elif kind is PacketType.READ:
            axis = axis_of(packet.payload)
            return None if axis is None else packet.answer(self._axis_data(axis))
        else:
            self._report_violation(f"packet {chr(kind)} would change the zero or the memory of the robot")
            return None
        return packet.answer()

    def _start(self) -> None:
        if self.mode == CONTROL and np.any(self.arm.ways != BRAKED):
            self._report_violation("S while servos are on")
        self._brake_all()
        if self.faults["no_control"]:
            return
        self.mode = CONTROL
        self._is_locked = np.array([bool(code) for code in self._axis_alarms]) | (self._controller_alarm != 0)

    def _end(self) -> None:
        if self.mode == CONTROL and np.abs(self.arm.v).max() > _FASTEST_BRAKE:
            self._report_violation(f"E while the arm moves at {np.abs(self.arm.v).max():.3g} rad/s")
        self._brake_all()
        self.mode = STOPPED
        self._is_locked[:] = True

    def _teach(self) -> None:
        if self.mode == CONTROL and np.any(self.arm.ways != BRAKED):
            self._report_violation("T while servos are on")
        self._brake_all()
        self.mode = TEACHING
        self.arm.ways = np.where(self._has_axis, FREE, BRAKED)

    def _brake_all(self) -> None:
        self.arm.brake()
        self._modes = np.full(AXES, BRAKE)
        self._follows, self._waits_for_servos = np.zeros(AXES, dtype=bool), False
        self._servo_since[:] = np.inf
        self._forget_commands()

    def _clear(self, packet: Packet) -> Packet | None:
        axis = int.from_bytes(packet.payload, "big")
        if not 1 <= axis <= AXES or not self._has_axis[axis - 1]:
            return None
        self._axis_alarms[axis - 1] = 0
        self._controller_alarm = 0
        self._alarm_reported_at = math.inf
        self._raise_switches()
        return packet.answer(packet.payload)

    def _cycle(self, packet: Packet) -> Packet:
        command = decode_command(packet.payload, self._variant)
        self._check_command(command)
        if self.mode == CONTROL:
            self._follow(command)
        response = self._response()
        if self._has_alarm:
            self._alarm_reported_at = min(self._alarm_reported_at, self._time)
        return packet.answer(encode_response(response, self._variant))

    @property
    def _has_alarm(self) -> bool:
        return any(self._axis_alarms) or self._controller_alarm != 0

    def _follow(self, command: CyclicCommand) -> None:
        modes, torques, speeds = np.array(command.axes).T
        in_end = self._variant.watches_dead_man == "end"
        watches = command.controller if in_end else int(np.bitwise_or.reduce(modes))
        self._watches_dead_man = bool(watches & ModeBit.DEAD_MAN)
        self._raise_switches()
        self._modes = modes
        usable = self._has_axis & ~self._is_locked & (not self.faults["motor_power"])
        self._follows = ((modes & (SERVO | BRAKE)) == SERVO) & usable
        on = ((modes & SERVO) > 0) & usable
        self._servo_since = np.where(on, np.minimum(self._servo_since, self._time), np.inf)
        self.arm.brake(~self._follows)
        self._release(self._follows & (self._servo_since + self.settings.servo_on_time <= self._time))
        moving = self.arm.ways != BRAKED
        self.arm.speeds = np.where(moving & ~self._is_outward(speeds), speeds * SPEED_COUNT, 0.0)
        self.arm.torques = np.where(moving, torques * self._torque_count, 0.0)

    # --- violations -----------------------------------------------------------------------------------------------
    def _forget_commands(self) -> None:
        """Reset the history of commands: the axes are at rest without a command."""
        self._commanded_speeds, self._was_in_torque = [0] * AXES, [False] * AXES

    def _check_command(self, command: CyclicCommand) -> None:
        """Record commands that must never be sent to a real arm."""
        elapsed, self._checked_at = max(self._time - self._checked_at, _PERIOD), self._time
        ready = (self._has_axis & (self.arm.ways != BRAKED) & (self.mode == CONTROL)).tolist()
        for slot, axis in enumerate(command.axes):
            if any(axis) or self._commanded_speeds[slot] or self._was_in_torque[slot]:
                self._check_axis(slot, axis, ready[slot], elapsed)

    def _check_axis(self, slot: int, axis: AxisCommand, is_ready: bool, elapsed: float) -> None:
        """Check the command of an axis, which follows commands if `is_ready`, `elapsed` seconds after the last one."""
        bounds, (mode, torque, speed) = self._bounds[slot], axis
        name = bounds.name or f"slot {slot + 1}"
        in_torque = mode & IN_TORQUE == IN_TORQUE
        before, was_in_torque = self._commanded_speeds[slot], self._was_in_torque[slot]
        self._commanded_speeds[slot] = speed if mode & SERVO and not in_torque else 0
        self._was_in_torque[slot] = in_torque and is_ready
        if was_in_torque:  # after torque control, the speed command starts from the measured speed
            before = round(self.arm.v[slot] / SPEED_COUNT)
        if not bounds.name:
            self._report_violation(f"{name} has no axis, but is commanded {tuple(axis)}")
            return
        if abs(speed) > bounds.speed:
            self._report_violation(f"{name}: commanded speed of {speed} counts exceeds its limit")
        if abs(torque) > bounds.torque:
            self._report_violation(f"{name}: commanded torque of {torque} counts exceeds the motor's")
        if mode & BRAKE and is_ready and abs(self.arm.v[slot]) > _FASTEST_BRAKE:
            self._report_violation(f"{name} is braked while it moves")
        if not (torque if in_torque else speed):
            return
        if mode & BRAKE:
            self._report_violation(f"{name} is commanded to move with its brake on")
        elif self._has_alarm:
            knows_alarm = self._time - self._alarm_reported_at > self.settings.alarm_grace
            # axes without an alarm may decelerate along a ramp
            if knows_alarm and (in_torque or not is_ready or abs(speed) >= abs(before)):
                self._report_violation(f"{name} is commanded to move during an alarm")
        elif self.mode != CONTROL:
            self._report_violation(f"{name} is commanded to move before control is started (S)")
        elif not is_ready:
            self._report_violation(f"{name} is commanded to move before its servo is on")
        elif self._commanded_speeds[slot]:
            # any deceleration is allowed; acceleration and reversal are limited
            rise = abs(speed) - abs(before) if speed * before > 0 else abs(speed)
            if rise > bounds.step * elapsed + _ROUNDING:
                self._report_violation(f"{name}: commanded speed changes too fast: from {before} to {speed} counts")

    # --- answers --------------------------------------------------------------------------------------------------
    def _response(self) -> CyclicResponse:
        noise = np.zeros(AXES)
        if self.faults["angle_noise"]:
            noise = self._random.normal(0.0, self.faults["angle_noise"], AXES)
        is_stuck = np.arange(1, AXES + 1) == self.faults["angle_stuck"]
        q = np.where(is_stuck, self._stuck_at, self.arm.q) + self.faults["angle_offset"]
        angles = np.rint(q / ANGLE_COUNT + noise).astype(int).tolist()
        speeds = np.rint(np.where(is_stuck, 0.0, self.arm.v) / SPEED_COUNT).astype(int).tolist()
        torques = np.rint(self.arm.motor_torques() / self._torque_count)
        counts = np.clip(torques, -32768, 32767).astype(int).tolist()
        axes = [
            AxisResponse(self._status(i), angles[i], max(-32768, min(32767, speeds[i])), counts[i])
            if self._has_axis[i]
            else AxisResponse()
            for i in range(AXES)
        ]
        return CyclicResponse(tuple(axes), self._controller_status())

    def _status(self, slot: int) -> int:
        word = self._axis_alarms[slot]
        word |= _UPPER if self.arm.q[slot] >= self._upper[slot] else 0
        word |= _LOWER if self.arm.q[slot] <= self._lower[slot] else 0
        word |= _LOCKED if self.mode == STOPPED or self._is_locked[slot] else 0
        return word | (_UNPOWERED if self.arm.ways[slot] in (BRAKED, FREE) else 0)

    def _controller_status(self) -> int:
        faults = self.faults
        word = self._controller_alarm
        word |= Own.DEAD_MAN_ON * (not faults["dead_man"])
        word |= Own.POWER_ON * (not faults["motor_power"])
        word |= Own.EMERGENCY_STOP_OPEN * (not faults["emergency_stop"])
        word |= Own.LIMIT_SWITCH_OPEN * (not faults["limit_switch"])
        word |= Own.NOT_CONTROLLABLE * (self.mode == STOPPED)
        return int(word)

    def _axis_data(self, axis: int) -> bytes:
        upper, lower = self._upper[axis - 1], self._lower[axis - 1]
        if not self._has_axis[axis - 1]:
            upper = lower = 0.0
        return encode_axis_data(axis, AxisData(float(upper), float(lower), 0.0, _POLES), self._variant)

    def state(self) -> dict[str, object]:
        """State of controller and arm."""
        ways = {BRAKED: "braked", AT_SPEED: "speed", AT_TORQUE: "torque", FREE: "free"}
        return {
            "mode": self.mode,
            "joints": [name for name in self._names if name],
            "position": self.arm.q[self._has_axis].tolist(),
            "velocity": self.arm.v[self._has_axis].tolist(),
            "ways": [ways[int(way)] for way in self.arm.ways[self._has_axis]],
            "alarms": [f"{code:03X}" for code, has in zip(self._axis_alarms, self._has_axis, strict=True) if has],
            "controller_alarm": f"{self._controller_alarm:03X}",
            "refused": self._parser.refused,
            "timeouts": self.timeouts,
        }
