# SPDX-License-Identifier: Apache-2.0
"""Weight that motors carry, also through loops, and efforts of accelerations: against pinocchio and accelerations."""

import numpy as np
import pytest
from refused import refused
from tiers import nightly

import ada_dynamics as ada
from ada_controllers import JointReference, State, make
from ada_controllers.balance import carried_weight
from ada_controllers.in_simulation import InSimulation
from ada_controllers.state import ActivationRefused
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots.catalogue import start_of
from ada_experiments.pinocchio_model import PinocchioModel


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
