# SPDX-License-Identifier: Apache-2.0
"""`ada up` with devices over real DDS: emulated ones are moved by controllers through the bytes of their protocols.

The devices hang on real wires, a pseudo-terminal or UDP. What would be a fault of the machine, which is busy with other
tests, is forgiven as far as settings allow; what happens where it is not is the matter of test/hardware.
"""

import os
import shutil
import signal
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("serial")

from geometry_msgs.msg import PoseStamped, WrenchStamped
from hardware_world import Commander, states
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from processes import command_of, descendants, is_alive
from sensor_msgs.msg import JointState
from setup_world import MOTION, START, Running
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import ada_dynamics as ada
from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.ros.qos import COMMANDS, STATES, streams

pytestmark = [pytest.mark.ros, pytest.mark.slow]

ATTEMPTS = 3
ADA = (sys.executable, "-m", "ada_tools.cli", "up")
NAMES = ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]
# The old PA-10-7C forgives 0.4 s of silence; a PA10-7CE 10 ms, which a busy machine does not keep.
ARM_PATIENT = """
/**/hardware_node:
  ros__parameters:
    max_command_age: 2.0
    pa10.driver.device_timeout: 0.4
    pa10.driver.period: 0.006
    pa10.driver.reply_timeout: 0.0055
    pa10.driver.command_timeout: 0.1
    pa10.driver.start_timeout: 10.0
    pa10.safety.command_timeout: 2.0
    pa10.safety.host_timeout: 20.0
    pa10.safety.max_missed: 60
    pa10.safety.longest_gap: 1.0
    pa10.safety.tool_speed: 0.0
    pa10.safety.velocity_margin: 1.0
/**/controller_node:
  ros__parameters:
    state_timeout: 20.0
    max_gap: 20.0
    computed_torque.stiffness: [25.0]
    computed_torque.damping: [10.0]
"""
HUMANOID_PATIENT = """
/**/hardware_node:
  ros__parameters:
    khr1.driver.reply_timeout: 0.5
    khr1.safety.command_timeout: 2.0
    khr1.safety.host_timeout: 20.0
    khr1.safety.max_missed: 60
    khr1.safety.longest_gap: 1.0
"""


@pytest.fixture(autouse=True)
def flights(ros, tmp_path):
    """Flight records go where the test's other files are."""
    ros.environment["XDG_STATE_HOME"] = str(tmp_path)


@pytest.fixture
def patient(tmp_path):
    """Parameters for an arm."""
    return written(tmp_path, ARM_PATIENT)


@pytest.fixture
def patient_humanoid(tmp_path):
    """Those for a KHR-1."""
    return written(tmp_path, HUMANOID_PATIENT)


def written(folder, text):
    file = folder / "patient.yaml"
    file.write_text(text)
    return f"params_file:={file}"


class Driven(Running):
    """A setup with a device."""

    def __init__(self, ros, *words, until="active"):
        self.told = states(ros)
        super().__init__(ros, *words)
        self.until(lambda: self.phase == until, f"a node that is {until}")

    @property
    def phase(self):
        return self.told[-1]["phase"] if self.told else ""

    def joints(self, names=NAMES):
        return super().joints(names)

    def controlled(self):
        """Wait until the controller is at work."""
        self.until(lambda: self.controls, "a controller at work")

    def pids(self, what):
        return [pid for pid in descendants(self.process.pid) if what in command_of(pid)]

    def gone(self, pids):
        self.ros.wait(lambda: not any(map(is_alive, pids)), what="the end of all processes")

    def end(self):
        """Ctrl-C ends all of it: the node, its cycle, the emulator."""
        pids = descendants(self.process.pid)
        super().end()
        self.gone(pids)


# --- an arm under a controller ----------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_a_joint_trajectory_moves_the_emulated_arm(ros, patient):
    """Yamada sec. 4.1: a motion of several joints."""
    running = Driven(
        ros, "pa10_control", "--backend", "emulator", "robot:=pa10_7c", "controller:=joint_trajectory", patient
    )
    running.controlled()
    trajectories = ros.matched(ros.publisher(JointTrajectory, "controller_node/joint_trajectory", COMMANDS))
    goal = running.joints() + np.array([0.3, -0.2, 0.25, 0.2, -0.3, 0.2, 0.4])
    point = JointTrajectoryPoint(positions=goal.tolist(), velocities=[0.0] * 7)
    point.time_from_start.sec = 3
    trajectories.publish(JointTrajectory(joint_names=NAMES, points=[point]))
    ros.wait(lambda: np.abs(running.joints() - goal).max() < 2e-3, MOTION, "the arm at its goal")
    assert running.phase == "active"
    running.end()


def test_a_pose_servo_moves_the_hand_of_the_emulated_arm(ros, patient):
    running = Driven(ros, "pa10_control", "--backend", "emulator", "robot:=pa10_7c", patient)
    running.controlled()
    dynamics = ada.Dynamics(ada.load("pa10_7c"))
    targets = ros.collect(PoseStamped, "controller_node/target", streams(1))
    asked = ros.wait(lambda: targets and targets[-1], MOTION, "the target")
    start = dynamics.pose("flange", running.joints())
    asked.pose.position.z += 0.05
    ros.matched(ros.publisher(PoseStamped, "controller_node/pose_reference", COMMANDS)).publish(asked)

    def left():
        return dynamics.pose("flange", running.joints())[:3, 3] - start[:3, 3] - [0.0, 0.0, 0.05]

    ros.wait(lambda: np.abs(left()).max() < 2e-3, MOTION, "the hand 5 cm higher")
    assert running.phase == "active"
    running.end()


def is_moved_by_efforts(ros, patient, told, references):
    """Whether an arm comes to its goal; not where a machine that stood still lets it fall, and the node catches it."""
    words = ("--backend", "emulator", "robot:=pa10_7c", "controller:=computed_torque", patient)
    told.clear()
    running = Driven(ros, "pa10_control", *words)

    def until(holds, what):
        ros.wait(lambda: holds() or running.phase != "active", MOTION, what)

    until(lambda: told and len(told[-1].effort) and abs(told[-1].effort[1]) > 5.0, "its weight as efforts")
    goal = running.joints() + np.array([0.2, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0])
    ros.matched(references).publish(JointState(name=NAMES, position=goal.tolist()))
    # s1 turns about the vertical: whatever the gains and delays, it comes to its goal. The others bear weight.
    until(lambda: abs(running.joints()[0] - goal[0]) < 0.01, "s1 at its goal")
    until(lambda: np.abs(running.joints() - goal).max() < 0.03, "the others, too")
    was_active = running.phase == "active"
    running.end()
    return was_active


def test_efforts_move_the_emulated_arm(ros, patient):
    told = ros.collect(JointState, "hardware_node/commanded", streams(1))
    references = ros.publisher(JointState, "controller_node/joint_reference", COMMANDS)
    assert any(is_moved_by_efforts(ros, patient, told, references) for _ in range(ATTEMPTS))


def test_a_hand_gives_way_to_what_its_emulated_sensor_feels(ros, patient):
    words = ("--backend", "emulator", "robot:=pa10_7c", "controller:=compliance", "sensor_url:=emulator:fx=20", patient)
    running = Driven(ros, "pa10_control", *words)
    running.controlled()
    # K_h is 1000 N/m: 20 N along the hand's x axis are 20 mm, and 2 mm of a sensor's counts and the last bit of way.
    ros.wait(lambda: abs(running.signal("shift")[0] - 0.02) < 2e-3, MOTION, "20 mm along x")
    wrenches = ros.collect(WrenchStamped, "wrench", STATES)
    ros.wait(lambda: wrenches, what="the sensor's wrenches")
    assert wrenches[-1].header.frame_id == "flange" and abs(wrenches[-1].wrench.force.x - 20.0) < 0.1
    running.end()


def test_a_real_arm_stands_still_until_it_is_activated_by_hand(ros, patient, tmp_path):
    """Real, as far as the setup knows: an emulator that somebody else started, at an address."""
    with EmulatorProcess("pa10", {"variant": "7c", "max_acceleration": 200.0}) as device:
        words = (f"url:={device.url}", "variant:=7c", "controller:=joint_trajectory", patient)
        running = Driven(ros, "pa10_bringup", *words, until="inactive")
        running.controlled()
        start = np.array(device.state()["position"])
        references = ros.matched(ros.publisher(JointState, "controller_node/joint_reference", COMMANDS))
        references.publish(JointState(name=["s1"], position=[float(start[0])]))
        ros.wait(
            lambda: "standing still: inactive: activate it" in running.process.output, MOTION, "words on why it stands"
        )
        assert "lifecycle set /hardware_node activate" in running.process.output
        assert set(device.state()["ways"]) == {"braked"}
        wanted = Transition(id=Transition.TRANSITION_ACTIVATE)
        assert ros.call(ChangeState, "hardware_node/change_state", ChangeState.Request(transition=wanted)).success
        assert ros.call(Trigger, "hardware_node/arm").success
        references.publish(JointState(name=["s1"], position=[float(start[0] + 0.2)]))
        ros.wait(lambda: abs(running.joints()[0] - start[0] - 0.2) < 2e-3, MOTION, "s1 at its goal")
        running.end()
        assert set(device.state()["ways"]) == {"braked"}
        assert not device.violations()


# --- other devices ----------------------------------------------------------------------------------------------------


def test_an_emulated_humanoid_moves_its_arms_and_is_recorded(ros, patient_humanoid, tmp_path):
    pytest.importorskip("mcap")
    path = tmp_path / "run.mcap"
    running = Driven(ros, "khr1_bringup", "--backend", "emulator", f"record:={path}", patient_humanoid)
    arms = ["left_shoulder_pitch", "right_shoulder_pitch"]
    ros.wait(lambda: running.measured, MOTION, "joint states")
    listeners = ros.tester.get_subscriptions_info_by_topic
    ros.wait(lambda: "record_node" in {one.node_name for one in listeners("joint_states")}, MOTION, "a recorder")
    goal = running.joints(arms) - 0.3
    sender = Commander(ros).ready()
    # The boards tell whole degrees.
    sender.until(
        lambda: np.abs(running.joints(arms) - goal).max() < 0.02,
        "both arms at their goal",
        MOTION,
        names=arms,
        position=goal.tolist(),
    )
    assert running.phase == "active"
    running.end()
    assert path.stat().st_size > 1000


@pytest.mark.parametrize(("sensor", "frame"), [("netft", ""), ("dynpick", "flange")])
def test_an_emulated_sensor_tells_its_wrench(ros, sensor, frame):
    found = ros.collect(WrenchStamped, "wrench", STATES)
    words = [f"sensor:={sensor}", "url:=emulator:fz=-12.5", *([f"frame:={frame}"] if frame else [])]
    process = ros.start(*ADA, "ft_sensor", "--backend", "emulator", *words, "--headless", "--duration", "4")
    assert process.wait(START) == 0, process.output
    assert "wrenches in" in process.output
    assert found[-1].header.frame_id == (frame or sensor)
    assert abs(found[-1].wrench.force.z + 12.5) < 0.2  # [N] some counts of noise
    assert "Traceback" not in process.output


# --- ends -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("victim", ["hardware_node", "controller_node"])
def test_a_node_that_is_killed_ends_all_and_leaves_nothing_behind(ros, patient, victim):
    running = Driven(ros, "pa10_control", "--backend", "emulator", "robot:=pa10_7c", patient)
    running.controlled()
    pids = descendants(running.process.pid)
    for what in ("hardware_node", "controller_node", "ada_robot.cycle", "ada_hardware.emulation"):
        assert running.pids(what), f"no process {what}"
    (pid,) = running.pids(
        f"bringup.child {running.process.pid} ada_{'hardware' if 'hard' in victim else 'controllers'}"
    )
    os.kill(pid, signal.SIGKILL)
    assert running.process.wait(60.0) == 128 + signal.SIGKILL
    assert f"{victim} has ended (SIGKILL); ending" in running.process.output
    running.gone(pids)


def test_a_command_that_is_killed_leaves_nothing_behind(ros, patient):
    running = Driven(ros, "pa10_control", "--backend", "emulator", "robot:=pa10_7c", patient)
    pids = descendants(running.process.pid)
    assert running.pids("ada_hardware.emulation")
    running.process.signal(signal.SIGKILL)
    running.process.wait()
    running.gone(pids)


def test_a_device_that_is_not_there_ends_the_command_with_what_to_do(ros, tmp_path):
    process = ros.start(*ADA, "khr1_bringup", f"port:={tmp_path / 'ttyUSB9'}", "--headless")
    assert process.wait(START) == 1, process.output
    assert "ttyUSB9" in process.output and "hardware_node has ended (exit code 1); ending" in process.output
    assert "Traceback" not in process.output


def test_ros2_is_named_only_where_it_is(ros, patient_humanoid):
    running = Driven(ros, "khr1_bringup", "--backend", "emulator", patient_humanoid)
    ros.wait(lambda: "active, nobody commands it" in running.process.output, MOTION, "words on why it stands")
    assert ("ros2 service call /hardware_node/stop" in running.process.output) == bool(shutil.which("ros2"))
    running.end()
