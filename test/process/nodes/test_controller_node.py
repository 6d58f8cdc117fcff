# SPDX-License-Identifier: Apache-2.0
"""The controller node on real DDS: it moves a robot, and what it makes of bad states, bad requests and silence."""

import re
import sys
import time

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
    overrides,
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
from ada_controllers.node.controller_node import ControllerNode
from ada_dynamics.errors import InputError
from ada_dynamics.simulation import JointStops
from ada_robot.ros import qos

pytestmark = pytest.mark.ros
NODE = (sys.executable, "-m", "ada_controllers.node.controller_node", "--ros-args")


def point(positions, seconds):
    message = JointTrajectoryPoint(positions=positions, velocities=[0.0] * len(positions))
    message.time_from_start.sec, message.time_from_start.nanosec = int(seconds), round(1e9 * (seconds % 1))
    return message


def last(commands, part="effort"):
    """The newest command's numbers of a kind."""
    return np.array(getattr(commands[-1], part))


# --- motion -----------------------------------------------------------------------------------------------------------
def test_a_robot_comes_to_the_reference_and_after_a_reset_the_controller_begins_where_it_is_then(ros):
    simulated = plant(ros)
    node = controller(ros, wait=True)
    referenced(ros).publish(JointState(name=["s1", "e1"], position=[0.4, 1.0]))
    control = node.thread.control
    ros.wait(lambda: control.target.position[0] == 0.4, what="the reference")
    goal = control.target.position
    assert np.array_equal(goal[[0, 3]], [0.4, 1.0])
    assert np.abs(goal - BENT)[[1, 2, 4, 5, 6]].max() < 0.03, "the others stay where the servos had them"
    ros.wait(lambda: np.abs(simulated.loop.latest.q - goal).max() < 1e-3, what="the arm at its goal")
    assert ros.call(Trigger, "dynamics_node/reset").success
    ros.wait(lambda: control.restarts == 1, what="the jump to be seen")
    assert control.target.position[0] == pytest.approx(BENT[0], abs=0.05)
    ros.wait(lambda: np.abs(simulated.loop.latest.q - BENT).max() < 0.05, what="the arm where it was put")


def test_a_run_over_dds_is_that_of_the_simulation_step_by_step(ros):
    """One step, its state, the command for it, the next step: as `InSimulation` calls a controller."""
    simulated = plant(
        ros, start_paused=True, publish_clock=True, publish_rate=1000.0, step_count=1, idle="release", contact="off"
    )
    settings = {"stiffness": [400.0], "damping": [40.0]}
    node = controller(
        ros,
        wait=True,
        blend=0.0,
        use_sim_time=True,
        computed_torque__stiffness=settings["stiffness"],
        computed_torque__damping=settings["damping"],
    )
    goal = np.array(BENT) + 0.2
    accepted, steps = simulated._in.guard, 40
    rows = []
    for k in range(steps):
        if k == 10:
            referenced(ros).publish(JointState(name=NAMES, position=goal.tolist()))
            ros.wait(lambda: np.array_equal(node.thread.control.target.position, goal), what="the reference")
        before = accepted.accepted
        assert ros.call(Trigger, "dynamics_node/step").success
        rows.append(simulated.loop.latest)
        ros.wait(lambda n=before: accepted.accepted > n, what="the command for that state")
    assert accepted.accepted == steps, "one command for each state"
    model = ada.load("pa10")
    alone = InSimulation(
        make("computed_torque", model, settings),
        lambda t: JointReference(np.array(BENT) if t < 9.5e-3 else goal),
    )
    stops = JointStops.for_model(model, 1e-3, q=rows[0].q)
    sim = alone.simulation(model, rows[0].q, rows[0].v, algorithm="ada", step=1e-3, stops=stops)
    for row in rows[1:]:
        sim.step()
        assert np.abs(sim.q - row.q).max() < 1e-12
        assert np.abs(sim.v - row.v).max() < 1e-10


@pytest.mark.smoke
def test_a_trajectory_is_followed_from_where_the_robot_is_told_to_be(ros):
    simulated = plant(ros)
    node = controller(ros, wait=True)
    trajectories = referenced(ros, JointTrajectory, "joint_trajectory")
    trajectories.publish(JointTrajectory(joint_names=["s1"], points=[point([0.5], 0.8)]))
    ros.wait(lambda: abs(simulated.loop.latest.q[0] - 0.5) < 0.01, what="s1 at the end of the trajectory")
    ros.wait(lambda: abs(node.thread.control.target.position[0] - 0.5) < 1e-9, what="its last point to be due")
    assert np.abs(simulated.loop.latest.q[1:] - BENT[1:]).max() < 0.03, "the others stay"
    trajectories.publish(JointTrajectory(joint_names=["s1"], points=[point([0.5], 0.1), point([3.0], 0.2)]))
    ros.wait(lambda: "over the" in node.thread.control.last_refusal, what="the refusal of a wild one")
    assert node.thread.control.target.position[0] == pytest.approx(0.5)


def test_a_pose_is_followed_and_told_as_the_target(ros):
    targets = ros.collect(PoseStamped, "controller_node/target")
    simulated = plant(ros)
    node = controller(ros, controller="pose_servo", wait=True)
    link = node.thread.control.controller.model.link_names[-1]
    dynamics = ada.Dynamics(ada.load("pa10"))
    ros.wait(lambda: targets, what="the target")
    asked = targets[-1]
    assert asked.header.frame_id == ada.load("pa10").root
    asked.pose.position.z += 0.05
    start = dynamics.pose(link, simulated.loop.latest.q)
    referenced(ros, PoseStamped, "pose_reference").publish(asked)
    ros.wait(lambda: targets[-1].pose.position.z == pytest.approx(asked.pose.position.z), what="the new target")

    def moved():
        return dynamics.pose(link, simulated.loop.latest.q)[:3, 3] - start[:3, 3]

    ros.wait(lambda: np.abs(moved() - [0.0, 0.0, 0.05]).max() < 2e-3, what="the hand 5 cm higher")


def test_a_measured_wrench_is_part_of_the_state_until_it_is_too_old(ros):
    node, sender = played(ros, state_timeout=0.5)
    wrenches = ros.matched(ros.publisher(WrenchStamped, "wrench", qos.STATES))
    message = WrenchStamped()
    message.wrench.force.x, message.wrench.torque.z = 3.0, -0.5
    control = node.thread.control
    assert control.latest.state.wrench is None
    wrenches.publish(message)
    sender.until(lambda: control.latest.state.wrench is not None, what="the wrench")
    assert control.latest.state.wrench.tolist() == [3.0, 0.0, 0.0, 0.0, 0.0, -0.5]
    sender.until(lambda: control.latest.state.wrench is None, what="its end")


# --- start and end ----------------------------------------------------------------------------------------------------
def test_the_node_lives_as_a_lifecycle_node(ros):
    sender = Sender(ros)
    node = controller(ros, autostart=False)
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    assert life(ros) == "unconfigured"
    assert not any(transition(ros, name) for name in ("activate", "deactivate", "cleanup"))
    assert transition(ros, "configure") and life(ros) == "inactive" and not transition(ros, "configure")
    assert not transition(ros, "activate"), "no state of the robot came so far"
    assert "no state of the robot came so far" in str(node.problem) and node.failure is None
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


def test_a_moving_robot_is_not_taken_over_until_it_rests(ros):
    sender = Sender(ros)
    node = controller(ros)
    fast = [0.0] * 7
    fast[3] = 0.9
    sender.until(lambda: "faster than max_start_speed" in str(getattr(node, "problem", "")), velocity=fast)
    assert "joint 'e1' moves at 0.9" in str(node.problem)
    assert life(ros) == "inactive"
    sender.until(lambda: node.phase == "active", what="the robot at rest to be taken over")


# --- bad states and references ----------------------------------------------------------------------------------------
def test_a_bad_state_is_refused_counted_reported_and_moves_nothing(ros):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    node, sender = played(ros)
    sender.until(lambda: commands, what="a command")
    control = node.thread.control
    before = control.command
    sender.until(lambda: control.refused, what="the refusal", position=BENT[:5], names=NAMES[:5])
    words = "joints w1, w2 are missing"
    assert words in control.last_refusal
    np.testing.assert_array_equal(control.command.effort, before.effort, "as of the last good state, which all are")
    ros.wait(lambda: words in diagnosed(reports, "control").get("last refusal", ""), what="the report")
    assert diagnosed(reports, "control")["level"] == 1
    count = len(commands)
    sender.until(lambda: len(commands) > count, what="the next good one to be taken")


def test_when_the_robot_falls_silent_the_joints_are_told_to_stay_and_the_node_says_why(ros):
    simulated = plant(ros)
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    node = controller(ros, state_timeout=1.0, wait=True)
    ros.wait(lambda: commands, what="commands")
    there = simulated.loop.latest.q
    ros.remove(simulated)
    ros.wait(lambda: len(commands[-1].position), what="the safe command")
    assert last(commands, "position") == pytest.approx(there, abs=0.02)
    ros.wait(lambda: node.phase == "inactive", what="the node to see it")
    assert life(ros) == "inactive"
    ros.wait(lambda: "no good state" in diagnosed(reports, "control").get("message", ""), what="the report")
    assert diagnosed(reports, "control")["level"] == 2
    plant(ros)  # the robot comes back: the node waits until somebody asks
    ros.wait(lambda: node.thread.control.age(time.monotonic()) < 0.5, what="states again")
    assert transition(ros, "activate")


def test_a_bad_reference_is_refused_and_logged_once_and_the_old_one_stays(ros, capfd):
    node, _ = played(ros)
    control = node.thread.control
    old = control.target
    joints = referenced(ros)
    poses = referenced(ros, PoseStamped, "pose_reference")
    turned, elsewhere, flat = PoseStamped(), PoseStamped(), PoseStamped()
    elsewhere.header.frame_id = "camera"
    flat.pose.orientation.w = 0.0
    joints.publish(JointState(name=["elbow"], position=[0.1]))
    ros.wait(lambda: "elbow" in control.last_refusal, what="the refusal")
    looked = []
    ros.tester.create_timer(0.1, lambda: looked.append(1))
    ros.wait(lambda: len(looked) > 5, what="some looks of the node")
    assert capfd.readouterr().err.count("'elbow'") == 1
    for publisher, message, words in (
        (joints, JointState(), "names no joint"),
        (poses, turned, "takes references of the kind JointReference"),
        (poses, elsewhere, "in the frame 'camera'"),
        (poses, flat, "quaternion"),
    ):
        count = sum(control.refused.values())
        publisher.publish(message)
        ros.wait(lambda n=count: sum(control.refused.values()) > n, what=f"the refusal with {words!r}")
        assert words in control.last_refusal
        assert control.target is old


# --- what is told -----------------------------------------------------------------------------------------------------
def test_the_reference_the_command_and_the_target_are_published(ros):
    told = ros.collect(Float64MultiArray, "controller_node/state")
    targets = ros.collect(JointState, "controller_node/joint_target")
    _, sender = played(ros, state_rate=0.0)
    sender.until(lambda: told and targets, what="what is behind a command")
    sizes = {one.label: one.size for one in told[-1].layout.dim}
    assert list(sizes)[:3] == ["t", "reference", "command"]
    assert sizes["reference"] == sizes["command"] == 7
    assert list(told[-1].data[1:8]) == pytest.approx(BENT)
    assert list(targets[-1].name) == NAMES and list(targets[-1].position) == pytest.approx(BENT)


# --- parameters and robots --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"controller": "computed_tork"}, "computed_torque"),
        ({"computed_torque__stifness": [1.0]}, "stiffness"),
        ({"computed_torque__stiffness": [-1.0]}, "of at least 0"),
        ({"pid__no_such": 1.0}, r"pid\.no_such"),
        ({"shaping__effort_scale": 2.0}, "from 0 to 1"),
        ({"stat_timeout": 0.1}, "Did you mean 'state_timeout'"),
    ],
)
def test_a_node_with_unusable_parameters_is_refused_at_its_start(ros, parameters, words):
    with pytest.raises(InputError, match=words):
        ros.add(ControllerNode(context=ros.context, parameter_overrides=overrides({"robot": "pa10", **parameters})))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"robot": "pa11"}, "Did you mean 'pa10'"),
        ({"robot": "four_bar"}, "computed_torque"),
        ({"computed_torque__stiffness": [1.0, 2.0]}, "has 2 numbers"),
        ({"robot": "", "description_timeout": 0.2}, r"no robot's description came on /robot_description within 0\.2 s"),
    ],
)
def test_a_controller_that_cannot_be_for_this_robot_ends_the_node_with_the_reason(ros, parameters, words):
    node = controller(ros, **parameters)
    problem = ros.wait(lambda: node.failure, what="the failure")
    assert re.search(words, str(problem))


def test_a_robot_described_on_a_topic_is_controlled(ros):
    node = controller(ros, robot="")
    assert node.phase == "unconfigured"
    ros.publisher(String, "robot_description", qos.LATCHED).publish(String(data=ada.load("pa10").source))
    ros.wait(lambda: node.phase == "inactive", what="the node to be configured")
    sender = Sender(ros).ready()
    sender.until(lambda: node.phase == "active", what="an active controller")
    listed = ros.call(ListParameters, "controller_node/list_parameters").result.names
    assert {"computed_torque.stiffness", "shaping.effort_rate", "state_timeout", "controller"} <= set(listed)
    assert set_parameter(ros, "state_timeout", 5.0).successful
    assert node.thread.control.settings.state_timeout == 5.0


def test_the_exact_state_of_a_simulated_robot_is_taken_where_joint_states_do_not_say_all(ros):
    simulated = plant(ros)
    node = controller(ros, state_source="state")
    node_topic = ros.wait(lambda: node.thread, what="a configured node").inputs.topic
    assert node_topic == "/state"
    relay = ros.publisher(Float64MultiArray, "state", qos.STATES)
    ros.tester.create_subscription(Float64MultiArray, "dynamics_node/state", relay.publish, 10)
    ros.wait(lambda: node.phase == "active", what="an active controller")
    ros.wait(lambda: simulated._in.guard.accepted > 10, what="commands")
    bad = Float64MultiArray()
    ros.wait(lambda: relay.publish(bad) or "dimensions" in node.thread.control.last_refusal, what="the refusal")


# --- processes --------------------------------------------------------------------------------------------------------
def test_the_process_controls_a_robot_and_ends_cleanly_with_a_last_command(ros):
    commands = ros.collect(JointState, "joint_commands", qos.COMMANDS)
    plant(ros)
    process = ros.start(*NODE, "-p", "robot:=pa10", "-p", "state_timeout:=5.0")
    ros.wait(lambda: commands, what="commands of the process")
    assert len(commands[-1].effort) == 7
    assert process.stop() == 0, process.output
    ros.wait(lambda: len(commands[-1].position) == 7, what="its last command")
    wrong = ros.start(*NODE, "-p", "controller:=computed_tork")
    assert wrong.wait() == 2
    assert "controller_node: error:" in wrong.output and "computed_torque" in wrong.output
    assert "Traceback" not in wrong.output
