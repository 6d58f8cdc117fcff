# SPDX-License-Identifier: Apache-2.0
"""What `benchmarks.hardware` judges by: its bad commands are bad, and it reads flight records rightly."""

import json
import math
import time

import numpy as np
import pytest

from ada_robot.contract import JointLimit, Mode
from ada_robot.safety.demand_guard import DemandGuard
from ada_robot.safety.flight_file import FlightRecord
from ada_robot.safety.flight_memory import Flight
from ada_robot.safety.joint_rules import JointRules
from ada_robot.safety.settings import SafetySettings
from benchmarks.command import CANNOT_RUN
from benchmarks.hardware import __main__ as command_line
from benchmarks.hardware.commands import bad_commands
from benchmarks.hardware.scene import first_rest, first_slower


def test_every_bad_command_is_refused_and_all_reasons_come():
    safety = SafetySettings()
    rules = JointRules([JointLimit("a", -1.0, 2.0, 1.0, 10.0), JointLimit("b", -0.5, 0.5, 3.0, 1.0)], safety)
    check = DemandGuard(rules, frozenset(Mode), safety.command_timeout)
    where = np.array([0.5, 0.0])
    for command in bad_commands(rules, where, 20_000, 3):
        assert check.judge(command, time.monotonic(), where) is not None, command
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


@pytest.mark.parametrize("section", command_line.SECTIONS)
def test_a_quick_run_measures_and_nothing_unsafe_comes_to_the_device(section, tmp_path, capsys):
    code = command_line.main([section, "--quick", "--json", str(tmp_path)])
    assert code != CANNOT_RUN, capsys.readouterr().err
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert all(len(row) == len(table["columns"]) for table in figures["tables"] for row in table["rows"])
    assert [table["section"] for table in figures["tables"]] == [section]
    unsafe = [target for target in figures["targets"] if "unsafe" in target["what"]]
    assert unsafe or section == "cycle"
    assert all(target["reached"] for target in unsafe)


def test_sections_that_there_are_not_are_refused(capsys):
    with pytest.raises(SystemExit):
        command_line.main(["speed"])
    assert "no section 'speed'; there are faults, stops, commands, cycle, restarts" in capsys.readouterr().err
