# SPDX-License-Identifier: Apache-2.0
"""Sweeps run in threads and processes, go on where they were, and print what happened; `ada sweep` and its codes."""

from __future__ import annotations

import csv
import errno
import json
import resource
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from refused import refused

from ada_dynamics.errors import InputError
from ada_dynamics.simulation import Log
from ada_tools import scenario as scenarios
from ada_tools import sweep
from ada_tools.cli import main
from ada_tools.scenario import registry
from ada_tools.sweep.results import Store, SweepResult
from ada_tools.sweep.running import work
from ada_tools.sweep.sweep import Sweep

J1, J2, J3 = (f"start.joints.joint_{i}" for i in (1, 2, 3))


def starts(count: int = 12, scenario: Any = "T3.1", duration: str = "10 ms", **more: Any) -> Sweep:
    return sweep.load(
        {
            "scenario": scenario,
            "with": {"duration": duration},
            "parameters": {J1: {"from": "10 deg", "to": "60 deg", "count": count}},
            "measures": ["energy_drift"],
            **more,
        }
    )


HELD = {
    "name": "held",
    "model": {"robot": "planar_3r"},
    "simulation": {"step": "1 ms", "duration": "20 ms"},
    "controller": {"name": "pid", "settings": {"gain": [5.0]}, "reference": {"joints": {"joint_2": "10 deg"}}},
}


def run(found: Sweep, output: Path, jobs: int = 1, **more: Any) -> SweepResult:
    with ThreadPoolExecutor(jobs) as executor:
        return sweep.run_sweep(found, output, executor, **more)


@pytest.fixture
def measure() -> Iterator[Callable[[str, Any], Any]]:
    with registry.temporary():
        yield lambda name, function: registry.measure(name)(function)


@pytest.mark.parametrize("jobs", [1, 3])
def test_figures_are_those_of_single_simulations(tmp_path: Path, jobs: int) -> None:
    found = starts(
        6, measures=["energy_drift", "centre_of_mass_moved"], parameters={J1: [0.3, 1.0], "step": [1e-3, 2e-3]}
    )
    result = run(found, tmp_path, jobs)
    assert (result.done, result.failed, result.left) == (4, 0, 0)
    for row in result.rows():
        scenario = found.scenario.with_changes(row["changes"])
        log = scenarios.simulate(scenario)
        # The same code on the same numbers, whichever run came before.
        assert row["measures"] == scenarios.measure(scenario, log, found.measures)
        assert row["changes"] == found.changes(row["run"])


def test_a_controller_holds_joints_where_each_run_starts_and_its_signals_can_be_measured(
    tmp_path: Path, measure: Any
) -> None:
    measure("first_effort", lambda scenario, log: float(log.signals["effort"][0, 0]))
    found = starts(2, HELD, measures=["end_positions", "first_effort"])
    for row in run(found, tmp_path).rows():
        scenario = found.scenario.with_changes(row["changes"])
        assert row["measures"] == scenarios.measure(scenario, scenarios.simulate(scenario), found.measures)


def test_a_sweep_that_was_limited_goes_on_and_makes_no_run_twice(tmp_path: Path) -> None:
    found = starts(12)
    first = run(found, tmp_path, limit=5)
    assert (first.done, first.left) == (5, 7)
    before = (tmp_path / "runs.jsonl").read_bytes()
    second = run(found, tmp_path)
    assert (second.done, second.left) == (12, 0)
    after = (tmp_path / "runs.jsonl").read_bytes()
    assert after.startswith(before)
    runs = [json.loads(line)["run"] for line in after.splitlines()[1:]]
    assert sorted(runs) == list(range(12))
    run(found, tmp_path)
    assert (tmp_path / "runs.jsonl").read_bytes() == after


@pytest.mark.parametrize("cut", [1, 20])
def test_a_torn_last_line_is_cut_off_and_its_run_made_again(tmp_path: Path, cut: int) -> None:
    found = starts(4)
    whole = run(found, tmp_path)
    rows = list(whole.rows())
    path = tmp_path / "runs.jsonl"
    text = path.read_bytes()
    path.write_bytes(text[:-cut])
    assert sweep.read_result(tmp_path).left == 1
    result = run(found, tmp_path)
    assert result.is_complete
    assert "torn" in result.notes[0]
    for row, old in zip(result.rows(), rows, strict=True):
        assert (row["run"], row["measures"]) == (old["run"], old["measures"])
    assert len(path.read_bytes().splitlines()) == 5


@pytest.mark.parametrize("text", [b"", b'{"ada_', b'{"ada_sweep": 1, "na'])
def test_a_torn_header_is_no_result(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "runs.jsonl").write_bytes(text)
    assert run(starts(2), tmp_path).is_complete


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    found = starts(4)
    run(found, tmp_path)
    path = tmp_path / "runs.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"nonsense\n", *lines[3:]]))
    with refused(sweep.SweepError, file=str(path), line=3):
        run(found, tmp_path)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    assert run(found, tmp_path).is_complete


GOOD = {"run": 1, "status": "done", "changes": {}, "measures": {"a": 1.0, "b": {"c": None}}, "seconds": 0.1}
BAD = {"run": 1, "status": "failed", "changes": {}, "error": {"type": "a", "text": "b"}, "seconds": 0}


@pytest.mark.parametrize(
    "change",
    [{"run": True}, {"run": 3}, {"status": "well"}, {"changes": None}, {"measures": None}, {"status": "failed"}],
)
def test_a_row_that_is_not_whole_is_a_damaged_line(tmp_path: Path, change: dict[str, Any]) -> None:
    found = starts(3)
    with Store(tmp_path, found) as store:
        store.append([GOOD, BAD])
    assert sweep.read_result(tmp_path).failed == 1
    with (tmp_path / "runs.jsonl").open("a") as file:
        file.write(json.dumps(GOOD | change) + "\n")
    with refused(sweep.SweepError, file=str(tmp_path / "runs.jsonl"), line=4):
        sweep.read_result(tmp_path)


def test_a_changed_sweep_is_refused_and_says_what_changed(tmp_path: Path) -> None:
    run(starts(3), tmp_path)
    changed = starts(3, duration="20 ms", measures=["centre_of_mass_moved"])
    with refused(sweep.SweepError, value=("scenario.simulation.duration", "measures")):
        run(changed, tmp_path)


@pytest.mark.parametrize("text", ['{"a": 1}\n', '{"a": 1}', "a"])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "runs.jsonl").write_text(text)
    with refused(sweep.SweepError, file=str(tmp_path / "runs.jsonl"), line=1):
        run(starts(2), tmp_path)
    assert (tmp_path / "runs.jsonl").read_text() == text


def test_two_at_once_in_one_folder_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    found = starts(2)
    with Store(tmp_path, found), refused(sweep.SweepError, field="lock"):
        run(found, tmp_path)
    assert run(found, tmp_path).is_complete


def test_what_was_written_before_the_disk_was_full_is_kept(tmp_path: Path) -> None:
    found, path = starts(200), tmp_path / "runs.jsonl"
    run(found, tmp_path, limit=3)  # what is compiled is compiled
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 700, limits[1]))
    try:
        with refused(sweep.SweepError, file=str(path), value=errno.EFBIG):
            run(found, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert 3 <= sweep.read_result(tmp_path).done < 200
    assert run(found, tmp_path).is_complete


def test_a_worker_hands_over_what_it_has_when_its_time_is_over() -> None:
    found = starts(4)
    assert [row["run"] for row in work(found, (1, 2, 3), 0.0)] == [1]
    assert [row["run"] for row in work(found, (1, 2, 3), 60.0)] == [1, 2, 3]


ARM = {"name": "arm", "model": {"robot": "pa10"}, "simulation": {"duration": "2 ms"}}


@pytest.mark.parametrize(
    ("scenario", "key", "values", "words"),
    [
        ("T3.3", J1, ["135 deg", "20 deg"], "loops"),  # which are open there
        (ARM, "start.joints.s2", ["10 deg", "100 deg"], "'s2'"),  # beyond its stop, as in a single simulation
    ],
)
def test_a_start_that_fails_is_a_row_with_its_error(
    tmp_path: Path, scenario: Any, key: str, values: list[str], words: str
) -> None:
    result = run(starts(scenario=scenario, parameters={key: values}, measures=["end_positions"]), tmp_path)
    good, bad = result.rows()
    assert (good["status"], bad["status"], bad["error"]["type"]) == ("done", "failed", "ScenarioError")
    assert words in bad["error"]["text"] and result.summary()["errors"][0]["runs"] == 1


def test_any_error_of_a_measure_fails_its_run_alone(tmp_path: Path, measure: Any) -> None:
    def some_fail(scenario: Any, log: Log) -> float:
        if log.q[0, 0] > 0.5:
            raise ZeroDivisionError
        return 1.0

    measure("some_fail", some_fail)
    result = run(starts(4, measures=["some_fail"]), tmp_path)
    failed = [row for row in result.rows() if row["status"] == "failed"]
    assert {row["error"]["type"] for row in failed} == {"ZeroDivisionError"}
    assert 0 < len(failed) < 4


def test_failed_runs_are_made_again_only_when_wanted(tmp_path: Path, measure: Any) -> None:
    broken = [True]

    def first_fails(scenario: Any, log: Log) -> float:
        if broken[0]:
            raise ValueError("not yet")
        return 2.0

    measure("first_fails", first_fails)
    found = starts(3, measures=["first_fails"])
    assert run(found, tmp_path).failed == 3
    broken[0] = False
    assert run(found, tmp_path).failed == 3
    result = run(found, tmp_path, retry_failed=True)
    assert (result.done, result.failed) == (3, 0)
    assert [row["measures"]["first_fails"] for row in result.rows()] == [2.0] * 3


def test_tables_have_units_in_their_titles_and_one_row_per_run(tmp_path: Path) -> None:
    found = starts(parameters={J1: ["10 deg", "20 deg"], "integrator": ["rk4", "rkf45"], "step": ["1 ms", 2e-3]})
    result = run(found, tmp_path)
    result.to_csv(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["run"]) for row in rows] == list(range(8))
    assert {float(row[f"{J1} [deg]"]) for row in rows} == {10.0, 20.0}
    assert {row["simulation.integrator"] for row in rows} == {"rk4", "rkf45"}
    # Two units: as they are written.
    assert {row["simulation.step"] for row in rows} == {"1 ms", "0.002"}
    drifts = [row["measures"]["energy_drift"] for row in result.rows()]
    assert [float(row["energy_drift"]) for row in rows] == drifts


class Counting(ThreadPoolExecutor):
    """An executor of somebody else's that notes how much of what it gets waits at most."""

    def __init__(self) -> None:
        super().__init__(2)
        self.futures, self.most = list[Future[Any]](), 0

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        self.futures.append(super().submit(function, *arguments))
        self.most = max(self.most, sum(not future.done() for future in self.futures))
        return self.futures[-1]


def test_any_executor_will_do_and_gets_a_few_chunks_at_a_time(tmp_path: Path) -> None:
    executor = Counting()
    result = sweep.run_sweep(starts(200, duration="1 ms"), tmp_path, executor, jobs=2)
    assert result.done == 200
    assert executor.most <= 4


@pytest.mark.parametrize(("field", "value"), [("executor", "cloud"), ("jobs", 0), ("limit", 0), ("progress", "loud")])
def test_a_wrong_option_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    with refused(InputError, field=field):
        sweep.run_sweep(starts(2), tmp_path, **{field: value})


SWEEP = """
scenario: T3.3
with: {simulation.duration: 5 ms}
parameters:
  start.joints.joint_1: [135 deg, 20 deg]
measures: [loop_gap]
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # where results land unless told otherwise
    path = tmp_path / "s.yaml"
    path.write_text(SWEEP)
    return path


HOME = "swept/s"  # of its results unless told otherwise


def ada(*words: object) -> int:
    return main(["sweep", *map(str, words)])


@pytest.mark.smoke
def test_it_runs_shows_and_exports(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = ("--jobs", 1)
    assert ada(file, *one, "--limit", 1, "--json") == 1
    assert json.loads(capsys.readouterr().out)["left"] == 1
    assert ada("status", HOME) == 1
    assert "1 of 2 runs done, 0 failed, 1 left" in capsys.readouterr().out
    assert ada(file, *one) == 0
    out = capsys.readouterr().out
    assert "1 of 2 runs done, 1 failed, 0 left" in out
    assert "failed, 1 times: ScenarioError" in out
    assert "loop_gap" in out
    assert ada(file, *one, "--strict") == 1
    assert ada("status", HOME, "--strict") == 1
    assert ada("export", HOME, file.with_suffix(".csv")) == 0
    assert len(file.with_suffix(".csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "words",
    [["status"], ["status", "nowhere"], ["export", "a"], ["a.yaml", "b.yaml"], ["a.txt"], ["FILE", "--jobs", "0"]],
)
def test_wrong_usage_has_an_exit_code_of_its_own(file: Path, words: list[str]) -> None:
    assert ada(*(file if word == "FILE" else word for word in words)) == 2


def test_an_export_of_another_kind_is_refused(file: Path) -> None:
    ada(file, "--jobs", 1, "--limit", 1)
    assert ada("export", HOME, file.with_suffix(".xls")) == 2
