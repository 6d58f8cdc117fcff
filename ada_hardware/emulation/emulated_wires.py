# SPDX-License-Identifier: Apache-2.0
"""Real wires, a pseudo-terminal or UDP, to an emulator in a process of its own, which begins and ends with the wire.

The device is switched on when its wire is opened, and off when it is closed, or with the process that opened it. The
address may have its faults and settings: "emulator:drop=0.1,fx=20".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

from ada_dynamics.errors import InputError, unknown_name
from ada_hardware.emulation.catalogue import emulator_class
from ada_hardware.emulation.faults import WIRE_FAULTS, base_name
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.transport.wires import Wire
from ada_robot.settings import fields_of

SCHEME = "emulator:"


def read_address(device: str, url: str) -> tuple[dict[str, object], dict[str, float]]:
    """Settings of an emulator, and faults of it and its wire, in an address; both by name.

    Args:
        device: its name in the registry.
        url: "emulator:", or "emulator:NAME=VALUE,NAME=VALUE" with names of faults or settings.

    Raises:
        UnknownDevice: there is no such device.
        InputError: there is no such fault or setting, or it is no number; the message lists the names.
    """
    kind = emulator_class(device)
    known = {one.name for one in fields_of(kind.SETTINGS)}
    settings: dict[str, object] = {}
    faults: dict[str, float] = {}
    for part in url.removeprefix(SCHEME).split(","):
        name, sign, text = part.partition("=")
        if not part:
            continue
        is_fault = name in kind.FAULTS or base_name(name) in WIRE_FAULTS
        if not is_fault and name not in known:
            names = sorted({*known, *kind.FAULTS, *WIRE_FAULTS})
            text = f"{url}: {unknown_name(f'fault or setting of an emulated {device}', name, names)}"
            raise InputError(text, field="url", value=name, allowed=tuple(names))
        if not sign or not text:
            raise InputError(
                f"{url}: {name} has no value; write {SCHEME}{name}=NUMBER, and a comma before the next.", field=name
            )
        if is_fault:
            faults[name] = _number(url, name, text)
        else:
            settings[name] = _value(text)
    return settings, faults


def _number(url: str, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{url}: fault {name} is {text!r}; it must be a number.", field=name, value=text) from None


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


W = TypeVar("W", bound=Wire)


def open_emulated(
    device: str, url: str, open_wire: Callable[[str], W], settings: Mapping[str, object] | None = None
) -> W:
    """Switch a device on, and open its wire; the device goes off with it.

    Args:
        device: its name in the registry.
        url: as of `read_address`.
        open_wire: opens a wire by its address.
        settings: of the emulator, by name; those in the address come before them.

    Raises:
        UnknownDevice: there is no such device.
        InputError: the address cannot be.
        TransportError: it did not start, or its wire cannot be opened.
    """
    more, faults = read_address(device, url)
    started = EmulatorProcess(device, {**(settings or {}), **more}, faults=faults)
    try:
        wire = open_wire(started.url)
    except BaseException:
        started.close()
        raise
    wire.device, wire.url = started, f"{url if url != SCHEME else SCHEME + device} ({started.url})"
    return wire
