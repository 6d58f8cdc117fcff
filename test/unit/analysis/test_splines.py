# SPDX-License-Identifier: Apache-2.0
"""Splines of fifth order and differences against closed forms and scipy."""

import numpy as np
import pytest
from refused import refused

from ada_dynamics.analysis.sampled_signals import cumulative_integral
from ada_dynamics.errors import InputError
from ada_robot.trajectory.path import spline_derivatives

TIMES = np.array([0.0, 0.4, 0.5, 1.3, 2.0])
POINTS = np.array([[0.0, 1.0], [0.5, -1.0], [0.2, 0.3], [-0.7, 0.1], [0.4, 2.0]])


def test_scipy_has_the_same_spline():
    interpolate = pytest.importorskip("scipy.interpolate", reason="scipy is not installed")
    start = np.array([[0.4, -0.2], [1.0, 0.5]])
    ends = [(1, start[0]), (2, start[1])], [(1, [0.0, 0.0]), (2, [0.0, 0.0])]
    other = interpolate.make_interp_spline(TIMES, POINTS, k=5, bc_type=ends)
    for order, values in enumerate(spline_derivatives(TIMES, POINTS, *start), 1):
        np.testing.assert_allclose(values, other.derivative(order)(TIMES), rtol=1e-9, atol=1e-9)


def test_integrals_are_of_fourth_order():
    def error(n):
        t = np.linspace(0.0, 2.0, n + 1)
        return np.max(np.abs(cumulative_integral(t, np.cos(3.0 * t)) - np.sin(3.0 * t) / 3.0))

    assert error(200) < 1e-8
    assert error(100) / error(200) == pytest.approx(16.0, rel=0.15)


def test_times_that_stand_still_have_no_integral():
    with refused(InputError, field="times", value=2):
        cumulative_integral([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])
