# SPDX-License-Identifier: Apache-2.0
"""The table of MJCF files finds them by name in the folders given, and says of each what came of it."""

import json

import pytest

from benchmarks.mjcf import FILES, main

pytest.importorskip("mujoco")

PENDULUM = '<mujoco><worldbody><body><joint axis="0 1 0"/><geom size="0.1" pos="0 0 1"/></body></worldbody></mujoco>'
FLUID = PENDULUM.replace("<worldbody>", '<option density="1"/><worldbody>')


def test_the_table_names_what_is_the_same_what_is_refused_and_what_is_not_found(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warnings there
    suite = tmp_path / "x/dm_control/suite"
    suite.mkdir(parents=True)
    (suite / "pendulum.xml").write_text(PENDULUM)
    (suite / "fish.xml").write_text(FLUID)
    assert main([str(tmp_path), "--json", "rows.json"]) == 0
    rows = {row["file"]: row for row in json.loads((tmp_path / "rows.json").read_text())}
    assert list(rows) == list(FILES)
    assert len(FILES) == 23
    assert rows["dm_control/suite/pendulum.xml"]["state"] == "same"
    assert "density" in rows["dm_control/suite/fish.xml"]["why"]
    said = capsys.readouterr().out
    assert "23 files:" in said
    assert "--help" in said
