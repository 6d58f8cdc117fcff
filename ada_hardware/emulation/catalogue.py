# SPDX-License-Identifier: Apache-2.0
"""Emulators by name: those of the registry, and anybody's own as "module:class"."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ada_hardware.emulation.emulator import Emulator
from ada_hardware.registry import DEVICES, find
from ada_robot.errors import UnknownDevice
from ada_robot.settings import checked


def emulator_class(name: str) -> type[Emulator[Any]]:
    """The emulator of a device.

    Args:
        name: of the registry, or "module:class".

    Raises:
        UnknownDevice: there is none.
    """
    if ":" not in name:
        return find(name).emulator_class()
    module, _, one = name.partition(":")
    try:
        found = getattr(import_module(module), one)
    except (ImportError, AttributeError, ValueError) as problem:
        raise UnknownDevice(
            f"there is no emulator {name!r}: {problem}. Give one of {', '.join(DEVICES)}, or module:class of your own.",
            field="emulator",
            value=name,
            allowed=tuple(DEVICES),
        ) from None
    if not (isinstance(found, type) and issubclass(found, Emulator)):
        text = f"{name!r} is no emulator; it must be a class made from {Emulator.__module__}.Emulator."
        raise UnknownDevice(text, field="emulator", value=name)
    return found


def made_emulator(name: str, settings: Mapping[str, object] | None = None) -> Emulator[Any]:
    """An emulator, switched on.

    Args:
        name: as of `emulator_class`.
        settings: by name; the others keep their defaults.

    Raises:
        UnknownDevice: there is no such emulator.
        InputError: an unknown setting, or a value that it cannot have.
    """
    kind = emulator_class(name)
    return kind(checked(kind.SETTINGS, settings or {}))
