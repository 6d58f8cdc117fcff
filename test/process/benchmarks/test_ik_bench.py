# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks ik`: all programs get the same goals; pink, which we did not write, reaches as many."""

from __future__ import annotations

import pytest

from benchmarks.inverse_kinematics import measure


def test_an_arm_reaches_its_goals_as_often_as_with_pink() -> None:
    pytest.importorskip("pink")
    one_by_one, at_once, *pink = measure("pa10", "flange", 30)
    assert len(pink) == 3
    assert at_once.reached == one_by_one.reached >= 29
    assert at_once.reached >= max(one.reached for one in pink) >= 28


def test_a_hexapod_reaches_its_goals_with_closed_loops_which_pink_does_not_support() -> None:
    assert [one.reached for one in measure("stewart", "platform", 5)] == [5, 5]
