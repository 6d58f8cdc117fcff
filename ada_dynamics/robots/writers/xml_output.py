# SPDX-License-Identifier: Apache-2.0
"""XML elements and numbers as text that reads back as the same values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

from ada_dynamics.errors import ModelError
from ada_dynamics.robots.readers.xml import Element

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
