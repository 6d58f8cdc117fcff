# SPDX-License-Identifier: Apache-2.0
"""Connection to an emulator in a separate process, which starts and ends with the connection.

The process starts when the connection is opened, and ends when it is closed or with the process that opened it. The
address may contain faults and settings: "emulator:drop=0.1,fx=20".
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
    """Parse the settings and faults in the address of an emulator.

    Args:
        device: name in the registry.
        url: "emulator:", or "emulator:NAME=VALUE,NAME=VALUE" with names of faults or settings.

    Raises:
        UnknownDevice: the device is unknown.
        InputError: unknown fault or setting, or not a number; the message lists the names.
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
                f"{url}: {name} has no value; write {SCHEME}{name}=NUMBER, separated by commas.", field=name
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
        raise InputError(f"{url}: fault {name} is {text!r}, not a number.", field=name, value=text) from None


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


W = TypeVar("W", bound=Wire)


def open_emulated(
    device: str, url: str, open_wire: Callable[[str], W], settings: Mapping[str, object] | None = None
) -> W:
    """Start an emulator and connect to it; the emulator ends with the connection.

    Args:
        device: name in the registry.
        url: as of `read_address`.
        open_wire: opens a connection by its address.
        settings: settings of the emulator by name; those in the address take precedence.

    Raises:
        UnknownDevice: the device is unknown.
        InputError: invalid address.
        TransportError: the emulator did not start, or the connection cannot be opened.
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
