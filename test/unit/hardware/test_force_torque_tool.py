# SPDX-License-Identifier: Apache-2.0
"""Compensation of the weight of a tool against another engine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ada_dynamics as ada
from ada_dynamics import resources
from ada_hardware.force_torque.tool import SensorGravity, tool_weight

pin = pytest.importorskip("pinocchio")
MASS, COM, SENSOR_RPY = 1.3, (0.02, -0.015, 0.09), (0.3, -0.2, 0.7)


@pytest.fixture(scope="module")
def dynamics() -> ada.Dynamics:
    return ada.Dynamics(ada.load("pa10"))


@given(st.lists(st.floats(-2.0, 2.0), min_size=7, max_size=7))
def test_gravity_at_the_sensor_and_the_weight_of_its_tool_are_those_of_another_engine(
    dynamics: ada.Dynamics, values: list[float]
) -> None:
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
