# SPDX-License-Identifier: Apache-2.0
"""The benchmark of graphics processors runs in its smallest form on this one, and says where there is none."""

from __future__ import annotations

import json

from benchmarks import gpu


def test_a_quick_run_compares_every_kernel_and_writes_every_figure(tmp_path, capsys):
    file = tmp_path / "figures.json"
    code = gpu.main(["--quick", "--device", "host", "--json", str(file)])
    said = capsys.readouterr()
    assert code == 0, said.err
    figures = json.loads(file.read_text(encoding="utf-8"))
    assert {table["section"] for table in figures["tables"]} == set(gpu.SECTIONS)
    for table in figures["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"]), table["title"]
    assert figures["targets"] == []  # a processor that is none of these is not judged
    assert "computed, not measured" in said.out
