# SPDX-License-Identifier: Apache-2.0
"""Y2: every solution of the PA-10 for a grid of poses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ada_experiments import pa10_inverse
from ada_experiments.pa10_inverse import Case

OFFSET, ANGLE = 0.7, 0.9


@pytest.fixture(scope="module")
def grid():
    return pa10_inverse.grid_of((-1.1, -1.1, -0.75), (1.1, 1.1, 1.45), (9, 9, 9), 6)


@pytest.fixture(scope="module")
def cases(grid) -> list[Case]:
    return pa10_inverse.cases_of("CE", grid, OFFSET, ANGLE)


def test_all_claims_but_that_on_their_number_hold_on_a_small_grid(cases):
    first, *others = pa10_inverse.claims_of(cases)
    assert first.measured == 4374
    assert all(claim.holds for claim in others)
    # The share of a ball of 0.93 m in a box of 2.2 m is 0.316; nine points stand for nine cells of an eighth of it.
    assert cases[0].within / cases[0].poses == pytest.approx(0.316 * (8.0 / 9.0) ** 3, abs=0.01)


@pytest.mark.parametrize("change", [{"error": 1e-9}, {"distance": 1e-6}])
def test_claims_fail_where_something_is_wrong(cases, change):
    bad = [*cases[1:], replace(cases[0], **change)]
    assert not all(claim.holds for claim in pa10_inverse.claims_of(bad)[1:])
