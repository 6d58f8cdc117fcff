# SPDX-License-Identifier: Apache-2.0
"""Alarms of a device as data: what a number means and what to do, for drivers, emulators and the pages in docs/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ada_robot.driver import Alarm


class Meaning(NamedTuple):
    """Meaning of an alarm.

    Attributes:
        text: what is wrong.
        remedy: what to do.
        is_stop: a person must act before a reset can help.
    """

    text: str
    remedy: str
    is_stop: bool = False

    def alarm(self, code: int, joint: str = "") -> Alarm:
        """The alarm of that number."""
        return Alarm(code, f"{self.text}; {self.remedy}", joint, self.is_stop)


def page_table(table: Mapping[int, Meaning], head: str, digits: int) -> str:
    """The table in Markdown.

    Args:
        table: of the device.
        head: of the first column, such as "bit".
        digits: of a number.
    """
    rows = (f"| {code:0{digits}X} | {one.text} | {one.remedy} |\n" for code, one in sorted(table.items()))
    return f"| {head} | what | what to do |\n|---|---|---|\n" + "".join(rows)
