# SPDX-License-Identifier: Apache-2.0
"""The oracle: two engines agree, a wrong one is found, states come from messages; what is no pinocchio is refused."""

import sys

import numpy as np
import pytest
from loop_robots import driven_state
from refused import refused

pytest.importorskip("pinocchio")

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_tools.nodes.oracle import Oracle, pinocchio

# Both sides are rounding away from the truth; the lightest links turn by thousands of rad/s².
TOLERANCE = 1e-9
PENDULUM = """<robot name="pendulum">
  <link name="ceiling"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pivot" type="continuous"><parent link="ceiling"/><child link="rod"/><axis xyz="1 0 0"/></joint>
</robot>"""


@pytest.mark.parametrize(
    "name", ["pa10", "hoap2_10dof", "khr1", "four_bar", "slider_crank", "five_bar", "parallel_gripper"]
)
def test_both_engines_agree(name):
    model = ada.load(name, base="fixed")
    _, q, v, tau = driven_state(model, 0)
    table, reason = Oracle(model, model.source, q).compare(q, v, tau)
    assert reason == "" and table.shape == (6, model.nv)
    for ours, theirs, difference in (table[:3], table[3:]):
        assert np.array_equal(difference, ours - theirs)
        assert np.max(np.abs(difference)) <= TOLERANCE * (1.0 + np.max(np.abs(theirs)))
        assert np.max(np.abs(ours)) > 0.01  # there is something to compare


def test_a_pendulum_has_the_acceleration_and_effort_of_its_closed_form_by_both():
    table, _ = Oracle(ada.load(PENDULUM), PENDULUM).compare(np.array([0.4]), np.array([1.0]), np.array([0.7]))
    a = (0.7 - 2.0 * 9.81 * 0.5 * np.sin(0.4)) / (0.1 + 2.0 * 0.25)
    assert table.ravel() == pytest.approx([a, a, 0.0, 0.7, 0.7, 0.0], abs=1e-12)


def test_another_mass_in_one_engine_is_seen():
    state = np.array([0.4]), np.array([1.0]), np.array([0.7])
    table, _ = Oracle(ada.load(PENDULUM.replace('mass value="2"', 'mass value="2.02"')), PENDULUM).compare(*state)
    assert abs(table[2, 0]) > 1e-3 and abs(table[5, 0]) > 1e-3


def test_open_loops_and_singular_configurations_are_not_compared():
    model = ada.load("four_bar")
    _, q, v, tau = driven_state(model, 0)
    oracle, flat = Oracle(model, model.source, q), np.pi * np.array([0.5, 0.0, 1.0])  # all four bars on one line
    for q_, v_, reason in (
        (q + 1e-3, v, "closure error of the loops"),
        (q, v + np.array([0.0, 1.0, 0.0]), "velocities violate the loop constraints"),
        (flat, np.zeros(3), "singular"),
    ):
        table, found = oracle.compare(q_, v_, tau)
        assert np.isnan(table).all() and reason in found


def test_a_robot_with_ball_joints_is_refused():
    model = ada.load("delta")
    with refused(InputError, field="joint_states"):
        Oracle(model, model.source)


@pytest.mark.parametrize("text", ["raise AttributeError('_ARRAY_API not found')", "import nose_", "x = 1"])
def test_a_pinocchio_that_is_no_dynamics_library_is_refused_whatever_its_import_raises(text, tmp_path, monkeypatch):
    (tmp_path / "pinocchio.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "pinocchio"]:
        monkeypatch.delitem(sys.modules, name)
    with refused(InputError, field="pinocchio"):
        pinocchio()
    sys.modules.pop("pinocchio", None)
