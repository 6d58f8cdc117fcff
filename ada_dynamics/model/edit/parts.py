# SPDX-License-Identifier: Apache-2.0
"""Links, joints and loops of a model by name, to be changed and built again; gravity, changed parts, open loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from ada_dynamics.errors import InputError, WrongTypeError, check_name
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.description import BASES, ROOT_JOINT, WORLD_LINK, Description, LocatedName, free_name
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.model.model import Model


@dataclass
class Parts:
    """Parts of a model by name; the joint of a floating base is described by `base`."""

    name: str
    links: dict[str, Link]
    joints: dict[str, Joint]
    loops: dict[str, LoopJoint]
    actuated: list[str] | None  # None: all moving joints
    base: str
    root: str
    gravity: Sequence[float]

    @staticmethod
    def of(model: Model, list_actuated: bool = False) -> Parts:
        """Return the parts of a model; list its actuated joints before joints are added or removed."""
        joints = dict(model.joints)
        base = "fixed"
        if has_free_root(model):
            kind = joints.pop(ROOT_JOINT).kind
            base = next(name for name, own in BASES.items() if own == kind)
        every = set(model.actuated) == set(model.joint_names) and not list_actuated
        return Parts(
            model.name,
            dict(model.links),
            joints,
            dict(model.loops),
            None if every else list(model.actuated),
            base,
            model.root,
            model.gravity,
        )

    def build(self) -> Model:
        """Check the parts and return the model."""
        where = f"model {self.name!r}"
        actuated = None if self.actuated is None else [LocatedName(name, where, None) for name in self.actuated]
        parts = (list(self.links.values()), list(self.joints.values()), list(self.loops.values()))
        return Description(self.name, where, None, *parts, actuated).build(self.base, self.gravity)

    def free_root_as_joint(self) -> None:
        """Turn the joint of a floating base into an ordinary joint of a link "world" fixed to the world."""
        if self.base == "fixed":
            return
        joint = Joint(ROOT_JOINT, BASES[self.base], WORLD_LINK, self.root)
        self.links = {WORLD_LINK: Link(WORLD_LINK, has_inertial=False), **self.links}
        self.joints = {ROOT_JOINT: joint, **self.joints}
        self.base, self.root = "fixed", WORLD_LINK

    def unused(self, name: str) -> str:
        """Return the name, numbered if a link, joint or loop has it."""
        return free_name(name, {*self.links, *self.joints, *self.loops})

    def renamed(self, prefix: str) -> Parts:
        """Add a prefix to all names except those of the world and of the joint of a floating base."""
        kept = {WORLD_LINK, *([] if self.base == "fixed" else [ROOT_JOINT])} - self.links.keys()

        def new(name: str) -> str:
            return name if name in kept else prefix + name

        def joint(old: Joint) -> Joint:
            mimic = replace(old.mimic, joint=new(old.mimic.joint)) if old.mimic else None
            return replace(old, name=new(old.name), parent=new(old.parent), child=new(old.child), mimic=mimic)

        def loop(old: LoopJoint) -> LoopJoint:
            return replace(old, name=new(old.name), parent=new(old.parent), child=new(old.child))

        return replace(
            self,
            links={new(name): replace(link, name=new(name)) for name, link in self.links.items()},
            joints={new(name): joint(old) for name, old in self.joints.items()},
            loops={new(name): loop(old) for name, old in self.loops.items()},
            actuated=None if self.actuated is None else [new(name) for name in self.actuated],
            root=new(self.root),
        )


def has_free_root(model: Model) -> bool:
    """Return True if the base floats without a joint in the description."""
    joint = model.joints.get(ROOT_JOINT)
    return joint is not None and joint.parent not in model.links


def with_gravity(model: Model, gravity: Sequence[float]) -> Model:
    """Return the model with another gravity vector (x, y, z) [m/s²] in world axes.

    Raises:
        ModelError: gravity is not three finite numbers.
    """
    parts = Parts.of(model)
    parts.gravity = gravity
    return parts.build()


def with_parts(model: Model, *changed: Link | Joint | LoopJoint) -> Model:
    """Return the model with some links, joints or loop joints replaced by parts of the same names.

    Example::

        heavier = with_parts(model, dataclasses.replace(model.links["hand"], mass=2.0))

    Raises:
        InputError: the model has no part of that kind and name.
        ModelError: the parts do not fit together.
    """
    parts = Parts.of(model)
    tables: dict[type, Any] = {Link: parts.links, Joint: parts.joints, LoopJoint: parts.loops}
    for part in changed:
        own = tables.get(type(part))
        if own is None:
            raise WrongTypeError(f"part is {part!r:.100}; it must be a Link, Joint or LoopJoint, as model.links has.")
        check_name(part.where.partition(" ")[0], part.name, own)
        own[part.name] = part
    return parts.build()


def open_loops(model: Model, names: Iterable[str] | None = None) -> Model:
    """Return the model without some or all of its loop joints.

    Args:
        model: the model; it is not changed.
        names: loop joints to remove; all by default.

    Raises:
        InputError: there is no such loop joint.
    """
    gone = list(model.loops if names is None else names)
    for name in gone:
        check_name("loop", name, model.loops)
    parts = Parts.of(model)
    parts.loops = {name: loop for name, loop in parts.loops.items() if name not in gone}
    return parts.build()


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
    check_name("link", parent, model.links)
    if model.gravity != other.gravity:
        raise InputError(
            f"gravity of model {model.name!r} is {model.gravity}, that of {other.name!r} is {other.gravity}; "
            "both must be equal. Change one of them with `with_gravity`."
        )
    _refuse_worldly_loops(other)
    ours, theirs = Parts.of(model, list_actuated=True), Parts.of(other)
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
    for loop in theirs.loops.values():
        parent, child = (theirs.root if end == WORLD_LINK else end for end in (loop.parent, loop.child))
        ours.loops[loop.name] = replace(loop, parent=parent, child=child)
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
                "model is unknown. Remove the loop first, with `open_loops`."
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
