# SPDX-License-Identifier: Apache-2.0
"""State equations of a model: the rate of the state, a semi-implicit step, and the projection onto admissible states.

The state is x = [q; v], the input u = [τ; parameters of the wrench profiles; pushes; servo commands; combinations of
redundant constraints; step length]. The equations are written over generic scalars and compiled into one kernel,
including contact and all other loads.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from ada_dynamics.algorithms import aba, crba
from ada_dynamics.algorithms.applied_wrench import PARAMETERS, AppliedWrench, applied_loads, profile_wrench
from ada_dynamics.algorithms.contact import ContactData, contact_loads, gather, step_wrenches
from ada_dynamics.algorithms.energy import scaled_velocities
from ada_dynamics.algorithms.joint_loads import COMMAND_SIZE, Servo, Stop, joint_loads, servo_efforts, without_friction
from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.dynamics.arguments import needs_mass_matrix
from ada_dynamics.dynamics.closed_quantities import Solver, projected, speeds
from ada_dynamics.dynamics.quantities import Quantity, body_wrenches, force_first, position_guards
from ada_dynamics.expr import Traced
from ada_dynamics.model.tree import Tree, for_efforts
from ada_dynamics.simulation.control import Law, Vector, implicit_law
from ada_dynamics.spatial.inertia import ArticulatedInertia
from ada_dynamics.spatial.motion import NO_FORCE, Force
from ada_dynamics.spatial.vector import ZERO, Scalar

# The closure error of a first-order step is of order h²; one projection would leave a visible error of order h⁴.
SETTLED = 2

ForwardFor = Callable[[Vector], Quantity]  # accelerations, for combinations of redundant constraints
SolverFor = Callable[[Vector], Solver]  # constraint solver, for these combinations


@dataclass(frozen=True)
class Loads:
    """Loads on a mechanism in addition to joint torques and weight.

    Attributes:
        contacts: points and spheres that touch the ground or each other.
        applied: points of application of the wrench profiles.
        pushes: whether u contains a wrench [force; moment] on every body, about its origin in its axes.
        stops: joint stops.
        friction_speed: velocity below which joint friction is regularized [rad/s, m/s]; None without friction.
        servos: servos of joints, with commands in u.
        law: control law that is part of the equations of motion, or None.
        tag: key that differs for any two laws.
    """

    contacts: tuple[ContactData, ...] = ()
    applied: tuple[AppliedWrench, ...] = ()
    pushes: bool = False
    stops: tuple[Stop, ...] = ()
    friction_speed: float | None = None
    servos: tuple[Servo, ...] = ()
    law: Law | None = None
    tag: str = ""

    def digest(self) -> str:
        """Return a key that differs for any two loads with different kernels."""
        loads = (self.contacts, self.applied, self.pushes, self.stops, self.friction_speed, self.servos, self.tag)
        return hashlib.blake2b(repr(loads).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, eq=False)
class StateEquations:
    """Equations of motion of a mechanism with its loads.

    Attributes:
        tree: the mechanism; the accelerations of a solver exclude the friction of its joints.
        loads: loads on the mechanism.
        forward: returns the accelerations of q, v, tau and wrenches.
        solver: returns the constraint solver; None without loops.
        combination_size: size of the combinations of redundant constraints in u, 0 if they do not vary.
    """

    tree: Tree
    loads: Loads
    forward: ForwardFor
    solver: SolverFor | None = None
    combination_size: int = 0

    # --- sizes --------------------------------------------------------------------------------------------------
    @property
    def input_size(self) -> int:
        """Size of u."""
        return int(self.combination_inputs.stop) + 1

    @cached_property
    def servo_inputs(self) -> slice:
        """Servo commands in u."""
        start = self.tree.nv + PARAMETERS * len(self.loads.applied) + self._pushes
        return slice(start, start + COMMAND_SIZE * len(self.loads.servos))

    @cached_property
    def combination_inputs(self) -> slice:
        """Combinations of redundant constraints in u."""
        start = int(self.servo_inputs.stop)
        return slice(start, start + self.combination_size)

    @property
    def _pushes(self) -> int:
        return 6 * len(self.tree.bodies) if self.loads.pushes else 0

    # --- state --------------------------------------------------------------------------------------------------
    def split(self, x: Vector) -> tuple[Vector, Vector]:
        """Return q on its manifold, and v."""
        return self.nearest(x[: self.tree.nq]), x[self.tree.nq :]

    def nearest(self, q: Vector) -> list[Scalar]:
        """Return q with normalized quaternions."""
        result = list(q)
        for body in self.tree.bodies:
            if body.is_independent:
                result[body.q] = body.joint.nearest(q[body.q])
        return result

    # --- loads --------------------------------------------------------------------------------------------------
    def applied_loads(self, q: Vector, v: Vector, u: Vector, t: Scalar, step: Scalar | None = None) -> AppliedLoads:
        """Return all loads in a state; with a step length also the terms that make them implicit."""
        nv = self.tree.nv
        loads = self.loads
        tau, armature = list(u[:nv]), [0.0] * nv
        if loads.law is not None and step is None:
            tau = [a + b for a, b in zip(tau, loads.law(t, q, v), strict=True)]
        if step is not None or loads.stops or loads.friction_speed:
            more, armature = joint_loads(self.tree, loads.stops, loads.friction_speed or 1.0, q, v, step)
            tau = [a + b for a, b in zip(tau, more, strict=True)]
        if loads.servos:
            tau, armature = _sum((tau, armature), self.servo_efforts(q, v, u, step))
        if loads.law is not None and step is not None:
            tau, armature = _sum((tau, armature), implicit_law(self.tree, loads.law, t, q, v, step))
        wrenches, added = gather(contact_loads(self.tree, loads.contacts, q, v, step) if loads.contacts else ())
        starts = range(nv, nv + PARAMETERS * len(loads.applied), PARAMETERS)
        given = [profile_wrench(u[start : start + PARAMETERS], t) for start in starts]
        for i, force in applied_loads(self.tree, loads.applied, given, q).items():
            wrenches[i] = wrenches.get(i, NO_FORCE) + force
        if loads.pushes:
            for i, force in body_wrenches(self.tree, u[starts.stop : starts.stop + self._pushes]).items():
                wrenches[i] = wrenches.get(i, NO_FORCE) + force
        return AppliedLoads(tau, wrenches, added, armature)

    def servo_efforts(
        self, q: Vector, v: Vector, u: Vector, step: Scalar | None = None
    ) -> tuple[list[Scalar], list[Scalar]]:
        """Return the torques of the servos, and with a step length the armature that makes them implicit."""
        return servo_efforts(self.tree, self.loads.servos, u[self.servo_inputs], q, v, step)

    def torques(self, x: Vector, u: Vector) -> Traced:
        """Return the torques of the servos."""
        q, v = self.split(x)
        return Traced({"tau": self.servo_efforts(q, v, u)[0]})

    def contact_wrenches(self, q: Vector, v: Vector) -> Traced:
        """Return [force; moment] of each contact on its first body, in world axes about the origin of the contact."""
        found: dict[int, Vector] = {}
        for load in contact_loads(self.tree, self.loads.contacts, q, v):
            found.setdefault(load.contact, load.world)
        return Traced({"contact": [list(found[i]) for i in range(len(self.loads.contacts))]})

    def step_contact_wrenches(self, q: Vector, v: Vector, after: Vector, h: Vector) -> Traced:
        """Return these wrenches during a semi-implicit step to the velocity `after`."""
        found = step_wrenches(self.tree, self.loads.contacts, q, v, after, h[0])
        return Traced({"contact": [list(wrench) for wrench in found]})

    # --- rate and steps -----------------------------------------------------------------------------------------
    def rate(self, x: Vector, u: Vector, t: Vector) -> Traced:
        """Return ẋ = [q̇; a]."""
        q, v = self.split(x)
        applied = self.applied_loads(q, v, u, t[0])
        wrenches = {"wrenches": applied.flat(self.tree)} if applied.wrenches else {}
        found: Any = self.forward(u[self.combination_inputs]).body(q=q, v=v, tau=applied.tau, **wrenches)
        traced = found if isinstance(found, Traced) else Traced(found)
        # quaternions are not normalized within a step; their rate is that of the four numbers
        return Traced({"rate": [*position_rates(self.tree, x[: self.tree.nq], v), *traced.outputs["a"]]}, traced.guards)

    def implicit_step(self, x: Vector, u: Vector, t: Vector) -> Traced:
        """Return x after a semi-implicit Euler step: v⁺ = v + h a, q⁺ = q + h q̇(q, v⁺).

        Stiff loads are linearly implicit: their derivatives by the velocity after the step are added to the mass
        matrix. With a constraint solver the state is projected onto the loop constraints, and the velocity is scaled to
        the kinetic energy that the work of the forces leaves (`algorithms.energy`).
        """
        q, v = self.split(x)
        h, applied, guards = u[-1], self.applied_loads(q, v, u, t[0], u[-1]), position_guards(self.tree, q)
        if self.solver is None:
            solve = crba.forward_dynamics if needs_mass_matrix(self.tree) else aba.forward_dynamics
            tree = without_friction(self.tree)
            a = solve(tree, q, v, applied.tau, applied.wrenches, applied.added, applied.armature)
            return Traced({"next": [*chain(*self._moved(q, v, a, h))]}, guards)
        solver = self.solver(u[self.combination_inputs])
        found = solver.run(q, v, applied.tau, applied.wrenches, added=applied.added, added_armature=applied.armature)
        guards = [*guards, *solver.guards(found)]
        after = self._moved(q, v, found.accelerations, h)
        if not self.tree.loops:
            return Traced({"next": [*chain(*after)]}, guards)
        for _ in range(SETTLED):
            settled = projected(self.tree, solver, *after)
            after = self.nearest(settled.outputs["position"]), settled.outputs["velocity"]
            guards = [*guards, *settled.guards]
        held = sum(
            (r * s for r, s in zip(found.multipliers, speeds(self.tree, solver, q, after[1]), strict=True)), ZERO
        )
        v1 = scaled_velocities(_grouped(self.tree), (q, v), found.accelerations, held, h, after)
        return Traced({"next": [*after[0], *v1]}, guards)

    def settled(self, x: Vector, u: Vector) -> Traced:
        """Return the projection of x: normalized quaternions, closed loops."""
        q, v = self.split(x)
        if self.solver is None or not self.tree.loops:
            return Traced({"settled": [*q, *v]})
        found = projected(self.tree, self.solver(u[self.combination_inputs]), q, v)
        nearest = self.nearest(found.outputs["position"])
        return Traced({"settled": [*nearest, *found.outputs["velocity"]]}, found.guards)

    def _moved(self, q: Vector, v: Vector, a: Vector, h: Scalar) -> tuple[Vector, Vector]:
        """Return q⁺ and v⁺ of a semi-implicit step."""
        faster = [s + h * r for s, r in zip(v, a, strict=True)]
        moved = [p + h * r for p, r in zip(q, position_rates(self.tree, q, faster), strict=True)]
        return self.nearest(moved), faster


def _grouped(tree: Tree) -> Tree:
    """Return the tree with base parameters if its parameters are numbers."""
    numbers = (x for body in tree.bodies for x in (body.inertia.mass, *body.inertia.first_moment))
    return for_efforts(tree) if all(isinstance(x, (int, float)) for x in numbers) else tree


Loading = tuple[list[Scalar], list[Scalar]]  # efforts and additional armature


def _sum(a: Loading, b: Loading) -> Loading:
    tau, armature = ([x + y for x, y in zip(one, other, strict=True)] for one, other in zip(a, b, strict=True))
    return tau, armature


@dataclass(frozen=True, eq=False)
class AppliedLoads:
    """Loads in a state: joint torques, wrenches by body, and their contribution to inertias in an implicit step."""

    tau: list[Scalar]
    wrenches: Mapping[int, Force]
    added: Mapping[int, ArticulatedInertia]
    armature: list[Scalar]

    def flat(self, tree: Tree) -> list[Scalar]:
        """Return the wrenches of all bodies as [force; moment], concatenated."""
        return [x for body in tree.bodies for x in force_first(self.wrenches.get(body.index, NO_FORCE))]
