# SPDX-License-Identifier: Apache-2.0
"""Values out of XML attributes and child elements, and tables of the joint types of a format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.description import Problem, Sink
from ada_dynamics.model.elements import SHAPE_SIZES, Shape
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.rotations import NO_MOVE, UNIT, Pose, clean_rotation
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.spatial.rotation import from_quaternion, from_rpy
from ada_dynamics.structured_text.lexical import BadNumber, to_float

_QUATERNION_TOLERANCE = 1e-3
# Entries of an inertia tensor in URDF and SDFormat.
MOMENTS = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))

Reader = TypeVar("Reader", bound="ElementReader")


def parse_numbers(text: str, least: int, most: int, unbounded: bool = False) -> Array:
    """Parse numbers separated by spaces; raise BadNumber for others or another count."""
    parts = text.split()
    values = [to_float(part, unbounded=unbounded) for part in parts[: most + 1]]
    if not least <= len(parts) <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise BadNumber(f"has {len(parts)} numbers instead of {wanted}")
    return np.array(values)


def unknown_names(
    element: Element, children: Collection[str], attributes: Collection[str] | None
) -> Iterator[tuple[Element, str, str]]:
    """Yield the unknown children and attributes of an element: the element at fault, its kind, and its name.

    Known are `children`, by their tags, and `attributes`; None for all.
    """
    yield from ((child, "element", child.tag) for child in element.children if child.tag not in children)
    if attributes is not None:
        yield from ((element, "attribute", name) for name in element.attributes if name not in attributes)


class ElementReader(ABC):
    """Reads values of an element and reports problems; subclasses define where a value is found."""

    def __init__(self, element: Element, where: str, sink: Sink) -> None:
        """Initialize with the element; `where` names its link or joint in messages, `sink` receives the problems."""
        self.element, self.where, self.sink = element, where, sink

    def problem(self, code: str, message: str, fix: str = "", at: Element | None = None) -> None:
        """Report a problem of the element, or of another one."""
        at = self.element if at is None else at
        self.sink(Problem(code, at.line, self.where, f"<{at.tag}> {message}", fix, at.file))

    def child(self, tag: str) -> Element | None:
        """Return the only child with a tag, or None; several ones are reported."""
        found = self.element.all(tag)
        if len(found) > 1:
            lines = ", ".join(str(one.line) for one in found)
            message = f"it has {len(found)} <{tag}> elements (lines {lines})."
            self.sink(Problem("repeated-element", found[1].line, self.where, message, "Keep one."))
        return found[0] if found else None

    def inside(self: Reader, tag: str) -> Reader | None:
        """Return the reader of a child, or None."""
        child = self.child(tag)
        return None if child is None else type(self)(child, self.where, self.sink)

    @abstractmethod
    def find(self, name: str) -> tuple[Element, str | None, str]:
        """Return the element of a value, its text or None, and its label in messages."""

    def number(self, name: str, default: float | None = None, *, unbounded: bool = False) -> float:
        """Return a number; the default, or 0.0 after a report, if it is missing or invalid."""
        at, text, label = self.find(name)
        fallback = 0.0 if default is None else default
        if text is None:
            if default is None:
                self.problem("missing-attribute", f"has no attribute {name!r}.", f'Add {name}="..." (a number).')
            return fallback
        try:
            return to_float(text, unbounded=unbounded)
        except BadNumber:
            self.parsed(text, 1, label, at, unbounded)  # reports it
            return fallback

    def vector(self, name: str, default: Sequence[float] | Array) -> Array:
        """Return numbers separated by spaces, or the default if they are missing or invalid."""
        at, text, label = self.find(name)
        values = None if text is None else self.parsed(text, len(default), label, at)
        return np.array(default, dtype=float) if values is None else values

    def parsed(self, text: str, size: int, label: str, at: Element, unbounded: bool = False) -> Array | None:
        """Return the numbers in a text, or None after a report."""
        try:
            return parse_numbers(text, size, size, unbounded)
        except BadNumber as reason:
            shown = repr(text if len(text) <= 60 else text[:57] + "...")
            allowed = "a finite number such as 1, -0.5 or 1e-3" if size == 1 else f"{size} finite numbers and spaces"
            fix = f"Allowed: {allowed}{', or inf' * unbounded}."
            self.problem("not-a-number", f"{label}{shown}: {reason}.", fix, at)
            return None

    def spring(self, stiffness: str, reference: str) -> tuple[float, float]:
        """Return stiffness [N m/rad] or [N/m] and rest position [rad] or [m] of a joint by their names."""
        k = self.number(stiffness, 0.0)
        return k, self.number(reference, 0.0) if k else 0.0

    def shapes(self: Reader, role: str, read: Callable[[Reader], Shape | None], sink: Sink) -> list[Shape]:
        """Read the valid shapes of a link.

        Args:
            role: tag of the shapes: "visual" or "collision".
            read: function that reads one of them.
            sink: callback for problems of shapes, which must not raise.
        """
        shapes = []
        for element in self.element.all(role):
            problems: list[Problem] = []
            shape = read(type(self)(element, self.where, problems.append))
            for problem in problems:
                sink(problem)
            if shape is not None and not problems:
                shapes.append(shape)
        return shapes

    def size(self, default: float | None) -> Array:
        """Read the sizes of a shape with the kind of the element's tag; ones after reporting negative ones.

        Args:
            default: default radius and length; None if they are required.
        """
        kind = self.element.tag
        if kind in ("mesh", "box"):
            size = self.vector("scale" if kind == "mesh" else "size", (1.0, 1.0, 1.0))
        else:
            size = np.array([self.number(name, default) for name in SHAPE_SIZES[kind]])
        if kind != "mesh" and (size < 0.0).any():
            self.problem("shape-size", f"has size {size.tolist()}.", "Lengths and radii must not be negative.")
            return np.ones_like(size)
        return size

    def rotation(self, quaternion: Array, name: str, at: Element) -> Array | None:
        """Return the rotation of a quaternion x, y, z, w, or None after reporting that it has not length 1."""
        norm = float(np.linalg.norm(quaternion))
        if abs(norm - 1.0) > _QUATERNION_TOLERANCE:
            self.problem("quaternion-length", f"{name} has length {norm:.6g}.", "A rotation has length 1.", at)
            return None
        return clean_rotation(np.array(from_quaternion(*(quaternion / norm).tolist())))


class Attributes(ElementReader):
    """Reads the attributes of an element."""

    def find(self, name: str) -> tuple[Element, str | None, str]:
        """Return the element, the attribute or None, and its label in messages."""
        return self.element, self.element.attributes.get(name), f"{name}="

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

    def pose(self) -> Pose:
        """Read the pose of an <origin>: xyz, and rpy or (URDF 1.2) quat_xyzw."""
        position = self.vector("xyz", (0.0, 0.0, 0.0))
        if not self.has("quat_xyzw"):
            return rpy_rotation(self.vector("rpy", (0.0, 0.0, 0.0))), position
        if self.has("rpy"):
            self.problem("two-orientations", "has both 'rpy' and 'quat_xyzw'.", "Keep one of them.")
        R = self.rotation(self.vector("quat_xyzw", (0.0, 0.0, 0.0, 1.0)), "quat_xyzw", self.element)
        return UNIT if R is None else R, position

    def origin(self) -> Pose:
        """Read the pose in the child <origin>."""
        child = self.inside("origin")
        return NO_MOVE if child is None else child.pose()

    def link(self, tag: str) -> tuple[str, Attributes] | None:
        """Return the link named by a child and the reader of the child, or None after a report."""
        child = self.inside(tag)
        if child is None:
            self.problem("missing-element", f"has no <{tag}>.", f'Add <{tag} link="..."/>.')
            return None
        link = child.text("link")
        return None if link is None else (link, child)

    def direction(self, tag: str, default: Sequence[float] | Array) -> Array:
        """Return the direction in a child, or the default without the child."""
        child = self.inside(tag)
        if child is not None and not child.has("xyz"):
            child.problem("missing-attribute", "has no attribute 'xyz'.", 'Add xyz="0 0 1" or another direction.')
        return np.array(default, dtype=float) if child is None else child.vector("xyz", default)


class ChildTexts(ElementReader):
    """Reads the texts of the children of an element, as in SDFormat."""

    def find(self, name: str) -> tuple[Element, str | None, str]:
        """Return the child or the element itself, the child's text or None, and no label."""
        child = self.child(name)
        return (self.element, None, "") if child is None else (child, child.text, "")

    def text(self, tag: str, default: str | None = None) -> str | None:
        """Return the text of a child, or None after reporting that it is missing or empty."""
        _, text, _ = self.find(tag)
        if text:
            return text
        if text is None and default is not None:
            return default
        what = f"has no <{tag}>" if text is None else f"has an empty <{tag}>"
        self.problem("missing-element", f"{what}.", f"Add <{tag}>...</{tag}>.")
        return None

    def flag(self, tag: str) -> bool:
        """Return True if a child has the value true."""
        return (self.find(tag)[1] or "").lower() in {"true", "1"}

    def pose(self) -> Pose:
        """Read the child <pose>: x y z, and roll pitch yaw or a quaternion."""
        element = self.child("pose")
        if element is None or not element.text:
            return NO_MOVE
        form = element.attributes.get("rotation_format", "euler_rpy")
        if form not in ("euler_rpy", "quat_xyzw"):
            message = f"has rotation_format={form[:40]!r}."
            self.problem("pose", message, "Known: euler_rpy, quat_xyzw.", element)
            return NO_MOVE
        values = self.parsed(element.text, 7 if form == "quat_xyzw" else 6, "", element)
        if values is None:
            return NO_MOVE
        if form == "quat_xyzw":
            R = self.rotation(values[3:], "its quaternion", element)
            return NO_MOVE if R is None else (R, values[:3])
        in_degrees = element.attributes.get("degrees", "").lower() in {"true", "1"}
        return rpy_rotation(np.radians(values[3:]) if in_degrees else values[3:]), values[:3]


def rpy_rotation(angles: Array) -> Array:
    """Rotation matrix of roll, pitch and yaw [rad]."""
    return clean_rotation(np.array(from_rpy(*angles.tolist()))) if angles.any() else UNIT


Word = TypeVar("Word")


class UnsupportedKind(str):
    """Entry of a table for a joint type that a format lacks: an alternative."""


class JointKindTable(Generic[Word]):
    """Names of a format for the joint types; an incomplete table fails at import.

    Attributes:
        words: name in the format by joint type.
        instead: alternative by joint type that the format lacks.
    """

    def __init__(self, what: str, entries: Mapping[str, Word | UnsupportedKind]) -> None:
        """Check that the table has a name or an alternative for each joint type; `what` is its format, for messages."""
        missing, unknown = JOINT_TYPES.keys() - entries.keys(), entries.keys() - JOINT_TYPES.keys()
        if missing or unknown:
            raise TypeError(f"table of {what}: no entry for {sorted(missing)}, an entry for unknown {sorted(unknown)}.")
        self.words = {kind: word for kind, word in entries.items() if not isinstance(word, UnsupportedKind)}
        self.instead = {kind: str(word) for kind, word in entries.items() if isinstance(word, UnsupportedKind)}
