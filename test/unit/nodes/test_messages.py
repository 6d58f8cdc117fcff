# SPDX-License-Identifier: Apache-2.0
"""Sentences of the command guard: which of clocks, machine and limits a refusal blames, and that it stays short."""

from ada_robot.command_guard import CommandGuard
from ada_robot.contract import Command, JointLimit


def test_a_late_command_may_be_a_matter_of_clocks_or_of_a_busy_machine():
    guard = CommandGuard([JointLimit("elbow", -2.0, 2.0)], max_age=0.5)
    text = guard.check(Command(["elbow"], position=[0.0], stamp=100.0), 100.7, {"elbow": 0.0}).text
    assert "0.7 s old" in text and "use_sim_time" in text and "busy" in text


def test_a_refusal_names_the_near_joint_the_range_and_the_parameter_and_stays_short():
    limit = JointLimit("elbow", -0.5, 2.5)
    guard = CommandGuard([limit], max_age=0.5)
    name = "\ud800\x00\u202e" * 100_000
    for command, said in (
        (Command(("elbov",), (0.1,)), "Did you mean 'elbow'"),
        (Command(("elbow",), (2.6,)), "'elbow': position is 2.6, outside of [-0.5, 2.5]"),
        (Command(("elbow",), (0.6,), stamp=1.0), "parameter max_command_age"),
        (Command((name,), (0.1,)), ""),
        (Command(("elbow",) * 100_000, (0.1,) * 100_000), ""),
    ):
        text = guard.check(command, 10.0, {"elbow": 0.0}).text
        assert said in text and len(text) < 1000
