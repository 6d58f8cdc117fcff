# SPDX-License-Identifier: Apache-2.0
"""Joint states by name as positions and velocities of a model; no ROS."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model

_MOST_NAMED = 8  # in a message about what is missing


class JointStateReader:
    """Reads sensor_msgs/JointState. More joints than the model has are fine, in any order; fewer are not."""

    def __init__(self, model: Model) -> None:
        """Prepare.

        Args:
            model: every joint has one position.

        Raises:
            InputError: a joint has more than one.
        """
        self._names = model.joint_names
        other = [name for name in self._names if model.joints[name].nq != 1 or model.joints[name].nv != 1]
        if other:
            raise InputError(
                f"joint {other[0]!r} of {model.name!r} has several positions, which joint_states do not hold. Take the "
                "exact state (state_source: state), or base: fixed for a model that is held.",
                joint=other[0],
            )
        self._given: list[str] = []
        self._order: NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def read(self, message: Any) -> tuple[Array, Array, Array | None]:
        """Positions, velocities and, where it has them, efforts of the model's joints.

        Raises:
            InputError: joints are missing, or numbers.
        """
        names = message.name
        if names != self._given:
            self._order = self._order_of(names)
            self._given = list(names)
        count = len(names)
        position, velocity, effort = message.position, message.velocity, message.effort
        if len(position) != count or len(velocity) != count:
            raise InputError(
                f"{count} names, {len(position)} positions and {len(velocity)} velocities; a controller needs one of "
                "each for every name.",
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
            raise InputError("a joint is named twice; each may be there once.", field="name", value=names)
        missing = [name for name in self._names if name not in place]
        if missing:
            more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
            raise InputError(
                f"joints {', '.join(missing[:_MOST_NAMED])}{more} are missing; one message must hold all joints of the "
                "controller's model.",
                field="name",
                joint=missing[0],
                value=missing,
            )
        return np.array([place[name] for name in self._names], dtype=np.intp)
