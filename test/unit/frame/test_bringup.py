# SPDX-License-Identifier: Apache-2.0
"""Setups plan the nodes that a user asks for, with their parameters."""

import re
from pathlib import Path

import pytest
from paths import docs_module
from refused import refused
from setup_world import BARE, FULL, executables

from ada_dynamics import resources
from ada_dynamics.errors import InputError
from ada_dynamics.robots.catalogue import CATALOGUE
from ada_robot.settings import checked, fields_of
from ada_tools.bringup import SETUPS, find_setup, nodes, plan
from ada_tools.bringup.arguments import assignments
from ada_tools.bringup.processes import params_text
from ada_tools.nodes.settings import OracleSettings

EVERYWHERE = {"rviz", "view", "view_port", "use_sim_time", "namespace", "params_file"}
EVERYWHERE |= {"frame_prefix", "log_level"}
OF_ROBOTS = {"oracle", "idle", "real_time_factor", "base_pose"}
SENSORS = {"ft_sensor", "loop_state_publisher"}  # setups without a robot
template = docs_module("parameter_tables")
URLS = {"url": "udp://127.0.0.1:50000", "port": "/dev/ttyUSB0", "sensor_url": "udp://127.0.0.1:50001"}


def read_settings(node, values):
    """The settings of a node, by what stands before their names; refuses what the node would refuse."""
    found, left = {}, dict(values)
    for prefix, cls in reversed(template.settings_of_nodes()[node]):  # those without a prefix come last
        names = {prefix + one.name for one in fields_of(cls)} & set(left)
        given = {name.removeprefix(prefix): left.pop(name) for name in names}
        found[prefix, cls] = checked(cls, given, prefix=prefix)
    assert left == {}
    return found


def by_kind(values):
    """Parameters of the node of devices, with NAME for each device, except for its driver's."""
    found = {}
    for name, value in values.items():
        device, _, rest = name.partition(".")
        is_common = rest and not rest.startswith("driver.") and device in values["devices"]
        found[f"NAME.{rest}" if is_common else name] = value
    return found


def plans_with(setup, argument, choice):
    """A plan for each backend that takes a choice of an argument; those that do not say so."""
    names = {one.name: one for one in setup.arguments}
    for backend in names["backend"].choices if "backend" in names else ("",):
        values = {argument: choice, **({"backend": backend} if backend else {})}
        if argument == "backend" and choice != backend:
            continue
        if backend == "real":
            needs_sensor = values.get("sensor", "auto") not in ("auto", "none") or choice == "compliance"
            urls = {name: url for name, url in URLS.items() if name in names}
            values = {**{name: url for name, url in urls.items() if name != "sensor_url" or needs_sensor}, **values}
        try:
            yield plan(setup, values, FULL)
        except InputError as refused:
            assert backend and f"{argument}:={choice}" in str(refused)


@pytest.mark.parametrize("setup", SETUPS.values(), ids=lambda setup: setup.name)
def test_every_setup_takes_the_common_arguments_and_describes_all(setup):
    names = [argument.name for argument in setup.arguments]
    assert set(names) >= EVERYWHERE | (OF_ROBOTS if setup.name not in SENSORS else set())
    assert len(set(names)) == len(names)
    for argument in setup.arguments:
        assert len(argument.description) > 10
        assert argument.checked(argument.default) == argument.default


@pytest.mark.parametrize("setup", SETUPS.values(), ids=lambda setup: setup.name)
def test_every_choice_of_every_setup_makes_a_plan_that_the_nodes_accept(setup):
    for argument in setup.arguments:
        for choice in argument.choices or (argument.default,):
            plans = list(plans_with(setup, argument.name, choice))
            assert plans or (setup.name, argument.name, choice) == ("ft_sensor", "use_sim_time", "true")
            for what in plans:
                node = what.process(what.plant)
                assert node.name == what.plant
                assert not node.optional
                for process in what.processes:
                    if process.package == "ada_dynamics":
                        values = dict(what.parameters(process.executable))
                        values.pop("use_sim_time", None)
                        is_hardware = process.executable == "hardware_node"
                        read_settings(process.executable, by_kind(values) if is_hardware else values)


@pytest.mark.parametrize("setup", SETUPS.values(), ids=lambda setup: setup.name)
def test_shorthands_name_setups_and_their_arguments(setup):
    for shorthand, values in setup.shorthands.items():
        assert find_setup(shorthand) == (setup, dict(values))
        assert plan(shorthand, machine=BARE).robot["robot"] in CATALOGUE


def test_the_documentation_names_all_setups_and_arguments():
    text = (Path(__file__).parents[3] / "docs/launch.md").read_text(encoding="utf-8")
    for setup in SETUPS.values():
        assert f"| `{setup.name}` |" in text
        assert all(f"`{argument.name}`" in text for argument in setup.arguments)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("pa10_sim", "rviz", "yes"),
        ("closed_chain", "mechanism", "fourbar"),
        ("pa10_sim", "view_port", "65536"),
        ("pa10_sim", "namespace", "2nd"),
        ("pa10_sim", "params_file", "/none.yaml"),
        ("pa10_sim", "base_pose", "here"),
        ("display", "robot", "pa11"),
        ("robot_control", "goal", "arm=0.4,arm=0.5"),
    ],
)
def test_an_unusable_argument_is_refused(name, field, value):
    with refused(InputError, field=field, value=value):
        plan(name, {field: value}, BARE)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("pa10_simm", {}),
        ("pa10_sim", {"rvizz": "true"}),
        ("pa10_sim", {"frame_prefix": "/left"}),
        ("pa10_sim", {"frame_prefix": "left/", "base_pose": "0 0 0 0.1 0 0"}),  # gravity would tilt
        ("pa10_sim", {"base_pose": "0 0 0 0"}),  # without a prefix
    ],
)
def test_setups_and_arguments_that_are_not_there_or_do_not_go_together_are_refused(name, values):
    with pytest.raises(InputError):
        plan(name, values, BARE)


def test_a_word_assigns_a_value_to_a_name_once():
    assert assignments(["robot:=a:=b.urdf"]) == {"robot": "a:=b.urdf"}  # values may hold the sign, too
    for word in ("rviz=false", "rviz", ":=true", ""):
        with refused(InputError, value=word):
            assignments([word])
    with refused(InputError, field="rviz"):
        assignments(["rviz:=true", "rviz:=false"])


@pytest.mark.parametrize(
    ("values", "machine", "pictures"),
    [
        ({}, BARE, []),
        ({}, FULL, ["view_node", "rviz2"]),
        ({"rviz": "false", "view": "false"}, FULL, []),
        ({"view": "true"}, BARE, ["view_node"]),
        ({"rviz": "true"}, BARE, []),
    ],
)
def test_pictures_are_started_where_they_are_installed_unless_the_user_says_otherwise(values, machine, pictures):
    what = plan("pa10_sim", values, machine)
    assert executables(what) == ["dynamics_node", *pictures]
    is_missed = values.get("rviz") == "true"
    assert [note for note in what.notes if "rviz2 is not on the PATH" in note] == list(what.notes)
    assert bool(what.notes) == is_missed


def test_with_simulated_time_the_robot_is_the_clock_and_the_others_follow_it():
    what = plan("pa10_sim", {"use_sim_time": "true", "oracle": "true"}, FULL)
    assert what.robot["publish_clock"] is True
    assert "use_sim_time" not in what.robot
    assert all(process.given["use_sim_time"] is True for process in what.processes[1:])
    assert plan("pa10_sim", machine=FULL).robot["publish_clock"] is False


def test_a_namespace_holds_all_nodes_and_the_frames_too():
    what = plan("pa10_sim", {"namespace": "cell/left"}, FULL)
    for process in what.processes:
        assert process.namespace == "/cell/left"
        assert {("/tf", "tf"), ("/tf_static", "tf_static")} <= set(process.remappings)
        assert "__ns:=/cell/left" in process.ros_arguments()
    # RViz' configuration names topics absolutely: all of them are moved.
    moved = dict(what.process("rviz2").remappings)
    assert moved["/robot_description"] == "robot_description"
    assert moved["/dynamics_node/wrench/s1"] == "dynamics_node/wrench/s1"
    assert plan("pa10_sim", machine=FULL).processes[0].remappings == ()


def test_robots_with_a_prefix_share_the_transforms_and_rviz_draws_them_in_the_common_world():
    values = {
        "namespace": "left",
        "frame_prefix": "left/",
        "base_pose": "[0.5, -1, 0, 1.57]",
        "controller": "impedance",
    }
    what = plan("pa10_control", values, FULL)
    assert what.robot["frame_prefix"] == "left/"
    assert what.robot["base_pose"] == [0.5, -1.0, 0.0, 1.57]
    for process in what.processes:
        assert not {"/tf", "/tf_static"} & dict(process.remappings).keys()
    for node in ("controller_node", "view_node"):
        assert what.process(node).given["frame_prefix"] == "left/"
    rviz = what.process("rviz2")
    assert (*rviz.arguments[:1], *rviz.arguments[2:]) == ("-d",)  # whose fixed frame is the world
    text = Path(rviz.arguments[1]).read_text(encoding="utf-8")
    assert "TF Prefix: left\n" in text and "TF Prefix: ''" not in text
    assert plan("pa10_bringup", {**values, "backend": "emulator"}, BARE).devices["base_pose"] == [0.5, -1.0, 0.0, 1.57]


def test_robot_loops_controller_and_goal_of_a_users_robot_reach_their_nodes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("my.urdf", "my.loops.yaml"):
        Path(name).write_text("")
    given = {"robot": "my.urdf", "loops": "my.loops.yaml", "goal": "left=0.5, right=-1"}
    what = plan("robot_control", given, BARE)
    assert executables(what) == ["dynamics_node", "controller_node", "target_node"]
    assert (what.robot["robot"], what.robot["loops"]) == (str(tmp_path / "my.urdf"), str(tmp_path / "my.loops.yaml"))
    assert what.process("controller_node").parameters["controller"] == "computed_torque"
    assert what.process("target_node").given == {"joints": ["left", "right"], "positions": [0.5, -1.0]}
    assert executables(plan("robot_control", {**given, "goal": ""}, BARE)) == ["dynamics_node", "controller_node"]
    assert executables(plan("robot_control", {**given, "controller": "none"}, BARE)) == ["dynamics_node"]


def test_arguments_that_were_given_win_over_the_file_and_the_others_do_not(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("dynamics_node: {ros__parameters: {physics_rate: 500.0}}")
    node = plan("pa10_sim", {"params_file": str(file), "idle": "hold"}, BARE).processes[0]
    assert node.given == {"idle": "hold"}
    assert node.parameters["real_time_factor"] == 1.0
    words = node.ros_arguments(node.parameter_files())
    files = [Path(words[i + 1]) for i, word in enumerate(words) if word == "--params-file"]
    texts = [one.read_text(encoding="utf-8") for one in files]
    assert files[1] == file and "real_time_factor: 1.0" in texts[0]
    # A block of a later file is merged into an earlier one of the same key, which another block of the user may follow.
    assert texts[2] == '/**/*:\n  ros__parameters:\n    idle: "hold"\n'


@pytest.mark.parametrize("text", ["physics_rate: 500.0", "", "dynamics_node: {ros__parameters: 5}", "{}", "a: ["])
def test_a_file_that_would_change_nothing_is_refused(tmp_path, text):
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with refused(InputError, field="params_file"):
        plan("pa10_sim", {"params_file": str(file)}, BARE)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("dynamic_node: {ros__parameters: {a: 1}}", "/dynamic_node"),
        ("/left/dynamics_node: {ros__parameters: {a: 1}}", "/left/dynamics_node"),
        ("dynamics_node: {ros__parameters: {idle: hold}}\namcl: {ros__parameters: {a: 1}}", "/amcl"),
    ],
)
def test_what_a_file_says_to_nodes_of_others_is_passed_over_and_said(tmp_path, text, name):
    file = tmp_path / "own.yaml"
    file.write_text(text)
    what = plan("pa10_sim", {"params_file": str(file)}, BARE)
    assert what.processes[0].params_file == file
    (note,) = [note for note in what.notes if "params_file" in note]
    assert f"no node is named {name}; ignored" in note


@pytest.mark.parametrize(
    ("key", "node", "is_of_it"),
    [
        ("/**", "/left/arm/dynamics_node", True),
        ("/**/dynamics_node", "/left/arm/dynamics_node", True),
        ("/*/dynamics_node", "/left/dynamics_node", True),
        ("/*/dynamics_node", "/left/arm/dynamics_node", False),
        ("/*", "/left/dynamics_node", False),
        ("/**/arm/*", "/left/arm/dynamics_node", True),
        ("/left/**/dynamics_node", "/right/dynamics_node", False),
        ("/dynamics_node/left", "/dynamics_node", False),
        ("/dynamics_nod.", "/dynamics_node", False),
        ("/**" * 60 + "/x", "/a" * 60, False),  # for a regular expression more than a life's work
    ],
)
def test_keys_of_parameters_stand_for_nodes_as_in_ros(tmp_path, key, node, is_of_it):
    file = tmp_path / "own.yaml"
    file.write_text(f'"{key}": {{ros__parameters: {{a: 1}}}}')
    assert (nodes.unused_parameters(file, [node]) == "") is is_of_it


def test_a_file_of_parameters_says_what_it_was_given():
    yaml = pytest.importorskip("yaml")
    values = {"a": True, "b": 3, "c": 1e-6, "d": 2.0, "e": "on", "f": [0.5, 1.0], "g": ["x"], "h": "", "none": []}
    (block,) = yaml.safe_load(params_text(values, "/n/x")).values()
    read = block["ros__parameters"]
    read["c"] = float(read["c"])  # YAML 1.1 takes 1e-06 for a text, ROS's own parser does not
    assert read == {name: value for name, value in values.items() if name != "none"}


def test_the_file_to_start_from_fits_the_nodes_as_it_is_and_with_all_its_lines():
    yaml = pytest.importorskip("yaml")
    path = resources.find("config", template.NAME)
    for machine in (FULL, BARE):  # whether all of its nodes are started, or not
        plan("pa10_sim", {"params_file": str(path), "namespace": "left"}, machine)
    text = path.read_text(encoding="utf-8")
    full = re.sub(r"(?m)^    # ", "    ", text).replace(": 1e-06", ": 0.000001")  # which YAML 1.1 takes for a text
    for content in (yaml.safe_load(text), yaml.safe_load(full)):
        assert list(content) == [f"/**/{node}" for node in template.settings_of_nodes()]
        for key, block in content.items():
            values = block["ros__parameters"]
            for (_, cls), settings in read_settings(key.removeprefix("/**/"), values).items():
                assert settings == cls()
    assert set(values) == {one.name for one in fields_of(OracleSettings)}
