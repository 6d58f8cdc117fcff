# SPDX-License-Identifier: Apache-2.0
"""Gravity compensation: a robot that carries its weight stays where it is put, and loses its speed by damping alone."""

from __future__ import annotations

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_controllers import JointReference, ReferenceRefused, State, make
from ada_controllers.errors import ActivationRefused
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.engines.pinocchio_model import PinocchioModel
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots import mechanisms


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


def test_an_arm_stays_where_it_is_put(pa10: ada.Model) -> None:
    log = InSimulation(make("gravity_compensation", pa10)).simulation(pa10, POSE, step=1e-3).run(1.0)
    assert np.abs(log.q - POSE).max() < 1e-9


def test_robots_whose_weight_no_motor_carries_are_refused(pa10: ada.Model) -> None:
    with refused(InputError, joint="root_joint", field="model", value="khr1"):
        make("gravity_compensation", ada.load("khr1"))
    with refused(InputError, joint="s2", field="model", value="pa10"):
        make("gravity_compensation", only_motor(pa10, "s1"))


def test_a_robot_in_space_has_no_weight_and_is_damped() -> None:
    model = ada.load("space_robot_a")
    controller = make("gravity_compensation", model, {"damping": [1.0]})
    q, v = model.neutral(), np.linspace(0.0, 0.1, model.nv)
    controller.reset(State(q, v), 0.0)
    told = controller.update(State(q, v), None, 0.0)
    assert told.effort == pytest.approx(-v[controller.v_index])


def test_it_follows_no_reference(pa10: ada.Model) -> None:
    controller = make("gravity_compensation", pa10)
    controller.reset(State(POSE, np.zeros(7)), 0.0)
    with refused(ReferenceRefused, field="reference"):
        controller.update(State(POSE, np.zeros(7)), JointReference(POSE), 0.1)


def test_a_linkage_that_its_motors_cannot_carry_is_not_begun() -> None:
    model = only_motor(ada.load("five_bar"), ada.load("five_bar").joint_names[0])
    controller = make("gravity_compensation", model)
    q = np.asarray(ada.assemble(model))
    with refused(ActivationRefused, joint="right_crank", field="actuated"):
        controller.reset(State(q, np.zeros(model.nv)), 0.0)


@pytest.mark.fuzz
def test_a_humanoid_whose_feet_loops_fix_to_the_world_stands() -> None:
    """Its base floats and has no motor: the legs carry it, through the loops."""
    model, q = mechanisms.two_feet(hand="spherical")
    controller = make("gravity_compensation", model)
    assert "root_joint" not in controller.joints
    log = InSimulation(controller).simulation(model, q, step=1e-3).run(0.1)
    assert np.abs(log.v).max() < 1e-9


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
    q = ada.assemble(driven)
    controller = make("gravity_compensation", driven)
    assert controller.joints == (motor,)
    log = InSimulation(controller).simulation(driven, np.asarray(q), step=1e-3).run(0.3)
    assert np.abs(log.q - q).max() < 1e-6
