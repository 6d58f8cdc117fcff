# SPDX-License-Identifier: Apache-2.0
"""Robots by name, from files and from parameters: catalogue, readers, writers, checks of descriptions, mechanisms.

Called, `ada.robots()`, it lists those of the catalogue.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ada_dynamics.robots.catalogue import RobotList


class _Robots(ModuleType):
    """This module, which can be called as well: names such as `ada.robots.load` stay where they are."""

    def __call__(self) -> RobotList:
        from ada_dynamics.robots.catalogue import robots

        return robots()


sys.modules[__name__].__class__ = _Robots
