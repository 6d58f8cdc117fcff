# SPDX-License-Identifier: Apache-2.0
"""The package mcap, which is an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install


def mcap_module(name: str) -> Any:
    """A module of the package mcap.

    Raises:
        InputError: the package is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"recordings (.mcap) need the package mcap: {how_to_install('record')}") from None
