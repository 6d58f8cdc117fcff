# SPDX-License-Identifier: Apache-2.0
"""State-space system of a model with its loads: compiled kernels, and a robust evaluation where a kernel fails."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ada_dynamics.algorithms.applied_wrench import PARAMETERS
from ada_dynamics.algorithms.energy import scaled_velocities
from ada_dynamics.algorithms.joint_loads import without_friction
from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.algorithms.rnea import inverse_dynamics
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics, closed_quantities, quantities
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.dynamics.closed import LATE
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.dynamics.dynamics import forward_on_bodies
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.errors import AdaError, InputError, SingularConfigurationWarning
from ada_dynamics.expr import Traced, trace
from ada_dynamics.jit import Kernel
from ada_dynamics.model.edit import with_parts
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation.state_equations import Loads, StateEquations

COMPILED_UP_TO = 256  # maximum number of velocities for which the rate of a large model is compiled (20 ms per joint)
MANY = 20_000  # minimum number of rows for which batch code is compiled


class System:
    """ẋ = f(x, u, t) of a model with its loads; x = [q; v], and u as in `state_equations`."""

    def __init__(self, model: Model, dynamics: Dynamics, loads: Loads, tier: str | None = None) -> None:
        """Initialize the system.

        Args:
            model: the mechanism.
            dynamics: dynamics of the mechanism without joint friction, see `frictionless`.
            loads: loads, resolved for `tree_of(dynamics)`.
            tier: elimination order of the loops; the fastest one by default.
        """
        self.tier = tier
        self.model = model
        self.dynamics = dynamics
        self.kernels = kernels_of(dynamics)
        closed = self.kernels.closed
        plans = closed.plans.combined if closed else {}
        size = next((plan.weights + 1 for plan in plans.values()), 0)
        own = tree_of(dynamics)
        tree = replace(own, bodies=tuple(replace(b, friction=model.joints[b.name].friction) for b in own.bodies))
        self.equations = StateEquations(tree, loads, self._accelerations, self.solver if closed else None, size)
        self.size = model.nq + model.nv
        self._steps: dict[object, tuple[Kernel, Kernel | None]] = {}
        self._any = (0.0,) * size  # combinations of redundant constraints; names do not depend on them

    # --- kernels ------------------------------------------------------------------------------------------------
    @property
    def is_compiled(self) -> bool:
        """True if the rate is one kernel."""
        return self.has_step and (self.has_own_code or (self.kernels.large and self.model.nv <= COMPILED_UP_TO))

    @property
    def has_own_code(self) -> bool:
        """True if the rate is compiled for this model, which excludes very large models."""
        return self.has_step and not self.kernels.generic and not self.kernels.large

    @property
    def has_step(self) -> bool:
        """True if a semi-implicit step is one kernel."""
        closed = self.kernels.closed
        return not (closed and closed.plans.is_dense_only)

    def step_quantities(self, is_direct: bool) -> tuple[Quantity, Quantity | None]:
        """Return the quantities of a step: the rate and the projection, if any; or one semi-implicit step."""
        own, size = self.equations, (self.size,)
        friction = repr([body.friction for body in own.tree.bodies])
        tag = f"{own.loads.digest()}_{hashlib.blake2b(friction.encode(), digest_size=4).hexdigest()}"
        xu = {"x": self.size, "u": own.input_size}
        if is_direct:
            name = f"implicit_step_{self._solver_name}_{tag}"
            return _quantity(name, {**xu, "t": 1}, "next", size, own.implicit_step), None
        rate = _quantity(f"rate_of_{self._accelerations(self._any).name}_{tag}", {**xu, "t": 1}, "rate", size, own.rate)
        if own.solver is None and all(type(one.joint).nearest is JointType.nearest for one in own.tree.bodies):
            return rate, None  # all states are admissible
        # the position of the combinations in u depends on the loads
        name = f"settle_{self._solver_name}_{own.combination_inputs.start}_{own.input_size}"
        return rate, _quantity(name, xu, "settled", size, own.settled)

    def step_kernels(
        self, is_direct: bool, transform: Callable[[Quantity], Quantity] | None = None
    ) -> tuple[Kernel, Kernel | None]:
        """Return the kernels of a step, or of a transformation of its quantities, such as their derivatives."""
        key = is_direct, transform
        if key not in self._steps:
            rate, settle = self.step_quantities(is_direct)
            if transform is not None:
                rate, settle = transform(rate), None if settle is None else transform(settle)
            self._steps[key] = self.kernel_of(rate), None if settle is None else self.kernel_of(settle)
        return self._steps[key]

    @property
    def rate(self) -> Kernel:
        """ẋ of x, u and t."""
        return self.step_kernels(False)[0]

    @property
    def settle(self) -> Kernel | None:
        """Projection onto the admissible states; None if all states are admissible."""
        return self.step_kernels(False)[1]

    @property
    def step(self) -> Kernel:
        """x after a semi-implicit step."""
        return self.step_kernels(True)[0]

    @cached_property
    def servo_efforts(self) -> Kernel | None:
        """Torques of all servos as a function of x and u; None without servos."""
        if not self.equations.loads.servos:
            return None
        inputs = {"x": self.size, "u": self.equations.input_size}
        return self._kernel("servo_efforts", inputs, "tau", (self.model.nv,), self.equations.torques)

    @cached_property
    def contacts(self) -> Kernel | None:
        """Wrenches of all contacts as a function of q and v; None without contacts."""
        shape = (len(self.equations.loads.contacts), 6)
        inputs = {"q": self.model.nq, "v": self.model.nv}
        wrenches = self.equations.contact_wrenches
        return self._kernel("contact_wrenches", inputs, "contact", shape, wrenches) if shape[0] else None

    @cached_property
    def step_contacts(self) -> Kernel:
        """Wrenches of all contacts during a semi-implicit step, of q, v, the velocity after the step, and h."""
        shape, nv = (len(self.equations.loads.contacts), 6), self.model.nv
        inputs = {"q": self.model.nq, "v": nv, "after": nv, "h": 1}
        return self._kernel("step_contact_wrenches", inputs, "contact", shape, self.equations.step_contact_wrenches)

    def _kernel(
        self, name: str, inputs: dict[str, int], output: str, shape: tuple[int, ...], body: Callable[..., Traced]
    ) -> Kernel:
        """Return the kernel of a quantity of the loads."""
        return self.kernel_of(_quantity(f"{name}_{self.equations.loads.digest()}", inputs, output, shape, body))

    def kernel_of(self, quantity: Quantity) -> Kernel:
        """Return the kernel of a quantity, cached with those of the dynamics."""
        if self.kernels.generic:  # its bodies have other axes than those of compiled code
            quantity = replace(quantity, name=f"{quantity.name}_uniform")
        return self.kernels.get(f"simulation {quantity.name}", lambda: quantity)

    def solver(self, weights: Sequence[Any]) -> closed_quantities.Solver:
        """Return the constraint solver, for given combinations of redundant constraints where they vary."""
        closed = self.kernels.closed
        assert closed is not None
        name = self._candidate
        name = closed.cheapest if name in closed_quantities.ASSEMBLIES else name
        if weights:
            return closed_quantities.combined_elimination(closed.tree, closed.plans, name, weights)
        return closed_quantities.elimination(closed.tree, closed.plans, name)

    @cached_property
    def _solver_name(self) -> str:
        closed = self.kernels.closed
        if closed is None:
            return "open"
        solver = self.solver(self._any)
        return f"{solver.tag}_{closed_quantities.digest(closed.tree, closed.plans, solver.plan)}"

    @property
    def _candidate(self) -> str:
        return self.tier or self.kernels.candidate

    def robust(self) -> System | None:
        """Return the system with the most robust elimination order; None if that is in use."""
        closed = self.kernels.closed
        if closed is None or self.tier or closed.robust(self._candidate) != LATE:
            return None
        return System(self.model, self.dynamics, self.equations.loads, LATE)

    @property
    def _wrenches(self) -> bool:
        loads = self.equations.loads
        return bool(loads.contacts or loads.applied or loads.pushes)

    def _accelerations(self, weights: Sequence[Any]) -> Quantity:
        """Return the accelerations, for given combinations of redundant constraints where they vary."""
        closed, kernels = self.kernels.closed, self.kernels
        if closed is None:
            return quantities.forward(tree_of(self.dynamics), kernels.algorithm, self._wrenches, kernels.order)
        if self._candidate in closed_quantities.ASSEMBLIES:  # an assembly algorithm has no combinations
            return closed.quantity(self._candidate, self._wrenches, multipliers=False)
        return closed_quantities.forward(closed.tree, closed.plans, self.solver(weights), self._wrenches)

    # --- robust evaluation --------------------------------------------------------------------------------------
    def robust_rate(self, x: Array, u: Array, t: float) -> tuple[Array, bool]:
        """Return ẋ by the first solver that succeeds, and True if the configuration is singular.

        The result is not finite if no solver succeeds.
        """
        if self.is_compiled:
            found, status = self.rate.single_status(x, u, np.array([t]))
            if not status:
                return found, False
        q, v = map(list, self.equations.split(x.tolist()))
        applied = self.equations.applied_loads(q, v, u.tolist(), t)
        flat = np.array(applied.flat(self.equations.tree)) if self._wrenches else None
        at = np.array(q), np.array(v), np.array(applied.tau, dtype=float)
        closed = self.kernels.closed
        singular = False
        if not all(map(np.isfinite, (*x, *applied.tau))):
            return np.full(self.size, np.nan), False
        if closed is None:
            try:
                a = forward_on_bodies(self.dynamics, *at, flat)
            except InputError:  # such as an angle beyond the precision of floating-point numbers
                return np.full(self.size, np.nan), False
        else:
            with warnings.catch_warnings(record=True) as met:
                warnings.simplefilter("always", SingularConfigurationWarning)
                # the kernel of a compiled system has failed above; use the next tier
                order = "late" if self.is_compiled else self.kernels.candidate
                a = closed.solve(order, *at, *([] if flat is None else [flat])).acceleration
            singular = any(issubclass(w.category, SingularConfigurationWarning) for w in met)
        moved = position_rates(self.equations.tree, x[: self.model.nq].tolist(), v)
        return np.array([*moved, *a], dtype=float), singular

    def robust_projection(self, x: Array) -> Array:
        """Return the projection of a state onto the admissible states, in regular and singular configurations."""
        q = np.array(self.equations.nearest(x[: self.model.nq].tolist()), dtype=float)
        v = x[self.model.nq :]
        if self.kernels.closed is not None:
            q, v = self.kernels.closed.project_to_constraints(q, np.ascontiguousarray(v))
        return np.concatenate([q, v])

    def balanced(self, x: Array, u: Array, t: float, a: Array, h: float, after: Array) -> Array:
        """Return the state after a step h with accelerations a along the loops, with the energy of the work done."""
        tree, nq = without_friction(self.equations.tree), self.model.nq
        q, v = map(list, self.equations.split(x.tolist()))
        applied = self.equations.applied_loads(q, v, u.tolist(), t)
        efforts = inverse_dynamics(tree, q, v, a.tolist(), applied.wrenches)
        v1 = after[nq:].tolist()
        held = sum(((e - f) * s for e, f, s in zip(efforts, applied.tau, v1, strict=True)), 0.0)
        scaled = scaled_velocities(tree, (q, v), a.tolist(), held, h, (after[:nq].tolist(), v1))
        return np.concatenate([after[:nq], np.array(scaled, dtype=float)])

    def accelerations(self, X: Array, U: Array, T: Array) -> Array:
        """Return the accelerations for rows of states, inputs and times."""
        if self.is_compiled:
            # compiling batch code takes longer than it saves for few rows
            run = self.rate.rows_status if 0 < len(T) <= MANY else self.rate.batch_status
            found, status = run(X, U, T[:, None])
            if not status:
                return np.asarray(found[:, self.model.nq :])
            weights, own = self.combination_weights(X), self.equations.combination_inputs
            if weights is not None and not np.array_equal(weights, U[:, own], equal_nan=True):
                U = U.copy()
                U[:, own] = weights
                return self.accelerations(X, U, T)
        rows = [self.robust_rate(x, u, t)[0][self.model.nq :] for x, u, t in zip(X, U, T.tolist(), strict=True)]
        return np.array(rows)

    # --- inputs -------------------------------------------------------------------------------------------------
    def inputs(
        self,
        tau: Array,
        parameters: Sequence[float] | Array = (),
        push: Array | None = None,
        commands: Array | None = None,
        h: float = 0.0,
    ) -> Array:
        """Return u of joint torques, parameters of profiles, wrenches of pushes, servo commands, and step length."""
        equations, nv = self.equations, len(tau)
        assert len(parameters) == PARAMETERS * len(equations.loads.applied)
        u: Array = np.zeros(equations.input_size)
        u[:nv], u[-1] = tau, h
        u[nv : nv + len(parameters)] = parameters
        if push is not None:
            u[nv + len(parameters) : equations.servo_inputs.start] = push
        if commands is not None:
            u[equations.servo_inputs] = commands
        return u

    def input_rows(self, X: Array, tau: Array, h: float) -> Array:
        """Return rows of u for states and torques, with combinations of redundant constraints for the states."""
        U = np.tile(self.inputs(tau[0], h=h), (len(X), 1))
        U[:, : self.model.nv] = tau
        weights = self.combination_weights(X)
        if weights is not None:
            U[:, self.equations.combination_inputs] = weights
        return U

    def combination_weights(self, X: Array) -> Array | None:
        """Return the combinations of redundant constraints in u for rows of states; None if they do not vary."""
        closed = self.kernels.closed
        if closed is None or not self.equations.combination_size:
            return None
        nearest = [self.equations.nearest(x[: self.model.nq].tolist()) for x in X]
        return closed.combination_weights(np.array(nearest, dtype=float))


def _quantity(
    name: str, inputs: dict[str, int], output: str, shape: tuple[int, ...], body: Callable[..., Traced]
) -> Quantity:
    return Quantity(name, inputs, {output: shape}, lambda: trace(name, inputs, body, (output,)), body)


def dynamics_for(model: Model, algorithm: Algorithm, q: Array) -> Dynamics:
    """Return the dynamics for simulations that start at the configuration q.

    Elimination orders are planned at a configuration. Those of the model's default configuration are used if they hold
    at q, so that all initial states share one kernel.
    """
    if not model.loops:
        return Dynamics(model, algorithm)
    try:
        usual = Dynamics(model, algorithm)
        closed = kernels_of(usual).closed
        assert closed is not None
        if closed.plans.is_dense_only:
            return usual
        solver = closed_quantities.elimination(closed.tree, closed.plans, closed.cheapest)
        rest = [0.0] * model.nv
        guards = [float(g) for g in solver.guards(solver.run(q.tolist(), rest, rest))]
    except (AdaError, ZeroDivisionError):
        return Dynamics(model, algorithm, q0=q)
    if all(g >= 0.0 for g in guards):
        return usual
    own = Dynamics(model, algorithm, q0=q)
    # No elimination order holds at a singular configuration. If the default orders fail at a regular configuration, it
    # may be another assembly mode with another mobility (a parallelogram with three cranks has two).
    return usual if own.constraints.state(q).is_singular else own


def tree_of(dynamics: Dynamics) -> Tree:
    """Return the tree in whose body axes loads act."""
    kernels = kernels_of(dynamics)
    if kernels.generic:
        return dynamics.model.uniform_tree
    return kernels.tree if kernels.closed is None else kernels.closed.tree


def has_friction(model: Model) -> bool:
    """Return True if a joint has Coulomb friction."""
    return any(joint.friction for joint in model.joints.values())


def frictionless(model: Model) -> Model:
    """Return the model without Coulomb friction in its joints; the same model if there is none."""
    if not has_friction(model):
        return model
    return with_parts(model, *(replace(joint, friction=0.0) for joint in model.joints.values() if joint.friction))
