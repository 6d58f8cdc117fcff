# SPDX-License-Identifier: Apache-2.0
"""Conversion between payloads of packet C and joint states in SI units."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_hardware.pa10.alarms import UNPOWERED, AxisStatus, alarms, hindrances, switches, undriven
from ada_hardware.pa10.cyclic import (
    ANGLE_COUNT,
    SPEED_COUNT,
    AxisCommand,
    CyclicCommand,
    ModeBit,
    decode_response,
    encode_command,
)
from ada_hardware.pa10.settings import Pa10Settings
from ada_hardware.pa10.variants import AXES, GEAR, Arm, variant
from ada_hardware.plausibility import PlausibilityCheck
from ada_robot.contract import JointLimit
from ada_robot.driver import Alarm, Feedback
from ada_robot.errors import Refused

_FASTER = 2.0  # plausible speed over the velocity limit, for teach mode and alarms [-]
_NEAR = 0.01  # [rad] tolerance for timing and resolver errors
_TIMES = 3  # successive readings
_MOVES = 0.05  # [rad/s] speed above which an axis is moving
_LONGEST_STILL = 0.01  # [rad] integrated speed at which a constant angle is implausible
_LONGEST_STEP = 0.02  # [s] longest interval over which a speed is integrated
_NOTHING = AxisCommand(mode=0)
_LOCKED = int(AxisStatus.NOT_CONTROLLABLE)
_WINDOW = 4  # cycles over which an unreported speed is computed
_OLDEST = 0.02  # [s] longest interval of angles for the computation of a speed


class AnglePlausibility(PlausibilityCheck):
    """Checks angles against earlier ones, and against the reported speeds."""

    def __init__(self, limits: Sequence[JointLimit]) -> None:
        """Derive the plausible speeds from the limits of the axes."""
        fastest = _FASTER * np.array([limit.velocity for limit in limits])
        super().__init__(fastest, _NEAR, in_a_row=_TIMES, accepts_first=True)
        self._gone = np.zeros(len(limits))  # [rad] integrated speed since the angle last changed
        self._before: tuple[float, Array] | None = None

    def forget(self) -> None:
        """Restart: accept the next angles."""
        super().forget()
        self._before = None
        self._gone[:] = 0.0

    def accepts(self, time: float, angles: Array, speeds: Array | None) -> bool:
        """Return True if angles [rad] at a time [s] are plausible; `speeds`: reported speeds [rad/s] or None."""
        return (speeds is None or not self._stand_still(time, angles, speeds)) and self.take(angles, time)

    def _stand_still(self, time: float, angles: Array, speeds: Array) -> bool:
        """Return True if an axis reports a speed but a constant angle for too long."""
        if self._before is not None:
            then, there = self._before
            step = min(max(time - then, 0.0), _LONGEST_STEP)
            stays = (angles == there) & (np.abs(speeds) > _MOVES)
            self._gone = np.where(stays, self._gone + np.abs(speeds) * step, 0.0)
        self._before = time, angles
        return bool((self._gone > _LONGEST_STILL).any())


@dataclass(frozen=True)
class ArmState(Feedback):
    """State of the arm in a response; `hindrances` are switches, power and control states that inhibit motion."""

    axes: tuple[int, ...] = ()  # status words of the axes
    controller: int = 0  # status word of the controller
    undriven: tuple[Alarm, ...] = ()  # reasons of axes that are not driven; normal if not commanded

    @property
    def is_powered(self) -> bool:
        """True if all servos are on and follow commands."""
        return not any(word & UNPOWERED for word in self.axes)

    @property
    def follows(self) -> NDArray[np.bool_]:
        """Mask of the axes whose servos are on and follow commands."""
        return np.array([not word & UNPOWERED for word in self.axes])

    def rests(self, slow: float) -> bool:
        """Return True if all axes with servo on are at most as fast as `slow` [rad/s]; all other axes are braked."""
        return all(word & UNPOWERED or abs(v) <= slow for word, v in zip(self.axes, self.velocity, strict=True))

    @property
    def is_not_controllable(self) -> bool:
        """True if the controller needs S."""
        return all(word & _LOCKED for word in self.axes)

    @property
    def stops(self) -> tuple[Alarm, ...]:
        """Alarms that must stop a driven arm; `hindrances` and `undriven` only without an alarm."""
        return self.alarms or self.hindrances + self.undriven


class Translation:
    """Encodes and decodes payloads of packet C."""

    def __init__(self, settings: Pa10Settings, arm: Arm) -> None:
        self._variant = variant(settings.variant)
        self._arm = arm
        self._slots = list(arm.slots)
        per_count = [self._variant.motor_torque(settings.rated_torque[slot]) * GEAR for slot in self._slots]
        self._torque_count = np.array(per_count)  # [N m] of the joint
        extra = int(ModeBit.STOP_TOGETHER) if settings.stop_together else 0
        dead_man = int(ModeBit.DEAD_MAN) if settings.dead_man else 0
        self._extra = extra | (dead_man if self._variant.watches_dead_man == "mode" else 0)
        self._controller = dead_man if self._variant.watches_dead_man == "end" else 0
        self._obeys, self._needs_dead_man = settings.obey_switches, settings.dead_man
        self._plausibility = AnglePlausibility(arm.limits)
        self._past: deque[tuple[float, Array]] = deque(maxlen=_WINDOW + 1)

    def forget(self) -> None:
        """Restart the plausibility check: accept the next angles."""
        self._plausibility.forget()
        self._past.clear()

    def all_axes(self, mode: int) -> bytes:
        """Encode a command with one mode for all axes and zero speed."""
        zero = np.zeros(len(self._slots))
        return self.command(mode, zero, zero)

    def command(self, mode: int, torques: Array, speeds: Array) -> bytes:
        """Encode a command.

        Args:
            mode: mode bits of all axes.
            torques: joint torques [N m].
            speeds: joint speeds [rad/s].

        Raises:
            Refused: a value is not finite, or does not fit into the packet.
        """
        if not (np.isfinite(torques).all() and np.isfinite(speeds).all()):
            text = f"pa10: torques {torques.tolist()}, speeds {speeds.tolist()}: not finite; nothing was sent."
            raise Refused(text, field="command")
        is_on = bool(mode & ModeBit.SERVO)  # switches matter only with servos on
        bits = mode | self._extra if is_on else mode
        in_torque = np.rint(torques / self._torque_count).astype(int).tolist()
        in_speed = np.rint(speeds / SPEED_COUNT).astype(int).tolist()
        axes = [_NOTHING] * AXES  # a slot without an axis is zero, as in mhipa10arc
        for slot, torque, speed in zip(self._slots, in_torque, in_speed, strict=True):
            axes[slot] = AxisCommand(bits, torque, speed)
        return encode_command(CyclicCommand(tuple(axes), self._controller if is_on else 0), self._variant)

    def state_of(self, payload: bytes, time: float, took: float) -> ArmState | None:
        """Decode a response; return None if its angles are implausible.

        Args:
            payload: payload of the response.
            time: time of reception [s].
            took: round-trip time [s].
        """
        response = decode_response(payload, self._variant)
        axes = [response.axes[slot] for slot in self._slots]
        position = np.array([axis.angle for axis in axes]) * ANGLE_COUNT
        reported = np.array([axis.speed for axis in axes]) * SPEED_COUNT if self._variant.tells_speed else None
        if not self._plausibility.accepts(time, position, reported):
            return None
        velocity = self._speed_of(position, time - 0.5 * took) if reported is None else reported
        effort = np.array([axis.torque for axis in axes]) * self._torque_count
        words = tuple(axis.status for axis in axes)
        own = response.controller
        found = alarms(words, own, self._arm.joints)
        keeps = hindrances(own, self._needs_dead_man) if self._obeys else ()
        off = undriven(words, self._arm.joints)
        values = _values(words, response.controller, self._arm.joints)
        return ArmState(time, position, velocity, effort, True, False, found, values, keeps, words, own, off)

    def _speed_of(self, position: Array, time: float) -> Array:
        """Compute speeds from the angles of the last cycles, for a 7C, which does not report them. NaN after a gap.

        Args:
            position: present angles [rad].
            time: midpoint between request and response, which halves the error of a late host [s].
        """
        while self._past and time <= self._past[-1][0]:
            self._past.pop()
        if self._past and time - self._past[-1][0] > _OLDEST:
            self._past.clear()
            self._past.append((time, position))
            return np.full(len(position), np.nan)
        self._past.append((time, position))
        then, there = self._past[0]
        return (position - there) / (time - then) if time > then else np.zeros_like(position)


@lru_cache(maxsize=512)
def _values(words: tuple[int, ...], controller: int, joints: tuple[str, ...]) -> Mapping[str, float]:
    found = dict(switches(controller))
    for word, joint in zip(words, joints, strict=True):
        if word & (AxisStatus.UPPER_LIMIT | AxisStatus.LOWER_LIMIT):
            found[f"{joint} at its limit"] = 1.0 if word & AxisStatus.UPPER_LIMIT else -1.0
    return found
