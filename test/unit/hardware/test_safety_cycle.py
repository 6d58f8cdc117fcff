# SPDX-License-Identifier: Apache-2.0
"""The state machine of a robot: phases, watchdogs, faults; in lock step with an arm that judges what it is told."""

import math

import numpy as np
import pytest
from lock_step import LockStep
from refused import refused

from ada_dynamics.errors import InputError
from ada_robot.contract import Mode
from ada_robot.driver import Alarm
from ada_robot.errors import DeviceAlarm, NoAnswer, Refused, TransportError
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings

ALARM = Alarm(0x60, "velocity deviation", "j2")
BUTTON = Alarm(0x110, "emergency stop", is_stop=True)
T = 0.002
A = 10.0  # speed limit 1 within 0.1 s
HOLD = SafetySettings(hold_without_commands=True)


@pytest.mark.parametrize("modes", [("position",), ("velocity",), ("position", "velocity"), ("velocity", "effort")])
def test_activation_begins_at_rest_in_the_measured_pose(modes):
    world = LockStep(modes=modes).open()
    world.arm.position = np.array([0.3, -0.7, 1.1])  # moved by hand
    world.steps(400)
    world.active()
    world.steps(40)
    assert np.ptp(np.array([world.arm.position, [0.3, -0.7, 1.1]]), axis=0).max() == 0.0
    for demand in world.arm.demands:
        if demand.mode is Mode.POSITION:
            np.testing.assert_array_equal(demand.values, [0.3, -0.7, 1.1])
        else:
            assert not demand.values.any()


def test_a_pose_that_sags_when_the_brakes_open_is_held_where_it_is_measured_then():
    world = LockStep().open()
    sagged = np.array([0.001, 0.0, -0.002])

    def sag():
        world.arm.position = sagged.copy()

    world.arm.on_start = sag
    world.active()
    world.steps(20)
    np.testing.assert_array_equal(world.arm.position, sagged)
    assert world.arm.demands[0].mode is Mode.VELOCITY
    assert world.arm.demands[-1].mode is Mode.POSITION


def test_requests_that_a_phase_does_not_allow_are_refused():
    world = LockStep()
    for request in (world.cycle.activate, world.cycle.deactivate, world.cycle.step):
        with refused(Refused, field="phase", value="closed"):
            request(world.now)
    world.open()
    world.cycle.deactivate(world.now)  # is so already
    world.active()
    with refused(Refused, field="phase", value="active"):
        world.cycle.activate(world.now)
    world.cycle.stop(world.now, "a person fell")
    world.until_rest()
    with refused(Refused, field="phase", value="stopped"):
        world.cycle.activate(world.now)
    with refused(Refused, field="phase", value="stopped"):
        world.cycle.deactivate(world.now)
    with refused(InputError, joint="j2", field="velocity", value=2.0, allowed=1.0):
        SafeCycle(world.arm, SafetySettings(velocity=(1.0, 2.0, 1.0)))


@pytest.mark.parametrize(
    ("fault", "facts", "words"),
    [
        ({"speed": np.array([0.0, 0.06, 0.0])}, {"field": "speed"}, "'j2' moves at 0.06"),
        ({"position": np.array([0.6, 0.0, 0.0])}, {"field": "limits"}, "'j1' is at 0.6, outside of [-2, 0.5]"),
        ({"is_silent": True}, {"joint": "j1", "field": "position"}, "no answer"),
        ({"position": np.array([0.0, math.nan, 0.0])}, {"field": "position", "value": ("j2",)}, "j2"),
    ],
)
def test_activation_is_refused_where_the_pose_moves_is_beyond_a_limit_or_not_known(fault, facts, words):
    world = LockStep(SafetySettings(position_upper=(0.5, 0.5, 0.5))).open()
    vars(world.arm).update(fault)
    world.seconds(0.12)
    with refused(Refused, **facts) as caught:
        world.cycle.activate(world.now)
    assert words in str(caught.value)


def test_motion_of_a_robot_without_speeds_is_seen_and_a_step_of_a_coarse_sensor_is_none():
    world = LockStep().open()
    world.arm.says_velocity = False
    for _ in range(200):
        world.arm.position = world.arm.position + np.array([0.0, 0.0, 0.2 * T])
        world.step()
    with refused(Refused, field="speed"):
        world.cycle.activate(world.now)
    world.seconds(3.0)
    world.cycle.activate(world.now)
    coarse = LockStep(period=0.03, device_timeout=0.0).open()
    coarse.arm.says_velocity = False
    coarse.steps(20)
    coarse.arm.position = coarse.arm.position + math.radians(1.0)  # one step of a KHR-1
    coarse.step()
    coarse.cycle.activate(coarse.now)


def test_a_start_that_fails_latches():
    world = LockStep().open()
    world.arm.on_start = lambda: setattr(world.arm, "alarms", (BUTTON,))
    with pytest.raises(DeviceAlarm):
        world.cycle.activate(world.now)
    assert world.cycle.phase is Phase.STOPPED
    assert world.arm.told[-1] == "stop"


def test_a_stop_while_starting_comes_before_any_demand():
    world = LockStep().open()
    with refused(Refused, field="stop", value="operator"):
        world.cycle.activate(world.now, lambda: "operator")
    assert world.cycle.phase is Phase.STOPPED
    assert world.cycle.reason == "stop: operator"
    world.steps(10)
    assert not world.arm.demands
    assert world.arm.told[-11:] == ["stop", *["idle"] * 10]


def test_a_stop_slows_down_from_the_next_cycle_on_and_rests_within_the_ramp():
    world = LockStep().active()
    world.seconds(0.3, Mode.VELOCITY, 0.9)
    count = len(world.speeds)
    world.cycle.stop(world.now, "why")
    world.steps(100)
    ramp = world.speeds[count:]
    np.testing.assert_allclose(ramp[:45, 0], 0.9 - A * T * np.arange(1, 46), atol=1e-9)
    assert world.cycle.phase is Phase.STOPPED
    assert "stop" in world.arm.told
    assert not world.arm.violations


def test_a_reset_fails_while_the_robot_is_driven_the_alarm_stays_or_the_device_is_silent():
    world = LockStep().active()
    with refused(Refused, field="phase", value="active"):
        world.cycle.reset(world.now)
    world.arm.alarms, world.arm.stays_alarmed = (BUTTON,), True
    world.step()
    with pytest.raises(DeviceAlarm):
        world.cycle.reset(world.now)
    assert world.cycle.phase is Phase.STOPPED
    world.arm.is_silent = True
    world.arm.stays_alarmed = False
    with refused(NoAnswer, field="exchanges", value=5):
        world.cycle.reset(world.now)
    assert world.cycle.phase is Phase.STOPPED


def test_a_refused_command_leaves_the_one_before_in_force_until_its_watchdog():
    world = LockStep(HOLD).active()
    world.seconds(0.2, Mode.VELOCITY, 0.5)
    world.seconds(0.098, Mode.VELOCITY, math.nan)
    assert (world.speeds[-49:] == 0.5).all()
    world.seconds(0.2, Mode.VELOCITY, math.nan)
    assert not world.speeds[-1].any()
    assert world.cycle.check.refused["not finite"] == 149
    assert not world.arm.violations


@pytest.mark.parametrize("mode", [Mode.VELOCITY, Mode.POSITION])
def test_without_commands_the_robot_comes_to_rest_after_the_timeout_and_not_before(mode):
    world = LockStep().active()
    where = 0.0
    for _ in range(150):
        where += 0.5 * T
        world.step(mode, where if mode is Mode.POSITION else 0.5)
    moving = world.arm.speed.copy()
    np.testing.assert_allclose(moving, 0.5, atol=0.02)
    world.seconds(0.098)
    if mode is Mode.VELOCITY:  # in position mode the last command is where it ends
        np.testing.assert_array_equal(world.arm.speed, moving)
    world.seconds(0.1)
    assert not world.arm.speed.any()
    assert world.cycle.phase is Phase.ACTIVE
    still = world.arm.position.copy()
    world.seconds(0.2)
    np.testing.assert_array_equal(world.arm.position, still)
    assert not world.arm.violations


@pytest.mark.parametrize("modes", [("position", "velocity", "effort"), ("position", "effort"), ("effort",)])
def test_effort_without_commands_becomes_a_ramp_in_a_mode_that_holds_or_is_left_to_the_device(modes):
    world = LockStep(HOLD, modes=modes).active()
    world.seconds(0.2, Mode.EFFORT, 2.0)
    assert (world.arm.speed > 0.3).all()
    world.seconds(0.098)
    assert world.arm.demands[-1].mode is Mode.EFFORT
    count = len(world.positions)
    world.seconds(0.3)
    if modes == ("effort",):
        assert world.cycle.phase is Phase.INACTIVE
        assert "efforts cannot hold a position" in world.cycle.reason
        assert world.arm.told.count("stop") == 1
        return
    assert not world.arm.speed.any()
    assert not world.arm.violations
    if "velocity" in modes:
        assert world.arm.demands[-1].mode is Mode.VELOCITY
        return
    told = world.positions[count:, 0]
    assert (np.diff(told) >= 0.0).all(), "it does not come back"
    np.testing.assert_allclose(np.diff(told, 2)[:15], -A * T * T)
    assert told[-1] == told[-20]


def test_a_cycle_that_is_late_slows_down_before_it_follows_commands_again():
    world = LockStep(HOLD).active()
    world.seconds(0.2, Mode.VELOCITY, 0.5)
    world.step(Mode.VELOCITY, 0.5, after=0.008)  # 6 ms late, 3 cycles
    world.steps(2, Mode.VELOCITY, 0.5)
    np.testing.assert_allclose(world.speeds[-3:, 0], 0.5 - A * T * np.arange(1, 4))
    world.steps(4, Mode.VELOCITY, 0.5)
    assert world.speeds[-1, 0] == 0.5
    assert world.cycle.timing.late == 1
    assert world.cycle.timing.longest == pytest.approx(0.008)
    for _ in range(30):  # a machine that stays late brings the robot to rest
        world.step(Mode.VELOCITY, 0.5, after=0.008)
    assert world.cycle.phase is Phase.ACTIVE and not world.arm.speed.any()


def test_a_gap_longer_than_the_device_waits_stops_a_robot_that_is_driven():
    world = LockStep(HOLD).open()
    world.step(after=1.0)
    assert world.cycle.phase is Phase.INACTIVE
    world.active()
    world.seconds(0.2, Mode.VELOCITY, 0.5)
    count = len(world.arm.demands)
    world.step(Mode.VELOCITY, 0.5, after=0.011)
    assert world.cycle.phase is Phase.STOPPED
    assert "11 ms after the previous one; the watchdog of the device stops it after 10 ms" in world.cycle.reason
    assert len(world.arm.demands) == count, "no demand after the gap"
    patient = LockStep(HOLD, device_timeout=0.0).active()
    patient.seconds(0.2, Mode.VELOCITY, 0.5)
    patient.step(Mode.VELOCITY, 0.5, after=0.05)
    assert patient.cycle.phase is Phase.ACTIVE and patient.cycle.timing.late == 0


def test_single_losses_change_nothing_and_silence_slows_down_and_then_stops():
    world = LockStep(HOLD).active()
    world.seconds(0.2, Mode.VELOCITY, 0.5)
    for i in range(300):
        world.arm.is_silent = i % 2 == 0
        world.step(Mode.VELOCITY, 0.5)
    assert world.cycle.phase is Phase.ACTIVE
    assert world.cycle.missed == 150
    assert (world.speeds[-100:] == 0.5).all()
    count = len(world.speeds)
    world.arm.is_silent = True
    world.steps(12, Mode.VELOCITY, 0.5)
    assert world.cycle.phase is Phase.STOPPED
    assert "11 times in a row (max_missed is 10): no answer" in world.cycle.reason
    told = world.speeds[count:, 0]
    assert len(told) == 11
    np.testing.assert_allclose(told[:6], 0.5)  # five misses are nothing
    np.testing.assert_allclose(told[6:], 0.5 - A * T * np.arange(1, 6))


def test_a_wire_that_is_gone_stops_the_robot_and_a_reset_opens_it_anew():
    world = LockStep(HOLD).active()
    world.seconds(0.1, Mode.VELOCITY, 0.5)
    world.arm.is_unplugged = True
    world.step(Mode.VELOCITY, 0.5)
    assert world.cycle.phase is Phase.STOPPED
    assert world.cycle.reason == "connection lost: arm: unplugged"
    before = len(world.arm.told)
    feedback = world.step()
    assert not feedback.is_fresh
    assert len(world.arm.told) == before, "nothing is sent any more"
    with pytest.raises(TransportError):
        world.cycle.reset(world.now)
    world.arm.is_unplugged = False
    world.cycle.reset(world.now)
    assert world.cycle.phase is Phase.INACTIVE
    world.steps(3)
    world.active()


def not_driven(arm):
    arm.is_driven = False


def a_bug(arm):
    def fail(_demand):
        raise ZeroDivisionError("a bug")

    arm.cycle = fail


def beyond_its_limit(arm):
    arm.position[1] = 1.23


def running_away(arm):
    arm.runs_at = np.array([0.0, 0.0, 1.4])


@pytest.mark.parametrize(
    ("fault", "phase", "words"),
    [
        (not_driven, Phase.STOPPED, "motors no longer follow"),
        (a_bug, Phase.STOPPED, "the driver failed: ZeroDivisionError: a bug"),
        (beyond_its_limit, Phase.STOPPING, "'j2' is at 1.23"),
        (running_away, Phase.STOPPING, "'j3' moves at 1.4; its limit is 1, with velocity_margin 1.3"),
    ],
)
def test_what_a_driver_tells_or_fails_in_stops_the_robot_with_the_reason(fault, phase, words):
    world = LockStep(SafetySettings(position_upper=(1.2, 1.2, 1.2), hold_without_commands=True)).active()
    world.seconds(0.1, Mode.VELOCITY, 0.3)
    fault(world.arm)
    world.steps(2 if fault is not_driven else 1, Mode.VELOCITY, 0.3)
    assert world.cycle.phase is phase
    assert words in world.cycle.latched
    world.steps(5)
    if fault is beyond_its_limit:  # along a ramp
        world.until_rest()
        assert not world.arm.violations


@pytest.mark.parametrize("mode", [Mode.POSITION, Mode.VELOCITY])
def test_a_joint_that_something_holds_stops_the_robot(mode):
    world = LockStep(HOLD, device_timeout=0.0).active()
    world.step()
    world.arm.is_blocked = True
    where = 0.0
    for _ in range(1000):
        where += 0.4 * T
        world.step(mode, where if mode is Mode.POSITION else 0.4)
        if world.cycle.phase is not Phase.ACTIVE:
            break
    assert "does not follow" in world.cycle.latched
    assert where < 0.45


def test_efforts_that_drive_towards_a_limit_are_ended_while_the_robot_can_still_be_stopped():
    world = LockStep(HOLD).active()
    world.seconds(0.8, Mode.EFFORT, 1.0)
    while world.cycle.phase is Phase.ACTIVE:
        world.step(Mode.EFFORT, 0.0)
    assert "could not be stopped before the limit" in world.cycle.latched
    world.until_rest()
    assert world.arm.position.max() <= 2.0
    assert world.arm.position.max() > 1.9
    assert world.cycle.phase is Phase.STOPPED
    assert not world.arm.violations


def test_closing_a_robot_that_is_driven_lets_the_device_hold_it_first_and_all_of_it_is_noted():
    world = LockStep(HOLD).active()
    world.seconds(0.1, Mode.VELOCITY, 0.5)
    world.cycle.stop(world.now, "why")
    world.cycle.stop(world.now, "once more")
    world.step()
    world.cycle.close(world.now)
    world.cycle.close(world.now)
    assert world.arm.told[-2:] == ["stop", "close"]
    notes = world.notes.events
    assert notes[0] == "inactive: opened" and notes[-1] == "closed: closed; before: stop: why"
    assert {"stopping: stop: why", "stop: once more"} <= set(notes)


@pytest.mark.parametrize("end", ["close", "alarm", "deactivate"])
def test_a_driver_whose_stop_fails_does_not_keep_the_robot_from_its_end(end):
    world = LockStep(HOLD).active()
    world.step()

    def fail():
        raise OSError("no such wire")

    world.arm.stop = fail
    if end == "close":
        world.cycle.close(world.now)
    elif end == "alarm":
        world.arm.alarms = (ALARM,)
        world.step()
    else:
        world.cycle.deactivate(world.now)
        world.until_rest()
    wanted = {"close": Phase.CLOSED, "alarm": Phase.STOPPED, "deactivate": Phase.INACTIVE}
    assert world.cycle.phase is wanted[end]
    assert world.cycle.demand is None
    assert "the driver's stop failed: no such wire" in world.notes.events


def test_a_robot_by_efforts_alone_holds_them_for_five_cycles_and_is_braked_then():
    world = LockStep(HOLD, modes=("effort",)).active()
    world.seconds(0.1, Mode.EFFORT, 1.0)
    count = len(world.arm.demands)
    while world.cycle.phase is Phase.ACTIVE:
        world.step(Mode.EFFORT, 2.0, after=0.008)
    assert [demand.values[0] for demand in world.arm.demands[count:]] == [1.0] * 5
    assert world.cycle.phase is Phase.STOPPED
    assert "no other mode to hold its position: cycles are late" in world.cycle.latched
    assert world.arm.told.count("stop") == 1


@pytest.mark.parametrize(("period", "effort"), [(0.002, 50.0), (0.01, 50.0), (0.03, 20.0), (0.03, 50.0), (0.05, 20.0)])
@pytest.mark.parametrize("then", ["stop", "position"])
def test_after_efforts_no_position_is_demanded_that_is_farther_out_than_the_limit_or_the_arm(period, effort, then):
    safety = SafetySettings(
        hold_without_commands=True, max_following_error=2.0, max_step=1.0, max_effort_rate=(1e9,) * 3
    )
    for start in np.linspace(1.5, 1.99, 8):
        world = LockStep(safety, modes=("position", "effort"), period=period, device_timeout=0.0).open()
        world.arm.position = np.full(3, start)
        world.steps(100)
        world.active()
        world.step()
        farthest = 2.0
        for k in range(100):
            if world.cycle.phase is Phase.ACTIVE and k < 40:
                world.step(Mode.EFFORT, effort)
            elif then == "position":
                world.step(Mode.POSITION, np.clip(world.arm.position, -2.0, 2.0))
            else:
                world.cycle.stop(world.now, "test")
                world.step()
            demand = world.arm.demands[-1]
            if demand.mode is Mode.POSITION:
                assert demand.values.max() <= farthest + 1e-9
            farthest = max(farthest, world.arm.position.max())


@pytest.mark.parametrize(("timeout", "gap"), [(0.4, 0.11), (0.4, 0.3), (0.0, 0.3)])
def test_a_gap_longer_than_the_host_allows_brings_the_robot_to_rest_however_long_its_device_waits(timeout, gap):
    world = LockStep(HOLD, device_timeout=timeout).active()
    world.seconds(0.2, Mode.VELOCITY, 0.5)
    count = len(world.speeds)
    world.step(Mode.VELOCITY, 0.5, after=gap)
    assert world.cycle.phase is Phase.STOPPING
    assert "the maximum is 100 ms (longest_gap)" in world.cycle.reason
    world.until_rest()
    assert world.cycle.phase is Phase.STOPPED
    np.testing.assert_allclose(world.speeds[count : count + 24, 0], 0.5 - A * T * np.arange(1, 25), atol=1e-9)
    assert not world.arm.violations


@pytest.mark.parametrize(("period", "timeout", "longest", "allowed"), [(0.05, 0.0, 0.1, 0.25), (T, 0.5, 0.4, 0.4)])
def test_five_periods_or_the_longest_gap_of_the_user_may_be_between_two_cycles(period, timeout, longest, allowed):
    safety = SafetySettings(hold_without_commands=True, longest_gap=longest)
    world = LockStep(safety, period=period, device_timeout=timeout).active()
    world.step()
    world.step(after=allowed - 0.01)
    assert world.cycle.phase is Phase.ACTIVE
    world.step(after=allowed + 0.01)
    assert world.cycle.phase is not Phase.ACTIVE


def test_nothing_moves_before_activation():
    world = LockStep().open()
    world.seconds(0.1, Mode.VELOCITY, 1.0)
    assert not world.arm.demands
    assert world.cycle.check.refused == {"not active": 50}
    assert "Activate it first" in world.cycle.check.last_refusal


def test_activation_is_refused_with_an_alarm():
    world = LockStep()
    world.arm.alarms = (ALARM,)
    world.open()
    assert world.cycle.phase is Phase.STOPPED
    assert "j2: velocity deviation (0x60)" in world.cycle.reason
    with refused(Refused, field="phase", value="stopped"):
        world.cycle.activate(world.now)
