# SPDX-License-Identifier: Apache-2.0
"""Panels of one link: its position and velocity."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.drawing.panels import panels_of
from ada_dynamics.errors import InputError


def test_a_link_s_position_and_velocity_are_those_of_a_pendulum():
    """A rod that falls from level: its tip goes round at 1 m, (sin θ, 0, cos θ), and as fast as the joint turns."""
    model = ada.load("planar_3r")
    log = ada.Simulation(model, np.array([np.pi / 2, 0.0, 0.0]), step=1e-3).run(0.2)
    position, velocity = panels_of(log, ["link_position:link_2", "link_velocity:link_2"])
    x, y, z = (series.y for series in position.series)
    angle, rate = log.q[:, 0], log.v[:, 0]
    np.testing.assert_allclose([x, y, z], [np.sin(angle), 0.0 * angle, np.cos(angle)], atol=1e-12)
    np.testing.assert_allclose(velocity.series[0].y, np.cos(angle) * rate, atol=1e-12)
    assert [series.label for series in position.series] == ["x", "y", "z"]


def test_a_link_that_is_not_there_is_refused():
    log = ada.Simulation(ada.load("planar_3r"), step=1e-3).run(0.01)
    with pytest.raises(InputError, match="hand"):
        panels_of(log, ["link_position:hand"])
