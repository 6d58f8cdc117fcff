# SPDX-License-Identifier: Apache-2.0
"""The oracle finds two engines of one mind, and sees a wrong one."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pinocchio")

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_tools.nodes.oracle.oracle import (
    Comparison,
    Oracle,
    algorithm_for,
    base_of_sizes,
    is_described_by_joints,
    state_of_joints,
)

# Both sides are rounding away from the truth; the lightest links turn by thousands of rad/s².
TOLERANCE = 1e-9


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    q = np.array(ada.assemble(model)) if model.loops else model.random_state(rng)[0]
    v = rng.normal(size=model.nv)
    if model.loops:
        q, v = ada.Dynamics(model, pose=q).project(q, v)
    tau = np.zeros(model.nv)
    for joint in model.actuated:
        tau[model.v_index(joint)] = rng.normal()
    return q, v, tau


@pytest.mark.parametrize(
    "name", ["pa10", "floating_6", "four_bar", "slider_crank", "five_bar", "parallel_gripper", "delta"]
)
def test_both_engines_agree(name):
    model = ada.load(name)
    q, v, tau = state(model)
    verdict = Oracle(model, q).compare(q, v, tau)
    assert verdict.reason == ""
    for found in (verdict.accelerations, verdict.efforts):
        assert found.is_within(TOLERANCE, TOLERANCE), found
        assert np.max(np.abs(found.ours)) > 0.01  # there is something to compare
    assert len(verdict.accelerations.ours) == model.nv


def test_a_pendulum_has_the_acceleration_and_effort_of_its_closed_form_by_both():
    builder = ada.Builder("pendulum").link("base").link("rod", 2.0, (0, 0, -0.5), (0.3, 0.3, 0.3))
    model = builder.joint("pivot", "revolute", "base", "rod", axis=(0, 1, 0)).build()
    verdict = Oracle(model).compare(np.array([0.4]), np.array([1.0]), np.array([0.7]))
    a = (0.7 - 2.0 * 9.81 * 0.5 * np.sin(0.4)) / (0.3 + 2.0 * 0.25)
    assert verdict.accelerations.ours == pytest.approx([a])
    assert verdict.accelerations.theirs == pytest.approx([a])
    assert verdict.efforts.ours == pytest.approx([0.7])
    assert verdict.efforts.theirs == pytest.approx([0.7])


def test_a_wrong_engine_is_seen_with_the_joint_that_differs_most():
    model = ada.load("pa10")
    q, v, tau = state(model)
    links = [replace(link, mass=link.mass * (1.01 if link.name == "link_7" else 1.0)) for link in model.links.values()]
    heavier = ada.Model(model.name, model.root, links, list(model.joints.values()), model.gravity)
    found = Oracle(model, q, ours=ada.Dynamics(heavier)).compare(q, v, tau)
    assert not found.accelerations.is_within(1e-6, 1e-6)
    difference = np.abs(found.accelerations.difference)
    assert found.accelerations.worst == model.joint_names[int(np.argmax(difference))]
    assert found.accelerations.absolute == np.max(difference)


def test_differences_are_relative_to_the_largest_number():
    found = Comparison(np.array([1.0, 10.0]), np.array([1.01, 10.0]), "a")
    assert found.absolute == pytest.approx(0.01)
    assert found.relative == pytest.approx(0.001)
    assert found.is_within(0.0, 0.0011)
    assert found.is_within(0.011, 0.0)
    assert not found.is_within(0.001, 0.0008)
    assert Comparison(np.zeros(2), np.zeros(2), "a").relative == 0.0


def test_open_loops_are_not_compared():
    model = ada.load("four_bar")
    q, v, tau = state(model)
    oracle = Oracle(model, q)
    verdict = oracle.compare(q + 1e-3, v, tau)
    assert verdict[:2] == (None, None)
    assert "the loops are open by" in verdict.reason
    assert "velocities open the loops" in oracle.compare(q, v + np.array([0.0, 1.0, 0.0]), tau).reason


def test_a_singular_pose_is_not_compared():
    model = ada.load("four_bar")
    q, _, tau = state(model)
    flat = np.pi * np.array([0.5, 0.0, 1.0])  # all four bars on one line
    assert "singular" in Oracle(model, q).compare(flat, np.zeros(3), tau).reason


def test_a_robot_with_mimic_joints_is_compared_by_an_algorithm_that_can_couple_them():
    assert algorithm_for(ada.load("parallel_gripper"), "ada") == "auto"
    assert algorithm_for(ada.load("pa10"), "ada") == "ada"
    assert algorithm_for(ada.load("parallel_gripper"), "crba") == "crba"


def test_numbers_that_are_not_finite_are_refused():
    model = ada.load("pa10")
    q, _, tau = state(model)
    with pytest.raises(InputError):
        Oracle(model).compare(q, np.full(7, np.nan), tau)


def test_without_pinocchio_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    with pytest.raises(InputError) as refusal:
        Oracle(ada.load("pa10"))
    assert refusal.value.field == "pinocchio"


def test_labels_number_the_velocities_of_a_joint_with_several():
    labels = Oracle(ada.load("floating_6")).labels
    assert labels[:7] == [*(f"root_joint[{i}]" for i in range(6)), ada.load("floating_6").joint_names[1]]


# --- states from messages -------------------------------------------------------------------------------------------
def test_joints_by_name_are_a_state_in_any_order_with_others_among_them():
    model = ada.load("planar_3r")
    first, second, third = model.joint_names
    names = ["other", third, first, second]
    q, v, tau = state_of_joints(model, names, [9.0, 3.0, 1.0, 2.0], [9.0, 6.0, 4.0, 5.0], [9.0, 8.0, 7.0, 0.5])
    assert (q.tolist(), v.tolist(), tau.tolist()) == ([1, 2, 3], [4, 5, 6], [7, 0.5, 8])
    assert state_of_joints(model, names, [0.0] * 4, [0.0] * 4, [])[2].tolist() == [0, 0, 0]


THREE = ada.load("planar_3r").joint_names
ZEROS = [0.0] * 3


@pytest.mark.parametrize(
    ("names", "position", "velocity", "effort", "facts"),
    [
        (THREE, ZEROS, ZEROS[:2], ZEROS, ("velocity", None, 2)),
        (THREE, ZEROS, [], ZEROS, ("velocity", None, 0)),
        (THREE, ZEROS, ZEROS, [0.0], ("effort", None, 1)),
        (THREE[:2], ZEROS[:2], ZEROS[:2], ZEROS[:2], ("name", THREE[2], None)),
        ([*THREE, THREE[0]], [*ZEROS, 0.0], [*ZEROS, 0.0], [*ZEROS, 0.0], ("name", THREE[0], None)),
        (THREE, [0.0, np.nan, 0.0], ZEROS, ZEROS, ("numbers", None, None)),
    ],
)
def test_joint_states_that_do_not_say_everything_are_refused(names, position, velocity, effort, facts):
    with pytest.raises(InputError) as refusal:
        state_of_joints(ada.load("planar_3r"), names, position, velocity, effort)
    assert (refusal.value.field, refusal.value.joint, refusal.value.value) == facts


def test_robots_that_joint_states_do_not_describe_are_known():
    assert is_described_by_joints(ada.load("pa10"))
    assert is_described_by_joints(ada.load("parallel_gripper"))
    assert not is_described_by_joints(ada.load("khr1"))
    assert not is_described_by_joints(ada.load("delta"))  # its legs end in balls


def test_the_size_of_a_state_tells_the_base():
    fixed = ada.load("khr1", base="fixed")
    for base in ("fixed", "floating", "floating_euler"):
        model = ada.load("khr1", base=base)
        assert base_of_sizes(fixed, model.nq, model.nv) == base
    with pytest.raises(InputError) as refusal:
        base_of_sizes(fixed, 3, 3)
    assert refusal.value.field == "base"
