# SPDX-License-Identifier: Apache-2.0
"""A robot as programs hold it, with its cycle in a thread and in a process of its own."""

import math
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from arm_driver import ArmDriver, ArmSettings
from flight_records import flight_record
from refused import refused
from robot_world import ARM, PATIENT, active, assert_ended_along_a_ramp, moving, names, patient, speeds, violations
from waiting import LIMIT, until

from ada_dynamics.errors import InputError
from ada_hardware.node.devices import Devices
from ada_hardware.robot import Robot
from ada_robot.contract import Demand, Mode
from ada_robot.cycle.messages import RobotStatus
from ada_robot.driver import Alarm
from ada_robot.errors import DeviceAlarm, HardwareError, NoAnswer, Refused, TransportError, UnknownDevice
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import SafetySettings


@pytest.fixture
def safety(tmp_path):
    return patient(tmp_path)


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


@pytest.fixture(params=("thread", "process"))
def either(request, safety, trace):
    one = made(request.param, safety, trace)
    yield one
    one.close()


class Asked(threading.Thread):
    """A request in a thread of its own, and the error that it raised."""

    def __init__(self, request):
        super().__init__()
        self.request, self.raised = request, None
        self.start()

    def run(self):
        try:
            self.request()
        except HardwareError as problem:
            self.raised = problem

    def ended(self):
        self.join(LIMIT)
        assert not self.is_alive()
        return self.raised


def test_an_argument_that_is_no_robot_is_refused_at_once():
    for arguments, error, facts in (
        (("pa11", {}), UnknownDevice, {"field": "driver", "value": "pa11"}),
        (("dynpick", {}), UnknownDevice, {"field": "driver", "value": "dynpick"}),
        (("no_such_module:Driver", {}), UnknownDevice, {"field": "driver", "value": "no_such_module:Driver"}),
        (("arm_driver:NoDriver", {}), UnknownDevice, {"field": "driver"}),
        (("arm_driver:ArmSettings", {}), UnknownDevice, {"field": "driver"}),
        ((ARM, {"period": -1}), InputError, {"field": "period", "value": -1}),
    ):
        with refused(error, **facts):
            Robot(*arguments)
    with refused(InputError, field="place", value="cloud", allowed=("process", "thread")):
        Robot(ARM, {}, place="cloud")


def test_a_robot_is_opened_moved_deactivated_and_closed(either, trace):
    assert either.status() == RobotStatus(reason="not opened yet") and np.isnan(either.feedback.position).all()
    moving(either)
    assert either.phase is Phase.ACTIVE
    np.testing.assert_allclose(either.feedback.velocity, [0.5, -0.5, 0.0])
    assert either.demand.mode is Mode.VELOCITY and either.feedback.is_driven
    until(lambda: either.status().accepted > 5, "a report of the commands")
    assert not either.status().refused
    assert either.feedback.values == {"battery [V]": 11.0}
    for _ in range(2):
        either.deactivate()
        assert either.phase is Phase.INACTIVE
    for _ in range(2):
        either.close()
        assert either.phase is Phase.CLOSED
    assert [*dict.fromkeys(names(trace))] == ["open", "idle", "start", "cycle", "stop", "close"]
    assert_ended_along_a_ramp(trace)
    assert not violations(trace)


def test_a_closed_robot_refuses_every_request_but_a_stop_and_can_be_opened_repeatedly(robot):
    for _ in range(2):
        for call in (robot.activate, robot.deactivate, robot.reset, robot.wait_feedback, robot.save_flight_record):
            with refused(Refused, field="phase", value="closed"):
                call()
        with refused(Refused, field="command", value="not active"):
            robot.command(Mode.VELOCITY, [0.0, 0.0, 0.0])
        robot.stop("nothing to stop")
        active(robot)
        with refused(Refused, field="phase", value="active"):
            robot.open()
        robot.close()


def test_the_time_of_a_command_names_it_in_what_was_accepted_and_refused(either):
    active(either)
    here = either.feedback.position
    taken = either.command(Mode.POSITION, here)
    until(lambda: either.judged == (taken, taken), "the acceptance")
    refused_at = either.command(Mode.POSITION, here + 1.5)
    until(lambda: either.judged == (taken, refused_at), "the refusal")
    until(lambda: either.status().refused["jump"] == 1, "its count")
    made_at = time.monotonic() - 0.5  # a thread may be preempted between receiving a command and sending it
    assert either.send(Demand(Mode.POSITION, here, made_at)) == made_at
    until(lambda: either.status().refused["too old"] == 1, "the refusal of an old one")
    before = time.monotonic()
    assert either.send(Demand(Mode.POSITION, here)) >= before


def test_commands_that_break_a_rule_are_refused_by_the_cycle_and_counted(robot):
    active(robot)
    for values, reason in (
        ([0.0, math.nan, 0.0], "not finite"),
        ([0.0, 0.0], "wrong length"),
        ([0.0, 0.0, 1.1], "over a limit"),
    ):
        robot.command(Mode.VELOCITY, values)
        until(lambda reason=reason: robot.status().refused[reason] == 1, "the refusal")
    for values in (["fast", 0.0, 0.0], [0.1 + 0.5j, 0.0, 0.0], [[0.0, 0.0, 0.0]]):
        with refused(Refused, field="command", value="not finite"):
            robot.command(Mode.VELOCITY, values)
    robot.command(Mode.POSITION, robot.feedback.position + 1.5)
    until(lambda: robot.status().refused["jump"], "the refusal by the cycle")
    assert robot.status().refused == Counter({"not finite": 1, "wrong length": 1, "over a limit": 1, "jump": 1})


def test_a_fault_of_the_open_request_keeps_its_type_and_facts_through_the_process(safety):
    one = Robot("khr1", {"url": "/dev/ttyNOPE"}, safety)
    with refused(TransportError, field="port", value="/dev/ttyNOPE"):
        one.open(LIMIT)
    assert one.phase is Phase.CLOSED


@pytest.mark.parametrize(("fault", "error"), [("is_unplugged", TransportError), ("is_silent", NoAnswer)])
def test_a_robot_that_cannot_be_opened_stays_closed_and_can_be_opened_later(fault, error, safety):
    arm = ArmDriver(ArmSettings(**PATIENT))
    setattr(arm, fault, True)
    one = Robot(arm, safety=safety)
    with pytest.raises(error):
        one.open()
    assert one.phase is Phase.CLOSED
    setattr(arm, fault, False)
    one.open()
    one.close()


def test_a_stop_is_latched_until_a_reset(either, trace):
    moving(either)
    either.stop("a person fell")
    assert either.phase in (Phase.STOPPING, Phase.STOPPED) and either.reason == "stop: a person fell"
    either.reset()  # waits for the ramp
    assert either.phase is Phase.INACTIVE
    active(either)
    either.stop("x" * 1_000_000)
    until(lambda: either.phase is Phase.STOPPED, "the end of the ramp")
    assert len(either.reason) < 1100
    for call in (either.activate, either.deactivate):
        with pytest.raises(Refused):
            call()
    assert either.phase is Phase.STOPPED
    assert not violations(trace)


@pytest.mark.parametrize("requested", ["reset", "deactivate"])
def test_a_stop_overtakes_a_reset_or_a_deactivation_that_was_requested_before_it(tmp_path, requested):
    raised = None
    # the ramp from 0.5 rad/s takes a second
    with Robot(ARM, PATIENT, patient(tmp_path, max_acceleration=0.5), place="thread") as slow:
        while raised is None:  # on a busy machine the reset may come after the ramp, and is carried out
            moving(slow)
            if requested == "reset":
                slow.stop("first")
            request = Asked(getattr(slow, requested))
            until(lambda: slow.phase is not Phase.ACTIVE, "the ramp")
            while request.is_alive():  # it waits for the end of the ramp; one of these comes after it
                slow.stop("second")
            raised = request.ended()
            until(lambda: slow.phase is Phase.STOPPED, "the end of the ramp")
            if raised is None:
                slow.reset()
    assert isinstance(raised, Refused) and (raised.field, raised.value) == ("phase", "stopped")


@pytest.mark.parametrize(("request_", "phase"), [("stop", Phase.STOPPED), ("close", Phase.CLOSED)])
def test_a_stop_or_a_close_during_the_start_comes_before_any_motion(safety, trace, request_, phase):
    with made("process", safety, trace, start_time=60.0) as one:
        one.wait_feedback(LIMIT)
        activation = Asked(lambda: one.activate(LIMIT))
        until(lambda: one.phase is Phase.STARTING, "the start")
        getattr(one, request_)(timeout=LIMIT)
        assert isinstance(activation.ended(), HardwareError)
        assert one.phase is phase
    assert not speeds(trace).size
    assert "stop" in names(trace) and names(trace)[-1] == "close"


def test_a_stop_is_not_delayed_by_a_flood_of_commands(either, trace):
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
        either.stop("enough", timeout=LIMIT)
        until(lambda: either.phase is Phase.STOPPED, "rest")
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not violations(trace)


def test_any_thread_may_call_anything(robot, trace):
    active(robot)
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
        thread.join(LIMIT)
    assert not problems
    robot.stop("the end")
    robot.reset()
    active(robot)
    assert not violations(trace)


class SlowSensor:
    """Its reset waits, as a real one waits for its first readings."""

    def __init__(self):
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def open(self):
        pass

    close = open

    def reset(self):
        self.begun.set()
        assert self.goes_on.wait(LIMIT)


def test_a_stop_that_comes_while_the_sensors_of_a_node_are_reset_stays(safety):
    robot = Robot(ARM, PATIENT, safety, place="thread")
    devices, sensor = Devices(), SlowSensor()
    devices.take({"arm": robot}, {"hand": sensor})
    devices.open()
    try:
        devices.stop("first")
        until(lambda: robot.phase is Phase.STOPPED, "the first stop")
        reset = Asked(devices.reset)
        assert sensor.begun.wait(LIMIT)
        devices.stop("second")
        sensor.goes_on.set()
        raised = reset.ended()
        assert isinstance(raised, Refused) and (raised.field, raised.value) == ("phase", "stopped")
        assert devices.latched and robot.phase is Phase.STOPPED
        with refused(Refused, field="phase", value="stopped"):
            devices.activate()
        devices.reset()
        assert not devices.latched and robot.phase is Phase.INACTIVE
    finally:
        devices.close()


def test_an_alarm_stops_the_robot_is_reported_and_recorded(safety):
    arm = ArmDriver(ArmSettings(**PATIENT))
    with Robot(arm, safety=safety) as one:
        moving(one)
        requested = Path(one.save_flight_record("to look at", timeout=LIMIT))
        arm.alarms = (Alarm(0x60, "velocity deviation", "j2"),)
        until(lambda: one.phase is Phase.STOPPED and one.status().alarms == arm.alarms, "the alarm")
        assert one.feedback.alarms == arm.alarms
        until(lambda: one.status().flight_record not in ("", str(requested)), "the record's name")
        path = Path(one.status().flight_record)
        until(path.exists, "the flight record")
        arm.stays_alarmed = True
        with pytest.raises(DeviceAlarm):
            one.reset()
        arm.stays_alarmed = False
        one.reset()
        assert one.phase is Phase.INACTIVE
    assert not arm.violations and not arm.is_open
    found = flight_record(path)
    assert "j2" in found.texts["why"] and "active" in found.phases
    found = flight_record(requested)
    assert found.texts["why"] == "to look at"
    assert (found.numbers["/commanded", "velocity"] == [0.5, -0.5, 0.0]).all(axis=1).any()
    without = Robot(ARM, PATIENT, SafetySettings(record_seconds=0.0), place="thread")
    with without, refused(Refused, field="record_seconds"):
        without.save_flight_record()
