# SPDX-License-Identifier: Apache-2.0
"""`ada up`: what it lists and refuses; robots that move over DDS; the same without ROS 2."""

import re
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import PoseStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from setup_world import Running

from ada_robot.messages.incoming import write_pose
from ada_robot.ros.qos import COMMANDS
from ada_tools import cli
from ada_tools.bringup import SETUPS, plan

pytestmark = pytest.mark.ros

ADA = (sys.executable, "-m", "ada_tools.cli", "up")


@pytest.fixture
def ada(capsys):
    """Run `ada up` in this process; return exit code and output."""

    def run(*words):
        code = cli.main(["up", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_setups_and_their_arguments_are_listed(ada):
    code, out, _ = ada("--list")
    assert code == 0 and all(f"{name} " in out for name in SETUPS)
    code, out, err = ada()
    assert code == 2 and "pa10_sim" in out and "ada up NAME" in err
    code, out, _ = ada("closed_chain", "--show-args")
    assert code == 0
    for argument in SETUPS["closed_chain"].arguments:
        assert f"  {argument.name}:={argument.default}\n" in out and ", ".join(argument.choices) in out


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ["virtual_slider_crank", "target:=1.2"],
            [
                "ros2 run ada_dynamics controller_node --ros-args -r __node:=controller_node -r state:=",
                '      virtual_closed_chain.loops: "loops/slider_crank.yaml"',
                "      pose: [1.2, 0.0, 0.0, 0.0, 0.0, 0.0]",
            ],
        ),
        (
            ["four_bar", "namespace:=left"],
            [
                "ros2 run ada_dynamics dynamics_node --ros-args -r __node:=dynamics_node -r __ns:=/left",
                '      robot: "four_bar"',
            ],
        ),
        (
            ["khr1_bringup", "port:=/dev/ttyUSB7"],
            ["hardware_node", '      khr1.driver.url: "/dev/ttyUSB7"', '      autostart: "inactive"'],
        ),
    ],
)
def test_a_dry_run_prints_commands_and_parameters(ada, words, lines):
    code, out, _ = ada(*words, "view:=false", "rviz:=false", "--dry-run")
    assert code == 0 and [line for line in lines if line not in out] == []


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["pa11"], ["'pa11'", "pa10_sim"]),
        (["pa10", "rvizz:=true"], ["pa10_sim", "'rviz'"]),
        (["pa10", "rviz=true"], ["NAME:=VALUE"]),
        (["pa10", "--backend", "emulator"], ["pa10_sim", "pa10_bringup"]),
        (["pa10_control", "--backend", "emulator", "backend:=sim"], ["--backend emulator", "backend:=sim"]),
        (["pa10", "--headless", "view:=true"], ["--headless", "view:=true"]),
    ],
)
def test_an_unusable_word_is_refused_with_what_is_allowed(ada, words, parts):
    code, out, err = ada(*words)
    assert (code, out) == (2, "") and [part for part in parts if part not in err] == []


@pytest.mark.smoke
def test_a_robot_moves_over_dds_and_the_command_ends_by_itself(ros):
    states = ros.collect(JointState, "joint_states")
    process = ros.start(*ADA, "pa10", "--headless", "--duration", "8")  # discovery alone may take some seconds
    assert list(states.newest().name) == ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]
    assert process.wait() == 0, process.output
    assert int(re.search(r"(\d+) messages on /joint_states in 8 s", process.output).group(1)) > 1
    ros.wait(lambda: ros.tester.count_publishers("joint_states") == 0, what="the end of the robot's node")


@pytest.mark.slow
def test_two_arms_with_prefixes_are_one_tree_and_follow_commands_of_their_own(ros):
    tf2_msgs = pytest.importorskip("tf2_msgs.msg")
    places = {"left": "0.0 0.5 0.1 0.5", "right": "0.0 -0.5 0.0 3.0"}
    states = {name: ros.collect(JointState, f"/{name}/joint_states") for name in places}
    latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    static = ros.collect(tf2_msgs.TFMessage, "/tf_static", latched)
    moving = ros.collect(tf2_msgs.TFMessage, "/tf")
    started = [
        ros.start(
            *(*ADA, "pa10", "--headless", "idle:=hold", f"namespace:={name}", f"frame_prefix:={name}/"),
            f"base_pose:={place}",
        )
        for name, place in places.items()
    ]
    commands = {name: ros.matched(ros.publisher(JointState, f"/{name}/joint_commands")) for name in places}

    def angle_of(name, joint):
        newest = states[name].newest()
        return newest.position[list(newest.name).index(joint)]

    def are_there():  # commands are repeated: nobody receives those that come before the physics is compiled
        commands["left"].publish(JointState(name=["s1"], position=[0.3]))
        commands["right"].publish(JointState(name=["s3"], position=[-0.3]))
        return abs(angle_of("left", "s1") - 0.3) < 0.02 and abs(angle_of("right", "s3") + 0.3) < 0.02

    ros.wait(are_there, what="both arms at their commanded angles")
    assert abs(angle_of("left", "s3")) < 0.05 and abs(angle_of("right", "s1")) < 0.05
    parents = {}
    for one in [one for message in [*static, *moving[-20:]] for one in message.transforms]:
        assert parents.setdefault(one.child_frame_id, one.header.frame_id) == one.header.frame_id
    assert set(parents.values()) - set(parents) == {"world"}, "one root"
    frames = {
        name: {frame.removeprefix(f"{name}/") for frame in parents if frame.startswith(f"{name}/")} for name in places
    }
    assert frames["left"] == frames["right"] and len(parents) == 2 * len(frames["left"])
    assert [process.stop() for process in started] == [0, 0]


@pytest.fixture
def without_ros(monkeypatch):
    monkeypatch.setitem(sys.modules, "rclpy", None)


def test_without_ros_the_same_robot_is_simulated_with_the_reason_and_what_has_no_effect(ada, without_ros):
    code, out, _ = ada("pa10", "--headless", "--duration", "0.5", "use_sim_time:=true")
    assert code == 0 and out.count("without ROS 2, simulated") == 1
    assert "no effect: use_sim_time:=true" in out and "pa10: 0.5 s in" in out


@pytest.mark.parametrize("words", [["khr1_bringup", "--backend", "emulator"], ["display", "robot:="], ["display"]])
def test_without_ros_devices_and_robots_from_a_topic_are_refused(ada, without_ros, words):
    code, _, err = ada(*words, "--headless")
    assert code == 2 and f"{words[0]} needs ROS 2" in err


@pytest.mark.parametrize(("robot", "shift"), [("delta", [0.03, -0.02, 0.04]), ("stewart", [0.02, 0.03, -0.03])])
def test_the_platform_of_a_parallel_robot_follows_a_target(ros, robot, shift):
    tf2_msgs = pytest.importorskip("tf2_msgs.msg")
    moving = ros.collect(tf2_msgs.TFMessage, "/tf")
    running = Running(ros, f"{robot}_control", "real_time_factor:=0.5")
    running.until(lambda: running.controls and running.measured, "a controller at work")

    def place():
        at = next(one.transform.translation for one in moving.newest().transforms if one.child_frame_id == "platform")
        return np.array([at.x, at.y, at.z])

    goal, start = np.eye(4), place()
    goal[:3, 3] = start + shift
    message = PoseStamped()
    write_pose(goal, message.pose.position, message.pose.orientation)
    ros.matched(ros.publisher(PoseStamped, "controller_node/pose_reference", COMMANDS)).publish(message)
    ros.wait(lambda: np.abs(place() - goal[:3, 3]).max() < 1e-3, what="the platform at its target")
    running.end()


def test_the_cranks_of_a_five_bar_follow_their_goal(ros):
    goal = {"left_crank": -0.5, "right_crank": 0.8}
    text = ",".join(f"{name}={value}" for name, value in goal.items())
    running = Running(ros, "five_bar_control", f"goal:={text}", "real_time_factor:=0.5")
    running.until(lambda: running.controls and running.measured, "a controller at work")
    ros.wait(lambda: np.abs(running.joints(list(goal)) - list(goal.values())).max() < 2e-3, what="the goal")
    running.end()
    assert plan("five_bar_control").process("controller_node").params_file.name == "five_bar_control.yaml"
