# SPDX-License-Identifier: Apache-2.0
"""USB converters by their numbers, and which devices may hang on them.

Numbers: docs/force_sensors.md (DynPick's CP210x); Linux, drivers/usb/serial/ftdi_sio_ids.h (FTDI, Kondo).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ada_hardware.registry import DEVICES


class Converter(NamedTuple):
    """A kind of USB converter.

    Attributes:
        name: what it is.
        may_be: devices of the registry that may hang on it, the likeliest first; empty: any with a serial line.
    """

    name: str
    may_be: tuple[str, ...] = ()


_ANY_VERSION = -1

CONVERTERS: Mapping[tuple[int, int], Converter] = MappingProxyType(
    {
        (0x10C4, 0xEA60): Converter("Silicon Labs CP210x, as in DynPick's USB model", ("dynpick", "khr1", "khr3")),
        (0x165C, 0x0002): Converter("Kondo's USB adapter", ("khr3", "khr1")),
        (0x165C, _ANY_VERSION): Converter("Kondo's USB adapter", ("khr3", "khr1")),
        (0x0403, 0x6001): Converter("FTDI FT232R", ("khr1", "khr3")),
        (0x0403, 0x6014): Converter("FTDI FT232H", ("khr1", "khr3")),
        (0x0403, 0x6015): Converter("FTDI FT-X", ("khr1", "khr3")),
    }
)
SERIAL = tuple(one.name for one in DEVICES.values() if one.is_serial)


def converter(vendor: int | None, product: int | None) -> Converter:
    """The kind of a converter; of an unknown one its devices are all that have a serial line."""
    if vendor is None or product is None:
        return Converter("built in", SERIAL)
    found = CONVERTERS.get((vendor, product)) or CONVERTERS.get((vendor, _ANY_VERSION))
    return found or Converter("unknown converter", SERIAL)
