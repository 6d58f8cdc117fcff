# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of chains, floating bases and mechanisms with loops."""

from ada_dynamics.ik.solver import IkResult, IkResults, VelocityStep, solve_ik, solve_many, velocity
from ada_dynamics.ik.tasks import ComTask, LinkTask, OrientationTask, PoseTask, PositionTask, PostureTask, Task

__all__ = [
    "ComTask",
    "IkResult",
    "IkResults",
    "LinkTask",
    "OrientationTask",
    "PoseTask",
    "PositionTask",
    "PostureTask",
    "Task",
    "VelocityStep",
    "solve_ik",
    "solve_many",
    "velocity",
]
