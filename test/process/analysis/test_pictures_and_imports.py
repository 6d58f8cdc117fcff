# SPDX-License-Identifier: Apache-2.0
"""Maps are drawn (matplotlib may start a thread), and engines are imported only where they are used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.analysis.workspace import singularity_map
from ada_dynamics.robots import mechanisms


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
