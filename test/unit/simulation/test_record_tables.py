# SPDX-License-Identifier: Apache-2.0
"""Logs as .npz and .csv files, the command that converts recordings, and the progress of long runs."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from log_examples import ROBOTS, assert_same, motion

from ada_dynamics.clock import ManualClock
from ada_dynamics.progress import Progress
from ada_dynamics.simulation.log import Log
from ada_tools import cli


@pytest.mark.parametrize("name", ROBOTS)
def test_a_saved_log_is_read_bit_for_bit(name, tmp_path):
    log = motion(name)
    found = Log.load(log.save(tmp_path / "log.mcap"))
    assert_same(found, log)
    assert np.array_equal(found.energy.kinetic, log.energy.kinetic)  # the model is the same, too
    assert_same(Log.load(log[3:3].save(tmp_path / "log")), log[3:3])  # without an ending, and empty


@pytest.mark.parametrize("name", ROBOTS)
def test_arrays_are_saved_for_numpy(name, tmp_path):
    log = motion(name)
    with np.load(log.save(tmp_path / "log.npz")) as found:
        for key in ("t", "q", "v", "a", "tau"):
            assert np.array_equal(found[key], getattr(log, key), equal_nan=True)
        for key, wrench in log.external.items():
            assert np.array_equal(found[f"external {key}"], wrench)
        for key, wrench in log.contact_wrenches.items():
            assert np.array_equal(found[f"contact {key}"], wrench)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_table_has_all_digits_of_all_numbers(name, tmp_path):
    log = motion(name)
    path = log.to_csv(tmp_path / "log.csv")
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    parts = [log.t, *log.q.T, *log.v.T, *log.a.T, *log.tau.T]
    parts += [column for w in (*log.external.values(), *log.contact_wrenches.values()) for column in w.T]
    parts += [*log.energy, *([log.loop_gap] if log.model.loops else [])]
    assert np.array_equal(table, np.column_stack(parts))
    with path.open(newline="") as file:
        names = next(csv.reader(file))
    assert len(names) == len(set(names)) == table.shape[1]
    assert all(name.endswith("]") for name in names)


def test_the_head_of_a_table_names_joints_and_units(tmp_path):
    def head(name: str) -> list[str]:
        with motion(name)[:1].to_csv(tmp_path / f"{name}.csv").open(newline="") as file:
            return next(csv.reader(file))

    arm, floating, mixed = head("arm"), head("floating"), head("mixed")
    assert arm[:8] == [
        "t [s]", "q joint_0 [rad]", "q joint_1 [rad]", "q joint_2 [rad]",
        "v joint_0 [rad/s]", "v joint_1 [rad/s]", "v joint_2 [rad/s]", "a joint_0 [rad/s^2]",
    ]  # fmt: skip
    assert "tau joint_2 [N m]" in arm
    assert "external link_2 nx [N m]" in arm
    assert "contact heel fz [N]" in arm
    assert arm[-2:] == ["kinetic energy [J]", "potential energy [J]"]
    assert floating[3:8] == ["q root_joint z [m]", *(f"q root_joint q{k} [1]" for k in "xyzw")]
    assert "v root_joint wx [rad/s]" in floating
    assert "tau root_joint x [N]" in floating
    assert "q joint, cylindrical slide [m]" in mixed  # commas in names are quoted
    assert head("linkage")[-1] == "loop gap [m, rad]"


def test_the_command_tells_what_is_in_a_recording(tmp_path, capsys):
    path = motion("linkage").to_mcap(tmp_path / "run.mcap")
    assert cli.main(["record", "info", str(path)]) == 0
    text = capsys.readouterr().out
    for part in ("60 rows, t = 0 ... 0.59 s, mean step 0.01 s", "integrator rk4", "event at 0.125 s: touchdown",
                 "singular configurations at t = 0.1, 0.2 s", "largest closure error",
                 "contacts: heel, toe"):  # fmt: skip
        assert part in text
    assert cli.main(["record", "info", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows"] == 60
    assert found["problem"] is None
    assert found["largest_gap"] < 1e-13
    assert found["info"]["complete"] is True


@pytest.mark.parametrize("ending", ["npz", "csv", "mcap"])
def test_the_command_converts(ending, tmp_path, capsys):
    log = motion("floating")
    out = tmp_path / f"out.{ending}"
    assert cli.main(["record", "convert", str(log.to_mcap(tmp_path / "run.mcap")), str(out)]) == 0
    assert "60 rows" in capsys.readouterr().out
    if ending == "csv":
        assert np.array_equal(np.loadtxt(out, delimiter=",", skiprows=1)[:, 1:11], log.q)
    elif ending == "npz":
        assert np.array_equal(np.load(out)["q"], log.q)
    else:
        assert_same(Log.load(out), log)


def test_the_command_refuses_what_it_cannot_write_or_read(tmp_path, capsys):
    path = motion("arm").save(tmp_path / "log.mcap")
    for arguments, reason in (
        (["convert", str(path), str(tmp_path / "log.xls")], "its extension must be one of .csv, .npz, .mcap"),
        (["convert", str(path), str(path)], "which is also the input"),
        (["info", str(tmp_path / "none.mcap")], "No such file"),
        (["info", str(Path(__file__))], "is not an .mcap file"),
    ):
        assert cli.main(["record", *arguments]) == cli.USAGE_ERROR
        assert reason in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stream, seconds, updates=1000):
    clock = ManualClock()
    with Progress(50.0, "pa10", "s", stream=stream, clock=clock) as progress:
        for i in range(1, updates + 1):
            clock.advance(seconds / updates)
            progress.update(50.0 * i / updates, "fine")
    return stream.getvalue()


def test_progress_is_one_line_of_a_terminal_drawn_ten_times_a_second_and_a_few_lines_of_a_file():
    text = shown(Terminal(), 20.0)
    assert text.count("\n") == 1 and 150 <= len(text.split("\r")[1:]) <= 200
    for seconds, least, most in ((3.0, 2, 4), (20.0, 9, 11), (1000.0, 95, 101)):
        lines = shown(io.StringIO(), seconds).splitlines()
        assert least <= len(lines) <= most and not any("\r" in line or "\x1b" in line for line in lines)
        assert sum("100 %" in line for line in lines) == 1


def test_a_terminal_that_has_gone_does_not_end_the_run():
    stream, clock = Terminal(), ManualClock()
    with Progress(1.0, stream=stream, clock=clock) as progress:
        stream.close()
        clock.advance(5.0)
        progress.update(0.5)
