# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops: each function returns a model and a configuration that closes all loops.

model, q = mechanisms.stewart()

The catalogue has these and further mechanisms as URDF files.
"""

from ada_dynamics.robots.mechanisms.linkages import five_bar, four_bar, ladder
from ada_dynamics.robots.mechanisms.parallel_robots import delta, hexa, stewart
from ada_dynamics.robots.mechanisms.parts import Mechanism

__all__ = ["Mechanism", "delta", "five_bar", "four_bar", "hexa", "ladder", "stewart"]
