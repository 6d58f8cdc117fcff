# SPDX-License-Identifier: Apache-2.0
"""RDT codec: requests of 8 bytes, records of 36 bytes, big-endian, UDP port 49152.

A request is 0x1234, a command and a sample count. A record is its sequence number, the number of the measurement, a
status word, and six counts Fx Fy Fz Tx Ty Tz. (netft_utils, pyNetFT; OptoForce's headers for the last two commands.)
"""

from __future__ import annotations

import struct
from typing import NamedTuple

PORT = 49_152
STOP, START, RESET_THRESHOLD, BIAS = 0x0000, 0x0002, 0x0041, 0x0042
SPEED = 0x0082  # OnRobot only
ENDLESS = 0
RECORD_SIZE = 36
_HEADER = 0x1234
_REQUEST = struct.Struct(">HHI")
_RECORD = struct.Struct(">III6i")

ERROR_SUMMARY, OUT_OF_RANGE, MONITOR, WATCHDOG = 0x8000_0000, 0x0002_0000, 0x0001_0000, 0x0000_4000
MONITOR_LATCHED = ERROR_SUMMARY | MONITOR
_BITS = {
    OUT_OF_RANGE: "force or torque is out of range",
    MONITOR: "a threshold was exceeded (latched)",
    WATCHDOG: "the watchdog has restarted the device",
}


class RdtRequest(NamedTuple):
    """Request of the host."""

    command: int  # one of the constants above
    value: int = ENDLESS  # number of samples, 0 for endless; for SPEED and BIAS their argument


class RdtRecord(NamedTuple):
    """Measurement."""

    number: int  # sequence number of the record
    sample: int  # number of the measurement
    status: int  # status word; 0 without errors
    counts: tuple[int, ...]  # Fx Fy Fz Tx Ty Tz


def encode_request(request: RdtRequest) -> bytes:
    """Encode a request."""
    return _REQUEST.pack(_HEADER, request.command, request.value)


def decode_request(packet: bytes) -> RdtRequest | None:
    """Decode a request; return None if it is invalid."""
    if len(packet) != _REQUEST.size:
        return None
    header, command, value = _REQUEST.unpack(packet)
    return RdtRequest(command, value) if header == _HEADER else None


def encode_records(*records: RdtRecord) -> bytes:
    """Encode a packet of one or several (buffered) records."""
    return b"".join(_RECORD.pack(one.number, one.sample, one.status, *one.counts) for one in records)


def decode_records(packet: bytes) -> list[RdtRecord]:
    """Decode the records of a packet; empty if it is invalid."""
    if not packet or len(packet) % RECORD_SIZE:
        return []
    return [RdtRecord(one[0], one[1], one[2], one[3:]) for one in _RECORD.iter_unpack(packet)]


def status_words(status: int) -> str:
    """Return the errors in a status word of a Net F/T as text; "" for 0."""
    if not status:
        return ""
    known = [text for bit, text in _BITS.items() if status & bit]
    rest = status & ~(ERROR_SUMMARY | sum(_BITS))
    if rest or not known:
        known.append("see the status code in the device manual")
    return f"status 0x{status:08X}: {', '.join(known)}"
