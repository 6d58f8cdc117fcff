# SPDX-License-Identifier: Apache-2.0
"""Help with misspelt names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def near(name: str, known: Sequence[str]) -> str:
    """A question after the nearest known name, such as "Did you mean 'axis'? ", or nothing."""
    found = difflib.get_close_matches(name.lower()[:100], known, n=1, cutoff=0.6)
    return f"Did you mean {found[0]!r}? " if found else ""
