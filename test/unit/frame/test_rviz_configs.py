# SPDX-License-Identifier: Apache-2.0
"""Configurations for RViz 2 and MoveIt name what the setups publish and the robot has; checked without either."""

import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

import ada_dynamics as ada
from ada_controllers import make
from ada_dynamics import resources
from ada_dynamics.robots.load import load
from ada_tools.bringup import SETUPS, Machine, plan
from ada_tools.bringup.nodes import topics

FILES = [name for name in resources.names("config") if name.endswith(".rviz")]
WRENCH = "/dynamics_node/wrench/"

# Classes of RViz 2 and the message that a display listens to (Jazzy; the same in Kilted and Lyrical).
DISPLAYS = {
    "Axes": None,
    "Grid": None,
    "Marker": "Topic",
    "MarkerArray": "Topic",
    "Path": "Topic",
    "RobotModel": "Description Topic",
    "TF": None,
    "Wrench": "Topic",
}


def plugin(entry):
    package, _, name = str(entry.get("Class")).partition("/")
    return name if package == "rviz_default_plugins" else None


def content_of(name):
    return yaml.safe_load(resources.find("config", name).read_text(encoding="utf-8"))


def displays_of(name, kind):
    displays = content_of(name)["Visualization Manager"]["Displays"]
    return [display for display in displays if plugin(display) == kind]


@pytest.mark.parametrize("name", FILES)
def test_robot_and_frames_are_shown_and_a_namespace_can_move_all_topics(name):
    assert displays_of(name, "RobotModel")[0]["Description Topic"]["Value"] == "/robot_description"
    assert len(displays_of(name, "TF")) == 1
    shown = {
        display[DISPLAYS[plugin(display)]]["Value"]
        for display in content_of(name)["Visualization Manager"]["Displays"]
        if DISPLAYS[plugin(display)] is not None
    }
    assert sorted(topics(name.removesuffix(".rviz"))) == sorted(shown)


def backends(setup):
    return next((one.choices for one in setup.arguments if one.name == "backend"), ())


@pytest.mark.parametrize(
    "setup",
    [one for one in SETUPS.values() if "sim" in (backends(one) or ("sim",)) and one.name != "loop_state_publisher"],
    ids=lambda setup: setup.name,
)
def test_each_choice_of_robot_publishes_what_its_configuration_shows(setup):
    argument = next((one for one in setup.arguments if one.name in ("robot", "mechanism") and one.choices), None)
    for choice in argument.choices if argument else (None,):
        values = {argument.name: choice} if argument else {}
        values |= {"backend": "sim"} if backends(setup) else {}
        what = plan(setup, values, Machine(has_rviz=True, has_viser=False))
        shown = Path(what.process("rviz2").arguments[1])
        assert shown.parent.name == "config"
        options = content_of(shown.name)["Visualization Manager"]["Global Options"]
        assert what.robot["world_frame"] == options["Fixed Frame"]
        joints = [display["Topic"]["Value"].removeprefix(WRENCH) for display in displays_of(shown.name, "Wrench")]
        assert what.robot["wrenches"] == joints
        markers = [display["Topic"]["Value"] for display in displays_of(shown.name, "MarkerArray")]
        assert markers == ["/dynamics_node/markers"]
        model = load(str(what.robot["robot"]))
        assert set(joints) <= {*model.joints, *model.loop_names}


FOLDER = resources.find("config", "moveit_pa10/pa10.srdf").parent
SRDF = ET.parse(FOLDER / "pa10.srdf").getroot()
POSES = 2000


@pytest.fixture(scope="module")
def model():
    return ada.load("pa10")


def read(name: str):
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def disabled(*reasons: str) -> set[frozenset[str]]:
    found = [pair for pair in SRDF.iter("disable_collisions") if pair.get("reason") in reasons]
    return {frozenset((pair.get("link1"), pair.get("link2"))) for pair in found}


@pytest.mark.parametrize("state", list(SRDF.iter("group_state")), ids=lambda state: state.get("name"))
def test_named_poses_give_each_joint_a_position_within_its_limits(model, state) -> None:
    given = {joint.get("name"): float(joint.get("value")) for joint in state}
    limits = {limit.name: limit for limit in make("joint_trajectory", model).limits}
    assert list(given) == list(limits)
    for name, value in given.items():
        assert limits[name].lower <= value <= limits[name].upper


def test_speeds_are_at_most_those_of_the_description(model) -> None:
    given = read("joint_limits.yaml")["joint_limits"]
    limits = make("joint_trajectory", model).limits
    assert list(given) == [limit.name for limit in limits]
    for limit in limits:
        assert 0.99 * limit.velocity <= given[limit.name]["max_velocity"] <= limit.velocity


def test_the_controller_is_one_of_ours_with_all_joints(model) -> None:
    manager = read("moveit_controllers.yaml")["moveit_simple_controller_manager"]
    (name,) = manager["controller_names"]
    assert list(make(name, model).joints) == manager[name]["joints"]
    assert manager[name]["action_ns"] == "follow_joint_trajectory"


def test_links_that_are_not_looked_at_are_neighbours_or_never_touch() -> None:
    pin = pytest.importorskip("pinocchio")
    file = str(resources.find("urdf", "pa10.urdf"))
    robot = pin.buildModelFromUrdf(file)
    shapes = pin.buildGeomFromUrdf(robot, file, pin.GeometryType.COLLISION)
    shapes.addAllCollisionPairs()
    names = [shape.name.removesuffix("_0") for shape in shapes.geometryObjects]
    pairs = [frozenset((names[pair.first], names[pair.second])) for pair in shapes.collisionPairs]
    data, touch = robot.createData(), shapes.createData()
    random, touched = np.random.default_rng(3), np.zeros(len(pairs), dtype=bool)
    for _ in range(POSES):
        pose = random.uniform(robot.lowerPositionLimit, robot.upperPositionLimit)
        pin.computeCollisions(robot, data, shapes, touch, pose, False)
        touched |= [result.isCollision() for result in touch.collisionResults]
    can_touch = {pair for pair, is_so in zip(pairs, touched, strict=True) if is_so}
    assert not disabled("Never") & can_touch
    neighbours = {frozenset(pair) for pair in pairwise(names)}
    assert disabled("Adjacent") == neighbours
    assert disabled("User") == {frozenset(("link_5", "link_7"))}
    assert can_touch - disabled("Adjacent", "User")  # what is left is looked at, and does happen
