# SPDX-License-Identifier: Apache-2.0
"""XML elements and numbers as text that reads back as the same values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from xml.sax.saxutils import escape

import numpy as np

from ada_dynamics.arrays import Array
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
    """An element; children that are None are left out."""
    element = Element(tag, dict(attributes or {}), 0)
    element.children = [child for child in children if child is not None]
    element.text = text
    return element


def to_text(root: Element) -> str:
    """A document."""
    lines = ['<?xml version="1.0"?>']
    _write(root, "", lines)
    return "\n".join(lines) + "\n"


def _write(element: Element, indent: str, lines: list[str]) -> None:
    # Not deeper than the reader lets in, so recursion is safe.
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
        raise ModelError(f"the name {text[:60]!r} has a character that XML cannot hold; rename it.")
    return escape(text, extra)


LARGEST = 1.7976931348623157e308  # stands for infinity where a format has no word for it


def number(value: float) -> str:
    """The shortest text of a float; with a point before the exponent, without which YAML 1.1 sees a word."""
    text = repr(float(value) + 0.0)  # + 0.0: no negative zero
    if "e" in text and "." not in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}.0e{exponent}"
    return text[:-2] if text.endswith(".0") else text


def numbers(values: Iterable[float]) -> str:
    """Numbers with spaces between them."""
    return " ".join(number(value) for value in values)


def bounded(value: float) -> str:
    """A number that may be infinite, for formats that cannot say so."""
    return number(value) if math.isfinite(value) else number(math.copysign(LARGEST, value))


def is_unit(R: Array) -> bool:
    """True if a rotation turns nothing."""
    return bool((np.eye(3) == R).all())
