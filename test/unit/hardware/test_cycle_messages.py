# SPDX-License-Identifier: Apache-2.0
"""Messages between a program and a robot's cycle: what goes in comes out."""

import math
from collections import Counter
from types import MappingProxyType

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ada_dynamics.clock import ManualClock
from ada_dynamics.errors import InputError
from ada_hardware.hexa.kinematics import Unreachable
from ada_robot.contract import Demand, Mode
from ada_robot.cycle import messages
from ada_robot.cycle.messages import CycleRequest, Exchange, RobotStatus
from ada_robot.driver import Alarm, Feedback, LinkCounts
from ada_robot.errors import DeviceAlarm, HardwareError, NoAnswer, Refused, TransportError, UnknownDevice
from ada_robot.safety.phases import Phase
from ada_robot.timing.periods import PeriodStatistics

doubles = st.floats(width=64, allow_nan=True)
vectors = st.lists(doubles, min_size=0, max_size=20).map(np.array)


@given(st.sampled_from(list(Mode)), vectors, doubles)
def test_commands_come_out_as_they_went_in(mode, values, stamp):
    values = values.astype(np.float64)
    found = messages.decode_command(messages.encode_command(Demand(mode, values, stamp)))
    assert found.mode is mode
    assert np.array([found.stamp]).tobytes() == np.array([stamp]).tobytes()
    assert found.values.tobytes() == values.tobytes()


@given(st.binary(max_size=200) | st.just(messages.HEARTBEAT))
def test_what_is_no_command_is_none_and_never_an_error(data):
    found = messages.decode_command(data)
    assert found is None or (isinstance(found, Demand) and data != messages.HEARTBEAT)


@given(
    st.sampled_from(list(Phase)),
    st.lists(doubles, min_size=4, max_size=4),
    st.booleans(),
    st.booleans(),
    st.none() | st.sampled_from(list(Mode)),
)
def test_what_the_cycle_tells_comes_out_as_it_went_in(phase, row, fresh, driven, mode):
    position, velocity, effort, demanded = (np.full(3, number) for number in row)
    demand = None if mode is None else Demand(mode, demanded)
    exchange = Exchange(phase, Feedback(1.5, position, velocity, effort, fresh, driven), demand, -math.inf, 1.25, 2.5)
    found = messages.decode_exchange(messages.encode_exchange(exchange))
    assert (found.phase, found.commanded_at, found.sent_at) == (phase, -math.inf, 2.5)
    feedback = found.feedback
    assert (feedback.time, feedback.is_fresh, feedback.is_driven) == (1.5, fresh, driven)
    np.testing.assert_array_equal([feedback.position, feedback.velocity, feedback.effort], [position, velocity, effort])
    assert (found.demand is None) == (mode is None)
    if found.demand is not None:
        assert found.demand.mode is mode
        np.testing.assert_array_equal(found.demand.values, demanded)


def test_reports_come_out_as_they_went_in():
    report = RobotStatus(
        phase=Phase.STOPPED,
        reason="alarm: Überstrom",
        alarms=(Alarm(0x60, "deviation", "s1"), Alarm(0x110, "stop", is_stop=True)),
        refused=Counter({"not finite": 3}),
        counts=LinkCounts(1, 2, 3, 4, 5, "lost"),
        periods=PeriodStatistics(ManualClock().now_ns).summary(),
        values=MappingProxyType({"battery [V]": 11.1}),
        notes=("no priority",),
    )
    assert messages.decode_answer(messages.encode_report(report)) == report


def test_a_request_that_cannot_be_read_is_a_stop():
    request = CycleRequest(3, "reset", {})
    assert messages.decode_request(messages.encode_request(request)) == request
    for data in (b"", b"\xff", b'[3, "reset', b"[1]", b'{"what": "open"}', b"[" * 10**5, b"[1, 2, {}]", b"7"):
        assert messages.decode_request(data).what == "stop"


def test_errors_are_raised_here_as_they_were_there():
    def replied(problem):
        number, found = messages.decode_answer(messages.encode_reply(5, problem))
        assert number == 5
        return found

    for error in (Refused, DeviceAlarm, NoAnswer, TransportError, UnknownDevice, InputError, HardwareError):
        problem = replied(error("joint 's1': ...", joint="s1", value=(1.0, 2.0)))
        assert type(problem) is error and str(problem) == "joint 's1': ..."
        assert (problem.joint, problem.value) == ("s1", (1.0, 2.0))
    assert replied(HardwareError("x", value=lambda: None)).value is None
    problem = replied(Unreachable("leg 3 is too short", 3, 0.1))  # whose constructor has other arguments
    assert type(problem) is InputError and str(problem) == "leg 3 is too short"
    problem = replied(KeyError("x"))
    assert type(problem) is HardwareError and str(problem) == "KeyError: 'x'"
    assert replied(None) is None
