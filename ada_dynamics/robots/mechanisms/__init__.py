# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops: each function returns a model and a configuration that closes all its loops.

model, q = mechanisms.stewart()
"""

from ada_dynamics.robots.mechanisms.bennett import bennett
from ada_dynamics.robots.mechanisms.bricard import bricard
from ada_dynamics.robots.mechanisms.cassie_leg import cassie_leg
from ada_dynamics.robots.mechanisms.delta import delta
from ada_dynamics.robots.mechanisms.five_bar import five_bar
from ada_dynamics.robots.mechanisms.four_bar import four_bar
from ada_dynamics.robots.mechanisms.goldberg import goldberg
from ada_dynamics.robots.mechanisms.gripper import parallel_gripper
from ada_dynamics.robots.mechanisms.hexa import hexa
from ada_dynamics.robots.mechanisms.humanoid import two_feet
from ada_dynamics.robots.mechanisms.ladder import ladder
from ada_dynamics.robots.mechanisms.parts import Mechanism
from ada_dynamics.robots.mechanisms.random_mechanism import random_mechanism
from ada_dynamics.robots.mechanisms.ring import ring
from ada_dynamics.robots.mechanisms.sarrus import sarrus
from ada_dynamics.robots.mechanisms.six_bar import stephenson_six_bar, watt_six_bar
from ada_dynamics.robots.mechanisms.slider_crank import slider_crank
from ada_dynamics.robots.mechanisms.spherical_four_bar import spherical_four_bar
from ada_dynamics.robots.mechanisms.standing import hoap2_reaching, hoap2_standing
from ada_dynamics.robots.mechanisms.stewart import stewart

__all__ = [
    "Mechanism",
    "bennett",
    "bricard",
    "cassie_leg",
    "delta",
    "five_bar",
    "four_bar",
    "goldberg",
    "hexa",
    "hoap2_reaching",
    "hoap2_standing",
    "ladder",
    "parallel_gripper",
    "random_mechanism",
    "ring",
    "sarrus",
    "slider_crank",
    "spherical_four_bar",
    "stephenson_six_bar",
    "stewart",
    "two_feet",
    "watt_six_bar",
]
