# SPDX-License-Identifier: Apache-2.0
"""Messages to the nodes, as bytes from DDS: everything that a node does with one, but for the way through DDS itself.

The nodes' own parts are at work, joined to a real node; what they would hand to their threads is done at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

import numpy as np
import rclpy
from geometry_msgs.msg import Point, PoseStamped, WrenchStamped
from rclpy.context import Context
from rclpy.node import Node
from rclpy.serialization import serialize_message
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import Marker, MarkerArray

from ada_controllers.node.control_thread import ControlThread
from ada_controllers.node.controller_settings import ControllerSettings
from ada_controllers.node.following import Following
from ada_controllers.node.inputs import PhaseInput
from ada_controllers.node.requests import ReferenceInputs
from ada_controllers.registry import make
from ada_controllers.running.control_loop import ControlLoop, LoopSettings
from ada_controllers.running.state_filter import ReceivedState
from ada_controllers.state import State
from ada_dynamics.drawing.marks import MarkStore
from ada_dynamics.errors import AdaError
from ada_robot.messages.incoming import LABELS, command_of
from ada_robot.messages.markers import read_markers
from ada_robot.node.command_inputs import CommandInputs
from ada_robot.node.joint_commands import JointCommands
from ada_robot.node.plant_loop import PlantLoop
from ada_robot.ros.inbox import decoded
from ada_robot.settings import checked
from ada_robot.simulated.plant import Plant
from ada_robot.simulated.settings import DynamicsSettings
from ada_robot.simulated.source import load_robot, simulation_of
from trials.fuzz.target import Target
from trials.fuzz.targets.files import PHASES

T = TypeVar("T")

_ROBOT = {"robot": "planar_3r", "idle": "release"}
_JOINTS = ["joint_1", "joint_2", "joint_3"]
_NOW = 1000.0  # [s]


class _Letters:
    """An inbox whose messages come from here."""

    topic = "a_topic"

    def __init__(self) -> None:
        self.next: list[Any] = []

    def fetch(self) -> list[Any]:
        given, self.next = self.next, []
        return given


class _PlantAtOnce(PlantLoop):
    """A loop whose thread never starts."""

    def post(self, action: Callable[[], T]) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(action())
        except AdaError as problem:
            done.set_exception(problem)
        return done


class _ControlAtOnce(ControlThread):
    """A control thread that executes requests at once."""

    def ask(self, action: Callable[[], T]) -> T:
        return action()


@cache
def _node() -> Node:
    context = Context()
    rclpy.init(args=[], context=context, signal_handler_options=SignalHandlerOptions.NO)
    options = {"use_global_arguments": False, "enable_rosout": False, "start_parameter_services": False}
    return Node("fuzz", context=context, **options)


# --- commands: the dynamics node, and the hardware node ---------------------------------------------------------------
class _Simulated:
    """The inputs of a dynamics node, and its plant."""

    def __init__(self) -> None:
        settings = checked(DynamicsSettings, _ROBOT)
        model = load_robot(settings)
        self._plant = Plant(simulation_of(model, settings), idle=settings.idle)
        self._start = self._plant.snapshot()
        loop = _PlantAtOnce(self._plant, lambda _: None)
        self.inputs = CommandInputs(_node(), loop, settings, lambda: _NOW)
        self.device = JointCommands(self._plant.bounds.limits(model.joint_names), frozenset())

    def reset(self) -> CommandInputs:
        self._plant.reset(self._start.q, self._start.v)
        return self.inputs

    def go_on(self) -> None:
        """Check that an accepted command moves the robot within its bounds."""
        self._plant.advance(2)
        assert self._plant.bounds.diverged(self._plant.simulation.q, self._plant.simulation.v) == ""


@cache
def _simulated() -> _Simulated:
    return _Simulated()


def _joint_command(data: bytes) -> None:
    message, world = decoded(data, JointState), _simulated()
    inputs = world.reset()
    inputs._command(message)
    world.go_on()
    inputs._set_state(message)
    world.go_on()
    world.device.demand(command_of(message), _NOW, world.inputs._loop.plant.simulation.q)


def _trajectory(data: bytes) -> None:
    message, world = decoded(data, JointTrajectory), _simulated()
    world.reset()._trajectory(message)
    world.go_on()
    _controlled().begin()._trajectory(message)


def _wrench(data: bytes) -> None:
    message, world = decoded(data, WrenchStamped), _simulated()
    world.reset()._wrench(message)
    world.go_on()


# --- states and references: the controller node -----------------------------------------------------------------------
class _Controlled:
    """The inputs of a controller node, and its control loop."""

    def __init__(self) -> None:
        model = load_robot(checked(DynamicsSettings, _ROBOT))
        self.thread = {
            source: _ControlAtOnce(
                *(_node(), make("joint_trajectory", model), checked(ControllerSettings, {"state_source": source})),
                *(LoopSettings(), lambda _: None),
            )
            for source in ("joint_states", "state")
        }
        self.letters = {source: _Letters() for source in self.thread}
        for source, thread in self.thread.items():
            inputs: Any = thread.inputs
            inputs._inbox, inputs._wrenches = self.letters[source], _Letters()
        self._rest = State(np.zeros(model.nq), np.zeros(model.nv))
        self.references = ReferenceInputs(_node(), self.thread["joint_states"])
        self.phase = PhaseInput(_node(), "hardware_node", "/joint_states", lambda phase: None)

    def begin(self, source: str = "joint_states") -> ReferenceInputs:
        """At work, as if nothing had come so far but a good state."""
        thread = self.thread[source]
        thread.control = ControlLoop(thread.control.controller, LoopSettings())
        thread.following = Following(thread.control)
        thread.control.step(ReceivedState(self._rest, 0.0), _NOW)
        thread.control.activate(_NOW)
        return self.references

    def hear(self, source: str, message: Any) -> None:
        """Measured state, and two commands that follow from it."""
        self.begin(source)
        thread = self.thread[source]
        for later in (0.01, 0.02):
            self.letters[source].next = [message]
            thread.control.step(thread.inputs.fetch(), _NOW + later)


@cache
def _controlled() -> _Controlled:
    return _Controlled()


def _state(data: bytes) -> None:
    message = decoded(data, Float64MultiArray)
    _controlled().hear("state", message)


def _joint_states(data: bytes) -> None:
    message = decoded(data, JointState)
    _controlled().hear("joint_states", message)
    _controlled().begin()._joints(message)


def _pose(data: bytes) -> None:
    message = decoded(data, PoseStamped)
    _controlled().begin()._pose(message)


def _text(data: bytes) -> None:
    _controlled().phase._report(decoded(data, String))


def _markers(data: bytes) -> None:
    kept = MarkStore()
    read_markers(decoded(data, MarkerArray), kept, 0.0, ["world"], lambda problem: None)
    kept.present(0.0)


# --- seeds ------------------------------------------------------------------------------------------------------------
_SOME = [0.1, 0.2, 0.3]
_FULL = JointState(name=_JOINTS, position=_SOME, velocity=_SOME, effort=_SOME)
_PART = JointState(name=_JOINTS[:1], velocity=[0.1])
_POINT = JointTrajectoryPoint(positions=_SOME, velocities=_SOME)
_POINT.time_from_start.sec = 1
_PATH = JointTrajectory(joint_names=_JOINTS, points=[_POINT])
_PUSH = WrenchStamped()
_PUSH.header.frame_id = "link_2"
_PUSH.wrench.force.x = 1.0
_POSE = PoseStamped()
_POSE.pose.orientation.w = 1.0
_NUMBERS = Float64MultiArray(data=[1.0, *_SOME, *_SOME, *_SOME])
_NUMBERS.layout.dim = [
    MultiArrayDimension(label=label, size=size) for label, size in zip(LABELS, (1, 3, 3, 3), strict=True)
]
_BALL = Marker(ns="a", type=Marker.SPHERE)
_BALL.header.frame_id = "world"
_BALL.scale.x = _BALL.color.a = 1.0
_LINE = Marker(ns="b", type=Marker.LINE_STRIP, points=[Point(), Point(x=1.0)], header=_BALL.header)
_LINE.scale.x = 0.1


_WORDS = (*_JOINTS, "link_2", "world", "map")


def _target(name: str, about: str, run: Callable[[bytes], None], *messages: Any) -> Target:
    """One whose seeds are tried before: then all that is made once is there, kernels too."""

    def seeds() -> Iterable[bytes]:
        return [serialize_message(message) for message in messages]

    def before() -> None:
        for one in seeds():
            run(one)

    return Target(f"msg_{name}", about, run, seeds, _WORDS, before=before, longest=1024)


TARGETS = (
    _target("joint_commands", "commands and states for joints (dynamics, hardware)", _joint_command, _FULL, _PART),
    _target("joint_trajectory", "trajectories (dynamics, controller)", _trajectory, _PATH),
    _target("wrench", "wrenches on links (dynamics)", _wrench, _PUSH),
    _target("state", "exact states (controller)", _state, _NUMBERS),
    _target("joint_states", "joint states and references (controller)", _joint_states, _FULL, _PART),
    _target("pose", "target poses (controller)", _pose, _POSE),
    _target("phases", "states of devices (controller)", _text, String(data=json.dumps(PHASES))),
    _target("markers", "markers (view)", _markers, MarkerArray(markers=[_BALL, _LINE])),
)
