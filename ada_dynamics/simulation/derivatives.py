# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the steps of a simulation with respect to state and torques; of trajectories: `rollout_gradient`.

They are exact derivatives of the steps that the simulation takes, including the integrator, the projection onto the
loop constraints, the normalization of quaternions, joint stops, contact and control laws. Differentials of q are
velocities, those of a state are [d_q; d_v].

The derivatives of the quantities of a step are taken from the expression graph of the equations of motion. They have
the arguments (x, u, t) of the quantities, so that the same integration loops evaluate them, with one direction in each
vector lane. Batches of explicit steps without loops and loads are differentiated with the matrices of
`forward_derivatives` at the points of all stages instead: dK_i = f_x(X_i) dX_i + f_u du with dX_i = dx + h Σ a_ij dK_j.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.ldl import SymmetricMatrix, factorise
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.arguments import as_array, common_batch
from ada_dynamics.dynamics.quantities import Quantity, unit_vectors
from ada_dynamics.errors import InputError, SingularConfigurationError
from ada_dynamics.expr import Expr, Function, Traced, directional, jacobian, trace
from ada_dynamics.expr.evaluation import expand, substitute
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.simulation.context import SimulationContext, closed_states
from ada_dynamics.simulation.integrator import Integrator, KernelExecutor
from ada_dynamics.simulation.methods import METHODS
from ada_dynamics.simulation.options import finite_array, whole_steps
from ada_dynamics.simulation.state_equations import Loads
from ada_dynamics.simulation.system import System
from ada_dynamics.spatial.vector import ZERO, Scalar

BLOCK_SIZE = 512  # states times directions per block
BLOCK_NUMBERS = 2**15  # in the derivatives of the states of a block, by matrices
MATRICES_FROM = 2000  # states times squared velocities from which matrices are faster (measured)
Maps = Mapping[str, Array]
Result = TypeVar("Result")


def is_plain(body: Body) -> bool:
    """Return True if the positions of a joint are any numbers, with q̇ = v."""
    joint = type(body.joint)
    return joint.position_rate is JointType.position_rate and joint.nearest is JointType.nearest


def position_rate_blocks(tree: Tree, X: Array) -> Iterator[tuple[slice, slice, Array | None]]:
    """Return q and v of independent joints, and q̇ for each unit velocity, (N, nq, nv); None where q̇ = v."""
    for body in tree.bodies:
        if not body.is_independent:
            continue
        block = None
        if not is_plain(body):
            q = list(X[:, body.q].T)
            block = np.zeros((len(X), body.joint.nq, body.joint.nv))
            for j, unit in enumerate(np.eye(body.joint.nv).tolist()):
                for i, rate in enumerate(body.joint.position_rate(q, unit)):
                    block[:, i, j] = rate
        yield body.q, body.v, block


def velocities_of(rates: Array) -> Array:
    """Return the matrices from q̇ to v, left inverses of those of `position_rate_blocks`."""
    turned = rates.swapaxes(-1, -2)
    return np.asarray(np.linalg.solve(turned @ rates, turned))


class StepDerivatives(NamedTuple):
    """State after a step and its derivatives: d[q; v]⁺ = A d[q; v] + B dτ; for one state or for N."""

    q: Array
    v: Array
    A: Array  # (2 nv, 2 nv)
    B: Array  # (2 nv, nv)


def step_derivatives(
    context: SimulationContext, q: ArrayLike, v: ArrayLike, tau: ArrayLike | None, steps: int, t: ArrayLike | None
) -> StepDerivatives:
    """Implementation of `Simulation.step_derivatives`."""
    model, count = context.system.model, whole_steps("steps", steps)
    require_derivatives(context)
    given = {
        "q": as_array("q", q, model.nq, model),
        "v": as_array("v", v, model.nv, model),
        "tau": as_array("tau", context.tau if tau is None else tau, model.nv, model),
    }
    (Q, V, efforts), is_batch = common_batch(given)
    X = np.hstack([np.atleast_2d(Q), np.atleast_2d(V)])
    T = np.atleast_2d(finite_array("tau", efforts, efforts.shape))
    times = np.broadcast_to(finite_array("t", context.t if t is None else t, (), (len(X),)), len(X))
    # The states are checked, and used as they are, for exact derivatives of the steps.
    closed_states(model, context.system.dynamics, X[:, : model.nq], X[:, model.nq :])
    found = by_robust_system(
        context.system, lambda system: LinearizedSteps(context, system).derivatives(X, T, count, times)
    )
    after, A, B = found if is_batch else (x[0] for x in found)
    return StepDerivatives(after[..., : model.nq], after[..., model.nq :], A, B)


def by_robust_system(system: System, compute: Callable[[System], Result]) -> Result:
    """Return a result of a system, or of one that fails only in singular configurations where the first one fails."""
    try:
        return compute(system)
    except SingularConfigurationError:
        robust = system.robust()
        if robust is None:
            raise
        return compute(robust)


def require_derivatives(context: SimulationContext) -> None:
    """Raise an InputError if the steps of a simulation have no derivatives."""
    if context.method.is_adaptive:
        fixed = [name for name, method in METHODS.items() if not method.is_adaptive]
        raise InputError(
            f"the adaptive steps of integrator {context.method.name!r} have no derivatives; use one of "
            f"{', '.join(fixed)}.",
            field="integrator",
            value=context.method.name,
            allowed=fixed,
        )
    if context.inputs.changes:
        raise InputError(
            "derivatives need given joint torques, or a CompiledController without a control period; sampled "
            "controllers, servos and external wrenches over time are not differentiated."
        )
    if not context.system.has_own_code:
        raise InputError(
            f"model {context.system.model.name!r} is too large for derivatives of its simulation, or its loops need "
            "the rank-revealing solver."
        )
    if reason_for_fallback() is not None:
        raise InputError(f"derivatives of steps need compiled kernels: {reason_for_fallback()}.")


def derived_quantity(
    of: Quantity, name: str, inputs: dict[str, int], size: int, results: Callable[[Function], Sequence[Scalar]]
) -> Quantity:
    """Return a quantity of other inputs and size, whose results are derived from the graph of one with one result."""
    (result,) = of.shapes

    def traced() -> Function:
        function = expand(of.trace())
        outputs, shapes = {result: tuple(results(function))}, {result: (size,)}
        return Function(name, function.graph, dict(inputs), outputs, dict(shapes), function.guards)

    def body(**given: Sequence[Scalar]) -> Traced:
        return Traced(substitute(traced(), given))

    return Quantity(name, inputs, {result: (size,)}, traced, body)


def _tangent_quantity(of: Quantity) -> Quantity:
    """Return [f; ∂f/∂x dx + ∂f/∂u du] of [x; dx] and [u; du]."""
    n, m, ((size,),) = of.inputs["x"], of.inputs["u"], of.shapes.values()

    def results(function: Function) -> Sequence[Scalar]:
        x, u = function.graph.vector("x", 2 * n), function.graph.vector("u", 2 * m)
        (values,) = function.outputs.values()
        seeds: dict[Expr, Scalar] = dict(zip([*x[:n], *u[:m]], [*x[n:], *u[m:]], strict=True))
        return [*values, *directional(values, seeds)]

    return derived_quantity(of, f"{of.name}_along", {**of.inputs, "x": 2 * n, "u": 2 * m}, 2 * size, results)


def _side_by_side(x: Array, changes: Array) -> Array:
    """Return columns [x; change] of all changes (N, n, m) of all rows of x (N, n)."""
    count, n, m = changes.shape
    return np.concatenate([np.repeat(x.T, m, axis=1), changes.transpose(1, 0, 2).reshape(n, count * m)])


class LinearizedSteps:
    """Steps of a simulation with given torques, and their derivatives with respect to state and torques."""

    def __init__(self, context: SimulationContext, system: System) -> None:
        self.system, self.method, self.h = system, context.method, context.step
        self.model, self.tree = system.model, system.equations.tree
        self._depends_on_time = context.law is not None
        # matrices are faster; they exclude loads and the projection onto loops
        is_free = system.equations.loads == Loads() and not self.tree.loops
        self._has_matrices = is_free and not self.method.is_direct
        bodies = [body for body in self.tree.bodies if body.is_independent]
        self._turning = [body for body in bodies if not is_plain(body)]
        self._plain: list[tuple[slice, slice]] = []  # q and v of joints with q̇ = v, neighbours together
        for body in filter(is_plain, bodies):
            q, v = self._plain[-1] if self._plain else (body.q, body.v)
            if (q.stop, v.stop) == (body.q.start, body.v.start):
                self._plain[-1] = slice(q.start, body.q.stop), slice(v.start, body.v.stop)
            else:
                self._plain.append((body.q, body.v))

    def derivatives(self, X: Array, tau: Array, steps: int, T: Array) -> tuple[Array, Array, Array]:
        """Linearize steps of each state, from the times T on: d⁺ = A d + B dτ with d = [d_q; d_v].

        Returns:
            States after the steps, (N, n); A, (N, 2 nv, 2 nv); and B, (N, 2 nv, nv).
        """
        if self.system.equations.combination_size and steps > 1:  # combinations may change between the steps
            X, A, B = self.derivatives(X, tau, 1, T)
            for step in range(1, steps):
                X, A_now, B_now = self.derivatives(X, tau, 1, T + step * self.h)
                A, B = A_now @ A, A_now @ B + B_now
            return X, A, B
        U = self.system.input_rows(X, tau, self.h)
        advance, together = self._advance_directions, max(1, BLOCK_SIZE // (3 * self.model.nv))
        if self._has_matrices and len(X) * self.model.nv**2 > MATRICES_FROM:
            advance = self._advance_matrices
            together = max(8, BLOCK_NUMBERS // (3 * self.model.nv * self.system.size))
        elif self._depends_on_time and np.ptp(T):
            together = 1
        parts = []
        for begin in range(0, len(X), together):
            block = slice(begin, begin + together)
            parts.append(advance(X[block], U[block], steps, T[block], begin))
        after, changes = (np.concatenate(part) for part in zip(*parts, strict=True))
        nv, moved = self.model.nv, np.empty((len(after), 2 * self.model.nv, 3 * self.model.nv))
        moved[:, nv:] = changes[:, self.tree.nq :]
        for q, v, rates in position_rate_blocks(self.tree, after):
            moved[:, v] = changes[:, q] if rates is None else velocities_of(rates) @ changes[:, q]
        return after, moved[..., : 2 * nv], moved[..., 2 * nv :]

    def _directions(self, X: Array) -> Array:
        """Return changes of states, (N, n, 3 nv): with each velocity d_q, each d_v, and each torque (zeros)."""
        nq, nv = self.model.nq, self.model.nv
        dX = np.zeros((len(X), self.system.size, 3 * nv))
        dX[:, nq:, nv : 2 * nv] = np.eye(nv)
        for q, v, rates in position_rate_blocks(self.tree, X):
            dX[:, q, v] = np.eye(v.stop - v.start) if rates is None else rates
        return dX

    def _advance_matrices(self, X: Array, U: Array, steps: int, T: Array, begin: int) -> tuple[Array, Array]:
        """Return the states after some steps and their derivatives in each direction, (N, n, 3 nv)."""
        executor = KernelExecutor(self.system, self.method, X.T, U.T, self.h)
        points = executor.points(steps)
        executor.use_points(points)
        if executor.take_steps(0, steps) < steps:
            self.raise_failure(X, U, steps, T, begin)
        changes = self._directions(X)
        work = np.empty((self.method.stages + 2, *changes.shape))
        for own in points[..., : len(X)].swapaxes(-1, -2):
            self._step_by_matrices(own, U, changes, work)
        return executor.x.T, changes

    def _advance_directions(self, X: Array, U: Array, steps: int, T: Array, begin: int) -> tuple[Array, Array]:
        """Return the result of `_advance_matrices`, for any kind of step."""
        n, nv, (N, m) = self.system.size, self.model.nv, U.shape
        directions = 3 * nv
        dU = np.zeros((N, m, directions))
        dU[:, :nv, 2 * nv :] = np.eye(nv)
        x, u = (_side_by_side(one, d) for one, d in ((X, self._directions(X)), (U, dU)))
        executor = KernelExecutor(self.system, self.method, x, u, self.h, float(T[0]), transform=_tangent_quantity)
        if executor.take_steps(0, steps) < steps:
            self.raise_failure(X, U, steps, T, begin)
        after = executor.x
        return after[:n, ::directions].T, after[n:].reshape(n, N, directions).transpose(1, 0, 2)

    def raise_failure(self, X: Array, U: Array, steps: int, T: Array, begin: int) -> NoReturn:
        """Raise the reason for which kernels failed within steps from one of these states.

        Raises:
            SingularConfigurationError: the configuration is singular.
            IntegrationError: the integration cannot continue.
        """
        where, why = f"states {begin} to {begin + len(X) - 1}", "it passes close to a singular configuration"
        integrator = Integrator(self.system, self.method)
        for i, (x, u, t) in enumerate(zip(X, U, T.tolist(), strict=True)):
            integrator.restart(x, u)
            for step in range(steps):
                before = integrator.x
                integrator.advance(t, step, 1, self.h, 0)  # raises an error for what is not finite
                if integrator.counts.fallback:
                    break
            else:
                continue
            where = f"state {begin + i}: step {step} (t = {t + step * self.h:.6g} s)"
            try:
                q, v = np.split(before, [self.model.nq])
                self.system.dynamics.forward_derivatives(q, v, u[: self.model.nv])
            except SingularConfigurationError as problem:
                why = str(problem)
            break
        raise SingularConfigurationError(f"{where} of model {self.model.name!r} has no derivatives: {why}")

    # --- by matrices --------------------------------------------------------------------------------------------------
    def _step_by_matrices(self, points: Array, U: Array, changes: Array, work: Array) -> None:
        """Propagate changes of the state through a step with given points of its stages and state before projection.

        `work` is memory for the changes of the rates of all stages, and for two more.
        """
        nv, (stages, N, n) = self.model.nv, points[:-1].shape
        q, maps = self._maps(points.reshape(-1, n))
        at = q[: stages * N], points[:-1, :, self.model.nq :].reshape(-1, nv), np.tile(U[:, :nv], (stages, 1))
        dq, dv, du = self.system.dynamics.forward_derivatives(*at)
        by_state = np.concatenate([dq, dv], axis=-1).reshape(stages, N, nv, 2 * nv)
        du, (*rates, here, scratch) = du.reshape(stages, N, nv, nv), work
        for i, rate in enumerate(rates):
            here[...] = changes
            _add(here, self.h * self.method.A[i], rates, scratch)
            self._rate({name: block[i] for name, block in maps.items()}, by_state[i], here, rate)
            rate[:, self.model.nq :, -nv:] += du[i]
        _add(changes, self.h * self.method.b, rates, scratch)
        for body in self._turning:
            changes[:, body.q] = maps[f"settled_{body.index}"][-1] @ changes[:, body.q]

    def _rate(self, maps: Maps, by_state: Array, changes: Array, found: Array) -> None:
        """Compute changes of ẋ = [q̇; a] with those of x."""
        nq, nv = self.model.nq, self.model.nv
        speeds, moved = changes[:, nq:], np.empty((len(changes), 2 * nv, changes.shape[-1]))
        moved[:, nv:] = speeds
        for q, v in self._plain:
            moved[:, v], found[:, q] = changes[:, q], speeds[:, v]
        for body in self._turning:
            own = changes[:, body.q]
            velocity, by_q, by_v = (maps[f"{name}_{body.index}"] for name in ("velocity", "by_q", "by_v"))
            moved[:, body.v], found[:, body.q] = velocity @ own, by_q @ own + by_v @ speeds[:, body.v]
        np.matmul(by_state, moved, out=found[:, nq:])

    def _maps(self, X: Array) -> tuple[Array, Maps]:
        """Return q on its manifold of rows of points, and the results of `_coordinate_maps` by stage."""
        q, maps = X[:, : self.model.nq].copy(), dict[str, Array]()
        if self._turning:
            quantity = _coordinate_maps(self.tree, self._turning)
            found = self.system.kernel_of(quantity).batch(q, np.ascontiguousarray(X[:, self.model.nq :]))
            maps = dict(zip(quantity.shapes, found, strict=True))
            for body in self._turning:
                q[:, body.q] = maps.pop(f"near_{body.index}")
        stages = self.method.stages + 1
        return q, {name: block.reshape(stages, -1, *block.shape[1:]) for name, block in maps.items()}


def _add(total: Array, weights: Array, rates: Sequence[Array], scratch: Array) -> None:
    """Add a weighted sum in place."""
    for weight, rate in zip(weights.tolist(), rates, strict=True):
        if weight:
            total += np.multiply(rate, weight, out=scratch)


def _coordinate_maps(tree: Tree, bodies: Sequence[Body]) -> Quantity:
    """Quantity for joints with v ≠ q̇: q on its manifold, and derivatives with respect to the numbers in q and v.

    These are of q on its manifold, as numbers ("settled") and as a velocity ("velocity"), and of q̇ ("by_q", "by_v").
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for own in bodies:
        nq, nv = own.joint.nq, own.joint.nv
        sizes = {"near": (nq,), "settled": (nq, nq), "velocity": (nv, nq), "by_q": (nq, nq), "by_v": (nq, nv)}
        shapes |= {f"{name}_{own.index}": shape for name, shape in sizes.items()}

    def body(q: Sequence[Any], v: Sequence[Any]) -> Traced:
        values: list[Any] = []
        for own in bodies:
            joint, p, w = own.joint, q[own.q], v[own.v]
            near, rate = joint.nearest(p), joint.position_rate(p, w)
            settled = jacobian(near, p)
            rates = [joint.position_rate(near, unit) for unit in unit_vectors(joint.nv)]
            gram = SymmetricMatrix(joint.nv)
            for i, one in enumerate(rates):
                for j, other in enumerate(rates[: i + 1]):
                    gram.add(i, j, _dot(one, other))
            solve = factorise(gram).solve
            columns = [solve([_dot(one, column) for one in rates]) for column in zip(*settled, strict=True)]
            velocity = list(zip(*columns, strict=True))
            values += [near, settled, velocity, jacobian(rate, p), jacobian(rate, w)]
        return Traced(dict(zip(shapes, values, strict=True)))

    name, inputs = "coordinate_maps", {"q": tree.nq, "v": tree.nv}
    return Quantity(name, inputs, shapes, lambda: trace(name, inputs, body), body)


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)
