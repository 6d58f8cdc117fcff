# SPDX-License-Identifier: Apache-2.0
"""Help with misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence


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
