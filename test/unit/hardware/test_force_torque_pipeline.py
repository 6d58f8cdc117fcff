# SPDX-License-Identifier: Apache-2.0
"""Filter, zero, frames, limits and the weight of a tool against closed forms, figures by hand and another engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

import ada_dynamics as ada
from ada_dynamics import resources
from ada_hardware.force_torque.pipeline import ForceLimits, ForceSensorSettings, LowPass, Pipeline, steady_mean
from ada_hardware.force_torque.sensor_driver import Sample
from ada_hardware.force_torque.tool import SensorGravity, tool_weight
from ada_robot.errors import Refused

UP = np.eye(3)


def sample(wrench: Any, time: float = 0.0, **more: Any) -> Sample:
    return Sample(time, np.array(wrench, dtype=np.float64), **more)


@pytest.mark.parametrize("cutoff", [5.0, 50.0, 300.0])
def test_the_filter_has_the_closed_form_of_butterworth(cutoff: float) -> None:
    frequencies, n = np.array([1.0, 5.0, 20.0, 50.0, 120.0, cutoff]), 4000
    low_pass, phase = LowPass(cutoff, 1e-3), 2e-3 * math.pi * np.outer(np.arange(3 * n), frequencies)
    out = np.array([low_pass.step(one) for one in np.sin(phase)])[-n:]
    columns = zip(phase[-n:].T, out.T, strict=True)
    fits = [np.linalg.lstsq(np.column_stack([np.sin(a), np.cos(a)]), y, rcond=None)[0] for a, y in columns]
    w = np.tan(math.pi * frequencies * 1e-3) / math.tan(math.pi * cutoff * 1e-3)
    expected = 1.0 / (1.0 - w * w + 1j * math.sqrt(2.0) * w)  # of the analogue filter at the warped frequency
    # the transient has died out to e^{-0.7 2π f_c t}, t = 8 s; what is left is the fit's rounding
    np.testing.assert_allclose(np.array(fits) @ [1, 1j], expected, rtol=0.0, atol=1e-9)


def test_after_a_gap_the_old_force_does_not_leak_into_the_new_one() -> None:
    pipeline = Pipeline(ForceSensorSettings(filter_cutoff=5.0), 1e-3)
    for i in range(100):
        pipeline.process(sample([100, 0, 0, 0, 0, 0], 1e-3 * i))
    assert pipeline.process(sample(np.zeros(6), 0.1)).wrench[0] > 99.0
    assert pipeline.process(sample(np.zeros(6), 0.2)).wrench[0] == 0.0


def test_the_zero_is_the_mean_and_refused_for_an_axis_that_is_unsteady_or_drifts() -> None:
    found = steady_mean([np.full(6, one) for one in (1.0, 2.0, 3.0, 6.0)], 10.0, 10.0)
    np.testing.assert_allclose(found, np.full(6, 3.0), rtol=1e-15)
    for axis, name in enumerate(["fx", "fy", "fz", "nx", "ny", "nz"]):
        size, allowed = (0.6, 0.5) if axis < 3 else (0.03, 0.02)
        # standard deviations: the size, and that of a drift by 2 √3 times the size
        for values in (size * (-1.0) ** np.arange(100), size * np.linspace(0.0, 3.6, 100)):
            with refused(Refused, field=name, allowed=allowed):
                steady_mean([one * np.eye(6)[axis] for one in values], 0.5, 0.02)


def test_a_wrench_is_brought_to_the_hand_as_worked_out_by_hand() -> None:
    # the sensor is 0.1 m behind the hand along z and turned by a quarter about it: its x is the hand's y
    use = ForceSensorSettings(xyz=(0.0, 0.0, -0.1), rpy=(0.0, 0.0, math.pi / 2))
    found = Pipeline(use, 1e-3).process(sample([2.0, 3.0, 5.0, 0.1, 0.2, 0.3])).wrench
    # f = (-3, 2, 5); n = (-0.2, 0.1, 0.3) + (0, 0, -0.1) x f = (-0.2, 0.1, 0.3) + (0.2, 0.3, 0)
    np.testing.assert_allclose(found, [-3.0, 2.0, 5.0, 0.0, 0.4, 0.3], rtol=0.0, atol=1e-15)


@given(st.lists(st.floats(-1.0, 1.0), min_size=18, max_size=18))
def test_the_power_of_a_wrench_is_the_same_in_every_frame(values: list[float]) -> None:
    w, twist, place = np.split(np.array(values), 3)
    use = ForceSensorSettings(xyz=tuple(place[:3]), rpy=tuple(place[3:]))
    at_hand = Pipeline(use, 1e-3).process(sample(w)).wrench
    (cr, cp, cy), (sr, sp, sy) = np.cos(place[3:]), np.sin(place[3:])
    R = (
        np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    )
    v_sensor = R.T @ (twist[:3] + np.cross(twist[3:], place[:3]))
    power = w[:3] @ v_sensor + w[3:] @ (R.T @ twist[3:])
    assert at_hand @ twist == pytest.approx(power, abs=1e-12)


TOOL = ForceSensorSettings(tool_mass=2.0, tool_com=(0.0, 0.0, 0.1))


def test_the_weight_of_the_tool_is_taken_off() -> None:
    # gravity along the sensor's -x: the tool pulls with 19.62 N along -x, and turns about y with -0.1 m of that
    R = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]).T  # the sensor's x is the world's z
    gravity = SensorGravity.of(R)
    np.testing.assert_allclose(gravity.vector, [-9.81, 0.0, 0.0], rtol=0.0, atol=1e-15)
    seen = sample([-19.62 + 1.0, 2.0, 3.0, 0.0, -1.962, 0.0])
    reading = Pipeline(TOOL, 1e-3).process(seen, gravity)
    np.testing.assert_allclose(reading.wrench, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0], rtol=0.0, atol=1e-14)
    assert reading.is_compensated and reading.is_valid


@pytest.mark.parametrize(
    "age, is_compensated", [(0.0, True), (0.099, True), (0.101, False), (-0.101, False), (math.nan, False)]
)
def test_an_old_orientation_is_not_used(age: float, is_compensated: bool) -> None:
    gravity = SensorGravity.of(UP, time=10.0 - age)
    assert Pipeline(TOOL, 1e-3).process(sample(np.zeros(6), 10.0), gravity).is_compensated is is_compensated


def test_a_limit_counts_after_some_samples_in_a_row_and_stays() -> None:
    limits = ForceLimits(5.0, 0.0, samples=2)
    above, below = np.array([3.0, 4.1, 0, 9, 9, 9]), np.array([3.0, 4.0, 0, 0, 0, 0])
    assert [limits.watch(one) for one in (above, below, above, below)] == [False] * 4
    assert [limits.watch(one) for one in (above, above, above, below)] == [False, True, False, False]
    assert "max_force" in limits.passed
    limits.reset()
    assert not limits.passed and [limits.watch(above) for _ in range(2)] == [False, True]


def test_a_moment_has_a_limit_of_its_own_and_what_is_no_number_is_above_every_limit() -> None:
    limits = ForceLimits(0.0, 0.5)
    assert not limits.watch(np.array([1e9, 0, 0, 0.3, 0.4, 0.0]))
    assert limits.watch(np.array([0, 0, 0, 0.3, 0.4, 0.01])) and "moment" in limits.passed
    assert ForceLimits(5.0, 0.0).watch(np.full(6, np.nan))
    none = ForceLimits(0.0, 0.0)
    assert not none.is_watching and not none.watch(np.full(6, 1e12))


@pytest.mark.parametrize("trouble", [{"is_saturated": True}, {"error": "burnt"}])
@pytest.mark.parametrize("stop_on_fault", [True, False])
def test_a_wrench_that_cannot_be_trusted_counts_as_a_passed_limit(trouble: dict[str, Any], stop_on_fault: bool) -> None:
    pipeline = Pipeline(ForceSensorSettings(max_force=5.0, stop_on_fault=stop_on_fault), 1e-3)
    assert pipeline.passes_limit(pipeline.process(sample(np.zeros(6), **trouble))) is stop_on_fault
    no_limit = Pipeline(ForceSensorSettings(stop_on_fault=stop_on_fault), 1e-3)
    assert not no_limit.passes_limit(no_limit.process(sample(np.zeros(6), **trouble)))


def test_limits_see_the_wrench_before_the_filter() -> None:
    pipeline = Pipeline(ForceSensorSettings(max_force=5.0, limit_samples=1, filter_cutoff=1.0), 1e-3)
    pipeline.process(sample(np.zeros(6)))
    reading = pipeline.process(sample([6.0, 0, 0, 0, 0, 0], 1e-3))
    assert reading.wrench[0] < 0.01 and pipeline.passes_limit(reading)


MASS, COM, SENSOR_RPY = 1.3, (0.02, -0.015, 0.09), (0.3, -0.2, 0.7)


@pytest.fixture(scope="module")
def dynamics() -> ada.Dynamics:
    return ada.Dynamics(ada.load("pa10"))


@given(st.lists(st.floats(-2.0, 2.0), min_size=7, max_size=7))
def test_gravity_at_the_sensor_and_the_weight_of_its_tool_are_those_of_another_engine(
    dynamics: ada.Dynamics, values: list[float]
) -> None:
    pin = pytest.importorskip("pinocchio")
    q = np.array(values)
    gravity = SensorGravity.on_link(dynamics, "flange", q, SENSOR_RPY)
    model = pin.buildModelFromUrdf(str(resources.find("urdf", "pa10.urdf")))
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    R = data.oMf[model.getFrameId("flange")].rotation @ pin.rpy.rpyToMatrix(*SENSOR_RPY)
    np.testing.assert_allclose(gravity.vector, R.T @ model.gravity.linear, rtol=0.0, atol=1e-12)
    body = pin.Inertia(MASS, np.array(COM), np.eye(3))
    weight = body * pin.Motion(gravity.vector, np.zeros(3))
    expected = np.concatenate([weight.linear, weight.angular])
    np.testing.assert_allclose(tool_weight(MASS, COM, gravity), expected, rtol=0.0, atol=1e-12)
