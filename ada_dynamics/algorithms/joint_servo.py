# SPDX-License-Identifier: Apache-2.0
"""Servos of joints: a motor that pulls its joint towards a commanded position and velocity.

τ = τ_ff + k (q* - q) + d (v* - v), no more than the motor can give. With a time step h the law is linearly implicit, as
those of `algorithms.joint_loads`: τ at the end of the step is τ - h k v - (h d + h² k) a to first order, whose last
term is an armature. A motor at its limit gives that, whatever the joint does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ada_dynamics import expr
from ada_dynamics.algorithms.joint_loads import Effort
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Scalar


class Servo(NamedTuple):
    """The servo of a joint with one position and one velocity."""

    body: int
    limit: float = math.inf  # of its effort [N m] or [N]


class ServoCommand(NamedTuple):
    """Command to a servo."""

    position: Scalar  # q* [rad] or [m]
    velocity: Scalar  # v* [rad/s] or [m/s]
    effort: Scalar  # τ_ff [N m] or [N]
    stiffness: Scalar  # k [N m/rad] or [N/m]
    damping: Scalar  # d [N m s/rad] or [N s/m]


COMMAND_SIZE = len(ServoCommand._fields)


def servo_effort(limit: float, command: ServoCommand, q: Scalar, v: Scalar, step: Scalar | None = None) -> Effort:
    """Of one servo, on the joint's own position and velocity; without a step the law itself, and no armature."""
    wanted = command.effort + (command.stiffness * (command.position - q) + command.damping * (command.velocity - v))
    armature: Scalar = 0.0
    if step is not None:
        wanted = wanted - step * (command.stiffness * v)
        armature = step * (command.damping + step * command.stiffness)
    if math.isinf(limit):
        return Effort(wanted, armature)
    given = expr.maximum(expr.minimum(wanted, limit), -limit)
    if step is not None:
        armature = expr.select(expr.absolute(wanted), limit, armature, 0.0)
    return Effort(given, armature)


def servo_efforts(
    tree: Tree,
    servos: Sequence[Servo],
    commands: Sequence[Scalar],
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    step: Scalar | None = None,
) -> tuple[list[Scalar], list[Scalar]]:
    """Efforts on all joints, to add to τ, and what to add to their armature (zeros without a step).

    Args:
        tree: the mechanism.
        servos: of its joints.
        commands: `ServoCommand`s of all, one after another.
        q: positions.
        v: velocities.
        step: h of the linearly implicit law [s]; None for the law itself.
    """
    efforts: list[Scalar] = [0.0] * tree.nv
    armature: list[Scalar] = [0.0] * tree.nv
    for i, servo in enumerate(servos):
        body = tree.bodies[servo.body]
        (position,), (rate,) = body.positions(q), body.velocities(v)
        command = ServoCommand(*commands[COMMAND_SIZE * i : COMMAND_SIZE * (i + 1)])
        own = servo_effort(servo.limit, command, position, rate, step)
        # of a joint that mimics another, that one's coordinate gets the effort
        efforts[body.v.start] = efforts[body.v.start] + body.multiplier * own.effort
        armature[body.v.start] = armature[body.v.start] + body.multiplier**2 * own.armature
    return efforts, armature
