# SPDX-License-Identifier: Apache-2.0
"""Compensation of the weight of a tool against another engine."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ada_dynamics as ada
from ada_hardware.force_torque.tool import SensorGravity, tool_weight

MASS, COM = 1.3, (0.02, -0.015, 0.09)
SENSOR_XYZ, SENSOR_RPY = (0.01, 0.02, 0.05), (0.3, -0.2, 0.7)


def arm_with_tool() -> str:
    """Two joints and a slide, and a tool fixed to the last link; all axes and places are awkward on purpose."""
    x, y, z = COM
    return f"""<robot name="arm"><link name="base"/>
    <link name="upper"><inertial><mass value="2"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>
    </inertial></link><link name="slide"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0"
    ixz="0" iyz="0"/></inertial></link><link name="wrist"><inertial><mass value="1"/><inertia ixx=".1" iyy=".1"
    izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="tool"><inertial><origin xyz="{x} {y} {z}"/>
    <mass value="{MASS}"/><inertia ixx=".004" iyy=".005" izz=".003" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="a" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0.6 0 0.8"/>
    <origin xyz="0 0 .3" rpy=".2 .1 0"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
    <joint name="b" type="prismatic"><parent link="upper"/><child link="slide"/><axis xyz="0 1 0"/>
    <origin xyz=".1 .2 .3"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
    <joint name="c" type="revolute"><parent link="slide"/><child link="wrist"/><axis xyz="0 .8 .6"/>
    <origin xyz=".2 0 .1" rpy="0 .4 .3"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint>
    <joint name="mount" type="fixed"><parent link="wrist"/><child link="tool"/>
    <origin xyz="{" ".join(map(str, SENSOR_XYZ))}" rpy="{" ".join(map(str, SENSOR_RPY))}"/></joint></robot>"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = tmp_path_factory.mktemp("robot") / "arm.urdf"
    found.write_text(arm_with_tool())
    return str(found)


@pytest.fixture(scope="module")
def dynamics(path: str) -> ada.Dynamics:
    return ada.Dynamics(ada.load(path))


@lru_cache(maxsize=1)
def _pinocchio_model(path: str) -> Any:
    import pinocchio

    return pinocchio.buildModelFromUrdf(path)


@given(st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3))
def test_gravity_at_the_sensor_and_the_weight_of_its_tool_are_those_of_another_engine(
    path: str, dynamics: ada.Dynamics, values: list[float]
) -> None:
    pin = pytest.importorskip("pinocchio")
    q = np.array(values)
    gravity = SensorGravity.on_link(dynamics, "wrist", q, SENSOR_RPY)
    model = _pinocchio_model(path)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    R = data.oMf[model.getFrameId("tool")].rotation
    np.testing.assert_allclose(gravity.vector, R.T @ model.gravity.linear, rtol=0.0, atol=1e-12)
    body = pin.Inertia(MASS, np.array(COM), np.eye(3))
    weight = body * pin.Motion(gravity.vector, np.zeros(3))
    expected = np.concatenate([weight.linear, weight.angular])
    np.testing.assert_allclose(tool_weight(MASS, COM, gravity), expected, rtol=0.0, atol=1e-12)
