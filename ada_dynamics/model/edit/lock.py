# SPDX-License-Identifier: Apache-2.0
"""Joints held at a position: the model without their coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, WrongTypeError, unknown_name
from ada_dynamics.model.description import ROOT_JOINT
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.edit.poses import displaced
from ada_dynamics.model.elements import Joint, Limits
from ada_dynamics.model.joints import Fixed
from ada_dynamics.model.model import Model
from ada_dynamics.model.rigid import Pose


def lock(model: Model, positions: Mapping[str, ArrayLike]) -> Model:
    """The model with some joints fixed at given positions.

    Links, loops and the frames of all links stay; joints that mimic a locked one are locked with it. A floating base
    is locked by the name `root_joint`.

    Example::

        arm = lock(model, {"gripper": 0.02})

    Args:
        model: the model; it is not changed.
        positions: position of each joint to lock, as many numbers as the joint has position variables.

    Raises:
        InputError: there is no such joint, it has no coordinates of its own, or the position is unusable.
    """
    if not isinstance(positions, Mapping):
        raise WrongTypeError(
            f"positions are {positions!r:.100}; lock needs where each joint is held: {{joint: position}}."
        )
    held = {name: _checked_position(model, name, value) for name, value in positions.items()}
    parts = Parts.of(model)
    if ROOT_JOINT in held:
        parts.free_root_as_joint()
    parts.name_actuated(model.actuated)
    for name, joint in model.joints.items():
        source = joint.mimic.joint if joint.mimic else name
        if source in held:
            own = held[source]
            if joint.mimic:
                own = joint.mimic.multiplier * own + joint.mimic.offset
            parts.joints[name] = _fixed(joint, displaced(model, name, own))
    parts.actuated = [name for name in parts.actuated or [] if name not in held]
    return parts.build()


def reduce(model: Model, keep: str | Iterable[str], q: Array | None = None) -> Model:
    """The model with all joints locked except some.

    Example::

        left_arm = reduce(humanoid, [name for name in humanoid.joint_names if name.startswith("left_arm")])

    Args:
        model: the model; it is not changed.
        keep: joints, or the one, that go on moving; a floating base only if its `root_joint` is among them.
        q: where the others are held; the neutral configuration by default.

    Raises:
        InputError: there is no such joint, or q is unusable.
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


def _fixed(joint: Joint, pose: Pose) -> Joint:
    """A fixed joint in the place of one that moves."""
    R, p = pose
    return replace(
        joint,
        kind=Fixed.kind,
        xyz=p,
        rotation=R,
        axis2=None,
        limits=Limits(),
        damping=0.0,
        friction=0.0,
        armature=0.0,
        stiffness=0.0,
        rest=0.0,
        constants={},
        mimic=None,
        turns=None,
    )
