# SPDX-License-Identifier: Apache-2.0
"""The documents' experiments: every claim holds, and no statement fails. `ada reproduce all` runs the others, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiers import nightly

from ada_experiments.reproduce import reproduce
from ada_tools import scenario as scenarios
from ada_tools.scenario.registry import NOT_CONFIRMED

NAMES = ("C1", "E1", "T2.2", "T3.1", "T3.2", "T3.3", "T3.4", "T3.5", "T3.7", "T4.1", "T4.2", "T4.3", "T5.1")
PUSHES = ("R1", "R2", "T6.1", "T6.2", "T6.3", "T6.6")
LONG = ("S2", "S3", "T6.4", "T6.5", "T6.8", "T7.7")  # hundreds of motions each


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, *PUSHES, *map(nightly, LONG)])
def test_the_documents_experiments_hold(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pinocchio")
    pytest.importorskip("mujoco")
    result = reproduce(scenarios.load(name), tmp_path)
    assert not result.error
    shown = [*result.outcome.claims, *result.outcome.statements]
    assert shown and not [one.as_json() for one in shown if one.verdict == "fails"]


@pytest.mark.parametrize(
    ("name", "doubted"),
    [
        ("T2.1", {"the S-joint does"}),
        ("T3.6", {"an inverse Φ", "the open chain", "likewise the closed chain", "Y of eq. 3.27"}),
    ],
)
def test_what_physics_does_not_confirm_of_tables_and_equations_is_what_is_known(name, doubted, tmp_path) -> None:
    result = reproduce(scenarios.load(name), tmp_path)
    assert result.holds, result.error
    texts = [one.text for one in result.outcome.statements if one.verdict == NOT_CONFIRMED]
    assert len(texts) == len(doubted)
    assert all(any(words in text for text in texts) for words in doubted)
