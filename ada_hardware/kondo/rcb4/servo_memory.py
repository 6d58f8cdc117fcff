# SPDX-License-Identifier: Apache-2.0
"""Servo data in the RAM of an RCB-4: read commands and decoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_hardware.kondo.rcb4 import commands as c
from ada_hardware.kondo.rcb4.messages import ReadRam

_FROM, _UP_TO = c.TRIM, c.TARGET + 2  # range of the bytes read per servo


class ServoData(NamedTuple):
    """Data of a servo in the RAM of the board.

    Attributes:
        trim: offset added to every target, in counts.
        measured: measured position including trim, in counts.
        target: commanded position without trim, in counts, or FREE.
    """

    trim: int
    measured: int
    target: int


class Block(NamedTuple):
    """Read command and the servos whose data it returns.

    Attributes:
        command: read command.
        servos: ICS numbers.
    """

    command: ReadRam
    servos: tuple[int, ...]

    def decode(self, data: bytes) -> list[ServoData]:
        """Decode the data of a reply."""
        found = []
        for servo in self.servos:
            at = c.device_address(servo, _FROM) - self.command.address
            words = [data[at + i : at + i + 2] for i in (0, 2, 4)]
            found.append(
                ServoData(
                    int.from_bytes(words[0], "little", signed=True),
                    int.from_bytes(words[1], "little"),
                    int.from_bytes(words[2], "little"),
                )
            )
        return found


def blocks(servos: Sequence[int]) -> list[Block]:
    """Return the smallest number of read commands that cover the given ICS numbers."""
    found: list[list[int]] = []
    for servo in sorted(servos):
        if found and _size(found[-1][0], servo) <= c.LONGEST_DATA:
            found[-1].append(servo)
        else:
            found.append([servo])
    return [Block(ReadRam(c.device_address(g[0], _FROM), _size(g[0], g[-1])), tuple(g)) for g in found]


def _size(first: int, last: int) -> int:
    return (last - first) * c.DEVICE_SIZE + _UP_TO - _FROM
