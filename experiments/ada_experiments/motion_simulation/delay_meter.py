# SPDX-License-Identifier: Apache-2.0
"""Delay of forces and number of lost packets, from sequence numbers and time stamps of one machine's clock.

Each reply of the table contains the simulated time of the pose at which its force was measured. The force acts for a
step; its delay is the time from that pose to the middle of the step. Clocks of different machines are never compared.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ada_robot.timing.periods import Histogram

_NS = 1e-9  # [s]
_WINDOW = 51  # replies in the median filter of the delay
_SLOWNESS = 0.1  # gain of the low-pass filter of the delay, which avoids jumps
_WRAP = 1 << 32


@dataclass(frozen=True)
class DelaySummary:
    """Statistics of the loop.

    Attributes:
        answers: used replies of the table.
        lost: missing sequence numbers.
        reordered: replies that arrived after a later one and were not used.
        delay: filtered delay from a pose to the middle of the step in which its force acts [s].
        delay_p50: median of all delays [s].
        delay_p99: 99th percentile [s].
        delay_max: maximum [s].
        round_trip_p50: median time from sending a pose to receiving its reply, on the sender's clock [s].
        round_trip_p99: 99th percentile [s].
        round_trip_max: maximum [s].
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
    """Evaluates the replies of a table."""

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
        """Return True once the delay is based on enough replies."""
        return len(self._recent) >= 10

    def takes(self, sequence: int) -> bool:
        """Register the sequence number of a reply; return True if it is newer than all before."""
        if self._newest is None:
            self._newest = sequence
        else:
            ahead = (sequence - self._newest) % _WRAP
            if not 0 < ahead < _WRAP // 2:
                self.reordered += 1
                self.lost -= 1 if ahead else 0  # it was counted as lost, unless it is a copy of the latest
                return False
            self.lost += ahead - 1
            self._newest = sequence
        self.answers += 1
        return True

    def measure(self, now: float, pose_time: float, round_trip_ns: int) -> None:
        """Register a reply whose force is about to be used.

        Args:
            now: start of the step, simulated [s].
            pose_time: simulated time of the pose at which the force was measured [s].
            round_trip_ns: time since that pose was sent [ns].
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
        """Statistics up to now."""
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
