# SPDX-License-Identifier: Apache-2.0
"""Joint types, one class each."""

from ada_dynamics.model.joints.base import JointType
from ada_dynamics.model.joints.cylindrical import Cylindrical
from ada_dynamics.model.joints.euler import FloatingEuler, SphericalEuler
from ada_dynamics.model.joints.fixed import Fixed
from ada_dynamics.model.joints.planar import Planar
from ada_dynamics.model.joints.prismatic import Prismatic
from ada_dynamics.model.joints.quaternion import Floating, Spherical
from ada_dynamics.model.joints.revolute import Continuous, Revolute
from ada_dynamics.model.joints.universal import Universal

JOINT_TYPES: dict[str, type[JointType]] = {
    cls.kind: cls
    for cls in (
        Fixed,
        Revolute,
        Continuous,
        Prismatic,
        Cylindrical,
        Universal,
        Spherical,
        SphericalEuler,
        Planar,
        Floating,
        FloatingEuler,
    )
}

# Joints that may close a loop.
LOOP_KINDS: tuple[str, ...] = tuple(
    cls.kind for cls in (Revolute, Prismatic, Cylindrical, Universal, Spherical, Planar, Fixed)
)

__all__ = [
    "JOINT_TYPES",
    "LOOP_KINDS",
    "Continuous",
    "Cylindrical",
    "Fixed",
    "Floating",
    "FloatingEuler",
    "JointType",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "SphericalEuler",
    "Universal",
]
