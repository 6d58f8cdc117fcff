# SPDX-License-Identifier: Apache-2.0
"""The hardware node on real DDS with emulated devices on real wires: sensors and the other robots."""

import math
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from hardware_world import (
    ARM,
    AT,
    KHR1_PATIENT,
    Commander,
    active_hardware,
    call,
    diagnosed,
    hardware,
    set_parameter,
    transition,
)
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

import ada_dynamics as ada
from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.safety.phases import Phase

pytestmark = pytest.mark.ros


@pytest.fixture(autouse=True)
def flights(tmp_path, monkeypatch):
    """Flight records go where the test's other files are."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


# --- sensors ----------------------------------------------------------------------------------------------------------
def test_the_wrenches_of_a_sensor_are_told_and_zeroed(ros):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    found = ros.collect(WrenchStamped, "wrench")
    with EmulatorProcess("dynpick") as sensor:
        node = hardware(
            ros,
            device="dynpick",
            url=sensor.url,
            dynpick__frame="hand",
            dynpick__sensor__bias_samples=20,
            autostart="active",
            until="active",
        )
        ros.wait(lambda: len(found) > 50, what="wrenches")
        assert found[-1].header.frame_id == "hand"
        # on a busy machine the samples may take longer than the sensor has for them
        answer = ros.wait(lambda: (one := call(ros, "bias")).success and one, what="a zero")
        assert answer.message.startswith("dynpick: [")
        count = len(found)
        ros.wait(lambda: len(found) > count + 20, what="wrenches after it")
        last = found[-1].wrench.force
        assert max(abs(last.x), abs(last.y), abs(last.z)) < 2.0  # [N]; noise of two counts
        report = ros.wait(lambda: diagnosed(reports, "dynpick").get("zero was taken") == "true" and reports)
        assert diagnosed(report, "dynpick")["level"] < 2, diagnosed(report, "dynpick")
        sensor.freeze()
        ros.wait(lambda: diagnosed(reports, "dynpick").get("level") == 2, what="the silence")
        sensor.thaw()
        ros.wait(lambda: diagnosed(reports, "dynpick").get("level", 2) < 2, what="the sensor again")
        assert node.phase == "active"


def test_a_node_is_deactivated_while_a_zero_is_taken(ros):
    with EmulatorProcess("dynpick") as sensor:
        many = {"dynpick__sensor__bias_samples": 100_000}
        node = hardware(ros, device="dynpick", url=sensor.url, **many, autostart="active", until="active")
        client = ros.tester.create_client(Trigger, "hardware_node/bias")
        ros.wait(client.service_is_ready, what="the service")
        zero = client.call_async(Trigger.Request())
        ros.wait(lambda: node.devices.sensors["dynpick"]._reader._zero, what="the zero to be under way")
        assert transition(ros, "deactivate")
        assert not zero.done()
        assert transition(ros, "cleanup")
        ros.wait(zero.done, what="an answer")
        assert not zero.result().success


SENSOR = {"hand__kind": "dynpick", "hand__frame": "flange", "autostart": "active", "until": "active"}
WITH_ARM = {"devices": ["arm", "hand"], "arm__kind": "pa10", "arm__driver__url": "udp://127.0.0.1:9", **SENSOR}


def test_a_force_over_its_limit_stops_the_robots_of_the_node(ros, fleet):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    with EmulatorProcess("dynpick") as sensor:
        node = hardware(ros, fleet, **WITH_ARM, hand__driver__url=sensor.url, hand__sensor__max_force=20.0, tf_rate=0.0)
        sensor.fault("fx", 15.0)
        found = ros.collect(WrenchStamped, "wrench")
        ros.wait(lambda: found and found[-1].wrench.force.x > 14.0, what="a force within the limit")
        assert node.phase == "active" and fleet.robot.phase is Phase.ACTIVE
        sensor.fault("fx", 25.0)
        ros.wait(lambda: node.phase == "inactive", what="the node to follow")
        assert fleet.robot.phase is Phase.STOPPED and fleet.robot.reason.startswith("hand: ")
        assert node.devices.latched == fleet.robot.reason
        ros.wait(lambda: diagnosed(reports, "hand").get("limit that was passed"), what="the sensor's report")
        ros.wait(lambda: diagnosed(reports, "node")["level"] == 2, what="the node's report")
        sensor.fault("fx", 0.0)
        ros.wait(lambda: abs(found[-1].wrench.force.x) < 1.0, what="the end of the force")
        assert call(ros, "reset").success
        assert transition(ros, "activate"), node.problem


def test_the_weight_of_a_tool_is_taken_off_as_the_robot_turns(ros, fleet):
    """The emulated sensor feels nothing, so that what is told is what was taken off: 0.8 kg, up in the world."""
    dynamics = ada.Dynamics(ada.load("pa10"))
    found = ros.collect(WrenchStamped, "wrench")
    with EmulatorProcess("dynpick") as sensor:
        hardware(ros, fleet, **WITH_ARM, hand__driver__url=sensor.url, hand__sensor__tool_mass=0.8, tf_rate=0.0)
        for position in (AT, AT + np.array([0.3, -0.5, 0.4, 0.6, -0.2, 0.7, 0.1])):
            up = dynamics.pose("flange", position)[:3, :3].T @ [0.0, 0.0, 0.8 * 9.81]

            def told(position=position):
                fleet.robot.measure(position)
                force = found[-1].wrench.force if found else None
                return np.array([math.nan] * 3 if force is None else [force.x, force.y, force.z])

            ros.wait(lambda up=up, told=told: np.abs(told() - up).max() < 1.0, what="the weight, within the noise")


def test_a_tool_of_which_nobody_says_how_it_moves_is_refused(ros):
    with EmulatorProcess("dynpick") as sensor:
        node = hardware(ros, device="dynpick", url=sensor.url, dynpick__sensor__tool_mass=0.8, autostart="unconfigured")
        assert not transition(ros, "configure")
        assert "dynpick.frame is 'dynpick', which is no link of a robot" in str(node.problem)


# --- other robots -----------------------------------------------------------------------------------------------------
MOTION = "No,Name,Speed" + "".join(f",CH{i}" for i in range(1, 25)) + "\n"


def frame(number, speed, **channels):
    """A key frame; channels without a servo have 225."""
    servos = {*range(1, 4), 6, *range(7, 10), *range(13, 18), *range(19, 24)}
    values = [channels.get(f"ch{i}", 0) if i in servos else 225 for i in range(1, 25)]
    return f"{number},frame{number},{speed}," + ",".join(map(str, values)) + "\n"


def test_a_humanoid_plays_a_motion_from_its_file_and_a_stop_ends_it(ros, tmp_path):
    path = tmp_path / "wave.csv"
    path.write_text(MOTION + frame(0, 5) + frame(1, 7, ch8=-40) + frame(2, 7, ch8=0))
    found = ros.collect(JointState, "joint_states")
    with EmulatorProcess("khr1") as robot:
        node = active_hardware(
            ros,
            **{**KHR1_PATIENT, "tf_rate": 20.0},
            url=robot.url,
            khr1__safety__hold_without_commands=True,
            motion=str(path),
        )
        ros.wait(lambda: found and len(found[-1].velocity) == 17, what="joint states with velocities")
        sender = Commander(ros).ready()
        answer = call(ros, "play_motion")
        assert answer.success, answer.message
        playing = node.connection.playing
        row = playing.rows[:, list(node.devices.robots["khr1"].joints).index("right_shoulder_roll")]
        assert abs(row[0] - row[-1]) < 0.1 < np.ptp(row)
        heard = node.connection.robots["khr1"].commands
        sender.until(
            lambda: heard.refused["a motion is played"], names=found[-1].name, position=found[-1].position.tolist()
        )
        ros.wait(lambda: playing.ended, what="the end")
        assert playing.ended == f"{path} was played", playing.ended
        assert call(ros, "play_motion").success
        playing = node.connection.playing
        ros.wait(lambda: playing.row > 3, what="the motion to be under way")
        assert call(ros, "stop").success
        ros.wait(lambda: playing.ended, what="its end")
        assert "was left off after" in playing.ended
        assert not robot.violations()


def test_servos_go_free_only_when_a_person_says_twice_so(ros):
    with EmulatorProcess("khr1", {"free_is_allowed": True}) as robot:
        node = hardware(ros, device="khr1", url=robot.url, until="inactive")

        def free():
            return ros.call(SetBool, "hardware_node/release", SetBool.Request(data=True))

        assert "set the parameter release_confirmed to true" in free().message
        assert set_parameter(ros, "release_confirmed", True).successful
        answer = free()
        assert answer.success, answer.message
        assert answer.message == "the servos of khr1 are free."
        assert node.settings.release_confirmed is False and node.phase == "inactive"
        assert not free().success, "each time anew"
        assert transition(ros, "activate")
        assert set_parameter(ros, "release_confirmed", True).successful
        assert not free().success and node.settings.release_confirmed is False, "a yes is for one request"
        assert not robot.violations()


def test_the_plate_of_a_motion_table_follows_its_cranks(ros):
    found = ros.collect(JointState, "joint_states")
    node = hardware(ros, device="hexa", dry_run=True, until="inactive", hexa__place="thread")
    ros.wait(lambda: found, what="joint states")
    assert sorted(found[-1].name) == [f"leg_{i}_crank" for i in range(1, 7)]
    frames = node.connection._frames.get("hexa")
    if frames is not None:
        ros.wait(lambda: not frames.whole.problem and frames._stamp > 0, what="poses")
        model = frames.whole.model
        assert float(np.max(ada.Dynamics(model).largest_gap(frames.whole._q))) < 1e-6


def test_a_simulated_robot_is_one_of_the_devices(ros):
    """What it does when it is commanded is shown in lock step (test_simulated_driver.py)."""
    found = ros.collect(JointState, "joint_states")
    settings = {"robot": "pa10", "physics_rate": 100.0, "cycle_rate": 50.0}
    given = {f"simulated__driver__{name}": value for name, value in settings.items()}
    node = hardware(ros, device="simulated", simulated__place="thread", tf_rate=0.0, **given, until="inactive")
    ros.wait(lambda: found and len(found[-1].velocity), what="joint states with velocities")
    assert sorted(found[-1].name) == sorted(ARM)
    assert node.devices.robots["simulated"].feedback.position == pytest.approx(found[-1].position, abs=1e-3)


def test_a_port_that_is_not_there_ends_the_process_with_what_to_do(ros):
    words = ["-p", "device:=khr1", "-p", "url:=/dev/ttyNONE0"]
    process = ros.start(sys.executable, "-m", "ada_hardware.node.hardware_node", "--ros-args", *words)
    wrong = ros.start(sys.executable, "-m", "ada_hardware.node.hardware_node", "--ros-args", "-p", "device:=khr9")
    assert process.wait() == 1
    assert "khr1: /dev/ttyNONE0" in process.output and "Traceback" not in process.output
    assert wrong.wait() == 2
    assert "hardware_node: error:" in wrong.output and "khr3" in wrong.output and "Traceback" not in wrong.output
