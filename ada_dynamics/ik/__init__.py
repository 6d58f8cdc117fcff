# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of chains, floating bases and mechanisms with loops."""

from ada_dynamics.ik.many import IkResults, solve_many
from ada_dynamics.ik.servo import VelocityStep, velocity
from ada_dynamics.ik.solve import IkResult, solve_ik
from ada_dynamics.ik.tasks import ComTask, OrientationTask, PoseTask, PositionTask, PostureTask, Task

__all__ = [
    "ComTask",
    "IkResult",
    "IkResults",
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
