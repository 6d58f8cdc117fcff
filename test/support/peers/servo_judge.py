# SPDX-License-Identifier: Apache-2.0
"""Rules on the frames that reach an RCB-1: angles, how fast they change, and when."""

from __future__ import annotations

import math

import numpy as np

from peers.judge import Judge
from peers.rcb1 import FREE, UNUSED, Rcb1Peer

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
