# SPDX-License-Identifier: Apache-2.0
"""A PA-10's servo controller with its arm, from the documents alone; everything that can go wrong has a switch."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from peers import pa10_words as words
from peers.clock import Answers, Reply
from peers.pa10_body import LIMITS, Body, gravity

AT = np.array([0.3, 0.5, -0.2, 0.9, 0.1, 0.4, -0.3])
ANSWER_AFTER = 0.0002  # [s]
TROUBLES = ("emergency stop", "limit switch", "teaching", "not controllable", "power off", "no motor voltage")
ALARM_OF = {"emergency stop": words.BY_BUTTON, "limit switch": 0x130}


class Witness(Protocol):
    """Sees all that comes, before it has an effect."""

    def heard(self, now: float, sender: object, packet: words.Packet | None, data: bytes, peer: Pa10Peer) -> None:
        """A packet came."""

    def moved(self, now: float, peer: Pa10Peer) -> None:
        """The arm is somewhere else."""


class Pa10Peer(Answers):
    """The controller. All times are given, and grow."""

    def __init__(
        self, layout: str = "ce", *, watchdog: float = 0.010, start: np.ndarray = AT, witness: Witness | None = None
    ) -> None:
        super().__init__(ANSWER_AFTER)
        self.layout, self.watchdog, self.witness = layout, watchdog, witness
        self.body = Body(layout, np.asarray(start))
        self.is_started = False
        self.alarm = [0] * 7
        self.commands = [words.AxisCommand(words.BRAKE, 0.0, 0.0)] * 7
        self.is_powered, self.is_deaf, self.has_alarms = True, False, True
        self.lose_commands = 0.0
        self.shift = 0
        self.troubles: frozenset[str] = frozenset()
        self.says_position: Callable[[float, np.ndarray], np.ndarray] = lambda now, q: q
        self.dead_man_let_go = False
        self.never_drives = np.zeros(7, dtype=bool)
        self._at = self._heard_at = 0.0
        self._watches_dead_man = False
        self._held_at: np.ndarray | None = None
        self._hold = np.zeros(7)
        self._update()

    def advance(self, now: float) -> None:
        if self._at == 0.0:
            self._at = now
        end = self._heard_at + self.watchdog
        if self.is_started and now > end:
            self._pass(max(end, self._at))
            self._leave(words.SILENCE)
        self._pass(now)

    def _pass(self, until: float) -> None:
        if until > self._at:
            self.body.go_on(until - self._at, self.braked, self.in_torque, self._wanted)
            self._at = until
            if self.witness is not None:
                self.witness.moved(until, self)

    def _update(self) -> None:
        may = self.is_started and self.is_powered and not self._is_inhibited()
        together = any(self.alarm) and any(one.mode & words.STOP_TOGETHER for one in self.commands)
        driven = np.array(
            [may and one.is_driven and not alarm for one, alarm in zip(self.commands, self.alarm, strict=True)]
        )
        driven &= ~self.never_drives & (not together)
        self.braked = ~driven
        self.in_torque = driven & np.array([bool(one.mode & words.TORQUE) for one in self.commands])
        speeds = np.array([one.speed for one in self.commands])
        self._wanted = np.where(self.in_torque, [one.torque for one in self.commands], speeds)

    def _is_inhibited(self) -> bool:
        return bool(self.troubles) or (self.dead_man_let_go and self._watches_dead_man)

    def _leave(self, alarm: int) -> None:
        """Out of control: brakes, and a fresh start is needed."""
        self.is_started = False
        if alarm:
            self.alarm = [alarm] * 7
        self.commands = [words.AxisCommand(words.BRAKE, 0.0, 0.0)] * 7
        self._update()

    @property
    def is_safe(self) -> bool:
        return bool(self.braked.all())

    def power(self, *, on: bool) -> None:
        """Cut the power, or bring it back: it boots into the stop mode."""
        self.is_powered = on
        self._leave(0)
        self.alarm = [0] * 7

    def trouble(self, *names: str) -> None:
        """Set what is wrong at the controller, of TROUBLES; none: nothing any more."""
        self.troubles = frozenset(names)
        for name in names:
            if self.has_alarms and name in ALARM_OF:
                self.alarm = [ALARM_OF[name]] * 7
        self._update()

    def let_go_of_dead_man(self, *, gone: bool = True) -> None:
        self.dead_man_let_go = gone
        if gone and self._watches_dead_man and self.has_alarms:
            self.alarm = [words.BY_DEAD_MAN] * 7
        self._update()

    def raise_alarm(self, axis: int, code: int) -> None:
        self.alarm[axis] = code
        self._update()

    def hear(self, now: float, sender: object, data: bytes) -> Iterable[Reply]:
        self.advance(now)
        packet = words.read_packet(data)
        if self.witness is not None:
            self.witness.heard(now, sender, packet, data, self)
        is_lost = not self.is_powered or self.is_deaf or self.chance.random() < self.lose_commands
        if packet is None or is_lost:
            return ()
        answer = self._answer(now, packet)
        reply = None if answer is None else self.said(words.packet(packet.sequence + self.shift, packet.kind, answer))
        return () if reply is None else ((self.answer_after, reply),)

    def _answer(self, now: float, packet: words.Packet) -> bytes | None:
        if packet.kind == "S":
            self.is_started, self._heard_at = True, now
            self.commands = [words.AxisCommand(words.BRAKE, 0.0, 0.0)] * 7
            self._update()
            return b""
        if packet.kind == "E":
            self._leave(0)
            return b""
        if packet.kind == "A":
            return self._clear(packet.payload)
        if packet.kind == "C":
            return self._cycle(now, packet.payload)
        return None  # R, W, P, M, T: not needed here, and not answered

    def _clear(self, payload: bytes) -> bytes | None:
        if len(payload) != 2:
            return None
        (axis,) = struct.unpack(">H", payload)
        if not 1 <= axis <= 7:
            return None
        if not self._is_inhibited():
            self.alarm[axis - 1] = 0
            self._update()
        return payload

    def _cycle(self, now: float, payload: bytes) -> bytes | None:
        read = words.read_cycle(self.layout, payload)
        if read is None:
            return None
        axes, word = read
        if self.is_started:
            self._heard_at = now
            watches = bool(word & words.DEAD_MAN or (self.layout == "7c" and axes[0].mode & words.DEAD_MAN))
            if watches and not self._watches_dead_man and self.dead_man_let_go and self.has_alarms:
                self.alarm = [words.BY_DEAD_MAN] * 7
            self._watches_dead_man = watches
            if axes != self.commands:
                self.commands = axes
            self._update()
        return self._status(now)

    def _status(self, now: float) -> bytes:
        q = self.says_position(now, self.body.q)
        statuses = []
        for axis in range(7):
            status = self.alarm[axis]
            status |= words.UPPER_LIMIT if q[axis] > LIMITS[axis] else 0
            status |= words.LOWER_LIMIT if q[axis] < -LIMITS[axis] else 0
            status |= 0 if self.is_started else words.NOT_CONTROLLABLE
            is_off = "power off" in self.troubles or (self.never_drives[axis] and self.commands[axis].is_driven)
            status |= words.POWER_OFF if is_off else 0
            statuses.append(status)
        word = self._word()
        common = set(self.alarm)
        if len(common) == 1:
            word |= 0x050 if common == {words.SILENCE} else common.pop() & 0xFF0
        counts = [round(float(one) / words.ANGLE) for one in q]
        return words.cycle_answer(self.layout, statuses, counts, list(self.body.v), list(self._efforts()), word)

    def _word(self) -> int:
        word = 0 if "no motor voltage" in self.troubles else words.VOLTAGE_ON
        word |= 0 if self.dead_man_let_go else words.DEAD_MAN_ON
        for name, bit in (("emergency stop", words.EMERGENCY_STOP), ("limit switch", words.LIMIT_SWITCH)):
            word |= bit if name not in self.troubles else 0
        word |= words.TEACHING if "teaching" in self.troubles else 0
        return word | (words.CONTROLLER_OFF if "not controllable" in self.troubles else 0)

    def _efforts(self) -> np.ndarray:
        if self.braked.all():
            return np.zeros(7)
        if self._held_at is None or np.abs(self.body.q - self._held_at).max() > 0.01:
            self._hold, _ = gravity(self.layout, self.body.q)
            self._held_at = self.body.q.copy()
        return np.where(self.in_torque, self._wanted, np.where(self.braked, 0.0, self._hold))
