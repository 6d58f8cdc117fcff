# SPDX-License-Identifier: Apache-2.0
"""Setups with a controller: what is planned, and that each choice is one that the controller's library takes."""

import numpy as np
import pytest
from setup_world import BARE, FULL, executables

import ada_dynamics as ada
from ada_controllers import State, make
from ada_controllers.state import JointReference, PoseReference
from ada_dynamics.robots.load import load
from ada_dynamics.spatial.orientation import pose_of
from ada_robot.settings import checked
from ada_robot.simulated.settings import DynamicsSettings
from ada_robot.simulated.source import initial_state, load_robot
from ada_tools.bringup import SETUPS, plan


def choices(argument, setup):
    return next(one.choices for one in setup.arguments if one.name == argument)


EACH = [
    *({"name": "pa10_control", "controller": one} for one in choices("controller", SETUPS["pa10_control"])),
    {"name": "pa10_control", "robot": "pa10_7c"},
    *({"name": "closed_chain_control", "mechanism": one} for one in ("parallel_four_bar", "slider_crank")),
    *(
        {"name": "hoap2_balance", "strategy": strategy, "feet": feet}
        for strategy in ("upper_body_rotation", "combined", "springs")
        for feet in ("clamped", "free")
    ),
]


@pytest.mark.parametrize("values", EACH, ids=lambda values: "-".join(values.values()))
def test_the_controller_of_each_choice_begins_at_the_robots_start_and_takes_the_first_target(values):
    name, *rest = values.items()
    what = plan(name[1], dict(rest), BARE)
    given = what.parameters("controller_node")
    controller = what.controller
    own = {
        key.removeprefix(f"{controller}."): value for key, value in given.items() if key.startswith(controller + ".")
    }
    model = load(str(given["robot"]))
    made = make(controller, model, own)
    settings = checked(DynamicsSettings, dict(what.robot))
    robot = load_robot(settings)
    q, _ = initial_state(robot, settings)
    by_name = {joint: q[robot.q_index(joint)][0] for joint in robot.joint_names if robot.joints[joint].nq == 1}
    assert set(model.joint_names) <= set(by_name)  # what joint_states tell is enough
    state = State(np.array([by_name[joint] for joint in model.joint_names]), np.zeros(model.nv), np.zeros(6))
    made.reset(state, 0.0)
    target = what.parameters("target_node")
    reference = None
    if "pose" in target:
        reference = PoseReference(pose_of(target["pose"][:3], target["pose"][3:]))
    elif "joints" in target:
        position = made.reference.position.copy()
        position[[made.joints.index(joint) for joint in target["joints"]]] = target["positions"]
        reference = JointReference(position)
    command = made.update(state, reference, 1e-3)
    assert all(np.isfinite(part).all() for part in command if part is not None)


@pytest.mark.parametrize("mechanism", ["parallel_four_bar", "slider_crank"])
def test_the_rods_start_where_their_virtual_loops_close(mechanism):
    what = plan("closed_chain_control", {"mechanism": mechanism}, BARE)
    loops = what.parameters("controller_node")["virtual_closed_chain.loops"]
    closed = ada.load("planar_4r", loops=str(ada.resources.find("config", loops)))
    start = np.array(what.robot["initial_positions"])
    np.testing.assert_allclose(ada.close_loops(closed, start), start, atol=1e-12)
    printed = {"parallel_four_bar": (60.0, 30.0, 150.0, -60.0), "slider_crank": (30.0, 85.7, 0.0, 64.3)}
    np.testing.assert_allclose(np.degrees(start), printed[mechanism], atol=0.05)  # as Takahashi 2012 prints them


def test_without_a_controller_the_rods_fall_and_the_humanoid_is_held_by_its_servos():
    rods = plan("closed_chain_control", {"mechanism": "none"}, FULL)
    assert executables(rods) == ["dynamics_node", "view_node", "rviz2"]
    assert rods.robot["idle"] == "release" and rods.controller == ""
    assert plan("closed_chain_control", {"mechanism": "none", "idle": "hold"}, BARE).robot["idle"] == "hold"
    humanoid = plan("hoap2_balance", {"strategy": "none"}, BARE)
    assert executables(humanoid) == ["dynamics_node"] and humanoid.robot["idle"] == "hold"


def test_a_force_sensor_in_front_of_the_hand_feels_what_pushes_it():
    what = plan("pa10_control", {"controller": "compliance"}, BARE)
    topic = dict(what.process("controller_node").remappings)["wrench"]
    joint = topic.removeprefix("dynamics_node/wrench/")
    assert joint in what.robot["wrenches"]
    # The node's topic says what the joint puts on its child link: the opposite of what touches it (wrench_of: arm).
    assert what.parameters("controller_node")["wrench_of"] == "arm"
    model = load("pa10")
    assert model.joints[joint].child == what.parameters("controller_node")["compliance.link"]
    dynamics, q, v = ada.Dynamics(model), np.array(what.robot["initial_positions"]), np.zeros(7)
    push = {"flange": np.array([3.0, -2.0, 5.0, 0.1, 0.2, -0.3])}
    tau = dynamics.inverse(q, v, np.zeros(7), external=push)
    carried = dynamics.joint_wrenches(q, v, tau, external=push)[joint]
    np.testing.assert_allclose(carried, -push["flange"], atol=1e-9)
