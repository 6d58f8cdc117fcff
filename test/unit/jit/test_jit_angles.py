# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the sine, the cosine and the arctangent of two numbers that are compiled into kernels."""

import math

import numpy as np
import pytest
from jit_examples import TARGETS, kernel_of

from ada_dynamics.errors import CompileError
from ada_dynamics.expr import atan2, cos, sin, trace
from ada_dynamics.jit.elementary import LIMIT, sincos_definition
from ada_dynamics.jit.lowering import Lanes

FUNCTION = trace("pair", {"x": 1}, lambda x: {"s": (sin(x[0]),), "c": (cos(x[0]),)})

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="the reference needs wider floats")


def _pair(target, x):
    x = np.ascontiguousarray(x).reshape(-1, 1)
    (s, c), _ = kernel_of(FUNCTION, target).batch_status(x)
    return s[:, 0], c[:, 0]


def _ulps(found, x, reference):
    expected = reference(x.astype(np.longdouble))
    unit = np.spacing(np.maximum(np.abs(expected.astype(float)), np.finfo(float).tiny))
    return float(np.max(np.abs(found - expected) / unit))


def _near_multiples(count, rng):
    """The doubles next to multiples of pi/2, where a reduction loses most."""
    turns = np.unique(np.concatenate([np.arange(1, 2000), rng.integers(1, int(1e9 * 2 / np.pi), count)]))
    # pi/2 in two doubles: the product with `turns` is then as close to the multiple as a double can be.
    near = turns * np.longdouble(1.57079632679489655800) + turns * np.longdouble(6.12323399573676603587e-17)
    near = near.astype(float)
    return np.concatenate([near, np.nextafter(near, 0.0), np.nextafter(near, np.inf), -near])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("span", [1.0, np.pi, 100.0, 1e5, 1e9])
def test_random_angles_are_right_to_about_one_unit_in_the_last_place(target, span):
    x = np.random.default_rng(1).uniform(-span, span, 40_000)
    s, c = _pair(target, x)
    # Half a unit from the last rounding, half of one of the reduced angle (where sin(r) is just below a power of two
    # and r just above it, that is a whole one), and a little from the polynomial.
    assert _ulps(s, x, np.sin) < 1.5
    assert _ulps(c, x, np.cos) < 1.5


@pytest.mark.parametrize("target", TARGETS)
def test_angles_next_to_multiples_of_a_quarter_turn_keep_their_relative_accuracy(target):
    x = _near_multiples(20_000, np.random.default_rng(2))
    s, c = _pair(target, x)
    assert _ulps(s, x, np.sin) < 1.8
    assert _ulps(c, x, np.cos) < 1.8


@pytest.mark.parametrize("target", TARGETS)
def test_special_angles_and_the_report_of_those_out_of_range_or_not_finite(target):
    kernel = kernel_of(FUNCTION, target)
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -1e-300, 1.01 * LIMIT, -1e300])
    s, c = _pair(target, x)
    assert s[:2].tolist() == [0.0, 0.0]
    assert c[:2].tolist() == [1.0, 1.0]
    assert s[5:7].tolist() == [5e-324, -1e-300]
    for bad in (2, 3, 4, 7, 8):
        assert np.isnan(s[bad]) and np.isnan(c[bad])
        assert kernel.single_status(x[bad : bad + 1])[1] == 1
        assert kernel.batch_status(np.append(np.zeros(13), [x[bad], *np.zeros(6)])[:, None])[1] == 1
    assert kernel.single_status(np.array([LIMIT]))[1] == 0


def test_sines_in_single_precision_need_fused_multiply_add():
    with pytest.raises(CompileError):
        sincos_definition(Lanes(4, 32), fma=False)
    for lanes, fma in ((Lanes(4, 32), True), (Lanes(4), False), (Lanes(4), True)):
        assert f"@sincos{lanes.width}" in sincos_definition(lanes, fma)


ANGLE = trace("angle", {"p": 2}, lambda p: {"a": (atan2(p[0], p[1]),)})


def _ulps_of_angle(target, y, x):
    points = np.stack([y, x], axis=1)
    found = kernel_of(ANGLE, target).batch(points)[:, 0]
    expected = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    return float(np.max(np.abs(found - expected) / np.spacing(np.abs(expected.astype(float)))))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("decades", [0.0, 1.0, 10.0, 250.0])
def test_random_points_are_right_to_two_units_in_the_last_place(target, decades):
    rng = np.random.default_rng(3)
    y, x = rng.normal(size=(2, 100_000)) * 10.0 ** rng.uniform(-decades, decades, (2, 100_000))
    # Half a unit from the last rounding, half of one of the quotient t (where it is just above a power of two and its
    # arctangent just below, that is a whole one), and a little from the polynomial.
    assert _ulps_of_angle(target, y, x) < 2.0


@pytest.mark.parametrize("target", TARGETS)
def test_points_near_the_seams_keep_that_accuracy(target):
    rng = np.random.default_rng(4)
    seams = np.concatenate([np.arange(0, 16) * np.pi / 8, np.arange(0, 16) * np.pi / 8])
    angles = seams + 10.0 ** rng.uniform(-17, -1, (2000, 32)) * rng.choice([-1.0, 1.0], (2000, 32))
    radius = 10.0 ** rng.uniform(-3, 3, angles.shape)
    assert _ulps_of_angle(target, (radius * np.sin(angles)).ravel(), (radius * np.cos(angles)).ravel()) < 2.0


_SPECIAL = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308, 9e307, 1e300)


@pytest.mark.parametrize("target", TARGETS)
def test_zeros_count_with_their_signs_and_extremes_neither_overflow_nor_vanish(target):
    points = np.array([(y, x) for y in _SPECIAL for x in _SPECIAL])
    expected = [math.atan2(y, x) for y, x in points]
    kernel = kernel_of(ANGLE, target)
    for found in (kernel.batch(points)[:, 0], np.array([kernel.single(point)[0] for point in points])):
        assert np.array_equal(np.signbit(found), np.signbit(expected))
        assert found == pytest.approx(expected, rel=1e-15, abs=0.0)


@pytest.mark.parametrize("target", TARGETS)
def test_a_number_that_is_none_stays_none_and_is_reported(target):
    kernel = kernel_of(ANGLE, target)
    for point in ((np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan), (0.0, np.nan)):
        angle, status = kernel.single_status(np.array(point))
        assert np.isnan(angle[0])
        assert status == 1
