# SPDX-License-Identifier: Apache-2.0
"""`ada up` with emulated devices over real DDS, on real wires (a pseudo-terminal or UDP), and how it ends."""

import os
import signal
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("serial")

from geometry_msgs.msg import WrenchStamped
from hardware_world import JUDGED_7C, KHR1_PATIENT, PA10_7C_PATIENT, Commander, call, states, transition
from processes import command_of, descendants, is_alive
from sensor_msgs.msg import JointState
from setup_world import Running
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ada_hardware.emulation.control_socket import ask, control_sockets
from ada_hardware.emulation.process import EmulatorProcess
from ada_robot.ros.qos import COMMANDS, STATES

pytestmark = [pytest.mark.ros, pytest.mark.slow]

ADA = (sys.executable, "-m", "ada_tools.cli", "up")
NAMES = ["s1", "s2", "s3", "e1", "e2", "w1", "w2"]
ARM = {"max_command_age": 2.0, "pa10__safety__tool_speed": 0.0, "pa10__safety__velocity_margin": 1.0}
LIMITS = {
    "pa10": {"hardware_node": {**PA10_7C_PATIENT, **ARM}, "controller_node": {"state_timeout": 20.0, "max_gap": 20.0}},
    "khr1": {"hardware_node": {**KHR1_PATIENT, "khr1__driver__reply_timeout": 0.5}},
}
EMULATED_ARM = ("pa10_control", "--backend", "emulator", "robot:=pa10_7c")


@pytest.fixture
def patient(tmp_path):
    """Write the wide limits of a device into a file of parameters."""

    def write(device):
        lines = []
        for node, parameters in LIMITS[device].items():
            lines += [f"/**/{node}:", "  ros__parameters:"]
            lines += [
                f"    {name.replace('__', '.')}: {value}" for name, value in parameters.items() if name != "device"
            ]
        file = tmp_path / "patient.yaml"
        file.write_text("\n".join(lines) + "\n")
        return f"params_file:={file}"

    return write


class Driven(Running):
    """A setup with a device."""

    def __init__(self, ros, *words, until="active"):
        self.told = states(ros)
        super().__init__(ros, *words)
        self.until(lambda: self.told and self.phase == until, f"a node that is {until}")

    @property
    def phase(self):
        return self.told.newest()["phase"]

    def joints(self, names=NAMES):
        return super().joints(names)

    def controlled(self):
        self.until(lambda: self.controls, "an active controller")

    def pids(self, what):
        return [pid for pid in descendants(self.process.pid) if what in command_of(pid)]

    def gone(self, pids):
        self.ros.wait(lambda: not any(map(is_alive, pids)), what="the end of all processes")

    def end(self):
        """End all of it with Ctrl-C: the node, its cycle, the emulator."""
        pids = descendants(self.process.pid)
        super().end()
        self.gone(pids)


@pytest.mark.smoke
def test_a_joint_trajectory_moves_the_emulated_arm(ros, patient):
    running = Driven(ros, *EMULATED_ARM, "controller:=joint_trajectory", patient("pa10"))
    running.controlled()
    trajectories = ros.matched(ros.publisher(JointTrajectory, "controller_node/joint_trajectory", COMMANDS))
    goal = running.joints() + np.array([0.3, -0.2, 0.25, 0.2, -0.3, 0.2, 0.4])
    point = JointTrajectoryPoint(positions=goal.tolist(), velocities=[0.0] * 7)
    point.time_from_start.sec = 3
    trajectories.publish(JointTrajectory(joint_names=NAMES, points=[point]))
    ros.wait(lambda: np.abs(running.joints() - goal).max() < 2e-3, what="the arm at its goal")
    assert running.phase == "active"
    running.end()


def load(device, axis, value, pids):
    """Load an emulated sensor that runs in one of the processes."""
    (socket,) = [one for pid in pids for one in control_sockets(device, pid)]
    ask(socket, "fault", axis, value)


def test_a_compliant_hand_yields_to_its_emulated_sensor_and_a_killed_command_leaves_nothing_behind(ros, patient):
    running = Driven(ros, *EMULATED_ARM, "controller:=compliance", patient("pa10"))
    running.controlled()
    load("netft", "fx", 20.0, running.pids("ada_hardware.emulation"))
    # K_h is 1000 N/m: 20 N along the hand's x axis are 20 mm, and 2 mm of a sensor's counts and the last bit of way.
    ros.wait(lambda: abs(running.signal("shift")[0] - 0.02) < 2e-3, what="20 mm along x")
    wrench = ros.collect(WrenchStamped, "wrench", STATES).newest()
    assert wrench.header.frame_id == "flange" and abs(wrench.wrench.force.x - 20.0) < 0.1
    pids = descendants(running.process.pid)
    assert running.pids("ada_hardware.emulation")
    running.process.signal(signal.SIGKILL)
    running.process.wait()
    running.gone(pids)


def test_a_real_arm_stands_still_until_it_is_activated_by_hand(ros, patient):
    with EmulatorProcess("pa10", {**JUDGED_7C, "watchdog": 1.0}) as device:
        words = (f"url:={device.url}", "variant:=7c", "controller:=joint_trajectory", patient("pa10"))
        running = Driven(ros, "pa10_bringup", *words, until="inactive")
        running.controlled()
        start = np.array(device.state()["position"])
        references = ros.matched(ros.publisher(JointState, "controller_node/joint_reference", COMMANDS))
        references.publish(JointState(name=["s1"], position=[float(start[0])]))
        ros.wait(lambda: "inactive: activate it" in running.process.output, what="the advice")
        assert set(device.state()["ways"]) == {"braked"}
        assert transition(ros, "activate") and call(ros, "arm").success
        references.publish(JointState(name=["s1"], position=[float(start[0] + 0.2)]))
        ros.wait(lambda: abs(running.joints()[0] - start[0] - 0.2) < 2e-3, what="s1 at its goal")
        running.end()
        assert set(device.state()["ways"]) == {"braked"}
        assert not device.violations()


def test_an_emulated_humanoid_moves_its_arms(ros, patient):
    running = Driven(ros, "khr1_bringup", "--backend", "emulator", patient("khr1"))
    arms = ["left_shoulder_pitch", "right_shoulder_pitch"]
    goal = running.joints(arms) - 0.3
    sender = Commander(ros).ready()
    # The boards report whole degrees.
    sender.until(lambda: np.abs(running.joints(arms) - goal).max() < 0.02, "the goal", names=arms, position=goal)
    assert running.phase == "active"
    running.end()


def test_an_emulated_sensor_publishes_its_wrench(ros):
    wrenches = ros.collect(WrenchStamped, "wrench", STATES)
    words = ("--backend", "emulator", "sensor:=netft", "--headless", "--duration", "6")
    process = ros.start(*ADA, "ft_sensor", *words)
    assert wrenches.newest().header.frame_id == "netft"
    load("netft", "fz", -12.5, descendants(process.pid))
    wrenches.newest(lambda one: abs(one.wrench.force.z + 12.5) < 0.2)  # [N] some counts of noise
    assert process.wait() == 0, process.output
    assert "messages on /wrench" in process.output and "Traceback" not in process.output


@pytest.mark.parametrize("victim", ["hardware_node", "controller_node"])
def test_a_node_that_is_killed_ends_all_and_leaves_nothing_behind(ros, patient, victim):
    running = Driven(ros, *EMULATED_ARM, patient("pa10"))
    running.controlled()
    pids = descendants(running.process.pid)
    for what in ("hardware_node", "controller_node", "ada_robot.cycle", "ada_hardware.emulation"):
        assert running.pids(what), f"no process {what}"
    module = "ada_hardware" if victim == "hardware_node" else "ada_controllers"
    (pid,) = running.pids(f"bringup.child {running.process.pid} {module}")
    os.kill(pid, signal.SIGKILL)
    assert running.process.wait() == 128 + signal.SIGKILL
    assert f"{victim} exited (SIGKILL); stopping all" in running.process.output
    running.gone(pids)


def test_a_device_that_is_not_there_ends_the_command_with_its_address(ros, tmp_path):
    process = ros.start(*ADA, "khr1_bringup", f"port:={tmp_path / 'ttyUSB9'}", "--headless")
    assert process.wait() == 1, process.output
    assert "ttyUSB9" in process.output and "hardware_node exited (exit code 1); stopping all" in process.output
    assert "Traceback" not in process.output
