# SPDX-License-Identifier: Apache-2.0
"""Numbers of records under loss, disorder, repetition, wrap, damage and a device that starts anew."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_hardware.force_torque.rdt.sequence import WRAP, SequenceWatch
from ada_hardware.force_torque.sensor_driver import SequenceCounts


def watched(numbers: Iterable[int]) -> tuple[list[int], SequenceCounts]:
    counts = SequenceCounts()
    watch = SequenceWatch(counts)
    return [one for one in numbers if watch.is_new(one % WRAP)], counts


@given(st.integers(0, WRAP - 1))
def test_all_records_in_their_order_are_new_from_any_number_on(first: int) -> None:
    numbers = range(first, first + 50)
    assert watched(numbers) == (list(numbers), SequenceCounts())


FAR = 0x7000_0000


@pytest.mark.parametrize("came, used, counts", [
    ([1, 2, 5, 6, 10], [1, 2, 5, 6, 10], SequenceCounts(lost=5)),
    ([1, 2, 4, 3, 5], [1, 2, 4, 5], SequenceCounts(reordered=1)),  # late is not lost
    ([1, 2, 2, 3, 2, 3, 4], [1, 2, 3, 4], SequenceCounts(duplicated=3)),
    ([1, 3, 2, 2, 4], [1, 3, 4], SequenceCounts(reordered=1, duplicated=1)),  # late twice is late once
    ([2, 0, 3, 5], [2, 3, 5], SequenceCounts(lost=1, reordered=1)),  # what is before the first was never lost
    ([WRAP - 2, WRAP - 1, 1, 0, 2], [WRAP - 2, WRAP - 1, 1, 2], SequenceCounts(reordered=1)),
    ([1, 2, FAR, 3, 4], [1, 2, 3, 4], SequenceCounts()),  # one number that is far off is not believed
    ([1, 10_001], [1, 10_001], SequenceCounts(lost=9_999)),  # so many may be lost in one piece
    ([1, 10_002], [1], SequenceCounts()),
    ([1, FAR, FAR + 256, FAR + 512], [1, FAR + 512], SequenceCounts(restarted=1)),  # three that follow one another
    ([1, FAR, FAR + 256, FAR + 513], [1], SequenceCounts()),
    ([1, FAR, FAR, FAR], [1], SequenceCounts()),
    ([*range(1, 101), *range(1, 200)], [*range(1, 101), *range(32, 200)], SequenceCounts(duplicated=31, restarted=1)),
    ([*range(144), *range(145, 400), 144], [*range(144), *range(145, 400)], SequenceCounts(reordered=1)),  # 255 late
    ([*range(143), *range(144, 400), 143], [*range(143), *range(144, 400)], SequenceCounts(lost=1)),
    ([*range(70_000, 70_010), *range(1, 10)], [*range(70_000, 70_010), *range(3, 10)], SequenceCounts(restarted=1)),
])  # fmt: skip
def test_lost_late_doubled_and_restarted_records(came: list[int], used: list[int], counts: SequenceCounts) -> None:
    assert watched(came) == (used, counts)


@given(st.integers(0, 2**31), st.floats(0.0, 0.4), st.floats(0.0, 0.4), st.floats(0.0, 0.4))
def test_what_is_used_always_grows_and_nothing_is_counted_twice(
    seed: int, lost: float, doubled: float, swapped: float
) -> None:
    rng = random.Random(seed)
    came: list[int] = []
    for one in range(400):
        if 0 < one < 399 and rng.random() < lost:
            continue
        came += [one] * (2 if rng.random() < doubled else 1)
        if len(came) > 1 and rng.random() < swapped:
            came[-1], came[-2] = came[-2], came[-1]
    taken, counts = watched(came)
    assert taken == sorted(set(taken)) and taken[-1] == max(came)
    assert len(taken) + counts.reordered + counts.duplicated == len(came)
    first = came[0]
    assert counts.lost == max(came) - first + 1 - len({one for one in came if one >= first})
    assert counts.restarted == 0
