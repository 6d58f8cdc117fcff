# SPDX-License-Identifier: Apache-2.0
"""Arming, operating modes, a tool's limit that is lowered, reset and silence: judged by the bytes that reach an arm."""

import math

import numpy as np
import pytest
from pa10_stream import Stream
from refused import refused

from ada_dynamics.errors import InputError
from ada_robot.contract import Mode
from ada_robot.errors import Refused
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import AUTOMATIC, SafetySettings

READY = (0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0)
PERIOD = 0.002  # [s]
WINDOW = 0.2  # [s]
TURN = np.array([0.2, 0, 0, 0, 0, 0, 0])


def is_moving(told) -> bool:
    """Whether one of these commands asks for any motion with a brake open."""
    return any(one.mode != 0x01 and (one.speed.any() or one.torque.any()) for one in told)


def arming(**settings) -> Stream:
    return Stream(SafetySettings(arm_within=WINDOW, **settings), start=READY).activate()


def test_no_command_moves_a_robot_that_is_active_before_it_is_armed() -> None:
    stream = arming()
    assert not is_moving(stream.steps(40, Mode.VELOCITY, TURN))
    assert stream.cycle.check.refused["not armed"] == 40
    stream.cycle.arm(stream.clock.now())
    assert is_moving(stream.steps(40, Mode.VELOCITY, TURN))


def test_who_does_not_arm_it_in_time_activates_anew() -> None:
    stream = arming()
    stream.steps(round(WINDOW / PERIOD) + 5, Mode.VELOCITY, TURN)
    stream.until_rest()
    assert stream.cycle.phase is Phase.INACTIVE and "not armed" in stream.cycle.reason
    with refused(Refused, field="phase", value="inactive"):
        stream.cycle.arm(stream.clock.now())
    assert not is_moving(stream.told)


def test_a_commander_that_was_silent_and_goes_on_moves_nothing_until_somebody_arms_the_robot_anew() -> None:
    stream = arming(hold_without_commands=True, host_timeout=0.2)
    stream.cycle.arm(stream.clock.now())
    stream.steps(40, Mode.VELOCITY, TURN)
    stream.steps(round(0.2 / PERIOD) + 5)  # frozen, or lost
    assert stream.is_active and not stream.cycle.is_armed
    assert not is_moving(stream.steps(20, Mode.VELOCITY, TURN))
    stream.cycle.arm(stream.clock.now())
    assert is_moving(stream.steps(40, Mode.VELOCITY, TURN))


def test_a_commander_that_is_lost_is_ramped_down_and_its_return_does_not_activate_the_robot() -> None:
    stream = arming()
    stream.cycle.arm(stream.clock.now())
    stream.steps(40, Mode.VELOCITY, TURN)
    settings = stream.cycle.settings
    silent = stream.steps(round((settings.command_timeout + 0.1 + 0.01) / PERIOD) + 2)
    assert not is_moving(silent[-1:])  # command_timeout, and a ramp of 0.1 s
    stream.steps(round(settings.host_timeout / PERIOD))
    assert stream.cycle.phase is Phase.INACTIVE
    assert not is_moving(stream.steps(50, Mode.VELOCITY, TURN))


def test_a_reset_moves_nothing_and_neither_do_commands_after_it() -> None:
    for stop in ("moving", "at rest", "inactive"):
        stream = Stream(SafetySettings(), start=READY)
        stream.steps(5)
        if stop != "inactive":
            stream.activate()
            stream.steps(40, Mode.VELOCITY, TURN if stop == "moving" else 0.0 * TURN)
        stream.cycle.stop(stream.clock.now(), "test")
        stream.until_rest()
        stream.steps(50)
        begin, where = len(stream.told), stream.arm.arm.q.copy()
        stream.cycle.reset(stream.clock.now())
        stream.steps(200, Mode.VELOCITY, TURN)
        after = stream.told[begin:]
        assert len(after) > 200
        assert {one.mode for one in after} == {0x01}, "brakes"
        assert not any(one.speed.any() or one.torque.any() for one in after)
        assert stream.arm.arm.q.tolist() == where.tolist()
        assert stream.cycle.phase is Phase.INACTIVE


def test_a_limit_of_the_tool_that_is_lowered_in_motion_slows_it_within_a_ramp_and_stops_nothing() -> None:
    stream = Stream(SafetySettings(), start=READY).activate()
    reach = math.hypot(
        *stream.cycle.rules.tool.tool(np.array(READY)).point[:2]
    )  # the first joint turns about the vertical
    fast = 0.24 / reach * np.array([1, 0, 0, 0, 0, 0, 0])
    before = stream.steps(200, Mode.VELOCITY, fast)
    assert before[-1].speed[0] * reach > 0.2
    stream.cycle.lower_tool_speed(stream.clock.now(), 0.1)
    after = stream.steps(300, Mode.VELOCITY, fast)
    assert stream.is_active, stream.cycle.reason
    assert max(one.speed[0] for one in after[60:]) * reach <= 0.1 + 1e-3
    assert after[-1].speed[0] * reach > 0.08


def test_a_limit_of_the_tool_is_never_raised() -> None:
    stream = Stream(SafetySettings(tool_speed=0.2), start=READY)
    for speed in (0.25, 0.0, -1.0, math.inf, math.nan):
        with refused(InputError, field="tool_speed", allowed=0.2):
            stream.cycle.lower_tool_speed(stream.clock.now(), speed)
    assert stream.cycle.rules.tool.speed == 0.2
    with refused(InputError, field="tool_speed", value=0.1, allowed=None):
        Stream(SafetySettings(tool_speed=0.0)).cycle.lower_tool_speed(0.0, 0.1)
    present = SafetySettings(tool_speed=0.1, automatic_tool_speed=1.0)
    present.with_tool_speed(0.05).require_no_faster(present)
    for changed in ({"tool_speed": 0.2}, {"tool_speed": 0.1, "automatic_tool_speed": 0.0}):
        field, value = [*changed.items()][-1]
        with refused(InputError, field=field, value=value):
            SafetySettings(**changed).require_no_faster(present)


def test_each_operating_mode_has_its_own_limits_and_manual_is_the_default() -> None:
    limits = {"velocity_scale": 0.1, "tool_speed": 0.1, "automatic_velocity_scale": 0.5, "automatic_tool_speed": 1.5}
    manual, automatic = SafetySettings(**limits), SafetySettings(**limits, operating_mode=AUTOMATIC)
    assert (manual.velocity_share, manual.greatest_tool_speed) == (0.1, 0.1)
    assert (automatic.velocity_share, automatic.greatest_tool_speed) == (0.5, 1.5)
    assert SafetySettings().greatest_tool_speed == 0.25
    assert Stream(automatic).cycle.rules.velocity == pytest.approx(5.0 * Stream(manual).cycle.rules.velocity)
