# SPDX-License-Identifier: Apache-2.0
"""The reference motions are right where closed forms are known, and the comparison notices what differs."""

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_experiments.engines import EngineComparison, other_engines
from ada_experiments.motion_measures import rhombus_angle
from ada_tools import scenario as scenarios

pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")
pytest.importorskip("scipy")

from ada_experiments.engines import (  # noqa: E402
    by_mujoco,
    by_mujocos_steps,
    by_pinocchio,
)


def silent(*_):
    pass


@pytest.fixture
def bar():
    builder = ada.Builder("bar")
    builder.link("bar", 1.0, (0.0, 0.0, 0.5), (1 / 12, 1 / 12, 0.02))
    return builder.build("floating", (0.0, 0.0, 0.0))


def test_pinocchio_swings_the_rhombus_as_its_closed_form_says():
    model, q = ada.load("closed_4r"), np.radians([135.0, -45.0, 225.0])
    times = np.arange(6) * 0.1
    found = by_pinocchio(model, q, np.zeros(3), times)
    # tolerance 1e-13 per step, some tens of steps
    np.testing.assert_allclose(found[:, 0], rhombus_angle(times, q[0], (1.0, 1.0, 1.0), 9.81), atol=1e-11)


@pytest.mark.parametrize("engine", [by_pinocchio, by_mujoco])
def test_a_free_symmetric_bar_turns_as_euler_says(engine, bar):
    q, v = bar.neutral(), np.array([-0.5 * 0.6, 0.5 * 0.8, 0.0, 0.8, 0.6, 2.0])  # centre of mass at rest
    times = np.arange(4) * 0.5
    found = engine(bar, q, v, times)
    dynamics = ada.Dynamics(bar)
    # The axis of the bar goes round the momentum at |L|/I1.
    L = np.array([v[3] / 12, v[4] / 12, 0.02 * v[5]])
    along = L / np.linalg.norm(L)
    rate = np.linalg.norm(L) * 12.0
    z = np.array([0.0, 0.0, 1.0])
    for t, pose in zip(times, dynamics.pose("bar", found), strict=True):
        c, s = np.cos(rate * t), np.sin(rate * t)
        expected = c * z + s * np.cross(along, z) + (1 - c) * (along @ z) * along
        np.testing.assert_allclose(pose[:3, 2], expected, atol=1e-11)
        np.testing.assert_allclose(pose[:3, 3] + 0.5 * pose[:3, 2], [0.0, 0.0, 0.5], atol=1e-11)


def test_mujocos_own_steps_come_near_the_closed_form():
    model, q = ada.load("closed_4r"), np.radians([135.0, -45.0, 225.0])
    times = np.arange(6) * 0.1
    angle = rhombus_angle(times, q[0], (1.0, 1.0, 1.0), 9.81)
    soft = by_mujocos_steps(model, q, np.zeros(3), times, 1e-3)[:, 0]
    stiff = by_mujocos_steps(model, q, np.zeros(3), times, 1e-3, 2e-3)[:, 0]
    assert np.max(np.abs(stiff - angle)) < 1e-5
    assert np.max(np.abs(stiff - angle)) < 0.1 * np.max(np.abs(soft - angle))


def scenario(**more):
    data = {
        "name": "short",
        "model": {"robot": "planar_3r"},
        "start": {"joints": {"joint_1": "135 deg", "joint_2": "-45 deg", "joint_3": "225 deg"}},
        "simulation": {"duration": "0.3 s", **more},
    }
    return scenarios.load(data)


def test_the_comparison_notices_what_is_off_by_more_than_it_may():
    times = np.arange(4) * 0.1
    ours = np.zeros((4, 2))
    comparison = EngineComparison(times, ours, np.ones(4))
    same, a = np.zeros((4, 2)), np.ones((4, 2))
    comparison.add("good", ours + 0.9e-9, same + 0.9e-9, a)
    comparison.add("bad", ours + 1.1e-9, same + 1.1e-9, a)
    assert [claim.holds for claim in comparison.claims] == [True, True, False, False]


def test_only_free_motions_are_compared(tmp_path):
    with refused(InputError, field="experiment"):
        other_engines(scenario(efforts={"joint_1": "1 N m"}), tmp_path, silent)
