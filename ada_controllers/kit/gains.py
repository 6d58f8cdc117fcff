# SPDX-License-Identifier: Apache-2.0
"""Gains as users give them: one number for all joints, or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError

if TYPE_CHECKING:
    from ada_controllers.controller import Controller


def per_joint(controller: Controller[Any], setting: str, values: Sequence[float]) -> Array:
    """A number for each commanded joint.

    Raises:
        InputError: neither one number nor as many as joints.
    """
    count = len(controller.joints)
    if len(values) not in (1, count):
        raise InputError(
            f"{controller.NAME}: {setting} has {len(values)} numbers; give one for all joints, or {count}, one for "
            f"each of {', '.join(controller.joints)}."
        )
    return np.full(count, values[0]) if len(values) == 1 else np.array(values)
