# SPDX-License-Identifier: Apache-2.0
"""What joint_commands become for a device that follows all its joints in one mode; no ROS."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.clock import ManualClock
from ada_robot.contract import Command, JointLimit, Mode
from ada_robot.node.joint_commands import JointCommands

NAMES = ["a", "b", "c"]
LIMITS = [JointLimit(name, -1.0, 1.0, 2.0, 5.0) for name in NAMES]
HERE = np.array([0.1, 0.2, 0.3])
ALL = frozenset(Mode)


def commands(modes=ALL, max_age=0.1, max_jump=0.5):
    one = JointCommands(LIMITS, frozenset(modes), ManualClock())
    one.hold_to(max_age, max_jump)
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
    one.hold_to(0.1, 0.5, require_stamps=command.stamp is not None or reason == "no stamp")
    assert one.demand(command, 0.0, np.array(here)) is None
    assert one.refused == {reason: 1} and one.refused_active == 1


def test_rules_can_change_and_what_comes_too_early_is_no_fault_of_the_sender():
    one = commands()
    far = Command(["c", "a", "b"], position=[0.3, 0.9, 0.2], stamp=-100.0)
    assert one.demand(far, 0.0, HERE) is None
    one.hold_to(0.0, 0.0)
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
