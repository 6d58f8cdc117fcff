# SPDX-License-Identifier: Apache-2.0
"""Replace three revolute joints with intersecting axes by one spherical joint that keeps their limits.

Takahashi 2012, sec. 8.2, 2 and 3: one joint with three degrees of freedom costs less than three with one. `Turns`
computes the three angles from the quaternion.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.edit.poses import compose
from ada_dynamics.model.edit.recut import carry
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.joints import Spherical
from ada_dynamics.model.model import Model
from ada_dynamics.model.rotations import Pose, clean_rotation
from ada_dynamics.model.turns import Turns

_MEET = 1e-9  # [m], largest distance of the axes from their point of intersection
_LOADS = ("damping", "friction", "armature", "stiffness")


def merge_turns(model: Model, joints: Sequence[str], name: str = "") -> Model:
    """Return the model with one spherical joint in place of three revolute ones, with their position limits.

    The `turns` of the joint are the three joints in their order. The links between them are removed, as are velocity
    and effort limits, which apply to single axes.

    Example::

        merged = merge_turns(model, ("hip_yaw", "hip_roll", "hip_pitch"), "hip")
        angles = merged.joints["hip"].turns.read(q[merged.q_index("hip")])

    Args:
        model: the model; it is not changed.
        joints: names of the three joints from parent to child; the second axis is perpendicular to both others.
        name: of the spherical joint; by default that of the first joint.

    Raises:
        InputError: the joints are not consecutive, their axes do not intersect, or they have properties that one joint
            cannot have.
        ModelError: the angles or their limits are undefined: see `Turns`.
    """
    chain = _chain(model, joints)
    first, last = chain[0], chain[-1]
    frames: list[Pose] = [(first.rotation, first.xyz)]  # at zero, in the parent link
    for joint in chain[1:]:
        frames.append(compose(frames[-1], (joint.rotation, joint.xyz)))
    axes = [R @ joint.axis for (R, _), joint in zip(frames, chain, strict=True)]
    R, p = frames[-1]
    centre = p if _misses(frames, axes, p) < _MEET else _meeting_point(chain, frames, axes)
    limits = [joint.limits for joint in chain]
    turns = Turns(clean_rotation(np.array(axes) @ R), [own.lower for own in limits], [own.upper for own in limits])
    parts = Parts.of(model)
    parts.name_actuated(model.actuated)
    gone = [joint.name for joint in chain]
    moves = [one in model.actuated for one in gone]
    if any(moves) != all(moves):
        raise InputError(
            f"of the joints {', '.join(gone)} some have motors and some have none; either all or none must have one."
        )
    before = list(parts.joints)
    parts.joints = {one: joint for one, joint in parts.joints.items() if one not in gone}
    parts.links = {one: link for one, link in parts.links.items() if one not in (j.child for j in chain[:-1])}
    merged = name or first.name
    parts.actuated = [merged if one == gone[0] else one for one in parts.actuated or [] if one not in gone[1:]]
    joint = Joint(merged, Spherical.kind, first.parent, last.child, centre, R, turns=turns)
    added = len(parts.joints)
    carry(parts, joint, last.child, (np.eye(3), R.T @ (p - centre)))
    _in_place(parts, before.index(first.name), added)
    return parts.build()


def _chain(model: Model, joints: Sequence[str]) -> list[Joint]:
    """The three joints, checked to be consecutive without other parts between them."""
    if len(joints) != 3 or isinstance(joints, str):
        raise InputError(f"joints to merge are {joints!r:.100}; give the names of three revolute joints.")
    for name in joints:
        if name not in model.joints:
            raise unknown_name("joint", name, model.joints)
    chain = [model.joints[name] for name in joints]
    followed = {joint.mimic.joint for joint in model.joints.values() if joint.mimic}
    for joint in chain:
        loads = [what for what in _LOADS if getattr(joint, what)]
        why = None
        if joint.kind not in ("revolute", "continuous"):
            why = f"is {joint.kind}; only revolute and continuous joints are merged"
        elif joint.mimic or joint.name in followed:
            why = "mimics another joint, or is mimicked: its angle must stay a coordinate"
        elif loads:
            why = f"has {', '.join(loads)}, which would act about all axes of one joint"
        if why:
            raise InputError(f"joint {joint.name!r} {why}.")
    for above, below in pairwise(chain):
        if above.child != below.parent:
            raise InputError(f"joint {below.name!r} does not follow {above.name!r}: it is on link {below.parent!r}.")
        link = model.links[above.child]
        held = [one.name for one in model.joints.values() if one.parent == link.name and one is not below]
        held += [loop.name for loop in model.loops.values() if link.name in (loop.parent, loop.child)]
        if link.mass or link.inertia.any() or link.collisions or held:
            has = f"carries {', '.join(map(repr, held))}" if held else "has mass, inertia or collision shapes"
            raise InputError(f"link {link.name!r} between {above.name!r} and {below.name!r} {has}; it must be empty.")
    return chain


def _misses(frames: Sequence[Pose], axes: Sequence[Array], point: Array) -> float:
    """Largest distance of the axes from a point."""
    return max(float(np.linalg.norm(np.cross(a, point - p))) for (_, p), a in zip(frames, axes, strict=True))


def _meeting_point(chain: Sequence[Joint], frames: Sequence[Pose], axes: Sequence[Array]) -> Array:
    across = [np.eye(3) - np.outer(a, a) for a in axes]
    about = sum(P @ p for P, (_, p) in zip(across, frames, strict=True))
    found = np.linalg.solve(np.sum(across, axis=0), about)
    off = _misses(frames, axes, found)
    if off > _MEET:
        names = ", ".join(repr(joint.name) for joint in chain)
        raise InputError(f"the axes of {names} do not meet in a point: they miss it by {off:.3g} m.")
    return np.asarray(found)


def _in_place(parts: Parts, index: int, added: int) -> None:
    """Move the joints that were added last to an index, to keep the order of coordinates."""
    names = list(parts.joints)
    order = [*names[:index], *names[added:], *names[index:added]]
    parts.joints = {name: parts.joints[name] for name in order}
