# SPDX-License-Identifier: Apache-2.0
"""The set of nodes over time: they start, stop and are killed in any order, and the others go on as if nothing was."""

import random
import signal
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("viser", reason="the view node needs it")
pytest.importorskip("pinocchio", reason="the oracle node needs it")

from controller_world import BENT, plant
from diagnostic_msgs.msg import DiagnosticArray
from hardware_world import diagnosed
from processes import session_of
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

import ada_dynamics as ada
from ada_robot.ros import qos

pytestmark = pytest.mark.ros

START = [0.2, 0.7, -0.3, 0.5, 0.4, -0.6, 0.1]  # [rad], unlike anything that a node would take by itself
HELD = 0.02  # [rad] that the servos may let a joint sag
SILENCE = 0.2  # [s] after which no message of a killed process comes any more
VIEW = "view: http://127.0.0.1:"
OPTIONS = {
    "dynamics_node": ("robot:=pa10", f"initial_positions:={START}"),
    "oracle_node": ("description_timeout:=0.0",),
    "view_node": ("open_browser:=false", "port:=0"),
}
LISTENER = """
import rclpy
from sensor_msgs.msg import JointState

count = 0
def take(message):
    global count
    count += 1
    if count % 50 == 0:
        print("heard", count, flush=True)

rclpy.init()
node = rclpy.create_node("listener")
node.create_subscription(JointState, "joint_states", take, 10)
rclpy.spin(node)
"""


class NodeSet:
    """Processes of the nodes, their messages, and what they leave behind."""

    def __init__(self, ros):
        self.ros = ros
        self.running = {}
        self.states = ros.collect(JointState, "joint_states")
        self.wholes = ros.collect(Float64MultiArray, "dynamics_node/state")
        self.reports = ros.collect(DiagnosticArray, "/diagnostics")
        self._shared = {}  # by name, files in shared memory

    def start(self, *names):
        """Start nodes, and wait for a message of each; the first messages of a robot must be right."""
        for messages in (self.states, self.wholes, self.reports):
            messages.clear()
        began = time.time()
        for name in names:
            options = [word for option in OPTIONS[name] for word in ("-p", option)]
            command = (sys.executable, "-m", "ada_tools.nodes", name, "--ros-args", *options)
            self.running[name] = self.ros.start(*command)
        for name in names:
            process = self.running[name]
            is_there = {
                "dynamics_node": lambda: self.states and self.wholes,
                "oracle_node": lambda: self.reported("oracle_node"),
                "view_node": lambda p=process: VIEW in p.output,
            }[name]
            self.ros.wait(lambda i=is_there, p=process: i() or not p.is_running, what=f"{name} to begin")
            assert process.is_running, process.output
            self._shared[name] = shared_memory(process.pid)
        if "dynamics_node" in names:
            self._check_first(began)

    def _check_first(self, began):
        first = self.states[0]
        stamp = first.header.stamp.sec + 1e-9 * first.header.stamp.nanosec
        assert stamp >= began, "of this run, not of the one before"
        assert list(first.name) == ada.load("pa10").joint_names
        assert np.allclose(first.position, START, atol=HELD, rtol=0.0), "it begins where it starts"
        assert 0.0 <= self.wholes[0].data[0] <= time.time() - began, "and its time begins at zero"

    def stop(self, name, number=signal.SIGINT):
        """End a node with a signal; nothing of it must be left."""
        process, publishers = self.running.pop(name), self._publishers()
        process.signal(number)
        assert process.wait() == 0, process.output
        assert "Traceback" not in process.output, process.output
        assert not session_of(process.pid), "a process that it started has outlived it"
        if name == "dynamics_node":  # its last messages have passed when its publisher is gone
            self.ros.wait(lambda: self._publishers() < publishers, what="the publisher gone")
        left = {path for path in self._shared.pop(name) if path.exists()}
        # it has mapped those of its peers, too
        others = set().union(*(shared_memory(peer.pid) for peer in self.running.values()))
        assert not left - others, "files in shared memory have outlived it"

    def kill(self, name):
        """End a node by force, and take its last messages."""
        assert self.running.pop(name).kill() == -signal.SIGKILL
        if name == "dynamics_node":
            newest, since = None, time.monotonic()

            def is_silent():
                nonlocal newest, since
                if self.states.newest() is not newest:
                    newest, since = self.states.newest(), time.monotonic()
                return time.monotonic() > since + SILENCE

            self.ros.wait(is_silent, what="the last of its states")

    def _publishers(self):
        """Of joint_states; those that were killed count for another 20 s."""
        return self.ros.tester.count_publishers("joint_states")

    def reported(self, name):
        """The newest report of a node on its first subject, {} while there is none."""
        for array in reversed(list(self.reports)):
            for status in array.status:
                if status.name.startswith(f"{name}: "):
                    return {**{v.key: v.value for v in status.values}, "level": status.level[0]}
        return {}

    def await_agreement(self, what):
        """Wait until the oracle has compared newer states than so far."""
        self.reports.clear()
        self.ros.wait(lambda: self.reported("oracle_node").get("level") == 0, what=what)

    def await_states(self, count=50):
        self.states.clear()
        self.ros.wait(lambda: len(self.states) >= count, what=f"{count} more joint states")

    def page(self):
        port = int(self.running["view_node"].output.split(VIEW)[1].split()[0])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=60.0) as page:
            return page.status


@pytest.fixture
def nodes(ros):
    return NodeSet(ros)


def shared_memory(pid):
    """Files in shared memory that a process has mapped; not those of ports, which the next one on that port uses."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    found = {Path(line[line.index("/dev/shm/") :]) for line in lines if "/dev/shm/fast" in line}
    return {path for path in found if "_port" not in path.name}


@pytest.mark.parametrize(
    ("seed", "turns"), [pytest.param(5, 4, marks=pytest.mark.slow), pytest.param(50, 50, marks=pytest.mark.soak)]
)
def test_nodes_start_and_stop_in_any_order_without_a_trace_and_begin_where_they_should(nodes, seed, turns):
    rng = random.Random(seed)
    for _ in range(turns):
        name = rng.choice(list(OPTIONS))
        act = "start" if name not in nodes.running else rng.choice(["stop", "restart"])
        if act != "start":
            nodes.stop(name, rng.choice([signal.SIGINT, signal.SIGTERM]))
        if act != "stop":
            nodes.start(name)
    for name in rng.sample(sorted(nodes.running), len(nodes.running)):
        nodes.stop(name)


@pytest.mark.slow
def test_when_a_node_is_killed_the_others_go_on_and_take_it_up_again(nodes):
    nodes.start(*OPTIONS)
    nodes.await_agreement("the first comparison")
    nodes.kill("oracle_node")
    nodes.kill("view_node")
    nodes.await_states()
    nodes.start("oracle_node", "view_node")
    nodes.await_agreement("the new oracle's comparison")
    nodes.kill("dynamics_node")
    nodes.ros.wait(lambda: nodes.reported("oracle_node").get("level") == 3, what="silence to be reported as stale")
    assert nodes.page() == 200
    compared = int(nodes.reported("oracle_node")["compared"])
    nodes.start("dynamics_node")
    nodes.await_agreement("a comparison after the restart")
    assert int(nodes.reported("oracle_node")["compared"]) > compared, "by the oracle that was there before"
    nodes.await_states()
    assert nodes.page() == 200
    for name in OPTIONS:
        nodes.stop(name)


def test_a_robot_that_starts_anew_obeys_no_command_from_before(ros):
    first = plant(ros)
    # The worst of publishers: it keeps its last command for those who come later, and does not say how old it is.
    commands = ros.matched(ros.publisher(JointState, "joint_commands", qos.LATCHED))
    goal = BENT[0] + 0.5
    old = JointState(name=["s1"], position=[goal])
    commands.publish(old)
    ros.wait(lambda: abs(first.loop.latest.q[0] - goal) < HELD, what="s1 where it was told to be")
    old.header.stamp = ros.tester.get_clock().now().to_msg()
    ros.remove(first)
    plant(ros, max_command_age=0.1)
    states = ros.collect(JointState, "joint_states", qos.streams(1000))
    ros.matched(commands)
    ros.wait(lambda: len(states) > 500, what="a second of its states")
    (listens,) = ros.tester.get_subscriptions_info_by_topic("joint_commands")
    assert listens.qos_profile.durability == qos.DurabilityPolicy.VOLATILE, "what was kept never comes, however late"

    reports = ros.collect(DiagnosticArray, "/diagnostics")

    def is_refused():
        commands.publish(old)  # by a node that does not know of the restart
        return int(diagnosed(reports, "commands", "dynamics_node").get("refused", 0)) > 0

    ros.wait(is_refused, what="the refusal of an old command")
    assert all(abs(state.position[0] - BENT[0]) < HELD for state in states)

    def is_obeyed():
        new = JointState(name=["s1"], position=[goal])
        new.header.stamp = ros.tester.get_clock().now().to_msg()
        commands.publish(new)
        return abs(states.newest().position[0] - goal) < HELD

    ros.wait(is_obeyed, what="obedience to a new command")
    assert np.abs(np.diff([state.position[0] for state in states])).max() < 0.1, "on a way without a jump"


def test_a_subscriber_that_stands_still_does_not_hold_up_the_physics(ros):
    robot = plant(ros, physics_rate=250.0, publish_rate=250.0).loop
    listener = ros.start(sys.executable, "-c", LISTENER)
    ros.wait(lambda: "heard 50" in listener.output, what="the listener")

    def pace():
        """Simulated time, and time given up, for each second that passes, over some time."""
        began, first, lost = time.monotonic(), robot.latest.t, robot.statistics.summary().slipped_s
        ros.wait(lambda: time.monotonic() - began > 1.0, what="1 s")
        passed = time.monotonic() - began
        return (robot.latest.t - first) / passed, (robot.statistics.summary().slipped_s - lost) / passed

    before = pace()
    listener.signal(signal.SIGSTOP)

    # A writer that waits for its reader would be held up by 0.1 s at each of 250 messages a second, at any time; a
    # machine that has something else to do is so for a while.
    def keeps_pace():
        simulated, lost = pace()
        return simulated > 0.5 * before[0] and lost < before[1] + 0.5

    ros.wait(keeps_pace, what="the physics to keep pace")
    count = listener.output.count("heard")
    listener.signal(signal.SIGCONT)
    ros.wait(lambda: listener.output.count("heard") > count + 1, what="the listener to go on")
