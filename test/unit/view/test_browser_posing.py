# SPDX-License-Identifier: Apache-2.0
"""Robots posed by hand: loops stay closed, the motors lead, what cannot be reached is not."""

import math

import numpy as np
import pytest
from browser_robots import rocker
from hypothesis import given
from hypothesis import strategies as st

import ada_dynamics as ada
from ada_dynamics.constraints.closure import reversed_loops
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.model import Builder
from ada_dynamics.robots.catalogue import start_of
from ada_tools.browser.posing import Posing
from ada_tools.browser.sliders import slider_range


def posing(name):
    return Posing(ada.load(name), start_of(name))


def gap(shown):
    return np.abs(ConstraintSet(shown.model).violation(shown.q)).max()


def leading(shown):
    return [coordinate for coordinate in shown.coordinates if coordinate.leads]


def test_a_tree_has_a_knob_per_joint_and_each_moves_its_joint_alone():
    shown = posing("pa10")
    assert [coordinate.label for coordinate in shown.coordinates] == shown.model.joint_names
    for i, coordinate in enumerate(shown.coordinates):
        before = shown.q.copy()
        assert shown.move(coordinate, 0.3)
        before[i] = 0.3
        np.testing.assert_array_equal(shown.q, before)


def test_the_rhombus_follows_its_crank_as_a_parallelogram():
    shown = posing("four_bar")
    crank = leading(shown)[0]
    assert [coordinate.label for coordinate in leading(shown)] == ["joint_1"]
    for angle in (2.0, 1.0, 2.6):
        assert shown.move(crank, angle)
        # Opposite sides stay parallel, figure 3.9's start being (135, -45, 225) deg: relative angles of the sides.
        np.testing.assert_allclose(shown.q, [angle, 0.5 * np.pi - angle, 0.5 * np.pi + angle], atol=1e-10)
        assert gap(shown) < 1e-11


@pytest.mark.parametrize(
    ("name", "motors"), [("five_bar", 2), ("slider_crank", 1), ("delta", 3), ("stewart", 6), ("parallel_gripper", 1)]
)
def test_as_many_motors_lead_as_there_are_motions_and_they_hold_each_other(name, motors):
    shown = posing(name)
    coordinates = leading(shown)
    assert len(coordinates) == motors
    assert {coordinate.joint for coordinate in coordinates} <= set(shown.model.actuated)
    start = [shown.value(coordinate) for coordinate in coordinates]
    step = 0.02
    assert shown.move(coordinates[0], start[0] + step)
    after = [shown.value(coordinate) for coordinate in coordinates]
    np.testing.assert_allclose(after, [start[0] + step, *start[1:]], atol=1e-12)
    assert gap(shown) < 1e-10


def test_a_crank_that_cannot_turn_over_stops_at_its_dead_centre():
    # Grashof's rule: 1 + 2 > 1.2 + 1.3. The crank stops where rod and rocker are in line, at 2.5 from its tip.
    a, b, c, d = 2.0, 1.2, 1.3, 1.0
    tip = lambda angle: np.hypot(a * np.sin(angle) - d, a * np.cos(angle))  # noqa: E731
    shown = Posing(rocker(a, b, c, d), [0.6, 1.5, 1.5])
    crank = leading(shown)[0]
    assert not shown.move(crank, -3.0)
    # The last step is halved 8 times from 0.1 rad; beside a dead centre the gap grows with the square of the rest.
    assert tip(shown.value(crank)) == pytest.approx(b + c, abs=2e-3)
    assert gap(shown) < 1e-10
    assert shown.move(crank, 0.6)


def test_a_free_body_has_places_and_angles_and_keeps_its_quaternion_unit():
    shown = Posing(ada.load("pa10", base="floating"))
    roots = {coordinate.label: coordinate for coordinate in shown.coordinates if coordinate.joint == "root_joint"}
    assert [label.split()[1] for label in roots] == ["x", "y", "z", "roll", "pitch", "yaw"]
    for label, value in zip(roots, (0.1, -0.2, 0.3, 0.4, -0.5, 2.0), strict=True):
        shown.move(roots[label], value)
    found = [shown.value(coordinate) for coordinate in roots.values()]
    np.testing.assert_allclose(found, [0.1, -0.2, 0.3, 0.4, -0.5, 2.0], atol=1e-12)
    assert np.linalg.norm(shown.q[3:7]) == pytest.approx(1.0, abs=1e-15)


def test_a_loop_with_its_axis_the_wrong_way_round_is_told_from_a_closed_one():
    model = rocker(2.0, 1.2, 1.3, 1.0)
    q = ada.close_loops(model, [0.6, 1.5, 1.5])
    assert not reversed_loops(model.tree, q)
    b = Builder("turned").link("base").link("arm", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    b.joint("ball", "spherical", "base", "arm")
    b.loop("hinge", "revolute", "arm", "base", axis=(0, 1, 0))
    model = b.build()
    constraints = ConstraintSet(model)
    for turn, is_wrong in ((0.0, False), (np.pi, True)):  # about x
        q = np.array([np.sin(turn / 2), 0.0, 0.0, np.cos(turn / 2)])
        assert np.abs(constraints.violation(q)).max() < 1e-15
        assert reversed_loops(model.tree, q) == (["hinge"] if is_wrong else [])


finite = st.floats(-1e4, 1e4)


def digits(number):
    """How many stand behind the point of what a browser would write."""
    return len(repr(float(number)).partition(".")[2].rstrip("0"))


@given(finite, st.floats(1e-6, 1e4), st.booleans())
def test_a_range_is_short_to_write_within_its_limits_and_hardly_smaller(lower, width, is_angle):
    upper = lower + width
    low, high, step = slider_range(lower, upper, is_angle, lower)
    rounding = 1e-8 * step + 4e-12  # of the numbers themselves
    assert lower - rounding <= low < high <= upper + rounding
    assert low - lower <= step + rounding and upper - high <= step + rounding
    assert step <= (0.1 if is_angle else 1e-3) and step <= width / 100 + rounding
    assert digits(low) <= max(1, round(-math.log10(step))) >= digits(high)


def test_limits_that_are_round_in_degrees_are_kept_whatever_their_radians_were_rounded_to():
    for degrees in range(-360, 360, 5):
        lower, upper = (math.degrees(math.radians(limit)) for limit in (degrees, degrees + 45))
        assert slider_range(lower, upper, True, lower)[:2] == (degrees, degrees + 45)


def test_a_value_outside_of_the_limits_is_on_the_slider_but_one_that_rounding_left_out_is_not():
    for value, ends in ((-144.998429, (-144.9, 10.0)), (-200.04, (-200.1, 10.0)), (10.26, (-144.9, 10.3))):
        assert slider_range(-144.998429, 10.0, True, value)[:2] == ends
