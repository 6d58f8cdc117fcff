# SPDX-License-Identifier: Apache-2.0
"""Real wires, a pseudo-terminal or UDP, to an emulator in a process of its own, which begins and ends with the wire.

The device is switched on when its wire is opened, and off when it is closed, or with the process that opened it. The
address may have its faults and settings: "emulator:drop=0.1,fx=20".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.settings import fields_of
from ada_hardware.emulation.catalogue import emulator_class
from ada_hardware.emulation.faults import WIRE_FAULTS, base_name
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.transport.wires import ByteStream, PacketPort, Serial, open_packets, open_stream

SCHEME = "emulator:"


class EmulatorAddress(NamedTuple):
    """What an address says of a device.

    Attributes:
        settings: of the emulator, by name.
        faults: of the wire and of the device, by name.
    """

    settings: dict[str, object]
    faults: dict[str, float]


def read_address(device: str, url: str) -> EmulatorAddress:
    """Faults and settings in an address.

    Args:
        device: its name in the registry.
        url: "emulator:", or "emulator:NAME=VALUE,NAME=VALUE" with names of faults or settings.

    Raises:
        UnknownDevice: there is no such device.
        InputError: there is no such fault or setting, or it is no number; the message lists the names.
    """
    kind = emulator_class(device)
    known = {one.name for one in fields_of(kind.SETTINGS)}
    found = EmulatorAddress({}, {})
    for part in url.removeprefix(SCHEME).split(","):
        name, sign, text = part.partition("=")
        if not part:
            continue
        is_fault = name in kind.FAULTS or base_name(name) in WIRE_FAULTS
        if not is_fault and name not in known:
            names = sorted({*known, *kind.FAULTS, *WIRE_FAULTS})
            raise InputError(f"{url}: {unknown_name(f'fault or setting of an emulated {device}', name, names)}")
        if not sign or not text:
            raise InputError(f"{url}: {name} has no value; write {SCHEME}{name}=NUMBER, and a comma before the next.")
        if is_fault:
            found.faults[name] = _number(url, name, text)
        else:
            found.settings[name] = _value(text)
    return found


def _number(url: str, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{url}: fault {name} is {text!r}; it must be a number.") from None


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _started(device: str, url: str, settings: Mapping[str, object] | None) -> EmulatorProcess:
    address = read_address(device, url)
    settings = {**(settings or {}), **address.settings}
    return EmulatorProcess(device, settings, faults=address.faults)


def _name(device: str, url: str, found: EmulatorProcess) -> str:
    """As messages have it."""
    return f"{url if url != SCHEME else SCHEME + device} ({found.url})"


class EmulatedStream(ByteStream):
    """A serial line to an emulated device.

    Attributes:
        device: the emulator; faults and questions go to it.
    """

    def __init__(self, device: str, url: str, serial: Serial, settings: Mapping[str, object] | None = None) -> None:
        """Switch a device on, and open its line.

        Args:
            device: its name in the registry.
            url: as of `read_address`.
            serial: how the line is set.
            settings: of the emulator, by name; those in the address come before them.

        Raises:
            UnknownDevice: there is no such device.
            InputError: the address cannot be.
            TransportError: it did not start, or its line cannot be opened.
        """
        self.device = _started(device, url, settings)
        try:
            self._wire = open_stream(self.device.url, serial)
        except BaseException:
            self.device.close()
            raise
        self.url = _name(device, url, self.device)

    def write(self, data: bytes) -> None:  # noqa: D102
        self._wire.write(data)

    def read(self, limit: int, timeout: float) -> bytes:  # noqa: D102
        return self._wire.read(limit, timeout)

    def discard_input(self) -> None:  # noqa: D102
        self._wire.discard_input()

    def close(self) -> None:  # noqa: D102
        self._wire.close()
        self.device.close()


class EmulatedPackets(PacketPort):
    """A way for packets to an emulated device.

    Attributes:
        device: the emulator; faults and questions go to it.
        http_url: address of the device's web pages; "": it has none.
    """

    def __init__(self, device: str, url: str, settings: Mapping[str, object] | None = None) -> None:
        """Switch a device on, and open the way to it; arguments and errors as of `EmulatedStream`."""
        self.device = _started(device, url, settings)
        try:
            self._wire = open_packets(self.device.url)
        except BaseException:
            self.device.close()
            raise
        self.url, self.http_url = _name(device, url, self.device), self.device.http_url

    def send(self, packet: bytes) -> None:  # noqa: D102
        self._wire.send(packet)

    def receive(self, timeout: float) -> bytes | None:  # noqa: D102
        return self._wire.receive(timeout)

    def discard_input(self) -> None:  # noqa: D102
        self._wire.discard_input()

    def close(self) -> None:  # noqa: D102
        self._wire.close()
        self.device.close()
