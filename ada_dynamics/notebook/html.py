# SPDX-License-Identifier: Apache-2.0
"""Pieces of HTML: tables, lists, and drawings of matplotlib inside of the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any

from ada_dynamics.errors import InputError

_LARGEST_SVG = 300_000  # characters; a drawing of more becomes dots
_DOTS = 80  # per inch
_CELL = "padding:0.1em 0.8em 0.1em 0;vertical-align:top"


def beside(*parts: str) -> str:
    """Pieces side by side, one below the other where there is no room."""
    boxes = "".join(f'<div style="min-width:0;overflow-x:auto">{part}</div>' for part in parts if part)
    return f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">{boxes}</div>'


def heading(text: str, about: str = "") -> str:
    """A name in bold, and what there is to say about it."""
    return f"<div><b>{escape(text)}</b>{' ' + escape(about) if about else ''}</div>"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers with five digits and to the right."""
    line = "".join(f'<th style="text-align:left;{_CELL}">{escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<table style="font-size:0.9em"><thead><tr>{line}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: object) -> str:
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    align = "right" if is_number else "left"
    return f'<td style="text-align:{align};white-space:pre-wrap;{_CELL}">{escape(text)}</td>'


def drawn(make: Callable[[], Any]) -> str:
    """A figure of matplotlib as part of the page; "" where matplotlib is not installed.

    Args:
        make: draws it.
    """
    try:
        figure = make()
    except InputError:  # a table without a picture is better than none
        return ""
    svg = io.StringIO()
    figure.savefig(svg, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = svg.getvalue()
    if len(text) <= _LARGEST_SVG:
        return text[text.index("<svg") :]
    dots = io.BytesIO()
    figure.savefig(dots, format="png", dpi=_DOTS, bbox_inches="tight")
    return f'<img src="{data_address("image/png", dots.getvalue())}">'


def data_address(kind: str, content: bytes) -> str:
    """A file's content as an address, so that a page is whole without it."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
