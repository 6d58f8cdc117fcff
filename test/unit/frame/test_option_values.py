# SPDX-License-Identifier: Apache-2.0
"""NAME=VALUE on command lines: what is read, and what is said of what cannot be."""

import pytest
from refused import refused

from ada_dynamics.errors import InputError
from ada_robot.settings import option_numbers, option_values


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
        option_values("setting", [text], "period=0.004")


def test_a_name_given_twice_is_refused():
    with refused(InputError, field="period"):
        option_values("setting", ["period=1", "period=2"])


@pytest.mark.parametrize("value", ["x", "true", "NaN", "Infinity", "[1]", "null"])
def test_numbers_are_finite_numbers(value):
    assert option_numbers("fault", ["drop=1", "late=0.5"]) == {"drop": 1.0, "late": 0.5}
    with refused(InputError, field="drop"):
        option_numbers("fault", [f"drop={value}"], "drop=0.1")
