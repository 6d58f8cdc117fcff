# SPDX-License-Identifier: Apache-2.0
"""A robot as programs hold it, in a thread and in a process of its own."""

import math
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from arm_driver import ArmDriver, ArmSettings
from robot_world import ARM, PATIENT, assert_ended_along_a_ramp, moving, names, speeds, violations
from waiting import until

from ada_dynamics.errors import InputError
from ada_hardware.robot import Robot
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Alarm
from ada_robot.errors import DeviceAlarm, HardwareError, NoAnswer, Refused, TransportError, UnknownDevice
from ada_robot.robot_status import RobotStatus
from ada_robot.safety import flight_file
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings

PLACES = ("thread", "process")


@pytest.fixture
def safety(tmp_path):
    # a machine that is busy with other tests may keep this program from commanding for a while
    return SafetySettings(record_folder=str(tmp_path / "flights"), hold_without_commands=True, host_timeout=30.0)


@pytest.fixture
def trace(tmp_path):
    return tmp_path / "trace.jsonl"


def made(place, safety, trace, **arm):
    return Robot(ARM, {"trace": str(trace), **PATIENT, **arm}, safety, place=place)


@pytest.fixture
def robot(safety, trace):
    with_thread = made("thread", safety, trace)
    yield with_thread
    with_thread.close()


@pytest.fixture(params=PLACES)
def either(request, safety, trace):
    one = made(request.param, safety, trace)
    yield one
    one.close()


# --- what it is ---------------------------------------------------------------------------------------------------
def test_a_robot_is_known_before_it_is_opened(robot):
    assert robot.joints == ("j1", "j2", "j3")
    assert [limit.velocity for limit in robot.limits] == [1.0] * 3
    assert robot.modes == frozenset(Mode)
    assert robot.period == 0.002
    assert robot.phase is Phase.CLOSED
    assert robot.reason == "not opened yet"
    assert np.isnan(robot.feedback.position).all()
    assert not robot.feedback.is_fresh
    assert robot.demand is None
    assert robot.status() == RobotStatus(reason="not opened yet")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("pa11", {}), UnknownDevice, "no device 'pa11'; there are pa10"),
        (("dynpick", {}), UnknownDevice, "is a sensor; it has no joints"),
        (("no_such_module:Driver", {}), UnknownDevice, "No module named 'no_such_module'"),
        (("arm_driver:NoDriver", {}), UnknownDevice, "no attribute 'NoDriver'"),
        (("arm_driver:ArmSettings", {}), UnknownDevice, "does not derive from RobotDriver"),
        ((ARM, {"period": -1}), InputError, r"period is -1; it must be a number of at least 0.0001 \[s\]"),
        ((ARM, {}, SafetySettings(velocity=(1.0, 2.0, 1.0))), InputError, "wider than the device's own limit, 1"),
        (("simulated", {}), InputError, "robot is empty"),
    ],
)
def test_what_is_no_robot_is_refused_at_once(arguments, error, text):
    with pytest.raises(error, match=text):
        Robot(*arguments)
    with pytest.raises(InputError, match="place is 'cloud'; it must be 'process' or 'thread'"):
        Robot(ARM, {}, place="cloud")


# --- a day --------------------------------------------------------------------------------------------------------
def test_a_day_of_a_robot(either, trace):
    moving(either)
    assert either.phase is Phase.ACTIVE
    np.testing.assert_allclose(either.feedback.velocity, [0.5, -0.5, 0.0])
    assert either.demand.mode is Mode.VELOCITY
    assert either.feedback.is_fresh
    assert either.feedback.is_driven
    status = either.status()
    assert status.phase is Phase.ACTIVE
    until(lambda: either.status().accepted > 5, "a report of the commands")
    assert status.command_age < 5.0
    assert not status.refused
    either.deactivate()
    assert either.phase is Phase.INACTIVE
    assert either.reason == "deactivated"
    either.deactivate()  # is so already
    either.close()
    either.close()
    assert either.phase is Phase.CLOSED
    assert either.reason == "closed"
    assert [*dict.fromkeys(names(trace))] == ["open", "idle", "start", "cycle", "stop", "close"]
    assert_ended_along_a_ramp(trace)
    assert not violations(trace)


def test_a_driver_made_by_hand_runs_in_a_thread_also_without_a_flight_recorder():
    arm = ArmDriver(ArmSettings(**PATIENT))
    with Robot.of(arm, SafetySettings(record_seconds=0.0, hold_without_commands=True, host_timeout=30.0)) as one:
        moving(one)
        with pytest.raises(Refused, match="record_seconds is 0"):
            one.save_flight_record()
    assert not arm.violations
    assert not arm.is_open


# --- refusals -----------------------------------------------------------------------------------------------------
def test_a_closed_robot_does_nothing(robot):
    for call in (robot.activate, robot.deactivate, robot.reset, robot.wait_feedback, robot.save_flight_record):
        with pytest.raises(Refused, match=r"closed .*not opened yet.*; open it to"):
            call()
    with pytest.raises(Refused, match="the robot is closed: not opened yet"):
        robot.command(Mode.VELOCITY, [0.0, 0.0, 0.0])
    robot.stop("whatever")  # nothing to stop


def test_a_robot_is_opened_again_and_again_and_not_twice(safety):
    with Robot(ARM, PATIENT, safety, place="thread") as robot:
        for _ in range(3):
            assert robot.phase is Phase.INACTIVE
            with pytest.raises(Refused, match="open already"):
                robot.open()
            robot.wait_feedback(10.0)
            robot.activate()
            robot.close()
            robot.open()
    assert robot.phase is Phase.CLOSED and robot.status().phase is Phase.CLOSED


def test_which_commands_are_followed_is_told_by_when_they_were_made(either):
    either.open(60.0)
    either.wait_feedback(10.0)
    either.activate()
    here = either.feedback.position
    taken = either.command(Mode.POSITION, here)
    until(lambda: either.judged == (taken, taken), "the verdict")
    refused = either.command(Mode.POSITION, here + 1.5)
    until(lambda: either.judged == (taken, refused), "the refusal")
    until(lambda: either.status().refused["jump"] == 1, "its count")


def test_a_demand_is_as_old_as_what_it_was_made_of(either):
    """A thread may stand still between hearing of a command and sending it."""
    either.open(60.0)
    either.wait_feedback(10.0)
    either.activate()
    here = either.feedback.position
    heard_at = time.monotonic() - 0.5
    assert either.send(Demand(Mode.POSITION, here, heard_at)) == heard_at
    until(lambda: either.status().refused["too old"] == 1, "the refusal")
    before = time.monotonic()
    assert either.send(Demand(Mode.POSITION, here)) >= before, "made when it is sent, where nothing else is said"


def test_the_newest_refusal_is_told_wherever_it_was(robot):
    robot.open()
    robot.wait_feedback(10.0)
    robot.activate()
    far = robot.feedback.position + 1.5
    for _ in range(2):
        robot.command(Mode.POSITION, far)
        until(lambda: "max_step" in robot.status().last_refusal, "the refusal by the cycle")
        with pytest.raises(Refused, match="must be finite"):
            robot.command(Mode.POSITION, [math.nan, 0.0, 0.0])
        assert "must be finite" in robot.status().last_refusal


def test_commands_that_break_a_rule_are_refused_here_and_counted(robot):
    robot.open()
    robot.wait_feedback(10.0)
    with pytest.raises(Refused, match="Activate it first"):
        robot.command(Mode.VELOCITY, [0.0, 0.0, 0.0])
    robot.activate()
    for values, text in (
        ([0.0, math.nan, 0.0], "'j2': velocity is nan"),
        ([0.0, 0.0], "2 numbers for 3 joints"),
        ([0.0, 0.0, 1.1], "'j3': velocity is 1.1"),
        (["fast", 0.0, 0.0], "give one number for each of j1, j2, j3"),
        ([0.1 + 0.5j, 0.0, 0.0], "give one number for each of j1, j2, j3"),
    ):
        with pytest.raises(Refused, match=text):
            robot.command(Mode.VELOCITY, values)
    expected = Counter({"not active": 1, "not finite": 3, "wrong length": 1, "over a limit": 1})
    assert robot.status().refused == expected


def test_stop_latches_and_only_a_reset_leads_back(either, trace):
    moving(either)
    either.stop("a person fell")
    assert either.phase in (Phase.STOPPING, Phase.STOPPED)
    assert either.reason == "stop: a person fell"
    either.reset()  # waits for the ramp
    assert either.phase is Phase.INACTIVE
    either.activate()
    either.stop("again")
    until(lambda: either.phase is Phase.STOPPED, "the end of the ramp")
    for call in (either.activate, either.deactivate):
        with pytest.raises(Refused, match="stop: again"):
            call()
    assert not violations(trace)


def test_a_stop_that_comes_after_a_reset_was_asked_for_stays(robot):
    moving(robot, 0.9)
    robot.stop("first")
    raised = []

    def reset():
        try:
            robot.reset()
        except Refused as problem:
            raised.append(str(problem))

    thread = threading.Thread(target=reset)
    thread.start()
    time.sleep(0.02)  # the ramp takes 0.09 s
    was_asked = robot.phase is Phase.STOPPING
    robot.stop("second")
    thread.join(10.0)
    if was_asked:  # on a busy machine the ramp may have been over, and the reset too
        assert "stopped meanwhile: second" in raised[0]
    until(lambda: robot.phase is Phase.STOPPED, "the end of the ramp")


def test_a_stop_needs_no_short_reason(either):
    moving(either)
    either.stop("x" * 1_000_000)
    until(lambda: either.phase is Phase.STOPPED, "the end of the ramp")
    assert len(either.reason) < 1100


def test_a_deactivation_that_a_stop_overtakes_says_so(robot):
    moving(robot, 0.9)
    raised = []

    def deactivate():
        try:
            robot.deactivate()
        except Refused as problem:
            raised.append(problem)

    thread = threading.Thread(target=deactivate)
    thread.start()
    until(lambda: robot.phase is not Phase.ACTIVE, "the ramp")
    robot.stop("faster")
    thread.join(10.0)
    # the ramp of 0.09 s may have been over
    assert not raised or "stopped instead: stop: faster" in str(raised[0])
    until(lambda: robot.phase is Phase.STOPPED, "the end of the ramp")


def test_a_stop_while_starting_comes_before_any_motion(safety, trace):
    with made("process", safety, trace, start_time=0.5) as one:
        one.wait_feedback(10.0)
        raised = []

        def activate():
            try:
                one.activate()
            except Refused as problem:
                raised.append(problem)

        thread = threading.Thread(target=activate)
        thread.start()
        until(lambda: one.phase is Phase.STARTING, "the start")
        one.stop("operator")
        thread.join(10.0)
        assert "stopped while starting: operator" in str(raised[0])
        assert one.phase is Phase.STOPPED
    assert not speeds(trace).size
    assert "stop" in names(trace)


def test_a_robot_that_is_closed_while_it_starts_starts_no_further(safety, trace):
    with made("process", safety, trace, start_time=0.5) as one:
        one.wait_feedback(10.0)
        raised = []

        def activate():
            try:
                one.activate()
            except HardwareError as problem:
                raised.append(problem)

        thread = threading.Thread(target=activate)
        thread.start()
        until(lambda: one.phase is Phase.STARTING, "the start")
        one.close()
        thread.join(10.0)
        assert "stopped while starting: closed" in str(raised[0]) and one.phase is Phase.CLOSED
    assert not speeds(trace).size
    assert names(trace)[-1] == "close"


def test_a_stop_is_not_held_up_by_a_flood_of_commands(either, trace):
    moving(either)
    ended = threading.Event()

    def flood():
        while not ended.is_set():
            try:
                either.command(Mode.VELOCITY, [0.5, -0.5, 0.0])
            except Refused:
                ended.wait(0.0001)

    threads = [threading.Thread(target=flood) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        either.stop("enough", timeout=5.0)
        until(lambda: either.phase is Phase.STOPPED, "rest")
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not violations(trace)


def test_an_alarm_is_seen_with_its_words_and_recorded(safety, tmp_path):
    arm = ArmDriver(ArmSettings(**PATIENT))
    with Robot.of(arm, safety) as one:
        moving(one)
        arm.alarms = (Alarm(0x60, "velocity deviation", "j2"),)
        until(lambda: one.phase is Phase.STOPPED, "the alarm")
        until(lambda: one.status().alarms, "its words")
        assert one.status().alarms == arm.alarms
        assert one.feedback.alarms == arm.alarms
        until(lambda: one.status().flight_record, "the record's name")
        path = Path(one.status().flight_record)
        until(path.exists, "the flight record", 60.0)
        arm.stays_alarmed = True
        with pytest.raises(DeviceAlarm, match="the button is pressed"):
            one.reset()
        arm.stays_alarmed = False
        one.reset()
        assert one.phase is Phase.INACTIVE
    found = flight_file.read(path)
    assert found.why == "alarm: j2: velocity deviation (0x60)"
    assert "active" in found.phases


def test_a_flight_record_can_be_asked_for(robot, tmp_path):
    moving(robot)
    path = Path(robot.save_flight_record("to look at"))
    assert path.parent == tmp_path / "flights"
    found = flight_file.read(path)
    assert found.why == "to look at"
    assert (found.vector(0) == [0.5, -0.5, 0.0]).all(axis=1).any()
    assert found.events[0].text == "inactive: opened"


@pytest.mark.parametrize(("fault", "error"), [("is_unplugged", TransportError), ("is_silent", NoAnswer)])
def test_what_cannot_be_opened_stays_closed_with_the_reason(fault, error, safety):
    arm = ArmDriver(ArmSettings(**PATIENT))
    setattr(arm, fault, True)
    one = Robot.of(arm, safety)
    with pytest.raises(error):
        one.open()
    assert one.phase is Phase.CLOSED
    assert one.reason.startswith("not opened: arm:")
    setattr(arm, fault, False)
    one.open()
    one.close()


def test_any_thread_may_call_anything(robot, trace):
    robot.open()
    robot.wait_feedback(10.0)
    problems = []

    def use(seed):
        random = np.random.default_rng(seed)
        mine = [robot.activate, robot.deactivate, robot.reset, lambda: robot.stop("x"), robot.status]
        for _ in range(25):
            try:
                mine[random.integers(len(mine))]()
                robot.command(Mode.VELOCITY, random.uniform(-1.0, 1.0, 3))
                assert robot.feedback.position.shape == (3,)
            except HardwareError:
                pass
            except BaseException as problem:
                problems.append(problem)

    threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert not problems
    robot.stop("the end")
    robot.reset()
    robot.activate()
    assert robot.phase is Phase.ACTIVE
    assert not violations(trace)
