# SPDX-License-Identifier: Apache-2.0
"""What `benchmarks.hardware` judges by: its bad commands are bad, and it reads flight records rightly."""

import math

import numpy as np
import pytest

from ada_dynamics.clock import ManualClock
from ada_robot.contract import JointLimit, Mode
from ada_robot.safety.demand_guard import DemandGuard
from ada_robot.safety.flight_file import FlightRecord
from ada_robot.safety.flight_memory import Flight
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings
from benchmarks.hardware.commands import bad_commands
from benchmarks.hardware.scene import first_rest, first_slower


def test_every_bad_command_is_refused_and_all_reasons_come():
    safety, clock = SafetySettings(), ManualClock(10.0)
    rules = JointRules([JointLimit("a", -1.0, 2.0, 1.0, 10.0), JointLimit("b", -0.5, 0.5, 3.0, 1.0)], safety)
    check = DemandGuard(rules, frozenset(Mode), safety.command_timeout, clock)
    where = np.array([0.5, 0.0])
    for command in bad_commands(rules, where, 20_000, 3, clock):
        assert check.judge(command, clock.now(), where) is not None, command
    assert set(check.refused) == {"not finite", "over a limit", "jump", "too old", "from the future"}
    assert min(check.refused.values()) > 1000


def record(told):
    """Rows of 2 ms with these speeds of the first joint."""
    flight = Flight("arm", "", ("a",), 0.002, len(told))
    rows = np.zeros((len(told), flight.columns))
    rows[:, 0] = 10.0 + 0.002 * np.arange(len(told))
    rows[:, 6] = told
    return FlightRecord(flight, "", rows, [], 0)


def test_slowing_down_and_rest_are_found():
    told = record([0.5, 0.5, 0.48, 0.46, 0.0, math.nan])
    assert first_slower(told, 10.0, 0.5) == pytest.approx(10.004)
    assert first_rest(told, 10.0) == pytest.approx(10.008)
    assert first_slower(record([-0.5, -0.5, math.nan]), 10.0, 0.5) == pytest.approx(10.004)
    assert first_slower(record([0.5] * 5), 10.0, 0.5) == math.inf
    assert first_rest(record([0.5] * 5), 10.0) == math.inf
