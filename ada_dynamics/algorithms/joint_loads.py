# SPDX-License-Identifier: Apache-2.0
"""Joint efforts in a simulation: soft stops at limits, friction that can hold, and servos.

A stop has the effort k δ (1 + d δ̇), not less than zero, at the depth δ beyond the limit: continuous at its onset, and
without adhesion. The limit on the total rotation of a spherical joint acts along the rotation axis.
Coulomb friction is -f v / √(v² + v_s²): under a load below its limit a joint creeps.

With a time step h the efforts are linearly implicit, like those of `algorithms.contact`: h D + h² K is added to the
armature of the joint. The viscous damping of joints, which remains in `algorithms.passive`, adds h times its constant;
a spring of stiffness k, which also remains there, reduces its effort by h k v and adds h² k.

The effort of a servo is τ = τ_ff + k (q* - q) + d (v* - v), limited to that of the motor. With a time step h, τ at the
end of the step is τ - h k v - (h d + h² k) a to first order, whose last term is an armature. A saturated motor has no
armature of this kind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ada_dynamics import expr
from ada_dynamics.algorithms.contact import Law, normal_force
from ada_dynamics.model.elements import Bound
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.spatial.vector import ZERO, Scalar, is_zero, product


class Stop(NamedTuple):
    """Soft stops at the bounds of one quantity of a joint."""

    body: int
    bound: Bound
    stiffness: Scalar  # k [N m/rad] or [N/m]
    damping: Scalar  # d [s/rad] or [s/m]


class Effort(NamedTuple):
    """An effort, and the armature that it adds in a linearly implicit step."""

    effort: Scalar
    armature: Scalar


def stop_effort(stop: Stop, q: Scalar, v: Scalar, step: Scalar | None) -> Effort:
    """Effort of both limits on the bounded quantity, for its value and rate."""
    effort, armature = ZERO, ZERO
    # Hunt and Crossley's factor is 1 + 3/2 e δ̇
    law = Law(stop.stiffness, 1.0, stop.damping * (1.0 / 1.5), 0.0, 1.0)
    for limit, side in ((stop.bound.lower, 1.0), (stop.bound.upper, -1.0)):
        if limit is None:
            continue
        push = normal_force(law, side * (limit - q), -side * v)
        if step is None:
            effort = effort + side * push.force
            continue
        coming = push.force - step * (push.by_depth * (side * v))
        effort = effort + side * expr.maximum(coming, 0.0)
        armature = armature + expr.select(0.0, coming, step * (push.by_rate + step * push.by_depth), 0.0)
    return Effort(effort, armature)


def friction_effort(body: Body, rate: Scalar, friction_speed: Scalar, step: Scalar | None) -> Effort:
    """Coulomb friction of one velocity of a joint, whose implicit part is the secant f / √(v² + v_s²).

    With a step, the change of damping and spring efforts within it, relative to its start, is added.
    """
    resistance = ZERO
    if not is_zero(body.friction):
        resistance = body.friction * (1.0 / expr.sqrt(rate * rate + friction_speed * friction_speed))
    effort = -(resistance * rate)
    if step is None:
        return Effort(effort, 0.0)
    pull = step * body.stiffness
    return Effort(effort - pull * rate, step * resistance + step * (body.damping + pull))


class _Sums:
    """Efforts on all joints and additional armature, summed by coordinate."""

    def __init__(self, tree: Tree) -> None:
        self.efforts: list[Scalar] = [0.0] * tree.nv
        self.armature: list[Scalar] = [0.0] * tree.nv

    def put(self, i: int, body: Body, own: Effort) -> None:
        """Add an effort; that of a mimicking joint acts on the coordinate of the joint that it mimics."""
        self.efforts[i] = self.efforts[i] + body.multiplier * own.effort
        self.armature[i] = self.armature[i] + body.multiplier**2 * own.armature


def joint_loads(
    tree: Tree,
    stops: Sequence[Stop],
    friction_speed: Scalar,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    step: Scalar | None = None,
) -> tuple[list[Scalar], list[Scalar]]:
    """Efforts on all joints, to be added to τ, and additional armature (zeros without a step).

    The equations of motion must use `without_friction(tree)`, since friction is included here. Below `friction_speed`,
    v_s, friction is close to viscous [rad/s] or [m/s]. `step` is h of the linearly implicit law [s]; None for the law.
    """
    total = _Sums(tree)
    for body in tree.bodies:
        for i, rate in zip(range(body.v.start, body.v.stop), body.velocities(v), strict=True):
            total.put(i, body, friction_effort(body, rate, friction_speed, step))
    for stop in stops:
        body = tree.bodies[stop.body]
        at = body.positions(q)
        directions = stop.bound.directions(at)
        own = stop_effort(stop, stop.bound.value(at), product(directions, body.velocities(v)), step)
        # m d dᵀ of the armature along a direction d is at most diag(m |dᵢ| Σ|d|), which is as stable and diagonal
        size = sum((expr.absolute(d) for d in directions), ZERO)
        for i, d in zip(range(body.v.start, body.v.stop), directions, strict=True):
            total.put(i, body, Effort(d * own.effort, expr.absolute(d) * (size * own.armature)))
    return total.efforts, total.armature


def without_friction(tree: Tree) -> Tree:
    """The same tree without Coulomb friction of its joints; viscous damping remains."""
    return replace(tree, bodies=tuple(replace(body, friction=0.0) for body in tree.bodies))


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
    """Effort of one servo, and with a time step the armature that makes its law implicit."""
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
    """Efforts on all joints, to be added to τ, and additional armature (zeros without a step).

    The commands are `ServoCommand`s of all servos, concatenated; `step` is as for `joint_loads`.
    """
    total = _Sums(tree)
    for i, servo in enumerate(servos):
        body = tree.bodies[servo.body]
        (position,), (rate,) = body.positions(q), body.velocities(v)
        command = ServoCommand(*commands[COMMAND_SIZE * i : COMMAND_SIZE * (i + 1)])
        total.put(body.v.start, body, servo_effort(servo.limit, command, position, rate, step))
    return total.efforts, total.armature
