# SPDX-License-Identifier: Apache-2.0
"""Splines of fifth order and differences against closed forms and scipy."""

import numpy as np
import pytest
from refused import refused

from ada_dynamics.analysis.sampled_signals import cumulative_integral
from ada_dynamics.errors import InputError
from ada_robot.trajectory.splines import QuinticSpline

TIMES = np.array([0.0, 0.4, 0.5, 1.3, 2.0])
POINTS = np.array([[0.0, 1.0], [0.5, -1.0], [0.2, 0.3], [-0.7, 0.1], [0.4, 2.0]])


def test_scipy_has_the_same_spline():
    interpolate = pytest.importorskip("scipy.interpolate", reason="scipy is not installed")
    v, a = [0.4, -0.2], [1.0, 0.5]
    ends = [(1, v[0]), (2, a[0])], [(1, v[1]), (2, a[1])]
    other = interpolate.make_interp_spline(TIMES, POINTS[:, 0], k=5, bc_type=ends)
    spline = QuinticSpline(TIMES, POINTS[:, 0], velocities=tuple(v), accelerations=tuple(a))
    t = np.linspace(0.0, 2.0, 101)
    for order, derivative in enumerate((spline.position, spline.velocity, spline.acceleration)):
        np.testing.assert_allclose(
            derivative(t), other.derivative(order)(t) if order else other(t), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize(
    ("times", "points", "more", "facts"),
    [
        ([0.0, 1.0, 1.0], [0.0, 1.0, 2.0], {}, {"field": "times", "value": 2}),
        ([0.0], [1.0], {}, {"field": "times", "value": (1,)}),
        ([0.0, np.nan], [1.0, 2.0], {}, {"field": "times", "value": (2,)}),
        ([0.0, 1.0], [1.0, 2.0, 3.0], {}, {"field": "points", "value": (3,)}),
        ([0.0, 1.0], [1.0, np.inf], {}, {"field": "points", "value": (2,)}),
        ([0.0, 1.0], [1.0, 2.0], {"velocities": (0.0, np.nan)}, {"field": "velocities[1]"}),
        (
            [0.0, 1.0],
            [[1.0], [2.0]],
            {"accelerations": ([1.0, 2.0], 0.0)},
            {"field": "accelerations[0]", "allowed": (1,)},
        ),
    ],
)
def test_what_is_no_spline_is_refused_by_name(times, points, more, facts):
    with refused(InputError, **facts):
        QuinticSpline(times, points, **more)


def test_integrals_are_of_fourth_order():
    def error(n):
        t = np.linspace(0.0, 2.0, n + 1)
        return np.max(np.abs(cumulative_integral(t, np.cos(3.0 * t)) - np.sin(3.0 * t) / 3.0))

    assert error(200) < 1e-8
    assert error(100) / error(200) == pytest.approx(16.0, rel=0.15)


def test_times_that_stand_still_have_no_integral():
    with refused(InputError, field="times", value=2):
        cumulative_integral([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])
