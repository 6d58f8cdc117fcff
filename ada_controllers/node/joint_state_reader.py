# SPDX-License-Identifier: Apache-2.0
"""Conversion of joint states by name to positions and velocities of a model; no ROS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model

_MOST_NAMED = 8  # maximum number of missing joints listed in a message


class JointStateReader:
    """Reads sensor_msgs/JointState messages that contain all joints of a model, in any order."""

    def __init__(self, model: Model) -> None:
        """Set the joints.

        Args:
            model: robot model whose joints have one position each.

        Raises:
            InputError: if a joint has several positions.
        """
        self._names = model.joint_names
        other = [name for name in self._names if model.joints[name].nq != 1 or model.joints[name].nv != 1]
        if other:
            raise InputError(
                f"joint {other[0]!r} of {model.name!r} has several positions, which joint_states cannot represent. Use "
                "the exact state (state_source: state), or base: fixed for a fixed robot.",
                joint=other[0],
            )
        self._given: list[str] = []
        self._order: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def read(self, message: Any) -> tuple[Array, Array, Array | None]:
        """Return positions, velocities and, if available, efforts of the model's joints.

        Raises:
            InputError: if joints or values are missing.
        """
        names = message.name
        if names != self._given:
            self._order = self._order_of(names)
            self._given = list(names)
        count = len(names)
        position, velocity, effort = message.position, message.velocity, message.effort
        if len(position) != count or len(velocity) != count:
            raise InputError(
                f"{count} names, {len(position)} positions and {len(velocity)} velocities; a controller needs a "
                "position and a velocity for each name.",
                field="position" if len(position) != count else "velocity",
                allowed=count,
            )
        order = self._order
        return (
            np.array(position)[order],
            np.array(velocity)[order],
            np.array(effort)[order] if len(effort) == count else None,
        )

    def _order_of(self, names: list[str]) -> NDArray[np.intp]:
        place = {name: i for i, name in enumerate(names)}
        if len(place) != len(names):
            raise InputError("duplicate joint names; name each joint once.", field="name", value=names)
        missing = [name for name in self._names if name not in place]
        if missing:
            more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
            raise InputError(
                f"missing joints {', '.join(missing[:_MOST_NAMED])}{more}; one message must contain all joints of the "
                "controller's model.",
                field="name",
                joint=missing[0],
                value=missing,
            )
        return np.array([place[name] for name in self._names], dtype=np.intp)
