# SPDX-License-Identifier: Apache-2.0
"""A leg on three revolute joints whose axes meet, and the same leg on one spherical joint."""

from functools import cache

import ada_dynamics as ada
from ada_dynamics.model.edit import merge_turns
from ada_dynamics.model.elements import Limits

HIP = ((-1.2, 1.0), (-0.5, 0.6), (2.0, 4.0))  # the last one across half a turn [rad]


@cache
def hip(off: float = 0.0, along: float = 0.0, gravity: float = -9.81, has_knee: bool = True) -> ada.Model:
    """Yaw, roll and pitch, in frames that are turned; the second axis off the others, the last frame along its axis."""
    builder = ada.Builder("leg").link("base").link("a").link("b")
    builder.link("leg", 2.0, (0.02, -0.03, 0.3), (0.05, 0.06, 0.02, 0.004, -0.003, 0.002))
    yaw, roll, pitch = (Limits(*pair) for pair in HIP)
    builder.joint("yaw", "revolute", "base", "a", (0, 0, 1), (0.2, 0.1, 0.3), axis=(0, 0, 1), limits=yaw)
    builder.joint("roll", "revolute", "a", "b", (0, off, 0.05), (0.0, 0.0, 0.4), axis=(1, 0, 0), limits=roll)
    builder.joint("pitch", "revolute", "b", "leg", (0, along, 0), axis=(0, 1, 0), limits=pitch)
    if has_knee:
        builder.link("shin", 1.0, (0, 0, 0.2), (0.02, 0.02, 0.001))
        builder.joint("knee", "revolute", "leg", "shin", (0, 0, 0.5), axis=(0, 1, 0), limits=Limits(0.0, 2.0))
    return builder.build(gravity=(0, 0, gravity))


@cache
def merged_hip(gravity: float = -9.81, has_knee: bool = True) -> ada.Model:
    return merge_turns(hip(gravity=gravity, has_knee=has_knee), ("yaw", "roll", "pitch"), "hip")
