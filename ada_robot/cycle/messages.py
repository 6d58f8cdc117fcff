# SPDX-License-Identifier: Apache-2.0
"""Messages between client and safety cycle, and the status that they report.

Two socket pairs of datagrams keep message boundaries and report the death of either end:

    fast       ->  COMMAND, HEARTBEAT            <-  FEEDBACK             fixed layouts, native byte order
    requests   ->  open, activate, stop ...      <-  replies, STATUS      JSON

A stop is a request, so that queued commands cannot delay it.
"""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.errors import AdaError, InputError
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Alarm, Feedback, LinkCounts
from ada_robot.errors import DeviceAlarm, HardwareError, NoAnswer, Refused, TransportError, UnknownDevice
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
_FACTS = ("joint", "link", "loop", "file", "line", "field", "value", "allowed")  # attributes of an error
_ERRORS = (Refused, DeviceAlarm, NoAnswer, TransportError, UnknownDevice, InputError, HardwareError)


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


class CycleRequest(NamedTuple):
    """Request of the client: its number, such as "activate", and its arguments."""

    number: int
    what: str
    details: dict[str, Any]


class CycleReply(NamedTuple):
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
    """Decode the message of an exchange without checks: both ends run the same installed version."""
    _, phase, flags, mode, time, commanded_at, judged_at, sent_at = _FEEDBACK_HEAD.unpack_from(data)
    numbers = np.frombuffer(data, dtype=np.float64, offset=_FEEDBACK_HEAD.size).reshape(4, -1)
    position, velocity, effort, demanded = numbers
    feedback = Feedback(time, position, velocity, effort, bool(flags & _FRESH), bool(flags & _DRIVEN))
    demand = Demand(_MODES[mode], demanded) if flags & _DEMANDED else None
    return Exchange(_PHASES[phase], feedback, demand, commanded_at, judged_at, sent_at)


# --- requests -----------------------------------------------------------------------------------------------------
def encode_report(status: RobotStatus) -> bytes:
    """Encode the part of the status known to the cycle."""
    fields = {name: getattr(status, name) for name in RobotStatus.__dataclass_fields__}
    fields["alarms"] = [list(alarm) for alarm in status.alarms]
    fields["counts"] = asdict(status.counts)
    fields["periods"] = None if status.periods is None else asdict(status.periods)
    return json.dumps({"report": {**fields, "phase": status.phase.value, "values": dict(status.values)}}).encode()


def encode_request(request: CycleRequest) -> bytes:
    """Encode a request."""
    return json.dumps(request).encode()


def decode_request(data: bytes) -> CycleRequest:
    """Decode a request; an unreadable one becomes a stop without a reply."""
    with suppress(ValueError, TypeError, RecursionError):
        number, what, details = json.loads(data)
        if isinstance(number, int) and isinstance(what, str) and isinstance(details, dict):
            return CycleRequest(number, what, details)
    return CycleRequest(NOBODY, "stop", {"why": "unreadable request"})


def encode_reply(number: int, problem: BaseException | None) -> bytes:
    """Encode the reply to a request: success, or the error with its attributes that JSON can represent."""
    if problem is None:
        return json.dumps({"reply": number}).encode()
    kind = next((known.__name__ for known in _ERRORS if isinstance(problem, known)), HardwareError.__name__)
    text = str(problem) if isinstance(problem, (HardwareError, InputError)) else f"{type(problem).__name__}: {problem}"
    facts = {}
    for name in _FACTS:
        value = getattr(problem, name, None)
        if all(isinstance(one, (str, int, float)) for one in (value if isinstance(value, tuple) else [value])):
            facts[name] = value
    return json.dumps({"reply": number, "error": kind, "text": text, "facts": facts}).encode()


def decode_answer(data: bytes) -> CycleReply | RobotStatus:
    """Decode a reply or a report."""
    content = json.loads(data)
    if "error" in content:
        kinds: dict[str, type[AdaError]] = {known.__name__: known for known in _ERRORS}
        facts: dict[str, Any] = {n: tuple(x) if isinstance(x, list) else x for n, x in content["facts"].items()}
        return CycleReply(content["reply"], kinds[content["error"]](content["text"], **facts))
    if "report" not in content:
        return CycleReply(content["reply"], None)
    fields = content["report"]
    fields["phase"] = Phase(fields["phase"])
    fields["alarms"] = tuple(Alarm(*alarm) for alarm in fields["alarms"])
    fields["refused"], fields["counts"] = Counter(fields["refused"]), LinkCounts(**fields["counts"])
    fields["periods"] = None if fields["periods"] is None else PeriodSummary(**fields["periods"])
    return RobotStatus(**{**fields, "notes": tuple(fields["notes"])})
