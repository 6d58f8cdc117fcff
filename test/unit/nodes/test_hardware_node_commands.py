# SPDX-License-Identifier: Apache-2.0
"""Commands for a device that follows all its joints in one mode: whose count, how old they are; no ROS."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.clock import ManualClock
from ada_robot.contract import Command, JointLimit, Mode
from ada_robot.cycle.messages import Judged
from ada_robot.node.joint_commands import SETTLED, HaltDetector, JointCommands, Lease

NAMES = ["a", "b", "c"]
LIMITS = [JointLimit(name, -1.0, 1.0, 2.0, 5.0) for name in NAMES]
HERE = np.array([0.1, 0.2, 0.3])
ALL = frozenset(Mode)


def commands(modes=ALL, max_age=0.1, max_jump=0.5):
    one = JointCommands(LIMITS, frozenset(modes), ManualClock())
    one.max_age, one.max_jump = max_age, max_jump
    return one


@pytest.mark.parametrize(
    ("modes", "mode"),
    [(ALL, Mode.POSITION), ({Mode.VELOCITY, Mode.EFFORT}, Mode.VELOCITY), ({Mode.EFFORT}, Mode.EFFORT)],
)
def test_of_a_message_with_several_kinds_the_first_that_the_device_knows_is_taken(modes, mode):
    command = Command(NAMES, position=[0.2, 0.3, 0.4], velocity=[1.0, -1.0, 0.5], effort=[3.0, 2.0, 1.0])
    demand = commands(modes).demand(command, 0.0, HERE)
    assert demand.mode is mode
    assert demand.values.tolist() == getattr(command, mode.value)


@pytest.mark.parametrize(
    ("modes", "command", "here", "reason"),
    [
        ({Mode.POSITION}, Command(NAMES, effort=[0.0] * 3), HERE, "no such mode"),
        (ALL, Command(["a", "c"], effort=[1.0] * 2), HERE, "joints without an effort"),
        (ALL, Command(["a"], position=[0.2]), [0.1, math.nan, 0.3], "unknown position"),
        (ALL, Command(NAMES, position=[0.8, 0.2, 0.3]), HERE, "jump"),
        (ALL, Command(NAMES, velocity=[0.0] * 3, stamp=-0.2), HERE, "too old"),
        (ALL, Command(NAMES, velocity=[0.0] * 3), HERE, "no stamp"),
    ],
)
def test_a_command_that_cannot_be_followed_is_refused_and_counted(modes, command, here, reason):
    one = commands(modes)
    one.requires_stamps = command.stamp is not None or reason == "no stamp"
    assert one.demand(command, 0.0, np.array(here)) is None
    assert one.refused == {reason: 1} and one.refused_active == 1


def test_rules_can_change_and_what_comes_too_early_is_no_fault_of_the_sender():
    one = commands()
    far = Command(["c", "a", "b"], position=[0.3, 0.9, 0.2], stamp=-100.0)
    assert one.demand(far, 0.0, HERE) is None
    one.max_age = one.max_jump = 0.0
    assert one.demand(far, 0.0, HERE).values.tolist() == [0.9, 0.2, 0.3], "in the order of the robot"
    assert one.age == pytest.approx(100.0)
    one.ignored()
    assert one.refused["not active"] == 1 and one.refused_active == 1


def test_joints_that_a_position_command_does_not_name_stay_where_they_were_told_to_be():
    one = commands()
    first = one.demand(Command(["a"], position=[0.4]), 0.0, HERE)
    assert first.values.tolist() == [0.4, 0.2, 0.3], "the others where they are measured"
    drifted = np.array([0.4, 0.25, 0.3])
    second = one.demand(Command(["b"], position=[0.6]), 0.1, drifted)
    assert second.values.tolist() == [0.4, 0.6, 0.3], "the others where they were told to be"
    one.forget()
    third = one.demand(Command(["c"], position=[0.1]), 0.2, drifted)
    assert third.values.tolist() == [*drifted[:2].tolist(), 0.1], "after a new activation where they are"


def test_a_velocity_in_between_makes_positions_start_from_the_measured_ones():
    one = commands()
    one.demand(Command(NAMES, position=[0.4, 0.4, 0.4]), 0.0, HERE)
    velocity = one.demand(Command(["a"], velocity=[1.0]), 0.1, HERE).values
    assert velocity.tolist() == [1.0, 0.0, 0.0]
    velocity[:] = 9.0  # a demand is the receiver's own
    assert one.demand(Command(["a"], position=[0.2]), 0.2, HERE).values.tolist() == [0.2, 0.2, 0.3]


numbers = st.floats(width=64)


@given(
    names=st.lists(st.sampled_from([*NAMES, "d"]), max_size=4),
    position=st.lists(numbers, max_size=4),
    velocity=st.lists(numbers, max_size=4),
    effort=st.lists(numbers, max_size=4),
    modes=st.sets(st.sampled_from(list(Mode)), min_size=1),
    here=st.lists(st.one_of(st.floats(-1.0, 1.0), st.just(math.nan)), min_size=3, max_size=3),
)
def test_whatever_comes_a_demand_is_whole_finite_within_limits_and_of_a_mode_of_the_device(
    names, position, velocity, effort, modes, here
):
    one = commands(modes)
    demand = one.demand(Command(names, position, velocity, effort), 0.0, np.array(here))
    if demand is None:
        assert one.refused_active == 1 and one.last_refusal
        return
    assert demand.mode in modes and demand.values.shape == (3,)
    assert np.isfinite(demand.values).all()
    bound = {Mode.POSITION: 1.0 + 1e-9, Mode.VELOCITY: 2.0, Mode.EFFORT: 5.0}[demand.mode]
    assert np.abs(demand.values).max() <= bound


A, B = b"a" * 16, b"b" * 16


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
    one.max_age = one.max_jump = 0.0
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
