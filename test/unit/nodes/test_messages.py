# SPDX-License-Identifier: Apache-2.0
"""Sentences of the command guard: which of clocks, machine and limits a refusal blames, and that it stays short."""

import numpy as np
import pytest

from ada_dynamics.clock import ManualClock
from ada_robot.command_guard import CommandGuard
from ada_robot.contract import Command, JointLimit

CLOCKS, BUSY, EITHER = "so the clocks differ", "so the clocks agree", "If all messages are late"
SET = "so a clock was changed since"
PERIOD = 0.02


def last_word(arrivals, ahead=0.0):
    """Refusal of the last of messages (sent, arrived) [s], whose clock is then `ahead` of the steady one [s]."""
    steady = ManualClock()
    guard = CommandGuard([JointLimit("elbow", -2.0, 2.0)], max_age=0.5, max_jump=0.0, clock=steady)
    refusal = None
    for i, (stamp, now) in enumerate(arrivals):
        steady.advance(now - ahead * (i == len(arrivals) - 1) - steady.now())
        refusal = guard.check(Command(["elbow"], position=[0.0], stamp=stamp), now, {"elbow": 0.0})
    return refusal.text


def sent(seconds, offset=0.0, begin=100.0):
    """Messages that come as soon as they are sent, by a clock that is behind."""
    return [(t - offset, t) for t in np.arange(begin, begin + seconds, PERIOD).tolist()]


def test_a_clock_that_is_always_behind_is_told_as_such():
    assert CLOCKS in last_word(sent(3.0, offset=0.6))
    assert CLOCKS in last_word(sent(1.0) + sent(3.0, offset=40.0, begin=101.0)), "it may have been set meanwhile"


@pytest.mark.parametrize("stall", [1.0, 3.0, 30.0])
def test_messages_that_waited_while_the_machine_stood_still_are_no_matter_of_clocks(stall):
    waited = [(t, 101.0 + stall) for t, _ in sent(0.4, begin=101.0)]  # they come all at once
    text = last_word(sent(1.0) + waited)
    assert BUSY in text and "share a clock" not in text


def test_a_single_late_message_and_a_machine_that_falls_behind_are_no_matter_of_clocks():
    behind = [(101.0 + 0.5 * t, 101.6 + t) for t in np.arange(0.0, 6.0, PERIOD).tolist()]
    for late in ([(102.0, 102.7)], behind):
        assert BUSY in last_word(sent(1.0) + late)


@pytest.mark.parametrize("sender", [True, False])
def test_a_clock_that_is_set_is_told_at_the_first_message(sender):
    begin, far = sent(1.0), 3600.0
    last = begin[-1][1] + PERIOD
    # that of the sender goes back, or that of the receiver forward
    first = [(last - far, last)] if sender else [(last, last + far)]
    text = last_word(begin + first, ahead=0.0 if sender else far)
    assert SET in text and "share a clock" in text and "busy" not in text


def test_of_the_first_message_nobody_knows():
    text = last_word(sent(PERIOD / 2, offset=0.7))
    assert EITHER in text and "use_sim_time" in text and "busy" in text


def test_a_refusal_names_the_near_joint_the_range_and_the_parameter_and_stays_short():
    limit = JointLimit("elbow", -0.5, 2.5)
    guard = CommandGuard([limit], max_age=0.5, age_parameter="limits.age", clock=ManualClock())
    name = "\ud800\x00\u202e" * 100_000
    for command, said in (
        (Command(("elbov",), (0.1,)), "Did you mean 'elbow'"),
        (Command(("elbow",), (2.6,)), "'elbow': position is 2.6, outside of [-0.5, 2.5]"),
        (Command(("elbow",), (0.6,), stamp=1.0), "parameter limits.age"),
        (Command((name,), (0.1,)), ""),
        (Command(("elbow",) * 100_000, (0.1,) * 100_000), ""),
    ):
        text = guard.check(command, 10.0, {"elbow": 0.0}).text
        assert said in text and len(text) < 1000
