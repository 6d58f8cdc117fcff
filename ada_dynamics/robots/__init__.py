# SPDX-License-Identifier: Apache-2.0
"""Robot descriptions: catalogue, readers, writers, checks and parametric mechanisms.

The module is callable: `ada.robots()` lists the catalogue.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ada_dynamics.robots.catalogue import RobotList


class _Robots(ModuleType):
    """Callable module, so that `ada.robots()` and `ada.robots.load` both work."""

    def __call__(self) -> RobotList:
        from ada_dynamics.robots.catalogue import robots

        return robots()


sys.modules[__name__].__class__ = _Robots
