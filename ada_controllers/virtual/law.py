# SPDX-License-Identifier: Apache-2.0
"""Control law of virtual closed chains over generic scalars (Takahashi 2012, sec. 7.1 and 7.2), and its kernels.

FD of the mechanism with loops yields accelerations, ID of the robot without them the corresponding efforts:

    a* = FD(q, v, 0, F^ex)      (7.5)
    τ* = ID(q, v, a*)           (7.4)

A robot with a closure error is led back by the acceleration of least kinetic energy:
J a* + γ = -k_d J v - k_p gap instead of J a* + γ = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from ada_controllers.virtual.mechanism import VirtualMechanism
from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.kinematics import link_pose, position_rates
from ada_dynamics.algorithms.kkt import ConstrainedSolution
from ada_dynamics.algorithms.ldl import factorise_dense
from ada_dynamics.algorithms.rnea import inverse_dynamics
from ada_dynamics.dynamics import closed_quantities
from ada_dynamics.dynamics.quantities import of_tree, position_guards
from ada_dynamics.expr import Traced
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.model.tree import for_efforts
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, ZERO3, Scalar, Vec3, cross

FORCE, PATH = "force", "path"
REGULAR = 1e-4  # minimum relative pivot of the compiled law; the square of a relative singular value

Given = Mapping[str, Vector]  # arguments of the law by name, see `Law.sizes`


class Law:
    """Control law of a mechanism, by virtual forces or by path feedback.

    The arguments are q and v; with virtual forces position and velocity of the actuated joints (q^des of eq. 7.8), with
    their gains K_p and K_d (eq. 7.9), and with a link its pose X_e^des (three columns of the rotation, then the
    position) and twist V_e^des in the base frame, with their gains (eq. 7.15); with path feedback the remaining
    difference, feedforward velocity and acceleration of all joints, and k_p [1/s²] and k_d [1/s]; then these two gains
    on the closure error, and the duration of a command.

    Attributes:
        mechanism: robot and virtual mechanism.
        link: link of the force of eq. 7.15; None for none.
        feedback: FORCE or PATH.
        predicts: whether commands are computed for the middle of their duration.
        sizes: length of each argument, by name.
        parts: slices of the signals, by name.
    """

    def __init__(self, mechanism: VirtualMechanism, link: str | None, feedback: str, predicts: bool) -> None:
        """Lay out the arguments and signals of the law."""
        self.mechanism, self.link, self.feedback, self.predicts = mechanism, link, feedback, predicts
        closed, nv = mechanism.closed, mechanism.robot.nv
        # fails in singular configurations only
        self._solver = closed_quantities.elimination(closed.tree, closed.plans, "late", REGULAR)
        self.sizes: dict[str, int] = {"q": mechanism.robot.nq, "v": nv}
        parts = {"gap": len(closed.plans.nontrivial)}
        if feedback == PATH:
            self.sizes |= {"error": nv, "velocity": nv, "acceleration": nv, "gains": 2}
        else:
            joints = ("position", "velocity", "joint_stiffness", "joint_damping")
            self.sizes |= dict.fromkeys(joints, len(mechanism.joints))
            parts["virtual_effort"] = nv
            if link is not None:
                self.sizes |= {"pose": 12, "twist": 6, "pose_stiffness": 6, "pose_damping": 6}
                parts |= {"virtual_force": 6, "pose_error": 6, "pose_rate": 6}
        self.sizes |= {"loops": 2, "hold": 1}
        ends = accumulate(parts.values())
        self.parts = {name: slice(end - size, end) for (name, size), end in zip(parts.items(), ends, strict=True)}

    def compile(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        """Compile (q, v, ...) -> efforts on all joints of the tree, a* at the start of the command, and the signals.

        Args:
            otherwise: fallback near singular configurations.
        """
        tree = self.mechanism.closed.tree

        def body(q: Vector, v: Vector, **given: Vector) -> Traced:
            desired, signals = self._desired(q, v, given)
            a, guards = self._allowed(q, v, desired, given["loops"])
            at, rate, late = q, v, a
            if self.predicts:  # half of the duration later, at which the command is correct on average
                at, rate, step = self._later(q, v, a, 0.5 * given["hold"][0])
                if self.feedback == PATH:
                    given = {**given, "error": [e - s for e, s in zip(given["error"], step, strict=True)]}
                late, more = self._allowed(at, rate, self._desired(at, rate, given)[0], given["loops"])
                guards = [*guards, *more]
            effort = inverse_dynamics(for_efforts(self.mechanism.robot.tree), at, rate, late)  # eq. 7.4, with gravity
            outputs = {"effort": effort, "reached": a, "signals": signals}
            return Traced(outputs, [*position_guards(tree, q), *guards])

        return compiled(f"virtual_closed_chain_{self.feedback}", self.sizes, body, otherwise)

    def compile_desired(self) -> Callable[..., Any]:
        """Compile (q, v, ...) -> virtual efforts on all joints of the tree, or desired accelerations; the signals."""

        def body(q: Vector, v: Vector, **given: Vector) -> dict[str, Any]:
            desired, signals = self._desired(q, v, given)
            return {"desired": desired, "signals": signals}

        return compiled(f"virtual_{self.feedback}", self.sizes, body)

    def _desired(self, q: Vector, v: Vector, given: Given) -> tuple[list[Scalar], list[Scalar]]:
        """Return virtual efforts on all joints of the tree, or desired accelerations; and the signals."""
        if self.feedback == PATH:
            return self._path(q, v, given), self._gap(q)
        effort, *signals = self._virtual(q, v, given)
        return effort, [*self._gap(q), *effort, *(x for values in signals for x in values)]

    # --- F^ex ---------------------------------------------------------------------------------------------------------
    def _virtual(self, q: Vector, v: Vector, given: Given) -> list[list[Scalar]]:
        """Return S τ^ex + Jᵀ F_e^ex of eqs. 7.8-7.10 and 7.13-7.17; with a link also F_e^ex, its error and error rate.

        The sign of K_d is + here. With the sign printed in eqs. 7.9 and 7.15 the force would have the power
        +q̇ᵀK_d q̇ at a fixed target, instead of the dissipative -q̇ᵀK_d q̇.
        """
        robot = self.mechanism.robot
        effort: list[Scalar] = [0.0] * robot.nv
        for i, name in enumerate(self.mechanism.joints):
            at, rate = robot.q_index(name).start, robot.v_index(name).start
            pull = given["joint_stiffness"][i] * (given["position"][i] - q[at])
            effort[rate] = pull + given["joint_damping"][i] * (given["velocity"][i] - v[rate])
        if self.link is None:
            return [effort]
        error, columns = self.pose_error(q, given["pose"])
        moving = [sum((c[k] * x for c, x in zip(columns, v, strict=True)), ZERO) for k in range(6)]
        rates = [w - m for w, m in zip(given["twist"], moving, strict=True)]
        gains = zip(given["pose_stiffness"], error, given["pose_damping"], rates, strict=True)
        force = [k * e + d * r for k, e, d, r in gains]
        for i, column in enumerate(columns):
            effort[i] = effort[i] + sum((c * f for c, f in zip(column, force, strict=True)), ZERO)
        return [effort, force, error, rates]

    def pose_error(self, q: Vector, pose: Vector) -> tuple[list[Scalar], list[list[Scalar]]]:
        """Return X_e^des - X_e and the columns of J, [linear, angular] in base axes.

        They are relative to a floating base, whose velocities are not part of J, or to the world.
        """
        tree, link, base = self.mechanism.closed.tree, self.link, self.mechanism.base
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
        J = of_tree(tree, "jacobian", link, "local_world_aligned").body(q=q).outputs["J"]
        columns: list[list[Scalar]] = []
        for i in range(tree.nv):
            column = [J[k][i] for k in range(6)] if i >= base else [0.0] * 6
            columns.append([*root.rotation.to_child(Vec3(*column[:3])), *root.rotation.to_child(Vec3(*column[3:]))])
        return error, columns

    # --- a* -----------------------------------------------------------------------------------------------------------
    def _allowed(self, q: Vector, v: Vector, desired: Vector, loops: Vector) -> tuple[list[Scalar], list[Scalar]]:
        """Return a*, and the guards, which must not be negative.

        With path feedback it is the acceleration nearest to the desired one, by kinetic energy, that satisfies the
        constraints: that of a mechanism under the forces that would cause the desired one without loops (Gauss's
        principle). It is defined in each configuration, also where no force on the link moves it.
        """
        if self.feedback == PATH:
            back = self._led_back(q, v, loops, desired)
            start, judged = desired, back
        else:
            back = self._led_back(q, v, loops, None)
            judged = self._solver.run(q, v, desired)  # eq. 7.5
            start = judged.accelerations
        guards = [g for g in self._solver.guards(judged) if not isinstance(g, float)]
        return [a + b for a, b in zip(start, back.accelerations, strict=True)], guards

    def _path(self, q: Vector, v: Vector, given: Given) -> list[Scalar]:
        """Return the accelerations of the path feedback; the base accelerations follow from the joints."""
        kp, kd = given["gains"]
        terms = zip(given["acceleration"], given["velocity"], v, given["error"], strict=True)
        desired = [ahead + kd * (then - now) + kp * e for ahead, then, now, e in terms]
        base, tree = self.mechanism.base, self.mechanism.closed.tree
        if base:
            desired[:base] = [0.0] * base
            needed = inverse_dynamics(tree, q, v, desired)[:base]
            factors = factorise_dense([row[:base] for row in mass_matrix(tree, q).dense()[:base]])
            desired[:base] = [-x for x in factors.solve(needed)]
        return desired

    def _led_back(self, q: Vector, v: Vector, loops: Vector, desired: Vector | None) -> ConstrainedSolution:
        """Return the least acceleration that reduces the closure error and satisfies the constraints."""
        closed, (kp, kd) = self.mechanism.closed, loops
        terms = closed_quantities.of_constraints("constraint_terms", closed.analysis.constraints, closed.plans)
        assert self._solver.correct is not None
        outputs = terms.body(q=q, v=v).outputs
        residuals = []
        for row, rate, gap in zip(outputs["J"], outputs["rate"], self._gap(q), strict=True):
            left = kd * sum((j * x for j, x in zip(row, v, strict=True)), ZERO) + kp * gap
            if desired is not None:
                left = left + rate + sum((j * x for j, x in zip(row, desired, strict=True)), ZERO)
            residuals.append(left)
        return self._solver.correct(q, [residuals[c] for c in closed.plans.independent])

    def _gap(self, q: Vector) -> list[Scalar]:
        """Return the closure errors of the nontrivial constraints [m, rad]."""
        whole = self.mechanism.closed.analysis.constraints.errors(q)
        return [whole[c] for c in self.mechanism.closed.plans.nontrivial]

    def _later(self, q: Vector, v: Vector, a: Vector, h: Scalar) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
        """Return the state after a time h, and the displacement."""
        tree = self.mechanism.closed.tree
        mean = [x + 0.5 * h * y for x, y in zip(v, a, strict=True)]
        q_later: list[Scalar] = [x + h * r for x, r in zip(q, position_rates(tree, q, mean), strict=True)]
        for body in tree.bodies:
            if body.is_independent:
                q_later[body.q] = body.joint.nearest(q_later[body.q])
        return q_later, [x + h * y for x, y in zip(v, a, strict=True)], [h * x for x in mean]
