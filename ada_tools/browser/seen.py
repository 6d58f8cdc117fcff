# SPDX-License-Identifier: Apache-2.0
"""A robot that moves elsewhere, as it is seen: its state or only its joints, and what follows from their arrival."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.model import Model
from ada_dynamics.spatial.orientation import to_quaternion

_SPAN = 1.0  # [s] over which the pace is taken
_APART = 0.1  # [s] between looks at the time of the motion, at least
_LOOKS = 3  # at different times: more than one step


class SeenState(NamedTuple):
    """The whole state of a robot, as its simulation has it."""

    arrived: float  # [s], steady clock
    t: float  # [s]
    q: Array
    v: Array


class SeenJoints(NamedTuple):
    """Joints by name, and transforms of links in their parents where they are known."""

    arrived: float  # [s], steady clock
    t: float  # [s]
    positions: Mapping[str, float]
    velocities: Mapping[str, float]
    frames: Mapping[str, Array]  # by link, its 4x4 pose in the frame above it; of links that move


Seen = SeenState | SeenJoints


def fits(seen: Seen, model: Model) -> bool:
    """True if a state may be that of a model; joints by name always may."""
    return not isinstance(seen, SeenState) or (len(seen.q), len(seen.v)) == (model.nq, model.nv)


class Pose(NamedTuple):
    """Coordinates of a model that were put together from joints."""

    q: Array
    v: Array | None  # None where not all velocities are known
    missing: tuple[str, ...]  # joints of which nothing was seen: they are drawn where they were
    foreign: tuple[str, ...]  # joints that were seen, and that the model does not have


def pose_of(model: Model, seen: SeenJoints, before: Array) -> Pose:
    """Positions and velocities of a model from what was seen of its joints.

    A joint of one coordinate has it from its name; free and ball joints from the transform of their child link.

    Args:
        model: the robot.
        seen: values by name; joints that mimic others may be there and are left out.
        before: positions of joints that were not seen.
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
        if joint.type.quaternion_at() is not None and joint.child in seen.frames:
            q[own] = _coordinates(joint, seen.frames[joint.child])
        else:
            missing.append(name)
    foreign = tuple(name for name in seen.positions if name not in model.joints)
    return Pose(q, v if has_velocities else None, tuple(missing), foreign)


def _coordinates(joint: Joint, pose: Array) -> Array:
    """Positions of a joint that ends in a quaternion, from the pose of its child in its parent."""
    R = joint.rotation.T @ pose[:3, :3]
    w, x, y, z = to_quaternion(R)
    place = joint.rotation.T @ (pose[:3, 3] - joint.xyz) if joint.type.quaternion_at() else np.zeros(0)
    return np.array([*place, x, y, z, w])


class SeenMotion:
    """Time of the motion elsewhere: if it goes on, and how fast; from the states that are looked at, once a frame."""

    def __init__(self) -> None:
        """Begin without a state."""
        self._looks: deque[tuple[float, float]] = deque()  # when a state arrived, and its time

    def look(self, seen: Seen) -> None:
        """Args: the newest state."""
        if self._looks and (seen.t < self._looks[-1][1] or seen.arrived < self._looks[-1][0]):
            self._looks.clear()  # a new start
        if not self._looks or seen.arrived - self._looks[-1][0] >= _APART:
            self._looks.append((seen.arrived, seen.t))
        while len(self._looks) > _LOOKS and seen.arrived - self._looks[0][0] > _SPAN:
            self._looks.popleft()

    def forget(self) -> None:
        """Begin anew."""
        self._looks.clear()

    @property
    def is_going_on(self) -> bool:
        """True if its time went on between each of the last few looks; one step alone does not count."""
        last = [t for _, t in self._looks][-_LOOKS:]
        return len(last) == _LOOKS and all(a < b for a, b in itertools.pairwise(last))

    @property
    def factor(self) -> float:
        """Time of the motion by time that passed."""
        if len(self._looks) < 2:
            return 0.0
        (first, begin), (last, end) = self._looks[0], self._looks[-1]
        return (end - begin) / (last - first)
