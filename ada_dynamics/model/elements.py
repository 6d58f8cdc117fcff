# SPDX-License-Identifier: Apache-2.0
"""Links and joints as a user sees them: plain data in the frames of the robot description."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.model.joints import JOINT_TYPES

Array = NDArray[np.float64]


def _zeros3() -> Array:
    return np.zeros(3)


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body. Its frame is that of the joint which carries it."""

    name: str
    mass: float = 0.0  # [kg]
    com: Array = field(default_factory=_zeros3)  # in the link's frame [m]
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))  # about the CoM, in the link's axes [kg m²]
    has_inertial: bool = True  # whether the description gave an inertia at all


@dataclass(frozen=True)
class Limits:
    """Bounds of a joint; infinite where there are none."""

    lower: float = -np.inf  # [rad] or [m]
    upper: float = np.inf  # [rad] or [m]
    velocity: float = np.inf  # [rad/s] or [m/s]
    effort: float = np.inf  # [N m] or [N]


@dataclass(frozen=True)
class Mimic:
    """q = multiplier * q(joint) + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, eq=False)
class LoopJoint:
    """A joint that closes a loop between two links of the tree; at its zero position its two frames coincide.

    It has no coordinates of its own: where it stands follows from the tree's.
    """

    name: str
    kind: str  # one of LOOP_KINDS
    parent: str  # link, or "world"
    child: str
    parent_xyz: Array = field(default_factory=_zeros3)  # position of the joint in the parent link's frame [m]
    parent_rotation: Array = field(default_factory=lambda: np.eye(3))  # and its orientation
    child_xyz: Array = field(default_factory=_zeros3)  # the same in the child link's frame
    child_rotation: Array = field(default_factory=lambda: np.eye(3))
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))  # in the joint's frame, unit length
    axis2: Array | None = None  # second axis of a universal joint, in the child-side frame


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two links. At its zero position the child's frame is the joint's frame."""

    name: str
    kind: str  # a key of JOINT_TYPES
    parent: str
    child: str
    xyz: Array = field(default_factory=_zeros3)  # position of the joint in the parent link's frame [m]
    rotation: Array = field(default_factory=lambda: np.eye(3))  # and its orientation
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))  # in the joint's frame, unit length
    axis2: Array | None = None  # second axis of a universal joint
    limits: Limits = Limits()
    damping: float = 0.0  # [N m s/rad] or [N s/m], on every velocity of the joint
    friction: float = 0.0  # Coulomb friction [N m] or [N]
    armature: float = 0.0  # reflected rotor inertia [kg m²] or [kg]
    mimic: Mimic | None = None

    @property
    def nq(self) -> int:
        """Number of own position variables; none for a joint that mimics another."""
        return 0 if self.mimic else JOINT_TYPES[self.kind].nq

    @property
    def nv(self) -> int:
        """Number of own velocities; none for a joint that mimics another."""
        return 0 if self.mimic else JOINT_TYPES[self.kind].nv
