# SPDX-License-Identifier: Apache-2.0
"""The view node over real DDS: what it shows of a robot, what it asks for, and how it bears that the plant goes."""

import signal
import socket
import sys
import urllib.request
from functools import partial

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.robots.catalogue import start_of_mechanism

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")
pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

import page_world
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Point, WrenchStamped
from page_world import described, state_message
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker, MarkerArray

from ada_dynamics.drawing.marks import KeptMarks, Kind, Mark
from ada_robot.messages.markers import MarkerMessages, read_markers
from ada_robot.messages.state_message import read_state
from ada_robot.ros.qos import COMMANDS, LATCHED, SENSOR, STATES
from ada_tools.browser import robot_page
from ada_tools.browser.grabs import Pull
from ada_tools.browser.page import Page
from ada_tools.nodes.view import node_requests
from ada_tools.nodes.view_node import main

pytestmark = pytest.mark.ros

VIEW = (sys.executable, "-m", "ada_tools.nodes.view_node", "--ros-args", "-p", "open_browser:=false")


class StandIn(Node):
    """Real messages and services of a plant, without physics: it sends whatever it was told last, 50 times a second."""

    def __init__(self, context, sends_state=True, **parameters):
        super().__init__("dynamics_node", context=context)
        for parameter, value in parameters.items():
            self.declare_parameter(parameter, value)
        self.declare_parameter("real_time_factor", 1.0)
        self.add_on_set_parameters_callback(self._judge)
        self.asked, self.pushed, self.commanded, self.posed = [], [], [], []
        self.message, self.refusal = None, ""
        self.described = self.create_publisher(String, "robot_description", LATCHED)
        self.states = self.create_publisher(Float64MultiArray, "~/state", STATES) if sends_state else None
        self.joints = self.create_publisher(JointState, "joint_states", STATES)
        self.create_subscription(WrenchStamped, "~/external_wrench", self.pushed.append, STATES)
        self.create_subscription(JointState, "~/set_state", self.posed.append, COMMANDS)
        self.create_subscription(JointState, "joint_commands", self.commanded.append, COMMANDS)
        self.create_service(SetBool, "~/pause", lambda r, a: self._answer(("pause", r.data), a))
        self.create_service(Trigger, "~/step", lambda _, a: self._answer("step", a))
        self.create_service(Trigger, "~/reset", lambda _, a: self._answer("reset", a))
        self.t, self.q, self.v, self.goes_on = 0.0, None, None, False
        self.create_timer(0.02, self._send)

    def describe(self, model, q=None):
        self.model = model
        self.q = model.neutral() if q is None else np.asarray(q, dtype=float)
        self.v = np.zeros(model.nv)
        self.described.publish(String(data=described(model)))

    def _judge(self, parameters):
        from rcl_interfaces.msg import SetParametersResult

        self.asked.append((parameters[0].name, parameters[0].value))
        return SetParametersResult(successful=not self.refusal, reason=self.refusal)

    def _answer(self, what, answer):
        self.asked.append(what)
        answer.success, answer.message = not self.refusal, self.refusal
        return answer

    def _send(self):
        if self.q is None:
            return
        self.t += 0.02 if self.goes_on else 0.0
        joints = JointState(name=self.model.joint_names, position=self.q[-len(self.model.joint_names) :].tolist())
        joints.header.stamp.sec, joints.header.stamp.nanosec = int(self.t), int(self.t % 1 * 1e9)
        self.joints.publish(joints)
        if self.states:
            self.states.publish(state_message(self.t, self.q, self.v, np.zeros(len(self.v))))


@pytest.fixture
def view(ros):
    return partial(page_world.view, ros)


def on_page(ros, node, action):
    """What an action of the page's thread returns; it goes first through the queue, as a click does."""
    found = []
    node.page.note(object(), lambda: found.append((action(),)))
    return ros.wait(lambda: found, what="the page's thread")[0][0]


def robot_of(ros, node):
    return ros.wait(lambda: node.failure or node.shown.robot, 20.0, "the robot on the page")


# --- messages -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("labels", "sizes", "data", "reason"),
    [
        (["t", "q", "v"], [1, 1, 1], [0.0, 0.0, 0.0], "dimensions are"),
        ([], [], [1.0], "dimensions are"),
        (["t", "q", "v", "tau"], [2, 1, 1, 1], [0.0] * 5, "one number for t"),
        (["t", "q", "v", "tau"], [1, 1, 1, 1], [0.0] * 5, "5 numbers, but its dimensions say 4"),
        (["t", "q", "v", "tau"], [1, 1, 1, 1], [0.0, np.nan, 0.0, np.inf], "2 of its 4 numbers are not finite"),
    ],
)
def test_a_state_message_of_the_wrong_shape_is_refused(labels, sizes, data, reason):
    with pytest.raises(ada.InputError, match=reason):
        read_state(labels, sizes, data)


# --- what is shown --------------------------------------------------------------------------------------------------
def test_the_robot_moves_on_the_page_as_its_exact_state_does(ros, view):
    plant = ros.add(StandIn(ros.context))
    model = ada.load("pa10", base="floating")
    q, _ = model.random_state(np.random.default_rng(3))
    plant.describe(model, q)
    node = view()
    robot = robot_of(ros, node)
    ros.wait(lambda: np.array_equal(robot.q, q), what="the pose, bit for bit")
    assert robot.model.nq == 14  # the state has as many: the base floats
    q2 = model.integrate(q, np.full(model.nv, 0.1))
    plant.q, plant.goes_on = q2, True
    ros.wait(lambda: np.array_equal(robot.q, q2), what="the next pose")
    hand = robot.model.link_names[-1]
    ros.wait(
        lambda: np.allclose(robot.scene.poses[hand], ada.Dynamics(model).pose(hand, q2), atol=1e-12), what="its drawing"
    )
    ros.wait(lambda: robot.is_playing, what="time that goes on")
    ros.wait(lambda: 20.0 < node.link.rate() < 80.0, what="a rate near 50 Hz")
    plant.goes_on = False
    ros.wait(lambda: ", paused" in robot.status.content, what="a pause that is seen")
    bad = ros.matched(ros.publisher(Float64MultiArray, "dynamics_node/state", STATES))
    for data in ([], [float("nan")] * 22, [0.0] * 3):
        bad.publish(Float64MultiArray(data=data))
    bad.publish(state_message(0.0, np.full(14, np.nan), np.zeros(13), np.zeros(13)))
    plant.q = q
    ros.wait(lambda: np.array_equal(robot.q, q), what="the next good state")
    assert node.failure is None


@pytest.mark.smoke
def test_without_an_exact_state_joint_states_and_tf_are_shown(ros, view):
    tf = pytest.importorskip("tf2_msgs.msg", reason="tf2_msgs is not built: python -m ada_robot.interfaces")
    from geometry_msgs.msg import TransformStamped

    plant = ros.add(StandIn(ros.context, sends_state=False))
    model = ada.load("pa10")
    plant.describe(model, 0.1 * np.arange(7))
    transforms = ros.publisher(tf.TFMessage, "/tf", STATES)
    base = TransformStamped(child_frame_id=model.root)
    base.header.frame_id = "odom"
    base.transform.translation.z = 0.7
    ros.tester.create_timer(0.02, lambda: transforms.publish(tf.TFMessage(transforms=[base])))
    node = view()
    ros.wait(lambda: node.shown.robot and node.shown.robot.model.nq == 14, 20.0, "a robot that floats")
    robot = node.shown.robot
    expected = [0, 0, 0.7, 0, 0, 0, 1, *0.1 * np.arange(7)]
    ros.wait(lambda: np.allclose(robot.q, expected, atol=1e-12), what="its pose")


def test_joint_states_alone_are_enough_for_a_fixed_robot_and_malformed_ones_do_no_harm(ros, view):
    plant = ros.add(StandIn(ros.context, sends_state=False))
    model = ada.load("four_bar")
    q = ada.assemble(model, start_of_mechanism("four_bar"))
    plant.describe(model, q)
    node = view()
    robot = robot_of(ros, node)
    ros.wait(lambda: np.array_equal(robot.q, q), what="its pose")
    bad = ros.matched(ros.publisher(JointState, "joint_states", STATES), 1)
    bad.publish(JointState(name=["joint_1", "joint_2"], position=[1.0]))
    bad.publish(JointState(name=["joint_1"], position=[float("nan")]))
    bad.publish(JointState(name=["stranger"], position=[1.0]))
    ros.wait(lambda: "No joints of this robot: stranger" in robot.status.content, what="a word on the stranger")
    np.testing.assert_array_equal(robot.q, q)
    assert node.failure is None


def test_a_plant_that_is_not_there_is_said_and_everything_comes_back_with_another_robot(ros, view, monkeypatch):
    monkeypatch.setattr(robot_page, "LOST", 0.3)
    node = view()
    ros.wait(lambda: "Waiting for the robot's description on topic **/robot_description**" in node.shown._said)
    plant = ros.add(StandIn(ros.context))
    plant.describe(ada.load("pa10"))
    robot = robot_of(ros, node)
    ros.wait(lambda: not robot.is_lost, what="its states")
    ros.remove(plant)
    ros.wait(lambda: "dynamics_node is gone" in " ".join(node.said), what="that the plant is missed")
    ros.wait(lambda: "has sent nothing for" in robot.status.content, what="the status line")
    on_page(ros, node, robot.toggle)
    ros.wait(lambda: "Is dynamics_node running?" in node.said[-1], what="a service that is missed")
    on_page(ros, node, robot.pushes.push)
    ros.wait(lambda: "nobody listens to /dynamics_node/external_wrench" in node.said[-1], what="a topic that is missed")
    again = ros.add(StandIn(ros.context))
    model = ada.load("four_bar")
    again.describe(model, ada.assemble(model, start_of_mechanism("four_bar")))
    ros.wait(lambda: node.shown.robot and node.shown.robot.model.loops, 20.0, "the other robot")
    ros.wait(lambda: np.array_equal(node.shown.robot.q, again.q), what="its pose")
    assert node.failure is None


def test_energies_are_those_in_the_gravity_of_the_plant(ros, view):
    moon = (0.0, 0.0, -1.62)  # a URDF cannot say it
    plant = ros.add(StandIn(ros.context, **{"model.gravity": list(moon)}))
    plant.describe(ada.load("pa10"))
    node = view()
    ros.wait(lambda: node.shown.robot and tuple(node.shown.robot.model.gravity) == moon, what="its gravity")


# --- what is asked for ----------------------------------------------------------------------------------------------
def test_a_service_that_never_answers_is_given_up(ros, view, monkeypatch):
    monkeypatch.setattr(node_requests, "PATIENCE", 0.3)
    silent = Node("silent", context=ros.context)  # offers the service, but nobody spins it
    silent.create_service(Trigger, "/dynamics_node/step", lambda _, answer: answer)
    node = view()
    ros.wait(node.link._simulation.clients["step"].service_is_ready, what="the service")
    answers = []
    node.link.step(answers.append)
    ros.wait(lambda: answers, what="the end of patience")
    assert "/dynamics_node/step did not answer within 0.3 s" in answers[0]
    silent.destroy_node()


def test_pushes_and_commands_and_poses_are_messages_that_the_plant_takes(ros, view):
    plant = ros.add(StandIn(ros.context))
    model = ada.load("pa10")
    plant.describe(model, 0.1 * np.arange(7))
    node = view()
    robot = robot_of(ros, node)
    ros.wait(lambda: node.link._pushes.get_subscription_count() and np.array_equal(robot.q, plant.q), what="the plant")
    on_page(ros, node, robot.pushes.push)
    ros.wait(lambda: plant.pushed, what="a wrench")
    message = plant.pushed[0]
    link, weight = message.header.frame_id, model.total_mass * 9.81
    force = np.array([getattr(message.wrench.force, axis) for axis in "xyz"])
    assert link == robot.pushes.link.value
    R = ada.Dynamics(model).pose(link, plant.q)[:3, :3]
    np.testing.assert_allclose(R @ force, [float(f"{0.5 * weight:.2g}"), 0, 0], atol=1e-9)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)  # counts from its arrival
    on_page(ros, node, lambda: robot.pushes.drag(Pull(link, "update", np.zeros(3), np.ones(3))))
    ros.wait(lambda: len(plant.pushed) > 3, what="a pull that goes on")
    on_page(ros, node, lambda: robot.pushes.drag(Pull(link, "end", np.zeros(3), np.ones(3))))
    ros.wait(lambda: plant.pushed[-1].wrench == WrenchStamped().wrench, what="its end")
    count = len(plant.pushed)
    for place in (0, 5):
        wrench = np.ones(6)
        wrench[place] = (np.nan, np.inf)[place > 0]
        with pytest.raises(ada.InputError, match=r"all six .* must be finite"):
            node.link.push(link, wrench)
    node.link.push(link, np.full(6, 2.0))
    ros.wait(lambda: plant.pushed[-1].wrench.force.x == 2.0, what="the one that is finite")
    assert len(plant.pushed) == count + 1

    assert ros.tester.count_publishers("joint_commands") == 0  # who commands nothing is nobody's rival
    on_page(ros, node, lambda: robot.commands.switch(True))
    ros.wait(lambda: len(plant.commanded) > 4, what="commands")
    assert plant.commanded[0].name == model.joint_names
    np.testing.assert_allclose(plant.commanded[0].position, plant.q, atol=1e-6)  # no jump
    assert list(plant.commanded[0].effort) == list(plant.commanded[0].velocity) == []
    on_page(ros, node, lambda: robot.commands.switch(False))
    ros.wait(lambda: ros.tester.count_publishers("joint_commands") == 0, what="the end of commands")


def test_pose_sliders_send_the_pose_of_all_joints_with_the_loops_closed(ros, view):
    plant = ros.add(StandIn(ros.context))
    model = ada.load("four_bar")
    plant.describe(model, ada.assemble(model, start_of_mechanism("four_bar")))
    node = view(pose_sliders=True)
    robot = robot_of(ros, node)
    ros.wait(node.link._poses.get_subscription_count, what="the plant")
    knob, slider = robot.pose_sliders.sliders[0]
    slider.value = 110.0
    on_page(ros, node, lambda: robot.pose_sliders.move(knob))
    ros.wait(lambda: plant.posed, what="a pose")
    at = dict(zip(plant.posed[0].name, plant.posed[0].position, strict=True))
    # opposite sides of the rhombus stay parallel
    expected = [np.radians(110.0), np.radians(-20.0), np.radians(200.0)]
    np.testing.assert_allclose([at[f"joint_{i}"] for i in (1, 2, 3)], expected, atol=1e-9)


def marker(space, number, kind, points=(), frame="world", **fields):
    made = Marker(ns=space, id=number, type=kind, points=[Point(x=x, y=y, z=z) for x, y, z in points], **fields)
    made.header.frame_id = frame
    made.scale.x, made.scale.y, made.scale.z = 0.02, 0.05, 0.1
    made.color.r = made.color.a = 1.0
    return made


UP = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def test_markers_are_received_while_somebody_looks_and_vanish_when_deleted_or_old(ros, view, monkeypatch):
    plant = ros.add(StandIn(ros.context, world_frame=""))
    plant.describe(ada.load("pa10"))
    sender = plant.create_publisher(MarkerArray, "~/markers", STATES)
    node = view()
    robot = robot_of(ros, node)
    on_page(ros, node, lambda: None)
    assert sender.get_subscription_count() == 0  # nobody looks: the plant need not work out anything
    monkeypatch.setattr(Page, "is_looked_at", True)
    ros.matched(sender)

    def drawn():
        return [mark.space for mark in on_page(ros, node, node.link.marks)]

    brief = Duration(nanosec=300_000_000)
    for_ever = marker("contact", 0, Marker.ARROW, UP)
    moved = marker("zmp", 0, Marker.SPHERE)
    moved.pose.position.x = 2.0
    sender.publish(
        MarkerArray(markers=[for_ever, moved, marker("support", 0, Marker.LINE_STRIP, (*UP, UP[0]), lifetime=brief)])
    )
    ros.wait(lambda: set(robot.marks.boxes) == {"contact", "zmp", "support"}, what="the boxes")
    ros.wait(lambda: drawn() == ["contact", "zmp"], what="the end of the brief one")
    np.testing.assert_array_equal(on_page(ros, node, node.link.marks)[1].points, [[2.0, 0, 0]])
    sender.publish(MarkerArray(markers=[marker("contact", 0, Marker.ARROW, action=Marker.DELETE)]))
    ros.wait(lambda: drawn() == ["zmp"], what="the deletion")
    sender.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    ros.wait(lambda: drawn() == [], what="the deletion of all")

    for box in robot.marks.boxes.values():
        box.value = False
    on_page(ros, node, robot.marks._choose)
    ros.wait(lambda: sender.get_subscription_count() == 0, what="the end of the subscription")
    assert node.failure is None


def test_markers_that_cannot_be_drawn_are_left_out_and_named_once(ros, view, monkeypatch):
    monkeypatch.setattr(Page, "is_looked_at", True)
    plant = ros.add(StandIn(ros.context, world_frame="hall"))
    plant.describe(ada.load("pa10"))
    sender = plant.create_publisher(MarkerArray, "~/markers", STATES)
    node = view()
    robot_of(ros, node)
    ros.wait(lambda: node.link._known.get("world_frame") == "hall", what="the frame of the world")
    ros.matched(sender)
    nan = marker("nan", 0, Marker.ARROW, ((0.0, 0.0, float("nan")), UP[1]), frame="hall")
    markers = [
        marker("far", 0, Marker.ARROW, UP, frame="odom"),
        marker("far", 1, Marker.ARROW, UP, frame="odom"),
        marker("text", 0, Marker.TEXT_VIEW_FACING, frame="hall"),
        marker("short", 0, Marker.ARROW, UP[:1], frame="hall"),
        nan,
        marker("good", 0, Marker.ARROW, UP, frame="hall"),
    ]
    for _ in range(3):
        sender.publish(MarkerArray(markers=markers))
    ros.wait(lambda: [mark.space for mark in on_page(ros, node, node.link.marks)] == ["good"], what="the good one")
    named = [text for text in node.link._complained if "a marker" in text]
    assert len(named) == 4
    assert sum("is in frame 'odom'; seen are those in hall" in text for text in named) == 1
    assert node.failure is None


def test_a_marker_is_read_as_it_was_written():
    marks = [
        Mark("contact", 3, Kind.ARROW, np.array(UP), (0.125, 0.25, 0.5), (1.0, 0.5, 0.0, 1.0)),
        Mark("zmp", 0, Kind.SPHERE, np.array([[1.0, 2.0, 3.0]]), (0.5,), (0.0, 0.0, 1.0, 0.5)),
        Mark("support", 0, Kind.LINE, np.array([*UP, UP[0]]), (0.25,), (0.5, 0.0, 0.0, 1.0)),
    ]
    message = MarkerMessages("odom", 0.25).message(marks, 0)
    kept, problems = KeptMarks(), []
    read_markers(message, kept, 10.0, ("odom",), problems.append)
    assert problems == []
    for mark, read in zip(marks, kept.present(10.25), strict=True):
        assert read._replace(points=None) == mark._replace(points=None)
        np.testing.assert_array_equal(read.points, mark.points)
    assert kept.present(10.26) == []
    turned = message.markers[0]  # a quarter turn about x, and a metre along it
    turned.pose.orientation.x = turned.pose.orientation.w = 1.0
    turned.pose.position.x = 1.0
    read_markers(MarkerArray(markers=[turned]), kept, 20.0, ("odom",), problems.append)
    np.testing.assert_allclose(kept.present(20.0)[0].points, [[1, 0, 0], [1, -1, 0]], atol=1e-15)


# --- start and end --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly_and_its_port_is_free_then(ros, number):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        process = ros.start(*VIEW, "-p", f"port:={port}")
        ros.wait(lambda: "view: http://127.0.0.1:" in process.output, 20.0, "the address")
    assert f"port {port} of 127.0.0.1 is taken" in process.output
    own = int(process.output.split("view: http://127.0.0.1:")[1].split()[0])
    assert own != port
    with urllib.request.urlopen(f"http://127.0.0.1:{own}", timeout=10) as page:
        assert page.status == 200
    process.signal(number)
    assert process.wait() == 0, process.output
    assert "Traceback" not in process.output
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", own))


@pytest.mark.parametrize(
    ("parameter", "reason"),
    [
        ("port:=70000", "port"),
        ("base:=hovering", "base"),
        ("host:='no such host!'", "is no address"),
        ("prot:=8081", "Did you mean 'port'"),
    ],
)
def test_a_wrong_parameter_is_one_line_and_exit_code_2(ros, capsys, parameter, reason):
    assert main(["--ros-args", "-p", "open_browser:=false", "-p", parameter]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), reason in err) == ("", 1, True)


def test_a_mistake_of_the_page_ends_the_node_with_exit_code_1(ros, view):
    node = view()
    node.page.note("mistake", lambda: 1 / 0)
    ros.wait(lambda: node.failure, what="the failure")
    assert isinstance(node.failure, ZeroDivisionError)


# --- the real plant -------------------------------------------------------------------------------------------------
def test_it_shows_pauses_pushes_and_commands_the_dynamics_node(ros, view, monkeypatch):
    command = (sys.executable, "-m", "ada_robot.node.dynamics_node", "--ros-args", "-p", "robot:=pa10")
    process = ros.start(*command)
    states = ros.collect(Float64MultiArray, "dynamics_node/state", SENSOR)
    node = view()
    ros.wait(lambda: node.shown.robot and node.shown.robot.is_playing, 30.0, "the robot, which moves")
    robot = node.shown.robot
    ros.wait(lambda: 0.5 < robot.motion.factor < 1.5, what="its pace")
    ros.wait(lambda: node.link.parameters().get("real_time_factor") == 1.0, what="its parameters")

    def pauses():
        """As soon as the button says so."""
        return robot.is_playing and (robot.toggle() or True)

    ros.wait(lambda: on_page(ros, node, pauses), what="a button that pauses")
    ros.wait(lambda: ", paused" in robot.status.content, what="a pause")
    ros.wait(lambda: len(states) > 2 and states[-1].data[0] == states[-2].data[0] == robot.t, what="the last state")
    before = robot.t
    on_page(ros, node, robot.one_step)
    ros.wait(lambda: robot.t > before, what="one step")
    assert robot.t - before == pytest.approx(1e-3, abs=1e-9)
    robot.speed.value = "2"
    on_page(ros, node, robot.set_speed)
    ros.wait(lambda: node.link.parameters().get("real_time_factor") == 2.0, what="another pace")
    answers = []
    on_page(ros, node, lambda: node.link.set_speed(-1.0, answers.append))
    ros.wait(lambda: answers and "real_time_factor" in answers[0], what="a refusal in the node's words")
    on_page(ros, node, lambda: node.link.reset(answers.append))
    ros.wait(lambda: answers[1:] == [None] and not robot.v.any(), what="the start, at rest")
    robot.speed.value = "1"
    on_page(ros, node, robot.set_speed)
    on_page(ros, node, robot.toggle)
    ros.wait(lambda: robot.is_playing and robot.motion.is_going_on, what="that it goes on")
    start = robot.q.copy()
    on_page(ros, node, lambda: robot.commands.switch(True))
    robot.commands.sliders[0].value = 20.0
    ros.wait(lambda: robot.q[0] > start[0] + 0.1, 20.0, "a joint that follows its slider")
    on_page(ros, node, lambda: robot.commands.switch(False))
    speed = np.abs(robot.v).max()
    ros.wait(lambda: np.abs(robot.v).max() < 0.05 or speed < 0.05, 20.0, "a robot that holds its place")
    robot.pushes.strength.value = 300.0
    on_page(ros, node, robot.pushes.push)
    ros.wait(lambda: np.abs(robot.v).max() > 0.05, what="a push that moves it")
    assert node.said == []
    monkeypatch.setattr(robot_page, "LOST", 0.5)
    process.kill()
    ros.wait(lambda: any("is gone" in text for text in node.said), 20.0, "that it is missed")
    again = ros.start(*command)
    ros.wait(lambda: any("is back" in text for text in node.said), 30.0, "that it is back")
    assert states
    assert again.stop() == 0, again.output


def test_modules_that_share_a_page_with_ros_need_none_themselves():
    import subprocess

    code = (
        "import sys; import ada_tools.browser.remote, ada_tools.nodes.view.view_settings,"
        "ada_robot.messages.state_message; sys.exit('rclpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
