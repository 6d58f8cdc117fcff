# SPDX-License-Identifier: Apache-2.0
"""Pages in the browser: stand-ins for a robot's node and a controller behind them, without ROS, and the view node."""

import json
from types import SimpleNamespace

import numpy as np

import ada_dynamics as ada
from ada_dynamics.clock import SYSTEM_CLOCK
from ada_dynamics.robots.writers import render
from ada_robot.node_state import read_hardware_state
from ada_tools.browser.page import Page
from ada_tools.browser.robot_node import ObservedState, ReceivedPositions, RobotSource


def at_once(work):
    """Start of a RemotePage: the model is made before the next frame."""
    work()
    return SimpleNamespace(join=lambda timeout: None)


def passes(shown, frames=2, period=0.0):
    """So many frames of a page, on a clock that moves on by the period [s] with each."""
    for _ in range(frames):
        shown.page.clock.advance(period)
        shown.page.act()
        shown.tick()


def described(model):
    return render(model, "loop_joint").texts[".urdf"]


class RobotNode(RobotSource):
    """A robot's node that keeps what it is asked for, and answers with what the test wants."""

    name, driver, waiting_text, is_there, is_running = "plant", "hardware_node", "Waiting for it.", True, None

    def __init__(self, text=None, said=None, clock=SYSTEM_CLOCK):
        self.clock = clock
        self.text, self.seen, self.known, self.problem, self.seen_marks = text, None, {}, None, []
        self.asked, self.pushed, self.commands, self.posed = [], [], [], []
        self.said, self.at, self.told_at, self.felt, self.rivals, self.follows = said, None, None, None, (), True

    def sends(self, t, q, v=None):
        q = np.asarray(q, dtype=float)
        self.seen = ObservedState(self.clock.now(), t, q, np.zeros(len(q)) if v is None else np.asarray(v, dtype=float))

    def _answers(self, what, then):
        self.asked.append(what)
        then(self.problem)

    def _listens(self):
        if self.problem:
            raise ada.InputError(self.problem)

    @property
    def description(self):
        return self.text

    def newest(self):
        return self.seen

    @property
    def parameters(self):
        return self.known

    def marks(self, wanted):
        return self.seen_marks

    def watch_marks(self, is_on):
        self.asked.append(("watch", is_on))

    def command(self, positions, device=""):
        if positions:
            self._listens()
        self.commands.append(None if positions is None else dict(positions))
        if device and positions is not None and self.follows:
            self.at = dict(positions)

    @property
    def sent(self):
        return [one for one in self.commands if one is not None]

    def ask(self, request, then):
        if request in ("stop", "bias"):
            self.asked.append(request)
            return
        self._answers(request, then)
        if self.problem is None and request == "activate":
            self.activated()

    def set_speed(self, factor, then):
        self._answers(("speed", factor), then)

    def push(self, link, wrench):
        self._listens()
        self.pushed.append((link, np.asarray(wrench)))

    def set_state(self, positions):
        self.posed.append(positions)

    @property
    def state(self):
        return None if self.said is None else read_hardware_state(json.dumps(self.said))

    def measured(self, device):
        return None if self.at is None else ReceivedPositions(self.clock.now(), dict(self.at))

    def commanded(self, device):
        return None if self.told_at is None else ReceivedPositions(self.clock.now(), dict(self.told_at))

    def wrench(self, device):
        return self.felt

    @property
    def others(self):
        return dict.fromkeys(self.state.devices, self.rivals)

    def activated(self):
        """Devices become active."""


class Controller:
    """A follower that keeps what it is asked for."""

    name, is_there = "boss", True

    def __init__(self):
        self.pose, self.joints, self.asked = None, None, []

    def target_pose(self):
        return self.pose

    def target_joints(self):
        return self.joints

    def follow_pose(self, target):
        self.asked.append(target)

    def follow_joints(self, positions):
        self.asked.append(positions)


def view(ros, open_page=Page, **parameters):
    """A view node; what it says to people is kept in `said`."""
    from ada_tools.nodes.view_node import ViewNode

    node = ros.make(ViewNode, {"port": 0, "open_browser": False, **parameters}, open_page=open_page)
    node.said = []
    node.page.say = node.said.append
    return node


def state_message(t, q, v, tau):
    from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

    parts = {"t": [t], "q": q, "v": v, "tau": tau}
    dim = [MultiArrayDimension(label=name, size=len(part), stride=len(part)) for name, part in parts.items()]
    return Float64MultiArray(layout=MultiArrayLayout(dim=dim), data=np.concatenate(list(parts.values())).tolist())
