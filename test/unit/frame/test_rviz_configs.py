# SPDX-License-Identifier: Apache-2.0
"""RViz configurations are ones that RViz 2 takes, and show what the setups publish; checked without RViz."""

from pathlib import Path

import pytest

from ada_dynamics import resources
from ada_dynamics.robots.load import load
from ada_tools.bringup import SETUPS, Machine, plan
from ada_tools.bringup.nodes import topics

yaml = pytest.importorskip("yaml")

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
