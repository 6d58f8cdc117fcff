# SPDX-License-Identifier: Apache-2.0
"""Settings as parameters of real nodes, through the services that every ROS 2 tool uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import pytest

pytest.importorskip("rclpy")
pytestmark = pytest.mark.ros

from rcl_interfaces.msg import Parameter as ParameterMessage  # noqa: E402
from rcl_interfaces.msg import ParameterType  # noqa: E402
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters, SetParametersAtomically  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from ada_dynamics.errors import InputError  # noqa: E402
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides  # noqa: E402
from ada_robot.settings import setting  # noqa: E402


@dataclass(frozen=True)
class Rates:
    physics_rate: float = setting(1000.0, "steps of the physics", unit="Hz", lower=1.0, upper=1e4)
    step_count: int = setting(1, "steps at once", lower=1)
    contact: str = setting("auto", "ground", choices=("auto", "on", "off"))
    robot: str = setting("pa10", "name or path", read_only=True)
    paused: bool = setting(False, "whether it waits")
    gravity: tuple[float, ...] = setting((), "gravity", unit="m/s^2")
    wrenches: tuple[str, ...] = setting((), "joints", read_only=True)

    def __post_init__(self) -> None:
        if self.physics_rate * self.step_count > 1e5:
            raise InputError("physics_rate times step_count is more than 100000.")


@dataclass(frozen=True)
class Gains:
    stiffness: float = setting(100.0, "of the servo", unit="N m/rad", lower=0.0)
    damping: float = setting(10.0, "of the servo", unit="N m s/rad", lower=0.0)


def request_of(values: dict[str, object]) -> list[ParameterMessage]:
    """As ROS 2 tools send it: an empty list as one of booleans, None as not set."""
    kinds = {"[]": Parameter.Type.BOOL_ARRAY, "None": Parameter.Type.NOT_SET}
    return [Parameter(name, kinds.get(str(value)), value).to_parameter_msg() for name, value in values.items()]


def set_together(ros, values):
    request = SetParametersAtomically.Request(parameters=request_of(values))
    return ros.call(SetParametersAtomically, "settings_node/set_parameters_atomically", request).result


def set_one(ros, name, value):
    request = SetParameters.Request(parameters=request_of({name: value}))
    return ros.call(SetParameters, "settings_node/set_parameters", request).results[0]


def get(ros, name):
    request = GetParameters.Request(names=[name])
    return ros.call(GetParameters, "settings_node/get_parameters", request).values[0]


def describe(ros, name):
    request = DescribeParameters.Request(names=[name])
    return ros.call(DescribeParameters, "settings_node/describe_parameters", request).descriptors[0]


def node_with(ros, *arguments, **overrides):
    options = {"cli_args": ["--ros-args", *arguments]} if arguments else {}
    return ros.make(partial(Node, "settings_node"), overrides, **options)


@pytest.mark.parametrize("way", ["command line", "file"])
def test_start_values_come_from_the_command_line_and_from_files_alike(ros, tmp_path, way):
    texts = {"physics_rate": "500", "contact": "on", "gravity": "[0, 0, -9]", "wrenches": "[]", "robot": "khr1"}
    arguments = [word for name, text in texts.items() for word in ("-p", f"{name}:={text}")]
    if way == "file":
        file = tmp_path / "parameters.yaml"
        inside = ", ".join(f"{name}: {text}" for name, text in texts.items())
        file.write_text(f"settings_node: {{ros__parameters: {{{inside}}}}}")
        arguments = ["--params-file", str(file)]
    parameters = Parameters(node_with(ros, *arguments), Rates)
    expected = Rates(physics_rate=500.0, contact="on", gravity=(0.0, 0.0, -9.0), robot="khr1")
    assert parameters.value == expected
    assert get(ros, "physics_rate").double_value == 500.0
    assert list(get(ros, "gravity").double_array_value) == [0.0, 0.0, -9.0]
    assert get(ros, "wrenches").type == ParameterType.PARAMETER_STRING_ARRAY


def test_an_unknown_start_value_is_refused_with_near_names(ros):
    node = node_with(ros, "-p", "physik_rate:=500.0", "-p", "use_sim_time:=false", "-p", "other:=1")
    Parameters(node, Rates)
    with pytest.raises(InputError) as refusal:
        refuse_unknown_overrides(node)
    assert refusal.value.value == "physik_rate" and "physics_rate" in refusal.value.allowed
    node = node_with(ros, "-p", "servo.s1.stiffness:=5", "-p", "use_sim_time:=false")
    assert Parameters(node, Gains, prefix="servo.s1").value == Gains(stiffness=5.0)
    refuse_unknown_overrides(node)
    node = ros.node("chooser", parameter_overrides=[Parameter("b.stifness", value=7.0)])
    with pytest.raises(InputError) as refusal:
        Parameters(node, Gains, prefix="b")
    assert "b.stiffness" in refusal.value.allowed


def test_what_a_file_says_to_many_nodes_is_passed_over_by_those_without_it(ros, tmp_path):
    for i, (text, is_refused) in enumerate(
        (
            ("/**: {ros__parameters: {use_sim_time: false, other: {rate: 1}, physics_rate: 500.0}}", False),
            ("/*/**: {ros__parameters: {other: {rate: 1}}}", False),
            ("ns: {'*': {ros__parameters: {other.rate: 1}}}", False),
            ("ns: {settings_node: {ros__parameters: {other: {rate: 1}}}}", True),
        )
    ):
        file = tmp_path / f"parameters_{i}.yaml"
        file.write_text(text)
        arguments = ["--params-file", str(file), "-r", "__ns:=/ns"]
        node = node_with(ros, *arguments)
        Parameters(node, Rates)
        if is_refused:
            with pytest.raises(InputError) as refusal:
                refuse_unknown_overrides(node, arguments=arguments)
            assert refusal.value.value == "other.rate"
        else:
            refuse_unknown_overrides(node, arguments=arguments)


def test_descriptions_carry_unit_range_and_choices(ros):
    Parameters(node_with(ros), Rates)
    rate = describe(ros, "physics_rate")
    assert rate.type == ParameterType.PARAMETER_DOUBLE
    assert rate.description == "steps of the physics [Hz]"
    assert (rate.floating_point_range[0].from_value, rate.floating_point_range[0].to_value) == (1.0, 1e4)
    assert not rate.dynamic_typing
    assert describe(ros, "step_count").integer_range[0].from_value == 1
    assert describe(ros, "contact").additional_constraints == "one of 'auto', 'on', 'off'"
    assert describe(ros, "robot").read_only
    gravity, wrenches = describe(ros, "gravity"), describe(ros, "wrenches")
    assert (gravity.type, gravity.description) == (ParameterType.PARAMETER_DOUBLE_ARRAY, "gravity [m/s^2]")
    assert wrenches.read_only and wrenches.type == ParameterType.PARAMETER_STRING_ARRAY


def test_a_good_change_holds_for_the_node_and_for_whoever_asks(ros):
    node = node_with(ros, gravity=[1.0])
    parameters = Parameters(node, Rates)
    for name, value, taken in (
        ("physics_rate", 260, 260.0),
        ("contact", True, "on"),
        ("gravity", [0, 0, 1], (0.0, 0.0, 1.0)),
        ("gravity", [], ()),
    ):
        answer = set_one(ros, name, value)
        assert answer.successful, answer.reason
        assert getattr(parameters.value, name) == taken
        if name == "physics_rate":
            assert get(ros, name).double_value == taken
        if name == "gravity":
            assert tuple(get(ros, name).double_array_value) == taken
    assert node.set_parameters([Parameter("physics_rate", value=50)])[0].successful, "the node itself, too"
    assert parameters.value.physics_rate == 50.0


def test_a_bad_change_is_refused_with_the_reason_and_changes_nothing(ros):
    node = node_with(ros)
    parameters = Parameters(node, Rates)
    for name, value, words in (
        ("physics_rate", 0.5, "a number from 1 to 10000 [Hz]"),
        ("physics_rate", None, "physics_rate is not set"),
        ("physics_rate", [1.0], "physics_rate"),
        ("contact", "maybe", "'auto', 'on', 'off'"),
        ("gravity", None, "gravity is not set"),
        ("robot", "khr1", "restart the node with -p robot:=VALUE"),
        ("step_count", 1000, "physics_rate times step_count"),
        ("physics_rat", 1, "Did you mean 'physics_rate'"),
    ):
        answer = set_one(ros, name, value)
        assert not answer.successful and words in answer.reason
        assert parameters.value == Rates()
    assert describe(ros, "physics_rate").type == ParameterType.PARAMETER_DOUBLE
    assert get(ros, "physics_rate").double_value == 1000.0
    gains = Parameters(node, Gains, prefix="servo.s1")
    assert gains.value == Gains(), "what is declared after a refusal starts with its own values"
    assert set_one(ros, "physics_rate", 20.0).successful, "the next one is judged by itself"
    assert set_one(ros, "servo.s1.damping", 3).successful
    assert (parameters.value, gains.value) == (Rates(physics_rate=20.0), Gains(damping=3.0))


def test_several_changes_together_hold_all_or_none(ros):
    node = node_with(ros)
    rates = Parameters(node, Rates)
    gains = Parameters(node, Gains, prefix="servo.s1")
    answer = set_together(ros, {"physics_rate": 10.0, "servo.s1.stiffness": -1.0})
    assert not answer.successful
    assert "servo.s1.stiffness is -1.0" in answer.reason
    assert (rates.value, gains.value) == (Rates(), Gains())
    assert get(ros, "physics_rate").double_value == 1000.0
    answer = set_together(ros, {"physics_rate": 10.0, "step_count": 10000, "servo.s1.stiffness": 1})
    assert answer.successful, answer.reason
    assert (rates.value, gains.value) == (Rates(physics_rate=10.0, step_count=10000), Gains(stiffness=1.0))
    assert not set_one(ros, "physics_rate", 11.0).successful, "a rule between two settings"
    assert set_together(ros, {"physics_rate": 1000.0, "step_count": 10}).successful


def test_a_change_is_announced_before_it_holds_and_a_refusal_by_one_part_undoes_what_another_has_begun(ros):
    node = node_with(ros)
    rate, seen = [1000.0], []

    def follow(old, new):
        seen.append((old, new, rates.value))
        rate[0] = new.physics_rate

    def refuse(_old, _new):
        raise InputError("the servo\nis busy.")

    rates = Parameters(node, Rates, on_change=follow)
    Parameters(node, Gains, prefix="servo.s1", on_change=refuse)
    answer = set_together(ros, {"physics_rate": 10.0, "servo.s1.damping": 1.0})
    assert (answer.successful, answer.reason) == (False, "the servo is busy.")
    assert rate == [1000.0]
    assert rates.value == Rates()
    seen.clear()
    for _ in range(2):  # what changes nothing is not announced
        assert set_one(ros, "physics_rate", 5.0).successful
    assert seen == [(Rates(), Rates(physics_rate=5.0), Rates())], "before it holds"
