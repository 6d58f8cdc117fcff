# SPDX-License-Identifier: Apache-2.0
"""Equations of virtual closed chains over generic scalars (Takahashi 2012, sec. 7.1 and 7.2).

FD of the mechanism with loops yields accelerations, ID of the robot without them the corresponding efforts:

    a* = FD(q, v, 0, F^ex)      (7.5)
    τ* = ID(q, v, a*)           (7.4)

A robot with a closure error is led back by the acceleration of least kinetic energy:
J a* + γ = -k_d J v - k_p gap instead of J a* + γ = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ada_controllers.virtual.mechanism import VirtualMechanism
from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.kinematics import link_pose, position_rates
from ada_dynamics.algorithms.kkt import ConstrainedSolution
from ada_dynamics.algorithms.ldl import factorise_dense
from ada_dynamics.algorithms.rnea import inverse_dynamics
from ada_dynamics.dynamics import closed_quantities
from ada_dynamics.dynamics.quantities import of_tree, position_guards
from ada_dynamics.expr import Traced
from ada_dynamics.model.tree import for_efforts
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, ZERO3, Scalar, Vec3, cross

Vector = Sequence[Scalar]

REGULAR = 1e-4  # minimum relative pivot of the compiled law; the square of a relative singular value


class Follow(NamedTuple):
    """Reference and gains, for each actuated joint, and for the pose of the link."""

    position: Vector  # q^des
    velocity: Vector
    joint_stiffness: Vector  # K_p of eq. 7.9
    joint_damping: Vector
    pose: Vector  # X_e^des: three columns of its rotation, then its position, in the base frame
    twist: Vector  # V_e^des: [linear, angular], in the base frame
    pose_stiffness: Vector  # K_p of eq. 7.15, [f, n]
    pose_damping: Vector


class Path(NamedTuple):
    """Path feedback: remaining difference, feedforward velocities and accelerations, and gains."""

    error: Vector
    velocity: Vector
    acceleration: Vector
    gains: Vector  # k_p [1/s²], k_d [1/s]


class Loops(NamedTuple):
    """Gains on the closure error."""

    gains: Vector  # k_p [1/s²], k_d [1/s]


class Virtual(NamedTuple):
    """Virtual forces and their errors.

    Attributes:
        effort: efforts on all joints of the tree.
        force: force on the link [f, n], in base axes.
        pose_error: pose error [linear, angular].
        pose_rate: rate of the pose error.
    """

    effort: list[Scalar]
    force: list[Scalar]
    pose_error: list[Scalar]
    pose_rate: list[Scalar]


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations of one robot and its mechanism.

    Attributes:
        mechanism: robot and virtual mechanism.
        link: link of the force of eq. 7.15; None for none.
    """

    mechanism: VirtualMechanism
    link: str | None

    @cached_property
    def solver(self) -> closed_quantities.Solver:
        """Solver for the loops with an elimination order that fails in singular configurations only."""
        return closed_quantities.elimination(self.mechanism.tree, self.mechanism.plans, "late", REGULAR)

    # --- F^ex --------------------------------------------------------------------------------------------------------
    def virtual(self, q: Vector, v: Vector, follow: Follow) -> Virtual:
        """Return S τ^ex and Jᵀ F_e^ex of eqs. 7.8-7.10 and 7.13-7.17.

        The sign of K_d is + here. With the sign printed in eqs. 7.9 and 7.15 the force would have the power
        +q̇ᵀK_d q̇ at a fixed target, instead of the dissipative -q̇ᵀK_d q̇.
        """
        mechanism = self.mechanism
        effort: list[Scalar] = [0.0] * mechanism.robot.nv
        for i, name in enumerate(mechanism.joints):
            at, rate = mechanism.robot.q_index(name).start, mechanism.robot.v_index(name).start
            effort[rate] = follow.joint_stiffness[i] * (follow.position[i] - q[at]) + follow.joint_damping[i] * (
                follow.velocity[i] - v[rate]
            )
        if self.link is None:
            nothing: list[Scalar] = [0.0] * 6
            return Virtual(effort, nothing, nothing, nothing)
        error, rates, columns = self.pose_error(q, v, follow.pose, follow.twist)
        force = [
            k * e + d * r for k, e, d, r in zip(follow.pose_stiffness, error, follow.pose_damping, rates, strict=True)
        ]
        for i, column in enumerate(columns):
            effort[i] = effort[i] + sum((c * f for c, f in zip(column, force, strict=True)), ZERO)
        return Virtual(effort, force, error, rates)

    def pose_error(
        self, q: Vector, v: Vector, pose: Vector, twist: Vector
    ) -> tuple[list[Scalar], list[Scalar], list[list[Scalar]]]:
        """Return X_e^des - X_e, V_e^des - V_e and the columns of J, [linear, angular] in base axes.

        They are relative to a floating base, whose velocities are not part of J, or to the world.
        """
        tree, link, base = self.mechanism.tree, self.link, self.mechanism.base
        assert link is not None
        root = link_pose(tree, q, self.mechanism.robot.root) if base else Transform()
        there = link_pose(tree, q, link)
        turned = there.rotation.matrix().T
        axes = [root.rotation.to_child(turned[k]) for k in range(3)]
        place = root.rotation.to_child(there.position - root.position)
        desired = [Vec3(*pose[3 * k : 3 * k + 3]) for k in range(4)]
        turn = ZERO3
        for now, then in zip(axes, desired, strict=False):
            turn = turn + cross(now, then)
        error = [*(desired[3] - place), *(0.5 * turn)]
        rows = of_tree(tree, "jacobian", link, "local_world_aligned").body
        assert rows is not None
        J = rows(q=q).outputs["J"]
        columns: list[list[Scalar]] = []
        for i in range(tree.nv):
            column = [J[k][i] for k in range(6)] if i >= base else [0.0] * 6
            columns.append([*root.rotation.to_child(Vec3(*column[:3])), *root.rotation.to_child(Vec3(*column[3:]))])
        moving = [sum((c[k] * x for c, x in zip(columns, v, strict=True)), ZERO) for k in range(6)]
        return error, [w - m for w, m in zip(twist, moving, strict=True)], columns

    # --- a* ----------------------------------------------------------------------------------------------------------
    def by_force(self, q: Vector, v: Vector, effort: Vector, loops: Loops) -> tuple[list[Scalar], list[Scalar]]:
        """Return a* of eq. 7.5, and the guards, which must not be negative."""
        found = self.solver.run(q, v, effort)
        back = self._led_back(q, v, loops, None)
        return [a + b for a, b in zip(found.accelerations, back.accelerations, strict=True)], self._guards(found)

    def by_path(self, q: Vector, v: Vector, desired: Vector, loops: Loops) -> tuple[list[Scalar], list[Scalar]]:
        """Return the accelerations nearest to desired ones, by kinetic energy, that satisfy the constraints.

        These are the accelerations of a mechanism under the forces that would cause the desired ones without loops
        (Gauss's principle). They are defined in each configuration, also where no force on the link moves it.
        """
        back = self._led_back(q, v, loops, desired)
        return [a + b for a, b in zip(desired, back.accelerations, strict=True)], self._guards(back)

    def desired(self, q: Vector, v: Vector, path: Path) -> list[Scalar]:
        """Return the accelerations of the path feedback; those of a floating base follow from the joints."""
        kp, kd = path.gains
        given = zip(path.acceleration, path.velocity, v, path.error, strict=True)
        desired = [ff + kd * (then - now) + kp * e for ff, then, now, e in given]
        base = self.mechanism.base
        if not base:
            return desired
        tree = self.mechanism.tree
        desired[:base] = [0.0] * base
        needed = inverse_dynamics(tree, q, v, desired)[:base]
        factors = factorise_dense([row[:base] for row in mass_matrix(tree, q).dense()[:base]])
        desired[:base] = [-x for x in factors.solve(needed)]
        return desired

    def _led_back(self, q: Vector, v: Vector, loops: Loops, desired: Vector | None) -> ConstrainedSolution:
        """Return the least acceleration that reduces the closure error and satisfies the constraints."""
        mechanism = self.mechanism
        terms = closed_quantities.of_constraints("constraint_terms", mechanism.analysis.constraints, mechanism.plans)
        assert self.solver.correct is not None
        outputs = terms.body(q=q, v=v).outputs
        kp, kd = loops.gains
        residuals = []
        for row, rate, gap in zip(outputs["J"], outputs["rate"], self.gap(q), strict=True):
            speed = sum((j * x for j, x in zip(row, v, strict=True)), ZERO)
            left = kd * speed + kp * gap
            if desired is not None:
                left = left + rate + sum((j * x for j, x in zip(row, desired, strict=True)), ZERO)
            residuals.append(left)
        return self.solver.correct(q, [residuals[c] for c in mechanism.plans.independent])

    def gap(self, q: Vector) -> list[Scalar]:
        """Return the closure errors of the nontrivial constraints [m, rad]."""
        whole = self.mechanism.analysis.constraints.violation(q)
        return [whole[c] for c in self.mechanism.plans.nontrivial]

    def _guards(self, found: ConstrainedSolution) -> list[Scalar]:
        return [g for g in self.solver.guards(found) if not isinstance(g, float)]

    # --- τ* ----------------------------------------------------------------------------------------------------------
    def efforts(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """Return τ* of eq. 7.4, with gravity, on all joints of the tree."""
        return inverse_dynamics(for_efforts(self.mechanism.robot.tree), q, v, a)

    # --- middle of the command duration ------------------------------------------------------------------------------
    def later(self, q: Vector, v: Vector, a: Vector, h: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return the state after a time h, and the displacement."""
        tree = self.mechanism.tree
        mean = [x + 0.5 * h * y for x, y in zip(v, a, strict=True)]
        q_later: list[Scalar] = [x + h * r for x, r in zip(q, position_rates(tree, q, mean), strict=True)]
        for body in tree.bodies:
            if body.is_independent:
                q_later[body.q] = body.joint.nearest(q_later[body.q])
        return q_later, [x + h * y for x, y in zip(v, a, strict=True)], [h * x for x in mean]

    def traced(self, outputs: dict[str, Any], q: Vector, guards: Sequence[Scalar]) -> Traced:
        """Combine outputs and guards."""
        return Traced(outputs, [*position_guards(self.mechanism.tree, q), *guards])
