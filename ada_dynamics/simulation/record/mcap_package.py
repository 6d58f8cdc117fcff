# SPDX-License-Identifier: Apache-2.0
"""The package mcap, which is an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ada_dynamics.errors import InputError


def mcap_module(name: str) -> Any:
    """A module of the package mcap.

    Raises:
        InputError: the package is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InputError("recordings (.mcap) need the package mcap: pip install 'ada_dynamics[record]'") from None
