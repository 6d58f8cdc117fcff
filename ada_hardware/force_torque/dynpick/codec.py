# SPDX-License-Identifier: Apache-2.0
"""DynPick codec: one-letter commands, records of 27 characters, and text replies, all terminated by CR LF.

A record is a digit counting 0 to 9, six four-digit hexadecimal numbers (Fx Fy Fz Mx My Mz), CR LF. The numbers are
14-bit values; 8192 is zero load. There is no checksum: a digit changed into another digit is not detected; any other
damaged record is refused. (tork-a/dynpick_driver and others.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

BAUD = 921_600
READ, START, STOP, ZERO, SENSITIVITY, VERSION = b"R", b"S", b"E", b"O", b"p", b"V"
CENTRE = 8192
TOP = 16_383
RECORD_SIZE = 27
END = b"\r\n"
_LONGEST_LINE = 256  # [bytes] limit of a text reply
_HEX = frozenset(b"0123456789abcdefABCDEF")


class DynPickRecord(NamedTuple):
    """Measurement."""

    number: int  # sequence number, 0 to 9 cyclically
    counts: tuple[int, ...]  # Fx Fy Fz Mx My Mz, 0 to 16383; 8192 is zero load

    @property
    def is_saturated(self) -> bool:
        """True if an axis is at the end of its range."""
        return min(self.counts) <= 0 or max(self.counts) >= TOP


class DynPickParser:
    """Incremental parser of records and text replies.

    After damaged data, parsing resumes after the next CR LF, so that at most one valid frame is lost.

    Attributes:
        refused: number of lines that were neither.
    """

    def __init__(self) -> None:
        self.refused = 0
        self._rest = b""
        self._is_skipping = False

    def feed(self, data: bytes) -> list[DynPickRecord | str]:
        """Return the records and texts completed by `data`, in order."""
        *lines, rest = (self._rest + data).split(END)
        found: list[DynPickRecord | str] = []
        for line in lines:
            one = None if self._is_skipping else decode_line(line)
            self._is_skipping = False
            if one is None:
                self.refused += 1
            else:
                found.append(one)
        if len(rest) > _LONGEST_LINE:
            # the last byte may be the CR of a terminator
            rest, self._is_skipping = rest[-1:], True
        self._rest = rest
        return found

    def restart(self) -> None:
        """Discard an incomplete line, which counts as refused."""
        self.refused += bool(self._rest or self._is_skipping)
        self._rest, self._is_skipping = b"", False


def decode_line(line: bytes) -> DynPickRecord | str | None:
    """Decode a line without its CR LF: a record, or printable text (a reply, or noise); None if it is neither."""
    if len(line) == RECORD_SIZE - len(END) and line[:1].isdigit() and _HEX.issuperset(line[1:]):
        counts = tuple(int(line[i : i + 4], 16) for i in range(1, 25, 4))
        return DynPickRecord(line[0] - 0x30, counts) if max(counts) <= TOP else None
    if len(line) <= _LONGEST_LINE and all(0x20 <= one < 0x7F for one in line):
        return line.decode("ascii")
    return None


def decode_sensitivity(text: str) -> tuple[float, ...] | None:
    """Decode six sensitivities [counts/N, three times; counts/(N m), three times]; None if invalid."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        return None
    return values if len(values) == 6 and all(math.isfinite(one) and one > 0.0 for one in values) else None


# --- the device's side ------------------------------------------------------------------------------------------------
def encode_record(number: int, counts: Sequence[int]) -> bytes:
    """Encode a record."""
    return f"{number % 10}{''.join(f'{one:04X}' for one in counts)}\r\n".encode()


def encode_sensitivity(values: Sequence[float]) -> bytes:
    """Encode the reply to `p`, 46 bytes for usual values: three numbers of six characters, three of seven."""
    parts = [f"{one:06.3f}"[:6] for one in values[:3]] + [f"{one:07.2f}"[:7] for one in values[3:]]
    return ",".join(parts).encode() + END
