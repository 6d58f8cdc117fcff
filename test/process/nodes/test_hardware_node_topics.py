# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS with scripted robots: commands, published states, parameters."""

import itertools
import math
import threading

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import ARM, AT, ONE, TWO, Commander, ask, diagnosed, hardware, set_parameter, states, transition
from rcl_interfaces.srv import ListParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import ada_dynamics as ada
from ada_robot.contract import Mode
from ada_robot.driver import Alarm
from ada_robot.errors import Refused
from ada_robot.ros import environment, qos
from ada_robot.safety.phases import Phase

pytestmark = pytest.mark.ros


def test_commands_reach_a_robot_only_while_the_node_is_active(ros, fleet):
    node = hardware(ros, fleet, **ONE, until="inactive")
    robot, sender = fleet.robot, Commander(ros).ready()
    refused = node.connection.robots["pa10"].commands.refused
    sender.until(lambda: refused["not active"] > 3, velocity=[0.1] * 7)
    assert not robot.told
    assert transition(ros, "activate")
    sender.until(lambda: robot.told, velocity=[0.1] * 7)
    assert robot.told[-1].mode is Mode.VELOCITY and robot.told[-1].values.tolist() == [0.1] * 7
    assert transition(ros, "deactivate")
    count, before = len(robot.told), refused["not active"]
    sender.until(lambda: refused["not active"] > before + 3, velocity=[0.1] * 7)
    assert len(robot.told) == count


def test_a_commanded_node_becomes_active_once_when_all_its_robots_get_commands(ros, fleet):
    node = hardware(ros, fleet, **TWO, autostart="commanded", until="inactive")
    left, right = Commander(ros).ready(), Commander(ros, "right/joint_commands").ready()
    refused = node.connection.robots["left"].commands.refused
    left.until(lambda: refused["not active"] > 3, velocity=[0.1] * 7)
    assert node.phase == "inactive", "one robot has no commander yet"

    def is_active():
        left.send(velocity=[0.1] * 7)
        return node.phase == "active"

    right.until(is_active, velocity=[0.2] * 7)
    assert transition(ros, "deactivate")
    before = refused["not active"]
    left.until(lambda: refused["not active"] > before + 3, velocity=[0.1] * 7)
    assert node.phase == "inactive", "not again by itself"


def test_commands_reach_an_active_robot_while_another_one_still_starts(ros, beside, fleet):
    node = hardware(beside, fleet, **TWO, until="inactive")
    left, right = fleet.made
    sender, door = Commander(ros).ready(), threading.Event()
    right.doors = {"activate": door}
    fleet.doors["activate of right"] = door
    running = ask(ros, "activate")
    sender.until(lambda: left.told and right.phase is Phase.STARTING, velocity=[0.1] * 7)
    assert node.phase == "inactive"
    door.set()
    ros.wait(running.done, what="the end of the transition")
    assert running.result().success and node.phase == "active"


def test_each_kind_of_command_reaches_the_robot_unchanged_and_is_published(ros, fleet):
    found = ros.collect(JointState, "hardware_node/commanded")
    hardware(ros, fleet, **ONE, until="active")
    robot, sender = fleet.robot, Commander(ros).ready()
    numbers = (AT + 0.01).tolist()
    for mode in Mode:
        sender.until(lambda mode=mode: robot.told and robot.told[-1].mode is mode, **{mode.value: numbers})
        assert robot.told[-1].values.tolist() == numbers
        ros.wait(lambda mode=mode: robot.measure() or (found and len(getattr(found[-1], mode.value))))
        last = found.newest()
        assert list(last.name) == list(ARM) and list(getattr(last, mode.value)) == numbers
        assert sum(len(getattr(last, other.value)) for other in Mode) == 7


def test_refused_commands_are_counted_by_reason_in_the_report(ros, fleet):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node = hardware(ros, fleet, **ONE, until="active")
    robot, sender = fleet.robot, Commander(ros).ready()
    refused, far = node.connection.robots["pa10"].commands.refused, (AT + 0.6).tolist()
    bad = {"not finite": {"position": [math.nan] * 7}, "jump": {"position": far}, "no stamp": {"velocity": [0.0] * 7}}
    for reason, command in bad.items():
        stamp = 0.0 if reason == "no stamp" else None
        sender.until(lambda reason=reason: refused[reason] >= 3, "the refusals", stamp=stamp, **command)
    assert not robot.told
    ros.wait(lambda: all(int(diagnosed(reports, "pa10").get(f"refused: {one}", 0)) >= 3 for one in bad), what="counts")
    report = diagnosed(reports, "pa10")
    assert report["level"] == 1 and report["last refusal"] in report["message"]
    assert report["publishers of joint_commands"] == "/tester"
    # rules can be changed while the robot moves; refusals of the robot's own rules are reported, too
    assert not set_parameter(ros, "max_position_jump", -1.0).successful
    assert set_parameter(ros, "max_position_jump", 1.0).successful
    sender.until(lambda: robot.told, position=far)
    robot.answers["command"] = Refused("s2 would run over its limit.")
    robot.refused["over a limit"] = 7
    sender.until(lambda: "over its limit" in diagnosed(reports, "pa10").get("last refusal", ""), velocity=[0.1] * 7)
    ros.wait(lambda: diagnosed(reports, "pa10").get("refused: safety, over a limit") == "7", what="its count")


def test_joint_states_are_the_fresh_and_whole_readings_also_while_nothing_may_move(ros, fleet):
    found = ros.collect(JointState, "joint_states")
    node = hardware(ros, fleet, **ONE, until="inactive")
    robot = fleet.robot
    ros.wait(lambda: robot.measure(AT + 0.2) or len(found) > 3, what="joint states")
    last = found.newest()
    assert list(last.name) == list(ARM) and list(last.position) == (AT + 0.2).tolist()
    assert list(last.velocity) == [0.0] * 7 and list(last.effort) == [0.0] * 7
    stamps = [1e9 * one.header.stamp.sec + one.header.stamp.nanosec for one in found]
    assert all(a < b for a, b in itertools.pairwise(stamps)), "each at the time of its reading"
    assert stamps[-1] <= ros.tester.get_clock().now().nanoseconds
    nowhere = np.where(np.arange(7) == 3, math.nan, AT)
    topics = node.connection.robots["pa10"]
    ros.wait(lambda: robot.measure(nowhere) or topics.unknown > 3, what="readings without a position")
    robot.measure(is_fresh=False)
    count, looks = len(found), node.loop.statistics.summary().count
    ros.wait(lambda: node.loop.statistics.summary().count > looks + 100, what="some looks")
    assert len(found) <= count + 1, "the one that was under way"


def test_the_published_model_is_that_of_the_variant_or_none(ros, fleet):
    node = hardware(ros, fleet, **ONE, pa10__driver__variant="7c", until="inactive")
    text = ros.collect(String, "robot_description", qos.LATCHED).newest().data
    place = [ada.load(robot).joints["s2"].xyz.tolist() for robot in (text, "pa10_7c", "pa10")]
    assert place[0] == place[1] != place[2]
    ros.remove(node)
    node = hardware(ros, fleet, **ONE, pa10__model="none", until="inactive")
    topics = ros.wait(lambda: ros.tester.get_publisher_names_and_types_by_node("hardware_node", "/"), what="topics")
    assert "/robot_description" not in dict(topics)
    ros.remove(node)
    node = hardware(ros, fleet, **ONE, pa10__model="khr1", autostart="unconfigured")
    assert not transition(ros, "configure"), "the model of another robot"
    assert "pa10.model" in str(node.problem) and fleet.robot.phase is Phase.CLOSED and not node.connection


@pytest.mark.skipif(not environment.can_send_tf(), reason="tf2_msgs is not there")
def test_frames_of_the_robot_follow_its_joints(ros, fleet):
    from tf2_msgs.msg import TFMessage

    static = ros.collect(TFMessage, "/tf_static", qos.LATCHED)
    moving = ros.collect(TFMessage, "/tf")
    hardware(ros, fleet, **{**ONE, "tf_rate": 50.0}, until="inactive")
    ros.wait(lambda: fleet.robot.measure() or (static and moving), what="frames")
    assert static.newest().transforms[0].header.frame_id == "world"
    model = ada.load("pa10")
    poses = ada.Dynamics(model).forward_kinematics(AT)
    by_child = {one.child_frame_id: one for both in (static, moving) for one in both.newest().transforms}
    for joint in model.joints.values():
        one = by_child[joint.child]
        assert one.header.frame_id == joint.parent
        between = np.linalg.inv(poses[joint.parent]) @ poses[joint.child]
        place, turn = one.transform.translation, one.transform.rotation
        assert [place.x, place.y, place.z] == pytest.approx(between[:3, 3], abs=1e-12)
        # the trace of a rotation matrix is 1 + 2 cos(angle), and w of its quaternion cos(angle / 2)
        assert turn.w**2 == pytest.approx(0.25 * (1.0 + np.trace(between[:3, :3])), abs=1e-12)


def test_a_late_subscriber_gets_the_whole_state_of_the_devices(ros, fleet):
    hardware(ros, fleet, **ONE, until="inactive")
    fleet.robot.alarms = (Alarm(0x110, "emergency stop", "", True),)
    told = states(ros).newest(lambda state: state["devices"]["pa10"]["alarms"])
    one = told["devices"]["pa10"]
    assert (told["phase"], told["stopped"], told["dry_run"]) == ("inactive", "", False)
    assert (one["kind"], one["phase"], one["modes"]) == ("pa10", "inactive", ["effort", "position", "velocity"])
    assert one["alarms"] == [{"code": 0x110, "text": "emergency stop", "joint": "", "is_stop": True}]
    assert one["joints"][0] == {"name": "s1", "lower": -3.0, "upper": 3.0, "velocity": 1.0, "effort": 50.0}
    assert set(one["topics"].values()) == {"/joint_commands", "/joint_states", "/hardware_node/commanded"}


def test_settings_of_devices_can_change_until_they_are_opened(ros, fleet):
    node = hardware(ros, fleet, **ONE, dry_run=True, autostart="unconfigured")
    names = ros.call(ListParameters, "hardware_node/list_parameters").result.names
    assert {"pa10.kind", "pa10.driver.url", "pa10.safety.velocity_scale", "require_stamps"} <= set(names)
    assert set_parameter(ros, "pa10.safety.velocity_scale", 0.5).successful
    assert transition(ros, "configure")
    assert fleet.robot.safety.velocity_scale == 0.5
    assert fleet.robot.settings.url == "dry:", "a dry run opens no port"
    assert not set_parameter(ros, "pa10.safety.velocity_scale", 0.9).successful
    states(ros).newest(lambda state: state["dry_run"])
    assert transition(ros, "cleanup")
    assert set_parameter(ros, "pa10.safety.velocity_scale", 0.9).successful
    assert transition(ros, "configure")
    assert fleet.robot.safety.velocity_scale == node.plans[0].rules.velocity_scale == 0.9
