# SPDX-License-Identifier: Apache-2.0
"""Links, joints and loops of a model by name, to be changed and built again; gravity, changed parts, open loops."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ada_dynamics.errors import WrongTypeError, unknown_name
from ada_dynamics.model.description import BASES, ROOT_JOINT, WORLD_LINK, Description, free_name
from ada_dynamics.model.elements import Joint, Link, LoopJoint
from ada_dynamics.model.model import Model
from ada_dynamics.model.structure import NamedPlace


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
    def of(model: Model) -> Parts:
        """Return the parts of a model."""
        joints = dict(model.joints)
        base = "fixed"
        if has_free_root(model):
            kind = joints.pop(ROOT_JOINT).kind
            base = next(name for name, own in BASES.items() if own == kind)
        every = set(model.actuated) == set(model.joint_names)
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
        actuated = None if self.actuated is None else [NamedPlace(name, where, None) for name in self.actuated]
        parts = (list(self.links.values()), list(self.joints.values()), list(self.loops.values()))
        return Description(self.name, where, None, *parts, actuated).build(self.base, self.gravity)

    def name_actuated(self, names: Iterable[str]) -> None:
        """Set the list of actuated joints explicitly, before joints are added or removed."""
        if self.actuated is None:
            self.actuated = list(names)

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

        return Parts(
            self.name,
            {new(name): replace(link, name=new(name)) for name, link in self.links.items()},
            {new(name): joint(old) for name, old in self.joints.items()},
            {new(name): loop(old) for name, old in self.loops.items()},
            None if self.actuated is None else [new(name) for name in self.actuated],
            self.base,
            new(self.root),
            self.gravity,
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
    for part in changed:
        for kind, own in ((Link, parts.links), (Joint, parts.joints), (LoopJoint, parts.loops)):
            if isinstance(part, kind):
                if part.name not in own:
                    raise unknown_name("loop" if kind is LoopJoint else kind.__name__.lower(), part.name, own)
                own[part.name] = part  # type: ignore[assignment]
                break
        else:
            raise WrongTypeError(
                f"part is {part!r:.100}; it must be a Link, Joint or LoopJoint, such as model.links has."
            )
    return parts.build()


def remove_loop(model: Model, name: str) -> Model:
    """Return the model without one of its loop joints."""
    return open_loops(model, [name])


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
        if name not in model.loops:
            raise unknown_name("loop", name, model.loops)
    parts = Parts.of(model)
    parts.loops = {name: loop for name, loop in parts.loops.items() if name not in gone}
    return parts.build()
