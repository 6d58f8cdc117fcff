# SPDX-License-Identifier: Apache-2.0
"""Forces for the steps whose answer is late or lost: from the last one, by how stiff the touch has shown to be.

While answers come, the slope of the force over the way of the plate along it is identified. Where an answer is missing,
the force goes on along that slope with the way that the plate was sent meanwhile; correcting forces by an identified
stiffness is what "A force and displacement compensation method toward divergence and accuracy of hardware-in-the-loop
simulation system for manipulator docking" does, there for the delay itself.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array

_MEMORY = 256  # poses that are remembered
_FORGETTING = 0.98  # per answer: some 50 answers count
_ENOUGH = 5  # answers in a touch before its slope is believed
_SHORT = 1e-7  # [m] of way (standard deviation) that tells nothing yet
LONGEST_FILL = 10  # steps; after that a force is not guessed any longer but held


class Sent(NamedTuple):
    """A pose that went to the table.

    Attributes:
        time: simulated, that it is meant for [s].
        place: of the face, as the tip sees it [m].
    """

    time: float
    place: Array


class ForceFilling:
    """Remembers poses and forces, and guesses the force of a step whose own has not come.

    Attributes:
        stiffness: identified, along the force [N/m]; what was expected until then.
        filled: steps whose force was guessed.
    """

    def __init__(self, step: float, least_force: float, expected_stiffness: float = 0.0) -> None:
        """Begin.

        Args:
            step: of the dynamics [s].
            least_force: under which nothing touches [N].
            expected_stiffness: until it is identified [N/m]; with 0 forces are held until then.
        """
        self._step, self._least = step, least_force
        self.stiffness = expected_stiffness
        self.filled = 0
        self._sent: deque[Sent] = deque(maxlen=_MEMORY)
        self._forget()

    def _forget(self) -> None:
        self._weight = self._count = 0.0
        self._mean = np.zeros(2)  # way, force
        self._spread = np.zeros((2, 2))

    def restart(self) -> None:
        """Another motion begins, with the same stiffness."""
        self._sent.clear()
        self._forget()

    def sent(self, time: float, place: Array) -> None:
        """A pose goes out."""
        self._sent.append(Sent(time, place))

    def learn(self, pose_time: float, force: Array) -> None:
        """An answer came: the force on the tip at a pose."""
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
        """The wrench on the tip at the pose of one time, from that at the pose of another one before.

        Args:
            wanted_time: of the pose whose force is wanted [s].
            pose_time: of the pose whose force is known [s].
            wrench: known.
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
        return np.asarray(wrench * max(0.0, 1.0 + more / size))  # moments go with the force: the place stays

    def _place(self, time: float) -> Array | None:
        """Where the plate was sent for a time, between the poses around it."""
        later: Sent | None = None
        for one in reversed(self._sent):
            if one.time <= time:
                if later is None or later.time == one.time:
                    return one.place
                share = (time - one.time) / (later.time - one.time)
                return np.asarray(one.place + share * (later.place - one.place))
            later = one
        return None
