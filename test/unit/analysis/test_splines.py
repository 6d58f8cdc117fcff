# SPDX-License-Identifier: Apache-2.0
"""Splines of fifth order and differences against closed forms and scipy."""

import numpy as np
import pytest
from refused import refused

from ada_dynamics.analysis.differences import central_differences, forward_differences
from ada_dynamics.analysis.quadrature import cumulative
from ada_dynamics.errors import InputError
from ada_robot.trajectory.splines import QuinticSpline

TIMES = np.array([0.0, 0.4, 0.5, 1.3, 2.0])
POINTS = np.array([[0.0, 1.0], [0.5, -1.0], [0.2, 0.3], [-0.7, 0.1], [0.4, 2.0]])


def test_two_points_at_rest_are_joined_by_the_curve_of_least_jerk():
    x = np.linspace(0.0, 1.0, 11)
    spline = QuinticSpline([1.0, 3.0], [0.5, 2.5])
    position, velocity, acceleration = spline(1.0 + 2.0 * x)
    np.testing.assert_allclose(position, 0.5 + 2.0 * (10 * x**3 - 15 * x**4 + 6 * x**5), atol=1e-14)
    np.testing.assert_allclose(velocity, 30 * x**2 - 60 * x**3 + 30 * x**4, atol=1e-14)
    np.testing.assert_allclose(acceleration, (60 * x - 180 * x**2 + 120 * x**3) / 2.0, atol=1e-13)


def test_the_ends_have_the_states_asked_for():
    v, a = ([1.0, -2.0], [0.3, 0.1]), ([0.5, 4.0], [-1.0, 2.0])
    spline = QuinticSpline(TIMES, POINTS, velocities=v, accelerations=a)
    for i, t in ((0, TIMES[0]), (1, TIMES[-1])):
        position, velocity, acceleration = spline(t)
        np.testing.assert_allclose(position, POINTS[-i], rtol=0, atol=1e-13)
        np.testing.assert_allclose(velocity, v[i], rtol=0, atol=1e-12)
        np.testing.assert_allclose(acceleration, a[i], rtol=0, atol=1e-11)


def test_it_goes_through_all_points_and_four_derivatives_are_continuous():
    spline = QuinticSpline(TIMES, POINTS)
    np.testing.assert_allclose(spline.position(TIMES), POINTS, rtol=0, atol=1e-13)
    near = 1e-9
    for derivative in (spline.position, spline.velocity, spline.acceleration, spline.jerk, spline.snap):
        before, after = derivative(TIMES[1:-1] - near), derivative(TIMES[1:-1] + near)
        size = np.max(np.abs(derivative(np.linspace(0.0, 2.0, 201))))
        # over 2 ns a derivative changes by its rate, up to some 100/s here, times that
        np.testing.assert_allclose(before, after, rtol=0, atol=1e-6 * size)


def test_a_polynomial_of_fifth_order_is_met_exactly():
    p = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0, -1.0, 0.25])
    v, a = p.deriv(), p.deriv(2)
    ends = [0.0, 2.0]
    spline = QuinticSpline(
        TIMES, p(TIMES), velocities=tuple(v(t) for t in ends), accelerations=tuple(a(t) for t in ends)
    )
    t = np.linspace(0.0, 2.0, 77)
    for found, wanted in zip(spline(t), (p(t), v(t), a(t)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11)


def test_scipy_has_the_same_spline():
    interpolate = pytest.importorskip("scipy.interpolate", reason="scipy is not installed")
    v, a = [0.4, -0.2], [1.0, 0.5]
    ends = [(1, v[0]), (2, a[0])], [(1, v[1]), (2, a[1])]
    other = interpolate.make_interp_spline(TIMES, POINTS[:, 0], k=5, bc_type=ends)
    spline = QuinticSpline(TIMES, POINTS[:, 0], velocities=tuple(v), accelerations=tuple(a))
    t = np.linspace(0.0, 2.0, 101)
    for order, derivative in enumerate((spline.position, spline.velocity, spline.acceleration, spline.jerk)):
        np.testing.assert_allclose(
            derivative(t), other.derivative(order)(t) if order else other(t), rtol=1e-9, atol=1e-9
        )


def test_states_at_every_point_are_taken_and_met():
    rng = np.random.default_rng(3)
    v, a = rng.normal(size=POINTS.shape), rng.normal(size=POINTS.shape)
    spline = QuinticSpline.through_states(TIMES, POINTS, v, a)
    for found, wanted in zip(spline(TIMES), (POINTS, v, a), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11)


def test_outside_of_its_times_it_rests_at_its_ends():
    spline = QuinticSpline([0.0, 1.0], [[1.0], [2.0]], velocities=(3.0, 3.0))
    np.testing.assert_allclose(spline.position([-5.0, 7.0]), [[1.0], [2.0]], atol=1e-14)
    assert not spline.velocity([-5.0, 7.0]).any() and not spline.acceleration([-5.0, 7.0]).any()


def test_shapes_follow_the_times_and_the_points():
    spline = QuinticSpline(TIMES, POINTS)
    assert spline.position(0.3).shape == (2,)
    assert spline.position(np.zeros((3, 4))).shape == (3, 4, 2)
    assert QuinticSpline(TIMES, POINTS[:, 0]).position([0.1]).shape == (1,)


def test_many_points_a_millisecond_apart_stay_exact():
    t = np.arange(401) * 1e-3
    x = np.sin(7.0 * t)
    spline = QuinticSpline(t, x, velocities=(7.0, 7.0 * np.cos(2.8)), accelerations=(0.0, -49.0 * np.sin(2.8)))
    middle = t[:-1] + 0.5e-3
    # the points' own rounding of 1e-16 is amplified by 1/h and 1/h²
    np.testing.assert_allclose(spline.velocity(middle), 7.0 * np.cos(7.0 * middle), atol=1e-11)
    np.testing.assert_allclose(spline.acceleration(middle), -49.0 * np.sin(7.0 * middle), atol=1e-8)


@pytest.mark.parametrize(
    ("times", "points", "more", "said"),
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
def test_what_is_no_spline_is_refused_by_name(times, points, more, said):
    with refused(InputError, **said):
        QuinticSpline(times, points, **more)


def test_states_of_another_shape_are_refused():
    with refused(InputError, field="velocities", value=(3, 2)):
        QuinticSpline.through_states(TIMES, POINTS, POINTS[:3], POINTS)


# --- differences ----------------------------------------------------------------------------------------------------
def errors(rule, steps):
    """Largest errors of both derivatives of sin over [0, 1], at each step."""
    found = []
    for n in steps:
        t = np.linspace(0.0, 1.0, n + 1)
        rates = rule(np.sin(3.0 * t), 1.0 / n)
        wanted = 3.0 * np.cos(3.0 * t), -9.0 * np.sin(3.0 * t)
        found.append([np.max(np.abs(x - y)) for x, y in zip(rates, wanted, strict=True)])
    return np.array(found)


def test_differences_with_the_next_sample_are_of_first_order():
    coarse, fine = errors(forward_differences, (400, 800))
    np.testing.assert_allclose(coarse / fine, 2.0, rtol=0.02)


def test_central_differences_are_of_second_order_at_the_ends_too():
    coarse, fine = errors(central_differences, (400, 800))
    # the next term of the one-sided second derivative is still some percent of the error
    np.testing.assert_allclose(coarse / fine, 4.0, rtol=0.05)


def test_the_paper_s_formulas_are_taken_at_their_word():
    x = np.array([1.0, 2.0, 4.0, 3.0])
    first, second = forward_differences(x, 0.5)
    np.testing.assert_array_equal(first, [2.0, 4.0, -2.0, -2.0])
    np.testing.assert_array_equal(second, [4.0, -12.0, -12.0, -12.0])


def test_three_samples_give_a_parabola_s_own_derivatives():
    t = np.array([0.0, 0.1, 0.2])
    first, second = central_differences(np.column_stack([t**2, 3.0 * t]), 0.1)
    np.testing.assert_allclose(first, np.column_stack([2.0 * t, np.full(3, 3.0)]), atol=1e-13)
    np.testing.assert_allclose(second, [[2.0, 0.0]] * 3, atol=1e-11)


@pytest.mark.parametrize("rule", [forward_differences, central_differences])
@pytest.mark.parametrize(
    ("samples", "step", "said"),
    [
        ([1.0, 2.0], 0.1, {"field": "samples", "value": (2,)}),
        ([1.0, 2.0, 3.0], 0.0, {"field": "step", "value": 0.0}),
        ([1.0, np.nan, 3.0], 0.1, {"field": "samples", "value": 1}),
    ],
)
def test_samples_without_derivatives_are_refused(rule, samples, step, said):
    with refused(InputError, **said):
        rule(samples, step)


# --- integrals ------------------------------------------------------------------------------------------------------
def test_integrals_are_of_fourth_order():
    def error(n):
        t = np.linspace(0.0, 2.0, n + 1)
        return np.max(np.abs(cumulative(t, np.cos(3.0 * t)) - np.sin(3.0 * t) / 3.0))

    assert error(200) < 1e-8
    assert error(100) / error(200) == pytest.approx(16.0, rel=0.15)


def test_integrals_take_uneven_times_and_columns():
    t = np.array([0.0, 0.1, 0.15, 0.4, 1.0])
    found = cumulative(t, np.column_stack([t**2, np.ones(5)]))
    # the slopes of a parabola are exact, and then so is the rule
    np.testing.assert_allclose(found, np.column_stack([t**3 / 3.0, t]), atol=1e-15)


def test_times_that_stand_still_have_no_integral():
    with refused(InputError, field="times", value=2):
        cumulative([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])
