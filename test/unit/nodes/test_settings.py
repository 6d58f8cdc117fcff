# SPDX-License-Identifier: Apache-2.0
"""Typed settings without ROS."""

from __future__ import annotations

import array
import math
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.errors import InputError
from ada_dynamics.settings import as_mapping, checked, fields_of, setting


@dataclass(frozen=True)
class Example:
    rate: float = setting(1000.0, "steps of the physics", unit="Hz", lower=1.0, upper=1e4)
    count: int = setting(1, "steps at once", lower=1)
    contact: str = setting("auto", "ground", choices=("auto", "on", "off"))
    robot: str = setting("", "name or path", read_only=True)
    paused: bool = setting(False, "whether it waits")
    gravity: tuple[float, ...] = setting((), "gravity", unit="m/s^2", lower=-100.0, upper=100.0)
    wrenches: tuple[str, ...] = setting((), "joints", name="wrench.joints")

    def __post_init__(self) -> None:
        if len(self.gravity) not in (0, 3):
            raise InputError(f"parameter gravity has {len(self.gravity)} numbers; it must have three, or none.")


def test_a_value_is_taken_in_the_settings_own_type():
    assert checked(Example, {}) == Example()
    for name, value, taken in (
        ("rate", 500, 500.0),
        ("rate", np.float32(500.0), 500.0),
        ("rate", np.int64(500), 500.0),
        ("count", np.int32(3), 3),
        ("paused", np.True_, True),
        ("contact", True, "on"),  # YAML makes a boolean of `-p contact:=on`
        ("contact", False, "off"),
        ("gravity", [], ()),
        ("gravity", [0, 0, -9], (0.0, 0.0, -9.0)),
        ("gravity", array.array("d", [0.0, 0.0, -9.81]), (0.0, 0.0, -9.81)),
        ("gravity", np.array([0.0, 0.0, -9.81]), (0.0, 0.0, -9.81)),
        ("wrench.joints", ["s1", "s2"], ("s1", "s2")),
    ):
        found = as_mapping(checked(Example, {name: value}))[name]
        assert found == taken and type(found) is type(taken)
        if isinstance(taken, tuple):
            assert [type(item) for item in found] == [type(item) for item in taken]


@pytest.mark.parametrize(
    "name, given, words",
    [
        ("rate", "fast", ["rate is 'fast'", "a number from 1 to 10000 [Hz]", "steps of the physics"]),
        ("rate", 0.5, ["rate is 0.5", "from 1 to 10000"]),
        ("rate", 10001, ["rate is 10001"]),
        ("rate", math.nan, ["rate is nan"]),
        ("rate", True, ["rate is True"]),
        ("rate", None, ["rate is not set"]),
        ("rate", [1.0], ["rate is [1.0]"]),
        ("count", 1.5, ["count is 1.5", "a whole number of at least 1"]),
        ("count", True, ["count is True"]),
        ("contact", "maybe", ["contact is 'maybe'", "one of 'auto', 'on', 'off'"]),
        ("robot", 7, ["robot is 7", "text", "robot:=\"'7'\""]),
        ("paused", 1, ["paused is 1", "true or false"]),
        ("paused", "yes", ["paused is 'yes'"]),
        ("gravity", [0.0, 0.0, math.inf], ["gravity is [0.0, 0.0, inf]", "each from -100 to 100 [m/s^2]"]),
        ("gravity", "down", ["gravity is 'down'", "[0.0, 1.5]"]),
        ("gravity", [1.0, 2.0], ["gravity has 2 numbers"]),
        ("gravity", 9.81, ["gravity is 9.81", "a list of numbers"]),
        ("wrench.joints", "all", ["wrench.joints is 'all'", "Write [all]"]),
        ("wrench.joints", ["s1", 2], ["wrench.joints is ['s1', 2]", "a list of texts"]),
    ],
)
def test_a_refusal_names_the_setting_the_value_and_what_is_allowed(name, given, words):
    with pytest.raises(InputError) as refusal:
        checked(Example, {name: given})
    for word in words:
        assert word in str(refusal.value)


def test_an_unknown_name_is_refused_with_the_near_ones():
    with pytest.raises(InputError, match=r"no parameter is named 'ratr'\. Did you mean 'rate'"):
        checked(Example, {"ratr": 1.0})
    with pytest.raises(InputError, match=r"'servo\.ratr'\. Did you mean 'servo\.rate'"):
        checked(Example, {"ratr": 1.0}, prefix="servo.")
    with pytest.raises(InputError, match=r"servo\.s1\.rate is -1"):
        checked(Example, {"rate": -1.0}, prefix="servo.s1.")
    with pytest.raises(FrozenInstanceError):
        Example().rate = 3.0  # type: ignore[misc]


def test_fields_say_what_a_reader_must_know():
    fields = {one.name: one for one in fields_of(Example)}
    assert list(fields) == ["rate", "count", "contact", "robot", "paused", "gravity", "wrench.joints"]
    assert fields["rate"].kind == "float"
    assert fields["wrench.joints"].kind == "strs"
    assert fields["robot"].read_only
    assert (fields["rate"].lower, fields["rate"].upper, fields["rate"].unit) == (1.0, 1e4, "Hz")


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "rate": st.floats(1.0, 1e4),
            "count": st.integers(1, 2**40),
            "contact": st.sampled_from(["auto", "on", "off"]),
            "robot": st.text(),
            "paused": st.booleans(),
            "gravity": st.lists(st.floats(-100.0, 100.0), min_size=3, max_size=3),
            "wrench.joints": st.lists(st.text()),
        },
    )
)
def test_allowed_values_go_through_unchanged(values):
    settings = checked(Example, values)
    assert checked(Example, as_mapping(settings)) == settings
    for name, value in values.items():
        taken = as_mapping(settings)[name]
        assert (list(taken) if isinstance(taken, tuple) else taken) == value


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
ANYTHING = SCALARS | st.lists(SCALARS, max_size=4) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)


@given(st.dictionaries(st.sampled_from([one.name for one in fields_of(Example)]), ANYTHING))
def test_whatever_is_given_it_is_taken_or_refused(values):
    try:
        checked(Example, values)
    except InputError:
        return


def test_a_mistake_in_a_settings_class_is_the_programmers():
    @dataclass(frozen=True)
    class WrongDefault:
        rate: float = setting(0.0, "rate", lower=1.0)

    @dataclass(frozen=True)
    class WrongKind:
        rates: bytes = setting((), "rates")

    @dataclass(frozen=True)
    class NoSetting:
        rate: float = 1.0

    @dataclass
    class NotFrozen:
        rate: float = setting(1.0, "rate")

    for cls in (WrongDefault, WrongKind, NoSetting, NotFrozen):
        with pytest.raises(TypeError):
            fields_of(cls)


def test_settings_and_environment_are_imported_without_rclpy():
    imports = "import sys, ada_dynamics.settings; from ada_robot.ros import environment, status"
    code = f"{imports}; sys.exit('rclpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
