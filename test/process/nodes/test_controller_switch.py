# SPDX-License-Identifier: Apache-2.0
"""Controllers are exchanged, and their settings changed, while the robot is under control: nothing jumps."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from controller_world import BENT, NAMES, played, referenced, set_parameter, weight
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from ada_robot.ros import qos

pytestmark = pytest.mark.ros
BLEND = 0.5  # [s]
STEEPEST = 1.5  # of the blend: 3 s² - 2 s³ has this slope in its middle


def under_control(ros, **parameters):
    """A controller that holds a robot which the test itself plays."""
    return played(ros, weight(), blend=BLEND, **parameters)


def value_of(ros, name):
    (value,) = ros.call(GetParameters, "controller_node/get_parameters", GetParameters.Request(names=[name])).values
    return value


def stamp(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def settle(sender, commands):
    sender.until(lambda: commands, what="a command")
    end = stamp(commands[-1]) + 2.0 * BLEND
    sender.until(lambda: stamp(commands[-1]) > end, what="the end of the blend")


def command_of(message):
    """Time of the state that a command is for, and the command."""
    sizes = {one.label: one.size for one in message.layout.dim}
    begin = sizes["t"] + sizes["reference"]
    return message.data[0], np.array(message.data[begin : begin + sizes["command"]])


def fastest_change(told):
    """Greatest rate of commands [N m/s], by the times of the states that they are for."""
    times, values = zip(*map(command_of, told), strict=True)
    return (np.abs(np.diff(values, axis=0)) / np.diff(times)[:, None]).max()


def test_settings_of_another_controller_wait_for_it_and_an_unsuitable_one_does_not_take_over(ros):
    node, sender = under_control(ros, pid__gain=[50.0])
    control = node.thread.control
    before = control.controller
    assert set_parameter(ros, "pid.integral_time", [0.7]).successful and control.controller is before
    assert set_parameter(ros, "controller", "pid").successful
    settings = control.controller.settings
    assert settings.gain == (50.0,), "the start value waited for it"
    assert settings.integral_time == (0.7,)
    assert set_parameter(ros, "computed_torque.stiffness", [1.0]).successful
    before = control.controller
    for unsuitable in ("balance", "balanse"):
        refused = set_parameter(ros, "controller", unsuitable)
        assert not refused.successful and unsuitable in refused.reason
    assert control.controller is before and value_of(ros, "controller").string_value == "pid"
    sender.until(lambda: control.is_active, what="it to go on")
    both = [Parameter("controller", value="computed_torque"), Parameter("computed_torque.damping", value=[7.0])]
    request = SetParametersAtomically.Request(parameters=[one.to_parameter_msg() for one in both])
    assert ros.call(SetParametersAtomically, "controller_node/set_parameters_atomically", request).result.successful
    assert control.controller.settings.damping == (7.0,)


def test_settings_change_under_control_without_a_jump_and_the_target_stays(ros):
    commands = ros.collect(JointState, "joint_commands", qos.streams(1000))
    told = ros.collect(Float64MultiArray, "controller_node/state", qos.streams(1000))
    node, sender = under_control(ros, state_rate=0.0)
    control = node.thread.control
    goal = np.array(BENT) + 0.02
    referenced(ros).publish(JointState(name=NAMES, position=goal.tolist()))
    sender.until(lambda: np.array_equal(control.target.position, goal), what="the reference")
    settle(sender, commands)
    begin, first, old = len(commands), len(told), np.array(commands.newest().effort)
    before = control.controller
    assert set_parameter(ros, "computed_torque.stiffness", [400.0]).successful
    assert control.controller is not before and control.controller.settings.stiffness == (400.0,)
    sender.until(lambda: len(commands) > begin, what="commands of the new one")
    assert np.array_equal(control.target.position, goal)
    settle(sender, commands)
    apart = np.abs(np.array(commands.newest().effort) - old).max()
    assert apart > 1.0
    assert fastest_change(told[first:]) < 1.1 * STEEPEST * apart / BLEND
    # shaping, too; and what cannot be is refused, with all as it was
    assert set_parameter(ros, "shaping.effort_scale", 0.5).successful
    half = control.controller
    refused = set_parameter(ros, "computed_torque.stiffness", [1.0, 2.0])
    assert not refused.successful
    assert control.controller is half and half.shaping.effort_scale == 0.5
    assert list(value_of(ros, "computed_torque.stiffness").double_array_value) == [400.0]
