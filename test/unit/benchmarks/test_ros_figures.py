# SPDX-License-Identifier: Apache-2.0
"""What the benchmark of the nodes makes of wake-ups: which periods were missed, and which the machine explains."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.ros.figures import Rows, Window, is_explained, keeping, longest_stall

MS = 1_000_000  # [ns]


def wakes(count: int, late: dict[int, int] | None = None, begin: int = 0) -> Rows:
    """Wake-ups each millisecond, the k-th of them so late; what a long delay misses is made up for at once."""
    rows = []
    k = 1
    while k <= count:
        by = (late or {}).get(k, 0)
        due = 1 + by // MS
        rows.append((begin + k * MS + by, by, due))
        k += due
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def test_a_process_in_time_misses_nothing_and_keeps_the_pace() -> None:
    found = keeping(wakes(100), Window(MS // 2, 100 * MS + MS // 2), MS, [])
    assert (found.wakes, found.missed, found.unexplained) == (100, 0, 0)
    assert found.periods == pytest.approx([1e-3] * 4)
    assert found.late == pytest.approx([0.0] * 4)
    assert found.steps == pytest.approx(1.0)


def test_a_delay_misses_each_period_that_passed_and_only_its_steps_are_made_up_for() -> None:
    found = keeping(wakes(100, {40: 4 * MS + 200_000}), Window(MS // 2, 100 * MS + MS // 2), MS, [wakes(100)])
    assert (found.missed, found.unexplained) == (4, 4)
    assert found.late[3] == pytest.approx(4.2e-3)
    assert found.periods[3] == pytest.approx(5.2e-3)
    assert found.steps == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("bare_late", "explains"),
    [({39: 4 * MS}, True), ({41: 3 * MS}, True), ({41: 2 * MS}, False), ({60: 9 * MS}, False), ({}, False)],
)
def test_a_delay_is_explained_by_a_bare_process_that_was_as_late_up_to_a_period(
    bare_late: dict[int, int], explains: bool
) -> None:
    # from 40 to 44 ms; a bare process with another phase sees up to a period less of the same stall
    rows, calm = wakes(100, {40: 4 * MS}), wakes(100)
    found = keeping(rows, Window(0, 101 * MS), MS, [calm, wakes(100, bare_late, begin=-100_000)])
    assert found.missed == 4
    assert found.unexplained == (0 if explains else 4)


def test_a_delay_of_a_little_more_than_a_period_needs_a_bare_process_that_was_late_at_all() -> None:
    begin, end = 40 * MS, 41 * MS + 1000
    assert not is_explained(begin, end, MS, [wakes(100, {41: 100_000})])
    assert is_explained(begin, end, MS, [wakes(100, {41: 300_000})])


def test_a_stall_counts_where_it_reaches_into_the_time() -> None:
    bare = [wakes(100, {50: 5 * MS})]  # from 50 to 55 ms
    assert longest_stall(54 * MS, 70 * MS, bare) == 5 * MS
    assert longest_stall(30 * MS, 50 * MS, bare) == 5 * MS
    assert longest_stall(30 * MS, 49 * MS, bare) == 0
    assert longest_stall(56 * MS, 70 * MS, bare) == 0
