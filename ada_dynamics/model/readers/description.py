# SPDX-License-Identifier: Apache-2.0
"""A description as read: links and joints with their lines, before anything is built from them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.model.elements import Array, Limits, Mimic
from ada_dynamics.model.readers.xml import Element


@dataclass(eq=False)
class LinkRecord:
    """A link as read."""

    name: str
    element: Element
    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))  # in the link's frame [m]
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))  # about the CoM in the link's axes [kg m²]
    inertial: Element | None = None

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

    @property
    def line(self) -> int:
        """Line of the joint in the file."""
        return self.element.line

    @property
    def where(self) -> str:
        """Name for messages."""
        return f"joint {self.name!r}"


@dataclass(eq=False)
class Description:
    """A robot as read. Names may repeat and ends may dangle; `structure.problems` says so."""

    name: str
    file: str
    root: Element
    links: list[LinkRecord] = field(default_factory=list)
    joints: list[JointRecord] = field(default_factory=list)
