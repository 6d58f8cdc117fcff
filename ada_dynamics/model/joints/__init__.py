# SPDX-License-Identifier: Apache-2.0
"""Joint types, one class each."""

from ada_dynamics.model.joints.axis_joints import Continuous, Cylindrical, Fixed, Helical, Prismatic, Revolute
from ada_dynamics.model.joints.base import Coordinate, JointType
from ada_dynamics.model.joints.euler import FloatingEuler, SphericalEuler
from ada_dynamics.model.joints.planar import Planar
from ada_dynamics.model.joints.quaternion import Floating, Spherical
from ada_dynamics.model.joints.universal import Universal

JOINT_TYPES: dict[str, type[JointType]] = {
    cls.kind: cls
    for cls in (
        Revolute,
        Continuous,
        Prismatic,
        Cylindrical,
        Helical,
        Universal,
        Spherical,
        SphericalEuler,
        Planar,
        Floating,
        FloatingEuler,
        Fixed,
    )
}

# Joints that may close a loop.
LOOP_KINDS: tuple[str, ...] = tuple(kind for kind, cls in JOINT_TYPES.items() if cls.closes_as == kind)

# Names of joint kinds in other formats.
_OTHER_NAMES = {name: kind for kind, cls in JOINT_TYPES.items() for name in cls.other_names}


def joint_kind(name: str) -> str:
    """Kind of joint for a name used by any format; unknown names are returned unchanged."""
    return _OTHER_NAMES.get(name, name)


def loop_kind(name: str) -> str:
    """Kind of loop joint for a name used by any format; unknown names are returned unchanged."""
    kind = joint_kind(name)
    return JOINT_TYPES[kind].moves_as if kind in JOINT_TYPES and JOINT_TYPES[kind].moves_as in LOOP_KINDS else kind


# Kinds of joints that can have a spring.
SPRUNG: tuple[str, ...] = tuple(kind for kind, cls in JOINT_TYPES.items() if cls.can_have_spring)


def _check_types() -> None:
    """Raise a TypeError for incomplete joint types at import."""
    for kind, cls in JOINT_TYPES.items():
        missing = [*sorted(cls.__abstractmethods__), *(name for name in _REQUIRED if not hasattr(cls, name))]
        if missing:
            raise TypeError(f"joint type {kind!r} ({cls.__module__}) does not define {', '.join(missing)}.")
        if (len(cls.coordinates), len(cls.rates)) != (cls.nq, cls.nv):
            raise TypeError(f"joint type {kind!r} has coordinates and rates whose numbers differ from nq and nv.")
        for name in (cls.moves_as, cls.closes_as):
            if name is not None and name not in JOINT_TYPES:
                raise TypeError(f"joint type {kind!r} names the unknown type {name!r}.")


_REQUIRED = ("nq", "nv", "axes", "moves_as", "closes_as", "coordinates", "rates")
_check_types()

__all__ = [
    "JOINT_TYPES",
    "LOOP_KINDS",
    "SPRUNG",
    "Continuous",
    "Coordinate",
    "Cylindrical",
    "Fixed",
    "Floating",
    "FloatingEuler",
    "Helical",
    "JointType",
    "Planar",
    "Prismatic",
    "Revolute",
    "Spherical",
    "SphericalEuler",
    "Universal",
    "joint_kind",
    "loop_kind",
]
