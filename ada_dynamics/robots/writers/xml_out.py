# SPDX-License-Identifier: Apache-2.0
"""Elements into XML text."""

from __future__ import annotations

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
