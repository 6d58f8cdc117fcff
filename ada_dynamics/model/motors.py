# SPDX-License-Identifier: Apache-2.0
"""The joints of a model that have a motor."""

from __future__ import annotations

from ada_dynamics.model.model import Model


def motor_joints(model: Model) -> list[str]:
    """Joints of one position and one velocity that have a motor."""
    return [
        name
        for name in model.actuated
        if name != model.floating_joint and model.joints[name].nq == 1 and model.joints[name].nv == 1
    ]
