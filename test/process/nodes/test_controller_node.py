# SPDX-License-Identifier: Apache-2.0
"""The controller node on real DDS: it moves a robot, and what it makes of bad states, bad requests and silence."""

import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")

from controller_world import (
    BENT,
    NAMES,
    Sender,
    controller,
    diagnosed,
    life,
    plant,
    played,
    referenced,
    set_parameter,
    transition,
    weight,
)
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.srv import ListParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import ada_dynamics as ada
from ada_controllers import JointReference, make
from ada_controllers.in_simulation import InSimulation
from ada_dynamics.simulation import JointStops
from ada_robot.ros import qos

pytestmark = pytest.mark.ros
NODE = (sys.executable, "-m", "ada_controllers.node.controller_node", "--ros-args")


def point(positions, seconds):
    message = JointTrajectoryPoint(positions=positions, velocities=[0.0] * len(positions))
    message.time_from_start.sec, message.time_from_start.nanosec = int(seconds), round(1e9 * (seconds % 1))
    return message


def last(commands, part="effort"):
    return np.array(getattr(commands[-1], part))


@pytest.mark.smoke
def test_references_and_trajectories_are_followed_and_after_a_reset_it_begins_where_the_robot_is(ros):
    simulated = plant(ros)
    node = controller(ros, wait=True)
    control = node.thread.control
    trajectories = referenced(ros, JointTrajectory, "joint_trajectory")
    trajectories.publish(JointTrajectory(joint_names=["s1"], points=[point([0.5], 0.8)]))
    ros.wait(lambda: abs(control.target.position[0] - 0.5) < 1e-9, what="its last point to be due")
    ros.wait(lambda: abs(simulated.loop.latest.q[0] - 0.5) < 0.01, what="s1 at the end of the trajectory")
    assert np.abs(simulated.loop.latest.q[1:] - BENT[1:]).max() < 0.03, "the others stay"
    trajectories.publish(JointTrajectory(joint_names=["s1"], points=[point([0.5], 0.1), point([3.0], 0.2)]))
    ros.wait(lambda: "over the" in control.last_refusal, what="the refusal of a wild one")
    assert control.target.position[0] == pytest.approx(0.5)
    referenced(ros).publish(JointState(name=["s1", "e1"], position=[0.4, 1.0]))
    ros.wait(lambda: control.target.position[0] == 0.4, what="the reference")
    goal = control.target.position
    assert goal[3] == 1.0
    assert np.abs(goal - BENT)[[1, 2, 4, 5, 6]].max() < 0.03, "the others stay where the servos had them"
    ros.wait(lambda: np.abs(simulated.loop.latest.q - goal).max() < 1e-3, what="the arm at its goal")
    assert ros.call(Trigger, "dynamics_node/reset").success
    ros.wait(lambda: control.restarts == 1, what="the jump to be seen")
    assert control.target.position[0] == pytest.approx(BENT[0], abs=0.05)
    ros.wait(lambda: np.abs(simulated.loop.latest.q - BENT).max() < 0.05, what="the arm where it was put")


def test_a_run_over_dds_is_that_of_the_simulation_step_by_step(ros):
    simulated = plant(
        ros, start_paused=True, publish_clock=True, publish_rate=1000.0, step_count=1, idle="release", contact="off"
    )
    assert ros.call(Trigger, "dynamics_node/step").success, "after it no stamp is zero, which would mean none"
    begin = simulated.loop.latest.q
    settings = {"stiffness": [400.0], "damping": [40.0]}
    node = controller(
        ros,
        wait=True,
        blend=0.0,
        state_rate=0.0,
        use_sim_time=True,
        computed_torque__stiffness=settings["stiffness"],
        computed_torque__damping=settings["damping"],
    )
    goal = np.array(BENT) + 0.2
    commands, steps = ros.collect(JointState, "joint_commands", qos.COMMANDS), 40
    answered = ros.collect(Float64MultiArray, "controller_node/state", qos.streams(steps))  # published after a command
    listeners = {"/joint_commands": 2, "/controller_node/state": 1}  # the plant, and this test
    for publisher in [one for one in node.publishers if one.topic_name in listeners]:
        ros.matched(publisher, listeners[publisher.topic_name])
    rows = []
    for k in range(steps):
        if k == 10:
            referenced(ros).publish(JointState(name=NAMES, position=goal.tolist()))
            ros.wait(lambda: np.array_equal(node.thread.control.target.position, goal), what="the reference")
        assert ros.call(Trigger, "dynamics_node/step").success
        rows.append(simulated.loop.latest)
        ros.wait(lambda n=k: len(answered) > n, what="the command for that state")
        assert answered[k].data[0] == pytest.approx(rows[k].t - rows[0].t + 1e-3), "its time since the first state"
    ros.wait(lambda: len(commands) >= steps, what="the commands")
    assert len(commands) == len(answered) == steps, "one command for each state"
    model = ada.load("pa10")
    alone = InSimulation(
        make("computed_torque", model, settings), lambda t: JointReference(begin if t < 9.5e-3 else goal)
    )
    stops = JointStops.for_model(model, 1e-3, q=rows[0].q)
    sim = alone.simulation(model, rows[0].q, rows[0].v, algorithm="ada", step=1e-3, stops=stops)
    for row in rows[1:]:
        sim.step()
        assert np.abs(sim.q - row.q).max() < 1e-12
        assert np.abs(sim.v - row.v).max() < 1e-10


def test_poses_in_the_prefixed_frame_of_the_base_are_followed_and_those_in_others_refused(ros):
    targets = ros.collect(PoseStamped, "controller_node/target")
    simulated = plant(ros, frame_prefix="left/")
    node = controller(ros, frame_prefix="left/", controller="pose_servo", pose_servo__link="flange", wait=True)
    dynamics, root, control = ada.Dynamics(ada.load("pa10")), ada.load("pa10").root, node.thread.control
    ros.wait(lambda: targets, what="the target")
    asked = targets[-1]
    assert asked.header.frame_id == "left/" + root
    references = referenced(ros, PoseStamped, "pose_reference")
    for frame in (root, "right/" + root, "world"):  # another robot's, and one that lies elsewhere
        count, asked.header.frame_id = sum(control.refused.values()), frame
        references.publish(asked)
        ros.wait(lambda n=count: sum(control.refused.values()) > n, what=f"the refusal of {frame}")
    asked.header.frame_id = "left/" + root
    asked.pose.position.z += 0.05
    start = dynamics.pose("flange", simulated.loop.latest.q)
    references.publish(asked)
    ros.wait(lambda: targets[-1].pose.position.z == pytest.approx(asked.pose.position.z), what="the new target")

    def moved():
        return dynamics.pose("flange", simulated.loop.latest.q)[:3, 3] - start[:3, 3]

    ros.wait(lambda: np.abs(moved() - [0.0, 0.0, 0.05]).max() < 2e-3, what="the hand 5 cm higher")


def test_the_node_lives_as_a_lifecycle_node(ros):
    sender = Sender(ros)
    node = controller(ros, autostart=False)
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    assert life(ros) == "unconfigured"
    assert not any(transition(ros, name) for name in ("activate", "deactivate", "cleanup"))
    assert transition(ros, "configure") and life(ros) == "inactive" and not transition(ros, "configure")
    assert not transition(ros, "activate"), "no state of the robot received yet"
    assert "no state of the robot received yet" in str(node.problem) and node.failure is None
    sender.ready().until(lambda: node.thread.control.latest, what="a state")
    referenced(ros).publish(JointState(name=["s1"], position=[0.3]))
    ros.wait(lambda: "not active" in node.thread.control.last_refusal, what="the refusal")
    assert not commands
    assert transition(ros, "activate") and life(ros) == "active"
    sender.until(lambda: commands, what="a command", effort=weight())
    assert last(commands) == pytest.approx(weight(), abs=1e-6)
    assert transition(ros, "deactivate")
    ros.wait(lambda: len(commands[-1].position), what="the last command")
    assert last(commands, "position") == pytest.approx(BENT)
    assert not len(commands[-1].effort)
    count = len(commands)
    for _ in range(20):
        sender.send()
    assert transition(ros, "cleanup") and life(ros) == "unconfigured"
    assert len(commands) == count, "an inactive controller says nothing"
    assert transition(ros, "unconfigured_shutdown") and life(ros) == "finalized"


def test_bad_states_and_references_are_refused_and_move_nothing_and_what_is_behind_a_command_is_published(ros, capfd):
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    told = ros.collect(Float64MultiArray, "controller_node/state")
    targets = ros.collect(JointState, "controller_node/joint_target")
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node, sender = played(ros, state_rate=0.0, state_timeout=3.0)
    control = node.thread.control
    sender.until(lambda: commands and told and targets, what="what is behind a command")
    sizes = {one.label: one.size for one in told[0].layout.dim}
    assert list(sizes)[:3] == ["t", "reference", "command"] and sizes["reference"] == sizes["command"] == 7
    assert list(told[0].data[1:8]) == pytest.approx(BENT)
    assert list(targets[0].name) == NAMES and list(targets[0].position) == pytest.approx(BENT)
    # a measured wrench is part of the state until it is too old
    wrenches, message = ros.matched(ros.publisher(WrenchStamped, "wrench", qos.STATES)), WrenchStamped()
    message.wrench.force.x, message.wrench.torque.z = 3.0, -0.5

    def wrench():
        found = control.latest.state.wrench
        return None if found is None else found.tolist()

    assert wrench() is None
    wrenches.publish(message)
    assert sender.until(wrench, what="the wrench") == [3.0, 0.0, 0.0, 0.0, 0.0, -0.5]
    sender.until(lambda: wrench() is None, what="its end")
    # bad states
    old, effort = control.target, control.command.effort
    sender.until(lambda: control.refused, what="the refusal", position=BENT[:5], names=NAMES[:5])
    assert "missing joints w1, w2" in control.last_refusal
    np.testing.assert_array_equal(control.command.effort, effort, "as of the last good state, which all are")
    ros.wait(lambda: "w1, w2" in diagnosed(reports, "control").get("last refusal", ""), what="the report")
    count = len(commands)
    sender.until(lambda: len(commands) > count, what="the next good one to be taken")
    # bad references
    joints, poses = referenced(ros), referenced(ros, PoseStamped, "pose_reference")
    flat = PoseStamped()
    flat.pose.orientation.w = 0.0
    for publisher, message, words in (
        (joints, JointState(name=["elbow"], position=[0.1]), "elbow"),
        (joints, JointState(), "has no joint names"),
        (poses, PoseStamped(), "accepts JointReference"),
        (poses, flat, "quaternion"),
    ):
        count = sum(control.refused.values())
        publisher.publish(message)
        ros.wait(lambda n=count: sum(control.refused.values()) > n, what=f"the refusal with {words!r}")
        assert words in control.last_refusal
        assert control.target is old
    assert capfd.readouterr().err.count("'elbow'") <= 1, "refusals are logged once"
    sender.until(lambda: diagnosed(reports, "control")["level"] == 0, what="a report without a new refusal")


def test_a_controller_waits_for_a_simulation_that_stands_still(ros):
    simulated = plant(ros)
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    node = controller(ros, state_timeout=0.5)
    ros.wait(lambda: node.thread and node.thread.control.is_simulated, what="the simulation to be known")
    ros.wait(lambda: node.phase == "active" or transition(ros, "activate"), what="an active controller")
    commands.next()
    ros.remove(simulated)
    ros.wait(lambda: "waits for a state" in diagnosed(reports, "control").get("message", ""), what="the report")
    plant(ros)
    assert len(commands.next().effort)
    assert node.phase == "active"


def test_when_the_robot_falls_silent_the_joints_are_told_to_stay_and_the_node_says_why(ros, capfd):
    simulated = plant(ros)
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    node = controller(ros, state_timeout=3.0, timeout_clock="machine", wait=True)
    ros.wait(lambda: commands, what="commands")
    there = simulated.loop.latest.q
    ros.remove(simulated)
    ros.wait(lambda: len(commands[-1].position), what="the safe command")
    assert last(commands, "position") == pytest.approx(there, abs=0.02)
    ros.wait(lambda: node.phase == "inactive", what="the node to see it")
    assert life(ros) == "inactive"
    ros.wait(lambda: "no valid state" in diagnosed(reports, "control").get("message", ""), what="the report")
    assert diagnosed(reports, "control")["level"] == 2
    assert "ros2 lifecycle set /controller_node activate" in capfd.readouterr().err
    plant(ros)  # the robot comes back: the node waits until somebody asks
    ros.wait(lambda: transition(ros, "activate"), what="a controller that can be activated")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"robot": "pa11"}, "pa11"),
        ({"computed_torque__stiffness": [1.0, 2.0]}, "has 2 numbers"),
        ({"robot": "", "description_timeout": 0.2}, "description_timeout"),
    ],
)
def test_a_controller_that_cannot_be_for_this_robot_ends_the_node_with_the_reason(ros, parameters, words):
    node = controller(ros, **parameters)
    assert words in str(ros.wait(lambda: node.failure, what="the failure"))


def test_a_robot_described_on_a_topic_is_controlled_once_it_rests(ros):
    node = controller(ros, robot="")
    assert node.phase == "unconfigured"
    ros.publisher(String, "robot_description", qos.LATCHED).publish(String(data=ada.load("pa10").source))
    ros.wait(lambda: node.phase == "inactive", what="the node to be configured")
    sender, fast = Sender(ros).ready(), [0.0, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0]
    sender.until(lambda: node.problem, what="the refusal to take over a robot that moves", velocity=fast)
    assert "'e1'" in str(node.problem) and life(ros) == "inactive"
    sender.until(lambda: node.phase == "active", what="the robot at rest to be taken over")
    listed = ros.call(ListParameters, "controller_node/list_parameters").result.names
    assert {"computed_torque.stiffness", "shaping.effort_rate", "state_timeout", "controller"} <= set(listed)
    assert set_parameter(ros, "state_timeout", 5.0).successful
    assert node.thread.control.settings.state_timeout == 5.0


def test_the_process_controls_a_robot_and_ends_cleanly_with_a_last_command(ros):
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    plant(ros)
    process = ros.start(*NODE, "-p", "robot:=pa10", "-p", "state_timeout:=5.0")
    ros.wait(lambda: commands, what="commands of the process")
    assert len(commands[-1].effort) == 7
    assert process.stop() == 0, process.output
    ros.wait(lambda: len(commands[-1].position) == 7, what="its last command")
