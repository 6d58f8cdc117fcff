# SPDX-License-Identifier: Apache-2.0
"""Frames of SDFormat: links, joints and <frame>s with poses relative to each other."""

from __future__ import annotations

from typing import NamedTuple

from ada_dynamics.errors import unknown_name
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, Pose, compose, inverse
from ada_dynamics.robots.readers.values import ChildTexts
from ada_dynamics.robots.readers.xml import Element

MODEL = "__model__"
WORLD = "world"


class SdfFrame(NamedTuple):
    """A frame of a link, joint or <frame>."""

    name: str
    element: Element
    relative_to: str | None  # frame of the pose; None for the model
    pose: Pose  # in that frame
    attached_to: str | None  # link or frame to which it is fixed; None for a link


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
        """Read the pose of an element, which is relative to the frame `default` by default."""
        if name in self._frames:
            line = self._frames[name].element.line
            message = f"its name {name!r} is also that of <{self._frames[name].element.tag}> in line {line}."
            self._problem(element, message, "Names of links, joints and frames of a model must differ.")
            return
        pose = element.first("pose")
        given = None if pose is None else pose.attributes.get("relative_to") or pose.attributes.get("frame")
        value = ChildTexts(element, f"{element.tag} {name!r}", self._sink).pose()
        self._frames[name] = SdfFrame(name, element, given or default, value, attached_to)

    def put(self, name: str, element: Element, pose: Pose) -> None:
        """Add a link whose pose in the model is known."""
        self._frames.setdefault(name, SdfFrame(name, element, None, pose, None))

    def relative(self, base: str, target: str, element: Element | None = None) -> Pose:
        """Pose of a frame in another one; `element` names them, for messages.

        The common part of their chains cancels, which avoids rounding errors far from the root.
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
