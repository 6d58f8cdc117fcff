# SPDX-License-Identifier: Apache-2.0
"""Position and Jacobian of a point fixed to a link of a robot model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_robot.safety.tool_rules import ToolState

if TYPE_CHECKING:
    from ada_dynamics.dynamics import Dynamics


class LinkPoint:
    """Point fixed to a link: position p_link + R r, Jacobian J_v - (R r) x J_w."""

    def __init__(self, model: Model, link: str, offset: Sequence[float], columns: Sequence[int]) -> None:
        """Set the point; its kinematics is compiled at first use.

        Args:
            model: robot model; joints that the device lacks are at 0.
            link: link of the point.
            offset: position r in the frame of the link [m].
            columns: indices of the device's joints among those of the model.

        Raises:
            InputError: if the offset is not three finite numbers.
        """
        self._offset = np.array(offset, dtype=np.float64)
        if self._offset.shape != (3,) or not np.isfinite(self._offset).all():
            raise InputError(f"tool_offset is {list(offset)}; give x, y, z in the frame of {link!r} [m].")
        self._model, self._link, self._columns = model, link, list(columns)
        self._q = np.zeros(model.nq)

    @cached_property
    def _dynamics(self) -> Dynamics:
        from ada_dynamics.dynamics import Dynamics  # loads the compiler, which clients do not need

        return Dynamics(self._model)

    def __call__(self, position: Array) -> ToolState:
        """Return position and Jacobian at joint positions [rad, m]."""
        self._q[self._columns] = position
        pose = self._dynamics.pose(self._link, self._q)
        linear, angular = np.vsplit(self._dynamics.jacobian(self._link, self._q)[:, self._columns], 2)
        arm = pose[:3, :3] @ self._offset
        return ToolState(pose[:3, 3] + arm, linear + np.cross(angular, arm, axisa=0, axisb=0, axisc=0))
