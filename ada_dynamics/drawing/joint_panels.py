# SPDX-License-Identifier: Apache-2.0
"""Panels of joints and of a floating base: positions, velocities, accelerations, efforts (figs. 3.3, 3.21, 3.22)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ada_dynamics.analysis.motion import LoopJointMotion, dynamics_of, motion_array, revolute_loops
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.panels import Panel, Series, panel
from ada_dynamics.model.model import Model

_XYZ = ("x", "y", "z")


def _columns(model: Model, unit: str, of_velocities: bool = False) -> Iterator[tuple[str, str, int]]:
    """Joint, label and column of all coordinates of a unit, except those of a floating base."""
    for name in model.joint_names:
        joint = model.joints[name].type
        if joint.leaves_free():
            continue
        first = (model.v_index(name) if of_velocities else model.q_index(name)).start
        for i, own in enumerate(joint.rates if of_velocities else joint.coordinates):
            if own.unit == unit:
                yield name, f"{name} {own.label}".rstrip(), first + i


def angle_columns(model: Model) -> list[int]:
    """Indices of all angles in q."""
    base = base_of(model)
    first = model.q_index(base).start + 3 if base and _has_angles(model) else None
    of_base = () if first is None else range(first, first + 3)
    return [*of_base, *(column for *_, column in _columns(model, "rad"))]


def _joints(motion: Any, rows: Array, sort: str, title: str, unit: str) -> list[Panel]:
    """Panel of all joint coordinates of one unit; empty without such coordinates."""
    columns = _columns(motion.model, sort, of_velocities=True)
    return _panel(motion, rows, columns, title, unit)


def _panel(
    motion: Any, rows: Array, columns: Iterable[tuple[str, str, int]], title: str, unit: str, scale: float = 1.0
) -> list[Panel]:
    series = [Series(label, motion.t, scale * rows[:, column], joint=joint) for joint, label, column in columns]
    return [Panel(title, f"[{unit}]", tuple(series))] if series else []


@panel("position")
def positions(motion: Any) -> list[Panel]:
    """Joint angles [deg], positions [m] and quaternions, in separate panels."""
    sorts = (("rad", "Joint angle", "deg"), ("m", "Joint position", "m"), ("1", "Joint quaternion", "-"))
    found = []
    for sort, title, unit in sorts:
        scale = np.degrees(1.0) if sort == "rad" else 1.0
        found += _panel(motion, motion.q, _columns(motion.model, sort), title, unit, scale)
    return _with_loops(motion, found, lambda joint: np.degrees(joint.angle(motion.q)))


@panel("velocity")
def velocities(motion: Any) -> list[Panel]:
    """Joint velocities."""
    found = _rates(motion, motion.v, "velocity", "s")
    return _with_loops(motion, found, lambda joint: joint.rate(motion.q, motion.v))


@panel("acceleration")
def accelerations(motion: Any) -> list[Panel]:
    """Joint accelerations."""
    rows = motion_array(motion, "a", "accelerations")
    found = _rates(motion, rows, "acceleration", "s²")
    return _with_loops(motion, found, lambda joint: joint.acceleration(motion.q, motion.v, rows))


def _with_loops(motion: Any, panels: list[Panel], curve: Callable[[LoopJointMotion], Array]) -> list[Panel]:
    """Add the curves of revolute loop joints to the first panel if it contains angles."""
    loops = revolute_loops(motion.model)
    if not loops or not any(_columns(motion.model, "rad")):
        return panels
    dynamics = dynamics_of(motion)
    more = [Series(name, motion.t, curve(LoopJointMotion(dynamics, name)), joint=name) for name in loops]
    return [replace(panels[0], series=(*panels[0].series, *more)), *panels[1:]]


def _rates(motion: Any, rows: Array, what: str, per: str) -> list[Panel]:
    turns = _joints(motion, rows, "rad", f"Joint {what}", f"rad/{per}")
    return [*turns, *_joints(motion, rows, "m", f"Joint {what}{' (slides)' if turns else ''}", f"m/{per}")]


@panel("effort")
def efforts(motion: Any) -> list[Panel]:
    """Joint torques and forces."""
    rows = motion_array(motion, "tau", "joint efforts")
    return [*_joints(motion, rows, "rad", "Joint torque", "N m"), *_joints(motion, rows, "m", "Joint force", "N")]


@panel("joint_force")
def joint_forces(motion: Any) -> list[Panel]:
    """Magnitude of the force in each joint, also of loops."""
    return _joint_loads(motion, "Joint force (magnitude)", "N", slice(0, 3))


@panel("joint_moment")
def joint_moments(motion: Any) -> list[Panel]:
    """Magnitude of the moment in each joint, also of loops."""
    return _joint_loads(motion, "Joint moment (magnitude)", "N m", slice(3, 6))


def _joint_loads(motion: Any, title: str, unit: str, part: slice) -> list[Panel]:
    """Panel of the magnitude of the uniquely determined components."""
    series, note = [], ""
    for name, wrench in (getattr(motion, "wrenches", None) or {}).items():
        unique = np.asarray(motion.wrenches_unique[name][part])
        note = note if unique.all() else "without indeterminate components"
        joint = name if name in motion.model.joint_names else ""
        series.append(Series(name, motion.t, np.linalg.norm(wrench[:, part] * unique, axis=1), joint=joint))
    return [Panel(title, f"[{unit}]", tuple(series), note=note)] if series else []


# --- floating base --------------------------------------------------------------------------------------------------
_EULER = ("z", "y'", "x''")
_BASE = {  # name -> rows, description, first of six, title, unit; in base axes, or rates of Euler angles
    "base_velocity": ("v", "velocities", 0, "Base velocity", "m/s"),
    "base_angular_velocity": ("v", "velocities", 3, "Base angular velocity", "rad/s"),
    "base_acceleration": ("a", "accelerations", 0, "Base acceleration", "m/s²"),
    "base_angular_acceleration": ("a", "accelerations", 3, "Base angular acceleration", "rad/s²"),
    "base_force": ("tau", "joint efforts", 0, "Base force", "N"),  # of a motor; zero for a floating base
    "base_torque": ("tau", "joint efforts", 3, "Base torque", "N m"),
}


def base_of(model: Model) -> str:
    """Name of the first floating joint, or an empty string."""
    return next((name for name in model.joint_names if model.joints[name].type.leaves_free()), "")


def _has_angles(model: Model) -> bool:
    """Return True if the orientation of the floating base is given by Euler angles."""
    return model.joints[base_of(model)].type.quaternion_at() is None


def _of_base(motion: Any, rows: Array, first: int, labels: Sequence[str], title: str, unit: str) -> list[Panel]:
    return [Panel.of(title, f"[{unit}]", motion.t, {label: rows[:, first + i] for i, label in enumerate(labels)})]


@panel("base_position")
def base_position(motion: Any) -> list[Panel]:
    """Position of the floating base in the world frame."""
    base = base_of(motion.model)
    return _of_base(motion, motion.q, motion.model.q_index(base).start, _XYZ, "Base position", "m") if base else []


@panel("base_orientation")
def base_orientation(motion: Any) -> list[Panel]:
    """Quaternion or z-y-x Euler angles of the floating base."""
    base = base_of(motion.model)
    if not base:
        return []
    first = motion.model.q_index(base).start + 3
    if _has_angles(motion.model):
        return _of_base(motion, np.degrees(1.0) * motion.q, first, _EULER, "Base angle", "deg")
    quaternion = [f"$q_{i}$" for i in range(1, 5)]  # eq. 3.32
    return _of_base(motion, motion.q, first, quaternion, "Base quaternion", "-")


@panel("base_orientation_rate")
def base_orientation_rate(motion: Any) -> list[Panel]:
    """Rate of the quaternion of the floating base (eq. 3.34); empty for Euler angles."""
    base = base_of(motion.model)
    if not base or _has_angles(motion.model):
        return []
    at, rate = motion.model.q_index(base), motion.model.v_index(base)
    x, y, z, w = motion.q[:, at.start + 3 : at.start + 7].T
    p, q, r = motion.v[:, rate.start + 3 : rate.start + 6].T
    rates = 0.5 * np.column_stack(
        [w * p - z * q + y * r, z * p + w * q - x * r, -y * p + x * q + w * r, -x * p - y * q - z * r]
    )
    labels = [f"$\\dot{{q}}_{i}$" for i in range(1, 5)]
    return _of_base(motion, rates, 0, labels, "Rate of base quaternion", "1/s")


def _base_rates(motion: Any, name: str) -> list[Panel]:
    """Panel of an entry of `_BASE`."""
    attribute, what, offset, title, unit = _BASE[name]
    rows, base = motion_array(motion, attribute, what), base_of(motion.model)
    if not base:
        return []
    labels = _EULER if offset and _has_angles(motion.model) else _XYZ
    return _of_base(motion, rows, motion.model.v_index(base).start + offset, labels, title, unit)


for _name in _BASE:
    panel(_name)(partial(_base_rates, name=_name))
