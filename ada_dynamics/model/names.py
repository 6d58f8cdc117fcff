# SPDX-License-Identifier: Apache-2.0
"""Names for parts that a description does not name."""

from __future__ import annotations

from collections.abc import Container


def free_name(wanted: str, taken: Container[str]) -> str:
    """The wanted name, with a number behind it where it is taken."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name
