# SPDX-License-Identifier: Apache-2.0
"""Panels of joints and of a floating base: positions, velocities, accelerations, efforts (figs. 3.3, 3.21, 3.22)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.analysis.motion import rows_of
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel, Series, panel
from ada_dynamics.model.joints import (
    Continuous,
    Cylindrical,
    Floating,
    FloatingEuler,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Universal,
)
from ada_dynamics.model.model import Model

# What each coordinate of a joint is: an (a)ngle, a (d)istance or a (q)uaternion's part; and its name.
_POSITIONS: dict[str, str] = {
    Revolute.kind: "a",
    Continuous.kind: "a",
    Prismatic.kind: "d",
    Cylindrical.kind: "da",
    Universal.kind: "aa",
    Spherical.kind: "qqqq",
    SphericalEuler.kind: "aaa",
    Planar.kind: "dda",
}
_VELOCITIES: dict[str, str] = {**_POSITIONS, Spherical.kind: "aaa"}
_PARTS: dict[str, tuple[str, ...]] = {
    Cylindrical.kind: ("slide", "turn"),
    Universal.kind: ("1", "2"),
    Spherical.kind: ("x", "y", "z", "w"),
    SphericalEuler.kind: ("z", "y'", "z''"),
    Planar.kind: ("x", "y", "turn"),
}
_FREE = (Floating.kind, FloatingEuler.kind)
_XYZ = ("x", "y", "z")


class _Column(NamedTuple):
    """One coordinate of a joint; of a floating base, which is always drawn, without the joint's name."""

    at: int
    joint: str = ""


class _Coordinates(NamedTuple):
    """Columns of one kind of coordinate, by label."""

    angles: dict[str, _Column]
    distances: dict[str, _Column]
    quaternions: dict[str, _Column]


def _coordinates(model: Model, of_velocities: bool) -> _Coordinates:
    """Coordinates of all joints but those of a floating base."""
    found = _Coordinates({}, {}, {})
    homes = {"a": found.angles, "d": found.distances, "q": found.quaternions}
    for name in model.joint_names:
        kind = model.joints[name].kind
        letters = (_VELOCITIES if of_velocities else _POSITIONS).get(kind, "")
        first = (model.v_index(name) if of_velocities else model.q_index(name)).start
        for i, letter in enumerate(letters):
            label = name if len(letters) == 1 else f"{name} {_PARTS[kind][i]}"
            homes[letter][label] = _Column(first + i, name)
    return found


def angle_columns(model: Model) -> list[int]:
    """Places of all angles in q."""
    base = base_of(model)
    of_base = range(base.q + 3, base.q + 6) if base is not None and base.has_angles else ()
    return [*of_base, *(column.at for column in _coordinates(model, False).angles.values())]


def _panel(
    title: str, unit: str, t: Array, rows: Array, columns: dict[str, _Column], scale: float = 1.0
) -> list[Panel]:
    if not columns:
        return []
    series = [Series(label, t, scale * rows[:, column.at], joint=column.joint) for label, column in columns.items()]
    return [Panel(title, f"[{unit}]", tuple(series))]


@panel("position")
def positions(motion: Any) -> list[Panel]:
    """Joint angles [deg]; distances [m] and quaternions in panels of their own."""
    own = _coordinates(motion.model, False)
    return [
        *_panel("Joint angle", "deg", motion.t, motion.q, own.angles, np.degrees(1.0)),
        *_panel("Joint position", "m", motion.t, motion.q, own.distances),
        *_panel("Joint quaternion", "-", motion.t, motion.q, own.quaternions),
    ]


@panel("velocity")
def velocities(motion: Any) -> list[Panel]:
    """Joint velocities."""
    return _rates(motion, motion.v, "velocity", "s")


@panel("acceleration")
def accelerations(motion: Any) -> list[Panel]:
    """Joint accelerations."""
    return _rates(motion, rows_of(motion, "a", "accelerations"), "acceleration", "s²")


def _rates(motion: Any, rows: Array, what: str, per: str) -> list[Panel]:
    own = _coordinates(motion.model, True)
    both = bool(own.angles and own.distances)
    return [
        *_panel(f"Joint {what}", f"rad/{per}", motion.t, rows, own.angles),
        *_panel(f"Joint {what}" + (" (slides)" if both else ""), f"m/{per}", motion.t, rows, own.distances),
    ]


@panel("effort")
def efforts(motion: Any) -> list[Panel]:
    """Joint torques and forces."""
    rows, own = rows_of(motion, "tau", "joint efforts"), _coordinates(motion.model, True)
    return [
        *_panel("Joint torque", "N m", motion.t, rows, own.angles),
        *_panel("Joint force", "N", motion.t, rows, own.distances),
    ]


# --- floating base --------------------------------------------------------------------------------------------------
class _Base(NamedTuple):
    """Where the coordinates of a floating base are."""

    name: str
    q: int
    v: int
    has_angles: bool


def base_of(model: Model) -> _Base | None:
    """The first joint that leaves a link free; None where there is none."""
    for name in model.joint_names:
        kind = model.joints[name].kind
        if kind in _FREE:
            return _Base(name, model.q_index(name).start, model.v_index(name).start, kind == FloatingEuler.kind)
    return None


def _base_panel(motion: Any, title: str, unit: str, rows: Array, first: int, labels: tuple[str, ...]) -> list[Panel]:
    return _panel(title, unit, motion.t, rows, {label: _Column(first + i) for i, label in enumerate(labels)})


@panel("base_position")
def base_position(motion: Any) -> list[Panel]:
    """Position of the floating base in the world."""
    base = base_of(motion.model)
    return [] if base is None else _base_panel(motion, "Base position", "m", motion.q, base.q, _XYZ)


@panel("base_orientation")
def base_orientation(motion: Any) -> list[Panel]:
    """Its quaternion, or its z-y-x Euler angles."""
    base = base_of(motion.model)
    if base is None:
        return []
    if base.has_angles:
        columns = {label: _Column(base.q + 3 + i) for i, label in enumerate(("z", "y'", "x''"))}
        return _panel("Base angle", "deg", motion.t, motion.q, columns, np.degrees(1.0))
    quaternion = tuple(f"$q_{i}$" for i in range(1, 5))  # eq. 3.32
    return _base_panel(motion, "Base quaternion", "-", motion.q, base.q + 3, quaternion)


def _base_rates(motion: Any, rows: Array, linear: bool, title: str, unit: str) -> list[Panel]:
    base = base_of(motion.model)
    if base is None:
        return []
    labels = ("z", "y'", "x''") if base.has_angles and not linear else _XYZ
    return _base_panel(motion, title, unit, rows, base.v + (0 if linear else 3), labels)


@panel("base_velocity")
def base_velocity(motion: Any) -> list[Panel]:
    """Its linear velocity, in its own axes (with Euler angles: in the world's)."""
    return _base_rates(motion, motion.v, True, "Base velocity", "m/s")


@panel("base_angular_velocity")
def base_angular_velocity(motion: Any) -> list[Panel]:
    """Its angular velocity in its own axes (with Euler angles: their rates)."""
    return _base_rates(motion, motion.v, False, "Base angular velocity", "rad/s")


@panel("base_acceleration")
def base_acceleration(motion: Any) -> list[Panel]:
    """Rate of `base_velocity`."""
    return _base_rates(motion, rows_of(motion, "a", "accelerations"), True, "Base acceleration", "m/s²")


@panel("base_angular_acceleration")
def base_angular_acceleration(motion: Any) -> list[Panel]:
    """Rate of `base_angular_velocity`."""
    rows = rows_of(motion, "a", "accelerations")
    return _base_rates(motion, rows, False, "Base angular acceleration", "rad/s²")


@panel("base_force")
def base_force(motion: Any) -> list[Panel]:
    """Force of a motor on the base: zero where it floats."""
    return _base_rates(motion, rows_of(motion, "tau", "joint efforts"), True, "Base force", "N")


@panel("base_torque")
def base_torque(motion: Any) -> list[Panel]:
    """Torque of a motor on the base."""
    return _base_rates(motion, rows_of(motion, "tau", "joint efforts"), False, "Base torque", "N m")
