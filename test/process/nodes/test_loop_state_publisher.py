# SPDX-License-Identifier: Apache-2.0
"""The loop state publisher on real topics: each state and its cost; refusals in the diagnostics, and recovery."""

import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")
from diagnostic_msgs.msg import DiagnosticArray
from processes import cpu_seconds
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_robot.node.loop_state_publisher import LoopStatePublisher
from ada_robot.ros import environment, qos
from ada_robot.ros.qos import QoSProfile, ReliabilityPolicy

pytestmark = pytest.mark.ros

OK, WARN, ERROR, STALE = (bytes([i]) for i in range(4))
COUNT = 3000  # states of the driver
PERIOD = 1e-3  # [s] of a fast driver
IN_FLIGHT = 8  # fewer states than the queues of the publishers hold: none is lost, however busy the machine is
EVERYTHING = QoSProfile(depth=2 * COUNT, reliability=ReliabilityPolicy.RELIABLE)


def nanoseconds(stamp):
    return stamp.sec * 10**9 + stamp.nanosec


def test_each_state_of_a_driver_is_completed_with_its_stamp_in_less_than_a_millisecond_of_a_core(ros):
    first, states, frames = [], [], []
    ros.tester.create_subscription(
        JointState, "joint_states", lambda one: (states if len(one.velocity) else first).append(one), EVERYTHING
    )
    if environment.can_send_tf():
        from tf2_msgs.msg import TFMessage

        ros.tester.create_subscription(TFMessage, "/tf", frames.append, EVERYTHING, raw=True)
    options = ("-p", "robot:=five_bar", "-r", "motor_states:=driver/states")
    node = ros.start(sys.executable, "-m", "ada_tools.nodes", "loop_state_publisher", "--ros-args", *options)
    ros.wait(lambda: "waiting for joint states" in node.output or not node.is_running, what="the node")
    at_rest = JointState(name=["left_crank", "right_crank"], position=[0.0, 0.0])
    driver = ros.publisher(JointState, "driver/states")
    ros.wait(lambda: driver.publish(at_rest) or (first and (frames or not environment.can_send_tf())), what="a state")
    before, earlier = cpu_seconds(node.pid), len(frames)
    t = PERIOD * np.arange(COUNT)
    sent = []
    for i in range(COUNT):
        least = i - IN_FLIGHT
        ros.wait(lambda n=least: len(states) > n and (not frames or len(frames) - earlier > n), what=f"state {least}")
        message = JointState(name=["right_crank", "left_crank"])
        message.position = [0.3 * np.sin(t[i]), 0.2 * np.sin(2.0 * t[i])]
        message.velocity = [0.3 * np.cos(t[i]), 0.4 * np.cos(2.0 * t[i])]
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(10**18 + i * 10**6, 10**9)
        sent.append(nanoseconds(message.header.stamp))
        driver.publish(message)
    ros.wait(lambda: len(states) == COUNT, what=f"{COUNT} states")
    cpu = (cpu_seconds(node.pid) - before) / COUNT
    print(f"time of a core for each state: {1e3 * cpu:.2f} ms")
    assert cpu < PERIOD, "it keeps up with a driver at 1 kHz"
    model = ada.load("five_bar")
    dyn = ada.Dynamics(model)
    assert [nanoseconds(message.header.stamp) for message in states] == sent
    assert {tuple(message.name) for message in states} == {tuple(model.joint_names)}
    q, v = (np.array([getattr(message, field) for message in states]) for field in ("position", "velocity"))
    assert np.array_equal(q[:, model.q_index("right_crank").start], [0.3 * np.sin(x) for x in t])
    assert dyn.constraints.closure_error(q).max() < 1e-9
    assert np.abs(dyn.constraints.jacobian(q[::100]) @ v[::100, :, None]).max() < 1e-9
    assert not any(len(message.effort) for message in states), "the driver reports none"
    if environment.can_send_tf():
        ros.wait(lambda: len(frames) >= COUNT + 1, what="a transform for each state")
        found = deserialize_message(frames[-1], TFMessage).transforms
        assert {nanoseconds(one.header.stamp) for one in found} == {sent[-1]}
        for one in found:
            expected = np.linalg.solve(dyn.pose(one.header.frame_id, q[-1]), dyn.pose(one.child_frame_id, q[-1]))
            place = one.transform.translation
            np.testing.assert_allclose([place.x, place.y, place.z], expected[:3, 3], atol=1e-9)
    assert node.stop() == 0, node.output


def test_a_described_robot_is_refused_where_it_cannot_be_closed_and_published_again_afterwards(ros):
    model = ada.load("parallel_ankle")
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    states = ros.collect(JointState, "joint_states")
    node = ros.add(LoopStatePublisher(context=ros.context))
    ros.publisher(String, "robot_description", qos.LATCHED).publish(String(data=model.source))
    ros.wait(lambda: node.states is not None, what="the robot")
    driver = ros.publisher(JointState, "motor_states", qos.SENSOR)
    ros.matched(driver)

    def report(level, words, position, *names):
        """Publish a state again and again until a report has a level and contains some words."""
        message = JointState(name=list(names) or list(model.actuated), position=position)

        def reported():
            driver.publish(message)
            found = reports[-1].status[0] if reports else None
            return found is not None and found.level == level and words in found.message

        return ros.wait(reported, what=f"a report of level {level}")

    report(OK, "complete", [0.1, 0.1])
    assert list(states[-1].name) == model.joint_names and not len(states[-1].velocity)
    report(ERROR, "cannot be closed", [3.0, -3.0])
    report(ERROR, "1 missing of 2", [0.1], "left_crank")
    assert all(list(one.position)[:1] == list(states[0].position)[:1] for one in states), "only closed ones"
    report(OK, "complete", [0.1, 0.1])
    ros.wait(lambda: reports[-1].status[0].level == STALE, what="silence to be seen")
    (changed,) = node.set_parameters([Parameter("largest_ratio", value=1.0)])
    assert changed.successful
    report(ERROR, "largest_ratio", [0.4, -0.4])


def test_a_node_that_would_receive_its_own_states_is_refused(ros):
    with pytest.raises(InputError) as refused:
        LoopStatePublisher(
            context=ros.context,
            parameter_overrides=[Parameter("robot", value="four_bar")],
            cli_args=["--ros-args", "-r", "motor_states:=joint_states"],
        )
    assert refused.value.field == "topic"
