# SPDX-License-Identifier: Apache-2.0
"""The list of equivalent mutants is up to date: each names source text that exists, and a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

pytest.importorskip("cosmic_ray")

from trials.mutants import __main__ as program

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "one", yaml.safe_load(program.REVIEWED.read_text(encoding="utf-8")), ids=lambda one: one["now"]
)
def test_an_equivalent_mutant_names_existing_source_and_a_reason(one):
    text = " ".join((ROOT / one["file"]).read_text(encoding="utf-8").split())
    assert " ".join(one["was"].split()) in text
    assert one["now"] != one["was"]
    assert len(one["reason"].split()) > 4
