# SPDX-License-Identifier: Apache-2.0
"""Configuration and rate of motion of a remote robot, from its received states."""

from __future__ import annotations

import itertools
from collections import deque
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.model import Model
from ada_tools.browser.robot_node import Observation, ObservedJoints, ObservedState

_SPAN = 1.0  # [s] interval for estimating the rate
_APART = 0.1  # [s] minimum interval between samples
_LOOKS = 3  # number of increasing samples that indicate motion: more than a single step


def fits(seen: Observation, model: Model) -> bool:
    """Return True if a state has the dimensions of the model; joint states by name always match."""
    return not isinstance(seen, ObservedState) or (len(seen.q), len(seen.v)) == (model.nq, model.nv)


class Pose(NamedTuple):
    """Configuration and velocity assembled from joint states."""

    q: Array
    v: Array | None  # None if a velocity is unknown
    missing: tuple[str, ...]  # joints without data, which keep their positions
    foreign: tuple[str, ...]  # received joints that the model does not have


def pose_of(model: Model, seen: ObservedJoints, before: Array) -> Pose:
    """Configuration and velocity of a model from joint states.

    Joints with one coordinate are read by name; the others keep their positions.

    Args:
        model: robot model.
        seen: joint states by name; mimic joints are ignored.
        before: configuration used for joints without data.
    """
    q, v = before.copy(), np.zeros(model.nv)
    missing, has_velocities = [], True
    for name in model.joint_names:
        joint = model.joints[name]
        if not joint.nq:
            continue
        own = model.q_index(name)
        if joint.nq == joint.nv == 1:
            if name in seen.positions:
                q[own] = seen.positions[name]
            else:
                missing.append(name)
            has_velocities &= name in seen.velocities
            v[model.v_index(name)] = seen.velocities.get(name, 0.0)
            continue
        has_velocities = False
        missing.append(name)
    foreign = tuple(name for name in seen.positions if name not in model.joints)
    return Pose(q, v if has_velocities else None, tuple(missing), foreign)


class ObservedMotion:
    """Estimate whether a remote motion is running, and its speed, from the states received once per frame."""

    def __init__(self) -> None:
        """Start without samples."""
        self._looks: deque[tuple[float, float]] = deque()  # arrival time and time stamp of states

    def look(self, seen: Observation) -> None:
        """Add the latest state."""
        if self._looks and (seen.t < self._looks[-1][1] or seen.arrived < self._looks[-1][0]):
            self._looks.clear()  # the motion restarted
        if not self._looks or seen.arrived - self._looks[-1][0] >= _APART:
            self._looks.append((seen.arrived, seen.t))
        while len(self._looks) > _LOOKS and seen.arrived - self._looks[0][0] > _SPAN:
            self._looks.popleft()

    def forget(self) -> None:
        """Discard all samples."""
        self._looks.clear()

    @property
    def is_running(self) -> bool:
        """Return True if the time stamps of the last samples increase; a single step does not count."""
        last = [t for _, t in self._looks][-_LOOKS:]
        return len(last) == _LOOKS and all(a < b for a, b in itertools.pairwise(last))

    @property
    def factor(self) -> float:
        """Ratio of simulated to real time."""
        if len(self._looks) < 2:
            return 0.0
        (first, begin), (last, end) = self._looks[0], self._looks[-1]
        return (end - begin) / (last - first)
