# SPDX-License-Identifier: Apache-2.0
"""Sweeps whose runs go side by side: the figures of runs one by one, rows and failures as ever, refusals by name."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refused import refused

from ada_dynamics.errors import DeviceMemoryError, InputError, NoDeviceError
from ada_dynamics.gpu import cuda_driver
from ada_tools import scenario as scenarios
from ada_tools import sweep
from ada_tools.scenario import registry
from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.run import simulation_of
from ada_tools.scenario.states import build_model
from ada_tools.sweep import side_by_side, worker
from ada_tools.sweep.sweep import Sweep
from ada_tools.sweep.worker import Chunk

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


@pytest.mark.parametrize("device", DEVICES)
def test_figures_are_those_of_runs_one_by_one(device: str, tmp_path: Path) -> None:
    one, many = figures(starts(None), tmp_path / "one"), figures(starts(device), tmp_path / "many")
    assert [row["changes"] for row in many] == [row["changes"] for row in one]
    assert {row["status"] for row in many} == {"done"}
    for a, b in zip(one, many, strict=True):
        # 20 steps: roundings of each; the drift itself is about 1e-12.
        assert single(b["measures"]) == pytest.approx(single(a["measures"]), rel=1e-11, abs=1e-14)


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


@pytest.fixture
def registering() -> Iterator[None]:
    with registry.temporary():
        yield


@pytest.mark.usefixtures("registering")
def test_a_measure_that_fails_of_one_motion_fails_its_run_alone(tmp_path: Path) -> None:
    def fussy(scenario: Any, log: Any) -> Any:
        if np.any(log.q[..., 0, 0] > 0.5):
            raise ZeroDivisionError
        return log.q[..., -1, 0]

    registry.measure("fussy", side_by_side=True)(fussy)
    rows = figures(starts("cpu", measures=["fussy"]), tmp_path)
    assert {row["status"] for row in rows} == {"done", "failed"}
    for row in rows:
        too_far = float(row["changes"][J1].split()[0]) > np.rad2deg(0.5)
        assert row["status"] == ("failed" if too_far else "done")


class Here:
    """Makes runs in this thread; whatever has a run of some in it is lost with an error."""

    def __init__(self, problem: Exception | None = None, at: int = -1) -> None:
        self.problem, self.at, self.lost, self.chunks = problem, at, 0, list[Chunk]()

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        found: Future[Any] = Future()
        chunk = arguments[0] if arguments and isinstance(arguments[0], Chunk) else None
        self.chunks += [] if chunk is None else [chunk]
        if self.problem is not None and chunk is not None and self.at in chunk.runs:
            self.lost += 1
            found.set_exception(self.problem)
        else:
            found.set_result(function(*arguments))
        return found


def test_the_run_at_fault_among_thousands_is_found_by_halves(tmp_path: Path) -> None:
    executor = Here(OSError("the machine is gone"), at=5)
    result = sweep.run_sweep(starts("cpu", count=200), tmp_path, executor, jobs=1)
    assert (result.done, result.failed) == (399, 1)
    assert executor.lost <= 10
    (row,) = (row for row in result.rows() if row["status"] == "failed")
    assert (row["run"], row["error"]["type"]) == (5, "WorkerDied")


def test_a_device_that_is_full_ends_the_sweep_and_no_run_fails_for_it(tmp_path: Path) -> None:
    found = starts("host")
    figures(found, tmp_path, limit=3)
    with refused(sweep.SweepError, field="device", value="host"):
        sweep.run_sweep(found, tmp_path, Here(DeviceMemoryError("512 MiB are wanted"), at=3), jobs=1)
    assert sweep.read_result(tmp_path).done == 10  # three, and the other chunk of seven
    assert figures(found, tmp_path)[-1]["status"] == "done"


def test_without_a_graphics_processor_nothing_is_begun(tmp_path: Path) -> None:
    with contextlib.suppress(NoDeviceError):
        cuda_driver.count()
        pytest.skip("this machine has a graphics processor")
    for executor in (None, "threads"):
        with pytest.raises(NoDeviceError):
            sweep.run_sweep(starts("cuda"), tmp_path, executor)
    with refused(sweep.SweepError, field="device", value="cuda"):
        sweep.run_sweep(starts("cuda"), tmp_path, "threads", 1)
    assert sweep.read_result(tmp_path).left == 18


def test_motions_go_in_parts_that_fit_and_are_the_same(tmp_path: Path) -> None:
    executor = Here()
    sweep.run_sweep(starts("cpu", count=70), tmp_path, executor, jobs=1)
    task, runs = executor.chunks[0].task, range(70)
    whole, parts = (side_by_side.rows_side_by_side(task, runs, "cpu", most)[0] for most in (2**28, 10_000))
    assert [row["measures"] for row in parts] == [row["measures"] for row in whole]
    scenario = starts("cpu").scenario
    with refused(ScenarioError, field="simulation.log_every"):
        side_by_side.fitting(scenario, build_model(scenario), 100)


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
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("device", {"device": "gpu"}),
    ("device", {"scenario": CONTROLLED, "with": None, "parameters": {"step": ["1 ms"]}, "random": None}),
    ("device", {"scenario": PUSHED, "with": None}),
    ("device", {"keep": "all"}),
    ("device", {"parameters": {"simulation.efforts.joint_1": {"normal": [0, 1]}}}),
    ("device", {"measures": ["velocity_jump"]}),
    ("device", {"with": {"duration": "21 ms", "log_every": 5}}),
    ("device", {"with": {"duration": "1000 s", "step": "1 ms", "integrator": "rk4"}}),
]


@pytest.mark.parametrize(("field", "more"), REFUSED)
def test_what_cannot_go_side_by_side_is_refused(field: str, more: dict[str, Any]) -> None:
    with refused(InputError, field=field):
        starts(**{"device": "host", **more})


@pytest.mark.parametrize(
    "more",
    [
        {"parameters": {J1: [0.1], "integrator": ["dop853"]}, "random": None},
        {"with": {"duration": "20 ms", "simulation.efforts.joint_1": 1.0}},
        {"scenario": "T3.3", "with": {"start.joints.joint_1": 0.0, "duration": "10 ms"}},
    ],
)
def test_what_only_a_worker_can_see_is_refused_before_the_first_run(more: dict[str, Any], tmp_path: Path) -> None:
    with refused(sweep.SweepError, field="device", value="host"):
        figures(starts("host", **more), tmp_path)
    assert sweep.read_result(tmp_path).failed == 0


def test_results_of_one_device_are_not_gone_on_with_on_another(tmp_path: Path) -> None:
    figures(starts("host"), tmp_path, limit=1)
    with refused(sweep.SweepError, value=("device",)):
        figures(starts("cpu"), tmp_path)
    assert starts("cuda:1").fingerprint == starts("cuda").fingerprint != starts(None).fingerprint


def in_a_thread(function: Callable[[], Any]) -> Any:
    """A worker of its own: what a thread notes is gone with it."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_workers_of_a_machine_take_its_devices_in_turn() -> None:
    def twice() -> list[str]:
        return [worker.own_device("cuda", lambda: 3) for _ in range(2)]

    pairs = [in_a_thread(twice) for _ in range(6)]
    assert all(first == second for first, second in pairs)  # it keeps its device
    assert sorted(pair[0] for pair in pairs) == [f"cuda:{i}" for i in (0, 0, 1, 1, 2, 2)]
    assert [worker.own_device(device) for device in ("cpu", "host", "cuda:2")] == ["cpu", "host", "cuda:2"]
