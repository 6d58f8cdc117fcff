# SPDX-License-Identifier: Apache-2.0
"""Packets of RDT, all big-endian: requests of 8 bytes, records of 36, on UDP port 49152.

A request is 0x1234, a command and a count of samples; a record is its own number, the number of the device's sample, a
status word, and six counts Fx Fy Fz Tx Ty Tz. (netft_utils, pyNetFT; OptoForce's headers for the last two.)
"""

from __future__ import annotations

import struct
from typing import NamedTuple

PORT = 49_152
STOP, START, START_BUFFERED, RESET_THRESHOLD, BIAS = 0x0000, 0x0002, 0x0003, 0x0041, 0x0042
FILTER, SPEED = 0x0081, 0x0082  # OnRobot alone
ENDLESS = 0
RECORD_SIZE = 36
_HEADER = 0x1234
_REQUEST = struct.Struct(">HHI")
_RECORD = struct.Struct(">III6i")

ERROR_SUMMARY, OUT_OF_RANGE, MONITOR, WATCHDOG = 0x8000_0000, 0x0002_0000, 0x0001_0000, 0x0000_4000
MONITOR_LATCHED = ERROR_SUMMARY | MONITOR
_BITS = {
    OUT_OF_RANGE: "force or torque is out of range",
    MONITOR: "a threshold was passed (latched)",
    WATCHDOG: "the device's watchdog has restarted it",
}


class Request(NamedTuple):
    """A request of the host.

    Attributes:
        command: one of the constants above.
        value: number of samples, 0 for endless; or what FILTER, SPEED and BIAS set.
    """

    command: int
    value: int = ENDLESS


class Record(NamedTuple):
    """A measurement.

    Attributes:
        number: counts the records that were sent.
        sample: counts what the device measured.
        status: 0 where all is well.
        counts: Fx Fy Fz Tx Ty Tz.
    """

    number: int
    sample: int
    status: int
    counts: tuple[int, ...]


def encode_request(request: Request) -> bytes:
    """A packet to the device."""
    return _REQUEST.pack(_HEADER, request.command, request.value)


def decode_request(packet: bytes) -> Request | None:
    """A packet to the device; None: it is no request."""
    if len(packet) != _REQUEST.size:
        return None
    header, command, value = _REQUEST.unpack(packet)
    return Request(command, value) if header == _HEADER else None


def encode_records(*records: Record) -> bytes:
    """A packet from the device: one record, or several where it sends them buffered."""
    return b"".join(_RECORD.pack(one.number, one.sample, one.status, *one.counts) for one in records)


def decode_records(packet: bytes) -> list[Record]:
    """The records of a packet from the device; empty: it is no such packet."""
    if not packet or len(packet) % RECORD_SIZE:
        return []
    return [Record(one[0], one[1], one[2], one[3:]) for one in _RECORD.iter_unpack(packet)]


def status_words(status: int) -> str:
    """The faults in a status word of a Net F/T in words; "" for 0."""
    if not status:
        return ""
    known = [text for bit, text in _BITS.items() if status & bit]
    rest = status & ~(ERROR_SUMMARY | sum(_BITS))
    if rest or not known:
        known.append("see the status code in the device's manual")
    return f"status 0x{status:08X}: {', '.join(known)}"
