# SPDX-License-Identifier: Apache-2.0
"""What reaches a PA-10 near its limits, after an axis was held, at reversals and stops: bytes are judged."""

from __future__ import annotations

import numpy as np
import pytest
from pa10_stream import SPEED, Stream, T, broken_rules
from peers.pa10_body import LIMITS as LIMIT
from peers.pa10_words import ANGLE as ANGLE_COUNT
from peers.pa10_words import SERVO
from peers.pa10_words import SPEED as SPEED_COUNT

from ada_robot.contract import Demand, Mode
from ada_robot.errors import HardwareError
from ada_robot.safety.joint_rules import DemandGuard, JointRules
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

FIVE = SafetySettings(tool_speed=0.0, max_acceleration=5.0, max_deceleration=5.0, velocity_scale=0.5)
BEYOND = (ANGLE_COUNT, 1.5e-2)  # one count; just within the alarm of 1 deg


def told_outward(told, sign, axes=slice(None)):
    """Speeds that lead away from zero, where all axes are beyond their limits."""
    speeds = np.array([one.speed for one in told if one.mode == SERVO])[:, axes]
    return float((sign * speeds).max(initial=0.0))


@pytest.mark.parametrize("far", BEYOND)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_arm_beyond_its_limits_is_activated_and_holds_where_it_stands(far, sign):
    start = sign * (LIMIT + far)
    world = Stream(start=tuple(start)).activate()
    told = world.steps(50)
    told += world.steps(150, Mode.POSITION, lambda: world.cycle.feedback.position)  # a program that holds
    assert world.is_active, world.cycle.reason
    assert world.cycle.check.refused == {}
    assert np.abs(world.arm.arm.q - start).max() <= ANGLE_COUNT
    assert broken_rules(told) == []
    world.cycle.deactivate(world.clock.now())
    world.until_rest()
    world.activate()  # again and again
    assert world.is_active


@pytest.mark.parametrize("far", BEYOND)
@pytest.mark.parametrize("mode", [Mode.VELOCITY, Mode.POSITION])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_arm_beyond_its_limits_is_never_told_to_go_farther_out_and_comes_back_inside(far, mode, sign):
    start = sign * (LIMIT + far)
    world = Stream(start=tuple(start)).activate()
    world.steps(20)
    outward = np.full(7, sign * 0.2) if mode is Mode.VELOCITY else start + sign * 0.01
    told = world.steps(40, mode, outward)
    assert told_outward(told, sign) <= SPEED_COUNT
    assert world.is_active
    if mode is Mode.POSITION:
        assert set(world.cycle.check.refused) == {"over a limit"}
    goal, place = start - sign * 0.1, world.cycle.feedback.position.copy()

    def inward():
        nonlocal place
        place = place - sign * np.minimum(0.2 * T, np.abs(place - goal))
        return place

    told = world.steps(400, mode, np.full(7, -sign * 0.2) if mode is Mode.VELOCITY else inward)
    assert world.is_active, world.cycle.reason
    assert (sign * world.arm.arm.q < LIMIT).all()
    assert broken_rules(told) == []
    assert world.violations == []


@pytest.mark.parametrize("mode", [Mode.VELOCITY, Mode.POSITION])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_full_speed_into_every_limit_ends_there(mode, sign):
    world = Stream(start=tuple(sign * (LIMIT - 0.4))).activate()
    place, farthest = sign * (LIMIT - 0.4), -1.0

    def onward():
        nonlocal place
        place = np.clip(place + sign * SPEED * T, -LIMIT, LIMIT)
        return place

    told = []
    for _ in range(400):
        told += world.steps(1, mode, sign * SPEED if mode is Mode.VELOCITY else onward)
        farthest = max(farthest, float((sign * world.arm.arm.q - LIMIT).max()))
    assert world.is_active
    assert farthest < 3 * ANGLE_COUNT
    assert (np.abs(world.arm.arm.q) > LIMIT - 2e-3).all(), "and it gets there"
    assert broken_rules(told) == []


def test_a_velocity_command_after_positions_goes_on_from_the_speeds_that_the_arm_was_told():
    world = Stream(start=(0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0)).activate()
    goal = world.cycle.feedback.position + 0.09
    told = world.steps(30, Mode.POSITION, goal)  # it hurries after a demand that has arrived
    told += world.steps(100, Mode.VELOCITY, np.zeros(7))
    assert np.abs([one.speed for one in told]).max() > 0.3
    assert broken_rules(told) == []


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
def test_positions_keep_the_users_speed_and_acceleration_on_the_wire_after_an_axis_was_held_and_freed(share):
    world = Stream(FIVE, start=(0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0)).activate()
    place, speed = world.cycle.feedback.position.copy(), share * 0.5 * SPEED
    rate = 0.0

    def onward():
        nonlocal place, rate
        rate = min(1.0, rate + 0.01)
        place = place - rate * speed * T
        return place

    told = world.steps(100, Mode.POSITION, onward)
    held = world.arm.arm.q[1]
    for i in range(75):  # 0.15 s; what holds it gives way by a little, as everything does
        told += world.steps(1, Mode.POSITION, onward)
        world.arm.arm.q[1], world.arm.arm.v[1] = held + 1e-5 * (i % 2), 0.0
    told += world.steps(150, Mode.POSITION, onward)
    assert broken_rules(told, rate=5.0, speed=0.5 * SPEED) == []
    fastest = np.abs([one.speed[1] for one in told]).max()
    assert fastest > 1.02 * speed[1] or share == 1.0, "it makes up for what it lost"


def test_an_axis_that_was_held_comes_to_its_command_without_overshoot_however_gently_it_may_brake():
    world = Stream(
        SafetySettings(tool_speed=0.0, max_acceleration=1.0, max_deceleration=1.0, max_following_error=0.3)
    ).activate()
    start = world.cycle.feedback.position.copy()
    away = np.array([0.0, 0.05, 0, 0, 0, 0, 0])
    world.arm.arm.q = world.arm.arm.q - away * 4  # 0.2 rad
    reached = []
    for _ in range(1000):
        world.step(Mode.POSITION, start)
        reached.append(world.arm.arm.q[1] - start[1])
    assert world.is_active, world.cycle.reason
    assert max(reached) < 0.42 * (0.005 + 2 * T)  # its speed, by what the drive and a cycle each way are behind
    assert abs(reached[-1]) < 1e-4


@pytest.mark.parametrize(("acceleration", "deceleration"), [(2.0, 20.0), (20.0, 2.0), (5.0, 5.0)])
@pytest.mark.parametrize("mode", [Mode.VELOCITY, Mode.POSITION])
def test_a_reversal_gains_speed_no_faster_than_a_start(acceleration, deceleration, mode):
    safety = SafetySettings(tool_speed=0.0, max_acceleration=acceleration, max_deceleration=deceleration)
    world = Stream(safety, start=(0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0)).activate()
    place = world.cycle.feedback.position.copy()

    def sway(sign):
        nonlocal place
        place = place + sign * 0.3 * T
        return place

    told = []
    for sign, count in ((1.0, 150), (-1.0, 300), (1.0, 200)):
        values = sign * np.full(7, 0.3)
        told += world.steps(count, mode, values if mode is Mode.VELOCITY else (lambda sign=sign: sway(sign)))
    speeds = np.array([one.speed for one in told if one.mode == SERVO])
    before, after = speeds[:-1], speeds[1:]
    gained = np.where(before * after > 0.0, np.abs(after) - np.abs(before), 0.0)
    assert gained.max() <= acceleration * T + 2 * SPEED_COUNT
    turned = (before * after < 0.0) & (np.abs(before) > 2 * SPEED_COUNT)
    # of the cycle in which it turns, a part is spent on the way to rest
    over = np.where(turned, np.abs(before) / deceleration + np.abs(after) / acceleration, 0.0)
    assert over.max() <= T + 2 * SPEED_COUNT * (1.0 / deceleration + 1.0 / acceleration)


@pytest.mark.parametrize("share", [0.05, 0.19, 1.0])
def test_a_held_axis_is_noticed_at_every_speed_in_velocity_mode(share):
    world = Stream(start=(0.0, -1.0, 0.0, 1.5, 0.0, 1.04, 0.0)).activate()
    told, held = world.steps(20, Mode.VELOCITY, share * SPEED[1]), world.arm.arm.q[0]
    count = 0
    while world.is_active and count * T * share < 0.6:
        told += world.steps(1, Mode.VELOCITY, np.array([share, 0, 0, 0, 0, 0, 0]))
        world.arm.arm.q[0], world.arm.arm.v[0] = held, 0.0
        count += 1
    assert "'s1' does not follow" in world.cycle.latched
    # max_following_error is 0.2 s at full speed; a quarter of the way, and a creep, are forgiven
    assert count * T * share <= 0.2 / (0.75 - 0.005 / share) + 0.06 * share
    world.until_rest()
    assert broken_rules(world.told) == []


def test_drives_that_are_a_fifth_off_and_a_wire_that_loses_half_do_not_count_as_held():
    world = Stream(
        SafetySettings(tool_speed=0.0, host_timeout=1.0), start=(0.0, 0.6, 0.0, 1.5, 0.0, 1.04, 0.0), watchdog=0.1
    ).activate()
    world.wire.fault("drop", 0.25)
    for k in range(600):
        before = world.arm.arm.q.copy()
        world.step(Mode.VELOCITY, np.full(7, 0.3 if k % 400 < 200 else -0.3))
        world.arm.arm.q = before + 0.8 * (world.arm.arm.q - before)
        assert world.is_active or "times in a row" in world.cycle.latched, world.cycle.reason
        if not world.is_active:
            break
    assert k > 100


@pytest.mark.parametrize("mode", [Mode.VELOCITY, Mode.POSITION])
@pytest.mark.parametrize("fault", ["close", "mute"])
def test_a_stop_at_once_is_a_ramp_too_as_long_as_the_arm_follows(mode, fault):
    world = Stream(start=(0.0, -1.0, 0.0, -1.5, 0.0, -1.0, 0.0)).activate()
    place = world.cycle.feedback.position.copy()

    def onward():
        nonlocal place
        place = place + 0.9 * SPEED * T
        return place

    world.steps(150, mode, 0.9 * SPEED if mode is Mode.VELOCITY else onward)
    assert (world.arm.arm.v > 0.8 * SPEED).all()
    begin = len(world.told)
    if fault == "close":
        world.cycle.close(world.clock.now())
    else:
        world.wire.fault("mute", 1.0)
        for _ in range(100):
            world.step(mode, 0.9 * SPEED if mode is Mode.VELOCITY else onward)
            if world.cycle.phase is Phase.STOPPED:
                break
    told = world.told[begin - 1 :]
    assert broken_rules(told) == []
    assert told[-1].mode == 0x01, "and its brakes close"
    assert world.violations == []


def test_the_cycle_refuses_numbers_beyond_the_arm_and_the_driver_sends_all_others():
    world = Stream(start=(0.0,) * 7).activate()
    world.step()
    motors = 50.0 * np.array([4.64, 4.64, 2.0, 2.0, 0.29, 0.29, 0.29])  # to the last digit
    check = DemandGuard(
        JointRules(world.driver.limits, SafetySettings(tool_speed=0.0, max_step=10.0)),
        frozenset(Mode),
        0.1,
    )
    for mode, most in ((Mode.POSITION, LIMIT), (Mode.VELOCITY, SPEED), (Mode.EFFORT, motors)):
        for share in (-1.0, 1.0, 1.0 + 1e-7, -1.0 - 1e-7, 1.0 - 1e-7, np.nan, np.inf):
            for axis in range(7):
                values = np.zeros(7)
                values[axis] = share * most[axis]
                is_taken = check.judge(Demand(mode, values, 0.0), 0.0, np.zeros(7)) is None
                assert is_taken == bool(abs(share) <= 1.0), (mode, share, axis)
                if is_taken:
                    sent = len(world.told)
                    world.driver.cycle(Demand(mode, values))
                    assert len(world.told) == sent + 1


def made(variant: str = "ce") -> Stream:
    return Stream(SafetySettings(record_seconds=0.0), variant)


@pytest.mark.parametrize("variant", ["ce", "7c"])
def test_random_commands_and_ends_never_send_what_must_not_be_sent_and_no_start_moves_the_arm(variant):
    chance = np.random.default_rng(3)
    arm = made(variant)
    speed = np.array([limit.velocity for limit in arm.driver.limits])
    for trial in range(12):
        before = arm.arm.arm.q.copy()
        arm.activate()
        arm.step()
        arm.step()
        assert np.abs(arm.arm.arm.q - before).max() <= ANGLE_COUNT
        for k in range(60):
            values = chance.uniform(-1.2, 1.2, 7) * speed
            if trial % 2:
                values = arm.cycle.feedback.position + 0.03 * values / speed
            if k % 7 == 0:
                values[chance.integers(7)] = chance.choice([np.nan, np.inf, 1e6])
            arm.step(Mode.POSITION if trial % 2 else Mode.VELOCITY, values)
        now = arm.clock.now()
        if trial % 3 == 0:
            arm.cycle.stop(now, "test")
        else:
            arm.cycle.deactivate(now)
        arm.until_rest()
        assert arm.arm.state()["ways"] == ["braked"] * 7
    assert arm.violations == []
    assert sum(arm.cycle.check.refused.values()) > 0


@pytest.mark.parametrize("when", ["inactive", "starting", "still", "moving", "stopping"])
@pytest.mark.parametrize("fault", ["emergency_stop", "axis_alarm", "limit_switch"])
def test_an_alarm_in_each_phase_stops_the_arm_until_it_is_reset(when, fault):
    arm = made()
    value = 2 + 0x0E0 / 4096 if fault == "axis_alarm" else 1.0
    if when == "inactive":
        arm.steps(5)
        arm.wire.fault(fault, value)
    elif when == "starting":
        arm.wire.fault(fault, value)
        with pytest.raises(HardwareError):
            arm.activate()
    else:
        arm.activate()
        for k in range(30):
            arm.step(Mode.VELOCITY, np.full(7, 0.0 if when == "still" else 0.01 * k))
        if when == "stopping":
            arm.cycle.deactivate(arm.clock.now())
            arm.step()
        arm.wire.fault(fault, value)
    arm.steps(2)
    assert arm.cycle.phase is Phase.STOPPED
    assert arm.violations == []
    arm.wire.fault(fault, 0.0)
    arm.activate()
    arm.step(Mode.VELOCITY, np.zeros(7))
    assert arm.cycle.phase is Phase.ACTIVE
    assert arm.violations == []
