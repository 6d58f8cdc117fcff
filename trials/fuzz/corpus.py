# SPDX-License-Identifier: Apache-2.0
"""Inputs that are kept, a file for each target and a line for each input, and how they are chosen.

Bytes stand as in Python's literals, so that texts can be read and diffs say what changed. `corpus` holds the smallest
inputs found that together reach every line; `crashes` what once broke something, for good.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

HERE = Path(__file__).parent
CORPUS, CRASHES = "corpus", "crashes"
MOST = 24 * 1024  # bytes of a target's corpus

_PROJECT = str(HERE.parents[1])
_OWN = str(HERE)


def kept(what: str, name: str) -> list[bytes]:
    """Inputs of a target. Args: CORPUS or CRASHES; name of the target."""
    path = HERE / what / f"{name}.txt"
    if not path.exists():
        return []
    return [line.decode("unicode_escape").encode("latin-1") for line in path.read_bytes().splitlines()]


def keep(what: str, name: str, inputs: Iterable[bytes]) -> Path:
    """Write them anew, without doubles, in order of length."""
    path = HERE / what / f"{name}.txt"
    path.parent.mkdir(exist_ok=True)
    ordered = sorted(set(inputs), key=lambda one: (len(one), one))
    path.write_bytes(b"".join(one.decode("latin-1").encode("unicode_escape") + b"\n" for one in ordered))
    return path


def chosen(inputs: Iterable[bytes], run: Callable[[bytes], object], most: int) -> list[bytes]:
    """The smallest inputs that together reach every line of the project that all of them reach.

    Args:
        inputs: to choose from.
        run: what they are put through.
        most: of all that are chosen [bytes]; the largest ones are left out beyond it.
    """
    found: list[bytes] = []
    reached: set[tuple[str, int]] = set()
    size = 0
    for one in sorted(set(inputs), key=lambda data: (len(data), data)):
        lines = _lines(one, run)
        if size + len(one) <= most and not lines <= reached:
            reached |= lines
            size += len(one)
            found.append(one)
    return found


def _lines(data: bytes, run: Callable[[bytes], object]) -> set[tuple[str, int]]:
    seen: set[tuple[str, int]] = set()

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, _event: str, _: Any) -> Any:
        file = frame.f_code.co_filename
        return line if file.startswith(_PROJECT) and not file.startswith(_OWN) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        run(data)
    finally:
        sys.settrace(before)
    return seen
