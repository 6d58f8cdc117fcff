# SPDX-License-Identifier: Apache-2.0
"""Edits of joints: locked, split, and another spanning tree of the same mechanism.

Another spanning tree exchanges a loop joint with a tree joint of its loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, WrongTypeError, unknown_name
from ada_dynamics.model.description import ROOT_JOINT, WORLD_LINK
from ada_dynamics.model.edit.parts import Parts, has_free_root
from ada_dynamics.model.elements import LOADS, Joint, Link, LoopJoint
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, Continuous, Fixed, Universal
from ada_dynamics.model.model import Model, displaced, link_poses, numbers
from ada_dynamics.model.rotations import NO_MOVE, Pose, compose, inverse, is_unit
from ada_dynamics.model.tree import WORLD

CLOSED = 1e-9  # [m, rad], largest closure error of the loop


def recut(model: Model, q: Array, loop: str, joint: str) -> tuple[Model, Array]:
    """Return the same mechanism with another spanning tree, and the configuration of the same pose.

    `joint` becomes the loop joint, and the loop joint becomes a joint of the tree; both keep their names. Joints
    between the two are reversed: their child becomes the parent. All links keep their frames.

    Example::

        other, q_other = recut(model, q, loop="closing", joint="joint_2")

    Args:
        model: the model; it is not changed.
        q: a configuration that closes the loop.
        loop: loop joint that becomes a joint of the tree, without a motor.
        joint: joint of the tree on that loop, without damping, friction, armature and spring. Its motor is removed.

    Returns:
        The model and its configuration.

    Raises:
        InputError: the loop or joint is unknown, the joint is not on the loop or cannot close one, a joint cannot be
            reversed, or the loop is open at q.
    """
    if loop not in model.loops:
        raise unknown_name("loop", loop, model.loops)
    path = loop_path(model, loop)
    if joint not in path:
        raise unknown_name(f"joint on loop {loop!r}", joint, path)
    cut = model.joints[joint]
    _check_cut(model, cut)
    parts = Parts.of(model, list_actuated=True)
    old = parts.loops[loop]
    if has_free_root(model) and WORLD_LINK in (old.parent, old.child):
        parts.free_root_as_joint()
    elif not has_free_root(model):
        old = replace(old, parent=_grounded(model, old.parent), child=_grounded(model, old.child))
    turned = _between(model, old, cut)
    parts.actuated = [name for name in parts.actuated or [] if name != joint]
    parts.joints = {name: other for name, other in parts.joints.items() if name != joint}
    for name in turned:
        _turn_round(parts, parts.joints.pop(name))
    _add_to_tree(parts, old, _is_below(model, old.parent, cut.child))
    parts.loops = {(joint if n == loop else n): (_as_loop(cut) if n == loop else x) for n, x in parts.loops.items()}
    other = parts.build()
    return other, _same_pose(model, q, other, loop)


def loop_path(model: Model, loop: str) -> list[str]:
    """Joints of the tree on a loop, including fixed ones, from the parent side of the loop joint to its child side."""
    ends = model.loops[loop]
    up, down = _carriers(model, ends.parent), _carriers(model, ends.child)
    common = set(up) & set(down)
    return [n for n in up if n not in common] + [n for n in reversed(down) if n not in common]


def _carriers(model: Model, link: str) -> list[str]:
    """Joints from a link to the base."""
    by_child = {joint.child: joint for joint in model.joints.values()}
    found = []
    while link in by_child:
        found.append(by_child[link].name)
        link = by_child[link].parent
    return found


def _grounded(model: Model, link: str) -> str:
    """Return the root link instead of the world, with which it coincides if the base is fixed."""
    return model.root if link == WORLD_LINK and WORLD_LINK not in model.links else link


def _is_below(model: Model, link: str, carrier: str) -> bool:
    return link == carrier or any(model.joints[name].parent == carrier for name in _carriers(model, link))


def _between(model: Model, loop: LoopJoint, cut: Joint) -> list[str]:
    """Joints, including fixed ones, from the end of the loop beyond the cut to the cut."""
    end = loop.parent if _is_below(model, loop.parent, cut.child) else loop.child
    carriers = _carriers(model, end)
    return carriers[: carriers.index(cut.name)]


def _check_cut(model: Model, cut: Joint) -> None:
    if cut.type.closes_as is None:
        text = f"joint {cut.name!r} is {cut.kind}; a loop can be closed by {', '.join(LOOP_KINDS)} only."
        raise InputError(text, joint=cut.name, field="kind", value=cut.kind, allowed=tuple(LOOP_KINDS))
    followers = [j.name for j in model.joints.values() if j.mimic and cut.name in (j.name, j.mimic.joint)]
    if followers:
        text = f"joint {cut.name!r} cannot close a loop: joint {followers[0]!r} mimics another one."
        raise InputError(text, joint=cut.name, field="mimic")
    for what in LOADS:
        if getattr(cut, what):
            text = f"joint {cut.name!r} cannot close a loop: it has {what}, and loop joints have none."
            raise InputError(text, joint=cut.name, field=what)


def _as_loop(cut: Joint) -> LoopJoint:
    kind = cut.type.closes_as or cut.kind
    frames = (cut.xyz, cut.rotation, np.zeros(3), np.eye(3))
    return LoopJoint(cut.name, kind, cut.parent, cut.child, *frames, cut.axis, cut.axis2, cut.constants)


def _reversed_axes(axis: Array, axis2: Array | None) -> tuple[Array, Array | None]:
    """Axes for which the same positions give the inverse motion; those of a universal joint are exchanged."""
    return (-axis, None) if axis2 is None else (-axis2, -axis)


def _turn_round(parts: Parts, joint: Joint) -> None:
    """Reverse a joint: its child becomes the parent. A massless link keeps the frame of the former parent."""
    if joint.type.closes_as is None:
        can = ", ".join(kind for kind, cls in JOINT_TYPES.items() if cls.closes_as is not None)
        raise InputError(
            f"joint {joint.name!r} is between the loop joint and the cut, but a {joint.kind} joint cannot be "
            f"reversed; these can: {can}."
        )
    losses = [what for what in LOADS if getattr(joint, what)]
    if losses and not joint.type.has_rates_of_coordinates():  # reversed, its velocities are in other axes
        raise InputError(
            f"joint {joint.name!r} is between the loop joint and the cut and cannot be reversed: it has "
            f"{losses[0]}, which would act on other velocities of a {joint.kind} joint."
        )
    axis, axis2 = _reversed_axes(joint.axis, joint.axis2)
    back = replace(joint, parent=joint.child, xyz=np.zeros(3), rotation=np.eye(3), axis=axis, axis2=axis2)
    carry(parts, back, joint.parent, inverse((joint.rotation, joint.xyz)))


def carry(parts: Parts, joint: Joint, link: str, placed: Pose) -> None:
    """Add the joint, with the link at a pose in its child frame."""
    R, p = placed
    if joint.kind == Fixed.kind:
        rotation, xyz = compose((joint.rotation, joint.xyz), placed)
        parts.joints[joint.name] = replace(joint, child=link, xyz=xyz, rotation=rotation)
        return
    if is_unit(R) and not p.any():
        parts.joints[joint.name] = replace(joint, child=link)
        return
    mount = parts.unused(f"{joint.name}_mount")
    parts.links[mount] = Link(mount, has_inertial=False)
    parts.joints[joint.name] = replace(joint, child=mount)
    weld = parts.unused(f"{joint.name}_weld")
    parts.joints[weld] = Joint(weld, "fixed", mount, link, p, R)


def _add_to_tree(parts: Parts, loop: LoopJoint, parent_moves: bool) -> None:
    """Turn the loop joint into the tree joint of the link without parent."""
    A, B = (loop.parent_rotation, loop.parent_xyz), (loop.child_rotation, loop.child_xyz)
    axis, axis2 = loop.axis, loop.axis2
    near, far = (loop.parent, A), (loop.child, B)
    if parent_moves:
        near, far = far, near
        axis, axis2 = _reversed_axes(axis, axis2)
    (carrier, (R, p)), (carried, placed) = near, far
    joint = Joint(loop.name, loop.kind, carrier, carried, p, R, axis, axis2, constants=loop.constants)
    carry(parts, joint, carried, inverse(placed))


def _same_pose(model: Model, q: Array, other: Model, loop: str) -> Array:
    """Configuration of the other model with the same link poses."""
    q = model.as_positions(q)
    poses = link_poses(model, q)
    for joint in other.joints.values():
        # New links have the frames of joints; the links welded to them have known poses.
        if joint.parent not in poses and joint.kind == "fixed":
            poses[joint.parent] = compose(poses[joint.child], inverse((joint.rotation, joint.xyz)))
    near = {name: q[model.q_index(name)] for name in model.joint_names}
    found = _positions_at(other, poses, near)
    after = link_poses(other, found)
    open_by = max(float(max(np.max(np.abs(a - b)) for a, b in zip(poses[n], after[n], strict=True))) for n in poses)
    if open_by > CLOSED:
        raise InputError(
            f"loop {loop!r} is open at q by {open_by:.3g} (m or rad). Give a configuration that closes all loops."
        )
    return found


def _positions_at(model: Model, poses: Mapping[str, Pose], near: Mapping[str, Array]) -> Array:
    """Configuration in which the links have given poses; angles are within half a turn of known positions `near`."""
    tree = model.tree
    at: dict[int, Pose] = {WORLD: NO_MOVE}
    for name, frame in tree.frames.items():
        if frame.body != WORLD and name in poses:
            at[frame.body] = compose(poses[name], inverse(numbers(frame.pose)))
    q = model.neutral()
    for body in tree.bodies:
        if model.joints[body.name].mimic is None:
            own = compose(inverse(compose(at[body.parent], numbers(body.placement))), at[body.index])
            found = body.joint.positions_at(*own)
            known = near.get(body.name)
            q[body.q] = found if known is None or len(known) != len(found) else body.joint.brought_near(found, known)
    return q


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
