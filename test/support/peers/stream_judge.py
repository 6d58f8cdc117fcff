# SPDX-License-Identifier: Apache-2.0
"""Rules on what reaches a device, and when; they know nothing of how it came about."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from peers.judge import Judge


@dataclass(frozen=True)
class Bounds:
    """Limits, per axis."""

    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray
    torque_rate: np.ndarray
    beyond: float = 0.002
    stop_within: float = 0.4


SILENT_AFTER = 0.1  # [s] after which a host is gone, and another one may speak
STANDSTILL = 0.05  # [rad/s] from which on a joint may stop at once
NOTICED_WITHIN = 0.03  # [s] until a host has seen that the device has ended by itself, or was ended by a stranger


class Commanded(NamedTuple):
    """Command of one message to the axes."""

    braked: np.ndarray
    in_torque: np.ndarray
    speed: np.ndarray
    torque: np.ndarray

    @property
    def moves(self) -> bool:
        return bool((~self.braked & (self.in_torque | (self.speed != 0.0))).any())


def slower(command: Commanded, last: Commanded) -> np.ndarray:
    """Axes that are commanded less speed than before."""
    return np.abs(command.speed) <= np.abs(last.speed)


class StreamJudge(Judge):
    """Judge of streams of axis commands."""

    def __init__(self, bounds: Bounds, period: float = 0.002) -> None:
        """Judge by these bounds, with so much time between messages [s], in which a command may change."""
        super().__init__(bounds.stop_within)
        self.bounds, self.period = bounds, period
        self.strangers: set[object] = set()
        self._own: object = None
        self._own_at = -math.inf
        self._last: Commanded | None = None
        self._is_open = False  # S was heard, and no end since
        self._ready = False  # since then servos were on with nothing to do
        self._fault_at = self._noticed_by = -math.inf

    def faulted(self, now: float) -> None:
        """Something was done to it: from here on, closing the brakes at speed is a right answer."""
        self._fault_at = now

    def sent_by(self, now: float, sender: object) -> None:
        """Whoever speaks first is the host; nobody else may while it does."""
        if sender in self.strangers:
            return
        if self._own is None or now - self._own_at > SILENT_AFTER:
            self._own = sender  # the first one, or one that comes up after it
        if sender != self._own:
            self.broke(now, "sender", f"{sender} speaks where {self._own} does")
        else:
            self._own_at = now

    def started(self, now: float, *, by_host: bool = True) -> None:
        """A start was heard, of the host or of a stranger."""
        if by_host and self._last is not None and self._last.moves:
            self.broke(now, "phase", "started again while it moves")
        self._begin_anew(now, is_open=True, by_host=by_host)

    def ended(self, now: float, *, by_host: bool = True) -> None:
        """An end was heard, of the host or of a stranger, or the device has ended by itself."""
        self._begin_anew(now, is_open=False, by_host=by_host)

    def _begin_anew(self, now: float, *, is_open: bool, by_host: bool) -> None:
        self._is_open, self._ready, self._last = is_open, False, None
        if not by_host:
            self._noticed_by = now + NOTICED_WITHIN

    def commanded(
        self, now: float, command: Commanded, position: np.ndarray, can_move: np.ndarray, *, arrives: bool = True
    ) -> None:
        self._judge_numbers(now, command)
        if arrives:
            self._judge_phase(now, command)
        self._judge_change(now, command, can_move)
        self._judge_outward(now, command, position)
        self._last = command

    def _judge_numbers(self, now: float, command: Commanded) -> None:
        bounds = self.bounds
        if not (np.isfinite(command.speed).all() and np.isfinite(command.torque).all()):
            self.broke(now, "frame", "not a number")
        self._any(now, "speed", np.abs(command.speed), bounds.speed, 2e-4, "rad/s")
        self._any(now, "torque", np.where(command.in_torque, np.abs(command.torque), 0.0), bounds.torque, 0.06, "N m")

    def _any(self, now: float, rule: str, of: np.ndarray, most: np.ndarray, count: float, unit: str) -> None:
        over = of > most + count
        if over.any():
            axis = int(np.argmax(of - most))
            self.broke(now, rule, f"axis {axis + 1}: {of[axis]:.6g} {unit}, allowed {most[axis]:.6g}")

    def _judge_phase(self, now: float, command: Commanded) -> None:
        if command.braked.all():
            self._ready = False
            return
        if not command.moves:
            self._ready = True
            return
        if now < self._noticed_by:
            return
        if not self._is_open:
            self.broke(now, "phase", "commanded to move without a start")
        elif not self._ready and not (command.in_torque.any()):
            self.broke(now, "phase", "commanded to move from closed brakes, without standing first")
        self.judge_motion(now)

    def _judge_change(self, now: float, command: Commanded, can_move: np.ndarray) -> None:
        last, bounds = self._last, self.bounds
        if last is None:
            return
        if command.braked.all():
            fastest = np.abs(last.speed[~last.braked & can_move]).max(initial=0.0)
            if fastest > 0.05 and now - self._fault_at > 0.5:
                self.broke(now, "acceleration", f"brakes closed at {np.abs(last.speed).max():.3g} rad/s")
            return
        driven = ~command.braked & ~last.braked & can_move
        both_speed = driven & ~command.in_torque & ~last.in_torque
        both_speed &= ~(
            (np.abs(last.speed) <= STANDSTILL) & (command.speed * last.speed >= 0.0) & slower(command, last)
        )
        rate = np.where(both_speed, np.abs(command.speed - last.speed), 0.0) / self.period
        self._any(now, "acceleration", rate, bounds.acceleration * 1.02, 2.0 * 2e-4 / self.period, "rad/s^2")
        both_torque = driven & command.in_torque & last.in_torque
        change = np.where(both_torque, np.abs(command.torque - last.torque), 0.0) / self.period
        self._any(now, "torque rate", change, bounds.torque_rate * 1.02, 0.12 / self.period, "N m/s")
        # zero torque with open brakes: whatever was carried falls
        falls = both_torque & (command.torque == 0.0) & (np.abs(last.torque) > 1.0)
        if falls.any():
            self.broke(now, "held by nothing", f"axis {int(np.argmax(falls)) + 1}: torque 0 with open brakes")

    def _judge_outward(self, now: float, command: Commanded, position: np.ndarray) -> None:
        bounds = self.bounds
        speed = np.where(command.braked | command.in_torque, 0.0, command.speed)
        out = ((position > bounds.upper) & (speed > 0.01)) | ((position < bounds.lower) & (speed < -0.01))
        if out.any():
            axis = int(np.argmax(out))
            self.broke(
                now, "position", f"axis {axis + 1} is beyond its limit and commanded {speed[axis]:.3g} rad/s outward"
            )

    def is_at(self, now: float, position: np.ndarray) -> None:
        bounds = self.bounds
        over = np.maximum(position - bounds.upper, bounds.lower - position)
        if over.max() > bounds.beyond:
            axis = int(np.argmax(over))
            self.broke(now, "position", f"axis {axis + 1} is {over[axis]:.4g} rad beyond its limit")
