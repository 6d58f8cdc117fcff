# SPDX-License-Identifier: Apache-2.0
"""Balance of HOAP-2: the document's laws as printed, axes of its joints, and both strategies under their pushes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada
from ada_controllers import JointReference, State
from ada_controllers.balance import JOINTS, Balance
from ada_dynamics.analysis.fixed_feet import fixed_feet_of
from ada_dynamics.errors import InputError
from ada_experiments.push_measures import phase, trunk_angles
from ada_experiments.pushed_humanoid import AT_THE_HAND, AT_THE_SHOULDER, on_fixed_feet, survives

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def standing() -> ada.Model:
    return ada.load("hoap2_standing")


def told(controller: Balance, x: Array, rate: Array) -> Array:
    """Efforts of joints 1 to 10 for their angles and rates, after a reset at the zero pose."""
    order = [controller.joints.index(name) for name in JOINTS]
    q, v = np.zeros(10), np.zeros(10)
    q[controller.q_index[order]], v[controller.v_index[order]] = x, rate
    controller.reset(State(np.zeros(10), np.zeros(10)), 0.0)
    effort = controller.update(State(q, v), None, 0.001).effort
    assert effort is not None
    return effort[order]


def plain(standing: ada.Model, **settings: Any) -> Balance:
    """Without weight; the variable gains hardly change at the angles of the tests."""
    return Balance(standing, {"carry_weight": False, "full_angle": 1.5, **settings})


SMALL = np.array([1.0, -2.0, 1.5, -1.0, 0.5, 1.0, 2.0, -1.0, 2.0, -0.5]) * 1e-3
RATES = np.array([0.1, -0.2, 0.15, -0.1, 0.05, 0.12, 0.2, -0.3, 0.25, -0.05])


def test_springs_are_those_of_section_6_3_1(standing: ada.Model) -> None:
    kp = np.array([0.3, 1.5, 1.5, 0.3, 1.5, 0.3, 1.5, 1.5, 0.3, 1.5])
    kd = np.array([0.03, 1.5, 1.5, 0.03, 1.5, 0.03, 1.5, 1.5, 0.03, 1.5])
    efforts = told(plain(standing, strategy="springs"), SMALL, RATES)
    assert efforts == pytest.approx(-kp * SMALL - kd * RATES, abs=1e-6)


def test_dampers_have_grown_to_the_printed_bounds_at_the_full_angle(standing: ada.Model) -> None:
    controller = Balance(standing, {"strategy": "springs", "carry_weight": False, "full_angle": 0.2})
    x = np.zeros(10)
    x[[0, 5]] = 0.3  # both hips about z: the upper body turns by as much
    found = told(controller, x, RATES) - told(controller, x, np.zeros(10))
    kd = np.array([0.5, 1.5, 1.5, 3.5, 1.5, 0.5, 1.5, 1.5, 3.5, 1.5])
    assert found == pytest.approx(-kd * RATES, abs=1e-12)


def test_upper_body_rotation_moves_the_right_ankle_against_the_left_one(standing: ada.Model) -> None:
    """Eq. 6.7, and stiffer hips about y."""
    efforts = told(plain(standing, strategy="upper_body_rotation"), SMALL, RATES)
    assert efforts[3] == pytest.approx(-(5.0 * SMALL[8] + 0.5 * RATES[8]), abs=1e-12)
    assert efforts[[2, 7]] == pytest.approx(-5.0 * SMALL[[2, 7]] - 0.5 * RATES[[2, 7]], abs=1e-12)


def test_combined_strategy_drives_the_left_ankle_along_the_null_space(standing: ada.Model) -> None:
    """Eqs. 6.12 and 6.13 at the upright pose, where n11/n31 is the ratio of two first moments."""
    controller = plain(standing, strategy="combined")
    own = controller.ankle_hip
    upper = own.m2 * own.lg2
    ratio = -upper / (own.m1 * own.lg1 + (own.mh + own.m2) * own.l1 + upper)
    efforts = told(controller, SMALL, RATES)
    wanted = 50.0 * (ratio * RATES[7] - 0.5 * (RATES[8] + RATES[3])) - 0.5 * SMALL[8] - 0.05 * RATES[8]
    assert efforts[8] == pytest.approx(wanted, rel=1e-3)  # the angles of the test are small, not zero
    others = [i for i in range(10) if i != 8]
    assert efforts[others] == pytest.approx(-0.5 * SMALL[others] - 0.05 * RATES[others], abs=1e-12)


def test_ankle_hip_model_has_the_mass_of_the_robot_above_its_ankles(standing: ada.Model) -> None:
    own = plain(standing).ankle_hip
    feet = 2.0 * (0.171128 + 0.136753)
    assert own.m1 + own.mh + own.m2 == pytest.approx(standing.total_mass - feet)
    assert own.l1 == pytest.approx(0.2)
    above = own.m1 * own.lg1 + own.mh * own.l1 + own.m2 * (own.l1 + own.lg2)  # first moment about the ankles' height
    ankles, left_foot = 2.0 * 0.171128 * 0.00324289, 0.136753 * -0.0248732
    hips = 0.172696 * (-0.00328966 - 0.00328965) + 2.0 * 0.039388 * 0.0219162  # fig. 6.7 has their mass at the joint
    moving = standing.total_mass - 0.136753  # all but the right foot
    height = ada.Dynamics(standing).com(np.zeros(10))[2] - 0.037  # of their centre; the ankles are 37 mm high
    assert above + hips + ankles + left_foot == pytest.approx(moving * height, rel=1e-9)


def test_ankles_go_in_opposite_directions_where_the_upper_body_turns(standing: ada.Model) -> None:
    """The motion of fixed feet with the waist turning about z alone: θ_4 = -θ_9 in axes that both legs share."""
    dynamics = ada.Dynamics(standing)
    J = dynamics.jacobian("left_sole", np.zeros(10))
    N = np.linalg.svd(J)[2][6:].T  # joint motions in which the left sole rests, as the right one does
    body = dynamics.jacobian("waist", np.zeros(10)) @ N
    turn = np.linalg.lstsq(body, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), rcond=None)[0]
    assert body[:, :] @ turn == pytest.approx([0, 0.034, 0, 0, 0, 1], abs=0.05)
    rates = dict(zip(standing.joint_names, N @ turn, strict=True))
    assert rates["joint_4"] == pytest.approx(-rates["joint_9"], abs=1e-9)
    assert abs(rates["joint_4"]) > 0.1


# --- under a push ---------------------------------------------------------------------------------------------------
def test_upper_body_rotation_keeps_the_feet_on_the_ground_where_springs_do_not() -> None:
    """T6.1, the first two seconds of the reaction."""
    log = on_fixed_feet(AT_THE_HAND, {"strategy": "upper_body_rotation"}, 3.0)
    assert survives(log)
    assert phase(log, AT_THE_HAND.start) < -0.9
    turn = np.abs(trunk_angles(log)).max(axis=0)
    assert turn[2] > 2.0 * turn[1]
    assert float(np.min(fixed_feet_of(log).margin)) > 0.01
    assert not survives(on_fixed_feet(AT_THE_HAND, {"strategy": "springs"}, 3.0))


def test_combined_strategy_turns_the_body_and_not_the_centre_of_mass() -> None:
    """T6.2; upper-body rotation does not bear that push."""
    log = on_fixed_feet(AT_THE_SHOULDER, {"strategy": "combined"}, 3.0)
    assert survives(log)
    assert not survives(on_fixed_feet(AT_THE_SHOULDER, {"strategy": "upper_body_rotation"}, 3.0))
    assert phase(log, AT_THE_SHOULDER.start) > 0.9
    assert np.abs(trunk_angles(log)[:, 2]).max() > 15.0
    assert np.abs(log.com[:, 0] - log.com[0, 0]).max() < 0.006


# --- two phases (sec. 6.3.1) ----------------------------------------------------------------------------------------
def after_turns(controller: Balance, yaws: tuple[float, ...], rate: Array) -> Array:
    """Efforts of joints 1 to 10 for rates at the last of some turns of the upper body, 0.4 s apart."""
    order = [controller.joints.index(name) for name in JOINTS]
    controller.reset(State(np.zeros(10), np.zeros(10)), 0.0)
    controller.update(State(np.zeros(10), np.zeros(10)), JointReference(np.zeros(10)), 0.0)
    told = np.zeros(10)
    for i, yaw in enumerate(yaws):
        q, v = np.zeros(10), np.zeros(10)
        q[controller.q_index[[order[0], order[5]]]], v[controller.v_index[order]] = yaw, rate
        effort = controller.update(State(q, v), None, 0.4 * (i + 1)).effort
        assert effort is not None
        told = effort[order]
    return told


SOFT = np.full(10, 0.03)
STIFF_FROM_ZERO = np.array([0.0, 1.5, 1.5, 0.0, 1.5, 0.0, 1.5, 1.5, 0.0, 1.5])


@pytest.mark.parametrize(
    ("yaws", "damping"),
    [
        ((0.0,), SOFT),  # standing: the next push may come
        ((0.1, 0.3, 0.0), SOFT),  # turned, but only now seen to turn back
        ((0.1, 0.3, 0.2, 0.0), STIFF_FROM_ZERO),  # turns back: recovery
        ((0.1, 0.3, 0.2, -0.1, 0.0), STIFF_FROM_ZERO),  # and swings over
        ((0.1, 0.3, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0), SOFT),  # more than a second at rest
    ],
)
def test_recovery_begins_where_the_upper_body_turns_back(
    standing: ada.Model, yaws: tuple[float, ...], damping: Array
) -> None:
    controller = Balance(standing, {"strategy": "springs", "phases": "two", "carry_weight": False})
    assert after_turns(controller, yaws, RATES) == pytest.approx(-damping * RATES, abs=1e-12)


def test_soft_springs_of_the_reaction_keep_the_laws_of_the_strategy(standing: ada.Model) -> None:
    """k_p = 0.3 at all joints but the hips about y, which are 5, and the right ankle, which has eq. 6.7."""
    controller = plain(standing, strategy="upper_body_rotation", phases="two")
    kp = np.array([0.3, 0.3, 5.0, 0.0, 0.3, 0.3, 0.3, 5.0, 0.3, 0.3])
    kd = np.array([0.03, 0.03, 0.5, 0.0, 0.03, 0.03, 0.03, 0.5, 0.03, 0.03])
    wanted = -kp * SMALL - kd * RATES
    wanted[3] = -(5.0 * SMALL[8] + 0.5 * RATES[8])
    assert told(controller, SMALL, RATES) == pytest.approx(wanted, abs=1e-12)


def test_two_phases_are_no_part_of_equations_of_motion(standing: ada.Model) -> None:
    with refused(InputError, field="phases", value="two"):
        Balance(standing, {"phases": "two"}).continuous(JointReference(np.zeros(10)))


def test_continuous_law_is_the_sampled_one(standing: ada.Model) -> None:
    controller = Balance(standing, {"strategy": "upper_body_rotation"})
    rng = np.random.default_rng(3)
    q, v = rng.uniform(-0.1, 0.1, (2, 10))
    controller.reset(State(np.zeros(10), np.zeros(10)), 0.0)
    effort = controller.update(State(q, v), None, 0.001).effort
    law = controller.continuous(JointReference(np.zeros(10))).law(0.0, q.tolist(), v.tolist())
    full = np.zeros(10)
    full[controller.v_index] = effort
    assert law == pytest.approx(full, abs=1e-12)


# --- the robot ------------------------------------------------------------------------------------------------------
def test_the_standing_robot_is_hoap2_with_joints_that_mean_the_same(standing: ada.Model) -> None:
    free = ada.load("hoap2_10dof")
    assert standing.total_mass == pytest.approx(free.total_mass)
    rng = np.random.default_rng(4)
    angles = dict(zip(JOINTS, rng.uniform(-0.3, 0.3, 10), strict=True))
    poses = []
    for model in (standing, free):
        q = model.neutral()
        for name, angle in angles.items():
            q[model.q_index(name)] = angle
        found = ada.Dynamics(model).poses(q)
        base = np.linalg.inv(found["waist"])
        poses.append({name: base @ found[name] for name in free.link_names})
    for name in free.link_names:
        assert poses[0][name] == pytest.approx(poses[1][name], abs=1e-12), name


def test_it_stands_on_both_feet_and_has_four_motions(standing: ada.Model) -> None:
    dynamics = ada.Dynamics(standing)
    state = dynamics.loop_state(np.zeros(10))
    assert state.mobility == 4
    assert state.worst_gap < 1e-15
    poses = dynamics.poses(np.zeros(10))
    assert poses["right_sole"][:3, 3] == pytest.approx([0.0, -0.039, 0.0], abs=1e-15)
    assert poses["left_sole"][:3, 3] == pytest.approx([0.0, 0.039, 0.0], abs=1e-15)


def test_the_reaching_robot_has_its_left_arm_raised_and_bent() -> None:
    poses = ada.Dynamics(ada.load("hoap2_reaching")).poses(np.zeros(10))
    shoulder, hand = poses["left_shoulder"][:3, 3], poses["left_hand"][:3, 3]
    upper, fore = 0.101, 0.100  # shoulder and elbow at 60 deg: the forearm points 30 deg above the horizon
    wanted = [upper * np.sin(np.pi / 3) + fore * np.cos(np.pi / 6), 0.0, -upper * 0.5 + fore * 0.5]
    assert hand - shoulder == pytest.approx(wanted, abs=1e-12)
