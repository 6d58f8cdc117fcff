# SPDX-License-Identifier: Apache-2.0
"""Numbers in texts, read strictly, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Sequence

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


def near(name: str, known: Sequence[str]) -> str:
    """A question after the nearest known name, such as "Did you mean 'axis'? ", or nothing."""
    found = difflib.get_close_matches(name.lower()[:100], known, n=1, cutoff=0.6)
    return f"Did you mean {found[0]!r}? " if found else ""


def slip(name: str, known: Collection[str]) -> str | None:
    """The known name of which another one is a slip of a letter or two; None for a word of its own."""
    if name in known or ":" in name or len(name) > 40:
        return None
    swapped = [k for k in sorted(known) if sorted(k) == sorted(name.lower())]
    found = swapped or difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.75)
    # A word more is a vendor's own name (gear_velocity), a letter or two are a slip.
    return found[0] if found and abs(len(found[0]) - len(name)) <= 2 else None
