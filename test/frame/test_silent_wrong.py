# SPDX-License-Identifier: Apache-2.0
"""A slice of `make silent-wrong`, and that its judge sees what is planted."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from trials import silent_wrong

pytest.importorskip("pinocchio")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return silent_wrong.sources()


def test_mutated_robots_are_right_or_refused(texts):
    rows = [silent_wrong.case(texts, 2, number) for number in range(100)]
    verdicts = [row["verdict"] for row in rows]
    assert [row for row in rows if row["verdict"] == silent_wrong.WRONG] == []
    assert verdicts.count(silent_wrong.AGREES) > 20
    assert verdicts.count(silent_wrong.REFUSED) > 20


def test_a_case_comes_again_by_its_number(texts):
    assert silent_wrong.case(texts, 3, 17) == silent_wrong.case(texts, 3, 17)


def test_an_effort_that_is_off_in_its_ninth_digit_is_seen(texts, monkeypatch):
    whole = ada.Dynamics.inverse

    def off(self, *arguments):
        return whole(self, *arguments) * (1.0 + 1e-9)

    assert silent_wrong.judged(texts["pa10"], np.random.default_rng(0)).verdict == silent_wrong.AGREES
    monkeypatch.setattr(ada.Dynamics, "inverse", off)
    assert silent_wrong.judged(texts["pa10"], np.random.default_rng(0)).verdict == silent_wrong.WRONG


def test_an_error_that_is_not_the_librarys_own_counts_as_wrong(texts, monkeypatch):
    monkeypatch.setattr(ada, "Dynamics", lambda *_, **__: [][1])
    found = silent_wrong.judged(texts["pa10"], np.random.default_rng(0))
    assert found.verdict == silent_wrong.WRONG and "IndexError" in found.reason
