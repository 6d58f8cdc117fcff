# SPDX-License-Identifier: Apache-2.0
"""`ada up`: what it lists and refuses; that a robot moves over DDS; what it does without ROS 2."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from sensor_msgs.msg import JointState
from two_arms import TwoArms

from ada_robot.ros import environment
from ada_tools import cli
from ada_tools.bringup import SETUPS, Machine, plan
from ada_tools.commands import up, up_without_ros
from ada_tools.commands.up_without_ros import run_without_ros

pytestmark = pytest.mark.ros

ADA = (sys.executable, "-m", "ada_tools.cli")
SEEN = re.compile(r"(\d+) joint states in ([\d.]+) s")


@pytest.fixture
def ada(capsys):
    """Runs `ada up` here; exit code and output."""

    def run(*words):
        code = cli.main(["up", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


# --- without starting anything ----------------------------------------------------------------------------------


def test_the_setups_are_listed(ada):
    code, out, _ = ada("--list")
    assert code == 0
    assert all(f"{name} " in out for name in SETUPS)


def test_without_a_name_the_setups_are_listed_and_the_code_is_2(ada):
    code, out, err = ada()
    assert code == 2
    assert "pa10_sim" in out
    assert "ada up NAME" in err


def test_the_arguments_of_a_setup_are_listed_with_choices_and_defaults(ada):
    code, out, _ = ada("closed_chain", "--show-args")
    assert code == 0
    for argument in SETUPS["closed_chain"].arguments:
        assert f"  {argument.name}:={argument.default}\n" in out
        assert argument.description in out
        assert ", ".join(argument.choices) in out


def test_a_dry_run_of_a_controlled_robot_has_its_controller_and_where_it_goes_first(ada):
    code, out, _ = ada("virtual_slider_crank", "view:=false", "rviz:=false", "target:=1.2", "--dry-run")
    assert code == 0
    assert "ros2 run ada_dynamics controller_node --ros-args -r __node:=controller_node -r state:=" in out
    assert '      virtual_closed_chain.loops: "loops/slider_crank.yaml"' in out
    assert "      pose: [1.2, 0.0, 0.0, 0.0, 0.0, 0.0]" in out


def test_a_dry_run_says_what_would_be_started(ada):
    code, out, _ = ada("four_bar", "view:=true", "rviz:=false", "namespace:=left", "--dry-run")
    assert code == 0
    assert "ros2 run ada_dynamics dynamics_node --ros-args -r __node:=dynamics_node -r __ns:=/left" in out
    assert '      robot: "four_bar"' in out
    assert "ros2 run ada_dynamics view_node" in out


def test_a_dry_run_with_a_backend_has_the_devices_with_their_addresses(ada):
    words = ("view:=false", "rviz:=false", "--dry-run")
    code, out, _ = ada("pa10_control", "--backend", "emulator", *words)
    assert code == 0
    assert "ros2 run ada_dynamics hardware_node --ros-args" in out and "dynamics_node" not in out
    assert '      pa10.driver.url: "emulator:"' in out
    code, out, _ = ada("khr1_bringup", "port:=/dev/ttyUSB7", *words)
    assert code == 0
    assert '      khr1.driver.url: "/dev/ttyUSB7"' in out and '      autostart: "inactive"' in out


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["pa11"], ["no setup is named 'pa11'", "pa10_sim"]),
        (["pa10", "rvizz:=true"], ["no argument of pa10_sim", "'rviz'"]),
        (["pa10", "rviz=true"], ["NAME:=VALUE"]),
        (["pa10", "idle:=stand"], ["idle:=stand", "hold, release"]),
        (["pa10", "--duration", "0"], ["--duration is 0.0", "positive"]),
        (["pa10_bringup"], ["url is not set", "backend:=emulator"]),
        (["pa10", "--backend", "emulator"], ["pa10_sim is always simulated", "pa10_bringup"]),
        (["pa10_control", "--backend", "emulator", "backend:=sim"], ["--backend emulator", "backend:=sim", "one of"]),
        (["pa10_control", "--backend", "mujoco"], ["backend:=mujoco", "sim, emulator, real"]),
        (["pa10", "--headless", "view:=true"], ["--headless is without pictures", "view:=true"]),
    ],
)
def test_an_unusable_word_is_refused_with_what_is_allowed(ada, words, parts):
    code, out, err = ada(*words)
    assert (code, out) == (2, "")
    for part in parts:
        assert part in err


# --- with ROS 2 -------------------------------------------------------------------------------------------------


@pytest.fixture
def ada_in_ros(ada, ros, monkeypatch):
    """Runs `ada up` here, in a domain of its own."""
    for name, value in ros.environment.items():
        monkeypatch.setenv(name, value)
    return ada


@pytest.mark.smoke
def test_a_robot_moves_over_dds_and_the_command_ends_by_itself(ros, ada_in_ros):
    states = ros.collect(JointState, "joint_states")
    code, out, _ = ada_in_ros("pa10", "--headless", "--duration", "8")  # discovery alone may take some seconds
    assert code == 0, out
    assert list(states[0].name) == ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]
    assert int(SEEN.search(out).group(1)) > 1
    # What was started is gone: nobody publishes any longer.
    ros.wait(lambda: ros.tester.count_publishers("joint_states") == 0, what="the end of the robot's node")


def test_an_interrupt_ends_all_processes_with_success(ros):
    states = ros.collect(JointState, "/left/joint_states")
    process = ros.start(*ADA, "up", "slider_crank", "--headless", "namespace:=left")
    ros.wait(lambda: re.search(r"^moving after [\d.]+ s$", process.output, re.MULTILINE), 60, "a robot that moves")
    children = children_of(process.pid)
    assert len(children) == 1
    ros.wait(lambda: states, what="joint states here, too")
    assert process.stop() == 0, process.output
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    assert "Traceback" not in process.output


@pytest.mark.slow
def test_two_arms_with_prefixes_are_one_tree_and_follow_commands_of_their_own(ros):
    arms = TwoArms(ros, "/left", "/right")
    places = ((0.0, 0.5, 0.1, 0.5), (0.0, -0.5, 0.0, 3.0))
    started = [
        ros.start(
            *(*ADA, "up", "pa10", "--headless", "idle:=hold", f"namespace:={name}", f"frame_prefix:={name}/"),
            f"base_pose:={' '.join(map(str, place))}",
        )
        for name, place in zip(("left", "right"), places, strict=True)
    ]
    arms.check(lambda: all(process.is_running for process in started), *places)
    assert [process.stop() for process in started] == [0, 0]


@pytest.mark.slow
def test_a_second_robot_of_the_same_name_is_told_and_one_that_dies_ends_its_command(ros):
    first = ros.start(*ADA, "up", "four_bar", "--headless", "idle:=hold")
    ros.wait(lambda: "standing still: its servos hold it" in first.output, 60, "the first robot")
    second = ros.start(*ADA, "up", "four_bar", "--headless")
    ros.wait(lambda: "warning: another dynamics_node" in second.output, 60, "a warning")
    (child,) = children_of(first.pid)
    os.kill(child, signal.SIGKILL)
    assert first.wait(10) == 128 + signal.SIGKILL
    assert "dynamics_node has ended (SIGKILL); ending" in first.output
    assert second.stop() == 0


def test_a_robot_that_cannot_be_loaded_ends_the_command_with_the_nodes_own_words(ada_in_ros, tmp_path):
    robot = tmp_path / "broken.urdf"
    robot.write_text("<robot name='broken'><link name='a'/><link name='b'/></robot>")
    code, out, _ = ada_in_ros("display", f"robot:={robot}", "--headless", "--duration", "60")
    assert code == 2, out
    assert "[dynamics_node] " in out
    assert "broken.urdf" in out


def test_no_message_within_the_duration_is_a_failure_with_the_reason(ada_in_ros, monkeypatch):
    monkeypatch.setattr(up, "_PATIENCE", 1.0)
    code, out, _ = ada_in_ros("display", "robot:=", "--headless", "--duration", "0.5")
    assert code == 1, out
    assert "failed: no message on /joint_states within 1 s" in out


def children_of(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


# --- without ROS 2 ----------------------------------------------------------------------------------------------


def test_without_ros_the_same_robot_is_simulated_and_the_reason_is_said_once(ada, monkeypatch):
    monkeypatch.setattr(environment, "ros_problem", lambda: "there is no rclpy.")
    code, out, _ = ada("pa10", "--headless", "--duration", "0.5", "use_sim_time:=true")
    assert code == 0
    assert out.count("without ROS topics: there is no rclpy.") == 1
    assert "no effect: use_sim_time:=true" in out
    assert "pa10: 0.5 s in" in out


@pytest.mark.parametrize(
    ("name", "values", "headless", "expected"),
    [
        ("four_bar", {}, True, "sim four_bar --headless --duration 5.0"),
        ("four_bar", {"view_port": "0"}, False, "sim four_bar --view --port 0 --duration 3.0"),
        ("khr1", {"base": "fixed"}, True, "sim khr1 --base fixed --ground auto --headless --duration 5.0"),
        ("khr1", {"view": "false"}, False, "sim khr1 --base floating --ground auto --headless --duration 3.0"),
        ("display", {"robot": "hexa"}, False, "view hexa --port 8080 --duration 3.0"),
    ],
)
def test_without_ros_setups_become_commands_without_ros(name, values, headless, expected, monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(up_without_ros, "_run", lambda module, words: ran.append(" ".join([module.NAME, *words])) or 0)
    what = plan(name, values, Machine(False, True))
    assert run_without_ros(what, "why", headless=headless, duration=None if headless else 3.0) == 0
    assert ran == [expected]


def test_without_ros_there_is_no_controller_and_that_is_said(ada, monkeypatch):
    monkeypatch.setattr(environment, "ros_problem", lambda: "there is no rclpy.")
    code, out, _ = ada("closed_chain_control", "--headless", "--duration", "0.1")
    assert code == 0
    assert "without ROS 2 these have no effect: idle:=hold, the controller virtual_closed_chain" in out
    assert "planar_4r: 0.1 s in" in out


def test_without_ros_no_device_is_driven_and_what_can_be_done_is_said(ada, monkeypatch):
    monkeypatch.setattr(environment, "ros_problem", lambda: "there is no rclpy.")
    code, _, err = ada("khr1_bringup", "--backend", "emulator", "--headless")
    assert code == 2
    assert "backend:=emulator needs ROS 2: there is no rclpy." in err and "ada hw" in err


def test_without_ros_a_robot_from_a_topic_is_refused(ada, monkeypatch):
    monkeypatch.setattr(environment, "ros_problem", lambda: "there is no rclpy.")
    code, _, err = ada("display", "robot:=", "--headless")
    assert code == 2
    assert "Name a file" in err
