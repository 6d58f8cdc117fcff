# SPDX-License-Identifier: Apache-2.0
"""`benchmarks.hardware` measures in real time, and nothing unsafe comes to the device."""

import json

from benchmarks.hardware import __main__ as command_line
from benchmarks.report import CANNOT_RUN


def test_a_quick_run_measures_the_cycle_and_nothing_unsafe_comes_to_the_device(tmp_path, capsys):
    code = command_line.main(["--quick", "--json", str(tmp_path)])
    assert code != CANNOT_RUN, capsys.readouterr().err
    (table,) = json.loads((tmp_path / "figures.json").read_text())["tables"]
    assert table["section"] == "cycle"
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
    assert table["rows"][0][table["columns"].index("unsafe")] == 0
