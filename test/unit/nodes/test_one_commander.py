# SPDX-License-Identifier: Apache-2.0
"""Whose commands count, how long they may have waited, and what refused ones leave behind; in lock step, no ROS."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.clock import ManualClock
from ada_robot.contract import Command, JointLimit, Mode
from ada_robot.cycle.messages import Judged
from ada_robot.node.joint_commands import SETTLED, HaltDetector, JointCommands, Lease

A, B = b"a" * 16, b"b" * 16
NAMES = ["a", "b", "c"]
HERE = np.array([0.1, 0.2, 0.3])


@pytest.fixture
def clock():
    return ManualClock(100.0)


@pytest.fixture
def lease(clock):
    return Lease(0.5, lambda: {A: "/arm/controller", B: "/view"}, clock)


def refusal(lease, sender):
    return lease.refusal(sender, lambda: 2)


def test_the_second_commander_is_refused_by_name_until_the_first_was_silent(lease, clock):
    assert refusal(lease, A) == "" and lease.holder_name == ""
    lease.claim(A)
    for _ in range(100):
        clock.advance(0.02)
        assert refusal(lease, A) == ""
        assert "/arm/controller commands this robot, so that commands of /view are refused" in refusal(lease, B)
    assert lease.holder_name == "/arm/controller"
    clock.advance(0.49)
    assert "after 0.5 s" in refusal(lease, B)
    clock.advance(0.02)
    assert refusal(lease, B) == "" and lease.holder_name == ""
    lease.claim(B)
    assert "/view commands this robot, so that commands of /arm/controller are refused" in refusal(lease, A)


def test_a_commander_that_is_gone_holds_nothing(clock):
    there = {A: "/arm/controller", B: "/view"}
    lease = Lease(20.0, lambda: there, clock)
    lease.claim(A)
    assert "commands of /view are refused" in refusal(lease, B)
    del there[A]
    clock.advance(0.3)
    assert refusal(lease, B) == ""


def test_a_commander_that_only_sends_what_is_refused_keeps_nobody_out(lease):
    assert refusal(lease, A) == ""  # and never claims it
    assert refusal(lease, B) == ""
    lease.claim(A)
    assert refusal(lease, b"c" * 16), "one that the graph does not know"
    lease.release()
    assert refusal(lease, B) == "", "a robot that is activated anew is anybody's"


def test_where_senders_are_not_told_two_publishers_are_both_refused(lease):
    assert lease.refusal(None, lambda: 1) == ""
    lease.claim(None)
    assert "/arm/controller and /view publish commands" in lease.refusal(None, lambda: 2)
    assert lease.refusal(None, lambda: 1) == ""


def test_what_a_standstill_kept_waiting_is_as_old_as_the_standstill(clock):
    detector = HaltDetector(0.1, clock)
    for _ in range(50):
        clock.advance(0.002)
        assert detector.poll() == 0.0
    clock.advance(0.4)
    assert detector.poll() == pytest.approx(0.4)
    clock.advance(0.5 * SETTLED)
    assert detector.poll() == pytest.approx(0.4 + 0.5 * SETTLED), "it comes through little by little"
    clock.advance(0.51 * SETTLED)
    assert detector.poll() == pytest.approx(0.4 + 1.01 * SETTLED), "it may have come since the look before"
    clock.advance(0.002)
    assert detector.poll() == 0.0


@given(st.lists(st.floats(0.001, 0.6), min_size=1, max_size=60))
def test_nothing_that_waited_longer_than_a_standstill_is_ever_taken_for_new(steps):
    clock = ManualClock(100.0)
    detector = HaltDetector(0.1, clock)
    standstills, perhaps = [], []  # with steps of 0.1 s, of which rounding decides
    for step in steps:
        before = clock.now()
        clock.advance(step)
        waited = detector.poll()
        standstills += [(before, clock.now())] if step > 0.1 + 1e-9 else []
        perhaps += [(before, clock.now())] if step > 0.1 - 1e-9 else []
        # of a message that comes now, the oldest that it may be
        kept = [begin for begin, end in standstills if before < end + SETTLED - 1e-9]
        assert waited >= clock.now() - min(kept, default=clock.now()) - 1e-9
        assert waited == 0.0 or any(before < end + SETTLED + 1e-9 for _, end in perhaps), "nothing is old without one"


class Cycle:
    """A robot's safety that judges by a rule of its own: no position farther than 0.3 from where it was told to be."""

    def __init__(self):
        self.at, self.judged, self.t = HERE.copy(), Judged(), 0.0

    def take(self, heard, values):
        self.t += 0.002
        heard.sent(self.t)
        is_near = bool((np.abs(values - self.at) <= 0.3).all())
        if is_near:
            self.at = np.array(values)
        self.judged = Judged(self.t if is_near else self.judged.accepted_at, self.t)
        return is_near


def heard():
    one = JointCommands([JointLimit(n, -1.0, 1.0, 2.0, 5.0) for n in NAMES], frozenset(Mode), ManualClock())
    one.hold_to(0.0, 0.0)
    return one


def told(heard, cycle, names, positions):
    heard.judged(cycle.judged)
    demand = heard.demand(Command(names, position=positions), 0.0, HERE)
    return cycle.take(heard, demand.values)


@given(st.lists(st.tuples(st.sets(st.sampled_from(NAMES), min_size=1), st.floats(-1.0, 1.0)), max_size=40))
def test_joints_that_are_not_named_are_never_told_to_move(commands):
    one, cycle = heard(), Cycle()
    for names, wanted in commands:
        before, named = cycle.at.copy(), sorted(names)
        is_taken = told(one, cycle, named, [wanted] * len(named))
        others = [i for i, name in enumerate(NAMES) if name not in names]
        assert cycle.at[others].tolist() == before[others].tolist()
        near = all(abs(wanted - before[NAMES.index(name)]) <= 0.3 for name in named)
        assert is_taken == near, "whether a part is taken depends on that part alone"
