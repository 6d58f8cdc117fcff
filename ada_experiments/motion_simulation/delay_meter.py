# SPDX-License-Identifier: Apache-2.0
"""How late forces are, and how many packets got lost: from sequence numbers and time stamps, on one machine's clock.

Each answer of the table names the pose that its force was measured at, by the simulated time that the pose was meant
for. The force is used for a whole step; so it is late by the time from that pose to the middle of the step. Clocks of
different machines are never compared.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ada_robot.timing.periods import Histogram

_NS = 1e-9  # [s]
_WINDOW = 51  # answers whose median is the delay
_SLOWNESS = 0.1  # share of the way to the median that the delay goes with each answer: a jump of it would be felt
_WRAP = 1 << 32


@dataclass(frozen=True)
class DelaySummary:
    """Statistics of the loop.

    Attributes:
        answers: of the table that were used.
        lost: sequence numbers that never came.
        reordered: answers that came after a later one, and were not used.
        delay: from a pose to the middle of the step that its force is used in; smoothed median [s].
        delay_p50: of all answers: median [s].
        delay_p99: what 99 % of them do not exceed [s].
        delay_max: the longest [s].
        round_trip_p50: from sending a pose to having its answer, on the sender's clock [s].
        round_trip_p99: [s].
        round_trip_max: [s].
    """

    answers: int
    lost: int
    reordered: int
    delay: float
    delay_p50: float
    delay_p99: float
    delay_max: float
    round_trip_p50: float
    round_trip_p99: float
    round_trip_max: float


class DelayMeter:
    """Watches the answers of a table."""

    def __init__(self, step: float) -> None:
        """Args: step of the dynamics [s]."""
        self._step = step
        self._recent: deque[float] = deque(maxlen=_WINDOW)
        self._delays, self._trips = Histogram(), Histogram()
        self._newest: int | None = None
        self.answers = self.lost = self.reordered = 0
        self.delay = 0.0

    @property
    def is_ready(self) -> bool:
        """True if enough answers have come to trust the delay."""
        return len(self._recent) >= 10

    def takes(self, sequence: int) -> bool:
        """Count an answer by its number; whether it is newer than all before."""
        if self._newest is None:
            self._newest = sequence
        else:
            ahead = (sequence - self._newest) % _WRAP
            if not 0 < ahead < _WRAP // 2:
                self.reordered += 1
                self.lost -= 1 if ahead else 0  # it was counted as lost; a second copy of the newest was not
                return False
            self.lost += ahead - 1
            self._newest = sequence
        self.answers += 1
        return True

    def measure(self, now: float, pose_time: float, round_trip_ns: int) -> None:
        """An answer's force is about to be used.

        Args:
            now: beginning of the step, simulated [s].
            pose_time: simulated time that the pose was meant for, at which the force was measured [s].
            round_trip_ns: since that pose was sent [ns].
        """
        late = now + 0.5 * self._step - pose_time
        self._recent.append(late)
        self._delays.add(round(late / _NS))
        self._trips.add(round_trip_ns)
        median = sorted(self._recent)[len(self._recent) // 2]
        if not self.is_ready or self.delay == 0.0:
            self.delay = median
        else:
            self.delay += _SLOWNESS * (median - self.delay)

    def summary(self) -> DelaySummary:
        """The figures until now."""
        d50, d99 = self._delays.percentiles((0.5, 0.99))
        t50, t99 = self._trips.percentiles((0.5, 0.99))
        return DelaySummary(
            self.answers,
            self.lost,
            self.reordered,
            self.delay,
            d50,
            d99,
            self._delays.longest * _NS,
            t50,
            t99,
            self._trips.longest * _NS,
        )
