# SPDX-License-Identifier: Apache-2.0
"""Typed settings without ROS, and NAME=VALUE on command lines."""

from __future__ import annotations

import array
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

from ada_dynamics.errors import InputError, UnknownNameError
from ada_robot.settings import as_mapping, checked, fields_of, option_numbers, option_values, setting


@dataclass(frozen=True)
class Example:
    rate: float = setting(1000.0, "steps of the physics", unit="Hz", lower=1.0, upper=1e4)
    count: int = setting(1, "steps at once", lower=1)
    contact: str = setting("auto", "ground", choices=("auto", "on", "off"))
    robot: str = setting("", "name or path", read_only=True)
    paused: bool = setting(False, "whether it waits")
    gravity: tuple[float, ...] = setting((), "gravity", unit="m/s^2", lower=-100.0, upper=100.0)
    wrenches: tuple[str, ...] = setting((), "joints")

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
        ("wrenches", ["s1", "s2"], ("s1", "s2")),
    ):
        found = as_mapping(checked(Example, {name: value}))[name]
        assert found == taken and type(found) is type(taken)
        if isinstance(taken, tuple):
            assert [type(item) for item in found] == [type(item) for item in taken]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *(("rate", one) for one in ("fast", 0.5, 10001, math.nan, True, None, [1.0])),
        *(("count", one) for one in (1.5, True)),
        ("contact", "maybe"),
        ("robot", 7),
        *(("paused", one) for one in (1, "yes")),
        *(("gravity", one) for one in ([0.0, 0.0, math.inf], "down", 9.81)),
        *(("wrenches", one) for one in ("all", ["s1", 2])),
    ],
)
def test_a_refusal_names_the_setting_the_value_and_what_is_allowed(name, given):
    allowed = {one.name: one.allowed for one in fields_of(Example)}[name]
    with refused(InputError, field="servo.s1." + name, allowed=allowed) as refusal:
        checked(Example, {name: given}, prefix="servo.s1.")
    assert refusal.value.value is given


def test_an_unknown_name_is_refused_with_the_near_ones():
    for prefix in ("", "servo."):
        with refused(UnknownNameError, value=prefix + "ratr") as refusal:
            checked(Example, {"ratr": 1.0}, prefix=prefix)
        assert prefix + "rate" in refusal.value.allowed
    with pytest.raises(InputError):  # a rule between settings, by their class
        checked(Example, {"gravity": [1.0, 2.0]})


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
ANYTHING = SCALARS | st.lists(SCALARS, max_size=4) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)


@given(st.dictionaries(st.sampled_from([one.name for one in fields_of(Example)]), ANYTHING))
def test_whatever_is_given_it_is_taken_or_refused(values):
    try:
        checked(Example, values)
    except InputError:
        return


def test_values_are_json_and_else_text():
    texts = ["period=0.004", "url=dry:", "on=true", "ids=[0, 1]", "name=", "pair=a=b"]
    assert option_values("setting", texts) == {
        "period": 0.004,
        "url": "dry:",
        "on": True,
        "ids": [0, 1],
        "name": "",
        "pair": "a=b",
    }
    assert option_values("setting", []) == {}


@pytest.mark.parametrize("text", ["period", "=1", ""])
def test_a_value_without_a_name_or_a_sign_is_refused(text):
    with refused(InputError, field="setting", value=text):
        option_values("setting", [text])


def test_a_name_given_twice_is_refused():
    with refused(InputError, field="period"):
        option_values("setting", ["period=1", "period=2"])


@pytest.mark.parametrize("value", ["x", "true", "NaN", "Infinity", "[1]", "null"])
def test_numbers_are_finite_numbers(value):
    assert option_numbers("fault", ["drop=1", "late=0.5"]) == {"drop": 1.0, "late": 0.5}
    with refused(InputError, field="drop"):
        option_numbers("fault", [f"drop={value}"])
