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
    """A text is not a usable number; the message gives the reason."""


def to_float(text: str, *, unbounded: bool = False) -> float:
    """Parse a finite number in the common notation of C++ and Python.

    Args:
        text: the number; surrounding spaces are ignored.
        unbounded: also accept inf and -inf, and replace numbers beyond 1e30 by them.

    Raises:
        BadNumber: the text is no such number.
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
    """A suggestion of the nearest known name, such as "Did you mean 'axis'? ", or an empty string."""
    found = difflib.get_close_matches(name.lower()[:100], known, n=1, cutoff=0.6)
    return f"Did you mean {found[0]!r}? " if found else ""


def slip(name: str, known: Collection[str]) -> str | None:
    """The known name of which a name is probably a misspelling; None for other names."""
    if name in known or ":" in name or len(name) > 40:
        return None
    swapped = [k for k in sorted(known) if sorted(k) == sorted(name.lower())]
    found = swapped or difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.75)
    # One or two different letters are a misspelling; a longer difference is a vendor's name (gear_velocity).
    return found[0] if found and abs(len(found[0]) - len(name)) <= 2 else None
