# SPDX-License-Identifier: Apache-2.0
"""Two models made one, and all names of a model changed."""

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
    """The model with a prefix before the names of all links, joints and loops.

    "world", and the `root_joint` of a floating base, keep their names.
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
    """The model with another one attached to one of its links.

    The other's root link is carried by a joint instead of by its base, fixed or floating. What its loops join to the
    world is joined to its root link instead. A joint that moves between the two counts as actuated.

    Example::

        with_hand = merge(load("pa10"), gripper, "link7", xyz=(0, 0, 0.08), prefix="hand_")

    Args:
        model: what the other one is attached to; its base and its gravity stay.
        other: what is attached; its names get the prefix.
        parent: link of `model`.
        xyz: where the other's root stands in that link's frame [m].
        rpy: and how it is turned [rad].
        prefix: before all names of the other model, and of the joint between.
        joint: name of the joint between.
        kind: its type, as in `Builder.joint`.
        axis: its axis.
        axis2: second axis of a universal joint.

    Raises:
        InputError: there is no such link, a name is in both models, or the gravities differ.
        ModelError: the joint is unusable.
    """
    if parent not in model.links:
        raise unknown_name("link", parent, model.links)
    if model.gravity != other.gravity:
        raise InputError(
            f"gravity of model {model.name!r} is {model.gravity}, that of {other.name!r} {other.gravity}; "
            "a model has one gravity. Change one of them with `with_gravity`."
        )
    _refuse_worldly_loops(other)
    ours, theirs = Parts.of(model), Parts.of(other)
    ours.name_actuated(model.actuated)
    theirs.actuated = [name for name in other.actuated if not (name == ROOT_JOINT and has_free_root(other))]
    theirs = theirs.renamed(prefix)
    name = prefix + joint
    _refuse_common_names(ours, theirs, name)
    # A builder of its own checks and normalises what was given for the joint between.
    probe = Builder(f"{model.name} with {other.name}").link(parent).link(theirs.root)
    probe.joint(name, kind, parent, theirs.root, xyz, rpy, axis, axis2)
    between = probe.build().joints[name]
    ours.links |= theirs.links
    ours.joints |= {name: between, **theirs.joints}
    ours.loops |= {loop.name: _held_by(loop, theirs.root) for loop in theirs.loops.values()}
    ours.actuated = [*(ours.actuated or []), *([name] if between.nv else []), *(theirs.actuated or [])]
    return ours.build()


def _refuse_worldly_loops(other: Model) -> None:
    """Of a floating model the place of the world is not known, so nothing says where its loops would end."""
    if not has_free_root(other):
        return
    for loop in other.loops.values():
        if WORLD_LINK in (loop.parent, loop.child):
            raise InputError(
                f"loop {loop.name!r} joins {other.name!r}, which floats, to the world: where that is on the other "
                "model is not known. Remove the loop first, with `remove_loop`."
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
