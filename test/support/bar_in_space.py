# SPDX-License-Identifier: Apache-2.0
"""Two arms that hold a virtual bar: the robot in space that tests of virtual closed chains share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_controllers import PoseReference
from ada_controllers.virtual_closed_chain import VirtualClosedChain
from ada_experiments import two_arm_bar as arms

Array = NDArray[np.float64]

WEIGHTLESS = (0.0, 0.0, 0.0)
PULL = {
    "link": arms.LEFT,
    "joint_stiffness": [0.0],
    "joint_damping": [0.2],
    "pose_stiffness": [80.0] * 3 + [20.0] * 3,
    "pose_damping": [40.0] * 3 + [10.0] * 3,
    "hold": 1e-3,
}


class Arms:
    """Two arms with a virtual bar between their hands."""

    def __init__(self, base: str, gravity: tuple[float, ...]) -> None:
        self.model = arms.two_arms(base, gravity)
        self.q = arms.start_of(self.model)
        self.bar = arms.with_bar(self.model, self.q)
        self.dynamics = ada.Dynamics(self.model)

    def controller(self, **more: Any) -> VirtualClosedChain:
        return VirtualClosedChain(self.model, {**PULL, **more}, virtual=self.bar)

    def reference(self, x: float, y: float, z: float) -> PoseReference:
        d = self.dynamics
        pose = np.array(np.linalg.solve(d.pose(arms.BODY, self.q), d.pose(arms.LEFT, self.q)))
        pose[:3, 3] += [x, y, z]
        return PoseReference(pose)

    def bar_error(self, q: Array) -> float:
        first = arms.hands_apart(self.dynamics, self.q)
        return max(float(np.abs(arms.hands_apart(self.dynamics, row) - first).max()) for row in q[::50])
