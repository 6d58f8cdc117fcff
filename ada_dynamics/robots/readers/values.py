# SPDX-License-Identifier: Apache-2.0
"""Values out of XML attributes, springs of joints, and tables of the joint kinds of a format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints import JOINT_TYPES, SPRUNG
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import UNIT, Pose, clean_rotation
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.spatial.rotation import from_quaternion, from_rpy
from ada_dynamics.structured_text.lexical import LONGEST, BadNumber, to_float

_QUATERNION_TOLERANCE = 1e-3


class Attributes:
    """Reads the attributes of an element and reports problems."""

    def __init__(self, element: Element, where: str, sink: Sink) -> None:
        """Args: the element, the link or joint for messages, and the callback for problems."""
        self.element, self.where, self._sink = element, where, sink

    def problem(self, code: str, message: str, fix: str = "") -> None:
        """Report a problem of this element."""
        self._sink(Problem(code, self.element.line, self.where, f"<{self.element.tag}> {message}", fix))

    def has(self, name: str) -> bool:
        """True if the attribute exists."""
        return name in self.element.attributes

    def text(self, name: str) -> str | None:
        """Return a required text, or None after reporting that it is missing or empty."""
        value = self.element.attributes.get(name)
        if value is None or not value.strip():
            what = "has no attribute" if value is None else "has an empty attribute"
            self.problem("missing-attribute", f"{what} {name!r}.", f'Add {name}="...".')
            return None
        return value

    def number(self, name: str, default: float | None = None, *, unbounded: bool = False) -> float:
        """Return a number; the default, or 0.0 after a report, if the attribute is missing or invalid."""
        text = self.element.attributes.get(name)
        if text is None:
            if default is None:
                self.problem("missing-attribute", f"has no attribute {name!r}.", f'Add {name}="..." (a number).')
            return 0.0 if default is None else default
        try:
            return to_float(text, unbounded=unbounded)
        except BadNumber as reason:
            allowed = "a finite number such as 1, -0.5 or 1e-3" + (", or inf" if unbounded else "")
            self.problem("not-a-number", f"{name}={_short(text)}: {reason}.", f"Allowed: {allowed}.")
            return 0.0 if default is None else default

    def vector(self, name: str, size: int, default: Sequence[float]) -> Array:
        """Return numbers separated by spaces, or the default if the attribute is missing or invalid."""
        text = self.element.attributes.get(name)
        if text is None:
            return np.array(default, dtype=float)
        try:
            parts = text[: LONGEST * (size + 1)].split()
            if len(parts) != size:
                raise BadNumber(f"has {len(parts)} numbers instead of {size}")
            return np.array([to_float(p) for p in parts])
        except BadNumber as reason:
            self.problem(
                "not-a-number", f"{name}={_short(text)}: {reason}.", f"Allowed: {size} finite numbers and spaces."
            )
            return np.array(default, dtype=float)


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def the_child(element: Element, tag: str, where: str, sink: Sink) -> Element | None:
    """Return the only child element with a tag, or None; several ones are reported."""
    found = element.all(tag)
    if len(found) > 1:
        lines = ", ".join(str(e.line) for e in found)
        sink(
            Problem(
                "repeated-element",
                found[1].line,
                where,
                f"it has {len(found)} <{tag}> elements (lines {lines}).",
                "Keep one.",
            )
        )
    return found[0] if found else None


def read_pose(parent: Element, where: str, sink: Sink) -> Pose:
    """Read the pose in an element's <origin>: xyz, and rpy or (URDF 1.2) quat_xyzw."""
    origin = the_child(parent, "origin", where, sink)
    return (UNIT, np.zeros(3)) if origin is None else pose_in(origin, where, sink)


def pose_in(origin: Element, where: str, sink: Sink) -> Pose:
    """Read the pose in the attributes of an element: xyz, and rpy or quat_xyzw."""
    values = Attributes(origin, where, sink)
    position = values.vector("xyz", 3, (0.0, 0.0, 0.0))
    if values.has("quat_xyzw"):
        if values.has("rpy"):
            values.problem("two-orientations", "has both 'rpy' and 'quat_xyzw'.", "Keep one of them.")
        p = values.vector("quat_xyzw", 4, (0.0, 0.0, 0.0, 1.0))
        norm = float(np.linalg.norm(p))
        if abs(norm - 1.0) > _QUATERNION_TOLERANCE:
            values.problem("quaternion-length", f"quat_xyzw has length {norm:.6g}.", "A rotation has length 1.")
            return UNIT, position
        return clean_rotation(np.array(from_quaternion(*(p / norm).tolist()))), position
    angles = values.vector("rpy", 3, (0.0, 0.0, 0.0))
    if not angles.any():
        return UNIT, position
    return clean_rotation(np.array(from_rpy(*angles.tolist()))), position


def checked_spring(
    kind: str, stiffness: float, rest: float, element: Element, where: str, sink: Sink
) -> tuple[float, float]:
    """Return stiffness and rest position, or zeros after reporting an invalid spring.

    Args:
        kind: joint type.
        stiffness: stiffness in the file [N m/rad] or [N/m].
        rest: rest position in the file [rad] or [m].
        element: element of the spring.
        where: joint, for messages.
        sink: callback for problems.
    """
    if stiffness == 0.0:
        return 0.0, 0.0
    if stiffness < 0.0:
        sink(
            Problem("negative", element.line, where, f"spring_stiffness is {stiffness:g}.", "It must not be negative.")
        )
    elif kind not in SPRUNG:
        message = f"it is {kind} and has a spring; only {', '.join(SPRUNG)} joints can have one."
        sink(Problem("spring", element.line, where, message, "Write it as several joints, or give the effort as tau."))
    elif JOINT_TYPES[kind].nq > 1 and rest != 0.0:
        message = f"it is spherical, with spring_reference {rest:g}."
        sink(
            Problem(
                "spring",
                element.line,
                where,
                message,
                "Its spring has its rest position at zero: rotate the joint's frame.",
            )
        )
    else:
        return stiffness, rest
    return 0.0, 0.0


Word = TypeVar("Word")


class Refused(str):
    """Entry of a table for a joint type that a format lacks: an alternative."""


class JointKindTable(Generic[Word]):
    """Names of a format for the joint types; an incomplete table fails at import.

    Attributes:
        words: name in the format by joint type.
        instead: alternative by joint type that the format lacks.
    """

    def __init__(self, what: str, entries: Mapping[str, Word | Refused]) -> None:
        """Args: name of the table for messages; a name or an alternative for each joint type."""
        missing, unknown = JOINT_TYPES.keys() - entries.keys(), entries.keys() - JOINT_TYPES.keys()
        if missing or unknown:
            raise TypeError(f"table of {what}: no entry for {sorted(missing)}, an entry for unknown {sorted(unknown)}.")
        self.words = {kind: word for kind, word in entries.items() if not isinstance(word, Refused)}
        self.instead = {kind: str(word) for kind, word in entries.items() if isinstance(word, Refused)}
