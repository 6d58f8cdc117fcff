# SPDX-License-Identifier: Apache-2.0
"""Ends of sliders are numbers that people can read, and never beyond the limits that they stand for."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ada_dynamics as ada
from ada_tools.browser.command_sliders import motors_of
from ada_tools.browser.joint_sliders import JointSliders
from ada_tools.browser.pose_page import PosePage
from ada_tools.browser.slider_range import slider_range

finite = st.floats(-1e4, 1e4)


def digits(number):
    """How many stand behind the point of what a browser would write."""
    return len(repr(float(number)).partition(".")[2].rstrip("0"))


@given(finite, st.floats(1e-6, 1e4), st.booleans())
def test_a_range_is_short_to_write_within_its_limits_and_hardly_smaller(lower, width, is_angle):
    upper = lower + width
    low, high, step = slider_range(lower, upper, is_angle)
    rounding = 1e-8 * step + 4e-12  # of the numbers themselves
    assert lower - rounding <= low < high <= upper + rounding
    assert low - lower <= step + rounding and upper - high <= step + rounding
    assert step <= (0.1 if is_angle else 1e-3) and step <= width / 100 + rounding
    assert digits(low) <= max(1, round(-math.log10(step))) >= digits(high)


def test_limits_that_are_round_in_degrees_are_kept_whatever_their_radians_were_rounded_to():
    for degrees in range(-360, 360, 5):
        low, high, _ = slider_range(math.degrees(math.radians(degrees)), math.degrees(math.radians(degrees + 45)), True)
        assert (low, high) == (degrees, degrees + 45)


def test_a_value_outside_of_the_limits_is_on_the_slider_and_one_that_rounding_left_out_is_at_its_end():
    limits = slider_range(-144.998429, 10.0, True)
    assert limits[:2] == (-144.9, 10.0)
    assert limits.including(-144.998429) == limits
    assert limits.nearest(-144.998429) == -144.9
    assert limits.including(-200.04).low == -200.1
    assert limits.including(10.26).high == 10.3


@pytest.mark.parametrize("name", ["pa10", "khr1", "hoap2_10dof"])
def test_sliders_of_robots_have_readable_ends_within_the_limits_of_their_joints(page, name):
    model = ada.load(name)
    motors = JointSliders(page, motors_of(model))
    motors.add()
    limits = [(m.lower, m.upper, s) for m, s in zip(motors.motors, motors.sliders, strict=True)]
    limits += [(knob.lower, knob.upper, s) for knob, s in PosePage(page, model).sliders if knob.is_angle]
    assert len(limits) > 2 * model.nv - 13
    for lower, upper, slider in limits:
        assert max(digits(slider.min), digits(slider.max)) <= 2
        if math.isfinite(lower) and abs(lower) < 1e3:
            assert math.radians(slider.min) >= lower - 1e-9
            assert math.radians(slider.max) <= upper + 1e-9
