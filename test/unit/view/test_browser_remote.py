# SPDX-License-Identifier: Apache-2.0
"""The page of a robot that moves elsewhere; plant and server are stand-ins, and time is the test's."""

import browser_robots
import numpy as np
import pytest
from page_world import RobotNode, at_once, described, passes

import ada_dynamics as ada
from ada_dynamics.robots.catalogue import start_of
from ada_tools.browser.remote import ModelInputs, RemotePage, dynamics_of
from ada_tools.browser.robot_node import ObservedJoints, ObservedMotion, ObservedState, pose_of
from ada_tools.browser.robot_page import LOST
from ada_tools.browser.scene import MouseDrag
from ada_tools.browser.sliders import LEAD, TURN, MotorSliders, motors_of


@pytest.fixture(scope="module")
def pendulum():
    return browser_robots.pendulum()


def plant_of(page, model=None):
    return RobotNode(None if model is None else described(model), clock=page.clock)


def robot_of(page, plant, **options):
    shown = RemotePage(page, plant, start=at_once, **options)
    passes(shown)
    if shown.robot is None:
        passes(shown, 4, 0.6)  # a state that belongs to the description is waited for
    assert shown.robot is not None
    return shown


def test_joints_by_name_are_the_coordinates_of_a_model_in_any_order_and_mimics_are_left_out():
    model = ada.load("pa10")
    positions = {name: 0.1 * i for i, name in enumerate(reversed(model.joint_names), start=1)}
    pose = pose_of(model, ObservedJoints(0.0, 0.0, {**positions, "stranger": 1.0}, positions), model.neutral())
    np.testing.assert_allclose(pose.q, 0.1 * np.arange(7, 0, -1))
    np.testing.assert_allclose(pose.v, 0.1 * np.arange(7, 0, -1))
    assert (pose.missing, pose.foreign) == ((), ("stranger",))


def test_time_goes_on_only_after_more_than_one_step_and_its_pace_is_measured():
    motion = ObservedMotion()
    for i in range(30):
        motion.look(ObservedState(0.05 * i, 0.025 * i, np.zeros(1), np.zeros(1)))
    assert motion.is_running
    assert motion.factor == pytest.approx(0.5, rel=1e-9)
    last = 0.025 * 29
    for i in range(30, 40):
        motion.look(ObservedState(0.05 * i, last, np.zeros(1), np.zeros(1)))
    assert not motion.is_running
    for i in range(40, 50):
        motion.look(ObservedState(0.05 * i, last + 1e-3, np.zeros(1), np.zeros(1)))
        assert not motion.is_running  # one step
    motion.look(ObservedState(3.0, 0.0, np.zeros(1), np.zeros(1)))  # a new start
    assert motion.factor == 0.0


@pytest.mark.parametrize("base", ["fixed", "floating", "floating_euler"])
def test_the_base_is_that_of_the_state(base):
    model = ada.load("pa10", base=base)
    made = dynamics_of(ModelInputs(described(model), "auto", (model.nq, model.nv), None)).model
    assert made.joint_names == model.joint_names
    assert (made.nq, made.nv) == (model.nq, model.nv)


def test_the_gravity_is_the_plants():
    model = dynamics_of(ModelInputs(described(ada.load("pa10")), "auto", None, (0.0, 0.0, -1.62))).model
    assert model.nq == 7 and tuple(model.gravity) == (0.0, 0.0, -1.62)


def test_a_state_of_another_robot_is_refused_with_both_sizes():
    text = described(ada.load("pa10"))
    with pytest.raises(ada.ModelError):
        dynamics_of(ModelInputs(text, "auto", (4, 4), None))


def test_a_page_says_what_it_waits_for_then_shows_the_robot_where_its_state_has_it(page, pendulum):
    plant = plant_of(page)
    shown = RemotePage(page, plant, start=at_once)
    shown.tick()
    assert page.gui.text == "Waiting for it."
    plant.text = described(pendulum)
    plant.sends(1.0, [0.5], [2.0])
    passes(shown)
    plant.sends(1.5, [0.7], [2.0])
    passes(shown, 1)
    down = shown.robot.scene.poses["bob"][:3, :3] @ [0, 0, -1]
    np.testing.assert_allclose(down, [-np.sin(0.7), 0, -np.cos(0.7)], atol=1e-12)
    # kinetic: (2 kg m² + 0.1 kg m²) (2 rad/s)² / 2; potential of the centre of mass, which is zero at height 0
    energy = 0.5 * 2.1 * 4.0 - 2.0 * 9.81 * np.cos(0.7)
    assert f"t = **1.500** s, paused, energy {energy:.6g} J" in shown.robot.status.content


def test_a_plant_that_goes_is_missed_once_and_greeted_when_it_is_back(page, pendulum):
    plant = plant_of(page, pendulum)
    plant.sends(1.0, [0.5])
    shown = robot_of(page, plant)
    robot = shown.robot
    passes(shown, 20, 0.5 * LOST)
    assert page.server.said == ["plant stopped sending; waiting for it."]
    assert "has sent no state for" in robot.status.content and "stopped" in robot.status.content
    plant.sends(0.0, [0.1])
    passes(shown)
    assert page.server.said[1:] == ["plant sends again."]
    assert shown.robot is robot and robot.now.t == 0.0  # the same robot, not made anew


def test_another_description_is_another_robot_and_an_unusable_one_is_said(page, pendulum):
    plant = plant_of(page, pendulum)
    plant.sends(1.0, [0.5])
    shown = robot_of(page, plant)

    def changes(text, q):
        plant.text = text
        for _ in range(3):
            passes(shown, 1, 0.6)
            plant.sends(0.0, q)
        passes(shown)

    q = ada.close_loops(ada.load("four_bar"), start_of("four_bar"))
    changes(described(ada.load("four_bar")), q)
    assert shown.robot.model.loops and shown.robot.scene.gap < 1e-9
    changes("<robot name='broken'><link name='a'/><link name='b'/></robot>", q)
    assert shown.robot is None and shown.problem in page.gui.text
    changes(described(pendulum), [0.3])
    assert shown.robot.model.joint_names == ["swing"]


def test_a_state_that_is_no_pose_is_said_and_the_page_goes_on(page):
    model = ada.load("pa10", base="floating")
    plant = plant_of(page, model)
    plant.sends(0.0, model.neutral(), np.zeros(model.nv))
    shown = robot_of(page, plant)
    q = model.neutral()
    q[3:7] = 0.0
    for t, at, text in ((1.0, q, "cannot be displayed"), (2.0, model.neutral(), "t = **2.000**")):
        plant.sends(t, at, np.zeros(model.nv))
        passes(shown, 1)
        assert text in shown.robot.status.content


def test_buttons_ask_the_plant_and_its_refusals_are_said(page, pendulum):
    plant = plant_of(page, pendulum)
    plant.sends(0.0, [0.5])
    robot = robot_of(page, plant).robot
    robot.one_step()
    robot.reset()
    robot.speed.value = "2"
    robot.set_speed()
    assert plant.asked[-3:] == ["step", "reset", ("speed", 2.0)]
    robot.toggle()
    assert plant.asked[-1] == "resume"
    assert robot.is_playing
    robot.one_step()  # of a robot that moves: pause first
    assert plant.asked[-2:] == ["pause", "step"]
    assert not robot.is_playing
    plant.problem = "it is frozen"
    robot.one_step()
    robot.toggle()
    assert page.server.said == ["it is frozen"] * 2
    assert not robot.is_playing


def test_a_push_reaches_the_link_in_its_own_axes_and_the_end_of_a_pull_is_told(page, pendulum):
    plant = plant_of(page, pendulum)
    plant.sends(0.0, [0.5])
    robot = robot_of(page, plant).robot
    pose = robot.scene.poses["bob"]
    bob = pose[:3, 3] + pose[:3, :3] @ pendulum.links["bob"].com
    pull = MouseDrag("bob", "update", bob, bob + np.array([1.0, 0.0, 0.0]))
    robot.pushes.drag(pull)
    robot.tick()
    link, wrench = plant.pushed[0]
    # along the world's x at 1 m below the origin, in axes turned by 0.5 rad about y
    expected = [np.cos(0.5), 0, np.sin(0.5), 0, -np.cos(0.5), 0]
    assert link == "bob"
    np.testing.assert_allclose(wrench / np.linalg.norm(wrench[:3]), expected, atol=1e-12)
    robot.pushes.drag(pull._replace(phase="end"))
    np.testing.assert_array_equal(plant.pushed[-1][1], np.zeros(6))
    count = len(plant.pushed)
    robot.tick()
    assert len(plant.pushed) == count
    plant.problem = "nobody listens"
    robot.pushes.drag(pull)
    robot.tick()
    assert page.server.said == ["nobody listens"]


def test_commands_start_at_the_present_pose_and_move_no_faster_than_the_joint_may(page):
    model, plant = ada.load("pa10"), plant_of(page)
    sliders = MotorSliders(page, "joint commands", motors_of(model), plant.command, "command")
    q = np.linspace(-0.3, 0.3, 7)
    sliders.tick(q)
    assert plant.commands == []  # not before the box is ticked
    np.testing.assert_allclose(np.radians([s.value for s in sliders.sliders]), q, atol=1e-6)
    sliders.switch(True)
    page.clock.advance(0.01)
    sliders.tick(q)
    np.testing.assert_allclose(list(plant.commands[0].values()), q, atol=1e-6)
    assert tuple(plant.commands[0]) == tuple(model.actuated)
    page.clock.advance(0.01)
    sliders.tick(q)
    assert len(plant.commands) == 1  # 20 of them a second
    sliders.sliders[0].set(90.0)
    page.act()
    speed = min(model.joints["s1"].limits.velocity, TURN)
    for k in range(1, 40):
        page.clock.advance(0.05)
        sliders.tick(q)
        assert plant.commands[-1]["s1"] <= q[0] + speed * (0.05 * k + 0.01) + 1e-6
        assert plant.commands[-1]["s1"] <= q[0] + LEAD  # the joint does not move: no wind-up
    assert plant.commands[-1]["s1"] == pytest.approx(q[0] + LEAD)
    sliders.switch(False)
    assert plant.commands[-1] is None


def test_commands_end_with_a_word_when_nobody_listens_or_the_state_stops(page):
    model = ada.load("pa10")
    plant = plant_of(page, model)
    plant.sends(0.0, model.neutral())
    shown = robot_of(page, plant)
    commands = shown.robot.commands
    commands.switch(True)
    passes(shown, 3, LOST)
    assert page.server.said[0] == "joint commands are off: plant sends no state"
    assert not commands.box.value
    plant.problem = "nobody listens"
    commands.switch(True)
    commands.tick(model.neutral())
    assert page.server.said[-1] == "joint commands are off: nobody listens"
    assert not commands.box.value
