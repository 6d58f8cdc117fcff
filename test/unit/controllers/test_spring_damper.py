# SPDX-License-Identifier: Apache-2.0
"""Springs and dampers at the joints: eq. 6.6, gains by a quintic spline, weight that loops share."""

import numpy as np
import pytest
from refused import refused
from tiers import nightly

import ada_dynamics as ada
from ada_controllers import JointReference, State, make
from ada_controllers.errors import ActivationRefused
from ada_controllers.in_simulation import InSimulation
from ada_controllers.spring_damper import carried_weight
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots.catalogue import start_of
from ada_experiments.pinocchio_model import PinocchioModel
from ada_robot.trajectory.splines import QuinticSpline


@pytest.fixture(scope="module")
def standing() -> ada.Model:
    return ada.load("hoap2_standing")


def test_efforts_are_those_of_eq_6_6(pa10: ada.Model) -> None:
    rng = np.random.default_rng(1)
    kp, kd = rng.uniform(0.1, 5.0, (2, 7))
    controller = make("spring_damper", pa10, {"stiffness": kp.tolist(), "damping": kd.tolist()})
    q, v, goal = rng.uniform(-0.5, 0.5, (3, 7))
    controller.reset(State(q, v), 0.0)
    at_start = controller.update(State(q, v), None, 0.001).effort
    assert at_start == pytest.approx(-kd * v, abs=1e-14)  # θ_ini: where it began
    assert controller.update(State(q, v), JointReference(goal), 0.002).effort == pytest.approx(
        kp * (goal - q) - kd * v, abs=1e-14
    )
    moving = JointReference(goal, velocity=v)
    assert controller.update(State(q, v), moving, 0.003).effort == pytest.approx(kp * (goal - q), abs=1e-14)


def test_gains_follow_the_quintic_spline_over_the_turn(standing: ada.Model) -> None:
    settings = {
        "link": "body",
        "axis": "z",
        "full_angle": 0.3,
        "stiffness": [1.0],
        "turned_stiffness": [5.0],
        "damping": [0.2],
        "turned_damping": [0.0],
    }
    controller = make("spring_damper", standing, settings)
    dynamics = ada.Dynamics(standing)
    spline = QuinticSpline([0.0, 0.3], [0.0, 1.0])
    start = State(np.zeros(10), np.zeros(10))
    for hip in (0.0, 0.05, -0.12, 0.2, 0.29, -0.4):
        q = np.where(np.isin(standing.joint_names, ["joint_1", "joint_6"]), hip, 0.0)
        v = np.full(10, 0.1)
        controller.reset(start, 0.0)
        effort = controller.update(State(q, v), None, 0.001).effort
        R = dynamics.pose("body", q)
        yaw = np.arctan2(R[1, 0], R[0, 0])
        part = float(spline.position(abs(yaw)))
        wanted = -(1.0 + 4.0 * part) * q - 0.2 * (1.0 - part) * v
        assert effort == pytest.approx(wanted, abs=1e-12)
        assert controller.signals()["angle"] == pytest.approx([yaw], abs=1e-14)


def test_a_joint_swings_as_a_damped_oscillator() -> None:
    builder = ada.Builder("wheel").link("base").link("disc", 1.0, (0, 0, 0), np.diag([0.1, 0.1, 0.2]))
    model = builder.joint("turn", "continuous", "base", "disc", axis=(0, 0, 1)).build()
    controller = make("spring_damper", model, {"stiffness": [5.0], "damping": [0.4]})
    log = InSimulation(controller, JointReference(np.zeros(1))).simulation(model, np.array([0.5]), step=1e-3).run(2.0)
    decay, w = 0.4 / (2 * 0.2), np.sqrt(5.0 / 0.2 - 1.0)
    wanted = 0.5 * np.exp(-decay * log.t) * (np.cos(w * log.t) + decay / w * np.sin(w * log.t))
    assert np.abs(log.q[:, 0] - wanted).max() < 3e-3


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
