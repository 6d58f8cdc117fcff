# SPDX-License-Identifier: Apache-2.0
"""The dynamics node on real DDS: topics, services, parameters, and what it makes of bad messages."""

import math
import signal
import sys
import threading
from functools import partial

import numpy as np
import pytest

pytest.importorskip("rclpy")

import hardware_world
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import GetParameters
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.simulation import JointServos, JointStops, Simulation
from ada_robot.node.dynamics_node import DynamicsNode
from ada_robot.processes import COMPILER
from ada_robot.ros import qos
from ada_robot.simulated.source import simulation_of

pytestmark = pytest.mark.ros
diagnosed = partial(hardware_world.diagnosed, node="dynamics_node")
set_parameter = partial(hardware_world.set_parameter, node="dynamics_node")
NODE = (sys.executable, "-m", "ada_robot.node.dynamics_node", "--ros-args")
PA10 = {"robot": "pa10"}


def made(ros, **parameters):
    node = ros.make(DynamicsNode, parameters)
    ros.wait(lambda: node.loop or node.failure, what="the physics")
    return node


def positions(message):
    return dict(zip(message.name, message.position, strict=True))


def pushed(link, force):
    message = WrenchStamped()
    message.header.frame_id, message.wrench.force.x = link, force
    return message


def point(positions, seconds, velocities=()):
    message = JointTrajectoryPoint(positions=positions, velocities=list(velocities))
    message.time_from_start.sec, message.time_from_start.nanosec = int(seconds), round(1e9 * (seconds % 1))
    return message


def call(ros, service, **request):
    kind = SetBool if request else Trigger
    return ros.call(kind, f"dynamics_node/{service}", kind.Request(**request))


def test_in_a_pause_states_are_those_of_the_simulation_bit_for_bit_and_requests_change_them(ros):
    states = ros.collect(Float64MultiArray, "dynamics_node/state", 100)
    joint_states = ros.collect(JointState, "joint_states", 100)
    node = made(
        ros, robot="pa10", idle="release", start_paused=True, publish_rate=1000.0, step_count=5, publish_clock=True
    )
    loop = node.loop
    for k in range(1, 11):  # as many at once as wait in the queue of a publisher, at most
        assert call(ros, "step").success
        ros.wait(lambda t=0.005 * k: states and states[-1].data[0] == pytest.approx(t), what=f"{5 * k} steps")
    ros.wait(lambda: joint_states and joint_states[-1].header.stamp.nanosec == 50_000_000, what="their joint states")
    model = ada.load("pa10")
    start = ada.Simulation(model, [0, math.pi / 4, 0, 0, 0, 0, 0]).q
    stops = JointStops.for_model(model, 1e-3, q=start)
    sim = Simulation(model, start, algorithm="ada", pushable=True, servos=JointServos(), stops=stops)
    by_time = {round(1000 * m.data[0]): np.array(m.data) for m in states}
    for k in range(1, 51):
        sim.step()
        assert np.array_equal(by_time[k][1:15], np.concatenate([sim.q, sim.v]))
    last = joint_states[-1]
    assert np.array_equal(last.position, sim.q) and np.array_equal(last.velocity, sim.v)
    assert list(last.name) == model.joint_names
    # services
    assert set_parameter(ros, "step_count", 7).successful and call(ros, "step").success
    assert loop.plant.steps == 57
    assert call(ros, "reset").success and np.array_equal(loop.latest.q, start)
    goal = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert set_parameter(ros, "initial_positions", goal).successful and call(ros, "reset").success
    assert loop.latest.q.tolist() == goal
    assert call(ros, "pause", data=False).success
    ros.wait(lambda: loop.latest.q.tolist() != goal, what="motion")
    refused = call(ros, "step")
    assert not refused.success and "pause it first" in refused.message
    # parameters
    assert set_parameter(ros, "real_time_factor", 0.5).successful and loop.period == pytest.approx(2e-3)
    for name, value, words in (
        ("real_time_factor", -1.0, "real_time_factor"),
        ("physics_rate", 500.0, "read-only"),
        ("model.gravity", [0.0, 0.0, 1.0], "model.gravity"),
        ("initial_positions", [0.1], "needs 7"),
        ("initial_positions", [0.0, 100.0] + [0.0] * 5, "s2"),
        ("initial_velocities", [0.0, 1e9] + [0.0] * 5, "s2"),
    ):
        answer = set_parameter(ros, name, value)
        assert not answer.successful and words in answer.reason
    assert set_parameter(ros, "idle", "hold").successful
    ros.wait(lambda: loop.plant.idle == "hold", what="the plant's own setting")
    answer = ros.call(GetParameters, "dynamics_node/get_parameters", GetParameters.Request(names=["model.gravity"]))
    assert list(answer.values[0].double_array_value) == [0.0, 0.0, -9.81]


@pytest.mark.parametrize(
    ("robot", "joint", "prefix", "world"),
    [("four_bar", "joint_1", "", "world"), ("space_robot_a", "", "left/", "left/odom")],
)
def test_every_joint_is_in_joint_states_and_every_link_in_tf_with_the_prefix(ros, robot, joint, prefix, world):
    tf2_msgs = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs was not built here")
    tree = ros.collect(tf2_msgs.TFMessage, "/tf")
    fixed = ros.collect(tf2_msgs.TFMessage, "/tf_static", qos.LATCHED)
    states = ros.collect(JointState, "joint_states")
    markers = ros.collect(MarkerArray, "dynamics_node/markers")
    description = ros.collect(String, "robot_description", qos.LATCHED)
    made(ros, robot=robot, frame_prefix=prefix, wrenches=[joint] if joint else [])
    # efforts are published once the physics runs
    ros.wait(lambda: tree and fixed and description and states and states[-1].effort, what="the first messages")
    state = states[-1]
    model = ada.load(description[0].data, base="floating" if prefix else None)
    single = [name for name in model.joint_names if model.joints[name].nq == 1]
    assert list(state.name) == single, "passive joints of the loop, too"
    assert len(state.effort) == len(single)
    children = {t.child_frame_id: t.header.frame_id for m in (tree[0], fixed[0]) for t in m.transforms}
    for link in model.link_names:
        frame = prefix + link
        while frame in children:
            frame = children[frame]
        assert frame == world, "all links hang on the frame of the ground"
    assert len(model.loops) == len(ada.load(robot).loops)
    ros.wait(lambda: markers and markers[-1].markers, what="markers")
    assert {marker.header.frame_id for marker in markers[-1].markers} == {world}


def test_while_the_physics_is_compiled_there_is_the_description_alone_and_changed_parameters_hold(ros):
    compiled = threading.Event()

    def compile_slowly(*arguments):
        assert compiled.wait(300.0)
        return simulation_of(*arguments)

    states = ros.collect(JointState, "joint_states")
    description = ros.collect(String, "robot_description", qos.LATCHED)
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node = ros.make(DynamicsNode, PA10, simulate=compile_slowly)
    try:
        ros.wait(lambda: "compiled" in diagnosed(reports, "physics").get("message", ""), what="the report")
        assert diagnosed(reports, "physics")["level"] == 1 and description
        assert set_parameter(ros, "idle", "release").successful
        assert not states
    finally:
        compiled.set()
    ros.wait(lambda: states and any(states[-1].velocity), what="motion")
    assert node.loop.plant.idle == "release" and call(ros, "reset").success


def test_a_node_whose_physics_cannot_be_made_or_is_not_awaited_ends_in_order(ros):
    begun = threading.Event()

    def fails(*arguments):
        raise InputError("it cannot be")

    def compile_slowly(*arguments):
        begun.set()
        return simulation_of(*arguments)

    node = ros.make(DynamicsNode, PA10, simulate=fails)
    ros.wait(lambda: str(node.failure) == "it cannot be", what="the failure")
    ros.remove(node)
    node = ros.make(DynamicsNode, PA10, simulate=compile_slowly)
    ros.wait(begun.is_set, what="the compilation")
    ros.remove(node)
    assert node.loop is None and node.failure is None
    ros.wait(lambda: COMPILER not in [thread.name for thread in threading.enumerate()], what="the end of its thread")


def test_a_node_that_cannot_be_is_refused_at_its_start(ros):
    for parameters, fact in (
        ({"robot": "pa11"}, "pa11"),
        ({"robot": "pa10", "model__gravity": [0.0, 0.0, 1.0]}, "model.gravity"),
        ({"robot": "pa10", "publish_rate": 2000.0}, "publish_rate"),
        ({"robot": "pa10", "wrenches": ["elbow"]}, "elbow"),
        ({"robot": "pa10", "servo__s9__stiffness": 1.0}, "servo.s9.stiffness"),
        ({"robot": "pa10", "use_sim_time": True}, "publish_clock"),
        ({"robot": "/nowhere/robot.urdf"}, "/nowhere/robot.urdf"),
    ):
        with pytest.raises((InputError, ada.ModelError)) as refusal:
            made(ros, **parameters)
        assert fact in str(refusal.value)


@pytest.mark.smoke
def test_positions_efforts_trajectories_and_wrenches_move_what_they_name(ros):
    states = ros.collect(JointState, "joint_states")
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    wrenches = ros.collect(WrenchStamped, "dynamics_node/wrench/s1")
    node = made(ros, robot="pa10", servo__s1__stiffness=20000.0, servo__s1__damping=400.0, wrenches=["s1"])
    commands = ros.matched(ros.publisher(JointState, "joint_commands", qos.COMMANDS))
    ros.wait(lambda: states and wrenches, what="a state and a wrench")
    model = ada.load("pa10")
    weight = 9.81 * (model.total_mass - model.links[model.root].mass)
    assert wrenches[-1].header.frame_id == model.joints["s1"].child

    def carried():
        force = wrenches[-1].wrench.force
        return math.hypot(force.x, force.y, force.z)

    ros.wait(lambda: carried() == pytest.approx(weight, rel=1e-3), what="the arm at rest, with its weight on s1")
    commands.publish(JointState(name=["s1"], position=[0.3]))
    ros.wait(lambda: abs(positions(states[-1])["s1"] - 0.3) < 0.01, what="s1 at 0.3 rad")
    assert positions(states[-1])["s3"] == pytest.approx(0.0, abs=0.02), "the others hold"
    commands.publish(JointState(name=["w2"], effort=[0.5]))
    ros.wait(lambda: any(s.effort and s.effort[6] == 0.5 for s in states), what="0.5 N m in w2")
    trajectories = ros.matched(ros.publisher(JointTrajectory, "joint_trajectory", qos.COMMANDS))
    trajectories.publish(JointTrajectory(joint_names=["s1"], points=[point([0.0], 0.6, [0.0])]))
    ros.wait(lambda: abs(positions(states[-1])["s1"]) < 0.01, what="s1 back at 0")
    pushes = ros.matched(ros.publisher(WrenchStamped, "dynamics_node/external_wrench"))
    push = pushed(ada.load("pa10").joints["s1"].child, 0.0)
    push.wrench.torque.z = 1000.0
    before = len(states)
    pushes.publish(push)
    ros.wait(lambda: any(abs(s.velocity[0]) > 1e-3 for s in states[before:]), what="the push against the servo")
    ros.wait(lambda: abs(positions(states[-1])["s1"]) < 1e-4, what="its end")
    bank = node.loop.plant.simulation.servos
    assert (bank.stiffness[0], bank.damping[0]) == (20000.0, 400.0)
    ros.node("rival").create_publisher(JointState, "joint_commands", qos.COMMANDS)
    ros.wait(lambda: "2 publishers" in diagnosed(reports, "commands").get("message", ""), what="word of the rival")
    assert "/rival" in diagnosed(reports, "commands")["publishers of joint_commands"]
    # wrenches of other joints at run time
    assert set_parameter(ros, "wrenches", ["e1"]).successful
    other = ros.collect(WrenchStamped, "dynamics_node/wrench/e1")
    ros.wait(lambda: other, what="the wrench of another joint")
    refused = set_parameter(ros, "wrenches", ["elbow"])
    assert not refused.successful and "elbow" in refused.reason


def test_bad_messages_are_refused_counted_and_move_nothing(ros):
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node = made(ros, robot="four_bar", idle="release", start_paused=True)
    start, motor = node.loop.latest.q.copy(), node.loop.plant.model.actuated[0]
    old = JointState(name=[motor], position=[0.1])
    old.header.stamp.sec = 1000
    bad = {
        "joint_commands": [
            JointState(name=[motor], position=[math.nan]),
            JointState(name=["elbow"], position=[0.1]),
            JointState(),
            old,
        ],
        "external_wrench": [pushed("", math.nan), pushed("nowhere", 1.0), pushed("link_2", 9e5)],
        "set_state": [
            JointState(),
            JointState(name=["crank"], position=[1.0]),
            JointState(name=["joint_1"], position=[math.inf]),
            JointState(name=["joint_1"], velocity=[1e6]),
        ],
        "joint_trajectory": [JointTrajectory(joint_names=["joint_1"], points=[point([0.1, 0.2], 1.0)])],
    }
    publishers = {
        topic: ros.matched(
            ros.publisher(type(messages[0]), topic if topic[0] == "j" else f"dynamics_node/{topic}", qos.COMMANDS)
        )
        for topic, messages in bad.items()
    }
    counts = {"accepted": "0"}
    for k in range(4):  # one of each topic at a time: they wait in queues of one
        for topic, messages in bad.items():
            if k < len(messages):
                publishers[topic].publish(messages[k])
                counts["refused" if topic == "joint_commands" else f"refused on {topic}"] = str(k + 1)
        ros.wait(lambda: counts.items() <= diagnosed(reports, "commands").items(), what=f"the refusals {counts}")
    report = diagnosed(reports, "commands")
    assert report["level"] == 1 and "old" in report["last refusal"]
    assert "10 times the robot's weight" in report["last refusal on external_wrench"]
    assert np.array_equal(node.loop.latest.q, start)
    # and a good one moves it, with its loop closed
    at = node.loop.plant.model.q_index(motor).start
    publishers["set_state"].publish(JointState(name=[motor], position=[float(start[at]) + 0.1]))
    ros.wait(lambda: node.loop.latest.q[at] != start[at], what="the new pose")
    assert node.loop.plant.dynamics.constraints.closure_error(node.loop.latest.q) < 1e-10


def test_a_motion_that_diverges_is_an_error_with_the_last_good_state_and_reset_leads_back(ros):
    states = ros.collect(JointState, "joint_states", 2000)
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    node = made(ros, robot="pa10")
    plant = node.loop.plant
    ros.wait(lambda: states, what="a state")
    node.loop.post(lambda: plant.push("link_7", [9e5, 0, 0, 0, 0, 0], 0.1))  # where bounds do not refuse it
    ros.wait(lambda: diagnosed(reports, "physics").get("level") == 2, what="the error")
    assert "~/reset" in diagnosed(reports, "physics")["message"]
    count = len(states)
    ros.wait(lambda: len(states) > count + 2, what="the last good state, again and again")
    assert states[-1].position == states[-2].position
    assert max(abs(x) for s in states for x in s.velocity) < 1000.0 * math.pi  # half a turn in a step
    assert node.failure is None
    assert call(ros, "reset").success
    began = plant.steps
    ros.wait(lambda: plant.steps > began + 100, what="motion after the reset")
    assert plant.failure is None


def test_a_description_from_a_topic_is_taken_as_the_robot_and_a_missing_one_ends_the_node_with_the_fix(ros):
    late = made(ros, description_timeout=0.3)
    assert "robot:=pa10" in str(ros.wait(lambda: late.failure, what="the failure"))
    ros.remove(late)
    states = ros.collect(JointState, "joint_states")
    node = ros.add(DynamicsNode(context=ros.context))
    assert set_parameter(ros, "initial_positions", [0.1] * 7).successful, "checked once the robot is known"
    described = ros.publisher(String, "robot_description", qos.LATCHED)
    described.publish(String(data=ada.load("pa10").source))
    ros.wait(lambda: states, what="states of the robot described")
    assert len(states[0].name) == 7
    ros.remove(node)
    described.publish(String(data="<robot/>"))
    unusable = made(ros)
    assert "robot" in str(ros.wait(lambda: unusable.failure, what="the failure"))


def test_the_node_is_the_clock(ros):
    ticks = ros.collect(Clock, "/clock", qos.CLOCK)
    node = made(ros, robot="pa10", publish_clock=True)
    ros.wait(lambda: len(ticks) > 20, what="a clock")
    times = [t.clock.sec + 1e-9 * t.clock.nanosec for t in ticks]
    assert times == sorted(times)
    saved = {name.replace(".", "__"): one.value for name, one in node.get_parameters_by_prefix("").items()}
    ros.remove(node)
    assert made(ros, **saved).loop, "with the file of ros2 param dump"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_node_that_compiles_before_launch_kills_it(ros, number):
    code = (
        "import sys, threading; from ada_robot.node.dynamics_node import DynamicsNode, run_node; "
        "sys.exit(run_node(lambda: DynamicsNode(simulate=lambda *_: threading.Event().wait())))"
    )
    process = ros.start(sys.executable, "-c", code, "--ros-args", "-p", "robot:=four_bar")
    ros.wait(lambda: "compiling" in process.output, what="word of it")
    process.signal(number)
    assert process.wait(limit=10.0) == 0, process.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_modules_are_imported_ends_a_node_cleanly(ros, number):
    """Once rclpy is there, whose wheel starts Python once more."""
    process = ros.start(sys.executable, "-X", "importtime", "-m", "ada_tools.nodes", "dynamics_node")
    ros.wait(lambda: "rclpy.node" in process.output, what="the imports")
    process.signal(number)
    assert process.wait() == 0 and "KeyboardInterrupt" not in process.output, process.output[-3000:]


def test_a_node_with_an_empty_cache_ends_while_it_compiles_loops(ros, tmp_path):
    process = ros.start(*NODE, "-p", "robot:=delta", environment={"ADA_CACHE_DIR": str(tmp_path)})
    ros.wait(lambda: "compiling" in process.output, what="word of it")
    assert process.stop() == 0, process.output
    assert "compiled in" not in process.output
