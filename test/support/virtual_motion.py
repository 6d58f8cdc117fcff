# SPDX-License-Identifier: Apache-2.0
"""The planar robot of Takahashi 2012, chapter 7, under a virtual closed chain: what tests ask of its motion."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_controllers import JointReference
from ada_controllers.in_simulation import InSimulation

Array = NDArray[np.float64]


def angle(degrees: float) -> JointReference:
    """A target of the first joint."""
    return JointReference(np.array([np.radians(degrees), 0.0, 0.0, 0.0]))


def moved(controller: Any, q: Array, reference: Any, duration: float, **more: Any) -> tuple[Any, InSimulation]:
    """The log of a simulation, and the loop that ran in it."""
    loop = InSimulation(controller, reference, period=1e-3, **more)
    return loop.simulation(controller.model, q, step=1e-3).run(duration), loop


def off_parallel(q: Array) -> float:
    """How far joints are, at most, from where a parallel four-bar has them [rad]."""
    turned = (q - q[0]) * [1.0, -1.0, 1.0, -1.0]
    return float(np.abs(turned - turned[:, :1]).max())
