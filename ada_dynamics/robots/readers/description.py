# SPDX-License-Identifier: Apache-2.0
"""A description as read: links and joints with their lines, before anything is built from them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import Limits, Mimic, Shape
from ada_dynamics.model.joints import JOINT_TYPES, JointType
from ada_dynamics.robots.readers.problems import Problem
from ada_dynamics.robots.readers.xml import Element


@dataclass(eq=False)
class LinkRecord:
    """A link as read."""

    name: str
    element: Element
    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))  # in the link's frame [m]
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))  # about the CoM in the link's axes [kg m²]
    inertial: Element | None = None
    visuals: list[Shape] = field(default_factory=list)
    collisions: list[Shape] = field(default_factory=list)

    @property
    def has_inertial(self) -> bool:
        """Whether the description gives an inertia."""
        return self.inertial is not None

    @property
    def line(self) -> int:
        """Line of the link in the file."""
        return self.element.line

    @property
    def where(self) -> str:
        """Name for messages."""
        return f"link {self.name!r}"


@dataclass(eq=False)
class JointRecord:
    """A joint as read."""

    name: str
    element: Element
    kind: str
    parent: str
    child: str
    xyz: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3))
    axis: Array | None = None
    axis2: Array | None = None
    limits: Limits = field(default_factory=Limits)
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None
    stiffness: float = 0.0
    rest: float = 0.0
    constants: dict[str, float] = field(default_factory=dict)

    @property
    def type(self) -> type[JointType]:
        """What its kind says about itself."""
        return JOINT_TYPES[self.kind]

    @property
    def line(self) -> int:
        """Line of the joint in the file."""
        return self.element.line

    @property
    def where(self) -> str:
        """Name for messages."""
        return f"joint {self.name!r}"


@dataclass(eq=False)
class LoopRecord:
    """A joint that closes a loop, as read from the description or from a file beside it."""

    name: str
    kind: str  # one of LOOP_KINDS
    parent: str  # link, or "world"
    child: str
    file: str
    line: int | None  # none where it comes from a Python object
    parent_xyz: Array = field(default_factory=lambda: np.zeros(3))
    parent_rotation: Array = field(default_factory=lambda: np.eye(3))
    child_xyz: Array = field(default_factory=lambda: np.zeros(3))
    child_rotation: Array = field(default_factory=lambda: np.eye(3))
    axis: Array | None = None
    axis2: Array | None = None  # in the child-side frame
    constants: dict[str, float] = field(default_factory=dict)

    @property
    def type(self) -> type[JointType]:
        """What its kind says about itself."""
        return JOINT_TYPES[self.kind]

    @property
    def where(self) -> str:
        """Name for messages."""
        return f"loop {self.name!r}"

    @property
    def place(self) -> str:
        """File and line for messages."""
        return self.file if self.line is None else f"{self.file}, line {self.line}"


@dataclass(frozen=True)
class NamedPlace:
    """A name and where it is written."""

    name: str
    file: str
    line: int | None


@dataclass(eq=False)
class Description:
    """A robot as read. Names may repeat and ends may dangle; `structure.problems` says so."""

    name: str
    file: str
    root: Element
    links: list[LinkRecord] = field(default_factory=list)
    joints: list[JointRecord] = field(default_factory=list)
    loops: list[LoopRecord] = field(default_factory=list)
    actuated: list[NamedPlace] | None = None  # joints with a motor; all of them where nothing is said
    gravity: tuple[float, float, float] | None = None  # [m/s²], where the description says it
    holds_itself: bool = False  # whether it says itself how it is held, as MJCF does: then there is no other base
    odd_shapes: list[Problem] = field(default_factory=list)  # shapes that are left out, for they cannot be read
    notes: list[str] = field(default_factory=list)  # what was recognised or left out


ODD_SHAPES = "shapes with"  # how the note on them begins


def note_odd_shapes(robot: Description) -> None:
    """Say once that shapes were left out."""
    if robot.odd_shapes:
        count, first = len(robot.odd_shapes), robot.odd_shapes[0].text(robot.file)
        robot.notes.append(f"{ODD_SHAPES} {count} problem(s) were left out or lost their colour, the first: {first}")
