# SPDX-License-Identifier: Apache-2.0
"""Linearization of the steps of a simulation, and the discrete adjoint of a trajectory with given torques.

The derivatives of the quantities of a step are taken from the expression graph of the equations of motion, with
contact, joint stops and control laws. They have the arguments (x, u, t) of the quantities, so that the same integration
loops evaluate them. Parameters of the model (masses, inertias, losses, rotors, springs) are a tree with expressions for
constants; their changes extend u.

A trajectory stores the states at the start of each row of torques, with a checkpoint after at most √N of N steps; the
steps between two checkpoints are repeated in the backward pass. In addition to its rows it needs memory for (s + 3) √N
states, with the number of stages s of the method (2 for semi_implicit).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from math import isqrt
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms import kkt, regressor
from ada_dynamics.algorithms.joint_loads import without_friction
from ada_dynamics.algorithms.kkt import ConstrainedSolution, Plan
from ada_dynamics.algorithms.passive import unloaded
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import TREE, Coordinates
from ada_dynamics.dynamics.arguments import as_array, common_batch
from ada_dynamics.dynamics.closed_quantities import Solver
from ada_dynamics.dynamics.constraint_queries import state_map_and_nearness, warn_if_digits_are_lost
from ada_dynamics.dynamics.quantities import Quantity, body_wrenches, substitute
from ada_dynamics.errors import InputError, SingularConfigurationError, unknown_name
from ada_dynamics.expr import Expr, Function, Traced, directional, gradient, trace
from ada_dynamics.expr.evaluation import expand
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation.context import SimulationContext, closed_states
from ada_dynamics.simulation.control import Vector
from ada_dynamics.simulation.executors import IntegrationError, KernelExecutor, StepKernels
from ada_dynamics.simulation.integrator import Integrator
from ada_dynamics.simulation.methods import METHODS
from ada_dynamics.simulation.options import finite_array
from ada_dynamics.simulation.state_equations import StateEquations
from ada_dynamics.simulation.system import System
from ada_dynamics.spatial.vector import ZERO, Scalar

BLOCK_SIZE = 512  # states times directions per block
KEPT = 64  # minimum number of steps between two checkpoints


# --- derivatives of quantities ----------------------------------------------------------------------------------------
def tangent_quantity(of: Quantity) -> Quantity:
    """Return [f; ∂f/∂x dx + ∂f/∂u du] of [x; dx] and [u; du]."""
    n, m = of.inputs["x"], of.inputs["u"]

    def products(values: Vector, x: Vector, u: Vector) -> Vector:
        seeds: dict[Expr, Scalar] = dict(zip([*x[:n], *u[:m]], [*x[n:], *u[m:]], strict=True))
        return [*values, *directional(values, seeds)]

    ((size,),) = of.shapes.values()
    return _derived(of, "along", {**of.inputs, "x": 2 * n, "u": 2 * m}, 2 * size, products)


def adjoint_quantity(of: Quantity) -> Quantity:
    """Return [wᵀ ∂f/∂x; wᵀ ∂f/∂u] of [x; w] and u."""
    n, m = of.inputs["x"], of.inputs["u"]

    def products(values: Vector, x: Vector, u: Vector) -> Vector:
        product = sum((w * value for w, value in zip(x[n:], values, strict=True)), ZERO)
        return gradient(product, [*x[:n], *u])

    return _derived(of, "against", {**of.inputs, "x": 2 * n}, n + m, products)


def _derived(
    of: Quantity, how: str, inputs: dict[str, int], size: int, products: Callable[[Vector, Vector, Vector], Vector]
) -> Quantity:
    """Return the quantity of the products of the result, x and u of another quantity."""
    (result,), name = of.shapes, f"{of.name}_{how}"

    def traced() -> Function:
        function = expand(of.trace())
        x, u = (function.graph.vector(key, inputs[key]) for key in ("x", "u"))
        values = tuple(products(function.outputs[result], x, u))
        return Function(name, function.graph, dict(inputs), {result: values}, {result: (size,)}, function.guards)

    def body(**given: Vector) -> Traced:
        return Traced(substitute(traced(), given))

    return Quantity(name, inputs, {result: (size,)}, traced, body)


class ParametricSystem(System):
    """A system whose input is extended by changes of parameters."""

    def __init__(self, system: System, names: Sequence[str]) -> None:
        """Initialize the system.

        Args:
            system: the system.
            names: names of parameters, see `Dynamics.parameters`.
        """
        super().__init__(system.model, system.dynamics, system.equations.loads, system.tier)
        self._names = tuple(names)
        self._links = [system.model.joints[body.name].child for body in system.equations.tree.bodies]
        known = regressor.parameters(system.equations.tree, self._links)
        for name in names:
            if name not in known:
                raise unknown_name("parameter", name, known)
            if name.endswith(".friction") and system.equations.loads.friction_speed is None:
                raise InputError(
                    f"parameter {name!r}: no joint of model {system.model.name!r} has friction, and the derivative at "
                    "zero friction does not exist; set the friction of a joint.",
                    field=name,
                )

    def step_quantities(self, is_direct: bool) -> tuple[Quantity, Quantity | None]:
        """See `System.step_quantities`."""
        main, settle = super().step_quantities(is_direct)
        main = self._with_parameters(main, lambda of: of.implicit_step if is_direct else of.rate)
        return main, None if settle is None else self._with_parameters(settle, lambda of: of.settled)

    def _with_parameters(self, of: Quantity, equation: Callable[[StateEquations], Callable[..., Traced]]) -> Quantity:
        size = of.inputs["u"]
        tag = hashlib.blake2b(repr(self._names).encode(), digest_size=6).hexdigest()
        name, inputs = f"{of.name}_by_{tag}", {**of.inputs, "u": size + len(self._names)}

        def body(x: Vector, u: Vector, **time: Vector) -> Traced:
            changes = dict(zip(self._names, u[size:], strict=True))
            tree = regressor.changed(self.equations.tree, self._links, changes)

            def solver(chosen: Vector) -> Solver:
                return self._changed_solver(tree, chosen)

            def forward(chosen: Vector) -> Callable[..., dict[str, list[Scalar]]]:
                return _forward(tree, solver(chosen))

            equations = replace(self.equations, tree=tree, forward=forward, solver=solver)
            return equation(equations)(x=x, u=u[:size], **time)

        return replace(of, name=name, inputs=inputs, trace=lambda: trace(name, inputs, body), body=body)

    def _changed_solver(self, tree: Tree, chosen: Vector) -> Solver:
        """Return the constraint solver of the system on a tree with changed parameters."""
        plan, weights = Plan({}, tuple(range(tree.nv - 1, -1, -1))), list[Scalar]()
        if self.kernels.closed is not None:
            own = self.solver(chosen)
            plan, weights = own.plan, list(own.weights)
        moving, rest = without_friction(tree), [0.0] * tree.nv

        def run(q: Vector, v: Vector, tau: Vector, external: Any = None, **added: Any) -> ConstrainedSolution:
            return kkt.forward_dynamics(moving, q, v, tau, plan, external, weights=weights, **added)

        def correct(q: Vector, residuals: Vector) -> ConstrainedSolution:
            return kkt.forward_dynamics(unloaded(moving), q, rest, rest, plan, rates=residuals, weights=weights)

        return Solver("parametrised", plan, run, lambda _: [], correct, weights)


def _forward(tree: Tree, solver: Solver) -> Callable[..., dict[str, list[Scalar]]]:
    def forward(q: Vector, v: Vector, tau: Vector, wrenches: Vector | None = None) -> dict[str, list[Scalar]]:
        applied = () if wrenches is None else (body_wrenches(tree, wrenches),)
        return {"a": solver.run(q, v, tau, *applied).accelerations}

    return forward


# --- steps ------------------------------------------------------------------------------------------------------------
def tangent_basis(tree: Tree, X: Array) -> Array:
    """Return E of dx = E [d_q; d_v], (N, nq + nv, 2 nv), for rows of states x = [q; v]; d_q is a velocity."""
    E = np.zeros((len(X), tree.nq + tree.nv, 2 * tree.nv))
    E[:, tree.nq :, tree.nv :] = np.eye(tree.nv)
    for q, v, block in _position_rates(tree, X):
        E[:, q, v] = block
    return E


def tangent_inverse(tree: Tree, X: Array) -> Array:
    """Return E⁻ of [d_q; d_v] = E⁻ dx, (N, 2 nv, nq + nv), for differentials on the manifold."""
    inverse = np.zeros((len(X), 2 * tree.nv, tree.nq + tree.nv))
    inverse[:, tree.nv :, tree.nq :] = np.eye(tree.nv)
    for q, v, block in _position_rates(tree, X):
        turned = block.swapaxes(-1, -2)
        inverse[:, v, q] = np.linalg.solve(turned @ block, turned)
    return inverse


def _position_rates(tree: Tree, X: Array) -> Iterator[tuple[slice, slice, Array]]:
    """Return q and v of each independent joint, and its q̇ for each unit velocity, (N, nq, nv)."""
    for body in tree.bodies:
        if not body.is_independent:
            continue
        q = list(X[:, body.q].T)
        block = np.zeros((len(X), body.joint.nq, body.joint.nv))
        for j, unit in enumerate(np.eye(body.joint.nv).tolist()):
            for i, rate in enumerate(body.joint.position_rate(q, unit)):
                block[:, i, j] = rate
        yield body.q, body.v, block


class LinearMap(NamedTuple):
    """Steps of N states, linearized: d⁺ = A d + B dτ + P dp with d = [d_q; d_v]."""

    after: Array  # (N, n)
    A: Array  # (N, 2 nv, 2 nv)
    B: Array  # (N, 2 nv, nv)
    P: Array  # (N, 2 nv, parameters)

    def then(self, later: LinearMap) -> LinearMap:
        """Return the composition with later steps that have the same torques and parameters."""
        B, P = (later.A @ first + more for first, more in ((self.B, later.B), (self.P, later.P)))
        return LinearMap(later.after, later.A @ self.A, B, P)


class LinearizedSteps:
    """Steps of a simulation with constant torques, and their derivatives."""

    def __init__(self, context: SimulationContext, parameters: tuple[str, ...] = ()) -> None:
        """Initialize the steps; simulations whose steps have no derivatives are rejected.

        Args:
            context: context of a simulation.
            parameters: names of parameters of the model.
        """
        self.system, self.method, self.h = context.system, context.method, context.step
        self.model, self.tree = context.system.model, context.system.equations.tree
        self._tau, self._depends_on_time = context.tau, context.law is not None
        self._check_differentiable(context)
        self.parameters, self._context = parameters, context
        self._source = ParametricSystem(context.system, parameters) if parameters else context.system

    def _check_differentiable(self, context: SimulationContext) -> None:
        if self.method.is_adaptive:
            fixed = ", ".join(name for name, one in METHODS.items() if not one.is_adaptive)
            raise InputError(
                f"integrator {self.method.name!r} has adaptive steps, which are not a smooth function of the state; "
                f"use {fixed} for derivatives.",
                field="integrator",
                value=self.method.name,
                allowed=tuple(name for name, one in METHODS.items() if not one.is_adaptive),
            )
        if context.inputs.changes:
            raise InputError(
                "derivatives need given joint torques, or a CompiledController without a control period; sampled "
                "controllers, servos and external wrenches over time are not differentiated."
            )
        if not self.system.has_own_code:
            raise InputError(
                f"model {self.model.name!r} is too large for derivatives of its simulation, or its loops need the "
                "rank-revealing solver."
            )

    @cached_property
    def robust(self) -> LinearizedSteps | None:
        """The same steps with kernels that fail only in singular configurations; None if there are no others."""
        system = self.system.robust()
        return None if system is None else LinearizedSteps(replace(self._context, system=system), self.parameters)

    # --- kernels ------------------------------------------------------------------------------------------------
    @cached_property
    def forward(self) -> StepKernels:
        """Kernels of the steps."""
        return StepKernels.of(self.system, self.method)

    @cached_property
    def tangent(self) -> StepKernels:
        """Kernels of the steps and their directional derivatives."""
        return StepKernels.of(self._source, self.method, tangent_quantity)

    @cached_property
    def backward(self) -> StepKernels:
        """Kernels of the steps and their vector-Jacobian products."""
        back = StepKernels.of(self._source, self.method, adjoint_quantity)
        return replace(StepKernels.of(self._source, self.method), pull=back.rate, pull_settle=back.settle)

    # --- arguments ----------------------------------------------------------------------------------------------
    def states(self, q: ArrayLike, v: ArrayLike | None, tau: ArrayLike | None) -> tuple[Array, Array, bool]:
        """Return rows of states after a check, rows of torques, and True if the arguments are batches."""
        given = {
            "q": as_array("q", q, self.model.nq, self.model),
            "v": as_array("v", np.zeros(self.model.nv) if v is None else v, self.model.nv, self.model),
            "tau": as_array("tau", self._tau if tau is None else tau, self.model.nv, self.model),
        }
        (Q, V, efforts), is_batch = common_batch(given)
        X = np.hstack([np.atleast_2d(Q), np.atleast_2d(V)])
        self.closed(X)  # the states of a simulation are used as they are, for exact derivatives of its steps
        return X, np.atleast_2d(finite_array("tau", efforts, efforts.shape)), is_batch

    def closed(self, X: Array) -> Array:
        """Return rows of states projected onto the loop constraints, after a check of their violation."""
        nq = self.model.nq
        return closed_states(self.model, self.system.dynamics, X[:, :nq], X[:, nq:])

    def inputs(self, X: Array, tau: Array) -> Array:
        """Return rows of u and of parameter changes, with combinations of redundant constraints for the states."""
        unchanged = np.zeros(len(self.parameters))
        U = np.array([[*self.system.inputs(one, h=self.h), *unchanged] for one in tau])
        chosen = self.system.chosen(X)
        if chosen is not None:
            U[:, self.system.equations.chosen] = chosen
        return U

    def without_parameters(self, U: Array) -> Array:
        """Return rows of u without parameter changes."""
        return U[:, : self.system.equations.input_size]

    # --- derivatives --------------------------------------------------------------------------------------------
    def derivatives(self, X: Array, U: Array, steps: int, T: Array) -> LinearMap:
        """Linearize a number of steps of each state, from the times T on."""
        if self.system.equations.following and steps > 1:  # combinations may change between the steps
            found = self.derivatives(X, U, 1, T)
            for step in range(1, steps):
                U = self.inputs(found.after, U[:, : self.model.nv])
                found = found.then(self.derivatives(found.after, U, 1, T + step * self.h))
            return found
        directions = 3 * self.model.nv + len(self.parameters)
        together = max(1, BLOCK_SIZE // directions)
        if self._depends_on_time and np.ptp(T):
            together = 1
        parts = []
        for begin in range(0, len(X), together):
            block = slice(begin, begin + together)
            parts.append(self._advance_directions(X[block], U[block], steps, T[block], begin))
        after, changes = (np.concatenate(part) for part in zip(*parts, strict=True))
        found = tangent_inverse(self.tree, after) @ changes
        return LinearMap(after, *np.split(found, [2 * self.model.nv, 3 * self.model.nv], axis=-1))

    def by_coordinates(self, X: Array, found: LinearMap, coordinates: Coordinates) -> LinearMap:
        """Transform derivatives at the states X from coordinates of the tree to other coordinates."""
        if coordinates == TREE:
            return found
        constraints, nq, nv = self.system.dynamics.constraints, self.model.nq, self.model.nv
        own = constraints.indices(coordinates)
        kept = [*own, *(nv + j for j in own)]  # in [d_q; d_v]
        q, v = map(np.ascontiguousarray, np.split(X, [nq], axis=1))
        changes, is_near = state_map_and_nearness(constraints, q, v, coordinates)
        A = found.A[:, kept] @ changes

        def result(i: int, q: Array) -> tuple[Array]:
            return (found.A[i][kept] @ constraints.state_map(q, v[i], coordinates),)

        if is_near.any():
            warn_if_digits_are_lost(constraints, "derivatives of steps", q, is_near, (A,), result)
        return LinearMap(found.after, A, found.B[:, kept], found.P[:, kept])

    def _advance_directions(self, X: Array, U: Array, steps: int, T: Array, begin: int) -> tuple[Array, Array]:
        """Return the states after some steps and their derivatives in each direction, (N, n, directions)."""
        n, nv, (N, m) = self.system.size, self.model.nv, U.shape
        P = len(self.parameters)
        directions = 3 * nv + P
        dX, dU = np.zeros((N, n, directions)), np.zeros((N, m, directions))
        dX[:, :, : 2 * nv] = tangent_basis(self.tree, X)
        dU[:, :nv, 2 * nv : 3 * nv] = np.eye(nv)
        dU[:, m - P :, 3 * nv :] = np.eye(P)
        x, u = (
            np.concatenate([np.repeat(one.T, directions, axis=1), d.transpose(1, 0, 2).reshape(-1, N * directions)])
            for one, d in ((X, dX), (U, dU))
        )
        executor = KernelExecutor(self.tangent, self.method, x, u[None], self.h, origin=float(T[0]))
        if executor.advance(0, steps) < steps:
            self.raise_failure(X, U, steps, T, begin=begin)
        after = executor.x
        return after[:n, ::directions].T, after[n:].reshape(n, N, directions).transpose(1, 0, 2)

    def raise_failure(self, X: Array, U: Array, steps: int, T: Array, first: int = 0, begin: int = 0) -> NoReturn:
        """Raise the reason for which kernels failed within steps from one of these states, `first` steps after T.

        Raises:
            SingularConfigurationError: the configuration is singular.
            IntegrationError: the integration cannot continue, or its step has no derivative.
        """
        system, nq, nv = self.system, self.model.nq, self.model.nv
        for i, (x, u, t) in enumerate(zip(X, self.without_parameters(U), T.tolist(), strict=True)):
            executor = KernelExecutor(self.forward, self.method, x, u[None], self.h, origin=t)
            step = first + executor.advance(first, steps)
            if step == first + steps:
                continue
            where = f"state {begin + i}: " if begin + len(X) > 1 else ""
            when, x = f"step {step} (t = {t + step * self.h:.6g} s)", executor.x
            try:
                system.dynamics.forward_derivatives(x[:nq], x[nq:], u[:nv])
            except SingularConfigurationError as problem:
                raise SingularConfigurationError(f"{where}{when}: {problem}") from None
            integrator = Integrator(system, self.method)
            integrator.restart(x)
            integrator.u = u
            integrator.advance(t, step, 1, self.h, 0)  # which explains what is not finite
            raise SingularConfigurationError(
                f"{where}model {self.model.name!r} passes close to a singular configuration in {when}; the step has no "
                "derivatives. Use another trajectory, or shorter steps."
            )
        raise IntegrationError(f"model {self.model.name!r}: the derivatives of the simulation are not finite.")


class TrajectoryGradient(NamedTuple):
    """Gradient of a scalar with respect to the initial state, the torques and the parameters of a trajectory."""

    dq: Array  # (nv,), per velocity
    dv: Array  # (nv,)
    du: Array  # (R, nv)
    dp: Array  # (parameters,)


class RecordedTrajectory:
    """A trajectory by rows: the state at the start of each row of torques, and the last state."""

    def __init__(self, steps: LinearizedSteps, start: Array, tau: Array, hold: int, t: float) -> None:
        """Simulate the trajectory.

        Args:
            steps: steps of the simulation.
            start: initial state.
            tau: rows of joint torques.
            hold: number of steps per row of torques.
            t: initial time [s].
        """
        self._steps, self._origin = steps, t
        self.t: Array = t + hold * steps.h * np.arange(len(tau) + 1, dtype=np.float64)  # of the states [s]
        self._chosen = steps.system.equations.chosen  # combinations in u, which may change with every step
        self._rows_each = hold if steps.system.equations.following else 1
        self._hold = hold // self._rows_each
        self._u = steps.inputs(start[None], tau[:1]).repeat(len(tau) * self._rows_each, axis=0)
        self._u[:, : steps.model.nv] = tau.repeat(self._rows_each, axis=0)
        self._apart = max(KEPT, isqrt(len(self._u) * self._hold))
        self._rows, self._checkpoints = self._advance(start)

    @property
    def states(self) -> Array:
        """States at the start of each row of torques, and at the end."""
        return self._rows[:: self._rows_each, : self._steps.system.size]

    def gradient(self, by_q: ArrayLike | None = None, by_v: ArrayLike | None = None) -> TrajectoryGradient:
        """Implementation of the `pull` of `SimulationDerivatives.rollout_vjp`."""
        own, nv = self._steps, self._steps.model.nv
        weights = self._weights(by_q, by_v)
        executor, by_x = self._executor(own.backward, self._u), weights[-1].copy()
        by_u = np.zeros((len(self._u), executor.inputs))
        end = len(self._u) * self._hold
        for first, state in reversed(self._checkpoints):
            executor.x = state
            added = np.zeros((end - first, *by_x.shape))
            here = range(-(-first // self._hold), -(-end // self._hold))
            added[[row * self._hold - first for row in here]] = weights[here.start : here.stop]
            if not executor.adjoint(first, end - first, by_x, by_u, added):
                raise IntegrationError(f"model {own.model.name!r}: the gradient of the trajectory is not finite.")
            end = first
        dq, dv = np.split(tangent_basis(own.tree, self.states[:1])[0].T @ by_x[: own.system.size], 2)
        du = by_u[:, :nv].reshape(-1, self._rows_each, nv).sum(axis=1)
        return TrajectoryGradient(dq, dv, du, by_u[:, own.system.equations.input_size : self._u.shape[1]].sum(axis=0))

    def _weights(self, by_q: ArrayLike | None, by_v: ArrayLike | None) -> Array:
        """Return the gradient with respect to the numbers of each state, one row per stored row."""
        own, states, nv = self._steps, self.states, self._steps.model.nv
        given = np.zeros((len(states), 2 * nv))
        for name, weights, part in (("by_q", by_q, slice(nv)), ("by_v", by_v, slice(nv, None))):
            if weights is None:
                continue
            rows = finite_array(name, weights, (nv,), (len(states), nv))
            given[-1 if rows.ndim == 1 else slice(None), part] = rows
        found, weighted = np.zeros_like(self._rows), np.flatnonzero(given.any(axis=1))
        inverse = tangent_inverse(own.tree, states[weighted])
        pulled = (inverse.swapaxes(-1, -2) @ given[weighted, :, None])[..., 0]
        found[weighted * self._rows_each, : own.system.size] = pulled
        return found

    # --- forward pass -------------------------------------------------------------------------------------------
    def _advance(self, start: Array) -> tuple[Array, list[tuple[int, Array]]]:
        """Return the rows, and checkpoints with the number of steps before them."""
        executor, hold = self._executor(self._steps.forward, self._steps.without_parameters(self._u)), self._hold
        executor.x = start
        rows = executor.rows(len(self._u) + 1)
        rows[0, : len(start)] = start
        size, together = len(start), max(1, self._apart // hold)  # rows from one checkpoint to the next
        checkpoints = []
        for row in range(0, len(self._u), together):
            until = min(row + together, len(self._u))
            checkpoints.append((row * hold, rows[row, :size]))
            if hold <= self._apart:
                self._advance_rows(executor, row * hold, until * hold, rows[row + 1 :], hold)
                continue
            between = executor.rows(hold // self._apart)
            self._advance_rows(executor, row * hold, until * hold, between, self._apart)
            firsts = range(row * hold + self._apart, until * hold, self._apart)
            checkpoints += [(first, state[:size]) for first, state in zip(firsts, between, strict=False)]
            rows[until, :size] = executor.x
        return rows, checkpoints

    def _advance_rows(self, executor: KernelExecutor, first: int, until: int, rows: Array, every: int) -> None:
        """Advance to a step; if a kernel fails, select other combinations of constraints or raise the reason."""
        done = first
        while True:
            done += executor.advance(done, until - done, rows[(done - first) // every :], every)
            if done == until:
                return
            own, row = self._steps, done // self._hold
            x, now = executor.x, self._u[row]
            better = own.inputs(x[None], now[None, : own.model.nv])[0, self._chosen]
            if np.array_equal(better, now[self._chosen], equal_nan=True):
                own.raise_failure(x[None], now[None], 1, np.array([self._origin]), done)
            self._u[row:, self._chosen] = better
            executor.take_inputs(own.without_parameters(self._u))

    def _executor(self, kernels: StepKernels, u: Array) -> KernelExecutor:
        own = self._steps
        return KernelExecutor(kernels, own.method, np.zeros(own.system.size), u, own.h, self._hold, self._origin)
