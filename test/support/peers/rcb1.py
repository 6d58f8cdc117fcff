# SPDX-License-Identifier: Apache-2.0
"""Two RCB-1 boards with their servos on one serial line, from the documents alone; every fault has a switch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from peers.clock import Answers, Reply

LENGTHS = {
    0xFF: 4, 0xFE: 2, 0xFD: 16, 0xFC: 3, 0xFB: 3, 0xFA: 3, 0xF9: 18, 0xF8: 5, 0xF7: 5, 0xF6: 4, 0xF5: 6, 0xF4: 5,
    0xF3: 5, 0xF2: 4, 0xF1: 4, 0xF0: 3, 0xEF: 4, 0xEE: 4, 0xED: 7, 0xEC: 4, 0xE9: 15, 0xE8: 3,
}  # fmt: skip
ACK = 0x06
SLEEP = 0x01  # software switch
FREE = 0xDD
UNUSED = (0xE1, 0xFF)  # as programs of the makers and of users write it
SECONDS_PER_DEGREE = (0.0028, 0.0030, 0.0032, 0.0034, 0.0036, 0.0038, 0.0086, 0.0178)
HOME = {
    1: 5, 2: 0, 3: 90, 6: 90, 7: 175, 8: 180, 9: 90, 13: 88, 14: 115, 15: 115, 16: 90, 17: 92, 19: 92, 20: 65, 21: 65,
    22: 90, 23: 88,
}  # fmt: skip  # [deg] by channel, 1 to 24
PAUSE = 0.05  # [s] after which a frame that was begun is forgotten
THINKS = 0.001  # [s] before a board answers


def checksum(data: bytes) -> int:
    return sum(data) & 0x7F


class RcbWitness(Protocol):
    """Sees every frame that a board takes, before it has an effect."""

    def heard(self, now: float, board: int, frame: bytes, peer: Rcb1Peer) -> None:
        """A frame."""


class Board:
    """One board and its twelve servos."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.home = np.array([float(HOME.get(12 * number + channel + 1, 90)) for channel in range(12)])
        self.angle, self.target = self.home.copy(), self.home.copy()
        self.speed = np.full(12, 1.0 / SECONDS_PER_DEGREE[4])
        self.is_silent = self.is_dead = False
        self.is_held = np.zeros(12, dtype=bool)
        self.says: Callable[[np.ndarray], np.ndarray] = lambda angle: angle
        self.switches = 0

    def go_on(self, seconds: float) -> float:
        if seconds <= 0.0:
            return 0.0
        way = np.nan_to_num(self.target - self.angle)
        moved = np.clip(way, -self.speed * seconds, self.speed * seconds)
        if self.switches & SLEEP:
            moved = np.zeros(12)
        moved = np.where(self.is_held, 0.0, moved)
        self.angle = self.angle + moved
        return float((np.abs(moved) / self.speed).max())

    def answer(self, frame: bytes) -> bytes | None:
        code, write = frame[0], bytes((self.number, ACK))
        if code == 0xFD:
            self._go(frame[2], frame[3:15])
            return write
        if code == 0xFC:
            return self._data(np.clip(np.round(self.says(self.angle)), 0, 255))
        if code == 0xFA:
            return self._data(self.home)
        if code == 0xFB:
            self.home = np.round(self.angle)
            return write
        if code == 0xF0:
            answer = bytes((self.number, self.switches))
            return answer + bytes((checksum(answer),))
        if code == 0xF1:
            self.switches = frame[2]
            return write
        return write if code in (0xEF, 0xEE) else None

    def _data(self, values: np.ndarray) -> bytes:
        answer = bytes((self.number, *(int(one) for one in values)))
        return answer + bytes((checksum(answer),))

    def _go(self, level: int, values: bytes) -> None:
        self.speed = np.full(12, 1.0 / SECONDS_PER_DEGREE[min(level, 7)])
        for channel, value in enumerate(values):
            if value <= 180:
                self.target[channel] = value
            elif value == FREE:
                self.target[channel] = np.nan


class Rcb1Peer(Answers):
    """The line, with the boards on it."""

    def __init__(self, witness: RcbWitness | None = None) -> None:
        super().__init__(THINKS)
        self.boards = (Board(0), Board(1))
        self.witness = witness
        self.noise = b""
        self._buffer, self._heard_at, self._at = b"", 0.0, 0.0
        self.moved_at = 0.0

    def advance(self, now: float) -> None:
        if self._at:
            ran = max(board.go_on(now - self._at) for board in self.boards)
            self.moved_at = self._at + ran if ran > 0.0 else self.moved_at
        self._at = now

    def hear(self, now: float, data: bytes) -> Iterable[Reply]:
        self.advance(now)
        if now - self._heard_at > PAUSE:
            self._buffer = b""
        self._buffer, self._heard_at = self._buffer + data, now
        replies = []
        while self._buffer:
            length = LENGTHS.get(self._buffer[0])
            if length is None:
                self._buffer = self._buffer[1:]
                continue
            if len(self._buffer) < length:
                break
            frame, self._buffer = self._buffer[:length], self._buffer[length:]
            replies += [(self.answer_after, one) for one in self._take(now, frame)]
        return replies

    def _take(self, now: float, frame: bytes) -> Iterable[bytes]:
        if checksum(frame[:-1]) != frame[-1]:
            return
        for board in self.boards:
            if board.is_dead or (frame[0] != 0xFE and frame[1] != board.number):
                continue
            if self.witness is not None:
                self.witness.heard(now, board.number, frame, self)
            said = board.answer(frame)
            made = None if said is None or board.is_silent else self.said(said)
            if made is not None:
                yield self.noise + made
