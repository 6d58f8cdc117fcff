# SPDX-License-Identifier: Apache-2.0
"""Messages between client and safety cycle, and the status that they report.

Two socket pairs of datagrams keep message boundaries and report the death of either end:

    fast       ->  COMMAND, HEARTBEAT            <-  FEEDBACK             fixed layouts, native byte order
    requests   ->  open, activate, stop ...      <-  replies, STATUS      pickled

A stop is a request, so that queued commands cannot delay it.
"""

from __future__ import annotations

import math
import pickle
import struct
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.errors import InputError
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Alarm, Feedback, LinkCounts
from ada_robot.errors import HardwareError
from ada_robot.safety.phases import Phase
from ada_robot.safety.settings import MANUAL
from ada_robot.timing.periods import PeriodSummary

LARGEST = 2**17  # maximum message size [bytes]
NOBODY = 2**63 - 1  # number of a request without a recipient of the reply; orders it after all others
HEARTBEAT = b"\x02"
_COMMAND, _FEEDBACK = 1, 3
_COMMAND_HEAD = struct.Struct("=BBxxxxxxd")  # kind, mode, stamp; then the values
_FEEDBACK_HEAD = struct.Struct("=BBBBxxxxdddd")  # kind, phase, flags, mode, times; then four vectors
_FRESH, _DRIVEN, _DEMANDED = 1, 2, 4
_MODES, _PHASES = tuple(Mode), tuple(Phase)
_MODE_INDEX = {mode: i for i, mode in enumerate(_MODES)}
_PHASE_INDEX = {phase: i for i, phase in enumerate(_PHASES)}


class Judged(NamedTuple):
    """Creation times of the latest commands checked by the cycle, on the steady clock [s]; -inf for none.

    All commands made up to `judged_at` are checked. The one made at `accepted_at` is in force; later ones were refused.
    """

    accepted_at: float = -math.inf
    judged_at: float = -math.inf


@dataclass(frozen=True)
class RobotStatus:
    """Status of a robot, at most 0.1 s old."""

    phase: Phase = Phase.CLOSED  # present phase
    reason: str = ""  # reason of the phase, such as "stop: a person fell" or "deactivated: no command for 0.5 s"
    is_armed: bool = True  # whether commands are accepted in phase ACTIVE, see `arm_within`
    operating_mode: str = MANUAL  # "manual" or "automatic"; selects the limits
    tool_speed: float = math.inf  # tool speed limit [m/s]; inf for none
    alarms: tuple[Alarm, ...] = ()  # active alarms of the device
    accepted: int = 0  # number of accepted commands since `open`
    refused: Counter[str] = field(default_factory=Counter)  # number of refused commands by reason
    last_refusal: str = ""  # message of the latest refusal; "" for none
    refused_at: float = 0.0  # time of the latest refusal on the steady clock [s]; 0 for none
    counts: LinkCounts = field(default_factory=LinkCounts)  # frame counters
    periods: PeriodSummary | None = None  # statistics of the cycle time; None before the first
    missed_cycles: int = 0  # cycles without a reply of the device
    late_cycles: int = 0  # cycles later than half the watchdog timeout of the device, which slow the robot down
    longest_gap: float = 0.0  # longest time between two exchanges since `open` [s]
    command_age: float = float("inf")  # time since the last accepted command [s]; inf before the first
    feedback_age: float = float("inf")  # time since the last reply of the device [s]
    values: Mapping[str, float] = field(default_factory=dict)  # further quantities of the device, such as "battery [V]"
    flight_record: str = ""  # path of the latest flight record; "" for none
    place: str = ""  # "process" or "thread"
    notes: tuple[str, ...] = ()  # remarks on the cycle process, such as missing real-time priority


# --- fast ---------------------------------------------------------------------------------------------------------
def encode_command(command: Demand) -> bytes:
    """Encode a command."""
    head = _COMMAND_HEAD.pack(_COMMAND, _MODE_INDEX[command.mode], command.stamp)
    return head + np.ascontiguousarray(command.values, dtype=np.float64).tobytes()


def decode_command(data: bytes) -> Demand | None:
    """Decode a command; None for other messages."""
    size = len(data) - _COMMAND_HEAD.size
    if size < 0 or size % 8 or data[0] != _COMMAND:
        return None
    _, mode, stamp = _COMMAND_HEAD.unpack_from(data)
    if mode >= len(_MODES):
        return None
    return Demand(_MODES[mode], np.frombuffer(data, dtype=np.float64, offset=_COMMAND_HEAD.size), stamp)


class Request(NamedTuple):
    """Request of the client: its number, such as "activate", and its arguments."""

    number: int
    what: str
    details: dict[str, Any]


class Reply(NamedTuple):
    """Reply to the request of a number: None, or the error."""

    number: int
    problem: BaseException | None


class Exchange(NamedTuple):
    """Message sent by the cycle after each exchange with the device."""

    phase: Phase  # phase of the robot
    feedback: Feedback  # feedback of the device; alarms and values are in the report instead
    demand: Demand | None  # demand sent; None if no demand was sent
    commanded_at: float  # creation time of the latest accepted command [s]; -inf before the first
    judged_at: float  # creation time of the latest command accepted or refused [s]; -inf before the first
    sent_at: float  # send time on the steady clock [s]


def encode_exchange(exchange: Exchange) -> bytes:
    """Encode the message of an exchange."""
    feedback, demand = exchange.feedback, exchange.demand
    flags = _FRESH * feedback.is_fresh | _DRIVEN * feedback.is_driven | _DEMANDED * (demand is not None)
    mode = 0 if demand is None else _MODE_INDEX[demand.mode]
    times = feedback.time, exchange.commanded_at, exchange.judged_at, exchange.sent_at
    head = _FEEDBACK_HEAD.pack(_FEEDBACK, _PHASE_INDEX[exchange.phase], flags, mode, *times)
    demanded = feedback.position if demand is None else demand.values
    return b"".join([head, *(x.tobytes() for x in (feedback.position, feedback.velocity, feedback.effort, demanded))])


def decode_exchange(data: bytes) -> Exchange:
    """Decode the message of an exchange, unchecked: both ends are of the same installation."""
    _, phase, flags, mode, time, commanded_at, judged_at, sent_at = _FEEDBACK_HEAD.unpack_from(data)
    numbers = np.frombuffer(data, dtype=np.float64, offset=_FEEDBACK_HEAD.size).reshape(4, -1)
    position, velocity, effort, demanded = numbers
    feedback = Feedback(time, position, velocity, effort, bool(flags & _FRESH), bool(flags & _DRIVEN))
    demand = Demand(_MODES[mode], demanded) if flags & _DEMANDED else None
    return Exchange(_PHASES[phase], feedback, demand, commanded_at, judged_at, sent_at)


# --- requests -----------------------------------------------------------------------------------------------------
def encode(message: object) -> bytes:
    """Encode a report, a request or a reply."""
    return pickle.dumps(message, pickle.HIGHEST_PROTOCOL)


def decode(data: bytes) -> Any:
    """Decode a message of `encode`; both ends are of the same installation, and no other process has the sockets."""
    return pickle.loads(data)


def decode_request(data: bytes) -> Request:
    """Decode a request; an unreadable one becomes a stop without a reply."""
    with suppress(Exception):
        request = decode(data)
        if isinstance(request, Request):
            return request
    return Request(NOBODY, "stop", {"why": "unreadable request"})


def encode_reply(number: int, problem: BaseException | None) -> bytes:
    """Encode the reply to a request: success, or the error; an error of another class becomes a HardwareError."""
    if problem is not None and not isinstance(problem, (HardwareError, InputError)):
        problem = HardwareError(f"{type(problem).__name__}: {problem}")
    with suppress(Exception):  # errors with other arguments, or attributes that cannot be copied
        reply = encode(Reply(number, problem))
        decode(reply)
        return reply
    kind = InputError if isinstance(problem, InputError) else HardwareError
    return encode(Reply(number, kind(str(problem), field=getattr(problem, "field", None))))
