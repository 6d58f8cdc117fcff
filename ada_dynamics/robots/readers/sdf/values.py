# SPDX-License-Identifier: Apache-2.0
"""SDFormat writes values as the text of elements: numbers, vectors, names, poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, UNIT, Pose, clean_rotation
from ada_dynamics.robots.readers.values import the_child
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.spatial.rotation import from_quaternion, from_rpy
from ada_dynamics.structured_text.lexical import BadNumber, to_float

_UNIT_LENGTH = 1e-3


class Values:
    """Reads the children of one element and reports what it cannot read."""

    def __init__(self, element: Element, where: str, sink: Sink) -> None:
        """Args: the element, what it describes (for messages), and where problems go."""
        self.element, self.where, self.sink = element, where, sink

    def problem(self, code: str, element: Element, message: str, fix: str = "") -> None:
        """Report a problem of an element."""
        self.sink(Problem(code, element.line, self.where, f"<{element.tag}> {message}", fix))

    def child(self, tag: str) -> Element | None:
        """The only child with a tag."""
        return the_child(self.element, tag, self.where, self.sink)

    def inside(self, tag: str) -> Values | None:
        """The values of a child."""
        child = self.child(tag)
        return None if child is None else Values(child, self.where, self.sink)

    def text(self, tag: str, default: str | None = None) -> str | None:
        """The text of a child; None after reporting that it is missing or empty."""
        child = self.child(tag)
        if child is not None and child.text:
            return child.text
        if child is None and default is not None:
            return default
        what = f"has no <{tag}>" if child is None else f"has an empty <{tag}>"
        self.problem("missing-element", self.element, f"{what}.", f"Add <{tag}>...</{tag}>.")
        return None

    def number(self, tag: str, default: float, *, unbounded: bool = False) -> float:
        """The number in a child, the default where there is none."""
        child = self.child(tag)
        if child is None:
            return default
        values = self._numbers(child, 1, unbounded)
        return default if values is None else float(values[0])

    def vector(self, tag: str, default: Sequence[float]) -> Array:
        """The vector in a child, the default where there is none."""
        child = self.child(tag)
        values = None if child is None else self._numbers(child, len(default))
        return np.array(default, dtype=float) if values is None else values

    def flag(self, tag: str) -> bool:
        """True if a child says true."""
        child = self.child(tag)
        return child is not None and child.text.lower() in {"true", "1"}

    def pose(self) -> Pose:
        """The pose in the child <pose>: x y z and roll pitch yaw, or a quaternion."""
        element = self.child("pose")
        if element is None or not element.text:
            return NO_MOVE
        form = element.attributes.get("rotation_format", "euler_rpy")
        if form not in ("euler_rpy", "quat_xyzw"):
            self.problem("pose", element, f"has rotation_format={form[:40]!r}.", "Known: euler_rpy, quat_xyzw.")
            return NO_MOVE
        values = self._numbers(element, 7 if form == "quat_xyzw" else 6)
        if values is None:
            return NO_MOVE
        if form == "quat_xyzw":
            return self._from_quaternion(element, values)
        angles = (
            np.radians(values[3:]) if element.attributes.get("degrees", "").lower() in {"true", "1"} else values[3:]
        )
        return (clean_rotation(np.array(from_rpy(*angles.tolist()))) if angles.any() else UNIT), values[:3]

    def _from_quaternion(self, element: Element, values: Array) -> Pose:
        length = float(np.linalg.norm(values[3:]))
        if abs(length - 1.0) > _UNIT_LENGTH:
            self.problem("quaternion-length", element, f"has a quaternion of length {length:.6g}.", "It must be 1.")
            return NO_MOVE
        return clean_rotation(np.array(from_quaternion(*(values[3:] / length).tolist()))), values[:3]

    def _numbers(self, element: Element, size: int, unbounded: bool = False) -> Array | None:
        try:
            parts = element.text.split()
            if len(parts) != size:
                raise BadNumber(f"has {len(parts)} numbers instead of {size}")
            return np.array([to_float(part, unbounded=unbounded) for part in parts])
        except BadNumber as reason:
            shown = element.text[:60]
            allowed = f"Allowed: {size} finite number{'s and spaces' if size > 1 else ''}{' or inf' * unbounded}."
            self.problem("not-a-number", element, f"{shown!r}: {reason}.", allowed)
            return None
