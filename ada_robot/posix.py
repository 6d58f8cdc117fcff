# SPDX-License-Identifier: Apache-2.0
"""Import of Python modules that exist on Linux and macOS only.

They are imported at first use, so that libraries, controllers and tools can be imported on every system.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from ada_robot.errors import HardwareError


def posix_module(name: str, what: str, instead: str = "") -> Any:
    """Import a module of POSIX systems.

    Args:
        name: module name, such as "termios".
        what: feature that needs it; start of the error message.
        instead: alternative on this system, as a sentence.

    Raises:
        HardwareError: if the system lacks the module.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError:
        more = f" {instead}" if instead else ""
        raise HardwareError(
            f"{what} needs Linux or macOS: Python has no module {name} on {sys.platform}.{more}"
        ) from None
