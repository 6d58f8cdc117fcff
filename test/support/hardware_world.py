# SPDX-License-Identifier: Apache-2.0
"""A hardware node in the test's process, scripted robots, and requests to the node."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_world import Messages, overrides
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from waiting import LIMIT

from ada_robot.contract import Demand, JointLimit, Mode
from ada_robot.cycle.messages import Judged, RobotStatus
from ada_robot.driver import Alarm, Feedback
from ada_robot.errors import NoAnswer, Refused
from ada_robot.ros import qos
from ada_robot.safety.phases import Phase

ARM = ("s1", "s2", "s3", "e1", "e2", "w1", "w2")
AT = np.array([0.1, 0.7, 0.0, 0.8, 0.0, 0.3, 0.0])


class ScriptedRobot:
    """Replaces `ada_hardware.robot.Robot`: its phases change when the test asks, without a device."""

    def __init__(
        self, device: str = "pa10", settings: Any = None, safety: Any = None, *, place: str = "process"
    ) -> None:
        self.device, self.settings, self.safety, self.place = device, settings, safety, place
        self.joints = ARM
        self.limits = tuple(JointLimit(name, -3.0, 3.0, 1.0, 50.0) for name in ARM)
        self.modes = frozenset(Mode)
        self.period = 0.002
        self.phase, self.reason = Phase.CLOSED, ""
        self.told: list[Demand] = []
        self.calls: list[str] = []
        self.doors: dict[str, threading.Event] = {}
        self.answers: dict[str, Exception] = {}
        self.demand: Demand | None = None
        self.alarms: tuple[Alarm, ...] = ()
        self.refused: Counter[str] = Counter()
        self.last_refusal, self.refused_at = "", 0.0
        self.judged = Judged()
        self._was_stopped = False
        unknown = np.full(len(ARM), np.nan)
        self.feedback = Feedback(0.0, unknown, unknown, unknown, is_fresh=False)

    def measure(self, position: Any = AT, **fields: Any) -> None:
        still = np.zeros(len(ARM))
        self.feedback = replace(
            Feedback(time.monotonic(), np.array(position, dtype=float), still, still, is_driven=self.phase.is_driven),
            **fields,
        )

    def _asked(self, call: str) -> None:
        self.calls.append(call)
        door = self.doors.get(call)
        if door is not None and not door.wait(LIMIT):
            raise NoAnswer(f"the test did not open the door of {call}")
        if call in self.answers:
            raise self.answers.pop(call)

    def open(self, timeout: float = 20.0) -> None:
        self._asked("open")
        self.phase = Phase.STOPPED if self._was_stopped else Phase.INACTIVE
        self.measure()

    def activate(self, timeout: float = 10.0) -> None:
        if self.phase is not Phase.INACTIVE:
            raise Refused(f"it is {self.phase.value}")
        self.phase = Phase.STARTING
        self._asked("activate")
        if self._was_stopped:
            raise Refused(f"stopped: {self.reason}")
        self.phase = Phase.ACTIVE

    def command(self, mode: Mode, values: Any) -> float:
        return self.send(Demand(mode, np.array(values)))

    def send(self, demand: Demand) -> float:
        if self.phase is not Phase.ACTIVE:
            raise Refused("it is not active")
        if "command" in self.answers:
            self.refused["scripted"] += 1
            self.last_refusal, self.refused_at = str(self.answers["command"]), time.monotonic()
            raise self.answers["command"]
        self.demand = demand
        self.told.append(demand)
        now = time.monotonic()
        self.judged = Judged(now, now)
        return now

    def deactivate(self, timeout: float = 10.0) -> None:
        self._asked("deactivate")
        if self.phase in (Phase.STOPPED, Phase.CLOSED):
            raise Refused(f"it is {self.phase.value}")
        self.phase, self.demand = Phase.INACTIVE, None

    def stop(self, why: str = "asked to stop", timeout: float = 2.0) -> None:
        self.calls.append("stop")
        self._was_stopped, self.reason = True, why
        for door in self.doors.values():
            door.set()
        if "stop" in self.answers:
            raise self.answers["stop"]
        if self.phase is not Phase.CLOSED:
            self.fall(Phase.STOPPED, why)

    def lower_tool_speed(self, speed: float) -> None:
        self.calls.append(f"lower_tool_speed {speed}")

    def arm(self) -> None:
        self.calls.append("arm")

    def fall(self, phase: Phase, why: str) -> None:
        self.phase, self.reason, self.demand = phase, why, None

    def reset(self, timeout: float = 10.0) -> None:
        self._asked("reset")
        self.phase, self.reason, self.alarms, self._was_stopped = Phase.INACTIVE, "", (), False

    def close(self, timeout: float = 10.0) -> None:
        self._asked("close")
        self.phase, self.demand = Phase.CLOSED, None

    def status(self) -> RobotStatus:
        return RobotStatus(
            phase=self.phase,
            reason=self.reason,
            alarms=self.alarms,
            accepted=len(self.told),
            refused=self.refused,
            last_refusal=self.last_refusal,
            refused_at=self.refused_at,
            place=self.place,
        )


class Fleet:
    """The robots that a node makes, in its order."""

    def __init__(self) -> None:
        self.made: list[ScriptedRobot] = []
        self.doors: dict[str, threading.Event] = {}
        self.answers: dict[str, Exception] = {}

    def make(self, device: str, settings: Any, safety: Any, *, place: str) -> ScriptedRobot:
        """Make a robot as `ada_hardware.robot.Robot` does."""
        robot = ScriptedRobot(device, settings, safety, place=place)
        robot.doors, robot.answers = self.doors, dict(self.answers)
        self.made.append(robot)
        return robot

    def shut(self, what: str) -> threading.Event:
        """Make a call wait until the returned event is set."""
        self.doors[what] = threading.Event()
        return self.doors[what]

    def open_all(self) -> None:
        for door in self.doors.values():
            door.set()

    @property
    def robot(self) -> ScriptedRobot:
        return self.made[-1]


ONE = {"device": "pa10", "url": "udp://127.0.0.1:9", "tf_rate": 0.0}
TWO = {
    "devices": ["left", "right"],
    "left__kind": "pa10",
    "left__driver__url": "udp://127.0.0.1:9",
    "right__kind": "pa10",
    "right__driver__url": "udp://127.0.0.1:10",
    "right__prefix": "right/",
    "tf_rate": 0.0,
}


# Limits that a busy machine keeps; test/process/hardware has what happens where they are exceeded.
KHR1_PATIENT = {
    "device": "khr1",
    "khr1__safety__longest_gap": 1.0,
    "khr1__safety__max_missed": 1000,
    "khr1__safety__host_timeout": 30.0,
    "khr1__driver__blind_time": 2.0,
    "tf_rate": 0.0,
}
# The old PA-10-7C accepts 0.4 s of silence, a PA10-7CE 10 ms. The cycle of 6 ms leaves 2 ms between late packets, so
# that the judge, who counts by arrivals, sees up to three times the 63 rad/s^2 of the fastest axes.
JUDGED_7C = {
    "variant": "7c",
    "start": [0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0],
    "max_acceleration": 200.0,
    "watchdog": 60.0,
}
PA10_7C_PATIENT = {
    "device": "pa10",
    "pa10__driver__variant": "7c",
    "pa10__driver__device_timeout": 0.4,
    "pa10__driver__period": 0.006,
    "pa10__driver__reply_timeout": 0.0055,
    "pa10__driver__command_timeout": 0.1,
    "pa10__driver__start_timeout": 10.0,
    "pa10__safety__command_timeout": 2.0,
    "pa10__safety__host_timeout": 20.0,
    "pa10__safety__max_missed": 1000,
    "pa10__safety__longest_gap": 1.0,
    "pa10__safety__max_following_error": 1.0,
}


def hardware(ros: Any, fleet: Fleet | None = None, **parameters: Any) -> Any:
    """A hardware node in this process, with the robots of a fleet or its own."""
    from ada_hardware.node.hardware_node import HardwareNode

    until = parameters.pop("until", "")
    if until == "active":
        parameters.setdefault("autostart", "active")
    made = {} if fleet is None else {"make_robot": fleet.make}
    node = ros.make(HardwareNode, parameters, **made)
    if until:
        ros.wait(lambda: node.failure or node.phase == until, what=f"the node to be {until}")
        assert node.failure is None, node.failure
    return node


def active_hardware(ros: Any, **parameters: Any) -> Any:
    """An active hardware node; the transition is requested again where an emulator answers late."""
    node = hardware(ros, **parameters, autostart="inactive", until="inactive")
    ros.wait(lambda: transition(ros, "activate"), what="an active node")
    return node


def hardware_process(ros: Any, **parameters: Any) -> Any:
    given = [f"{one.name}:={_text(one.value)}" for one in overrides(parameters)]
    words = [word for one in given for word in ("-p", one)]
    return ros.start(sys.executable, "-m", "ada_hardware.node.hardware_node", "--ros-args", *words)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def ask(ros: Any, name: str) -> Any:
    client = ros.tester.create_client(ChangeState, "hardware_node/change_state")
    ros.wait(client.service_is_ready, what="the lifecycle")
    wanted = Transition(id=getattr(Transition, f"TRANSITION_{name.upper()}"))
    return client.call_async(ChangeState.Request(transition=wanted))


def transition(ros: Any, name: str) -> bool:
    future = ask(ros, name)
    ros.wait(future.done, what=f"the end of {name}")
    return bool(future.result().success)


def life(ros: Any, node: str = "hardware_node") -> str:
    return str(ros.call(GetState, f"{node}/get_state").current_state.label)


def call(ros: Any, service: str) -> Any:
    """Call a service of the node that is of std_srvs/Trigger."""
    return ros.call(Trigger, f"hardware_node/{service}")


def set_parameter(ros: Any, name: str, value: Any, node: str = "hardware_node") -> Any:
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    return ros.call(SetParameters, f"{node}/set_parameters", request).results[0]


def diagnosed(reports: list[Any], part: str, node: str = "hardware_node") -> dict[str, Any]:
    """The newest diagnostic status of a part of the node, with its level and message; {} if there is none."""
    for array in reversed(reports):
        for status in array.status:
            if status.name == f"{node}: {part}":
                return {**{v.key: v.value for v in status.values}, "level": status.level[0], "message": status.message}
    return {}


def states(ros: Any) -> Any:
    found = Messages(ros, "hardware_node/state")
    ros.tester.create_subscription(
        String, "hardware_node/state", lambda message: found.append(json.loads(message.data)), qos.LATCHED
    )
    return found


class Rival:
    """The part of a world that a second commander needs, with a node of its own."""

    def __init__(self, ros: Any) -> None:
        self.tester = ros.node("rival")
        self.publisher, self.matched, self.wait = self.tester.create_publisher, ros.matched, ros.wait


class Commander:
    """Commands from the test itself."""

    def __init__(self, ros: Any, topic: str = "joint_commands") -> None:
        self._ros = ros
        self._publisher = ros.publisher(JointState, topic, qos.COMMANDS)
        self._clock = ros.tester.get_clock()

    def ready(self) -> Commander:
        self._ros.matched(self._publisher)
        return self

    def end(self) -> None:
        with self._ros.paused():
            self._ros.tester.destroy_publisher(self._publisher)

    def send(self, *, names: Any = ARM, stamp: float | None = None, **numbers: Any) -> None:
        """Send a command, stamped now; with the stamp 0 for one that does not say when it was made."""
        message = JointState(name=list(names))
        if stamp is None:
            message.header.stamp = self._clock.now().to_msg()
        else:
            message.header.stamp.sec, message.header.stamp.nanosec = int(stamp), int(1e9 * (stamp % 1.0))
        for part, values in numbers.items():
            setattr(message, part, [float(one) for one in values])
        self._publisher.publish(message)

    def until(self, condition: Any, what: str = "a condition", **numbers: Any) -> Any:
        """Send the same command repeatedly until a condition holds; numbers may be a function without arguments."""

        def act() -> Any:
            self.send(**{name: value() if callable(value) else value for name, value in numbers.items()})
            return condition()

        return self._ros.wait(act, what=what)
