# SPDX-License-Identifier: Apache-2.0
"""SdfValues and frames of SDFormat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import unknown_name
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, UNIT, Pose, clean_rotation, compose, inverse
from ada_dynamics.robots.readers.values import the_child
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.spatial.rotation import from_quaternion, from_rpy
from ada_dynamics.structured_text.lexical import BadNumber, to_float

_UNIT_LENGTH = 1e-3


class SdfValues:
    """Reads values in the children of an element and reports problems."""

    def __init__(self, element: Element, where: str, sink: Sink) -> None:
        """Args: the element, the link or joint for messages, and the callback for problems."""
        self.element, self.where, self.sink = element, where, sink

    def problem(self, code: str, element: Element, message: str, fix: str = "") -> None:
        """Report a problem of an element."""
        self.sink(Problem(code, element.line, self.where, f"<{element.tag}> {message}", fix))

    def child(self, tag: str) -> Element | None:
        """Return the only child with a tag, or None."""
        return the_child(self.element, tag, self.where, self.sink)

    def inside(self, tag: str) -> SdfValues | None:
        """Return the values of a child, or None."""
        child = self.child(tag)
        return None if child is None else SdfValues(child, self.where, self.sink)

    def text(self, tag: str, default: str | None = None) -> str | None:
        """Return the text of a child, or None after reporting that it is missing or empty."""
        child = self.child(tag)
        if child is not None and child.text:
            return child.text
        if child is None and default is not None:
            return default
        what = f"has no <{tag}>" if child is None else f"has an empty <{tag}>"
        self.problem("missing-element", self.element, f"{what}.", f"Add <{tag}>...</{tag}>.")
        return None

    def number(self, tag: str, default: float, *, unbounded: bool = False) -> float:
        """Return the number in a child, or the default without it."""
        child = self.child(tag)
        if child is None:
            return default
        values = self._numbers(child, 1, unbounded)
        return default if values is None else float(values[0])

    def vector(self, tag: str, default: Sequence[float]) -> Array:
        """Return the vector in a child, or the default without it."""
        child = self.child(tag)
        values = None if child is None else self._numbers(child, len(default))
        return np.array(default, dtype=float) if values is None else values

    def flag(self, tag: str) -> bool:
        """Return True if a child has the value true."""
        child = self.child(tag)
        return child is not None and child.text.lower() in {"true", "1"}

    def pose(self) -> Pose:
        """Read the child <pose>: x y z, and roll pitch yaw or a quaternion."""
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


MODEL = "__model__"
WORLD = "world"


@dataclass(frozen=True)
class SdfFrame:
    """A frame of a link, joint or <frame>.

    Attributes:
        name: name of the frame.
        element: its element.
        relative_to: frame of the pose; None for the model.
        pose: pose in that frame.
        attached_to: link or frame to which it is fixed; None for a link.
    """

    name: str
    element: Element
    relative_to: str | None
    pose: Pose
    attached_to: str | None


class SdfFrames:
    """Frames of a model.

    By default the pose of a link is relative to the model, that of a joint to its child, and that of a <frame> to the
    frame to which it is attached.
    """

    def __init__(self, where: str, sink: Sink, model_pose: Pose = NO_MOVE) -> None:
        """Args: the model for messages, the callback for problems, and the model's pose in the world."""
        self._where, self._sink, self._model_pose = where, sink, model_pose
        self._frames: dict[str, SdfFrame] = {}

    def add(self, name: str, element: Element, default: str | None, attached_to: str | None) -> None:
        """Read the pose of an element with a frame.

        Args:
            name: name of the frame.
            element: element with an optional <pose>.
            default: default frame of the pose.
            attached_to: link or frame to which it is fixed; None for a link.
        """
        if name in self._frames:
            line = self._frames[name].element.line
            message = f"its name {name!r} is also that of <{self._frames[name].element.tag}> in line {line}."
            self._problem(element, message, "Names of links, joints and frames of a model must differ.")
            return
        pose = element.first("pose")
        given = None if pose is None else pose.attributes.get("relative_to") or pose.attributes.get("frame")
        value = SdfValues(element, f"{element.tag} {name!r}", self._sink).pose()
        self._frames[name] = SdfFrame(name, element, given or default, value, attached_to)

    def put(self, name: str, element: Element, pose: Pose) -> None:
        """Add a link whose pose in the model is known."""
        self._frames.setdefault(name, SdfFrame(name, element, None, pose, None))

    def relative(self, base: str, target: str, element: Element | None = None) -> Pose:
        """Pose of a frame in another one.

        The common part of their chains cancels, which avoids rounding errors far from the root.

        Args:
            base: the other frame.
            target: the frame.
            element: element that names them, for messages.
        """
        one, other = self._frames.get(base), self._frames.get(target)
        if other is not None and other.relative_to == base != WORLD:  # adjacent frames, the usual case
            return other.pose
        if one is not None and one.relative_to == target != WORLD:
            return inverse(one.pose)
        up, down = self._chain(base, element), self._chain(target, element)
        shared = {frame.name for frame in up} & {frame.name for frame in down}
        pose = compose(inverse(_down_to(up, shared)), _down_to(down, shared))
        return compose(self._model_pose, pose) if base == WORLD else pose

    def link_of(self, name: str, element: Element) -> str | None:
        """Return the link of a frame, or "world", or None after reporting a problem."""
        seen: set[str] = set()
        current = name
        while current != WORLD:
            frame = self._frames.get(current)
            if frame is None:
                self._problem(element, str(unknown_name("link or frame", current, self._frames)))
                return None
            if frame.attached_to is None:
                return frame.name
            if current in seen:
                self._problem(element, f"the frames {', '.join(sorted(seen))} are attached to each other in a cycle.")
                return None
            seen.add(current)
            current = frame.attached_to
        return WORLD

    def _chain(self, name: str, element: Element | None) -> list[SdfFrame]:
        """The frame and the frames to which its pose is relative, up to the model."""
        chain: list[SdfFrame] = []
        current: str | None = name
        while current is not None and current not in (MODEL, WORLD):
            frame = self._frames.get(current)
            if frame is None:
                at = chain[-1].element if chain else element
                message = str(unknown_name("link, joint or frame", current, self._frames))
                self._sink(Problem("unknown-frame", at.line if at else None, self._where, message))
                return chain
            if any(frame is one for one in chain):
                names = " -> ".join(repr(one.name) for one in chain[:8])
                self._problem(frame.element, f"the poses of {names} are relative to each other in a cycle.")
                return chain
            chain.append(frame)
            current = frame.relative_to
        return chain

    def _problem(self, element: Element, message: str, fix: str = "") -> None:
        self._sink(Problem("frame", element.line, self._where, message, fix))


def _down_to(chain: list[SdfFrame], shared: set[str]) -> Pose:
    """Pose of a chain's first frame in its first shared frame, or in the model."""
    pose = NO_MOVE
    for frame in chain:
        if frame.name in shared:
            break
        pose = compose(frame.pose, pose)
    return pose
