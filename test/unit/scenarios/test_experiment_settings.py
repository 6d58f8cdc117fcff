# SPDX-License-Identifier: Apache-2.0
"""Settings of an experiment: named tuples with units are read from a scenario, and wrong values are refused."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import pytest
from refused import refused

from ada_experiments.settings import OR_ZERO, read_settings
from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.scenario import Scenario, load


class Gains(NamedTuple):
    kp: Annotated[float, "1/s"] = 5.0
    td: Annotated[float, "s", OR_ZERO] = 0.1


class Chosen(NamedTuple):
    name: str
    largest: Annotated[float, "N s"]
    delays: Annotated[tuple[float, ...], "s"]
    points: tuple[str, ...]
    gains: Gains
    count: int = 3
    whole: bool = True


GIVEN: dict[str, Any] = {"name": "x", "largest": "2 N s", "delays": ["1 ms", "2 ms"], "points": ["a", "b"]}


def scenario(**settings: Any) -> Scenario:
    return load({"name": "short", "experiment": "own", "settings": {**GIVEN, **settings}})


def test_settings_are_read_with_their_units_and_defaults() -> None:
    found = read_settings(scenario(gains={"td": "0 s"}, whole="false"), Chosen)
    assert found == Chosen("x", 2.0, (1e-3, 2e-3), ("a", "b"), Gains(td=0.0), 3, False)


@pytest.mark.parametrize(
    ("field", "value"), [("largest", "2 N"), ("largest", -1.0), ("delays", "1 ms"), ("delays", [])]
)
def test_wrong_settings_are_refused(field: str, value: Any) -> None:
    with refused(ScenarioError, field=f"settings.{field}"):
        read_settings(scenario(**{field: value}), Chosen)


def test_unknown_settings_are_refused() -> None:
    with refused(ScenarioError, value="other"):
        read_settings(scenario(other=1), Chosen)
