# SPDX-License-Identifier: Apache-2.0
"""`ada reproduce` runs scenarios, checks claims, goes on after failures and reports; its exit code says what holds."""

import json
import math

import pytest
from refused import refused

from ada_dynamics.errors import InputError
from ada_experiments.report import REPORT, write_report
from ada_experiments.reproduce import ScenarioResult
from ada_tools.scenario import registry
from ada_tools.scenario.registry import Claim, Outcome, Quantity, Table

FALL = """\
name: fall
title: A rhombus falls
source: Takahashi 2012, fig. 3.9
model: {robot: closed_4r}
start:
  joints: {joint_1: 135 deg, joint_2: -45 deg, joint_3: 225 deg}
simulation: {duration: 0.05 s}
claims:
  - {claim: energy is kept, measure: energy_drift, limit: LIMIT}
  - {claim: energy is kept with larger steps, measure: energy_drift, limit: 0.1 %, with: {step: 10 ms}}
"""
FIGURES = """\
figures:
  - {file: panels, like: As fig. 3.11, panels: [position, energy]}
  - {file: snapshots, snapshots: 3}
"""


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / f"{name}.yaml"
        path.write_text(text.replace("name: fall", f"name: {name}"), encoding="utf-8")
        return path

    return write


@pytest.fixture
def experiments():
    """Registers experiments that are gone after the test."""
    with registry.temporary():
        yield registry.experiment


@pytest.mark.parametrize(
    ("measured", "limit", "relation", "holds"),
    [
        (1.0, 1.0, "<=", True),
        (1.1, 1.0, "<=", False),
        (1.0, 1.0, ">=", True),
        (0.9, 1.0, ">=", False),
        (5.0, 5.0, "==", True),
        (4.0, 5.0, "==", False),
        (math.nan, 1.0, "<=", False),
        (math.nan, 1.0, ">=", False),
        (math.inf, 1.0, "<=", False),
        (0.54, 0.5, "~", True),
        (0.44, 0.5, "~", False),
    ],
)
def test_a_claim_holds_on_the_right_side_of_its_limit_only(measured, limit, relation, holds):
    assert Claim("", measured, limit, relation).holds is holds


def test_an_outcome_without_claims_shows_nothing():
    assert not Outcome().holds
    assert Outcome([Claim("", 1.0, 2.0)]).holds
    assert not Outcome([Claim("", 1.0, 2.0), Claim("", 3.0, 2.0)]).holds


def test_two_functions_of_one_name_are_refused(experiments):
    experiments("twice")(lambda scenario, output, progress: Outcome())

    def other(scenario, output, progress):
        return Outcome()

    with refused(InputError, field="experiment", value="twice"):
        experiments("twice")(other)


def test_claims_that_hold_give_exit_code_0_and_a_report(ada, write, tmp_path):
    code, out, err = ada(
        "reproduce", write("fall", FALL.replace("LIMIT", "1e-8") + FIGURES), "--output", tmp_path / "o"
    )
    assert code == 0
    assert "1 of 1 experiments hold" in out
    assert out.count("holds") == 2
    assert "[1/1] fall" in err
    assert {p.name for p in (tmp_path / "o" / "fall").iterdir()} == {"panels.png", "snapshots.png"}
    assert (tmp_path / "o" / "report.md").stat().st_size > 500


def test_json_has_the_fields_that_machines_rely_on(ada, write, tmp_path):
    paths = [write("good", FALL.replace("LIMIT", "1e-8")), write("bad", FALL.replace("LIMIT", "1e-30"))]
    code, out, _ = ada("reproduce", *paths, "--json", "--output", tmp_path / "o")
    found = json.loads(out)
    assert code == 1
    assert [(one["name"], one["holds"]) for one in found] == [("good", True), ("bad", False)]
    claim = found[1]["claims"][0]
    assert (claim["claim"], claim["limit"], claim["holds"]) == ("energy is kept", 1e-30, False)
    assert 0.0 < claim["measured"] < 1e-8


STATED = """\
name: fall
source: A thesis, fig. 1
experiment: found
statements:
  - {statement: it is two, place: fig. 1, quantity: two, limit: 2, relation: "~", within: 0.1}
  - {statement: it is three, place: eq. 2, quantity: two, limit: 3, relation: "==", why: a misprint}
  - {statement: it is quick, place: table 3, quantity: time, limit: 0.5}
  - {statement: it is four, place: fig. 4, quantity: four, limit: 4, relation: "=="}
"""


def test_what_a_document_says_and_physics_does_not_confirm_is_told_and_fails_nothing(ada, write, tmp_path, experiments):
    @experiments("found")
    def two_and_time(scenario, output, progress):
        four = Quantity(3.0, sweep={"angle 1 rad": 3.0, "angle 2 rad": 4.0})
        return Outcome(quantities={"two": Quantity(2.05, "m"), "time": Quantity(0.9, spread=(0.7, 1.3)), "four": four})

    path = write("fall", STATED)
    code, out, _ = ada("reproduce", path, "--output", tmp_path / "o")
    assert code == 0
    assert "holds          fig. 1: it is two     2.05 m ≈ 2 m" in out
    assert "not confirmed  eq. 2: it is three    2.05 m = 3 m  Not confirmed: a misprint" in out
    assert "holds in part  fig. 4: it is four    4 (angle 1 rad: 3; 2 rad: 4: 1 of 2 confirm) = 4" in out
    assert (
        "1 statements of the documents are confirmed, 1 in part, 2 are not confirmed (1 of them misprints), 0 fail"
        in out
    )
    page = (tmp_path / "o" / "report.md").read_text(encoding="utf-8")
    shown = ("it is quick", "0.9 (0.7 to 1.3)", "1 holds, 2 not confirmed, 1 holds in part")
    assert [word in page for word in shown] == [True] * 3
    ledger = (tmp_path / "o" / "faithfulness.md").read_text(encoding="utf-8")
    assert "| eq. 2 | it is three | = 3 | 2.05 m | not confirmed: a misprint | fall |" in ledger
    (found,) = json.loads(ada("reproduce", path, "--json", "--output", tmp_path / "o")[1])
    assert (found["holds"], found["claims"]) == (True, [])
    assert found["statements"][2] == {
        "statement": "it is quick",
        "document": "A thesis",
        "place": "table 3",
        "measured": 0.9,
        "spread": [0.7, 1.3],
        "limit": 0.5,
        "relation": "<=",
        "holds": False,
        "verdict": "not confirmed",
        "why": "",
    }


def test_a_statement_that_is_not_so_for_no_known_reason_fails(ada, write, tmp_path, experiments):
    experiments("found")(lambda scenario, output, progress: Outcome(quantities={"two": Quantity(2.05)}))
    text = STATED.replace(", why: a misprint", "").replace("time", "two").replace("quantity: four", "quantity: two")
    code, out, _ = ada("reproduce", write("fall", text), "--output", tmp_path / "o")
    assert code == 1
    assert "fails  eq. 2: it is three" in out
    assert Claim("", math.nan, 1.0, why="known").verdict == "fails"  # nothing was measured
    nothing = (math.nan, math.nan)  # no compiler, no times
    assert Claim("", math.nan, 1.0, spread=nothing).verdict == "not confirmed"


def test_a_scenario_that_fails_is_told_and_the_others_go_on(ada, write, tmp_path, experiments):
    @experiments("broken")
    def broken(scenario, output, progress):
        raise ZeroDivisionError("by nothing")

    bad = write("bad", "name: bad\nexperiment: broken\n")
    open_loop = write("open", FALL.replace("225 deg", "200 deg").replace("LIMIT", "1"))
    good = write("good", FALL.replace("LIMIT", "1e-8"))
    code, out, _ = ada("reproduce", bad, open_loop, good, "--json", "--output", tmp_path / "o")
    found = {one["name"]: one for one in json.loads(out)}
    assert code == 1
    assert found["bad"]["error"] == "ZeroDivisionError: by nothing"
    assert "the loops are not closed" in found["open"]["error"]
    assert found["good"]["holds"]
    page = (tmp_path / "o" / "report.md").read_text(encoding="utf-8")
    assert "by nothing" in page
    assert "Traceback" in page


def test_an_interrupted_run_leaves_what_it_has(ada, write, tmp_path, experiments):
    @experiments("stopped")
    def stopped(scenario, output, progress):
        raise KeyboardInterrupt

    paths = [write("good", FALL.replace("LIMIT", "1e-8")), write("bad", "name: bad\nexperiment: stopped\n")]
    code, out, _ = ada("reproduce", *paths, "--json", "--output", tmp_path / "o")
    assert (code, [one["name"] for one in json.loads(out)]) == (130, ["good"])
    assert "energy is kept" in (tmp_path / "o" / "report.md").read_text(encoding="utf-8")
    assert (tmp_path / "o" / "faithfulness.md").exists()


def test_all_cases_are_run_only_when_wanted(ada, write, tmp_path, experiments):
    experiments("counted")(lambda scenario, *_: Outcome([Claim("", scenario.settings["count"], 3.0, "==")]))
    path = write("some", "name: some\nexperiment: counted\nsettings: {count: 1}\nfull: {settings.count: 3}\n")
    assert [ada("reproduce", path, *more, "--output", tmp_path / "o")[0] for more in ((), ("--full",))] == [1, 0]


def test_published_experiments_run_in_several_processes(ada, tmp_path):
    code, out, _ = ada("reproduce", "T2.1", "T6.6", "--jobs", 2, "--json", "--output", tmp_path / "o")
    found = {one["name"]: one["holds"] for one in json.loads(out)}
    assert (code, found) == (0, {"T2.1": True, "T6.6": True})


@pytest.mark.parametrize("arguments", [(), ("T9.9",), ("none.yaml",), ("chapter0",)])
def test_wrong_usage_gives_exit_code_2(ada, arguments):
    code, out, _ = ada("reproduce", *arguments)
    assert (code, out) == (2, "")


def test_an_output_that_is_a_file_and_two_scenarios_of_one_name_are_refused(ada, write, tmp_path):
    first, second = write("fall", FALL.replace("LIMIT", "1")), tmp_path / "again.yaml"
    second.write_text(first.read_text())
    assert ada("reproduce", first, "--output", second)[0] == 2
    assert ada("reproduce", first, second, "--output", tmp_path / "o")[0] == 2


@pytest.fixture
def page(tmp_path):
    claims = [
        Claim("energy is kept", 2.5e-10, 1e-8, note="a reason"),
        Claim("five passings", 4.0, 5.0, "=="),
        Claim("fast | enough", 30.25, 10.0, ">=", "x"),
    ]
    table = Table("Times", ["links", "ADA [ms]", "remark"], [[1, 0.512, "-"], [7, math.nan, "slow"]], "by hand")
    outcome = Outcome(
        claims, [tmp_path / "T1" / "fig 1.png"], [table], ["assumed: m < 1 kg"], {"fig 1.png": "As fig. 3"}
    )
    results = [
        ScenarioResult("T1", "One & only", "A document, fig. 1", outcome, seconds=1.234),
        ScenarioResult("T2", "Broken", "", error="it broke <here>", trace="Traceback: line 1"),
        ScenarioResult("T3", "Good", "", Outcome([Claim("c", 0.0, 1.0)])),
    ]
    write_report(results, tmp_path)
    return (tmp_path / REPORT).read_text(encoding="utf-8")


def test_claim_figure_limit_and_verdict_stand_side_by_side(page):
    lines = page.splitlines()
    assert "| energy is kept. a reason | 2.50e-10 | ≤ 1e-08 | holds |" in lines
    assert "| five passings | 4 | = 5 | fails |" in lines
    assert "| fast \\| enough | 30.2 x | ≥ 10 x | holds |" in lines
    assert "| T1 | One & only | 2 of 3 |  | fails |" in lines
    assert "1 of 3 experiments hold." in lines


def test_figures_tables_notes_and_failures_are_shown(page):
    assert "![As fig. 3](T1/fig%201.png)" in page
    assert (
        "### Times\n\n| links | ADA [ms] | remark |\n|---|---|---|\n| 1 | 0.512 | - |\n| 7 | not a number | slow |"
        in page
    )
    assert "- assumed: m \\< 1 kg" in page
    assert "**Not completed**: it broke \\<here>\n\n```\nTraceback: line 1\n```" in page


def test_a_page_that_cannot_be_written_is_told(tmp_path):
    nowhere = tmp_path / "none"
    with refused(InputError, file=str(nowhere / REPORT)):
        write_report([], nowhere)
