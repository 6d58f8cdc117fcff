# SPDX-License-Identifier: Apache-2.0
"""The packet R: what the controller of a PA-10 has stored about an axis. Only read here, never written.

A board drives two axes; its memory holds 32 words for each (docs/pa10_hardware.md; SDU's driver reads them on a 7C, and
is the one source. That a CE stores the same words in its own byte order, and that the answer ends with word 32, are
assumptions; the words themselves are counted from 1.)
"""

from __future__ import annotations

from typing import NamedTuple

from ada_hardware.pa10.cyclic import ANGLE_COUNT
from ada_hardware.pa10.variants import AXES, Variant
from ada_robot.errors import Refused

WORDS = 32  # of an axis
_UPPER, _LOWER, _OFFSET, _POLES = 19, 21, 23, 28  # the first words
_LEAST_BYTES = 2 + 2 * _POLES


class AxisData(NamedTuple):
    """Stored data of an axis.

    Attributes:
        upper: end of its way in the controller's own eyes [rad].
        lower: the other end [rad].
        offset: of the mechanical zero [rad].
        poles: of the motor.
    """

    upper: float
    lower: float
    offset: float
    poles: int


def read_payload(axis: int) -> bytes:
    """Payload of R to the controller: the board, and where the axis' words begin.

    Args:
        axis: from 1 to 7.

    Raises:
        Refused: there is no such axis.
    """
    if not 1 <= axis <= AXES:
        raise Refused(
            f"PA-10: there is no axis {axis}; axes are numbered from 1 (S1) to {AXES} (W2).", field="axis", value=axis
        )
    board, second = divmod(axis - 1, 2)
    return bytes((board + 1, second * WORDS))


def axis_of(payload: bytes) -> int | None:
    """The axis that R asks for; None where there is none."""
    board, address = payload[0], payload[1]
    axis = 2 * (board - 1) + address // WORDS + 1
    is_one = board >= 1 and address in (0, WORDS) and axis <= AXES
    return axis if is_one else None


def encode_axis_data(axis: int, data: AxisData, variant: Variant) -> bytes:
    """The payload of the answer, words that are not known being 0.

    Raises:
        Refused: there is no such axis, or an angle does not fit 32 bits.
    """
    order = "little" if variant.order == "<" else "big"
    words = [0] * WORDS
    # high word first for the limits, last for the offset
    for first, angle in ((_UPPER, data.upper), (_LOWER, data.lower), (_OFFSET, data.offset)):
        counts = round(angle / ANGLE_COUNT)
        if not -(2**31) <= counts < 2**31:
            raise Refused(f"PA-10 axis {axis}: {angle!r} rad does not fit into the controller's memory.")
        high, low = divmod(counts & 0xFFFFFFFF, 0x10000)
        words[first - 1 : first + 1] = (low, high) if first == _OFFSET else (high, low)
    words[_POLES - 1] = data.poles
    return read_payload(axis) + b"".join(word.to_bytes(2, order) for word in words)  # type: ignore[arg-type]


def decode_axis_data(payload: bytes, variant: Variant) -> AxisData | None:
    """The stored data; None where the payload is too short."""
    if len(payload) < _LEAST_BYTES:
        return None
    order = "little" if variant.order == "<" else "big"

    def word(number: int) -> int:
        at = 2 * number
        return int.from_bytes(payload[at : at + 2], order)  # type: ignore[arg-type]

    def angle(high: int, low: int) -> float:
        counts = (word(high) << 16) | word(low)
        # stored as 360 * v * 4 / (65536 * 50) deg: the counts of cyclic packets
        return (counts - (1 << 32) if counts >= 1 << 31 else counts) * ANGLE_COUNT

    return AxisData(angle(_UPPER, _UPPER + 1), angle(_LOWER, _LOWER + 1), angle(_OFFSET + 1, _OFFSET), word(_POLES))
