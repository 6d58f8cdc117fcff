# SPDX-License-Identifier: Apache-2.0
"""Packet R: stored data of an axis in the controller memory (read only).

A board drives two axes and stores 32 words for each (docs/pa10_hardware.md). The only source is SDU's driver for the
7C. It is assumed that a CE stores the same words in its own byte order and that the reply ends with word 32. Words are
numbered from 1.
"""

from __future__ import annotations

from typing import NamedTuple

from ada_hardware.pa10.cyclic import ANGLE_COUNT
from ada_hardware.pa10.packets import require_axis
from ada_hardware.pa10.variants import AXES, Variant
from ada_robot.errors import Refused

WORDS = 32  # per axis
_UPPER, _LOWER, _OFFSET, _POLES = 19, 21, 23, 28  # numbers of the first words
_LEAST_BYTES = 2 + 2 * _POLES


class AxisData(NamedTuple):
    """Stored data of an axis."""

    upper: float  # upper position limit of the controller [rad]
    lower: float  # lower position limit [rad]
    offset: float  # offset of the mechanical zero [rad]
    poles: int  # number of motor poles


def read_payload(axis: int) -> bytes:
    """Encode the payload of a read request: board number and word address. Refused if the axis is not 1 to 7."""
    require_axis(axis)
    board, second = divmod(axis - 1, 2)
    return bytes((board + 1, second * WORDS))


def axis_of(payload: bytes) -> int | None:
    """Return the axis number of a read request, or None if the payload is invalid."""
    board, address = payload[0], payload[1]
    axis = 2 * (board - 1) + address // WORDS + 1
    is_one = board >= 1 and address in (0, WORDS) and axis <= AXES
    return axis if is_one else None


def encode_axis_data(axis: int, data: AxisData, variant: Variant) -> bytes:
    """Encode the payload of the reply; unknown words are 0.

    Raises:
        Refused: the axis number is out of range, or an angle does not fit into 32 bits.
    """
    order = "little" if variant.order == "<" else "big"
    words = [0] * WORDS
    # high word first for the limits, last for the offset
    for first, angle in ((_UPPER, data.upper), (_LOWER, data.lower), (_OFFSET, data.offset)):
        counts = round(angle / ANGLE_COUNT)
        if not -(2**31) <= counts < 2**31:
            raise Refused(f"PA-10 axis {axis}: {angle!r} rad does not fit into 32 bits.")
        high, low = divmod(counts & 0xFFFFFFFF, 0x10000)
        words[first - 1 : first + 1] = (low, high) if first == _OFFSET else (high, low)
    words[_POLES - 1] = data.poles
    return read_payload(axis) + b"".join(word.to_bytes(2, order) for word in words)  # type: ignore[arg-type]


def decode_axis_data(payload: bytes, variant: Variant) -> AxisData | None:
    """Decode the stored data; return None if the payload is too short."""
    if len(payload) < _LEAST_BYTES:
        return None
    order = "little" if variant.order == "<" else "big"

    def word(number: int) -> int:
        at = 2 * number
        return int.from_bytes(payload[at : at + 2], order)  # type: ignore[arg-type]

    def angle(high: int, low: int) -> float:
        counts = (word(high) << 16) | word(low)
        # stored as 360 * v * 4 / (65536 * 50) deg, the unit of cyclic packets
        return (counts - (1 << 32) if counts >= 1 << 31 else counts) * ANGLE_COUNT

    return AxisData(angle(_UPPER, _UPPER + 1), angle(_LOWER, _LOWER + 1), angle(_OFFSET + 1, _OFFSET), word(_POLES))
