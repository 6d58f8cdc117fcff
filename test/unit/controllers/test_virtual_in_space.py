# SPDX-License-Identifier: Apache-2.0
"""Virtual closed chains of robots in space, on floating bases, and with loops of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from bar_in_space import WEIGHTLESS, Arms
from refused import refused
from virtual_motion import moved

import ada_dynamics as ada
from ada_controllers import PoseReference, State
from ada_controllers.virtual_closed_chain import VirtualClosedChain
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit import with_gravity
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.close import with_loops
from ada_dynamics.spatial.orientation import to_rpy


@pytest.fixture(scope="module")
def fixed() -> Arms:
    return Arms("fixed", (0.0, 0.0, -9.81))


@pytest.fixture(scope="module")
def floating() -> Arms:
    return Arms("floating", WEIGHTLESS)


# --- accelerations --------------------------------------------------------------------------------------------------
@pytest.mark.fuzz
@pytest.mark.parametrize("which", ["fixed", "floating"])
def test_wanted_accelerations_solve_the_dense_equations_with_multipliers(which: str, request: Any) -> None:
    """[M Jᵀ; J 0] with the rates of the loop by differences along the motion, and the law's own springs."""
    robot: Arms = request.getfixturevalue(which)
    controller = robot.controller(loop_stiffness=0.0, loop_damping=0.0, hold=0.0)
    closed = ada.Dynamics(with_gravity(robot.bar, WEIGHTLESS))
    numbers = closed.kernels.closed.study.numbers
    rng = np.random.default_rng(5)
    q, v = closed.project(robot.q, 0.3 * rng.normal(size=robot.model.nv))
    state = State(q, v)
    controller.reset(state, 0.0)
    told = controller.update(state, robot.reference(0.05, 0.0, 0.02), 0.0)
    effort = np.zeros(robot.model.nv)
    effort[controller.v_index] = controller.signals()["virtual_effort"]
    J, h = numbers.jacobian(q), 1e-5
    later, before = (robot.model.integrate(q, v, s) for s in (h, -h))
    gamma = (numbers.jacobian(later) - numbers.jacobian(before)) @ v / (2.0 * h)
    M, rest = closed.mass_matrix(q), closed.bias(q, v)
    count = len(J)
    whole = np.block([[M, J.T], [J, np.zeros((count, count))]])
    a = np.linalg.lstsq(whole, np.concatenate([effort - rest, -gamma]), rcond=1e-12)[0][: len(v)]
    np.testing.assert_allclose(controller.signals()["acceleration"], a[controller.v_index], atol=1e-6)
    assert controller.saturated == ()
    tau = np.zeros(robot.model.nv)
    tau[controller.v_index] = told.effort  # a floating base gets no force
    moved_by = robot.dynamics.forward(q, v, tau)[controller.v_index]
    np.testing.assert_allclose(moved_by, controller.signals()["acceleration"], atol=1e-8)


# --- motions --------------------------------------------------------------------------------------------------------
@pytest.mark.fuzz
@pytest.mark.parametrize("feedback", ["force", "path"])
def test_on_a_floating_body_momentum_is_kept(floating: Arms, feedback: str) -> None:
    reference = floating.reference(0.03, 0.02, 0.05)
    log, _ = moved(floating.controller(feedback=feedback), floating.q, reference, 2.0)
    assert floating.bar_error(log.q) < 1e-6
    assert np.abs(np.asarray(log.momentum)).max() < 1e-11
    assert np.linalg.norm(log.q[-1, :3]) > 1e-3  # the body gives way


@pytest.mark.fuzz
@pytest.mark.slow  # to compile
def test_a_platform_with_legs_is_led_along_a_virtual_guide() -> None:
    """The Gough-Stewart platform, whose own loops are real: of its six motions the guide leaves one, along its axis."""
    stewart = ada.load("stewart")
    q = np.asarray(start_of("stewart"))
    dynamics = ada.Dynamics(stewart)
    place = dynamics.pose("platform", q)
    end = {"xyz": place[:3, 3].tolist(), "rpy": list(to_rpy(place[:3, :3]))}
    guide = {"name": "guide", "type": "prismatic", "axis": [0, 0, 1], "child": {"link": "platform"}}
    virtual = with_loops(stewart, [{**guide, "parent": {"link": stewart.root, **end}}])
    gains = {"joint_stiffness": [0.0], "joint_damping": [0.0], "link": "platform", "hold": 1e-3}
    pull = {"pose_stiffness": [400.0] * 3 + [0.0] * 3, "pose_damping": [100.0] * 3 + [0.0] * 3}
    controller = VirtualClosedChain(stewart, {**gains, **pull}, virtual=virtual)
    assert controller.mechanism.study.mobility == 1
    wanted = place.copy()
    wanted[:3, 3] += 0.03 * place[:3, 2]
    log, loop = moved(controller, q, PoseReference(wanted), 0.1)
    at = dynamics.pose("platform", log.q)
    way = (at[:, :3, 3] - place[:3, 3]) @ place[:3, :3]
    assert np.abs(way[:, :2]).max() < 1e-6
    assert np.abs(at[:, :3, :3] - place[:3, :3]).max() < 1e-6
    assert way[-1, 2] > 1e-3
    assert loop.signals["effort"].shape[1] == 6


# --- what is refused ------------------------------------------------------------------------------------------------
def with_motors(model: ada.Model, names: list[str]) -> ada.Model:
    parts = Parts.of(model)
    parts.actuated = names
    return parts.build()


def test_too_few_motors_are_refused_by_the_joints_that_nothing_drives() -> None:
    robot = with_motors(ada.load("planar_4r"), ["joint_1", "joint_2", "joint_3"])
    with refused(InputError, joint="joint_4", field="motors", value=3):
        VirtualClosedChain(robot, {"loops": "loops/parallel_four_bar.yaml"})
    five_bar = with_motors(ada.load("five_bar"), ["left_crank"])
    with refused(InputError, joint="right_crank", field="motors", value=1):
        VirtualClosedChain(five_bar)


def test_a_robot_with_its_own_loops_and_enough_motors_needs_no_virtual_ones() -> None:
    five_bar = ada.load("five_bar")
    controller = VirtualClosedChain(five_bar, {"joint_stiffness": [30.0], "joint_damping": [10.0]})
    q = np.asarray(start_of("five_bar"))
    controller.reset(State(q, np.zeros(five_bar.nv)), 0.0)
    command = controller.update(State(q, np.zeros(five_bar.nv)), None, 0.0)
    rest = np.zeros(five_bar.nv)
    expected = ada.Dynamics(five_bar).inverse(q, rest, rest)[controller.v_index]
    np.testing.assert_allclose(command.effort, expected, atol=1e-9)


def test_a_floating_robot_with_weight_cannot_be_a_mechanism_without() -> None:
    heavy = Arms("floating", (0.0, 0.0, -9.81))
    with refused(InputError, field="weight", value=False):
        heavy.controller()


def test_loops_that_leave_no_motion_are_refused() -> None:
    robot = ada.load("planar_4r")
    both = [
        {"name": f"lock_{i}", "type": "fixed", "parent": {"link": a, "xyz": [0, 0, z]}, "child": {"link": b}}
        for i, (a, b, z) in enumerate(
            (("base", "link_1", 0), ("link_1", "link_2", 1), ("link_2", "link_3", 1), ("link_3", "link_4", 1))
        )
    ]
    with refused(InputError, field="loops"):
        VirtualClosedChain(robot, virtual=with_loops(robot, both))


def test_the_virtual_model_must_be_the_robot_with_loops(fixed: Arms) -> None:
    robot = ada.load("planar_4r")
    with refused(InputError, field="virtual"):
        VirtualClosedChain(robot, virtual=fixed.bar)
    with refused(InputError, field="loops", value="loops/slider_crank.yaml"):
        VirtualClosedChain(fixed.model, {"loops": "loops/slider_crank.yaml"}, virtual=fixed.bar)
