# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the Mitsubishi PA-10 (Yamada): forward and inverse kinematics in closed form.

    from ada_controllers import pa10_kinematics as pa10

    T = pa10.forward(q, lengths="CE")                          # pose of the hand in the base frame, 4 x 4
    q = pa10.inverse(T, lengths="CE", redundant="s1", value=0.3)  # eight rows of seven angles

Angles are those of S1 S2 S3 E1 E2 W1 W2 [rad]; at zero the arm is vertical. Lengths: "CE" for the PA10-7CE (robot
`pa10`), "7C" for the older PA-10-7C (`pa10_7c`).
"""

from __future__ import annotations

from ada_controllers.arm.pa10_chain import (
    JOINTS,
    LENGTHS,
    Lengths,
    body_jacobian,
    forward,
    joint_limits,
    manipulability,
    spatial_jacobian,
)
from ada_controllers.arm.pa10_inverse import BRANCHES, Solutions, Unreachable, feasible, inverse, inverse_batch

__all__ = [
    "BRANCHES",
    "JOINTS",
    "LENGTHS",
    "Lengths",
    "Solutions",
    "Unreachable",
    "body_jacobian",
    "feasible",
    "forward",
    "inverse",
    "inverse_batch",
    "joint_limits",
    "manipulability",
    "spatial_jacobian",
]
