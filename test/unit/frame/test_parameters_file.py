# SPDX-License-Identifier: Apache-2.0
"""config/parameters.yaml says what every parameter of the nodes is by default, and what it may be."""

from ada_dynamics import resources
from ada_tools.bringup import template


def test_the_file_to_start_from_is_up_to_date():
    text = resources.find("config", template.NAME).read_text(encoding="utf-8")
    assert text == template.render(), f"run `{template.MADE_BY}`"
