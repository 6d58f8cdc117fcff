# SPDX-License-Identifier: Apache-2.0
"""Edits of joints: locked at a position, and split into joints with one axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, WrongTypeError, unknown_name
from ada_dynamics.model.description import ROOT_JOINT
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.elements import Joint, Link
from ada_dynamics.model.joints import Continuous, Fixed, Universal
from ada_dynamics.model.model import Model, displaced


def lock(model: Model, positions: Mapping[str, ArrayLike]) -> Model:
    """Return the model with some joints fixed at given positions.

    Links, link frames and loops are kept; joints that mimic a locked joint are locked with it. The joint of a floating
    base has the name `root_joint`.

    Example::

        arm = lock(model, {"gripper": 0.02})

    Args:
        model: the model; it is not changed.
        positions: position of each joint to lock, with as many numbers as the joint has position variables.

    Raises:
        InputError: there is no such joint, it has no coordinates of its own, or the position is invalid.
    """
    if not isinstance(positions, Mapping):
        raise WrongTypeError(f"positions are {positions!r:.100}; lock needs a mapping {{joint: position}}.")
    held = {name: _checked_position(model, name, value) for name, value in positions.items()}
    parts = Parts.of(model, list_actuated=True)
    if ROOT_JOINT in held:
        parts.free_root_as_joint()
    for name, joint in model.joints.items():
        source = joint.mimic.joint if joint.mimic else name
        if source in held:
            own = held[source]
            if joint.mimic:
                own = joint.mimic.multiplier * own + joint.mimic.offset
            R, p = displaced(model, name, own)
            parts.joints[name] = Joint(name, Fixed.kind, joint.parent, joint.child, p, R)
    parts.actuated = [name for name in parts.actuated or [] if name not in held]
    return parts.build()


def reduce(model: Model, keep: str | Iterable[str], q: Array | None = None) -> Model:
    """Return the model with all joints locked except those in `keep`.

    Example::

        left_arm = reduce(humanoid, [name for name in humanoid.joint_names if name.startswith("left_arm")])

    Args:
        model: the model; it is not changed.
        keep: name or names of joints to keep, including `root_joint` of a floating base if it is to be kept.
        q: configuration of the locked joints; neutral by default.

    Raises:
        InputError: there is no such joint, or q is invalid.
    """
    kept = {keep} if isinstance(keep, str) else set(keep)
    for name in sorted(kept):
        model.q_index(name)  # refuses names that have no coordinates
    at = model.neutral() if q is None else model.as_positions(q)
    return lock(model, {name: at[model.q_index(name)] for name in model.joint_names if name not in kept})


def _checked_position(model: Model, name: str, value: ArrayLike) -> Array:
    if name not in model.joints:
        raise unknown_name("joint", name, model.joint_names)
    at = model.q_index(name)
    try:
        own = np.atleast_1d(np.asarray(value, dtype=float))
    except (TypeError, ValueError):
        own = np.array([np.nan])
    count = at.stop - at.start
    if own.shape != (count,) or not np.isfinite(own).all():
        raise InputError(f"position of joint {name!r} is {value!r}; it must be {count} finite number(s).")
    q = model.neutral()
    q[at] = own
    for problem in model.position_problems(q):
        if problem.startswith(f"joint {name!r}"):
            raise InputError(f"position to lock at: {problem}")
    return own


def split_universals(model: Model) -> Model:
    """Return the model with joints NAME_1, NAME_2 and a massless link NAME_cross for each universal joint NAME.

    URDF 1.0 can represent these. The order and meaning of q and v are unchanged.

    Args:
        model: the model; it is returned if its tree has no universal joint.
    """
    universals = [joint for joint in model.joints.values() if joint.kind == Universal.kind]
    if not universals:
        return model
    parts = Parts.of(model, list_actuated=True)
    names: dict[str, list[str]] = {}
    joints: dict[str, Joint] = {}
    for name, joint in parts.joints.items():
        if joint.kind != Universal.kind:
            joints[name] = joint
            continue
        cross = parts.unused(f"{name}_cross")
        parts.links[cross] = Link(cross)
        first, second = parts.unused(f"{name}_1"), parts.unused(f"{name}_2")
        names[name] = [first, second]
        assert joint.axis2 is not None  # ensured by checked_values
        own = replace(joint, name=first, kind=Continuous.kind, child=cross, axis2=None)
        joints[first] = own
        joints[second] = replace(
            own,
            name=second,
            parent=cross,
            child=joint.child,
            xyz=np.zeros(3),
            rotation=np.eye(3),
            axis=joint.axis2,
        )
    parts.joints = joints
    parts.actuated = [new for old in parts.actuated or [] for new in names.get(old, [old])]
    return parts.build()
