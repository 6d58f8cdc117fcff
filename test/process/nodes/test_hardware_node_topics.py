# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS, with robots that do what the test says: commands, what it tells, parameters."""

import itertools
import json
import math
import threading

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import (
    ARM,
    AT,
    ONE,
    TWO,
    Commander,
    ask,
    call,
    diagnosed,
    hardware,
    overrides,
    set_parameter,
    states,
    transition,
)
from rcl_interfaces.srv import ListParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_hardware.node.hardware_node import HardwareNode
from ada_robot.contract import Mode
from ada_robot.driver import Alarm
from ada_robot.errors import Refused
from ada_robot.ros import environment, qos
from ada_robot.safety.phases import Phase

pytestmark = pytest.mark.ros


# --- commands ---------------------------------------------------------------------------------------------------------
def test_commands_reach_a_robot_only_while_the_node_is_active(ros, fleet):
    node = hardware(ros, fleet, **ONE, until="inactive")
    robot, sender = fleet.robot, Commander(ros).ready()
    heard = node.connection.robots["pa10"].commands
    sender.until(lambda: heard.refused["not active"] > 3, velocity=[0.1] * 7)
    assert not robot.told and heard.refused_active == 0
    assert transition(ros, "activate")
    sender.until(lambda: robot.told, velocity=[0.1] * 7)
    assert robot.told[-1].mode is Mode.VELOCITY and robot.told[-1].values.tolist() == [0.1] * 7
    assert transition(ros, "deactivate")
    count, before = len(robot.told), heard.refused["not active"]
    sender.until(lambda: heard.refused["not active"] > before + 3, velocity=[0.1] * 7)
    assert len(robot.told) == count


def test_a_node_may_wait_for_the_first_commands_before_its_robots_follow_them(ros, fleet):
    node = hardware(ros, fleet, **TWO, autostart="commanded", until="inactive")
    left, right = Commander(ros).ready(), Commander(ros, "right/joint_commands").ready()
    heard = node.connection.robots["left"].commands
    left.until(lambda: heard.refused["not active"] > 3, velocity=[0.1] * 7)
    assert node.phase == "inactive", "one robot has no commander yet"

    def is_active():
        left.send(velocity=[0.1] * 7)
        return node.phase == "active"

    right.until(is_active, velocity=[0.2] * 7)
    assert transition(ros, "deactivate")
    before = heard.refused["not active"]
    left.until(lambda: heard.refused["not active"] > before + 3, velocity=[0.1] * 7)
    assert node.phase == "inactive", "once: what ends is for people to look at"


def test_commands_pass_as_soon_as_a_robot_is_active_though_the_transition_still_runs(ros, beside, fleet):
    """A robot waits for commands half a second at most; another one may take longer to start."""
    node = hardware(beside, fleet, **TWO, until="inactive")
    left, right = fleet.made
    sender = Commander(ros).ready()
    right.doors = {"activate": threading.Event()}
    fleet.doors["activate of right"] = right.doors["activate"]
    running = ask(ros, "activate")
    sender.until(lambda: left.told and right.phase is Phase.STARTING, velocity=[0.1] * 7)
    assert node.phase == "inactive"
    right.doors["activate"].set()
    ros.wait(running.done, what="the end of the transition")
    assert running.result().success and node.phase == "active"


def test_each_kind_of_command_reaches_the_robot_as_it_is_and_is_told_beside_what_is_measured(ros, fleet):
    found = ros.collect(JointState, "hardware_node/commanded")
    hardware(ros, fleet, **ONE, until="active")
    robot, sender = fleet.robot, Commander(ros).ready()
    numbers = (AT + 0.01).tolist()
    for mode in Mode:
        sender.until(lambda mode=mode: robot.told and robot.told[-1].mode is mode, **{mode.value: numbers})
        assert robot.told[-1].values.tolist() == numbers
        ros.wait(lambda mode=mode: robot.measure() or (found and len(getattr(found[-1], mode.value))))
        assert list(found[-1].name) == list(ARM) and list(getattr(found[-1], mode.value)) == numbers
        assert sum(len(getattr(found[-1], other.value)) for other in Mode) == 7


def test_a_bad_command_moves_nothing_and_is_counted_in_the_report(ros, fleet):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node = hardware(ros, fleet, **ONE, until="active")
    robot, sender = fleet.robot, Commander(ros).ready()
    heard = node.connection.robots["pa10"].commands
    far = (AT + 0.6).tolist()
    bad = {
        "not finite": {"position": [math.nan] * 7},
        "over a limit": {"velocity": [1.5] * 7},
        "jump": {"position": far},
        "joints without an effort": {"effort": [1.0], "names": ["s1"]},
        "unknown joint": {"effort": [1.0], "names": ["knee"]},
        "too old": {"velocity": [0.0] * 7, "stamp": 1e9},
    }
    for reason, command in bad.items():
        sender.until(lambda reason=reason: heard.refused[reason] >= 3, what="the refusals", **command)
    assert not robot.told

    def told():
        found = diagnosed(reports, "pa10")
        return found if all(int(found.get(f"refused: {reason}", 0)) >= 3 for reason in bad) else None

    report = ros.wait(told, what="a report with all refusals")
    assert report["level"] == 1 and report["last refusal"] in report["message"]
    assert report["publishers of joint_commands"] == "/tester"
    # rules can be changed while the robot moves; what the robot's own rules refuse is told too
    assert not set_parameter(ros, "max_position_jump", -1.0).successful
    assert set_parameter(ros, "max_position_jump", 1.0).successful
    sender.until(lambda: robot.told, position=far)
    robot.answers["command"] = Refused("s2 would run over its limit.")
    robot.refused["over a limit"] = 7
    sender.until(lambda: "over its limit" in diagnosed(reports, "pa10").get("last refusal", ""), velocity=[0.1] * 7)
    ros.wait(lambda: diagnosed(reports, "pa10").get("refused: safety, over a limit") == "7", what="its count")


# --- what is told -----------------------------------------------------------------------------------------------------
def test_joint_states_are_told_as_they_are_read_also_while_nothing_may_move(ros, fleet):
    found = ros.collect(JointState, "joint_states")
    hardware(ros, fleet, **ONE, until="inactive")
    robot = fleet.robot
    ros.wait(lambda: robot.measure(AT + 0.2) or len(found) > 3, what="joint states")
    last = found[-1]
    assert list(last.name) == list(ARM) and list(last.position) == (AT + 0.2).tolist()
    assert list(last.velocity) == [0.0] * 7 and list(last.effort) == [0.0] * 7
    now = ros.tester.get_clock().now().nanoseconds
    stamps = [1e9 * one.header.stamp.sec + one.header.stamp.nanosec for one in found]
    assert all(a < b for a, b in itertools.pairwise(stamps)), "each at the time of its reading"
    assert 0.0 <= now - stamps[-1] < 5e9


def test_readings_that_are_old_or_without_a_position_are_not_told(ros, fleet):
    found = ros.collect(JointState, "joint_states")
    node = hardware(ros, fleet, **ONE, until="inactive")
    robot = fleet.robot
    ros.wait(lambda: robot.measure() or found, what="joint states")
    topics = node.connection.robots["pa10"]
    nowhere = np.where(np.arange(7) == 3, math.nan, AT)
    ros.wait(lambda: robot.measure(nowhere) or topics.unknown > 3, what="readings without a position")
    robot.measure(is_fresh=False)
    count, looks = len(found), node.loop.statistics.summary().count
    ros.wait(lambda: node.loop.statistics.summary().count > looks + 100, what="some looks")
    assert len(found) <= count + 1, "the one that was under way"


def test_the_model_is_that_of_the_variant_or_none(ros, fleet):
    node = hardware(ros, fleet, **ONE, pa10__driver__variant="7c", until="inactive")
    found = ros.collect(String, "robot_description", qos.LATCHED)
    ros.wait(lambda: found, what="the description")
    place = [ada.load(robot).joints["s2"].xyz.tolist() for robot in (found[0].data, "pa10_7c", "pa10")]
    assert place[0] == place[1] != place[2]
    assert ada.load(found[0].data).joint_names == ada.load("pa10").joint_names
    ros.remove(node)
    measured = ros.collect(JointState, "joint_states")
    hardware(ros, fleet, **ONE, pa10__model="none", until="inactive")
    ros.wait(lambda: fleet.robot.measure() or measured, what="joint states")
    assert list(measured[-1].name) == list(ARM)
    topics = ros.tester.get_publisher_names_and_types_by_node("hardware_node", "/")
    assert "/robot_description" not in dict(topics)


@pytest.mark.skipif(not environment.can_send_tf(), reason="tf2_msgs is not there")
def test_frames_of_the_robot_follow_its_joints(ros, fleet):
    from tf2_msgs.msg import TFMessage

    static = ros.collect(TFMessage, "/tf_static", qos.LATCHED)
    moving = ros.collect(TFMessage, "/tf")
    hardware(ros, fleet, **{**ONE, "tf_rate": 50.0}, until="inactive")
    ros.wait(lambda: fleet.robot.measure() or (static and moving), what="frames")
    assert static[-1].transforms[0].header.frame_id == "world"
    model = ada.load("pa10")
    poses = ada.Dynamics(model).poses(AT)
    by_child = {one.child_frame_id: one for message in (static[-1], moving[-1]) for one in message.transforms}
    for joint in model.joints.values():
        one = by_child[joint.child]
        assert one.header.frame_id == joint.parent
        between = np.linalg.inv(poses[joint.parent]) @ poses[joint.child]
        place, turn = one.transform.translation, one.transform.rotation
        assert [place.x, place.y, place.z] == pytest.approx(between[:3, 3], abs=1e-12)
        # the trace of a rotation matrix is 1 + 2 cos(angle), and w of its quaternion cos(angle / 2)
        assert turn.w**2 == pytest.approx(0.25 * (1.0 + np.trace(between[:3, :3])), abs=1e-12)


def test_a_late_page_learns_all_about_the_devices(ros, fleet):
    node = hardware(ros, fleet, **ONE, until="inactive")
    fleet.robot.alarms = (Alarm(0x110, "emergency stop", "", True),)
    told = states(ros)
    ros.wait(lambda: told and told[-1]["devices"]["pa10"]["alarms"], what="the state")
    one = told[-1]["devices"]["pa10"]
    assert told[-1]["phase"] == "inactive" and told[-1]["stopped"] == "" and told[-1]["dry_run"] is False
    assert one["kind"] == "pa10" and one["phase"] == "inactive" and one["modes"] == ["effort", "position", "velocity"]
    assert one["alarms"] == [{"code": 0x110, "text": "emergency stop", "joint": "", "is_stop": True}]
    assert one["joints"][0] == {"name": "s1", "lower": -3.0, "upper": 3.0, "velocity": 1.0, "effort": 50.0}
    assert one["topics"] == {
        "commands": "/joint_commands",
        "states": "/joint_states",
        "commanded": "/hardware_node/commanded",
    }
    assert json.loads(node._published) == told[-1]


def test_two_robots_have_their_topics_apart(ros, fleet):
    left_states = ros.collect(JointState, "joint_states")
    right_states = ros.collect(JointState, "right/joint_states")
    hardware(ros, fleet, **TWO, until="active")
    left, right = fleet.made
    ros.wait(
        lambda: (
            left.measure(AT)
            or right.measure(-AT)
            or (left_states and right_states and right_states[-1].position[0] < 0.0)
        )
    )
    assert list(left_states[-1].position) == AT.tolist() and list(right_states[-1].position) == (-AT).tolist()
    Commander(ros, "right/joint_commands").ready().until(lambda: right.told, velocity=[0.2] * 7)
    assert not left.told


# --- release ----------------------------------------------------------------------------------------------------------
def test_what_a_device_cannot_do_is_refused_with_words(ros, fleet):
    hardware(ros, fleet, **ONE, until="inactive")

    def refusal(free):
        answer = ros.call(SetBool, "hardware_node/release", SetBool.Request(data=free))
        return "" if answer.success else answer.message

    assert "pa10 (pa10) has no servos that can go free" in refusal(free=True)
    assert "hold again when the node is activated" in refusal(free=False)
    for service, words in (("play_motion", "pa10 (pa10) plays no motions"), ("bias", "no sensor")):
        answer = call(ros, service)
        assert not answer.success and words in answer.message


# --- parameters -------------------------------------------------------------------------------------------------------
UNUSABLE = (
    ({}, "no device is named: set the parameter device to one of pa10, khr1"),
    ({"device": "pa11"}, r"parameter device is 'pa11'; it must be one of .*'pa10'"),
    ({**ONE, "urll": "x"}, "Did you mean 'url'"),
    ({**ONE, "pa10__driver__varriant": "7c"}, r"pa10\.driver\.variant"),
    ({**ONE, "pa10__driver__variant": "8c"}, r"pa10\.driver\.variant is '8c'; it must be one of"),
    ({**ONE, "pa10__safety__velocity_scale": 2.0}, r"pa10\.safety\.velocity_scale .* from 0\.01 to 1"),
    ({**ONE, "pa10__safty__velocity_scale": 0.5}, r"pa10\.safty"),
    ({**ONE, "pa10__safety__host_timeout": 0.05}, "host_timeout is 0.05 s, shorter than command_timeout"),
    ({**ONE, "pa10__topic": "force"}, r"parameter pa10\.topic is for a sensor"),
    ({**ONE, "pa10__driver__url": "udp://127.0.0.1:7"}, "give one of them"),
    ({**ONE, "pa10__kind": "khr1"}, r"pa10\.kind is 'khr1', but device is 'pa10'"),
    ({**ONE, "devices": ["a"]}, "device and devices are both given"),
    ({"devices": ["a", "a"], "a__kind": "pa10"}, "a name is there twice"),
    ({"devices": ["a"]}, r"parameter a\.kind is not set"),
    ({"devices": ["rate"], "rate": 100.0}, "'rate' cannot be a device's name"),
    ({"devices": ["A b"]}, "cannot be a device's name"),
    ({**TWO, "url": "udp://127.0.0.1:7"}, "url is for the parameter device"),
    ({**TWO, "right__prefix": ""}, r"devices left and right would have the same topics; set right\.prefix"),
    ({**ONE, "pa10__prefix": "1 b/"}, r"parameter pa10\.prefix is '1 b/'"),
    ({"device": "dynpick", "dynpick__place": "thread"}, r"parameter dynpick\.place is for a robot"),
)


def test_a_node_with_unusable_parameters_is_refused_at_its_start(ros, fleet):
    for parameters, words in UNUSABLE:
        with pytest.raises(InputError, match=words):
            ros.add(HardwareNode(context=ros.context, parameter_overrides=overrides(parameters)))


def test_a_model_that_is_not_the_robots_is_refused_when_it_is_opened(ros, fleet):
    node = hardware(ros, fleet, **ONE, pa10__model="khr1", autostart="unconfigured")
    assert not transition(ros, "configure")
    assert "parameter pa10.model: the model 'khr1' has no joint 's1'" in str(node.problem)
    assert fleet.robot.phase is Phase.CLOSED and not node.connection


def test_settings_of_devices_can_change_until_they_are_opened(ros, fleet):
    told = states(ros)
    node = hardware(ros, fleet, **ONE, dry_run=True, autostart="unconfigured")
    names = ros.call(ListParameters, "hardware_node/list_parameters").result.names
    assert {"pa10.kind", "pa10.driver.url", "pa10.safety.velocity_scale", "release_confirmed"} <= set(names)
    assert set_parameter(ros, "pa10.safety.velocity_scale", 0.5).successful
    assert transition(ros, "configure")
    assert fleet.robot.safety.velocity_scale == 0.5
    refused = set_parameter(ros, "pa10.safety.velocity_scale", 0.9)
    assert not refused.successful and "clean the node up first" in refused.reason
    assert fleet.robot.settings.url == "dry:", "a dry run opens no port"
    ros.wait(lambda: told and told[-1]["dry_run"], what="the state")
    assert transition(ros, "cleanup")
    assert set_parameter(ros, "pa10.safety.velocity_scale", 0.9).successful
    assert node._device_parameters.plans()[0].rules.velocity_scale == 0.9
