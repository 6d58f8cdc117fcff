# SPDX-License-Identifier: Apache-2.0
"""Judges of the messages to a device: broken rules, when it may move, and the frames that reach an RCB-1."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np

from peers.rcb1 import FREE, UNUSED, Rcb1Peer


class Unsafe(NamedTuple):
    """One rule that was broken."""

    time: float
    rule: str
    text: str


class Judge:
    """Broken rules in order; all are counted, at most `most` are kept."""

    def __init__(self, stop_within: float, most: int = 50) -> None:
        """Allow so much time from a reason to stop until everything is at rest [s], and keep so many broken rules."""
        self.stop_within, self.most = stop_within, most
        self.unsafe: list[Unsafe] = []
        self.counts: Counter[str] = Counter()
        self._may_move, self._rest_by = False, math.inf

    def activated(self, now: float) -> None:
        """The robot was asked to follow commands from here on."""
        self._may_move, self._rest_by = True, math.inf

    def asked_to_stop(self, now: float, within: float | None = None) -> None:
        """It was asked to come to rest, or has a reason to: whatever it is, it must be at rest soon."""
        self._rest_by = min(self._rest_by, now + (self.stop_within if within is None else within))

    def broke(self, now: float, rule: str, text: str) -> None:
        self.counts[rule] += 1
        if len(self.unsafe) < self.most:
            self.unsafe.append(Unsafe(now, rule, text))

    def judge_motion(self, now: float) -> None:
        if not self._may_move:
            self.broke(now, "phase", "commanded to move without being activated")
        elif now > self._rest_by:
            late = now - self._rest_by
            self.broke(now, "phase", f"still commanded to move {late:.3g} s after it had to be at rest")


FASTEST = 353.0  # [deg/s] of a servo: 60 degrees in 0.17 s
COUNT = 1.0  # [deg]
CHANGES_THE_BOARD = {0xFF, 0xFB, 0xF9, 0xF7, 0xF5, 0xF3, 0xF1, 0xED, 0xE9}
PLAYS = {0xEF, 0xEE}


class ServoJudge(Judge):
    """Judges the frames of one line."""

    def __init__(self, period: float) -> None:
        """Judge frames to a board that come with this period [s]."""
        super().__init__(stop_within=0.5)
        self._period = period
        self._commanded: list[np.ndarray | None] = [None, None]
        self._at = [-math.inf, -math.inf]

    def activated(self, now: float) -> None:
        super().activated(now)
        self._commanded = [None, None]

    def heard(self, now: float, board: int, frame: bytes, peer: Rcb1Peer) -> None:
        if frame[0] in CHANGES_THE_BOARD:
            self.broke(now, "frame", f"command {frame[0]:02X} changes what the board has stored")
        elif frame[0] in PLAYS:
            self.broke(now, "phase", f"command {frame[0]:02X} plays a motion that nobody judges")
        elif frame[0] == 0xFD:
            self._positions(now, board, frame, peer)

    def _positions(self, now: float, board: int, frame: bytes, peer: Rcb1Peer) -> None:
        values = np.array([float(one) for one in frame[3:15]])
        if frame[2] > 7:
            self.broke(now, "speed", f"level {frame[2]}")
        odd = [int(one) for one in values if one > 180 and one not in (FREE, *UNUSED)]
        if odd:
            self.broke(now, "position", f"{odd[0]:02X} is no angle and no word of a servo")
        angles = np.where(values <= 180, values, np.nan)
        before, since = self._commanded[board], now - self._at[board]
        if before is None:
            before, since = peer.boards[board].angle, self._period
        step = np.abs(np.nan_to_num(angles - before))
        allowed = FASTEST * min(max(since, self._period), 2.0 * self._period) + COUNT
        if step.max() > allowed:
            channel = int(np.argmax(step))
            self.broke(
                now, "speed", f"channel {12 * board + channel + 1}: a step of {step[channel]:.3g} deg in one frame"
            )
        if step.max() > COUNT:
            self.judge_motion(now)
        self._commanded[board] = np.where(np.isnan(angles), before, angles)
        self._at[board] = now
