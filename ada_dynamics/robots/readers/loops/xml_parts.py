# SPDX-License-Identifier: Apache-2.0
"""Common parts of the XML spellings of loops: links, axes, types, and a check for unknown names."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, joint_kind
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.values import Attributes, the_child
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.lexical import near

_SHORTEST = 1e-9
_SAME_AXIS = 1e-9

KINDS = tuple(kind for kind in LOOP_KINDS if not JOINT_TYPES[kind].constants)  # elements have no place for these


def check_known(
    element: Element, where: str, sink: Sink, children: Collection[str], attributes: Collection[str]
) -> None:
    """Report children and attributes that a spelling does not have: what is misspelt would be lost without a word."""
    for child in element.children:
        if child.tag == "limit":
            continue  # a copy of a tree joint's; a loop joint has no range
        if child.tag == "dynamics":
            _check_no_dissipation(child, where, sink)
        elif child.tag not in children:
            hint = near(child.tag, sorted(children))
            message = f"<{element.tag}> has an element <{child.tag[:40]}>, which it does not know."
            allowed = ", ".join(f"<{tag}>" for tag in children) or "none"
            sink(Problem("unknown-element", child.line, where, message, f"{hint}Known: {allowed}."))
    for name in element.attributes:
        if name not in attributes:
            hint = near(name, sorted(attributes))
            message = f"<{element.tag}> has an attribute {name[:40]!r}, which it does not know."
            sink(Problem("unknown-attribute", element.line, where, message, f"{hint}Known: {', '.join(attributes)}."))


def _check_no_dissipation(element: Element, where: str, sink: Sink) -> None:
    values = Attributes(element, where, sink)
    for name in element.attributes:
        if values.number(name) != 0.0:
            message = f"has {name}, but a joint that closes a loop has no coordinate for it to act on."
            values.problem("loop-dissipation", message, "Cut the loop at another joint, or set it to zero.")


def read_name(element: Element, sink: Sink) -> str | None:
    """The name of a loop."""
    return Attributes(element, f"<{element.tag}>", sink).text("name")


def read_kind(element: Element, where: str, sink: Sink, other_words: dict[str, str]) -> str | None:
    """The type of a loop joint, or None after reporting that it is none.

    Args:
        element: has the attribute `type`.
        where: the loop, for messages.
        sink: where problems go.
        other_words: what the spelling says for our types.
    """
    values = Attributes(element, where, sink)
    written = values.text("type")
    if written is None:
        return None
    written = written.strip()
    kind = joint_kind(other_words.get(written, written))
    if kind in KINDS:
        return kind
    if kind in LOOP_KINDS:
        message = f"has type={written!r}, which needs {', '.join(JOINT_TYPES[kind].constants)} beside its axis."
        values.problem("loop-type", message, "Write this loop into a file beside the description.")
        return None
    known = [*KINDS, *other_words]
    values.problem("loop-type", f"has type={written[:40]!r}.", f"{near(written, known)}Known: {', '.join(known)}.")
    return None


def read_link(element: Element, tag: str, where: str, sink: Sink) -> tuple[str, Element] | None:
    """The link that a child element names in its attribute `link`, and that element."""
    child = the_child(element, tag, where, sink)
    if child is None:
        message = f"<{element.tag}> has no <{tag}>."
        sink(Problem("missing-element", element.line, where, message, f'Add <{tag} link="..."/>.'))
        return None
    link = Attributes(child, where, sink).text("link")
    return None if link is None else (link, child)


def read_direction(
    element: Element, tag: str, default: Sequence[float] | Array | None, where: str, sink: Sink
) -> Array | None:
    """A direction in the attribute `xyz` of a child element; the default where the element is missing."""
    child = the_child(element, tag, where, sink)
    if child is None:
        return None if default is None else np.array(default, dtype=float)
    values = Attributes(child, where, sink)
    if not values.has("xyz"):
        values.problem("missing-attribute", "has no attribute 'xyz'.", 'Add xyz="0 0 1" or another direction.')
        return None
    axis = values.vector("xyz", 3, (0.0, 0.0, 0.0))
    if float(np.linalg.norm(axis)) < _SHORTEST:
        values.problem("zero-axis", "has length zero.", 'Give a direction such as xyz="0 0 1".')
        return None
    return axis


def same_direction(a: Array, b: Array) -> bool:
    """True if two vectors point the same way."""
    return bool(np.allclose(a / np.linalg.norm(a), b / np.linalg.norm(b), rtol=0.0, atol=_SAME_AXIS))


def are_perpendicular(a: Array, b: Array, where: str, element: Element, sink: Sink) -> bool:
    """True if a universal joint's axes are; reports it where they are not."""
    if abs(float(a @ b)) <= _SAME_AXIS * float(np.linalg.norm(a) * np.linalg.norm(b)):
        return True
    message = "its two axes are not perpendicular."
    sink(Problem("axes", element.line, where, message, "A universal joint has two perpendicular axes."))
    return False
