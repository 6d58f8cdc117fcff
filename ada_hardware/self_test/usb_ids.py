# SPDX-License-Identifier: Apache-2.0
"""USB converters by vendor and product ID, and the devices that use them.

IDs: docs/force_sensors.md (DynPick's CP210x); Linux, drivers/usb/serial/ftdi_sio_ids.h (FTDI, Kondo).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ada_hardware.registry import DEVICES


class Converter(NamedTuple):
    """Kind of USB converter.

    Attributes:
        name: description.
        may_be: possible devices of the registry, the most likely first; empty: any serial device.
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
    """Return the kind of a converter; an unknown one may be used by any serial device."""
    if vendor is None or product is None:
        return Converter("built in", SERIAL)
    found = CONVERTERS.get((vendor, product)) or CONVERTERS.get((vendor, _ANY_VERSION))
    return found or Converter("unknown converter", SERIAL)
