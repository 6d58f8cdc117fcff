# SPDX-License-Identifier: Apache-2.0
"""The pages of the devices have the alarms that their drivers tell."""

import importlib.util
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]


def test_the_tables_of_alarms_are_up_to_date_and_each_stands_once():
    spec = importlib.util.spec_from_file_location("alarm_tables", REPOSITORY / "docs/alarm_tables.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    for page, tables in made.TABLES.items():
        text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
        assert made.renewed(page, text) == text, "run: python docs/alarm_tables.py"
        for name in tables:
            assert text.count(f"<!-- alarms: {name} -->\n|") == 1


def test_what_the_page_says_of_an_alarm_is_what_a_driver_says():
    from ada_hardware.pa10.alarms import axis_alarm

    text = (REPOSITORY / "docs/bringup_pa10.md").read_text(encoding="utf-8")
    what, remedy = axis_alarm(0x060, "e1").text.split("; ", 1)
    assert f"| 060 | {what} | {remedy} |" in text
