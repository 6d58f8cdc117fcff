# SPDX-License-Identifier: Apache-2.0
"""Model to be written, the parts that a format cannot represent, and XML that reads back as the same values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from xml.sax.saxutils import escape

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.model.description import ROOT_JOINT
from ada_dynamics.model.elements import Joint, LoopJoint
from ada_dynamics.model.model import Model
from ada_dynamics.robots.readers.values import JointKindTable
from ada_dynamics.robots.readers.xml import Element


class Inexpressible(ModelError):
    """A format cannot represent a model.

    Attributes:
        spelling: name of the format.
        refused: the parts of the model, each with an alternative.
    """

    def __init__(self, spelling: str, refused: list[str]) -> None:
        """Compose the message from the first refused parts."""
        self.spelling = spelling
        self.refused = refused
        shown = " ".join(refused[:8]) + (f" And {len(refused) - 8} more." if len(refused) > 8 else "")
        super().__init__(f"the format {spelling!r} cannot represent this model. {shown}")


@dataclass
class Draft:
    """A model, the parts that the format cannot represent, and notes on parts left out or written in another form."""

    model: Model
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def refuse(self, what: str, why: str, instead: str) -> None:
        """Add a part that the format cannot represent, with the reason and an alternative."""
        self.refused.append(f"{what} {why}: {instead}")

    @property
    def floats(self) -> bool:
        """True if the model was built with a floating base."""
        first = next(iter(self.model.joints.values()), None)
        return first is not None and first.name == ROOT_JOINT and first.parent not in self.model.links

    @property
    def has_contact_parameters(self) -> bool:
        """True if some shape has friction or a margin."""
        shapes = (shape for link in self.model.links.values() for shape in (*link.visuals, *link.collisions))
        return any(shape.friction is not None or shape.margin for shape in shapes)

    @property
    def joints(self) -> list[Joint]:
        """The joints without the one of a floating base."""
        joints = list(self.model.joints.values())
        return joints[1:] if self.floats else joints

    @cached_property
    def motor_numbers(self) -> dict[str, int]:
        """Numbers of the motors, from 1, if their order is not that of the joints."""
        numbers = {name: i for i, name in enumerate(self.model.actuated, 1)}
        ordered = tuple(name for name in self.model.joints if name in numbers) == self.model.actuated
        return {} if ordered else numbers

    def is_passive(self, joint: Joint) -> bool:
        """True if a movable joint has no motor."""
        return joint.nv > 0 and joint.name not in self.model.actuated

    def check_kinds(self, kinds: JointKindTable[Any], with_base: bool = False) -> None:
        """Refuse tree joints of types that the format lacks; with `with_base` including the one of a floating base."""
        for joint in self.model.joints.values() if with_base else self.joints:
            if joint.kind in kinds.instead:
                self.refuse(f"Joint {joint.name!r}", f"is {joint.kind}", kinds.instead[joint.kind])

    def check_loop_kinds(self, allowed: Sequence[str], others: str) -> None:
        """Refuse loop joints of types that the format lacks."""
        for loop in self.model.loops.values():
            if loop.kind not in allowed:
                only = ", ".join(allowed)
                instead = "sidecar" if loop.type.constants else others
                why = f"is {loop.kind}, and the format has {only} only"
                self.refuse(f"Loop {loop.name!r}", why, f"write it as {instead}.")


def ends_of(loop: LoopJoint) -> tuple[tuple[str, Array, Array], tuple[str, Array, Array]]:
    """Link, and position and rotation of the joint in it, of both ends of a loop joint."""
    parent = (loop.parent, loop.parent_xyz, loop.parent_rotation)
    return parent, (loop.child, loop.child_xyz, loop.child_rotation)


_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_IN_ATTRIBUTE = {'"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}


def make(
    tag: str,
    attributes: Mapping[str, str] | None = None,
    children: Iterable[Element | None] = (),
    text: str = "",
) -> Element:
    """Make an element; children that are None are left out."""
    element = Element(tag, dict(attributes or {}), 0)
    element.children = [child for child in children if child is not None]
    element.text = text
    return element


def to_text(root: Element) -> str:
    """Return an XML document."""
    lines = ['<?xml version="1.0"?>']
    _write(root, "", lines)
    return "\n".join(lines) + "\n"


def _write(element: Element, indent: str, lines: list[str]) -> None:
    # The reader limits the depth, so recursion is safe.
    attributes = "".join(f' {name}="{_quoted(value, _IN_ATTRIBUTE)}"' for name, value in element.attributes.items())
    start = f"{indent}<{element.tag}{attributes}"
    if not element.children and not element.text:
        lines.append(f"{start}/>")
    elif not element.children:
        lines.append(f"{start}>{_quoted(element.text, {})}</{element.tag}>")
    else:
        lines.append(f"{start}>{_quoted(element.text, {})}")
        for child in element.children:
            _write(child, indent + "  ", lines)
        lines.append(f"{indent}</{element.tag}>")


def _quoted(text: str, extra: dict[str, str]) -> str:
    if _FORBIDDEN.search(text):
        raise ModelError(f"the name {text[:60]!r} has a character that XML does not allow; rename it.")
    return escape(text, extra)


LARGEST = 1.7976931348623157e308  # replaces infinity in formats without it


def number(value: float) -> str:
    """Shortest text of a float, with a decimal point before an exponent, as YAML 1.1 requires."""
    text = repr(float(value) + 0.0)  # + 0.0: no negative zero
    if "e" in text and "." not in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}.0e{exponent}"
    return text[:-2] if text.endswith(".0") else text


def numbers(values: Iterable[float]) -> str:
    """Join numbers with spaces."""
    return " ".join(number(value) for value in values)


def bounded(value: float) -> str:
    """Text of a number, with infinity replaced by the largest float."""
    return number(value) if math.isfinite(value) else number(math.copysign(LARGEST, value))
