# SPDX-License-Identifier: Apache-2.0
"""Sweeps that run in this process: right figures, whole files of results, bounded memory, failures as rows."""

from __future__ import annotations

import csv
import errno
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ada_dynamics.errors import InputError
from ada_dynamics.simulation import Log
from ada_tools import scenario as scenarios
from ada_tools import sweep
from ada_tools.scenario import registry
from ada_tools.sweep.results import SweepResult
from ada_tools.sweep.store import Store
from ada_tools.sweep.sweep import Sweep

J1, J2, J3 = (f"start.joints.joint_{i}" for i in (1, 2, 3))


def starts(count: int = 12, scenario: Any = "T3.1", duration: str = "10 ms", **more: Any) -> Sweep:
    """Starts around the one of the document."""
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


def held(**changes: Any) -> Sweep:
    """Starts of an arm with a controller."""
    return starts(2, HELD, measures=["end_positions"], **{"with": changes})


def run(found: Sweep, output: Path, jobs: int = 1, **more: Any) -> SweepResult:
    return sweep.run_sweep(found, output, "threads", jobs, **more)


@pytest.fixture
def measure() -> Iterator[Callable[[str, Any], None]]:
    """Registers measures for one test."""
    names: list[str] = []

    def register(name: str, function: Any) -> None:
        names.append(name)
        registry.measure(name)(function)

    yield register
    for name in names:
        registry._measures.pop(name, None)


# --- figures --------------------------------------------------------------------------------------------------------
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


def test_figures_of_closed_loops_are_those_of_single_simulations(tmp_path: Path) -> None:
    axes = {J1: [f"{a} deg" for a in (135, 120)], J2: ["-45 deg", "-60 deg"], J3: ["225 deg", "240 deg"]}
    found = starts(
        scenario="T3.3",
        parameters=axes,
        measures=["loop_gap", "centre_of_mass_moved"],
        **{"with": {"duration": "20 ms", "start.close": True, "start.hold": ["joint_1"]}},
    )
    result = run(found, tmp_path)
    rows = list(result.rows())
    assert result.done + result.failed == 8
    good = [row for row in rows if row["status"] == "done"]
    assert len(good) >= 2
    for row in good[:4]:
        scenario = found.scenario.with_changes(row["changes"])
        alone = scenarios.measure(scenario, scenarios.simulate(scenario), found.measures)
        # Loops are closed by iterations whose last one depends on the pose that a simulation was built at.
        assert row["measures"] == pytest.approx(alone, rel=1e-9, abs=1e-12)


def test_a_controller_holds_joints_where_each_run_starts_and_its_signals_can_be_measured(
    tmp_path: Path, measure: Any
) -> None:
    measure("first_effort", lambda scenario, log: float(log.signals["effort"][0, 0]))
    found = starts(2, HELD, measures=["end_positions", "first_effort"])
    for row in run(found, tmp_path).rows():
        scenario = found.scenario.with_changes(row["changes"])
        assert row["measures"] == scenarios.measure(scenario, scenarios.simulate(scenario), found.measures)


def test_a_start_that_the_scenario_itself_cannot_have_is_no_obstacle(tmp_path: Path) -> None:
    data = scenarios.load("T3.3").as_data()
    pose = data["start"]["joints"]
    found = starts(
        scenario={**data, "start": {"joints": {"joint_1": "20 deg"}}},
        parameters={f"start.joints.{joint}": [angle] for joint, angle in pose.items()},
        measures=["loop_gap"],
    )
    (row,) = run(found, tmp_path).rows()
    # Rounding of lengths of 1 m.
    assert row["measures"]["loop_gap"] < 1e-12


# --- the file of results --------------------------------------------------------------------------------------------
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


def test_a_header_that_is_longer_than_what_is_read_is_not_taken_for_a_torn_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(starts(2), tmp_path)
    before = (tmp_path / "runs.jsonl").read_bytes()
    monkeypatch.setattr("ada_tools.sweep.store._LONGEST_HEADER", 100)
    with pytest.raises(sweep.SweepError, match="no file of results"):
        run(starts(2), tmp_path)
    assert (tmp_path / "runs.jsonl").read_bytes() == before


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    found = starts(4)
    run(found, tmp_path)
    path = tmp_path / "runs.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"nonsense\n", *lines[3:]]))
    with pytest.raises(sweep.SweepError, match="line 3: it is damaged"):
        run(found, tmp_path)
    path.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    assert run(found, tmp_path).is_complete


GOOD = {"run": 1, "status": "done", "changes": {}, "measures": {"a": 1.0, "b": {"c": None}}, "seconds": 0.1}
BAD = {"run": 1, "status": "failed", "changes": {}, "error": {"type": "a", "text": "b"}, "seconds": 0}


@pytest.mark.parametrize(
    "change",
    [
        {"run": True},
        {"run": 3},
        {"status": "well"},
        {"changes": None},
        {"seconds": "0.1"},
        {"measures": None},
        {"measures": {"a": "b"}},
        {"status": "failed"},
        {"status": "failed", "error": {"type": "a"}},
    ],
)
def test_a_row_that_is_not_whole_is_a_damaged_line(tmp_path: Path, change: dict[str, Any]) -> None:
    found = starts(3)
    with Store(tmp_path, found) as store:
        store.append([GOOD, BAD])
    assert sweep.read_result(tmp_path).failed == 1
    with (tmp_path / "runs.jsonl").open("a") as file:
        file.write(json.dumps(GOOD | change) + "\n")
    with pytest.raises(sweep.SweepError, match="line 4: it is damaged"):
        sweep.read_result(tmp_path)


def test_a_changed_sweep_is_refused_and_says_what_changed(tmp_path: Path) -> None:
    run(starts(3), tmp_path)
    changed = starts(3, duration="20 ms", measures=["centre_of_mass_moved"])
    with pytest.raises(sweep.SweepError, match=r"duration from '10 ms' to '20 ms'.*measures from .*--restart"):
        run(changed, tmp_path)
    assert run(changed, tmp_path, restart=True).done == 3
    assert (tmp_path / "runs.jsonl.old").exists()


def test_another_controller_is_another_sweep(tmp_path: Path) -> None:
    gain = "controller.settings.gain"
    run(held(), tmp_path / "5")
    with pytest.raises(sweep.SweepError, match=r"another sweep. Changed since: scenario.controller.settings.gain"):
        run(held(**{gain: [500.0]}), tmp_path / "5")
    with ThreadPoolExecutor(1) as client:
        results = [
            sweep.run_sweep(held(**{gain: [value]}), tmp_path / f"client{value}", client, 1) for value in (5.0, 500.0)
        ]
    five, many = ([row["measures"]["end_positions"] for row in result.rows()] for result in results)
    assert five == [row["measures"]["end_positions"] for row in sweep.read_result(tmp_path / "5").rows()]
    assert all(one["joint_2"] != other["joint_2"] for one, other in zip(five, many, strict=True))


@pytest.mark.parametrize("text", ['{"a": 1}\n', '{"a": 1}', "a"])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "runs.jsonl").write_text(text)
    with pytest.raises(sweep.SweepError, match=r"no file of results"):
        run(starts(2), tmp_path)
    assert (tmp_path / "runs.jsonl").read_text() == text


def test_two_at_once_in_one_folder_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    found = starts(2)
    with Store(tmp_path, found), pytest.raises(sweep.SweepError, match="another process"):
        run(found, tmp_path)
    assert run(found, tmp_path).is_complete


def test_a_full_disk_is_named_and_what_was_written_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, room = Store._write, [3]

    def until_full(self: Store, text: bytes) -> None:
        room[0] -= 1
        if room[0] < 0:
            write(self, text[:10])  # as much as there was room for
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, text)

    monkeypatch.setattr(Store, "_write", until_full)
    with pytest.raises(sweep.SweepError, match=r"runs\.jsonl: it cannot be written: No space left.* goes on"):
        run(starts(200), tmp_path)
    monkeypatch.undo()
    assert sweep.read_result(tmp_path).done >= 2
    assert run(starts(200), tmp_path).is_complete


def test_a_folder_without_results_is_named(tmp_path: Path) -> None:
    with pytest.raises(sweep.SweepError, match="no results of a sweep"):
        sweep.read_result(tmp_path)


# --- failures -------------------------------------------------------------------------------------------------------
def test_a_run_that_fails_is_a_row_with_its_error(tmp_path: Path) -> None:
    found = starts(scenario="T3.3", parameters={J1: ["135 deg", "20 deg"]})
    result = run(found, tmp_path)
    good, bad = result.rows()
    assert (good["status"], bad["status"]) == ("done", "failed")
    assert bad["error"]["type"] == "ScenarioError"
    assert "the loops are open" in bad["error"]["text"]
    assert result.summary()["errors"][0]["runs"] == 1


@pytest.mark.parametrize("more", [{}, {"device": "cpu"}])
def test_a_start_beyond_the_stops_fails_as_that_of_a_single_simulation(tmp_path: Path, more: dict[str, str]) -> None:
    arm = {"name": "arm", "model": {"robot": "pa10"}, "simulation": {"duration": "2 ms"}}
    found = starts(
        scenario=arm, parameters={"start.joints.s2": ["10 deg", "100 deg"]}, measures=["end_positions"], **more
    )
    good, bad = run(found, tmp_path).rows()
    assert (good["status"], bad["status"]) == ("done", "failed")
    assert "'s2' is 0.105 [rad, m] beyond its limits" in bad["error"]["text"]


def test_any_error_of_a_measure_fails_its_run_alone_and_its_log_can_be_kept(tmp_path: Path, measure: Any) -> None:
    def some_fail(scenario: Any, log: Log) -> float:
        if log.q[0, 0] > 0.5:
            raise ZeroDivisionError
        return 1.0

    measure("some_fail", some_fail)
    result = run(starts(4, measures=["some_fail"], keep="failed"), tmp_path)
    failed = [row for row in result.rows() if row["status"] == "failed"]
    assert {row["error"]["type"] for row in failed} == {"ZeroDivisionError"}
    logs = sorted((tmp_path / "logs").iterdir())
    assert [path.name for path in logs] == [f"run_{row['run']:07d}.npz" for row in failed]
    assert Log.load(logs[0]).q[0, 0] > 0.5


def test_failed_runs_are_made_again_only_when_wanted(tmp_path: Path, measure: Any) -> None:
    broken = [True]

    def first_fails(scenario: Any, log: Log) -> float:
        if broken[0]:
            raise ValueError("not yet")
        return 2.0

    measure("first_fails", first_fails)
    found = starts(3, measures=["first_fails"], keep="failed")
    assert run(found, tmp_path).failed == 3
    assert len(list((tmp_path / "logs").iterdir())) == 3
    broken[0] = False
    assert run(found, tmp_path).failed == 3
    result = run(found, tmp_path, retry_failed=True)
    assert (result.done, result.failed) == (3, 0)
    assert [row["measures"]["first_fails"] for row in result.rows()] == [2.0] * 3
    assert not list((tmp_path / "logs").iterdir())


def test_all_logs_can_be_kept(tmp_path: Path) -> None:
    run(starts(2, keep="all"), tmp_path)
    logs = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert logs == ["run_0000000.npz", "run_0000001.npz"]
    assert len(Log.load(tmp_path / "logs" / logs[0])) == 11


@pytest.mark.parametrize("more", [{}, {"device": "cpu"}])
def test_a_run_that_keeps_no_log_leaves_none_of_before(tmp_path: Path, more: dict[str, str]) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "run_0000001.npz").touch()
    assert run(starts(2, **more), tmp_path).is_complete
    assert not list((tmp_path / "logs").iterdir())


def test_starting_anew_puts_the_logs_aside_with_their_rows(tmp_path: Path) -> None:
    run(starts(2, keep="all"), tmp_path)
    kept = (tmp_path / "logs" / "run_0000001.npz").read_bytes()
    (tmp_path / "logs.old").mkdir()
    (tmp_path / "logs.old" / "own.txt").touch()
    (tmp_path / "logs.old" / "run_0000007.npz").touch()
    run(starts(1, parameters={J1: [0.1]}), tmp_path, restart=True)
    assert not list((tmp_path / "logs").iterdir())
    old = sorted(path.name for path in (tmp_path / "logs.old").iterdir())
    assert old == ["own.txt", "run_0000000.npz", "run_0000001.npz"]
    assert (tmp_path / "logs.old" / "run_0000001.npz").read_bytes() == kept


def test_a_figure_that_is_not_finite_is_counted_and_not_averaged(tmp_path: Path, measure: Any) -> None:
    measure("odd", lambda scenario, log: np.inf if log.q[0, 0] > 0.5 else {"a": 1.0, "b": 2.0})
    result = run(starts(4, measures=["odd"]), tmp_path)
    found = result.summary()["measures"]
    assert found["odd.a"]["mean"] == 1.0
    assert found["odd.b"]["greatest"] == 2.0
    assert found["odd"]["not_finite"] > 0


# --- tables ---------------------------------------------------------------------------------------------------------
def test_tables_have_units_in_their_titles_and_one_row_per_run(tmp_path: Path) -> None:
    found = starts(parameters={J1: ["10 deg", "20 deg"], "integrator": ["rk4", "rkf45"], "step": ["1 ms", 2e-3]})
    result = run(found, tmp_path)
    result.to_csv(tmp_path / "t.csv")
    result.to_npz(tmp_path / "t.npz")
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    arrays = np.load(tmp_path / "t.npz")
    assert [int(row["run"]) for row in rows] == list(range(8)) == arrays["run"].tolist()
    assert {float(row[f"{J1} [deg]"]) for row in rows} == {10.0, 20.0} == set(arrays[f"{J1} [deg]"].tolist())
    assert {row["simulation.integrator"] for row in rows} == {"rk4", "rkf45"}
    # Two units: as they are written.
    assert {row["simulation.step"] for row in rows} == {"1 ms", "0.002"}
    drifts = [row["measures"]["energy_drift"] for row in result.rows()]
    assert [float(row["energy_drift"]) for row in rows] == drifts == arrays["energy_drift"].tolist()


# --- executors ------------------------------------------------------------------------------------------------------
class Counting:
    """An executor of somebody else's that counts how much waits."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2)
        self._lock = threading.Lock()
        self.waiting = self.most = self.chunks = 0

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        with self._lock:
            self.waiting += 1
            self.chunks += 1
            self.most = max(self.most, self.waiting)
        future = self._pool.submit(function, *arguments)
        future.add_done_callback(self._less)
        return future

    def _less(self, _: Any) -> None:
        with self._lock:
            self.waiting -= 1


def test_any_executor_will_do_and_gets_a_few_chunks_at_a_time(tmp_path: Path) -> None:
    executor = Counting()
    result = sweep.run_sweep(starts(600, duration="1 ms"), tmp_path, executor, jobs=2)
    assert result.done == 600
    assert executor.most <= 4
    # A chunk is a quarter of a second of work, not a single run.
    assert executor.chunks < 300


def test_a_lost_chunk_is_tried_once_more_run_by_run(tmp_path: Path) -> None:
    class Losing(Counting):
        def submit(self, function: Any, *arguments: Any) -> Future[Any]:
            runs = arguments[0].runs if arguments else ()
            if 5 in runs:
                lost: Future[Any] = Future()
                lost.set_exception(OSError("the machine is gone"))
                return lost
            return super().submit(function, *arguments)

    result = sweep.run_sweep(starts(12), tmp_path, Losing(), jobs=1)
    assert (result.done, result.failed) == (11, 1)
    (row,) = (row for row in result.rows() if row["status"] == "failed")
    assert row["run"] == 5
    assert "the machine is gone" in row["error"]["text"]


def test_progress_goes_to_a_function(tmp_path: Path) -> None:
    shares: list[float] = []
    run(starts(4), tmp_path, progress=lambda share, text: shares.append(share))
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"executor": "cloud"}, "local, threads, dask"),
        ({"executor": object()}, "no submit"),
        ({"jobs": 0}, "jobs is 0"),
        ({"limit": 0}, "limit is 0"),
        ({"address": "tcp://127.0.0.1:1"}, "'dask' alone"),
        ({"progress": "loud", "executor": "threads"}, "progress is 'loud'"),
    ],
)
def test_a_wrong_option_is_refused(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sweep.run_sweep(starts(2), tmp_path, **more)


# --- memory ---------------------------------------------------------------------------------------------------------
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory as Linux tells it")
def test_memory_does_not_grow_with_the_number_of_runs(tmp_path: Path) -> None:
    sizes: list[tuple[float, int]] = []

    def note(share: float, text: str) -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        sizes.append((share, pages * os.sysconf("SC_PAGE_SIZE")))

    found = starts(2000, duration="2 ms")
    result = run(found, tmp_path, progress=note)
    assert result.done == 2000
    early = max(size for share, size in sizes if share <= 0.3)
    # Worker and the one who hands out are in this process. 1400 logs would be more; 4 MiB is what the allocator may do.
    assert sizes[-1][1] - early < 4 * 2**20
