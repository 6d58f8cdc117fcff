# SPDX-License-Identifier: Apache-2.0
"""Delay of the hybrid loop: its measurement, its compensation by prediction, forces of lost messages, and passivity.

A force that is late by T feeds energy into each contact: exp(π ω T) for a body on a spring, ω = √(k/m). The pose is
therefore sent ahead by T, with velocity and acceleration. docs/motion_simulation.md derives both, and the largest delay
for which a contact stays passive, ω T = 1.224 (`PASSIVE_TO`).
"""

from __future__ import annotations

from collections import deque

import numpy as np

from ada_dynamics.arrays import Array
from ada_experiments.motion_simulation.frames import FrameMotion, cross, displaced

_WINDOW = 51  # replies in the median filter of the delay
_READY = 10  # replies before the delay is filtered
_SLOWNESS = 0.1  # gain of the low-pass filter of the delay, which avoids jumps
_MEMORY = 256  # number of stored poses
_FORGETTING = 0.98  # forgetting factor per reply: about 50 replies count
_ENOUGH = 5  # replies in a contact before its slope is used
_SHORT = 1e-7  # [m] displacement (standard deviation) too small for identification
_LONGEST_FILL = 10  # steps; after that the force is held instead of extrapolated
LEAST_ENERGY = 1e-5  # [J] above the effect of sensor noise; the contacts of the document have 1.5 mJ
_SMOOTHED = 0.010  # [s]
JUMP = 0.020  # [s]; during shorter gaps the plate bounces in contact
PASSIVE_TO = 1.224  # ω T [rad]
ENERGY_TOLERANCE = 0.02  # fraction of the energy of a contact that the loop may generate without a warning


class DelayMeter:
    """Delay and number of lost replies, from numbers and simulated times of messages.

    Each reply of the table contains the simulated time of the pose at which its force was measured. The force acts for
    a step.

    Attributes:
        answers: number of used replies.
        lost: number of missing replies.
        delay: filtered delay from a pose to the middle of the step in which its force acts [s].
    """

    def __init__(self, step: float) -> None:
        """Start without a reply; `step` is that of the dynamics [s]."""
        self._step = step
        self._recent: deque[float] = deque(maxlen=_WINDOW)
        self._newest: int | None = None
        self.answers = self.lost = 0
        self.delay = 0.0

    def takes(self, number: int) -> bool:
        """Register the number of a reply; return True if it is newer than all before."""
        ahead = 1 if self._newest is None else number - self._newest
        if ahead <= 0:
            self.lost -= 1  # it was counted as lost
            return False
        self.lost += ahead - 1
        self._newest = number
        self.answers += 1
        return True

    def measure(self, now: float, pose_time: float) -> None:
        """Register a reply whose force is about to be used.

        Args:
            now: start of the step, simulated [s].
            pose_time: simulated time of the pose at which the force was measured [s].
        """
        self._recent.append(now + 0.5 * self._step - pose_time)
        median = sorted(self._recent)[len(self._recent) // 2]
        if len(self._recent) < _READY or self.delay == 0.0:
            self.delay = median
        else:
            self.delay += _SLOWNESS * (median - self.delay)


class ForceFilling:
    """Estimates the force of a step without a reply, from the last force and the identified contact stiffness.

    While replies arrive, the slope of the force over the displacement of the plate along it is identified. A missing
    force is extrapolated along this slope by the displacement sent since.

    Attributes:
        stiffness: identified stiffness along the force [N/m]; 0 until then.
        filled: number of steps with an estimated force.
    """

    def __init__(self, step: float, least_force: float) -> None:
        """Hold forces above the contact threshold [N] until the stiffness is known."""
        self._step, self._least = step, least_force
        self.stiffness = 0.0
        self.filled = 0
        self._sent: deque[tuple[float, Array]] = deque(maxlen=_MEMORY)  # times and positions of sent poses
        self._forget()

    def _forget(self) -> None:
        self._weight = self._count = 0.0
        self._mean = np.zeros(2)  # displacement, force
        self._spread = np.zeros((2, 2))

    def sent(self, time: float, place: Array) -> None:
        """Store the time [s] of a sent pose, and the position of the face relative to the tip [m]."""
        self._sent.append((time, place))

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
        before, now = self._place(pose_time), self._place(min(wanted_time, pose_time + _LONGEST_FILL * self._step))
        if size < self._least or before is None or now is None:
            return wrench
        more = self.stiffness * float((now - before) @ wrench[:3]) / size
        return np.asarray(wrench * max(0.0, 1.0 + more / size))  # the point of application is constant

    def _place(self, time: float) -> Array | None:
        """Position of the plate sent for a time, interpolated between poses."""
        later: tuple[float, Array] | None = None
        for one in reversed(self._sent):
            if one[0] <= time:
                if later is None or later[0] == one[0]:
                    return one[1]
                share = (time - one[0]) / (later[0] - one[0])
                return np.asarray(one[1] + share * (later[1] - one[1]))
            later = one
        return None


class ActiveLoopWarning(UserWarning):
    """A hybrid loop generates energy; the message contains the amount and the delay."""


class PassivityObserver:
    """Time-domain passivity observer (Hannaford and Ryu, 2002), per contact.

    Table, sensor, network and prediction form one port of the simulated robots. With the wrench F on the tip and the
    twist V of the face relative to it, E(t) = ∫ Fᵀ V dt from the first force of a contact is the energy absorbed from
    the robots; if it becomes negative, the loop has generated -E. Dissipation in an earlier contact is not credited.

    Attributes:
        tolerance: fraction of `held` by which the energy of a contact may become negative.
        energy: energy absorbed from the robots since the start of the contact; negative if returned [J].
        held: maximum energy absorbed by a contact of this motion [J].
        made: largest energy generated by the loop in a contact, relative to `held`, since the start of the motion.
    """

    def __init__(self, step: float, tolerance: float) -> None:
        """Initialize the observer.

        Args:
            step: step of the dynamics; a wrench is constant for this time [s].
            tolerance: see above.
        """
        self.tolerance = tolerance
        self._step = step
        self.energy = self.held = self.made = self._free = 0.0
        self._wrench, self._rate = np.zeros(6), np.zeros(6)

    @property
    def is_active(self) -> bool:
        """Return True if a contact of this motion returned more energy than it absorbed, beyond the tolerance."""
        return self.made > self.tolerance

    def observe(self, wrench: Array, relative: FrameMotion) -> None:
        """Process the start of a step.

        Args:
            wrench: wrench on the tip in tip axes that acts during this step.
            relative: present motion of the face relative to the tip.
        """
        rate = _rate_at_the_tip(relative)
        if self._wrench.any():
            # the force is constant in a step with linearly varying speed: use the mean of both ends
            self.energy += 0.5 * self._step * float(self._wrench @ (self._rate + rate))
            self.held = max(self.held, self.energy)
            if -self.energy > LEAST_ENERGY:
                self.made = max(self.made, -self.energy / max(self.held, LEAST_ENERGY))
        self._free = 0.0 if wrench.any() else self._free + self._step
        if self._free > JUMP:
            self.energy = 0.0
        self._wrench, self._rate = wrench, rate


def _rate_at_the_tip(relative: FrameMotion) -> Array:
    """Twist of the face relative to the tip, at the point of the face at the tip."""
    v, turning = relative.twist[:3], relative.twist[3:]
    return np.concatenate([v + cross(relative.pose[:3, 3], turning), turning])


def smoothed(push: Array, step: float) -> Array:
    """Moving average of the force over 10 ms, without the oscillation of the plate on the probe [N].

    Args:
        push: force at each step [N].
        step: time step [s].
    """
    count = max(1, 2 * round(0.5 * _SMOOTHED / step) + 1)
    return np.convolve(push, np.full(count, 1.0 / count))[count // 2 : count // 2 + len(push)]


def touches(push: Array, step: float) -> list[tuple[int, int]]:
    """First and last row of each contact; gaps below 20 ms, in which the plate bounces, are included.

    Args:
        push: force at each step [N].
        step: time step [s].
    """
    touching = np.flatnonzero(push > 0.0)
    if not len(touching):
        return []
    parted = np.flatnonzero(np.diff(touching) > JUMP / step)
    firsts, lasts = touching[np.r_[0, parted + 1]], touching[np.r_[parted, len(touching) - 1]]
    return [(int(first), int(last)) for first, last in zip(firsts, lasts, strict=True)]


def longest_passive_delay(stiffness: float, mass: float) -> float:
    """Delay up to which a contact with prediction by acceleration returns no more energy than it absorbed [s].

    It applies to an ideal spring; the lag of a table servo counts as additional delay.

    Args:
        stiffness: contact stiffness [N/m].
        mass: effective mass of both bodies [kg].
    """
    return PASSIVE_TO * float(np.sqrt(mass / stiffness))


def predicted(motion: FrameMotion, horizon: float, order: int = 2) -> FrameMotion:
    """Motion after a time, by a Taylor series.

    Args:
        motion: present motion.
        horizon: prediction time [s].
        order: 0: no prediction; 1: by velocity; 2: by velocity and acceleration.
    """
    if order == 0 or horizon == 0.0:
        return motion
    a = motion.acceleration if order > 1 else np.zeros(6)
    pose = displaced(motion.pose, horizon * motion.twist + 0.5 * horizon**2 * a)
    return FrameMotion(pose, motion.twist + horizon * a, motion.acceleration)
