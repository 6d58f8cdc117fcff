# SPDX-License-Identifier: Apache-2.0
"""Tables of alarm meanings and remedies, for drivers, emulators and the pages in docs/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ada_robot.driver import Alarm


class Meaning(NamedTuple):
    """Meaning of an alarm.

    Attributes:
        text: description.
        remedy: remedy for the user.
        is_stop: a person must act before a reset can succeed.
    """

    text: str
    remedy: str
    is_stop: bool = False

    def alarm(self, code: int, joint: str = "") -> Alarm:
        """Create the alarm with a code."""
        return Alarm(code, f"{self.text}; {self.remedy}", joint, self.is_stop)


def page_table(table: Mapping[int, Meaning], head: str, digits: int) -> str:
    """Format the table in Markdown.

    Args:
        table: meanings by code.
        head: heading of the first column, such as "bit".
        digits: hexadecimal digits of a code.
    """
    rows = (f"| {code:0{digits}X} | {one.text} | {one.remedy} |\n" for code, one in sorted(table.items()))
    return f"| {head} | meaning | remedy |\n|---|---|---|\n" + "".join(rows)
