# SPDX-License-Identifier: Apache-2.0
"""Balance of HOAP-2: laws as printed and both strategies; weight that motors carry and efforts, by pinocchio."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refused import refused
from tiers import nightly

import ada_dynamics as ada
from ada_controllers import JointReference, State, make
from ada_controllers.balance import JOINTS, Balance, carried_weight, share
from ada_controllers.in_simulation import InSimulation
from ada_controllers.state import ActivationRefused
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots.catalogue import start_of
from ada_experiments.pinocchio_model import PinocchioModel

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


@pytest.mark.parametrize("angle", [0.0, 0.05, -0.12, 0.29, -0.4])
def test_gains_follow_the_quintic_spline_over_the_turn(angle: float) -> None:
    x = min(abs(angle) / 0.3, 1.0)
    assert share(angle, 0.3) == pytest.approx(x**3 * (10.0 - 15.0 * x + 6.0 * x * x), abs=1e-14)


def test_upper_body_rotation_moves_the_right_ankle_against_the_left_one(standing: ada.Model) -> None:
    efforts = told(plain(standing, strategy="upper_body_rotation"), SMALL, RATES)
    assert efforts[3] == pytest.approx(-(5.0 * SMALL[8] + 0.5 * RATES[8]), abs=1e-12)
    assert efforts[[2, 7]] == pytest.approx(-5.0 * SMALL[[2, 7]] - 0.5 * RATES[[2, 7]], abs=1e-12)


def test_combined_strategy_drives_the_left_ankle_along_the_null_space(standing: ada.Model) -> None:
    controller = plain(standing, strategy="combined")
    own = controller.ankle_hip
    upper = own.m2 * own.lg2
    ratio = -upper / (own.m1 * own.lg1 + (own.mh + own.m2) * own.l1 + upper)
    efforts = told(controller, SMALL, RATES)
    wanted = 50.0 * (ratio * RATES[7] - 0.5 * (RATES[8] + RATES[3])) - 0.5 * SMALL[8] - 0.05 * RATES[8]
    assert efforts[8] == pytest.approx(wanted, rel=1e-3)  # the angles of the test are small, not zero
    others = [i for i in range(10) if i != 8]
    assert efforts[others] == pytest.approx(-0.5 * SMALL[others] - 0.05 * RATES[others], abs=1e-12)


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


@pytest.mark.parametrize("name", ["pa10", "four_bar", *map(nightly, ("hoap2_standing", "delta"))])
def test_carried_weight_is_what_holds_a_robot_at_rest_with_the_least_efforts(name: str) -> None:
    model = ada.load(name)
    q = ada.close_loops(model, model.neutral() if name == "pa10" else start_of(name))
    dynamics = ada.Dynamics(model, q0=q)
    weight = np.array(carried_weight(model.tree, q.tolist()))
    rest = np.zeros(model.nv)
    scale = np.abs(dynamics.forward(q, rest, rest)).max()
    assert np.abs(dynamics.forward(q, rest, weight)).max() < 1e-9 * max(scale, 1.0)
    if len(model.actuated) == model.nv:
        assert weight == pytest.approx(dynamics.inverse(q, rest, rest), abs=1e-9)


def test_efforts_are_those_of_pinocchio_for_the_wanted_acceleration(pa10: ada.Model) -> None:
    pytest.importorskip("pinocchio")
    other = PinocchioModel(pa10)
    rng = np.random.default_rng(1)
    kp, kd = rng.uniform(1.0, 50.0, (2, 7))
    controller = make("computed_torque", pa10, {"stiffness": kp.tolist(), "damping": kd.tolist()})
    for _ in range(20):
        q, goal = rng.uniform(-0.3, 0.3, (2, 7))
        v, v_ref, a_ref = rng.normal(size=(3, 7)) * 0.1
        wanted = a_ref + kd * (v_ref - v) + kp * (goal - q)
        controller.reset(State(q, v), 0.0)
        told = controller.update(State(q, v), JointReference(goal, v_ref, a_ref), 0.001)
        tau = other.inverse(q, v, wanted)
        limits = np.array([limit.effort for limit in controller.limits])
        assert told.effort == pytest.approx(np.clip(tau, -limits, limits), rel=1e-9, abs=1e-9)


def only_motor(model: ada.Model, motor: str) -> ada.Model:
    parts = Parts.of(model)
    parts.actuated = [motor]
    return parts.build()


POSE = np.array([0.3, 0.6, -0.2, 1.0, 0.4, 0.5, 0.1])


def test_the_whole_weight_is_that_of_pinocchio(pa10: ada.Model) -> None:
    pytest.importorskip("pinocchio")
    controller = make("gravity_compensation", pa10, {"share": [0.5], "damping": [2.0]})
    v = np.linspace(-0.3, 0.3, 7)
    controller.reset(State(POSE, v), 0.0)
    told = controller.update(State(POSE, v), None, 0.0)
    weight = PinocchioModel(pa10).inverse(POSE, np.zeros(7), np.zeros(7))
    assert told.effort == pytest.approx(0.5 * weight - 2.0 * v, rel=1e-9, abs=1e-9)
    assert controller.signals()["weight"] == pytest.approx(weight, rel=1e-9, abs=1e-9)


def test_robots_whose_weight_no_motor_carries_are_refused(pa10: ada.Model) -> None:
    with refused(InputError, joint="root_joint", field="model", value="khr1"):
        make("gravity_compensation", ada.load("khr1"))
    with refused(InputError, joint="s2", field="model", value="pa10"):
        make("gravity_compensation", only_motor(pa10, "s1"))


def test_a_linkage_that_its_motors_cannot_carry_is_not_begun() -> None:
    model = only_motor(ada.load("five_bar"), ada.load("five_bar").joint_names[0])
    controller = make("gravity_compensation", model)
    q = np.asarray(ada.close_loops(model))
    with refused(ActivationRefused, joint="right_crank", field="actuated"):
        controller.reset(State(q, np.zeros(model.nv)), 0.0)


def test_a_base_that_a_loop_carries_but_no_motor_holds_is_not_begun() -> None:
    builder = ada.Builder("on_a_ball").link("pole", 1.0, (0.1, 0, 0.5), (0.1, 0.1, 0.02))
    builder.link("arm", 1.0, (0.2, 0, 0), (0.02, 0.1, 0.1)).joint("elbow", "revolute", "pole", "arm", axis=(0, 1, 0))
    model = builder.loop("ball", "spherical", "world", "pole").build(base="floating")
    controller = make("gravity_compensation", model)
    with refused(ActivationRefused, joint="root_joint", field="model", value="on_a_ball"):
        controller.reset(State(model.neutral(), np.zeros(model.nv)), 0.0)


def test_one_motor_carries_a_linkage_through_its_loop() -> None:
    model = ada.load("four_bar")
    motor = model.joint_names[0]
    driven = only_motor(model, motor)
    q = ada.close_loops(driven)
    controller = make("gravity_compensation", driven)
    assert controller.joints == (motor,)
    log = InSimulation(controller).simulation(driven, np.asarray(q), step=1e-3).run(0.3)
    assert np.abs(log.q - q).max() < 1e-6
