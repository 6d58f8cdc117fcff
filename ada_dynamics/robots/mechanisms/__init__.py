# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops: each function returns a model and a configuration that closes all loops.

model, q = mechanisms.stewart()
"""

from ada_dynamics.robots.mechanisms.leg_transmissions import parallel_ankle, parallel_knee
from ada_dynamics.robots.mechanisms.legged import cassie_leg, hoap2_reaching, hoap2_standing, two_feet
from ada_dynamics.robots.mechanisms.linkages import (
    bennett,
    five_bar,
    four_bar,
    ladder,
    parallel_gripper,
    ring,
    slider_crank,
    stephenson_six_bar,
    watt_six_bar,
)
from ada_dynamics.robots.mechanisms.machines import (
    excavator_arm,
    jansen_leg,
    palletiser,
    robotiq_gripper,
    scissor_lift,
)
from ada_dynamics.robots.mechanisms.parallel_robots import delta, hexa, stewart
from ada_dynamics.robots.mechanisms.parts import Mechanism

__all__ = [
    "Mechanism",
    "bennett",
    "cassie_leg",
    "delta",
    "excavator_arm",
    "five_bar",
    "four_bar",
    "hexa",
    "hoap2_reaching",
    "hoap2_standing",
    "jansen_leg",
    "ladder",
    "palletiser",
    "parallel_ankle",
    "parallel_gripper",
    "parallel_knee",
    "ring",
    "robotiq_gripper",
    "scissor_lift",
    "slider_crank",
    "stephenson_six_bar",
    "stewart",
    "two_feet",
    "watt_six_bar",
]
