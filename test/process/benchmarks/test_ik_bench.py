# SPDX-License-Identifier: Apache-2.0
"""`ada bench ik`: all programs get the same goals; pink, which we did not write, reaches those that it can."""

from __future__ import annotations

import json

import pytest

from ada_tools.cli import main


def measured(capsys, *words):
    assert main(["bench", "ik", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_arm_reaches_its_goals_as_often_as_with_pink(capsys):
    pytest.importorskip("pink")
    found = measured(capsys, "pa10", "--goals", "30")
    programs = {one["name"]: one for one in found["programs"]}
    assert list(programs)[:2] == ["ada, one by one", "ada, all at once"] and len(programs) == 5
    ours = programs["ada, all at once"]
    assert ours["reached"] == programs["ada, one by one"]["reached"] >= 29
    assert ours["reached"] >= max(one["reached"] for name, one in programs.items() if name.startswith("pink"))
    assert max(one["reached"] for name, one in programs.items() if name.startswith("pink")) >= 28
    assert not found["missing"]


def test_loops_are_what_pink_cannot(capsys):
    found = measured(capsys, "stewart", "--link", "platform", "--goals", "5")
    assert [one["reached"] for one in found["programs"]] == [5, 5]
    assert found["missing"] == "pink does not support loops"


@pytest.mark.parametrize("words", [["pa10", "--goals", "0"], ["pa10", "--link", "hnd"]])
def test_what_cannot_be_measured_is_refused(words):
    assert main(["bench", "ik", *words]) == 2
