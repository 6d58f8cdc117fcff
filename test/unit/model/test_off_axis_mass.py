# SPDX-License-Identifier: Apache-2.0
"""The inertia of a mass slightly off a joint axis keeps all its digits."""

import numpy as np
import pytest

import ada_dynamics as ada

URDF = """<robot name="off_axis"><link name="base"/>
  <link name="arm"><inertial><origin xyz="{x} {y} 0.5"/><mass value="1"/>
    <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""


@pytest.mark.parametrize(("x", "y"), [(1e-6, 0.0), (0.0, 1e-6), (3e-6, 4e-6)])
def test_a_mass_near_the_axis_has_the_inertia_of_its_distance_to_twelve_digits(tmp_path, x, y):
    file = tmp_path / "off_axis.urdf"
    file.write_text(URDF.format(x=x, y=y), encoding="utf-8")
    dynamics = ada.Dynamics(ada.load(file))
    expected = x * x + y * y  # m r², m = 1 kg; |c|² - cz² would have kept four digits
    assert np.isclose(dynamics.mass_matrix(np.zeros(1))[0, 0], expected, rtol=1e-12, atol=0.0)
