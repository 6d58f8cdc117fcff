# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of alarms in the pages of the devices anew, from the tables that their drivers use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ada_hardware.hexa import alarms as hexa
from ada_hardware.pa10 import alarms as pa10
from ada_robot.driver import Meaning


def page_table(table: Mapping[int, Meaning], head: str, digits: int) -> str:
    """Format a table of alarms in Markdown.

    Args:
        table: meanings by code.
        head: heading of the first column, such as "bit".
        digits: hexadecimal digits of a code.
    """
    rows = (f"| {code:0{digits}X} | {one.text} | {one.remedy} |\n" for code, one in sorted(table.items()))
    return f"| {head} | meaning | remedy |\n|---|---|---|\n" + "".join(rows)


FOLDER = Path(__file__).parent
_WORDS = {int(bit): one.meaning for bit, one in pa10.SWITCHES.items() if one.meaning is not None}
TABLES = {
    "bringup_pa10.md": {
        "pa10 axis": page_table(pa10.AXIS_ALARMS, "code", 3),
        "pa10 controller": page_table(pa10.CONTROLLER_ALARMS, "code", 3),
    },
    "pa10_hardware.md": {
        "pa10 words": page_table(_WORDS, "bit of the controller", 4),
        "pa10 undriven": page_table(pa10.UNDRIVEN, "bit of an axis", 4),
    },
    "hexa.md": {
        "hexa table": page_table(hexa.TABLE_ALARMS, "bit of the table", 4),
        "hexa axis": page_table(hexa.AXIS_ALARMS, "bit of an axis", 4),
    },
}


def renewed(page: str, text: str) -> str:
    """A page with its tables, each behind the line `<!-- alarms: NAME -->`, made anew."""
    for name, table in TABLES[page].items():
        marker = f"<!-- alarms: {name} -->\n"
        text = re.sub(re.escape(marker) + r"(?:\|.*\n)*", lambda _, new=marker + table: new, text)
    return text


if __name__ == "__main__":
    for page in TABLES:
        file = FOLDER / page
        file.write_text(renewed(page, file.read_text(encoding="utf-8")), encoding="utf-8")
