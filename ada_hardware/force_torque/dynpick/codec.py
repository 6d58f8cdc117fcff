# SPDX-License-Identifier: Apache-2.0
"""Bytes of the DynPick: one-letter commands, records of 27 characters, and answers, all lines that end with CR LF.

A record is a digit that counts 0 to 9, six times four hexadecimal digits (Fx Fy Fz Mx My Mz), CR LF. A load of zero is
8192, the range is that of 14 bits. There is no checksum: a digit that turned into another digit on the line cannot be
detected; everything else that is no record is refused. (tork-a/dynpick_driver and others.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

BAUD = 921_600
READ, START, STOP, ZERO, SENSITIVITY, VERSION, TEMPERATURE = b"R", b"S", b"E", b"O", b"p", b"V", b"T"
FILTER_QUERY = b"0F"
DIVIDERS = (1, 2, 4, 8)
CENTRE = 8192
TOP = 16_383
RECORD_SIZE = 27
END = b"\r\n"
_LONGEST_LINE = 256  # [bytes] texts of the firmware are shorter
_HEX = frozenset(b"0123456789abcdefABCDEF")


class Record(NamedTuple):
    """A measurement.

    Attributes:
        number: counts 0 to 9, again and again.
        counts: Fx Fy Fz Mx My Mz, 0 to 16383; a load of zero is 8192.
    """

    number: int
    counts: tuple[int, ...]

    @property
    def is_saturated(self) -> bool:
        """True if an axis is at an end of its range."""
        return min(self.counts) <= 0 or max(self.counts) >= TOP


class Text(NamedTuple):
    """Any other line of printable characters: the answer to a question, or noise.

    Attributes:
        text: without its end.
    """

    text: str


class DynPickParser:
    """Finds records and answers in what comes in pieces of any size.

    After damage it is back at the next CR LF: of two frames after noise the second one is taken in any case.

    Attributes:
        refused: lines that were neither.
    """

    def __init__(self) -> None:
        self.refused = 0
        self._rest = b""
        self._is_skipping = False

    def feed(self, data: bytes) -> list[Record | Text]:
        """The records and texts that are complete by now, in order."""
        *lines, rest = (self._rest + data).split(END)
        found: list[Record | Text] = []
        for line in lines:
            one = None if self._is_skipping else decode_line(line)
            self._is_skipping = False
            if one is None:
                self.refused += 1
            else:
                found.append(one)
        if len(rest) > _LONGEST_LINE:
            # the last byte may be the CR of an end that is about to come
            rest, self._is_skipping = rest[-1:], True
        self._rest = rest
        return found

    def restart(self) -> None:
        """Forget what is incomplete, which counts as refused."""
        self.refused += bool(self._rest or self._is_skipping)
        self._rest, self._is_skipping = b"", False


def decode_line(line: bytes) -> Record | Text | None:
    """A line without its CR LF; None: it is neither a record nor text."""
    if len(line) == RECORD_SIZE - len(END) and line[:1].isdigit() and _HEX.issuperset(line[1:]):
        counts = tuple(int(line[i : i + 4], 16) for i in range(1, 25, 4))
        return Record(line[0] - 0x30, counts) if max(counts) <= TOP else None
    if len(line) <= _LONGEST_LINE and all(0x20 <= one < 0x7F for one in line):
        return Text(line.decode("ascii"))
    return None


def decode_sensitivity(text: str) -> tuple[float, ...] | None:
    """Six sensitivities [counts per N, three times, per N m, three times]; None: it is no such answer."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        return None
    return values if len(values) == 6 and all(math.isfinite(one) and one > 0.0 for one in values) else None


def decode_temperature(text: str) -> float | None:
    """Temperature [degC]: four hexadecimal digits that count sixteenths; None: it is no such answer."""
    if len(text) != 4 or not _HEX.issuperset(text.encode()):
        return None
    value = int(text, 16)
    # that it goes below zero as two's complement is an assumption
    return (value - 0x10000 if value & 0x8000 else value) / 16.0


def decode_filter(text: str) -> int | None:
    """The divider of the filter; None: it is no such answer."""
    return int(text) if text in {str(one) for one in DIVIDERS} else None


def filter_command(divider: int) -> bytes:
    """Sets the divider of the filter, one of DIVIDERS."""
    return f"{divider}F".encode()


# --- the device's side ------------------------------------------------------------------------------------------------
def encode_record(number: int, counts: Sequence[int]) -> bytes:
    """A record."""
    return f"{number % 10}{''.join(f'{one:04X}' for one in counts)}\r\n".encode()


def encode_sensitivity(values: Sequence[float]) -> bytes:
    """The answer to `p`, of 46 bytes for usual values: three with six characters, three with seven."""
    parts = [f"{one:06.3f}"[:6] for one in values[:3]] + [f"{one:07.2f}"[:7] for one in values[3:]]
    return ",".join(parts).encode() + END


def encode_temperature(celsius: float) -> bytes:
    """The answer to `T`."""
    return f"{round(celsius * 16.0) & 0xFFFF:04X}".encode() + END


def encode_filter(divider: int) -> bytes:
    """The answer to `0F`, of three bytes."""
    return str(divider).encode() + END
