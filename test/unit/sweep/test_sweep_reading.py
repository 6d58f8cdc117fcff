# SPDX-License-Identifier: Apache-2.0
"""Sweep files: what they stand for, and that each mistake in one is named with file, line and key."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ada_dynamics import resources
from ada_dynamics.errors import AdaError, InputError
from ada_tools import scenario as scenarios
from ada_tools import sweep
from ada_tools.scenario.reader import _TOP as TOP
from ada_tools.sweep.sweep import IRRELEVANT

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


def test_values_without_a_unit_stay_numbers() -> None:
    found = made({"simulation.tolerance": {"from": 1e-10, "to": 3e-10, "count": 3}, "integrator": {"list": ["rk4"]}})
    assert [found.changes(i)["simulation.tolerance"] for i in range(3)] == pytest.approx(
        [1e-10, 2e-10, 3e-10], rel=1e-15
    )
    assert found.changes(0)["simulation.integrator"] == "rk4"


def test_the_same_seed_gives_the_same_runs_and_another_seed_others() -> None:
    parameters = {J1: {"uniform": ["-1 rad", "1 rad"]}, J2: {"normal": [0.0, 0.1]}}
    one, same, other = (made(parameters, random={"count": 50, "seed": seed}) for seed in (1, 1, 2))
    assert [one.changes(i) for i in range(50)] == [same.changes(i) for i in range(50)]
    assert all(one.changes(i) != other.changes(i) for i in range(50))


def test_random_values_do_not_depend_on_other_parameters_or_on_the_platform() -> None:
    alone = made({J1: {"uniform": [0, 1]}}, random={"count": 3, "seed": 7})
    beside = made({J2: {"normal": [0, 1]}, J1: {"uniform": [0, 1]}, "step": [1e-3]}, random={"count": 9, "seed": 7})
    values = [alone.changes(i)[J1] for i in range(3)]
    assert values == [beside.changes(i)[J1] for i in range(3)]
    # Written down when first computed: they must never change.
    assert values == [0.9745757293721835, 0.8002528945020781, 0.5206657159246237]


def test_each_combination_of_a_grid_gets_the_same_draws() -> None:
    found = made({J1: {"uniform": [0, 1]}, "step": ["1 ms", "2 ms"]}, random={"count": 5, "seed": 1})
    assert [found.changes(i)[J1] for i in range(5)] == [found.changes(i)[J1] for i in range(5, 10)]


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


def test_by_default_the_measures_are_those_of_the_claims() -> None:
    found = sweep.load({"scenario": "T3.3", "parameters": {"step": ["1 ms"]}})
    assert found.measures == ("energy_drift", "loop_gap", "pendulum_error")


def test_fixed_changes_hold_for_all_runs() -> None:
    found = made({"step": ["1 ms"]}, **{"with": {"duration": "20 ms"}})
    assert found.scenario.simulation is not None
    assert found.scenario.simulation.duration == pytest.approx(0.02, rel=1e-15)


def test_a_scenario_can_be_a_file_beside_the_sweep_or_written_into_it(tmp_path: Path) -> None:
    text = "{name: own, model: {robot: planar_3r}, simulation: {duration: 10 ms}}"
    (tmp_path / "own.yaml").write_text(text)
    rest = "parameters: {step: [1 ms]}\nmeasures: [energy_drift]\n"
    (tmp_path / "a.yaml").write_text(f"scenario: own.yaml\n{rest}")
    (tmp_path / "b.yaml").write_text(f"scenario: {text}\n{rest}")
    beside, inside = sweep.load(tmp_path / "a.yaml"), sweep.load(tmp_path / "b.yaml")
    assert beside.scenario.name == inside.scenario.name == "own"
    assert beside.name == "a"
    assert beside.fingerprint == inside.fingerprint


def test_the_fingerprint_leaves_out_what_no_result_depends_on() -> None:
    def with_title(title: str, step: str = "1 ms") -> str:
        data = {**scenarios.load("T3.1").as_data(), "title": title}
        return made({"step": [step]}, scenario=data).fingerprint

    assert with_title("one") == with_title("another")
    assert with_title("one") != with_title("one", "2 ms")


def test_the_fingerprint_follows_the_robots_file(tmp_path: Path) -> None:
    urdf = '<robot name="r"><link name="a"/></robot>'
    (tmp_path / "own.urdf").write_text(urdf)
    scenario = {"name": "own", "model": {"robot": str(tmp_path / "own.urdf")}, "simulation": {"duration": "1 s"}}
    before = made({"step": ["1 ms"]}, scenario=scenario).fingerprint
    (tmp_path / "own.urdf").write_text(
        urdf.replace("/>", "><collision/></link>").replace("</link></robot>", "</robot>")
    )
    (tmp_path / "own.urdf").write_text(urdf + "<!-- another file -->")
    assert made({"step": ["1 ms"]}, scenario=scenario).fingerprint != before


def test_the_fingerprint_has_all_of_a_scenario_but_what_is_known_not_to_matter() -> None:
    assert set(IRRELEVANT) < set(TOP)
    found = sweep.load({"scenario": "T7.3", "parameters": {"step": ["1 ms"]}}).data()["scenario"]
    assert set(found) == {"model", "start", "simulation", "controller"}


def test_the_fingerprint_follows_files_that_a_controller_or_a_parameter_names(tmp_path: Path) -> None:
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


GOOD = "scenario: T3.1\nparameters:\n  step: [1 ms]\nmeasures: [energy_drift]\n"
REFUSED = {
    "unknown key": (GOOD + "messures: [x]\n", r"line 5: the sweep has no key 'messures'. Did you mean 'measures'"),
    "no mapping": ("[1]", r"the sweep is a list"),
    "no scenario": ("parameters: {step: [1 ms]}", r"scenario: it is missing"),
    "unknown scenario": (GOOD.replace("T3.1", "T3.11"), r"line 1: scenario: .*T3\.1"),
    "no such file": (GOOD.replace("T3.1", "nowhere.yaml"), r"line 1: scenario: .*nowhere\.yaml"),
    "experiment only": (GOOD.replace("T3.1", "C1"), r"'C1' has no simulation"),
    "no parameters": ("scenario: T3.1", r"parameters: it is missing"),
    "unknown parameter": (GOOD.replace("step", "stepp"), r"line 3: parameters.stepp.*step"),
    "part that cannot vary": (GOOD.replace("step", "claims.0.limit"), r"only model, start, simulation"),
    "same parameter twice": (GOOD.replace("step: [1 ms]", "{step: [1 ms], simulation.step: [1 ms]}"), r"there twice"),
    "single value": (GOOD.replace("[1 ms]", "1 ms"), r"line 3: parameters.step: it is '1 ms'; it must be a list"),
    "empty list": (GOOD.replace("[1 ms]", "[]"), r"it is empty"),
    "two ways": (GOOD.replace("[1 ms]", "{from: 0, to: 1, count: 2, list: [1]}"), r"must be one of"),
    "unknown way": (GOOD.replace("[1 ms]", "{form: 0}"), r"no key 'form'.*Did you mean 'from'"),
    "missing end": (GOOD.replace("[1 ms]", "{from: 0, count: 3}"), r"to: it is missing"),
    "one value only": (GOOD.replace("[1 ms]", "{from: 1 ms, to: 2 ms, count: 1}"), r"count: .*from 2 to 10000000"),
    "more values than runs": (
        GOOD.replace("[1 ms]", "{from: 1 ms, to: 2 ms, count: 2000000000}"),
        r"line 3: parameters.step.count: it is 2e\+09; it must be a whole number from 2 to 10000000",
    ),
    "two units": (GOOD.replace("[1 ms]", "{from: 1 ms, to: 2 s, count: 2}"), r"'ms' and 's' differ"),
    "no number": (GOOD.replace("[1 ms]", "{from: a, to: 2 s, count: 2}"), r"from: it is 'a'"),
    "three ends": (GOOD.replace("[1 ms]", "{uniform: [1, 2, 3]}"), r"it has 3 values; it must be \[least, greatest\]"),
    "ends swapped": (GOOD.replace("[1 ms]", "{uniform: [2 ms, 1 ms]}"), r"2 is not less than 1"),
    "no deviation": (GOOD.replace("[1 ms]", "{normal: [2 ms, 0 ms]}"), r"deviation is 0"),
    "no count": (GOOD.replace("[1 ms]", "{normal: [2 ms, 1 ms]}"), r"random: it is missing"),
    "nothing random": (GOOD + "random: {count: 3, seed: 1}\n", r"line 5: random: no parameter is random"),
    "zero draws": (GOOD.replace("[1 ms]", "{uniform: [1, 2]}") + "random: {count: 0}\n", r"random.count: .*from 1 on"),
    "too many": (
        GOOD.replace(
            "step: [1 ms]", "{step: {from: 1, to: 2, count: 10000}, duration: {from: 1, to: 2, count: 10000}}"
        ),
        r"100000000 runs",
    ),
    "unknown measure": (GOOD.replace("energy_drift", "energy_drifd"), r"line 4: measures: .*energy_drift"),
    "unknown keep": (GOOD + "keep: some\n", r"line 5: keep: 'some' is not possible.*none, failed, all"),
    "unknown joint": (GOOD.replace("step: [1 ms]", "start.joints.joint_9: [1]"), r"line 3: .*joint_9.*does not fit"),
    "wrong unit": (GOOD.replace("1 ms", "1 ms, 1 kg"), r"line 3: parameters.step: '1 kg' does not fit: .*a time"),
    "wrong unit of a start": (
        GOOD.replace("step: [1 ms]", "start.joints.joint_1: [1 deg, 5 mm]"),
        r"'5 mm' .*an angle",
    ),
    "wrong unit of an effort": (GOOD.replace("step: [1 ms]", "simulation.efforts.joint_1: [5 mm]"), r"'5 mm' .*moment"),
    "unknown link": (GOOD.replace("step: [1 ms]", "model.masses.link_9: [1 kg]"), r"'1 kg' does not fit: .*link_9"),
    "wrong fixed change": (GOOD + "with: {stepp: 1 ms}\n", r"line 5: with: .*stepp"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_mistake_is_named_with_its_place(case: str, tmp_path: Path) -> None:
    text, message = REFUSED[case]
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        sweep.load(path)
    assert "s.yaml" in str(caught.value)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends in \.yaml"):
        sweep.load(tmp_path / "s.toml")
    with pytest.raises(AdaError, match=r"none\.yaml"):
        sweep.load(tmp_path / "none.yaml")


def test_a_run_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="runs 0 to 0"):
        made({"step": ["1 ms"]}).changes(1)
