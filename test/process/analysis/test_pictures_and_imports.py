# SPDX-License-Identifier: Apache-2.0
"""Maps and residuals are drawn (matplotlib may start a thread); engines are imported only where they are used."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from recorded_arm import ASKED, PAYLOAD, recorded_arm
from refused import refused

import ada_dynamics as ada
from ada_dynamics.analysis.workspace import singularity_map
from ada_dynamics.robots import mechanisms
from ada_tools import cli


def test_a_map_is_drawn_and_what_it_cannot_show_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from ada_dynamics.drawing.maps import plot_map

    model, q = mechanisms.stewart()
    dynamics = ada.Dynamics(model, q0=q)
    x, y = np.linspace(-0.02, 0.02, 3), np.linspace(-0.02, 0.02, 3)
    found = singularity_map(dynamics, "platform", q, {"x": x, "y": y}, rows="all")
    measures = ["serial", "parallel", "constraint", "condition", "minimum"]
    figure = plot_map(found, tmp_path / "map.png", measures)
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()] == ["x [m]"] * 5
    with refused(ada.InputError, field="measure", value="serail"):
        plot_map(found, measures=["serail"])
    line = singularity_map(dynamics, "platform", q, {"x": x}, rows="all")
    with refused(ada.InputError, field="axes", value=("x",)):
        plot_map(line)


def test_pinocchio_is_imported_when_a_model_is_made_and_not_before() -> None:
    check = "import sys, ada_experiments.pinocchio_model; sys.exit('pinocchio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0


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
