# SPDX-License-Identifier: Apache-2.0
"""Emulators by name: those of the registry, and user classes as "module:class"."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ada_hardware.emulation.emulator import Emulator
from ada_hardware.registry import DEVICES, find
from ada_robot.errors import UnknownDevice
from ada_robot.settings import checked


def emulator_class(name: str) -> type[Emulator[Any]]:
    """Return the emulator class of a device.

    Args:
        name: name in the registry, or "module:class".

    Raises:
        UnknownDevice: no such emulator.
    """
    if ":" not in name:
        return find(name).emulator_class()
    module, _, one = name.partition(":")
    try:
        found = getattr(import_module(module), one)
    except (ImportError, AttributeError, ValueError) as problem:
        raise UnknownDevice(
            f"no emulator {name!r}: {problem}. Use one of {', '.join(DEVICES)}, or module:class.",
            field="emulator",
            value=name,
            allowed=tuple(DEVICES),
        ) from None
    if not (isinstance(found, type) and issubclass(found, Emulator)):
        text = f"{name!r} is not an emulator; it must be a subclass of {Emulator.__module__}.Emulator."
        raise UnknownDevice(text, field="emulator", value=name)
    return found


def made_emulator(name: str, settings: Mapping[str, object] | None = None) -> Emulator[Any]:
    """Create an emulator.

    Args:
        name: as of `emulator_class`.
        settings: settings by name; missing ones have their defaults.

    Raises:
        UnknownDevice: no such emulator.
        InputError: unknown setting or invalid value.
    """
    kind = emulator_class(name)
    return kind(checked(kind.SETTINGS, settings or {}))
