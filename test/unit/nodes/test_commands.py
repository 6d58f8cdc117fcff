# SPDX-License-Identifier: Apache-2.0
"""The command guard: each rule by itself, and any message judged by rules that are written a second time here."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_robot.contract import Command, JointLimit, Reason
from ada_robot.limits import CommandGuard

JOINTS = (
    JointLimit("shoulder", -2.0, 2.0, velocity=3.0, effort=50.0),
    JointLimit("elbow", -0.5, 2.5, velocity=4.0, effort=20.0),
    JointLimit("wheel"),  # continuous, no limits
    JointLimit("passive", -1.0, 1.0, 1.0, 1.0, has_motor=False),
)
PRESENT = {"shoulder": 0.5, "elbow": 0.2, "wheel": 40.0, "passive": 0.0}
NOW = 1000.0
GOOD = Command(("shoulder", "elbow"), (0.6, 0.1), (1.0, -2.0), (10.0, -5.0), NOW - 0.1)


def guard(**rules):
    return CommandGuard(JOINTS, **rules)


def refused(command, present=PRESENT, now=NOW, **rules):
    refusal = guard(**rules).check(command, now, present)
    return (None, "") if refusal is None else refusal


BAD = [
    (Command((), ()), Reason.EMPTY),
    (Command(("elbow",)), Reason.EMPTY),
    (Command((), (1.0,)), Reason.LENGTH),
    (GOOD._replace(position=(0.6,)), Reason.LENGTH),
    (GOOD._replace(effort=(1.0, 2.0, 3.0)), Reason.LENGTH),
    (Command(("elbov",), (0.1,)), Reason.UNKNOWN_JOINT),
    (Command(("elbow", "elbow"), (0.1, 0.1)), Reason.DUPLICATE_JOINT),
    (Command(("passive",), effort=(0.0,)), Reason.NO_MOTOR),
    (GOOD._replace(position=(0.6, math.nan)), Reason.NOT_FINITE),
    (GOOD._replace(velocity=(math.inf, 0.0)), Reason.NOT_FINITE),
    (GOOD._replace(effort=(0.0, -math.inf)), Reason.NOT_FINITE),
    (GOOD._replace(stamp=math.nan), Reason.NOT_FINITE),
    (GOOD._replace(stamp=NOW - 0.6), Reason.OLD),
    (GOOD._replace(stamp=NOW + 0.2), Reason.FROM_THE_FUTURE),
    (GOOD._replace(position=(0.6, 2.6)), Reason.OVER_LIMIT),
    (GOOD._replace(velocity=(-3.1, 0.0)), Reason.OVER_LIMIT),
    (GOOD._replace(effort=(0.0, 20.1)), Reason.OVER_LIMIT),
    (GOOD._replace(position=(-0.6, 0.1)), Reason.JUMP),
    (Command(("wheel",), (1e308,)), Reason.JUMP),
]


def test_a_command_that_breaks_a_rule_is_refused_for_that_rule():
    assert [refused(command)[0] for command, _ in BAD] == [reason for _, reason in BAD]


def test_a_refusal_suggests_near_names_and_stays_short():
    assert "Did you mean 'elbow'" in refused(Command(("elbov",), (0.1,)))[1]
    for names in (("\ud800\x00\u202e" * 100_000,), ("elbow",) * 100_000):
        assert len(refused(Command(names, (0.1,) * len(names)))[1]) < 1000


@pytest.mark.parametrize("present", [{}, {"elbow": math.nan}, {"elbow": math.inf}])
def test_a_position_is_refused_while_the_present_one_is_not_known(present):
    assert refused(Command(("elbow",), (0.1,)), present)[0] is Reason.JUMP
    assert refused(Command(("elbow",), (0.1,)), present, max_jump=0.0)[0] is None
    assert refused(Command(("elbow",), effort=(0.1,)), present)[0] is None


def test_where_stamps_are_required_a_command_without_one_is_refused():
    watch = guard()
    watch.requires_stamps = True
    assert watch.check(GOOD, NOW, PRESENT) is None
    assert watch.check(GOOD._replace(stamp=None), NOW, PRESENT).reason is Reason.NO_STAMP


def broken_rules(command, now, present):
    """The reasons for which a command may be refused, each rule by itself; NaN fails every comparison."""
    joints = {joint.name: joint for joint in JOINTS}
    position, velocity, effort = lists = [part or () for part in command[1:4]]
    found = set()
    if sum(map(len, lists)) == 0:
        found.add(Reason.EMPTY)
    if any(len(x) > 0 and len(x) != len(command.names) for x in lists):
        found.add(Reason.LENGTH)
    if not set(command.names) <= set(joints):
        found.add(Reason.UNKNOWN_JOINT)
    if len(set(command.names)) < len(command.names):
        found.add(Reason.DUPLICATE_JOINT)
    if any(n in joints and not joints[n].has_motor for n in command.names):
        found.add(Reason.NO_MOTOR)
    numbers = [*position, *velocity, *effort]
    if command.stamp is not None:
        numbers.append(command.stamp)
        if command.stamp < now - 0.5:
            found.add(Reason.OLD)
        if command.stamp > now + 0.1:
            found.add(Reason.FROM_THE_FUTURE)
    if not np.isfinite(np.array(numbers, dtype=float)).all():
        found.add(Reason.NOT_FINITE)
    for index, name in enumerate(command.names):
        joint = joints.get(name)
        if joint is None:
            continue
        if len(position) > index:
            p = position[index]
            if p < joint.lower - 1e-9 or p > joint.upper + 1e-9:
                found.add(Reason.OVER_LIMIT)
            if abs(p - present[name]) > 1.0:
                found.add(Reason.JUMP)
        for x, limit in ((velocity, joint.velocity), (effort, joint.effort)):
            if len(x) > index and (x[index] > limit or x[index] < -limit):
                found.add(Reason.OVER_LIMIT)
    return found


NASTY = (
    math.nan, -math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, 2.0, 2.0 + 5e-10, 2.0 + 2e-9, -2.0,
    3.0, math.nextafter(3.0, 4.0), 4.0, -4.0, 20.0, 50.0, 0.5, 1.5, math.nextafter(1.5, 2.0), 1e-9, sys.float_info.max,
)  # fmt: skip
numbers = st.floats(width=64) | st.sampled_from(NASTY) | st.floats(-2.0, 2.0)
names = st.sampled_from([*(joint.name for joint in JOINTS), "", "Elbow", "elbow ", "\ud800", "x" * 500]) | st.text(
    max_size=5
)


@given(
    st.builds(
        Command,
        st.lists(names, max_size=5),
        st.lists(numbers, max_size=5),
        st.lists(numbers, max_size=5),
        st.lists(numbers, max_size=5),
        st.none() | numbers | st.floats(NOW - 1.0, NOW + 1.0),
    )
    | st.builds(
        GOOD._replace, position=st.tuples(numbers, numbers), effort=st.tuples(numbers) | st.tuples(numbers, numbers)
    ),
    st.just(NOW) | st.floats(width=64),
    st.just(PRESENT) | st.dictionaries(names, numbers, max_size=4),
)
def test_whatever_a_message_holds_the_guard_judges_and_does_not_raise(command, now, present):
    watch = guard()
    refusal = watch.check(command, now, present)
    assert watch.accepted + sum(watch.refused.values()) == 1
    if not math.isfinite(now):
        return
    broken = broken_rules(command, now, {joint.name: present.get(joint.name, math.nan) for joint in JOINTS})
    if refusal is None:
        assert not broken
    elif present is PRESENT:
        assert refusal.reason in broken
