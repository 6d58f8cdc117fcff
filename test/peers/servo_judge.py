# SPDX-License-Identifier: Apache-2.0
"""Rules on the frames that reach an RCB-1: angles, how fast they change, and when."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from peers.rcb1 import FREE, UNUSED, Rcb1Peer
from peers.stream_judge import Unsafe

FASTEST = 353.0  # [deg/s] of a servo: 60 degrees in 0.17 s
COUNT = 1.0  # [deg]
CHANGES_THE_BOARD = {0xFF, 0xFB, 0xF9, 0xF7, 0xF5, 0xF3, 0xF1, 0xED, 0xE9}
PLAYS = {0xEF, 0xEE}


class ServoJudge:
    """Attributes:
    unsafe: what broke a rule.
    counts: by rule.
    """

    def __init__(self, period: float, *, fastest: float = FASTEST) -> None:
        """Args: between frames to a board [s]; the servos' speed [deg/s]."""
        self.unsafe: list[Unsafe] = []
        self.counts: Counter[str] = Counter()
        self.frames = 0
        self._period, self._fastest = period, fastest
        self._told: list[np.ndarray | None] = [None, None]
        self._at = [-math.inf, -math.inf]
        self._may_move, self._rest_by = False, math.inf

    def activated(self, now: float) -> None:
        """The robot was asked to follow commands."""
        self._may_move, self._rest_by = True, math.inf
        self._told = [None, None]

    def asked_to_stop(self, now: float, within: float = 0.5) -> None:
        """It has a reason to come to rest."""
        self._rest_by = min(self._rest_by, now + within)

    def broke(self, now: float, rule: str, text: str) -> None:
        """Note that a rule was broken."""
        self.counts[rule] += 1
        if len(self.unsafe) < 50:
            self.unsafe.append(Unsafe(now, rule, text))

    def heard(self, now: float, board: int, frame: bytes, peer: Rcb1Peer) -> None:
        """A frame that a board takes."""
        self.frames += 1
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
        before, since = self._told[board], now - self._at[board]
        if before is None:
            before, since = peer.boards[board].angle, self._period
        step = np.abs(np.nan_to_num(angles - before))
        allowed = self._fastest * min(max(since, self._period), 2.0 * self._period) + COUNT
        if step.max() > allowed:
            channel = int(np.argmax(step))
            self.broke(
                now, "speed", f"channel {12 * board + channel + 1}: a step of {step[channel]:.3g} deg in one frame"
            )
        moves = bool(step.max() > COUNT)
        if moves and not self._may_move:
            self.broke(now, "phase", "told to move without being activated")
        elif moves and now > self._rest_by:
            self.broke(now, "phase", f"still told to move {now - self._rest_by:.3g} s after it had to be at rest")
        self._told[board] = np.where(np.isnan(angles), before, angles)
        self._at[board] = now
