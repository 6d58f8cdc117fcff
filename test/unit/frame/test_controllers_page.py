# SPDX-License-Identifier: Apache-2.0
"""The page on controllers has every controller, its settings as they are, and examples that run."""

import importlib.util
import re
from pathlib import Path

from ada_controllers import CONTROLLERS

REPOSITORY = Path(__file__).parents[3]


def tables():
    spec = importlib.util.spec_from_file_location("controller_tables", REPOSITORY / "docs/controller_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_controllers_are_up_to_date():
    made = tables()
    text = made.PAGE.read_text(encoding="utf-8")
    assert made.renewed(text) == text, "run: python docs/controller_tables.py"
    assert text.count("<!-- controllers -->\n|") == 1
    for name in (*CONTROLLERS, made.SHAPING):
        assert text.count(f"<!-- settings: {name} -->\n|") == 1, name


def test_every_controller_has_a_section_of_its_own():
    text = (REPOSITORY / "docs/controllers.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (\w+)$", text, re.MULTILINE) == list(CONTROLLERS)
