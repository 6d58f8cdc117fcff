# SPDX-License-Identifier: Apache-2.0
"""The loop state publisher on real topics: rate, stamps and latency; refusals in the diagnostics, and recovery."""

import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")
from diagnostic_msgs.msg import DiagnosticArray
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
COUNT = 3000  # states of the driver, at 1 kHz
PARTS, SLOWEST = 12, 20e-3  # [s] largest accepted 99th percentile of the added latency, in the best part
EVERYTHING = QoSProfile(depth=2 * COUNT, reliability=ReliabilityPolicy.RELIABLE)
DRIVER = f"""
import math, time, rclpy
from sensor_msgs.msg import JointState

rclpy.init()
node = rclpy.create_node("driver")
publisher = node.create_publisher(JointState, "driver/states", 10)
while publisher.get_subscription_count() < 1:
    time.sleep(0.01)
begin = time.monotonic()
for i in range({COUNT}):
    time.sleep(max(0.0, begin + 1e-3 * i - time.monotonic()))
    t = 1e-3 * i
    message = JointState(name=["right_crank", "left_crank"], position=[0.3 * math.sin(t), 0.2 * math.sin(2 * t)])
    message.velocity = [0.3 * math.cos(t), 0.4 * math.cos(2 * t)]
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 10**9)
    publisher.publish(message)
time.sleep(60.0)
"""


def nanoseconds(stamp):
    return stamp.sec * 10**9 + stamp.nanosec


def test_each_state_of_a_driver_at_1_khz_is_completed_with_its_stamp_within_milliseconds(ros):
    first, states, frames = [], [], []

    def take(message, info):
        (states if len(message.velocity) else first).append((message, info))

    ros.tester.create_subscription(JointState, "joint_states", take, EVERYTHING)
    if environment.can_send_tf():
        from tf2_msgs.msg import TFMessage

        ros.tester.create_subscription(TFMessage, "/tf", frames.append, EVERYTHING, raw=True)
    options = ("-p", "robot:=five_bar", "-r", "motor_states:=driver/states")
    node = ros.start(sys.executable, "-m", "ada_tools.nodes", "loop_state_publisher", "--ros-args", *options)
    ros.wait(lambda: "waiting for joint states" in node.output or not node.is_running, what="the node")
    at_rest = JointState(name=["left_crank", "right_crank"], position=[0.0, 0.0])
    tester = ros.publisher(JointState, "driver/states")
    ros.wait(lambda: tester.publish(at_rest) or (first and (frames or not environment.can_send_tf())), what="a state")
    ros.start(sys.executable, "-c", DRIVER)
    ros.wait(lambda: len(states) == COUNT, what=f"{COUNT} states")
    model = ada.load("five_bar")
    dyn = ada.Dynamics(model)
    stamps = [nanoseconds(message.header.stamp) for message, _ in states]
    assert len(set(stamps)) == COUNT and sorted(stamps) == stamps
    assert {tuple(message.name) for message, _ in states} == {tuple(model.joint_names)}
    q, v = (np.array([getattr(message, field) for message, _ in states]) for field in ("position", "velocity"))
    t = 1e-3 * np.arange(COUNT)
    assert np.array_equal(q[:, model.q_index("right_crank").start], [0.3 * np.sin(x) for x in t])
    assert dyn.constraints.closure_error(q).max() < 1e-9
    assert np.abs(dyn.constraints.jacobian(q[::100]) @ v[::100, :, None]).max() < 1e-9
    assert not any(len(message.effort) for message, _ in states), "the driver reports none"
    late = 1e-9 * np.array([info["source_timestamp"] for _, info in states]) - 1e-9 * np.array(stamps)
    p50, p99 = np.percentile(late, [50, 99])
    quietest = min(np.percentile(part, 99) for part in np.split(late, PARTS))
    figures = ", ".join(f"{1e3 * one:.2f}" for one in (p50, p99, quietest, late.max()))
    print(f"added latency at 1 kHz [ms]: p50, p99, p99 of the quietest 0.25 s, largest: {figures}")
    assert quietest <= SLOWEST, "other processes may halt the node for a while, but not all of the time"
    if environment.can_send_tf():
        ros.wait(lambda: len(frames) >= COUNT + 1, what="a transform for each state")
        found = deserialize_message(frames[-1], TFMessage).transforms
        assert {nanoseconds(one.header.stamp) for one in found} == {stamps[-1]}
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
