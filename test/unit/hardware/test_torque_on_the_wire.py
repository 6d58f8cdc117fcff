# SPDX-License-Identifier: Apache-2.0
"""What reaches a PA-10 in torque mode while cycles are late, answers missing, or commands jump: bytes are judged."""

import itertools

import numpy as np
import pytest
from pa10_stream import IN_TORQUE, SPEED, TORQUE, Stream, T, broken_rules
from peers.pa10_words import BRAKE, SERVO

import ada_dynamics as ada
from ada_robot.contract import Mode
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

HELD = 5  # packets, as docs/hardware_safety.md says
FALLEN = 0.003  # [rad] that may be lost: a free arm falls by 0.5 g/l t² = 0.05 rad within 0.1 s
STRETCHED = (0.0, 1.2, 0.0, 0.5, 0.0, 0.3, 0.0)  # some 100 N m in S2


@pytest.fixture(scope="module")
def dynamics():
    return {"ce": ada.Dynamics(ada.load("pa10")), "7c": ada.Dynamics(ada.load("pa10_7c"))}


def carried(dynamics, variant="ce", safety=None, moving=0.0, **settings):
    """An arm that a program holds by its weight, and damps; and the program."""
    world = Stream(safety, variant, start=STRETCHED, **settings).activate()
    law = dynamics[variant]

    def hold():
        feedback = world.cycle.feedback
        weight = law.gravity(feedback.position)
        return weight - np.array([40, 40, 15, 15, 1, 1, 1]) * (feedback.velocity - moving)

    told = world.steps(150, Mode.EFFORT, hold)
    assert all(one.mode == IN_TORQUE for one in told[1:])
    assert abs(told[-1].torque[1]) > 50.0
    return world, hold


def modes(told):
    return [one.mode for one in told]


def same_torques(told):
    return sum(np.array_equal(a.torque, b.torque) for a, b in itertools.pairwise(told))


@pytest.mark.parametrize("late", [0.006, 0.0075])
def test_one_late_cycle_holds_the_last_torques_and_the_arm_does_not_fall(dynamics, late):
    world, hold = carried(dynamics)
    before, count = world.arm.arm.q.copy(), len(world.told)
    world.sleep(late)
    told = world.steps(50, Mode.EFFORT, hold)
    assert set(modes(told)) == {IN_TORQUE}
    np.testing.assert_array_equal(told[0].torque, world.told[count - 1].torque)
    assert same_torques(told[:HELD]) >= 2, "it was held"
    assert broken_rules(world.told) == []
    assert np.abs(world.arm.arm.q - before).max() < FALLEN
    assert world.is_active
    assert world.violations == []


@pytest.mark.parametrize("moving", [0.0, 0.2])
def test_a_machine_that_stays_late_ends_torques_by_a_ramp_of_speeds_and_brakes(dynamics, moving):
    world, hold = carried(dynamics, moving=moving)
    begin = len(world.told)
    before = world.arm.arm.q.copy()
    for _ in range(100):
        world.sleep(0.0065)
        world.step(Mode.EFFORT, hold)
        if not world.is_active:
            break
    world.until_rest()
    told = world.told[begin:]
    kinds = modes(told)
    assert kinds.index(SERVO) == HELD, "held for five packets, then speeds"
    assert IN_TORQUE not in kinds[HELD:]
    assert BRAKE in kinds
    assert world.cycle.phase is Phase.STOPPED
    assert "cycles are late" in world.cycle.latched
    assert broken_rules(told) == []
    # on its way for the first packets and the ramp, but not fallen
    assert np.abs(world.arm.arm.q - before).max() < FALLEN + 0.1 * moving * 3
    assert world.violations == []


def test_some_missing_answers_hold_the_last_torques(dynamics):
    world, hold = carried(dynamics)
    before = world.arm.arm.q.copy()
    world.wire.fault("mute", 1.0)
    world.steps(6, Mode.EFFORT, lambda: hold() + 30.0)  # a program that goes on by what it last knew
    world.wire.fault("mute", 0.0)
    told = world.steps(100, Mode.EFFORT, hold)
    assert set(modes(world.told[-106:])) == {IN_TORQUE}
    assert same_torques(world.told[-106:]) >= 2
    assert broken_rules(world.told) == []
    assert told
    assert world.is_active
    assert np.abs(world.arm.arm.q - before).max() < 10 * FALLEN


def test_an_arm_that_is_not_heard_any_more_gets_held_torques_a_ramp_and_brakes(dynamics):
    world, hold = carried(dynamics)
    begin, before = len(world.told), world.arm.arm.q.copy()
    world.wire.fault("mute", 1.0)
    for _ in range(100):
        world.step(Mode.EFFORT, hold)
    kinds = modes(world.told[begin:])
    assert world.cycle.phase is Phase.STOPPED
    assert kinds.index(SERVO) <= 3 + HELD
    assert IN_TORQUE not in kinds[kinds.index(SERVO) :]
    assert broken_rules(world.told) == []
    assert np.abs(world.arm.arm.q - before).max() < FALLEN


@pytest.mark.parametrize("frozen", [0.11, 0.25, 0.3, 0.39])
@pytest.mark.parametrize("moving", [0.0, 0.2])
def test_a_cycle_frozen_for_less_than_the_device_waits_is_stopped_by_the_hosts_own_bound(dynamics, frozen, moving):
    world, hold = carried(dynamics, "7c", device_timeout=0.4, moving=moving)
    begin = len(world.told)
    world.sleep(frozen)
    world.step(Mode.EFFORT, hold)
    assert not world.is_active
    assert "longest_gap" in world.cycle.latched
    before, speed = world.arm.arm.q.copy(), np.abs(world.arm.arm.v)
    world.until_rest()
    told = world.told[begin:]
    assert modes(told).index(SERVO) <= HELD
    assert IN_TORQUE not in modes(told)[modes(told).index(SERVO) :]
    assert world.cycle.phase is Phase.STOPPED
    assert broken_rules(world.told[begin - 1 :]) == []
    way = speed * (HELD + 3) * T + speed**2 / (2.0 * SPEED / 0.1)  # until it is seen, and v²/2a
    assert (np.abs(world.arm.arm.q - before) < FALLEN + way).all()
    assert world.violations == []


def test_after_a_shorter_freeze_torques_go_on_from_what_the_motors_give(dynamics):
    world, hold = carried(dynamics, "7c", device_timeout=0.4)
    begin, before = len(world.told), world.arm.arm.q.copy()
    world.sleep(0.08)
    told = world.steps(150, Mode.EFFORT, hold)
    kinds = modes(told)
    assert kinds[:HELD] == [IN_TORQUE] * HELD
    assert kinds[HELD] == SERVO
    assert kinds[-1] == IN_TORQUE
    back = kinds.index(IN_TORQUE, HELD + 1)
    assert abs(told[back].torque[1] - told[back].effort[1]) < TORQUE[1] / 0.1 * T + 0.06
    assert abs(told[back].torque[1]) > 50.0, "not from nothing"
    assert broken_rules(world.told[begin - 1 :]) == []
    assert np.abs(world.arm.arm.q - before).max() < 4 * FALLEN
    assert world.is_active


@pytest.mark.parametrize(("share", "variant"), [(None, "ce"), (None, "7c"), (0.3, "ce")])
def test_torques_that_jump_reach_the_wire_no_faster_than_their_rate(dynamics, share, variant):
    rate = TORQUE / 0.1 if share is None else share * TORQUE
    safety = SafetySettings(tool_speed=0.0) if share is None else SafetySettings(max_effort_rate=tuple(rate))
    world, hold = carried(dynamics, variant, safety)
    begin = len(world.told)
    jump = 0.4 * TORQUE * np.array([0.0, 1, 0, 0, 0, 0, 0])
    world.steps(3, Mode.EFFORT, lambda: hold() - jump)
    world.steps(20, Mode.EFFORT, hold)
    told = world.told[begin - 1 :]
    assert broken_rules(told, torque_rate=rate) == []
    changes = np.abs(np.diff([one.torque[1] for one in told]))
    assert changes.max() == pytest.approx(rate[1] * T, abs=0.06), "it is the rate that bounds"


def test_the_first_torque_of_an_activation_is_what_the_motors_gave_before_it():
    world = Stream(start=STRETCHED).activate()
    told = world.steps(20, Mode.EFFORT, np.zeros(7))  # a program that begins with nothing
    first = next(i for i, one in enumerate(told) if one.mode == IN_TORQUE)
    assert first > 0, "it stands first, with brakes open"
    assert abs(told[first].effort[1]) > 50.0
    assert broken_rules(told) == []


def test_a_stop_from_torques_is_a_ramp_of_speeds_from_the_speed_that_was(dynamics):
    world, _ = carried(dynamics, moving=0.3)
    begin = len(world.told)
    speed = world.arm.arm.v.copy()
    assert abs(speed[0]) > 0.25
    world.cycle.stop(world.clock.now(), "test")
    world.until_rest()
    told = world.told[begin:]
    assert told[0].mode == SERVO
    assert told[0].speed[0] == pytest.approx(speed[0] - 10.0 * T, abs=0.01)
    assert broken_rules(told) == []
    assert world.violations == []
