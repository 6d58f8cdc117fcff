# SPDX-License-Identifier: Apache-2.0
"""Sweeps whose runs go side by side: the figures of runs one by one, rows and failures as ever, refusals by name."""

from __future__ import annotations

import json
import sys
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ada_dynamics.errors import DeviceMemoryError, InputError, NoDeviceError
from ada_dynamics.jit import gpu
from ada_tools import scenario as scenarios
from ada_tools import sweep
from ada_tools.scenario import registry
from ada_tools.scenario.run import simulation_of
from ada_tools.sweep import bench, side_by_side
from ada_tools.sweep.sweep import Sweep
from ada_tools.sweep.work import Chunk

J1, J2, J3 = (f"start.joints.joint_{i}" for i in (1, 2, 3))
DEVICES = ["cpu", "host", pytest.param("cuda", marks=pytest.mark.gpu)]


def starts(device: str | None, scenario: Any = "T3.1", count: int = 9, **more: Any) -> Sweep:
    given = {
        "scenario": scenario,
        "with": {"duration": "20 ms", "log_every": 5},
        "parameters": {J1: {"uniform": ["10 deg", "60 deg"]}, "integrator": ["rk4", "rkf45"]},
        "random": {"count": count, "seed": 1},
        "measures": ["energy_drift", "end_positions", "centre_of_mass_moved"],
        **({} if device is None else {"device": device}),
        **more,
    }
    return sweep.load({key: value for key, value in given.items() if value is not None})


def figures(found: Sweep, folder: Path, **more: Any) -> list[dict[str, Any]]:
    result = sweep.run_sweep(found, folder, "threads", 1, **more)
    return list(result.rows())


def single(measures: dict[str, Any]) -> dict[str, float]:
    parts = [value if isinstance(value, dict) else {name: value} for name, value in measures.items()]
    return {name: number for part in parts for name, number in part.items()}


# --- figures --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
def test_figures_are_those_of_runs_one_by_one(device: str, tmp_path: Path) -> None:
    one, many = figures(starts(None), tmp_path / "one"), figures(starts(device), tmp_path / "many")
    assert [row["changes"] for row in many] == [row["changes"] for row in one]
    assert {row["status"] for row in many} == {"done"}
    for a, b in zip(one, many, strict=True):
        # 20 steps: roundings of each; the drift itself is about 1e-12.
        assert single(b["measures"]) == pytest.approx(single(a["measures"]), rel=1e-11, abs=1e-14)


@pytest.mark.parametrize("device", DEVICES)
def test_a_motion_is_the_same_whatever_goes_on_beside_it(device: str, tmp_path: Path) -> None:
    whole = figures(starts(device), tmp_path / "whole")
    figures(starts(device), tmp_path / "parts", limit=4)
    parts = figures(starts(device), tmp_path / "parts")
    assert [row["measures"] for row in parts] == [row["measures"] for row in whole]


def test_figures_of_closed_loops_are_those_of_runs_one_by_one_and_open_ones_fail_alone(tmp_path: Path) -> None:
    data = {**scenarios.load("T3.3").as_data(), "title": "a rhombus"}
    more: dict[str, Any] = {
        "scenario": data,
        "parameters": {J1: ["135 deg", "20 deg", "135.0000000001 deg"]},
        "random": None,
        "measures": ["loop_gap", "energy_drift", "end_velocities"],
    }
    one, many = (figures(starts(device, **more), tmp_path / str(device)) for device in (None, "host"))
    assert [row["status"] for row in many] == [row["status"] for row in one] == ["done", "failed", "done"]
    assert many[1]["error"] == one[1]["error"]
    for a, b in ((one[i], many[i]) for i in (0, 2)):
        assert single(b["measures"]) == pytest.approx(single(a["measures"]), rel=1e-9, abs=1e-9)


def test_every_measure_that_goes_side_by_side_is_that_of_a_log() -> None:
    """On a robot that floats and turns without gravity: each of them has something to measure."""
    able = [name for name, one in registry.measures().items() if one.side_by_side]
    assert len(able) > 7
    scenario = scenarios.load("T3.5").with_changes({"duration": 0.02, "log_every": 2})
    simulation = simulation_of(scenario)
    log = simulation.run(0.02)
    many = simulation.rollout(np.tile(log.q[0], (3, 1)), np.tile(log.v[0], (3, 1)), 0.02, rows_every=2)
    motions = side_by_side.SideBySide(simulation, many)
    for name in able:
        function: Any = registry.find_measure(name).function
        alone, together = function(scenario, log), function(scenario, motions)
        for part in alone if isinstance(alone, dict) else [None]:
            a, b = (found if part is None else found[part] for found in (alone, together))
            assert np.shape(b) == (3,), name
            assert np.allclose(b, a, rtol=1e-9, atol=1e-13), name


# --- failures -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", ["cpu", "host"])
def test_a_motion_that_cannot_go_on_is_made_alone_and_has_the_same_error(device: str, tmp_path: Path) -> None:
    # so fast that numbers overflow
    axes = {"start.velocity.joint_2": ["0 rad/s", "1e30 rad/s", "1 rad/s"]}
    more: dict[str, Any] = {"parameters": axes, "random": None, "keep": "failed"}
    one, many = (figures(starts(name, **more), tmp_path / str(name)) for name in (None, device))
    assert [row["status"] for row in many] == ["done", "failed", "done"]
    many.sort(key=lambda row: row["run"])
    assert many[1]["error"] == one[1]["error"]
    assert len(list((tmp_path / device / "logs").iterdir())) == 1


def test_a_measure_that_fails_of_one_motion_fails_its_run_alone(tmp_path: Path) -> None:
    def fussy(scenario: Any, log: Any) -> Any:
        if np.any(log.q[..., 0, 0] > 0.5):
            raise ZeroDivisionError
        return log.q[..., -1, 0]

    registry.measure("fussy", side_by_side=True)(fussy)
    try:
        rows = figures(starts("cpu", measures=["fussy"]), tmp_path)
    finally:
        registry._measures.pop("fussy")
    assert {row["status"] for row in rows} == {"done", "failed"}
    for row in rows:
        too_far = float(row["changes"][J1].split()[0]) > np.rad2deg(0.5)
        assert row["status"] == ("failed" if too_far else "done")


def test_a_measure_of_another_shape_is_named(tmp_path: Path) -> None:
    registry.measure("flat", side_by_side=True)(lambda scenario, log: np.max(log.q))
    try:
        with pytest.raises(sweep.SweepError, match=r"'flat' gave shape \(\) for 1 motions"):
            figures(starts("cpu", measures=["flat"]), tmp_path)
    finally:
        registry._measures.pop("flat")


def test_the_run_at_fault_among_thousands_is_found_by_halves(tmp_path: Path) -> None:
    class Losing:
        """Loses whatever has run 5 in it."""

        lost = 0

        def submit(self, function: Any, *arguments: Any) -> Future[Any]:
            found: Future[Any] = Future()
            if arguments and isinstance(arguments[0], Chunk) and 5 in arguments[0].runs:
                self.lost += 1
                found.set_exception(OSError("the machine is gone"))
            else:
                found.set_result(function(*arguments))
            return found

    executor = Losing()
    result = sweep.run_sweep(starts("cpu", count=200), tmp_path, executor, jobs=1)
    assert (result.done, result.failed) == (399, 1)
    assert executor.lost <= 10
    (row,) = (row for row in result.rows() if row["status"] == "failed")
    assert (row["run"], row["error"]["type"]) == (5, "WorkerDied")


def test_a_device_that_is_full_ends_the_sweep_and_no_run_fails_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise DeviceMemoryError("512 MiB are wanted")

    found = starts("host")
    figures(found, tmp_path, limit=3)
    monkeypatch.setattr(side_by_side, "_make", full)
    with pytest.raises(sweep.SweepError, match=r"512 MiB are wanted.*kept.*--jobs"):
        figures(found, tmp_path)
    monkeypatch.undo()
    assert sweep.read_result(tmp_path).done == 3
    assert figures(found, tmp_path)[-1]["status"] == "done"


def test_without_a_graphics_processor_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> int:
        raise NoDeviceError("no driver")

    monkeypatch.setattr(gpu, "count", none)
    for executor in (None, "threads"):
        with pytest.raises(NoDeviceError, match="no driver"):
            sweep.run_sweep(starts("cuda"), tmp_path, executor)
    with pytest.raises(sweep.SweepError, match=r"cannot go side by side: .*no driver"):
        sweep.run_sweep(starts("cuda"), tmp_path, "threads", 1)
    assert sweep.read_result(tmp_path).left == 18


# --- memory ---------------------------------------------------------------------------------------------------------
def test_motions_go_in_parts_that_fit_and_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = figures(starts("cpu", count=70), tmp_path / "whole")
    sizes: list[int] = []
    make = side_by_side._make

    def watched(task: Any, group: Any, members: Any, *more: Any) -> None:
        sizes.append(len(members))
        make(task, group, members, *more)

    monkeypatch.setattr(side_by_side, "_make", watched)
    monkeypatch.setattr(side_by_side, "BYTES", 10_000)
    parts = figures(starts("cpu", count=70), tmp_path / "parts")
    assert max(sizes) == 10_000 // (5 * 8 * 3 * 12)
    assert [row["measures"] for row in parts] == [row["measures"] for row in whole]


# --- refusals -------------------------------------------------------------------------------------------------------
CONTROLLED = {
    "name": "held",
    "model": {"robot": "pa10"},
    "simulation": {"duration": "10 ms"},
    "controller": {"name": "gravity_compensation"},
}
PUSHED = {
    "name": "pushed",
    "model": {"robot": "planar_3r"},
    "simulation": {"duration": "10 ms"},
    "disturbances": [{"link": "link_1", "wrench": [1, 0, 0, 0, 0, 0], "duration": "5 ms"}],
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "unknown device": ({"device": "gpu"}, r"device: 'gpu' is not possible. Allowed: cpu, cuda, cuda:N, host"),
    "controller": (
        {"scenario": CONTROLLED, "with": None, "parameters": {"step": ["1 ms"]}, "random": None},
        r"controller 'gravity_compensation' is called.*leave device",
    ),
    "disturbances": ({"scenario": PUSHED, "with": None}, r"disturbances change over time"),
    "logs": ({"keep": "all"}, r"no logs. Keep those that failed"),
    "random simulations": (
        {"parameters": {"simulation.efforts.joint_1": {"normal": [0, 1]}}},
        r"each draw has another simulation\.efforts\.joint_1",
    ),
    "measure": ({"measures": ["velocity_jump"]}, r"'velocity_jump' is not.*Measure .*end_positions, .*loop_gap"),
    "no whole rows": ({"with": {"duration": "21 ms", "log_every": 5}}, r"0\.021 s is no multiple of 5 steps"),
    "too many rows": (
        {"with": {"duration": "1000 s", "step": "1 ms", "integrator": "rk4"}},
        r"1000001 rows, which take 275 MiB.*log_every: N\}, N from 2 on",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_go_side_by_side_is_refused_with_a_way_out(case: str) -> None:
    more, message = REFUSED[case]
    with pytest.raises(InputError, match=message):
        starts(**{"device": "host", **more})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"parameters": {J1: [0.1], "integrator": ["dop853"]}, "random": None}, "'dop853' chooses its steps"),
        ({"with": {"duration": "20 ms", "efforts.joint_1": 1.0}}, "efforts or wrenches act"),
        ({"scenario": "T3.3", "with": {"start.joints.joint_1": 0.0, "duration": "10 ms"}}, "the loops are open"),
    ],
)
def test_what_only_a_worker_can_see_is_refused_before_the_first_run(
    more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    if "efforts.joint_1" in more.get("with", {}):
        more = {"with": {"duration": "20 ms", "simulation.efforts.joint_1": 1.0}}
    with pytest.raises(sweep.SweepError, match=f"cannot go side by side: .*{message}"):
        figures(starts("host", **more), tmp_path)
    assert sweep.read_result(tmp_path).failed == 0


def test_results_of_one_device_are_not_gone_on_with_on_another(tmp_path: Path) -> None:
    figures(starts("host"), tmp_path, limit=1)
    with pytest.raises(sweep.SweepError, match="device from 'host' to 'cpu'"):
        figures(starts("cpu"), tmp_path)
    assert starts("cuda:1").fingerprint == starts("cuda").fingerprint != starts(None).fingerprint


# --- devices --------------------------------------------------------------------------------------------------------
@pytest.fixture
def three_devices(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(gpu, "count", lambda: 3)
    monkeypatch.setattr(bench, "_here", SimpleNamespace())
    monkeypatch.delitem(sys.modules, "distributed", raising=False)
    return monkeypatch


def test_workers_of_a_machine_take_its_devices_in_turn(three_devices: pytest.MonkeyPatch) -> None:
    found = []
    for turn in range(5):
        three_devices.setattr(bench, "_turns", iter([0]))
        three_devices.setattr(bench, "_here", SimpleNamespace())
        bench.take_turn(turn)
        found += [bench.own_device("cuda"), bench.own_device("cuda")]  # and keep them
    bench.take_turn(0)
    assert found == [f"cuda:{i}" for i in (0, 0, 1, 1, 2, 2, 0, 0, 1, 1)]
    assert [bench.own_device(device) for device in ("cpu", "host", "cuda:2")] == ["cpu", "host", "cuda:2"]


@pytest.mark.parametrize(("name", "device"), [(4, "cuda:1"), ("gpu-2", "cuda:2"), ("tcp://10.0.0.1:35", "cuda:0")])
def test_a_worker_of_dasks_takes_the_device_of_its_number(
    name: object, device: str, three_devices: pytest.MonkeyPatch
) -> None:
    dask = SimpleNamespace(get_worker=lambda: SimpleNamespace(name=name))
    three_devices.setitem(sys.modules, "distributed", dask)
    three_devices.setattr(bench, "_turns", iter([0]))
    assert bench.own_device("cuda") == device


def test_local_workers_are_as_many_as_devices_bear(monkeypatch: pytest.MonkeyPatch) -> None:
    from ada_tools.sweep import crew

    monkeypatch.setattr(crew, "cores", lambda: 64)
    monkeypatch.setattr(gpu, "count", lambda: 3)
    assert [crew._workers_on_devices(device) for device in ("cuda", "cuda:1")] == [12, 4]


def test_the_file_of_results_is_that_of_other_sweeps(tmp_path: Path) -> None:
    figures(starts("cpu"), tmp_path)
    header, *rows = map(json.loads, (tmp_path / "runs.jsonl").read_text().splitlines())
    assert header["sweep"]["device"] == "cpu"
    assert [list(row) for row in rows] == [["run", "status", "changes", "measures", "seconds"]] * 18
