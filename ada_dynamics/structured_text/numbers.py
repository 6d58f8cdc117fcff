# SPDX-License-Identifier: Apache-2.0
"""Numbers out of texts, strictly: what C++ and Python both write, finite, and no longer or larger than makes sense."""

from __future__ import annotations

import math
import re

LONGEST = 400  # characters of a number
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_UNBOUNDED = re.compile(r"[+-]?(?:inf|infinity)\Z", re.IGNORECASE)
_LARGEST = 1e30  # beyond anything physical in SI units, and its powers stay within the range of a double


class BadNumber(ValueError):
    """A text that is not a usable number; says why."""


def to_float(text: str, *, unbounded: bool = False) -> float:
    """A finite number as C++ and Python both write it.

    Args:
        text: the number; spaces around it are ignored.
        unbounded: also accept inf and -inf, and take what is beyond 1e30 as such.

    Raises:
        BadNumber: it is something else.
    """
    stripped = text.strip()
    if len(stripped) > LONGEST:
        raise BadNumber(f"a number of {len(stripped)} characters")
    if _NUMBER.match(stripped):
        value = float(stripped)
        if abs(value) <= _LARGEST:
            return value
        if unbounded:
            return math.copysign(math.inf, value)
        raise BadNumber(f"{stripped!r} is too large; numbers may be up to {_LARGEST:g}")
    if unbounded and _UNBOUNDED.match(stripped):
        return float(stripped)
    raise BadNumber(f"{stripped!r} {_why_not(stripped)}")


def _why_not(text: str) -> str:
    if not text:
        return "is empty"
    if "${" in text or "$(" in text:
        return "is a xacro expression: give the file the ending .xacro, or expand it first"
    if text.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        return "is not a finite number"
    if re.match(r"[+-]?[0-9]+,[0-9]+\Z", text):
        return "has a decimal comma; write a point"
    return "is not a number"
