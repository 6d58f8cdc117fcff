# SPDX-License-Identifier: Apache-2.0
"""Modules of Python that only Linux and macOS have, imported where they are needed, and not before.

So the library, controllers and tools can be imported anywhere, and errors name the missing feature.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ada_robot.errors import HardwareError


def posix_module(name: str, what: str, instead: str = "") -> Any:
    """The module.

    Args:
        name: such as "termios".
        what: it is needed for, as a sentence begins with.
        instead: what can be done on this system, as a sentence.

    Raises:
        HardwareError: this system has none.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError:
        more = f" {instead}" if instead else ""
        raise HardwareError(
            f"{what} needs Linux or macOS: Python has no module {name} on {sys.platform}.{more}"
        ) from None
