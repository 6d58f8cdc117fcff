# SPDX-License-Identifier: Apache-2.0
"""`ada bench hybrid` says what it promises; its counts are those of the programs, its times nobody's business here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ada_dynamics as ada
from ada_dynamics.expr import cost
from ada_dynamics.hybrid import cut_selection
from ada_tools.cli import main


def test_json_holds_the_operations_of_the_traced_programs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "pieces.png"
    assert main(["bench", "hybrid", "pa10", "--sizes", "4", "--json", "--plot", str(picture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["robot"] == "pa10"
    programs = {program["name"]: program for program in found["programs"]}
    assert found["best"] in programs
    tree = ada.load("pa10").tree
    assert programs["pieces of 4"]["joints"] == [tree.bodies[4].name]
    assert programs["pieces of 4"]["operations"] == cost(cut_selection.traced(tree, (4,))).flops
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_mechanism_with_loops_is_measured_where_its_loops_are_closed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "hybrid", "four_bar", "--json"]) == 0
    programs = [program["name"] for program in json.loads(capsys.readouterr().out)["programs"]]
    assert programs == ["aba", "crba", "ada", "pieces of 1", "pieces of 2", "pieces of 3", "hybrid auto"]


@pytest.mark.parametrize(
    "arguments",
    [["pa10", "--sizes", "0"], ["bennett"], ["parallel_gripper"], ["pa10", "--sizes", "7", "--plot", "/nowhere/p.png"]],
)
def test_what_cannot_be_measured_is_refused(arguments: list[str]) -> None:
    assert main(["bench", "hybrid", *arguments]) == 2
