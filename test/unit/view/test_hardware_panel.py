# SPDX-License-Identifier: Apache-2.0
"""The hardware panel, seen from the server; its hardware node is a stand-in without ROS, and time is the test's."""

import json
import math

import numpy as np
import pytest
from page_world import RobotNode
from viser_stand_in import SOMEBODY

from ada_robot.node_state import read_hardware_state
from ada_tools.browser.device_panel import RED, DevicePanel, status_html
from ada_tools.browser.hold_button import EXPIRES, RATE, HoldButton
from ada_tools.browser.sliders import PERIOD
from ada_tools.browser.stop_button import SEEN

JOINTS = ("hip", "knee")


def said(phase="inactive", **changes):
    """What ~/state says of a node with a robot of two joints."""
    robot = {
        "kind": "khr1",
        "phase": changes.pop("robot_phase", phase),
        "reason": "",
        "alarms": [],
        "last_refusal": "",
        "modes": ["position"],
        "period": 0.1,
        "topics": {"commands": "/joint_commands", "states": "/joint_states", "commanded": "/hardware_node/commanded"},
        "joints": [{"name": n, "lower": -1.0, "upper": 1.5, "velocity": 6.0, "effort": None} for n in JOINTS],
    }
    robot.update(changes.pop("robot", {}))
    return {"phase": phase, "stopped": "", "problem": "", "dry_run": False, "devices": {"leg": robot}, **changes}


class Node(RobotNode):
    """A node of one robot."""

    def __init__(self, clock):
        super().__init__(said=said(), clock=clock)
        self.at = dict.fromkeys(JOINTS, 0.1)

    def activated(self):
        self.said = said("active")


class Desk:
    """A panel, its node, and a person at it."""

    def __init__(self, page):
        self.page, self.node = page, Node(page.clock)
        self.panel = DevicePanel(page, self.node)
        self.sees_stop = True
        self.tick()

    @property
    def sliders(self):
        return self.panel.sliders["leg"]

    def tick(self):
        self.page.clock.advance(1.0 / RATE)
        self.page.act()
        self.panel.tick()

    def wait(self, seconds):
        for _ in range(round(seconds * RATE)):
            self.tick()

    def hold(self, seconds):
        for _ in range(round(seconds * RATE)):
            if self.sees_stop:
                self.panel.stop_button.is_in_sight(1)
            self.panel.move.sign(1)
            self.tick()

    def let_go(self):
        self.panel.move.release(1)
        self.tick()

    def move(self, joint, degrees):
        self.panel.stop_button.is_in_sight(SOMEBODY)
        self.sliders.sliders[JOINTS.index(joint)].set(degrees)
        self.page.act()

    def stop(self):
        self.page.gui.all("command")[0].trigger()

    def press(self, name):
        self.panel.stop_button.is_in_sight(SOMEBODY)
        self.panel.buttons[name].click()
        self.tick()

    @property
    def told(self):
        return self.page.server.said

    @property
    def sent(self):
        return self.node.sent


@pytest.fixture
def desk(page):
    return Desk(page)


class Held(HoldButton):
    """A button of a page, and the browsers that hold it."""

    def down(self, seconds, *clients):
        for _ in range(round(seconds * RATE)):
            self._page.clock.advance(1.0 / RATE)
            for client in clients or (1,):
                self.sign(client)


@pytest.fixture
def hold(page):
    return Held(page, "hold")


def test_a_button_is_held_as_long_as_signs_come_and_no_longer(page, hold):
    hold.sign(1)
    assert not hold.is_held, "one sign alone begins nothing"
    hold.down(1.0 / RATE)
    assert hold.is_held
    page.clock.advance(EXPIRES)
    assert hold.is_held
    page.clock.advance(0.01)
    assert not hold.is_held, "no sign came: the browser is gone, or frozen"
    hold.release(1)
    hold.down(2.0 / RATE)
    assert hold.is_held and hold.presses == 2
    hold.release(2)
    assert hold.is_held, "another browser cannot let go of it"
    hold.release(1)
    assert not hold.is_held


@pytest.mark.parametrize("pause", [EXPIRES + 0.01, 2.0, 60.0])
def test_a_browser_that_was_frozen_goes_on_with_nothing_until_the_button_is_pressed_anew(page, hold, pause):
    hold.down(1.0)
    assert hold.is_held
    page.clock.advance(pause)
    for _ in range(100):
        hold.down(1.0 / RATE)
        assert not hold.is_held
    assert hold.presses == 1 and hold.refusals == 1 and "press it again" in hold.refusal
    hold.release(1)
    hold.down(0.2)
    assert hold.is_held and hold.presses == 2 and hold.refusals == 1
    page.clock.advance(pause)
    hold.down(0.2, 2)
    assert hold.is_held, "another person may"
    hold.down(0.2)
    hold.release(2)
    hold.down(0.2)
    assert not hold.is_held, "the first one has not let go yet"


def test_signs_that_come_all_at_once_count_as_one_and_two_browsers_do_not_hold_it_in_turns(hold):
    for _ in range(50):
        hold.sign(1)
    assert not hold.is_held
    hold.down(0.2, 1, 2)
    hold.release(1)
    assert not hold.is_held and hold.presses == 1
    hold.down(0.1, 2)
    assert hold.is_held and hold.presses == 2


def test_sliders_are_where_the_robot_is_until_a_person_moves_them(desk):
    assert [s.value for s in desk.sliders.sliders] == pytest.approx([math.degrees(0.1)] * 2)
    assert [(s.min, s.max) for s in desk.sliders.sliders] == [(-57.2, 85.9)] * 2, "-57.2958 and 85.9437 deg, to a tenth"
    desk.move("knee", 30.0)
    desk.node.at = {"hip": 0.2, "knee": 0.2}
    desk.page.clock.advance(1.0)
    desk.tick()
    assert [s.value for s in desk.sliders.sliders] == pytest.approx([math.degrees(0.2), 30.0])
    assert desk.sliders.wanted == {1}
    desk.sliders.forget()
    desk.page.clock.advance(1.0)
    desk.tick()
    assert desk.sliders.sliders[1].value == pytest.approx(math.degrees(0.2))


def test_a_held_button_moves_the_robot_at_the_chosen_speed_and_letting_go_leaves_it_there(desk):
    desk.node.said = said("active")
    desk.move("knee", 30.0)
    desk.sliders.speed.value = 10.0
    desk.hold(1.0)
    path = np.array([one["knee"] for one in desk.sent])
    steps = np.diff(path)
    assert (steps <= math.radians(10.0) / RATE + 1e-9).all() and (steps[1:] > 0.0).all()
    assert path[0] == pytest.approx(0.1), "it begins where the robot is"
    assert {one["hip"] for one in desk.sent} == {0.1}, "joints whose sliders nobody moved stay"
    count = len(desk.sent)
    desk.let_go()
    assert desk.node.commands[-1] is None
    desk.wait(1.0)
    assert len(desk.sent) == count
    desk.hold(6.0)
    assert desk.node.at["knee"] == pytest.approx(math.radians(30.0)), "and the next press goes on"


def test_a_motion_begins_where_the_robot_is_told_to_be_so_that_it_does_not_sink_with_each_press(desk):
    desk.node.said, desk.node.told_at = said("active"), {"hip": 0.12, "knee": 0.12}
    desk.hold(0.2)
    assert desk.sent[0] == {"hip": 0.12, "knee": 0.12}
    desk.let_go()
    desk.node.told_at = {"hip": 1.4, "knee": 1.4}  # of a moment long ago
    desk.node.at = dict.fromkeys(JOINTS, 0.1)
    desk.node.commands.clear()
    desk.hold(0.2)
    assert desk.sent[0] == {"hip": 0.1, "knee": 0.1}


def test_a_robot_that_does_not_follow_is_not_told_to_go_far_ahead(desk):
    desk.node.said, desk.node.follows = said("active"), False
    desk.move("knee", 80.0)
    desk.sliders.speed.value = 60.0
    desk.hold(3.0)
    assert desk.sent[-1]["knee"] == pytest.approx(0.1 + 0.3)


def test_a_hiccup_of_the_page_makes_no_jump(desk):
    desk.node.said = said("active")
    desk.move("knee", 80.0)
    desk.sliders.speed.value = 60.0
    desk.hold(0.3)
    before = desk.sent[-1]["knee"]
    desk.page.clock.advance(0.25)
    desk.hold(1.0 / RATE)
    assert desk.sent[-1]["knee"] - before <= math.radians(60.0) * 1.5 * PERIOD + 1e-9


@pytest.mark.parametrize("robot", [{"phase": "stopped"}, {"phase": "closed"}])
def test_after_a_stop_the_sliders_are_where_the_robot_is_again(desk, robot):
    desk.node.said = said("active")
    desk.move("knee", 30.0)
    desk.hold(0.5)
    desk.node.said = said("active", robot=robot)
    count = len(desk.sent)
    desk.hold(0.5)
    assert len(desk.sent) == count and not desk.sliders.wanted
    desk.node.said = said("active")
    desk.hold(0.5)
    assert {one["knee"] for one in desk.sent[count:]} == {desk.sent[count - 1]["knee"]}


def test_a_press_activates_a_node_that_is_inactive_once(desk):
    desk.move("knee", 30.0)
    desk.hold(0.5)
    assert desk.node.asked == ["activate"]
    assert desk.sent, "and then the robot moves"
    desk.node.said = said("inactive", robot={"reason": "no command was accepted"})
    count = len(desk.sent)
    desk.hold(1.0)
    assert desk.node.asked == ["activate"], "what fell by itself stays down as long as the button is held"
    assert len(desk.sent) == count
    reason = "leg is inactive: no command was accepted; release the button and press it again"
    assert desk.told == [f"Nothing moves: {reason}"]
    desk.let_go()
    desk.hold(0.5)
    assert desk.node.asked == ["activate"] * 2


def test_an_activation_that_is_refused_is_said_once_and_not_asked_for_again(desk):
    desk.node.problem = "refused"
    desk.hold(1.0)
    assert desk.node.asked == ["activate"]
    assert desk.told[0] == "activate: refused"
    assert len(desk.told) == 2 and desk.told[1].startswith("Nothing moves: the robots did not become active")


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (said("inactive", stopped="the service was called"), "stopped: the service was called; press reset first"),
        (said("inactive", robot={"phase": "stopped", "reason": "alarm"}), "leg is stopped: alarm; press reset first"),
        (said("unconfigured"), "hardware_node is unconfigured: press configure first"),
    ],
)
def test_a_press_says_why_nothing_moves(desk, state, why):
    desk.node.said = state
    desk.hold(0.5)
    assert desk.sent == [] and desk.node.asked == []
    assert desk.told == [f"Nothing moves: {why}"]
    assert why in desk.page.gui.text


@pytest.mark.parametrize("change", [{"rivals": ("controller_node",)}, {"is_there": False}, {"at": None}])
def test_a_robot_that_others_command_or_whose_node_or_joints_are_not_there_is_not_commanded(desk, change):
    desk.node.said = said("active")
    for name, value in change.items():
        setattr(desk.node, name, value)
    desk.hold(0.5)
    assert desk.sent == []


def test_stop_is_asked_for_in_every_state_and_without_the_pages_thread(desk):
    for count, phase in enumerate(("unconfigured", "inactive", "active")):
        desk.node.said = said(phase)
        desk.tick()
        desk.page.clock.advance(1.0)
        desk.stop()
        desk.stop()  # one press comes by two ways
        assert desk.node.asked == ["stop"] * (count + 1), "no tick of the page came in between"
        desk.press("reset")
        desk.node.asked.remove("reset")


def test_a_stop_is_asked_for_again_until_the_node_says_that_it_is_stopped(desk):
    desk.stop()
    desk.wait(1.2)
    assert desk.node.asked == ["stop"] * 3
    desk.node.said = said("inactive", stopped="asked to")
    desk.wait(2.0)
    assert desk.node.asked == ["stop"] * 3
    desk.node.said = said("inactive")
    desk.wait(2.0)
    assert desk.node.asked == ["stop"] * 3, "a reset by somebody else is not undone"


def test_a_stop_that_nobody_hears_is_not_asked_for_for_ever(desk):
    desk.stop()
    desk.wait(15.0)
    count = len(desk.node.asked)
    assert 15 <= count <= 21
    desk.wait(5.0)
    assert len(desk.node.asked) == count


def test_a_browser_that_does_not_show_stop_moves_nothing(desk):
    desk.node.said = said("active")
    desk.sees_stop = False
    desk.move("knee", 30.0)
    desk.page.clock.advance(2.0 * SEEN)
    desk.hold(1.0)
    assert desk.sent == [] and desk.node.asked == []
    assert len(desk.told) == 1 and "STOP is not visible" in desk.told[0]
    desk.let_go()
    desk.sees_stop = True
    desk.hold(1.0)
    assert desk.sent


def test_a_motion_ends_when_stop_goes_out_of_sight(desk):
    desk.node.said = said("active")
    desk.move("knee", 90.0)
    desk.hold(0.5)
    desk.sees_stop = False
    desk.hold(SEEN + EXPIRES)
    assert desk.node.commands[-1] is None
    count = len(desk.sent)
    desk.hold(1.0)
    assert len(desk.sent) == count


def test_sliders_and_buttons_that_move_are_refused_from_a_browser_that_does_not_show_stop(desk):
    slider, buttons, told = desk.sliders.sliders[1], desk.panel.buttons, desk.told
    before = slider.value
    desk.page.clock.advance(2.0 * SEEN)
    slider.set(42.0)
    buttons["activate"].click()
    buttons["reset"].click()
    desk.tick()
    assert slider.value == before and not desk.sliders.wanted and desk.node.asked == []
    assert len(told) == 3
    buttons["deactivate"].click()
    desk.tick()
    assert desk.node.asked == ["deactivate"], "who brings it to rest needs no STOP"
    desk.move("knee", 42.0)
    desk.press("activate")
    assert slider.value == 42.0 and desk.sliders.wanted == {1} and desk.node.asked == ["deactivate", "activate"]
    assert len(told) == 3


def test_what_a_device_says_is_no_markup():
    state = said("inactive", stopped="ouch", robot={"phase": "stopped"})
    state["devices"]["leg"]["alarms"] = [{"code": 0x21, "text": "servo <off>", "joint": "hip", "is_stop": False}]
    text = status_html("hardware_node", read_hardware_state(json.dumps(state)), is_there=True)
    assert "servo &lt;off&gt;" in text and RED in text


def test_where_robots_must_be_armed_a_second_press_does_it_and_no_press_does_so_twice(desk):
    desk.node.activated = lambda: setattr(desk.node, "said", said("active", robot={"armed": False}))
    desk.hold(0.5)
    assert desk.node.asked.count("activate") == 1 and "arm" not in desk.node.asked
    assert not desk.node.sent
    desk.let_go()
    desk.hold(0.5)
    assert desk.node.asked.count("arm") == 1
