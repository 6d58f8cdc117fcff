# SPDX-License-Identifier: Apache-2.0
"""A controller whose robot stops: no commands until the robot is active again, and then from where it is."""

import json
import signal
import sys
import time

import numpy as np
import pytest

pytest.importorskip("rclpy")

from controller_world import BENT, controller, diagnosed, plant, referenced
from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import ARM, ONE, call, hardware, transition
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ada_robot.ros import qos
from ada_robot.safety.phases import Phase

pytestmark = pytest.mark.ros


class Served:
    """An arm on a hardware node that moves to its commands at once, and a controller of positions."""

    def __init__(self, ros, fleet):
        self.ros, self.at = ros, np.array(BENT)
        self.commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
        self.reports = ros.collect(DiagnosticArray, "/diagnostics")
        self.driving = hardware(ros, fleet, **ONE, until="inactive", autostart="inactive")
        self.robot = fleet.robot
        self.node = controller(ros, controller="joint_trajectory", blend=0.0)
        self.until(lambda: self.node.phase == "active", "an active controller")
        self.control = self.node.thread.control
        self.references = referenced(ros)

    def until(self, condition, what):
        def act():
            if self.robot.demand is not None and self.robot.phase is Phase.ACTIVE:
                self.at = self.robot.demand.values.copy()
            self.robot.measure(self.at)
            return condition()

        return self.ros.wait(act, what=what)

    def some_states(self, count=60):
        for _ in range(count):
            stamp = self.control.latest.stamp
            self.until(lambda s=stamp: self.control.latest.stamp > s, "a state")

    def refers(self, position):
        self.references.publish(JointState(name=["s1"], position=[float(position)]))


def test_before_the_start_commands_are_counted_and_after_a_stop_the_old_target_is_not_resumed(ros, fleet):
    arm = Served(ros, fleet)
    arm.until(lambda: arm.control.waits == "the robot is inactive", "the controller to know it")
    arm.until(lambda: arm.driving.connection.is_commanded(), "commands that are counted")
    assert not arm.control.is_silent
    assert np.abs(np.array(arm.commands.newest().position) - BENT).max() < 1e-9
    assert transition(ros, "activate")
    arm.until(lambda: not arm.control.waits, "the controller to know it")
    arm.refers(1.5)
    arm.until(lambda: arm.at[0] > 0.3, "some way")
    assert call(ros, "stop").success
    arm.until(lambda: arm.control.is_silent, "the controller to know of the stop")
    stopped = arm.at.copy()
    arm.some_states(2)  # one command may be under way
    count = len(arm.commands)
    arm.some_states()
    assert len(arm.commands) == count, "no commands while it is stopped"
    arm.until(lambda: "the robot is stopped" in diagnosed(arm.reports, "control").get("message", ""), "the report")
    arm.refers(1.5)
    arm.until(lambda: "accepts references when it is active" in arm.control.last_refusal, "the refusal")
    assert call(ros, "reset").success
    arm.some_states()
    assert len(arm.commands) == count, "nor while it is inactive again"
    assert transition(ros, "activate")
    arm.until(lambda: len(arm.commands) > count + 100, "commands")
    told = np.array([message.position for message in arm.commands[count:]])
    assert np.abs(told - stopped).max() < 1e-6, "it stays where it was stopped"
    assert arm.node.phase == "active" and arm.control.restarts >= 1
    arm.refers(stopped[0] + 0.1)
    arm.until(lambda: abs(arm.at[0] - stopped[0] - 0.1) < 1e-6, "the new target")


def test_states_of_other_robots_do_not_stop_a_controller(ros):
    plant(ros)
    node = controller(ros, wait=True)
    said = ros.matched(ros.publisher(String, "hardware_node/state", qos.LATCHED))
    device = {"kind": "pa10", "phase": "stopped", "reason": "", "joints": [{"name": name} for name in ARM]}
    whole = {"phase": "inactive", "stopped": "x", "problem": "", "dry_run": False}
    heard = []
    take = node.thread.control.robot_is
    node.thread.control.robot_is = lambda phase, _: heard.append(phase)
    other = {**device, "topics": {"states": "/left/joint_states"}}
    said.publish(String(data=json.dumps({**whole, "devices": {"left": other}})))
    said.publish(String(data="nonsense"))
    own = {**device, "topics": {"states": node.thread.inputs.topic}}
    said.publish(String(data=json.dumps({**whole, "devices": {"left": other, "right": own}})))
    ros.wait(lambda: heard, what="the own robot's phase")
    assert [(one.phase, one.reason) for one in heard] == [("stopped", "x")]
    node.thread.ask(lambda: take(heard[0], time.monotonic()))
    ros.wait(lambda: node.thread.control.is_silent, what="silence")
    said.publish(String(data=json.dumps({**whole, "devices": {}})))
    ros.wait(lambda: len(heard) == 2, what="its end")
    assert heard[1].phase == "closed"


LATE = 1.0  # [s] that states may be late on a busy machine
FROZEN = 3.0 * LATE  # [s] at rest; of the states that waited, none is both accepted and near the last one before


def test_a_frozen_process_that_goes_on_does_not_make_up_for_what_it_missed(ros):
    simulated = plant(ros)
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    settings = ("robot:=pa10", "controller:=joint_trajectory", f"state_timeout:={LATE}", f"max_gap:={1.5 * LATE}")
    words = [word for setting in settings for word in ("-p", setting)]
    process = ros.start(sys.executable, "-m", "ada_controllers.node.controller_node", "--ros-args", *words)
    commands.newest()
    referenced(ros).publish(JointState(name=["s1"], position=[2.5]))
    ros.wait(lambda: simulated.loop.latest.v[0] > 0.2, what="some speed")
    process.signal(signal.SIGSTOP)
    try:
        ros.wait(lambda: abs(simulated.loop.latest.v[0]) < 1e-3, what="the joint at its last setpoint")
        end = simulated.loop.latest.stamp + FROZEN * 1e9
        ros.wait(lambda: simulated.loop.latest.stamp > end, what="what the states of the motion become too old in")
        stood, count, thawed = simulated.loop.latest.q.copy(), len(commands), time.time()
    finally:
        process.signal(signal.SIGCONT)
    ros.wait(lambda: len(commands) > count + 200, what="commands again")
    # The joint that was on its way, about a vertical axis: the others also sag where a hold begins at what is measured.
    # A command whose sending was interrupted comes late, with the stamp of then: the robot refuses it.
    told = np.array([one.position[0] for one in commands[count:] if one.header.stamp.sec >= int(thawed)])
    assert len(told) > 100
    assert np.abs(told - stood[0]).max() < 0.05, "it is where it was when the process froze, and stays"
    assert abs(simulated.loop.latest.q[0] - stood[0]) < 0.05
