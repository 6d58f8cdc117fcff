# SPDX-License-Identifier: Apache-2.0
"""Messages that never came, by the numbers of those that did."""

from __future__ import annotations

import random

import pytest

from ada_tools.nodes.bag.recording import SequenceGaps


def lost(numbers, publishers):
    gaps = SequenceGaps()
    gaps.publishers(publishers)
    for number in numbers:
        gaps.take(number)
    return gaps.lost


def test_what_is_missing_between_the_messages_of_one_publisher_is_counted():
    assert lost([7, 8, 9], 1) == 0
    assert lost([7, 9, 10, 15], 1) == 1 + 4


@pytest.mark.parametrize("seed", range(2))
def test_of_several_publishers_the_missing_ones_are_counted_whoever_has_sent_them(seed):
    choose = random.Random(seed)
    firsts = [1, 4000, 90_000]  # a volatile subscriber hears whatever comes next
    queues = [[first + i for i in range(1000)] for first in firsts]
    queues = [[*choose.sample(q[1:-1], 700), q[-1]] for q in queues]
    for queue in queues:
        queue.sort()
    order = [i for i, queue in enumerate(queues) for _ in queue]
    choose.shuffle(order)
    numbers = [*firsts, *(queues[i].pop(0) for i in order)]
    assert lost(numbers, 3) == 3 * 298


def test_one_that_comes_later_or_says_again_what_it_said_leaves_no_gap():
    assert lost([100, 101, 1, 102, 2, 3, 103], 1) == 0
    assert lost([5, 5, 6, 7], 1) == 0
