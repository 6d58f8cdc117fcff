# SPDX-License-Identifier: Apache-2.0
"""Panels of a robot on fixed feet."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.analysis.fixed_feet import fixed_feet_of
from ada_dynamics.drawing.panels import panels_of


def test_panels_show_the_soles_the_margin_and_the_upper_body() -> None:
    model = ada.load("hoap2_standing")
    q = np.zeros(10)
    log = ada.Simulation(model, q, tau=ada.Dynamics(model).inverse(q, q, q)).run(0.005)
    above, margin = panels_of(log, ["fixed_feet_zmp"])
    assert above.is_plane
    assert np.ptp(above.series[1].x) == pytest.approx(0.094)
    assert margin.series[0].y == pytest.approx(fixed_feet_of(log).margin)
    (angles,) = panels_of(log, ["trunk_angles"])
    assert [series.label for series in angles.series] == ["x", "y", "z"]
    assert np.abs(angles.series[2].y).max() < 1e-6
