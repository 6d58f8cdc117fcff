# SPDX-License-Identifier: Apache-2.0
"""Sweep files: what they stand for, and that each mistake in one is named with file, line and key."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refused import refused

from ada_dynamics import resources
from ada_dynamics.errors import AdaError, InputError
from ada_tools import scenario as scenarios
from ada_tools import sweep

J1, J2 = "start.joints.joint_1", "start.joints.joint_2"
EXAMPLES = Path(__file__).parents[3] / "examples" / "sweeps"


def made(parameters: dict[str, Any], **more: Any) -> sweep.Sweep:
    return sweep.load({"scenario": "T3.1", "parameters": parameters, "measures": ["energy_drift"], **more})


def test_a_grid_has_every_combination_once_with_starts_fastest() -> None:
    found = made({J1: {"from": "0 deg", "to": "90 deg", "count": 4}, "step": ["1 ms", "2 ms"]})
    assert len(found) == 8
    runs = [found.changes(i) for i in range(8)]
    assert [run["simulation.step"] for run in runs] == ["1 ms"] * 4 + ["2 ms"] * 4
    assert [run[J1] for run in runs[:4]] == ["0.0 deg", "30.0 deg", "60.0 deg", "90.0 deg"]
    assert len({tuple(run.items()) for run in runs}) == 8


def test_random_values_do_not_depend_on_other_parameters_or_on_the_platform() -> None:
    alone = made({J1: {"uniform": [0, 1]}}, random={"count": 3, "seed": 7})
    beside = made({J2: {"normal": [0, 1]}, J1: {"uniform": [0, 1]}, "step": [1e-3]}, random={"count": 9, "seed": 7})
    values = [alone.changes(i)[J1] for i in range(3)]
    assert values == [beside.changes(i)[J1] for i in range(3)]
    # Written down when first computed: they must never change.
    assert values == [0.9745757293721835, 0.8002528945020781, 0.5206657159246237]


def test_each_combination_of_a_grid_gets_the_same_draws_and_another_seed_others() -> None:
    def draws(seed: int) -> list[Any]:
        found = made({J1: {"uniform": [0, 1]}, "step": ["1 ms", "2 ms"]}, random={"count": 5, "seed": seed})
        return [found.changes(i)[J1] for i in range(10)]

    assert draws(1)[:5] == draws(1)[5:]
    assert not set(draws(1)) & set(draws(2))


def test_random_values_have_their_distribution() -> None:
    n = 4000
    found = made({J1: {"uniform": [2, 4]}, J2: {"normal": [1, 0.5]}}, random={"count": n, "seed": 3})
    runs = [found.changes(i) for i in range(n)]
    uniform, normal = np.array([run[J1] for run in runs]), np.array([run[J2] for run in runs])
    # Four standard errors of each estimate.
    assert 2.0 <= uniform.min() < uniform.max() < 4.0
    assert abs(uniform.mean() - 3.0) < 4.0 * (2.0 / math.sqrt(12.0 * n))
    assert abs(normal.mean() - 1.0) < 4.0 * 0.5 / math.sqrt(n)
    assert abs(normal.std() - 0.5) < 4.0 * 0.5 / math.sqrt(2.0 * n)
    within = np.mean(np.abs(normal - 1.0) < 0.5)
    assert abs(within - 0.6827) < 4.0 * math.sqrt(0.6827 * 0.3173 / n)
    assert abs(np.corrcoef(uniform, normal)[0, 1]) < 4.0 / math.sqrt(n)


def test_a_sweep_has_the_measures_of_the_claims_and_fixed_changes() -> None:
    found = sweep.load({"scenario": "T3.3", "parameters": {"step": ["1 ms"]}, "with": {"duration": "20 ms"}})
    assert found.measures == ("energy_drift", "loop_gap", "pendulum_error")
    assert found.scenario.simulation is not None
    assert found.scenario.simulation.duration == pytest.approx(0.02, rel=1e-15)


def test_a_scenario_can_be_a_file_beside_the_sweep_or_written_into_it(tmp_path: Path) -> None:
    text = "{name: own, model: {robot: planar_3r}, simulation: {duration: 10 ms}}"
    (tmp_path / "own.yaml").write_text(text)
    rest = "parameters: {step: [1 ms]}\nmeasures: [energy_drift]\n"
    (tmp_path / "a.yaml").write_text(f"scenario: own.yaml\n{rest}")
    (tmp_path / "b.yaml").write_text(f"scenario: {text}\n{rest}")
    beside, inside = sweep.load(tmp_path / "a.yaml"), sweep.load(tmp_path / "b.yaml")
    assert (beside.scenario.name, beside.name) == ("own", "a")
    assert beside.fingerprint == inside.fingerprint


def test_the_fingerprint_leaves_out_what_no_result_depends_on() -> None:
    def with_title(title: str, step: str = "1 ms") -> str:
        data = {**scenarios.load("T3.1").as_data(), "title": title}
        return made({"step": [step]}, scenario=data).fingerprint

    assert with_title("one") == with_title("another") != with_title("one", "2 ms")
    found = sweep.load({"scenario": "T7.3", "parameters": {"step": ["1 ms"]}}).data()["scenario"]
    assert set(found) == {"model", "start", "simulation", "controller"}


def test_the_fingerprint_follows_the_files_of_robot_controller_and_parameters(tmp_path: Path) -> None:
    loops, robot = tmp_path / "own.yaml", tmp_path / "own.urdf"
    urdf = resources.find("urdf", "planar_4r.urdf").read_text()
    virtual = resources.find("config", "loops/slider_crank.yaml").read_text()
    scenario = scenarios.load("T7.3").as_data()
    scenario["controller"] |= {"robot": str(robot)}
    scenario["controller"]["settings"]["loops"] = str(loops)
    free = {"name": "free", "model": {"robot": "planar_4r"}, "simulation": {"duration": "1 s"}}

    def fingerprints() -> tuple[str, str]:
        controlled = made({"step": ["1 ms"]}, scenario=scenario)
        varied = made({"model.robot": ["planar_4r", str(robot)]}, scenario=free)
        return controlled.fingerprint, varied.fingerprint

    loops.write_text(virtual)
    robot.write_text(urdf)
    first = fingerprints()
    loops.write_text(virtual + "# another file\n")
    second = fingerprints()
    robot.write_text(urdf + "<!-- another file -->")
    third = fingerprints()
    assert len({first[0], second[0], third[0]}) == 3
    assert first[1] == second[1] != third[1]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_can_be_read(file: Path) -> None:
    assert len(sweep.load(file)) > 1


LONG = "{from: 1, to: 2, count: 10000}"
GOOD = "scenario: T3.1\nparameters:\n  step: [1 ms]\nmeasures: [energy_drift]\n"
# What replaces what in the file, and line and field of the error.
REFUSED: list[tuple[str, str, int, str | None]] = [
    ("scenario: T3.1\n", "", 1, "scenario"),
    ("T3.1", "T3.11", 1, "scenario"),
    ("T3.1", "nowhere.yaml", 1, "scenario"),
    ("T3.1", "C1", 1, "scenario"),  # an experiment without a simulation
    ("parameters:\n  step: [1 ms]\n", "", 1, "parameters"),
    ("step", "claims.0.limit", 3, "parameters.claims.0.limit"),
    ("step: [1 ms]", "{step: [1 ms], simulation.step: [1 ms]}", 3, "parameters.simulation.step"),
    ("[1 ms]", "1 ms", 3, "parameters.step"),
    ("[1 ms]", "[]", 3, "parameters.step"),
    ("[1 ms]", "{from: 0, to: 1, count: 2, uniform: [0, 1]}", 3, "parameters.step"),
    ("[1 ms]", "{form: 0}", 3, "parameters.step"),
    ("[1 ms]", "{from: 0, count: 3}", 3, "parameters.step.to"),
    ("[1 ms]", "{from: 1 ms, to: 2 ms, count: 1}", 3, "parameters.step.count"),
    ("[1 ms]", "{from: 1 ms, to: 2 ms, count: 2000000000}", 3, "parameters.step.count"),
    ("[1 ms]", "{from: 1 ms, to: 2 s, count: 2}", 3, "parameters.step.to"),  # two units
    ("[1 ms]", "{from: a, to: 2 s, count: 2}", 3, "parameters.step.from"),
    ("[1 ms]", "{uniform: [1, 2, 3]}", 3, "parameters.step.uniform"),
    ("[1 ms]", "{uniform: [2 ms, 1 ms]}", 3, "parameters.step.uniform"),
    ("[1 ms]", "{normal: [2 ms, 0 ms]}", 3, "parameters.step.normal"),
    ("[1 ms]", "{normal: [2 ms, 1 ms]}", 1, "random"),  # without a count
    ("measures", "random: {count: 3, seed: 1}\nmeasures", 4, "random"),  # nothing is random
    ("[1 ms]", "{uniform: [1, 2]}\nrandom: {count: 0}", 4, "random.count"),
    ("step: [1 ms]", f"{{step: {LONG}, duration: {LONG}}}", 3, "parameters"),  # 10^8 runs
    ("energy_drift", "energy_drifd", 4, "measures"),
    ("measures", "with: {stepp: 1 ms}\nmeasures", 4, "with"),
    ("measures", "messures", 4, None),
]
# Parameters that the scenario does not take, with key and value.
UNFIT = [
    ("stepp: [1 ms]", "simulation.stepp", "1 ms"),
    ("start.joints.joint_9: [1]", "start.joints.joint_9", 1),
    ("step: [1 ms, 1 kg]", "simulation.step", "1 kg"),
    ("start.joints.joint_1: [1 deg, 5 mm]", "start.joints.joint_1", "5 mm"),
    ("simulation.efforts.joint_1: [5 mm]", "simulation.efforts.joint_1", "5 mm"),
    ("model.masses.link_9: [1 kg]", "model.masses.link_9", "1 kg"),
]


@pytest.mark.parametrize(("old", "new", "line", "field"), REFUSED)
def test_a_mistake_is_refused_with_its_place(old: str, new: str, line: int, field: str | None, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(GOOD.replace(old, new, 1))
    with refused(InputError, file=str(path), line=line, field=field):
        sweep.load(path)


@pytest.mark.parametrize(("parameter", "field", "value"), UNFIT)
def test_a_value_that_does_not_fit_is_refused_with_its_parameter(
    parameter: str, field: str, value: object, tmp_path: Path
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(GOOD.replace("step: [1 ms]", parameter))
    with refused(InputError, field=field, value=value):
        sweep.load(path)


def test_files_and_runs_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with refused(InputError, file=str(tmp_path / "s.toml")):
        sweep.load(tmp_path / "s.toml")
    with pytest.raises(AdaError):
        sweep.load(tmp_path / "none.yaml")
    with refused(InputError, field="run", value=1):
        made({"step": ["1 ms"]}).changes(1)
