# SPDX-License-Identifier: Apache-2.0
"""`benchmarks.hardware` measures in real time, and nothing unsafe comes to the device."""

import json

import pytest

from benchmarks.command import CANNOT_RUN
from benchmarks.hardware import __main__ as command_line


@pytest.mark.parametrize("section", command_line.SECTIONS)
def test_a_quick_run_measures_and_nothing_unsafe_comes_to_the_device(section, tmp_path, capsys):
    code = command_line.main([section, "--quick", "--json", str(tmp_path)])
    assert code != CANNOT_RUN, capsys.readouterr().err
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert all(len(row) == len(table["columns"]) for table in figures["tables"] for row in table["rows"])
    assert [table["section"] for table in figures["tables"]] == [section]
    unsafe = [target for target in figures["targets"] if "unsafe" in target["what"]]
    assert unsafe or section == "cycle"
    assert all(target["reached"] for target in unsafe)
