# SPDX-License-Identifier: Apache-2.0
"""Merge two models, and add a prefix to all names of a model."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.description import ROOT_JOINT, WORLD_LINK
from ada_dynamics.model.edit.parts import Parts, has_free_root
from ada_dynamics.model.elements import LoopJoint
from ada_dynamics.model.model import Model


def with_prefix(model: Model, prefix: str) -> Model:
    """Return the model with a prefix before the names of all links, joints and loops.

    "world" and the `root_joint` of a floating base keep their names.
    """
    return Parts.of(model).renamed(prefix).build()


def merge(
    model: Model,
    other: Model,
    parent: str,
    xyz: ArrayLike = (0.0, 0.0, 0.0),
    rpy: ArrayLike = (0.0, 0.0, 0.0),
    prefix: str = "",
    *,
    joint: str = "mount",
    kind: str = "fixed",
    axis: ArrayLike | None = None,
    axis2: ArrayLike | None = None,
) -> Model:
    """Return the model with another model attached to one of its links.

    The root link of the other model becomes the child of a new joint, which replaces its base. Its loop joints to the
    world become loop joints to its root link. A moving joint between the two models is actuated.

    Example::

        with_hand = merge(load("pa10"), gripper, "link7", xyz=(0, 0, 0.08), prefix="hand_")

    Args:
        model: model to attach to; its base and gravity are kept.
        other: model to attach; its names get the prefix.
        parent: link of `model`.
        xyz: position of the root link of the other model in the frame of `parent` [m].
        rpy: orientation in that frame, roll-pitch-yaw [rad].
        prefix: for the names of the other model and of the new joint.
        joint: name of the new joint.
        kind: its type, as in `Builder.joint`.
        axis: its axis.
        axis2: second axis of a universal joint.

    Raises:
        InputError: there is no such link, a name is in both models, or the gravities differ.
        ModelError: the new joint is invalid.
    """
    if parent not in model.links:
        raise unknown_name("link", parent, model.links)
    if model.gravity != other.gravity:
        raise InputError(
            f"gravity of model {model.name!r} is {model.gravity}, that of {other.name!r} is {other.gravity}; "
            "both must be equal. Change one of them with `with_gravity`."
        )
    _refuse_worldly_loops(other)
    ours, theirs = Parts.of(model), Parts.of(other)
    ours.name_actuated(model.actuated)
    theirs.actuated = [name for name in other.actuated if not (name == ROOT_JOINT and has_free_root(other))]
    theirs = theirs.renamed(prefix)
    name = prefix + joint
    _refuse_common_names(ours, theirs, name)
    # A Builder checks and normalises the arguments of the new joint.
    probe = Builder(f"{model.name} with {other.name}").link(parent).link(theirs.root)
    probe.joint(name, kind, parent, theirs.root, xyz, rpy, axis, axis2)
    between = probe.build().joints[name]
    ours.links |= theirs.links
    ours.joints |= {name: between, **theirs.joints}
    ours.loops |= {loop.name: _held_by(loop, theirs.root) for loop in theirs.loops.values()}
    ours.actuated = [*(ours.actuated or []), *([name] if between.nv else []), *(theirs.actuated or [])]
    return ours.build()


def _refuse_worldly_loops(other: Model) -> None:
    """Refuse loops to the world of a floating model, since the pose of the world in the merged model is unknown."""
    if not has_free_root(other):
        return
    for loop in other.loops.values():
        if WORLD_LINK in (loop.parent, loop.child):
            raise InputError(
                f"loop {loop.name!r} joins {other.name!r}, which floats, to the world, whose pose in the other "
                "model is unknown. Remove the loop first, with `remove_loop`."
            )


def _refuse_common_names(ours: Parts, theirs: Parts, between: str) -> None:
    for what, mine, other in (
        ("link", ours.links, theirs.links),
        ("joint", {**ours.joints, **ours.loops}, {**theirs.joints, **theirs.loops, between: None}),
    ):
        common = sorted(set(mine) & set(other))
        if common:
            raise InputError(
                f"both models have a {what} named {', '.join(map(repr, common[:8]))}; give a prefix, such as "
                f"prefix='{theirs.name}_'."
            )


def _held_by(loop: LoopJoint, root: str) -> LoopJoint:
    return replace(
        loop,
        parent=root if loop.parent == WORLD_LINK else loop.parent,
        child=root if loop.child == WORLD_LINK else loop.child,
    )
