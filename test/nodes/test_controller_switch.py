# SPDX-License-Identifier: Apache-2.0
"""Controllers are exchanged, and their settings changed, while the robot is under control: nothing jumps."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from controller_world import BENT, NAMES, Sender, controller, plant, set_parameter, weight
from rcl_interfaces.srv import GetParameters, ListParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ada_robot.ros import qos

pytestmark = pytest.mark.ros
BLEND = 0.5  # [s]
STEEPEST = 1.5  # of the blend: 3 s² - 2 s³ has this slope in its middle


def under_control(ros, **parameters):
    """A controller that holds a robot which the test itself plays."""
    sender = Sender(ros)
    node = controller(ros, blend=BLEND, **parameters)
    sender.until(lambda: node.phase == "active", what="an active controller", effort=weight())
    return node, sender


def parameters_of(ros):
    return set(ros.call(ListParameters, "controller_node/list_parameters").result.names)


def value_of(ros, name):
    (value,) = ros.call(GetParameters, "controller_node/get_parameters", GetParameters.Request(names=[name])).values
    return value


def stamp(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def command_of(message):
    """Time of the state that a command is for, and the command."""
    sizes = {one.label: one.size for one in message.layout.dim}
    begin = sizes["t"] + sizes["reference"]
    return message.data[0], np.array(message.data[begin : begin + sizes["command"]])


def fastest_change(told):
    """Greatest rate of commands [N m/s], by the times of the states that they are for."""
    times, values = zip(*map(command_of, told), strict=True)
    return (np.abs(np.diff(values, axis=0)) / np.diff(times)[:, None]).max()


def test_a_switch_between_controllers_of_efforts_changes_them_smoothly(ros):
    commands = ros.collect(JointState, "joint_commands", qos.streams(1000))
    told = ros.collect(Float64MultiArray, "controller_node/state", qos.streams(1000))
    node, sender = under_control(ros, state_rate=0.0)
    references = ros.matched(ros.publisher(JointState, "controller_node/joint_reference", qos.COMMANDS))
    references.publish(JointState(name=["s2"], position=[BENT[1] + 0.05]))
    sender.until(lambda: commands and node.thread.control.target.position[1] != BENT[1], effort=weight())
    settled = stamp(commands[-1]) + 2.0 * BLEND
    sender.until(lambda: stamp(commands[-1]) > settled, what="the end of the first blend")
    old = np.array(commands[-1].effort)
    begin, first = len(commands), len(told)
    assert set_parameter(ros, "controller", "gravity_compensation").successful
    new = weight()
    sender.until(lambda: np.abs(commands[-1].effort - new).max() < 1e-9, what="the efforts of the new law")
    apart = np.abs(old - new).max()
    assert apart > 5.0
    assert np.abs(np.array(commands[begin].effort) - old).max() < 0.1 * apart, "it begins with the old ones"
    assert fastest_change(told[first:]) < 1.1 * STEEPEST * apart / BLEND


def test_a_switch_to_positions_begins_where_the_joints_are_and_one_back_with_what_they_carry(ros):
    commands = ros.collect(JointState, "joint_commands", qos.streams(1000))
    _, sender = under_control(ros)
    sender.until(lambda: commands)
    assert set_parameter(ros, "controller", "joint_trajectory").successful
    sender.until(lambda: len(commands[-1].position), what="positions", effort=weight())
    assert not len(commands[-1].effort)
    first = next(message for message in commands if len(message.position))
    assert np.abs(np.array(first.position) - BENT).max() < 1e-6
    held = weight() + 2.0  # the servos hold something more
    sender.until(lambda: stamp(commands[-1]) - stamp(first) > 0.1, effort=held)
    begin = len(commands)
    assert set_parameter(ros, "controller", "computed_torque").successful
    sender.until(lambda: len(commands[-1].effort), what="efforts", effort=held)
    first = next(message for message in commands[begin:] if len(message.effort))
    assert np.abs(np.array(first.effort) - held).max() < 0.5
    sender.until(lambda: np.abs(commands[-1].effort - weight()).max() < 1e-6, what="the weight alone", effort=held)


def test_the_parameters_are_those_of_the_controller_that_runs(ros):
    node, _ = under_control(ros, pid__gain=[50.0])
    assert {name for name in parameters_of(ros) if "." in name and not name.startswith(("shaping.", "qos"))} == {
        "computed_torque.stiffness",
        "computed_torque.damping",
    }
    assert set_parameter(ros, "controller", "pid").successful
    names = parameters_of(ros)
    assert "pid.integral_time" in names and not any(name.startswith("computed_torque.") for name in names)
    assert list(value_of(ros, "pid.gain").double_array_value) == [50.0], "the start value waited for it"
    assert node.thread.control.controller.settings.gain == (50.0,)
    refused = set_parameter(ros, "computed_torque.stiffness", [1.0])
    assert not refused.successful and "computed_torque.stiffness" in refused.reason
    assert set_parameter(ros, "controller", "computed_torque").successful
    assert set_parameter(ros, "computed_torque.stiffness", [123.0]).successful
    assert node.thread.control.controller.settings.stiffness == (123.0,)


def test_settings_change_under_control_without_a_jump_and_the_target_stays(ros):
    commands = ros.collect(JointState, "joint_commands", qos.streams(1000))
    told = ros.collect(Float64MultiArray, "controller_node/state", qos.streams(1000))
    node, sender = under_control(ros, state_rate=0.0)
    control = node.thread.control
    goal = np.array(BENT) + 0.02
    references = ros.matched(ros.publisher(JointState, "controller_node/joint_reference", qos.COMMANDS))
    references.publish(JointState(name=NAMES, position=goal.tolist()))
    sender.until(lambda: np.array_equal(control.target.position, goal), what="the reference")
    settled = stamp(commands[-1]) + 2.0 * BLEND
    sender.until(lambda: stamp(commands[-1]) > settled, what="the end of the first blend")
    begin, first, old = len(commands), len(told), np.array(commands[-1].effort)
    before = control.controller
    assert set_parameter(ros, "computed_torque.stiffness", [400.0]).successful
    assert control.controller is not before and control.controller.settings.stiffness == (400.0,)
    sender.until(lambda: len(commands) > begin, what="commands of the new one")
    assert np.array_equal(control.target.position, goal)
    settled = stamp(commands[-1]) + 2.0 * BLEND
    sender.until(lambda: stamp(commands[-1]) > settled, what="the end of the blend")
    apart = np.abs(np.array(commands[-1].effort) - old).max()
    assert apart > 1.0
    assert fastest_change(told[first:]) < 1.1 * STEEPEST * apart / BLEND
    # shaping, too; and what cannot be is refused, with all as it was
    assert set_parameter(ros, "shaping.effort_scale", 0.5).successful
    half = control.controller
    refused = set_parameter(ros, "computed_torque.stiffness", [1.0, 2.0])
    assert not refused.successful and "has 2 numbers" in refused.reason
    assert control.controller is half and half.shaping.effort_scale == 0.5
    assert list(value_of(ros, "computed_torque.stiffness").double_array_value) == [400.0]


def test_a_controller_that_is_not_for_this_robot_does_not_take_over(ros):
    node, sender = under_control(ros)
    before = node.thread.control.controller
    refused = set_parameter(ros, "controller", "balance")
    assert not refused.successful and "balance" in refused.reason
    refused = set_parameter(ros, "controller", "balanse")
    assert not refused.successful and "'pid'" in refused.reason
    assert node.thread.control.controller is before
    assert value_of(ros, "controller").string_value == "computed_torque"
    assert "computed_torque.stiffness" in parameters_of(ros)
    sender.until(lambda: node.thread.control.is_active, what="it to go on")


def test_a_trajectory_goes_on_when_settings_change(ros):
    simulated = plant(ros)
    node = controller(ros, wait=True)
    trajectories = ros.matched(ros.publisher(JointTrajectory, "controller_node/joint_trajectory", qos.COMMANDS))
    end = JointTrajectoryPoint(positions=[1.0], velocities=[0.0])
    end.time_from_start.sec = 3
    trajectories.publish(JointTrajectory(joint_names=["s1"], points=[end]))
    ros.wait(lambda: simulated.loop.latest.q[0] > 0.2, what="some way")
    assert set_parameter(ros, "computed_torque.damping", [30.0]).successful
    assert node.thread.following.is_followed
    ros.wait(lambda: abs(simulated.loop.latest.q[0] - 1.0) < 0.01, what="its end")


def test_a_path_is_followed_by_a_controller_that_plans(ros):
    simulated = plant(ros)
    node = controller(ros, wait=True, controller="joint_trajectory")
    trajectories = ros.matched(ros.publisher(JointTrajectory, "controller_node/joint_trajectory", qos.COMMANDS))
    points = [JointTrajectoryPoint(positions=[p]) for p in (0.3, 0.5)]
    points[0].time_from_start.sec, points[1].time_from_start.sec = 1, 2
    trajectories.publish(JointTrajectory(joint_names=["s1"], points=points))
    ros.wait(lambda: type(node.thread.control.target).__name__ == "JointPath", what="the path to be taken")
    ros.wait(lambda: abs(simulated.loop.latest.q[0] - 0.5) < 0.02, what="its end")
    assert np.abs(simulated.loop.latest.q[1:] - BENT[1:]).max() < 0.05, "the others stay"
