# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the arctangent of two numbers that is compiled into kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from jit_examples import TARGETS, kernel_of, tape_of

from ada_dynamics.expr import atan2, trace

FUNCTION = trace("angle", {"p": 2}, lambda p: {"a": (atan2(p[0], p[1]),)})

wide = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="the reference needs wider floats")


def _ulps(target, y, x):
    points = np.stack([y, x], axis=1)
    found = kernel_of(FUNCTION, target).batch(points)[:, 0]
    expected = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    return float(np.max(np.abs(found - expected) / np.spacing(np.abs(expected.astype(float)))))


@wide
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("decades", [0.0, 1.0, 10.0, 250.0])
def test_random_points_are_right_to_two_units_in_the_last_place(target, decades):
    rng = np.random.default_rng(3)
    y, x = rng.normal(size=(2, 100_000)) * 10.0 ** rng.uniform(-decades, decades, (2, 100_000))
    # Half a unit from the last rounding, half of one of the quotient t (where it is just above a power of two and its
    # arctangent just below, that is a whole one), and a little from the polynomial.
    assert _ulps(target, y, x) < 2.0


@wide
@pytest.mark.parametrize("target", TARGETS)
def test_points_near_the_seams_keep_that_accuracy(target):
    rng = np.random.default_rng(4)
    seams = np.concatenate([np.arange(0, 16) * np.pi / 8, np.arange(0, 16) * np.pi / 8])
    angles = seams + 10.0 ** rng.uniform(-17, -1, (2000, 32)) * rng.choice([-1.0, 1.0], (2000, 32))
    radius = 10.0 ** rng.uniform(-3, 3, angles.shape)
    assert _ulps(target, (radius * np.sin(angles)).ravel(), (radius * np.cos(angles)).ravel()) < 2.0


_SPECIAL = (0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308, 9e307, 1e300)


@pytest.mark.parametrize("target", TARGETS)
def test_zeros_count_with_their_signs_and_extremes_neither_overflow_nor_vanish(target):
    points = np.array([(y, x) for y in _SPECIAL for x in _SPECIAL])
    expected = [math.atan2(y, x) for y, x in points]
    kernel = kernel_of(FUNCTION, target)
    for found in (kernel.batch(points)[:, 0], np.array([kernel.single(point)[0] for point in points])):
        assert np.array_equal(np.signbit(found), np.signbit(expected))
        assert found == pytest.approx(expected, rel=1e-15, abs=0.0)


@pytest.mark.parametrize("target", TARGETS)
def test_a_number_that_is_none_stays_none_and_is_reported(target):
    kernel = kernel_of(FUNCTION, target)
    for point in ((np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan), (0.0, np.nan)):
        angle, status = kernel.single_status(np.array(point))
        assert np.isnan(angle[0])
        assert status == 1


@pytest.mark.parametrize("jit", ["on", "off"])
def test_a_tape_gives_the_same_angles(jit, monkeypatch):
    monkeypatch.setenv("ADA_JIT", jit)
    kernel = tape_of(FUNCTION)
    points = np.random.default_rng(5).normal(size=(50, 2))
    expected = np.arctan2(points[:, 0], points[:, 1])
    assert kernel.batch(points)[:, 0] == pytest.approx(expected, rel=1e-15)
    assert [kernel.single(point)[0] for point in points] == pytest.approx(expected, rel=1e-15)
