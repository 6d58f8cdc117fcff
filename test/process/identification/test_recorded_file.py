# SPDX-License-Identifier: Apache-2.0
"""`ada identify` reads a recording in MCAP, whose writer stamps the time, and draws the residuals (matplotlib)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded_arm import ASKED, PAYLOAD, recorded_arm

from ada_tools import cli


def test_a_payload_is_found_in_a_recording_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mcap")
    pytest.importorskip("matplotlib")
    file, plot = tmp_path / "run.mcap", tmp_path / "found.png"
    recorded_arm().save(file)
    assert cli.main(["identify", str(file), "--model", "pa10", *ASKED, "--plot", str(plot), "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["parameters"]}
    assert rows["link_7.mass"]["value"] == pytest.approx(0.24 + PAYLOAD, rel=1e-3)
    assert rows["s1.damping"]["value"] == pytest.approx(1.5, rel=1e-2)
    assert plot.read_bytes().startswith(b"\x89PNG")
