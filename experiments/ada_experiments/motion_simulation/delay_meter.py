# SPDX-License-Identifier: Apache-2.0
"""Delay of forces and number of lost packets, from sequence numbers and time stamps of one machine's clock.

Each reply of the table contains the simulated time of the pose at which its force was measured. The force acts for a
step; its delay is the time from that pose to the middle of the step. Clocks of different machines are never compared.

Estimate of forces whose reply is late or lost, from the last force and the identified contact stiffness.

While replies arrive, the slope of the force over the displacement of the plate along it is identified. If a reply is
missing, the force is extrapolated along this slope by the displacement sent since. Correcting forces by an identified
stiffness is proposed in "A force and displacement compensation method toward divergence and accuracy of
hardware-in-the-loop simulation system for manipulator docking", there to compensate the delay.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
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


_MEMORY = 256  # number of stored poses
_FORGETTING = 0.98  # forgetting factor per reply: about 50 replies count
_ENOUGH = 5  # replies in a contact before its slope is used
_SHORT = 1e-7  # [m] displacement (standard deviation) too small for identification
LONGEST_FILL = 10  # steps; after that the force is held instead of extrapolated


class SentPose(NamedTuple):
    """A pose sent to the table.

    Attributes:
        time: simulated time of the pose [s].
        place: position of the face relative to the tip [m].
    """

    time: float
    place: Array


class ForceFilling:
    """Stores poses and forces, and estimates the force of a step without a reply.

    Attributes:
        stiffness: identified stiffness along the force [N/m]; the expected one until then.
        filled: number of steps with an estimated force.
    """

    def __init__(self, step: float, least_force: float, expected_stiffness: float = 0.0) -> None:
        """Initialize without data.

        Args:
            step: step of the dynamics [s].
            least_force: contact threshold [N].
            expected_stiffness: stiffness until it is identified [N/m]; with 0 forces are held until then.
        """
        self._step, self._least = step, least_force
        self.stiffness = expected_stiffness
        self.filled = 0
        self._sent: deque[SentPose] = deque(maxlen=_MEMORY)
        self._forget()

    def _forget(self) -> None:
        self._weight = self._count = 0.0
        self._mean = np.zeros(2)  # displacement, force
        self._spread = np.zeros((2, 2))

    def restart(self) -> None:
        """Prepare for another motion, keeping the stiffness."""
        self._sent.clear()
        self._forget()

    def sent(self, time: float, place: Array) -> None:
        """Store a sent pose."""
        self._sent.append(SentPose(time, place))

    def learn(self, pose_time: float, force: Array) -> None:
        """Process the force on the tip of a reply and its pose time."""
        size = float(np.linalg.norm(force))
        if size < self._least:
            self._forget()
            return
        place = self._place(pose_time)
        if place is None:
            return
        sample = np.array([float(place @ force) / size, size])
        self._weight = _FORGETTING * self._weight + 1.0
        self._count += 1.0
        off = sample - self._mean
        self._mean = self._mean + off / self._weight
        self._spread = _FORGETTING * self._spread + np.outer(off, sample - self._mean)
        way = self._spread[0, 0] / self._weight
        if self._count >= _ENOUGH and way > _SHORT**2:
            slope = self._spread[0, 1] / self._spread[0, 0]
            if slope > 0.0:
                self.stiffness = float(slope)

    def filled_in(self, wanted_time: float, pose_time: float, wrench: Array) -> Array:
        """Wrench on the tip at the pose of a time, extrapolated from that at an earlier pose.

        Args:
            wanted_time: time of the pose whose force is required [s].
            pose_time: time of the pose with the known force [s].
            wrench: known wrench.
        """
        missing = (wanted_time - pose_time) / self._step
        if missing < 0.5:
            return wrench
        self.filled += 1
        size = float(np.linalg.norm(wrench[:3]))
        before, now = self._place(pose_time), self._place(min(wanted_time, pose_time + LONGEST_FILL * self._step))
        if size < self._least or before is None or now is None:
            return wrench
        more = self.stiffness * float((now - before) @ wrench[:3]) / size
        return np.asarray(wrench * max(0.0, 1.0 + more / size))  # the point of application is constant

    def _place(self, time: float) -> Array | None:
        """Position of the plate sent for a time, interpolated between poses."""
        later: SentPose | None = None
        for one in reversed(self._sent):
            if one.time <= time:
                if later is None or later.time == one.time:
                    return one.place
                share = (time - one.time) / (later.time - one.time)
                return np.asarray(one.place + share * (later.place - one.place))
            later = one
        return None
