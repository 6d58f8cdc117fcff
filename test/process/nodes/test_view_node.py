# SPDX-License-Identifier: Apache-2.0
"""The view node over real DDS: what it shows of a robot, what it asks for, and that it bears the plant's end."""

import socket
import sys
import urllib.request
from contextlib import suppress
from functools import partial

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.robots.catalogue import start_of

pytest.importorskip("rclpy", reason="rclpy is not installed: pip install '.[ros]'")
pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

import page_world
from builtin_interfaces.msg import Duration
from controller_world import controller, plant
from geometry_msgs.msg import Point, WrenchStamped
from page_world import described, state_message
from rcl_interfaces.msg import Log
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from visualization_msgs.msg import Marker, MarkerArray

from ada_robot.ros.qos import COMMANDS, LATCHED, SENSOR, STATES
from ada_tools.browser.page import Page
from ada_tools.browser.scene import MouseDrag
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
        self.t, self.q, self.v, self.is_running = 0.0, None, None, False
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
        self.t += 0.02 if self.is_running else 0.0
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
    ros.wait(lambda: node.failure or node.shown.robot, what="the robot on the page")
    return node.shown.robot


class LookedAt(Page):
    """A page that a browser has open."""

    is_looked_at = True


def pull(robot):
    """A mouse that holds the last link and is far away along x."""
    link = robot.model.link_names[-1]
    at = robot.scene.poses[link][:3, 3]
    return MouseDrag(link, "update", at, at + np.array([10.0, 0.0, 0.0]))


def test_the_robot_moves_on_the_page_as_its_exact_state_does(ros, view):
    plant = ros.add(StandIn(ros.context))
    model = ada.load("pa10", base="floating")
    q, _ = model.random_state(np.random.default_rng(3))
    plant.describe(model, q)
    node = view()
    robot = robot_of(ros, node)
    ros.wait(lambda: np.array_equal(robot.now.q, q), what="the pose, bit for bit")
    assert robot.model.nq == 14  # the state has as many: the base floats
    q2 = model.integrate(q, np.full(model.nv, 0.1))
    plant.q, plant.is_running = q2, True
    ros.wait(lambda: np.array_equal(robot.now.q, q2), what="the next pose")
    hand = robot.model.link_names[-1]
    ros.wait(
        lambda: np.allclose(robot.scene.poses[hand], ada.Dynamics(model).pose(hand, q2), atol=1e-12), what="its drawing"
    )
    ros.wait(lambda: robot.is_playing, what="time that goes on")
    plant.is_running = False
    ros.wait(lambda: ", paused" in robot.status.content, what="a pause that is seen")
    bad = ros.matched(ros.publisher(Float64MultiArray, "dynamics_node/state", STATES))
    for data in ([], [float("nan")] * 22, [0.0] * 3):
        bad.publish(Float64MultiArray(data=data))
    bad.publish(state_message(0.0, np.full(14, np.nan), np.zeros(13), np.zeros(13)))
    plant.q = q
    ros.wait(lambda: np.array_equal(robot.now.q, q), what="the next good state")
    assert node.failure is None


@pytest.mark.smoke
def test_joint_states_alone_are_enough_for_a_fixed_robot_and_pose_sliders_close_the_loops(ros, view):
    plant = ros.add(StandIn(ros.context, sends_state=False))
    model = ada.load("four_bar")
    q = ada.close_loops(model, start_of("four_bar"))
    plant.describe(model, q)
    node = view(pose_sliders=True)
    robot = robot_of(ros, node)
    ros.wait(lambda: np.array_equal(robot.now.q, q), what="its pose")
    bad = ros.matched(ros.publisher(JointState, "joint_states", STATES))
    bad.publish(JointState(name=["joint_1", "joint_2"], position=[1.0]))
    bad.publish(JointState(name=["joint_1"], position=[float("nan")]))
    bad.publish(JointState(name=["stranger"], position=[1.0]))
    ros.wait(lambda: "Unknown joints: stranger" in robot.status.content, what="a word on the stranger")
    np.testing.assert_array_equal(robot.now.q, q)
    coordinate, slider = robot.pose_sliders.sliders[0]
    slider.value = 110.0
    ros.wait(lambda: on_page(ros, node, lambda: robot.pose_sliders.move(coordinate)) or plant.posed, what="a pose")
    at = dict(zip(plant.posed[0].name, plant.posed[0].position, strict=True))
    # opposite sides of the rhombus stay parallel
    expected = [np.radians(110.0), np.radians(-20.0), np.radians(200.0)]
    np.testing.assert_allclose([at[f"joint_{i}"] for i in (1, 2, 3)], expected, atol=1e-9)
    assert node.failure is None


def test_a_plant_that_is_not_there_is_said_and_everything_comes_back_with_another_robot(ros, view):
    node = view()
    plant = ros.add(StandIn(ros.context))
    plant.describe(ada.load("pa10"))
    robot = robot_of(ros, node)
    ros.wait(lambda: not robot.is_lost, what="its states")
    ros.remove(plant)
    ros.wait(lambda: "dynamics_node stopped sending" in " ".join(node.said), what="that the plant is missed")
    ros.wait(lambda: "has sent no state for" in robot.status.content, what="the status line")
    on_page(ros, node, robot.toggle)
    ros.wait(lambda: "Is dynamics_node running?" in node.said[-1], what="a service that is missed")
    on_page(ros, node, lambda: robot.pushes.drag(pull(robot)))
    ros.wait(lambda: "no subscriber on /dynamics_node/external_wrench" in node.said[-1], what="a topic that is missed")
    moon = (0.0, 0.0, -1.62)  # a URDF cannot say it
    again = ros.add(StandIn(ros.context, **{"model.gravity": list(moon)}))
    model = ada.load("four_bar")
    again.describe(model, ada.close_loops(model, start_of("four_bar")))

    def other():
        found = node.shown.robot
        is_other = found and found.model.loops and tuple(found.model.gravity) == moon
        return is_other and np.array_equal(found.now.q, again.q)

    ros.wait(other, what="the other robot, its gravity and its pose")
    assert node.failure is None


def test_pushes_and_commands_and_poses_are_messages_that_the_plant_takes(ros, view):
    plant = ros.add(StandIn(ros.context))
    model = ada.load("pa10")
    plant.describe(model, 0.1 * np.arange(7))
    node = view()
    robot = robot_of(ros, node)
    ros.wait(lambda: np.array_equal(robot.now.q, plant.q), what="the plant")
    ros.wait(lambda: on_page(ros, node, lambda: robot.pushes.drag(pull(robot))) or plant.pushed, what="a wrench")
    message = plant.pushed[0]
    link, weight = message.header.frame_id, model.total_mass * 9.81
    force = np.array([getattr(message.wrench.force, axis) for axis in "xyz"])
    R = ada.Dynamics(model).pose(link, plant.q)[:3, :3]
    np.testing.assert_allclose(R @ force, [0.5 * weight, 0, 0], atol=1e-9)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)  # counts from its arrival
    begun = len(plant.pushed)
    ros.wait(lambda: len(plant.pushed) > begun + 3, what="a pull that goes on")
    on_page(ros, node, lambda: robot.pushes.drag(pull(robot)._replace(phase="end")))
    ros.wait(lambda: plant.pushed[-1].wrench == WrenchStamped().wrench, what="its end")
    with pytest.raises(ada.InputError):
        node.link.push(link, [1.0, np.nan, 0.0, 0.0, 0.0, 0.0])

    assert ros.tester.count_publishers("joint_commands") == 0  # who commands nothing is nobody's rival
    on_page(ros, node, lambda: robot.commands.switch(True))
    ros.wait(lambda: len(plant.commanded) > 4, what="commands")
    assert plant.commanded[0].name == model.joint_names
    np.testing.assert_allclose(plant.commanded[0].position, plant.q, atol=1e-6)  # no jump
    assert list(plant.commanded[0].effort) == list(plant.commanded[0].velocity) == []
    on_page(ros, node, lambda: robot.commands.switch(False))
    ros.wait(lambda: ros.tester.count_publishers("joint_commands") == 0, what="the end of commands")


def marker(space, number, kind, points=(), frame="hall", **fields):
    made = Marker(ns=space, id=number, type=kind, points=[Point(x=x, y=y, z=z) for x, y, z in points], **fields)
    made.header.frame_id = frame
    made.scale.x, made.scale.y, made.scale.z = 0.02, 0.05, 0.1
    made.color.r = made.color.a = 1.0
    return made


UP = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def test_markers_are_received_while_somebody_looks_vanish_when_deleted_or_old_and_bad_ones_are_named_once(ros):
    plant = ros.add(StandIn(ros.context, world_frame="hall"))
    plant.describe(ada.load("pa10"))
    sender = plant.create_publisher(MarkerArray, "~/markers", STATES)
    logged = ros.collect(Log, "/rosout")
    node = page_world.view(ros, open_page=LookedAt)
    robot = robot_of(ros, node)
    ros.matched(sender)

    def drawn():
        return [mark.space for mark in on_page(ros, node, lambda: node.link.marks(()))]

    brief = Duration(nanosec=300_000_000)
    for_ever = marker("contact", 0, Marker.ARROW, UP)
    moved = marker("zmp", 0, Marker.SPHERE)
    moved.pose.position.x = 2.0
    strip = marker("support", 0, Marker.LINE_STRIP, (*UP, UP[0]), lifetime=brief)
    bad = [
        marker("far", 0, Marker.ARROW, UP, frame="odom"),
        marker("far", 1, Marker.ARROW, UP, frame="odom"),
        marker("text", 0, Marker.TEXT_VIEW_FACING),
        marker("short", 0, Marker.ARROW, UP[:1]),
        marker("nan", 0, Marker.ARROW, ((0.0, 0.0, float("nan")), UP[1])),
    ]

    def is_sent():  # again and again, until the view knows the frame of the world
        sender.publish(MarkerArray(markers=[for_ever, moved, strip, *bad]))
        return set(robot.marks.boxes) == {"contact", "zmp", "support"}

    ros.wait(is_sent, what="the boxes")
    ros.wait(lambda: drawn() == ["contact", "zmp"], what="the end of the brief one")
    np.testing.assert_array_equal(on_page(ros, node, lambda: node.link.marks(()))[1].points, [[2.0, 0, 0]])

    def named():
        return [one.msg for one in logged if "a marker" in one.msg and one.name == "view_node"]

    ros.wait(lambda: len(named()) >= 4, what="the bad ones in the log")
    assert len(set(named())) == len(named()) == 4, "each once"
    sender.publish(MarkerArray(markers=[marker("contact", 0, Marker.ARROW, action=Marker.DELETE)]))
    ros.wait(lambda: drawn() == ["zmp"], what="the deletion")
    sender.publish(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
    ros.wait(lambda: drawn() == [], what="the deletion of all")
    node.link.watch_marks(False)
    ros.wait(lambda: sender.get_subscription_count() == 0, what="the end of the subscription")
    assert node.failure is None


def test_a_signal_ends_it_cleanly_and_its_port_is_free_then(ros):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen(1)
        port = taken.getsockname()[1]
        process = ros.start(*VIEW, "-p", f"port:={port}")
        ros.wait(lambda: "view: http://127.0.0.1:" in process.output, what="the address")
    assert f"port {port} is in use" in process.output
    own = int(process.output.split("view: http://127.0.0.1:")[1].split()[0])
    assert own != port
    with urllib.request.urlopen(f"http://127.0.0.1:{own}", timeout=60) as page:
        assert page.status == 200
    assert process.stop() == 0, process.output
    assert "Traceback" not in process.output
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", own))


def test_wrong_parameters_are_one_line_and_exit_code_2_and_a_mistake_of_the_page_ends_the_node(ros, view, capsys):
    for parameter in ("port:=70000", "base:=hovering", "host:='no such host!'", "prot:=8081"):
        assert main(["--ros-args", "-p", "open_browser:=false", "-p", parameter]) == 2
        out, err = capsys.readouterr()
        # threads of other tests may log a line of their own meanwhile
        messages = [line for line in err.splitlines() if parameter.split(":")[0] in line]
        assert (out, len(messages), "Traceback" in err) == ("", 1, False), err
    node = view()
    node.page.note("mistake", lambda: 1 / 0)
    ros.wait(lambda: node.failure, what="the failure")
    assert isinstance(node.failure, ZeroDivisionError)


def test_it_shows_pauses_pushes_and_commands_the_dynamics_node(ros, view):
    command = (sys.executable, "-m", "ada_robot.node.dynamics_node", "--ros-args", "-p", "robot:=pa10")
    process = ros.start(*command)
    states = ros.collect(Float64MultiArray, "dynamics_node/state", SENSOR)
    node = view()
    ros.wait(lambda: node.shown.robot and node.shown.robot.is_playing, what="the robot, which moves")
    robot = node.shown.robot
    ros.wait(lambda: node.link.parameters.get("real_time_factor") == 1.0, what="its parameters")
    ros.wait(lambda: len(states) > 100 and robot.now.t >= states[0].data[0], what="the physics, after its compilation")

    def pauses():
        return robot.is_playing and (robot.toggle() or True)

    ros.wait(lambda: on_page(ros, node, pauses), what="a button that pauses")
    ros.wait(lambda: ", paused" in robot.status.content, what="a pause")
    ros.wait(lambda: len(states) > 2 and states[-1].data[0] == states[-2].data[0] == robot.now.t, what="the last state")
    before = robot.now.t
    on_page(ros, node, robot.one_step)
    ros.wait(lambda: robot.now.t > before, what="one step")
    assert robot.now.t - before == pytest.approx(1e-3, abs=1e-9)
    robot.speed.value = "2"
    on_page(ros, node, robot.set_speed)
    ros.wait(lambda: node.link.parameters.get("real_time_factor") == 2.0, what="another pace")
    answers = []
    on_page(ros, node, lambda: node.link.set_speed(-1.0, answers.append))
    ros.wait(lambda: answers and "real_time_factor" in answers[0], what="a refusal in the node's words")
    on_page(ros, node, lambda: node.link.ask("reset", answers.append))
    ros.wait(lambda: answers[1:] == [None] and not robot.now.v.any(), what="the start, at rest")
    robot.speed.value = "1"
    on_page(ros, node, robot.set_speed)
    on_page(ros, node, robot.toggle)
    ros.wait(lambda: robot.is_playing and robot.motion.is_running, what="that it goes on")
    start = robot.now.q.copy()
    on_page(ros, node, lambda: robot.commands.switch(True))
    robot.commands.sliders[0].value = 20.0
    robot.commands.wanted.add(0)  # as if a user had moved it
    ros.wait(lambda: robot.now.q[0] > start[0] + 0.1, what="a joint that follows its slider")
    on_page(ros, node, lambda: robot.commands.switch(False))
    speed = np.abs(robot.now.v).max()
    ros.wait(lambda: np.abs(robot.now.v).max() < 0.05 or speed < 0.05, what="a robot that holds its place")
    on_page(ros, node, lambda: robot.pushes.drag(pull(robot)))
    ros.wait(lambda: np.abs(robot.now.v).max() > 0.05, what="a pull that moves it")
    on_page(ros, node, lambda: robot.pushes.drag(pull(robot)._replace(phase="end")))
    assert not [text for text in node.said if "stopped sending" not in text and "sends again" not in text], "no refusal"
    process.kill()
    ros.wait(lambda: any("stopped sending" in text for text in node.said), what="that it is missed")
    again = ros.start(*command)
    ros.wait(lambda: any("sends again" in text for text in node.said), what="that it is back")
    assert states
    assert again.stop() == 0, again.output


def test_the_view_shows_a_robot_with_a_prefix_and_pushes_it_in_its_own_frame(ros):
    pushed = ros.collect(WrenchStamped, "dynamics_node/external_wrench")
    simulated = plant(ros, frame_prefix="left/", idle="release")
    controller(ros, frame_prefix="left/", controller="pose_servo", pose_servo__link="flange", wait=True)
    view = page_world.view(ros, frame_prefix="left/")
    ros.wait(lambda: view.failure or view.shown.robot, what="the robot on the page")
    assert view.failure is None
    # What the page's thread asks of its links, in names of links of the model.
    target = ros.wait(view.controller.target_pose, what="the target")
    assert target.frame == ada.load("pa10").root
    view.link.watch_marks(True)
    ros.wait(lambda: view.link.marks(()), what="marks that are in the robot's own world")
    ros.wait(lambda: ros.tester.count_subscribers("dynamics_node/external_wrench") > 1, what="the plant to listen")

    def is_turned():
        with suppress(ada.InputError):  # nobody listens yet
            view.link.push("flange", [0.0, 300.0, 0.0, 0.0, 0.0, 0.0])  # turns s1, on which gravity does no work
        return abs(simulated.loop.latest.v[0]) > 0.05

    ros.wait(is_turned, what="the pushed arm")
    assert pushed[0].header.frame_id == "left/flange"
