# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the quantities of a simulation step: directional derivatives, vector-Jacobian products and parameters.

All are taken from the expression graph of the equations of motion, with contact, joint stops, servos and control laws.
They have the arguments (x, u, t) of the quantities, so that the same integration loops evaluate them. Parameters of the
model (masses, inertias, losses, rotors, springs) are a tree with expressions for constants; their changes extend u.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ada_dynamics.algorithms import kkt, regressor
from ada_dynamics.algorithms.joint_loads import without_friction
from ada_dynamics.algorithms.kkt import ConstrainedSolution, Plan
from ada_dynamics.algorithms.passive import unloaded
from ada_dynamics.dynamics.closed_quantities import Solver
from ada_dynamics.dynamics.quantities import Quantity, body_wrenches, substitute
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.expr import Expr, Function, Traced, directional, gradient, trace
from ada_dynamics.expr.evaluation import expand
from ada_dynamics.jit import Kernel
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation import state_equations
from ada_dynamics.simulation.state_equations import StateEquations
from ada_dynamics.simulation.system import System
from ada_dynamics.spatial.vector import ZERO, Scalar


def tangent_quantity(of: Quantity) -> Quantity:
    """Return [f; ∂f/∂x dx + ∂f/∂u du] of [x; dx] and [u; du]."""
    n, m = of.inputs["x"], of.inputs["u"]
    inputs = {**of.inputs, "x": 2 * n, "u": 2 * m}
    (result, (size,)) = next(iter(of.shapes.items()))

    def traced() -> Function:
        function = expand(of.trace())
        x, u = (function.graph.vector(name, inputs[name]) for name in ("x", "u"))
        seeds: dict[Expr, Scalar] = dict(zip([*x[:n], *u[:m]], [*x[n:], *u[m:]], strict=True))
        values = function.outputs[result]
        return _function(f"{of.name}_along", function, inputs, result, [*values, *directional(values, seeds)])

    return _shaped(of, inputs, result, 2 * size, "along", traced)


def adjoint_quantity(of: Quantity) -> Quantity:
    """Return [wᵀ ∂f/∂x; wᵀ ∂f/∂u] of [x; w] and u."""
    n, m = of.inputs["x"], of.inputs["u"]
    inputs = {**of.inputs, "x": 2 * n}
    result = next(iter(of.shapes))

    def traced() -> Function:
        function = expand(of.trace())
        x, u = (function.graph.vector(name, inputs[name]) for name in ("x", "u"))
        product = sum((w * value for w, value in zip(x[n:], function.outputs[result], strict=True)), ZERO)
        return _function(f"{of.name}_against", function, inputs, result, gradient(product, [*x[:n], *u]))

    return _shaped(of, inputs, result, n + m, "against", traced)


def _shaped(
    of: Quantity, inputs: dict[str, int], result: str, size: int, how: str, traced: Callable[[], Function]
) -> Quantity:
    def body(**given: Vector) -> Traced:
        return Traced(substitute(traced(), given))

    return Quantity(f"{of.name}_{how}", inputs, {result: (size,)}, traced, body)


def _function(name: str, of: Function, inputs: dict[str, int], result: str, values: Sequence[Scalar]) -> Function:
    return Function(name, of.graph, dict(inputs), {result: tuple(values)}, {result: (len(values),)}, of.guards)


Vector = Sequence[Scalar]
SolverFor = Callable[[Vector], Solver]  # by the combinations in u


class ParametricSystem:
    """A system whose input is extended by changes of parameters."""

    def __init__(self, system: System, names: Sequence[str]) -> None:
        """Initialize the system.

        Args:
            system: the system.
            names: names of parameters, see `Dynamics.parameters`.
        """
        self._system, self._names = system, tuple(names)
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

    def kernel_of(self, quantity: Quantity) -> Kernel:
        """Return the kernel of a quantity, cached with those of the dynamics."""
        return self._system.kernel_of(quantity)

    def step_quantities(self, is_direct: bool) -> tuple[Quantity, Quantity | None]:
        """See `System.step_quantities`."""
        main, settle = self._system.step_quantities(is_direct)

        def step(of: StateEquations, solver: SolverFor) -> Quantity:
            return state_equations.step_quantity(of, main.name, solver)

        def rate(of: StateEquations, solver: SolverFor) -> Quantity:
            return state_equations.rate_quantity(of, main.name, lambda chosen: _forward(of.tree, solver(chosen)))

        def settled(of: StateEquations, solver: SolverFor) -> Quantity:
            has_loops = self._system.kernels.closed is not None
            return state_equations.settle_quantity(of, "parametrised", solver if has_loops else None)

        made = self._with_parameters(main, step if is_direct else rate)
        return made, None if settle is None else self._with_parameters(settle, settled)

    def _with_parameters(self, of: Quantity, make: Callable[[StateEquations, SolverFor], Quantity]) -> Quantity:
        size = of.inputs["u"]
        tag = hashlib.blake2b(repr(self._names).encode(), digest_size=6).hexdigest()
        name, inputs = f"{of.name}_by_{tag}", {**of.inputs, "u": size + len(self._names)}

        def body(x: Vector, u: Vector, **time: Vector) -> Traced:
            changes = dict(zip(self._names, u[size:], strict=True))
            tree = regressor.changed(self._system.equations.tree, self._links, changes)
            computed = make(replace(self._system.equations, tree=tree), lambda chosen: self._solver(tree, chosen)).body
            assert computed is not None
            return computed(x=x, u=u[:size], **time)

        return replace(of, name=name, inputs=inputs, trace=lambda: trace(name, inputs, body), body=body)

    def _solver(self, tree: Tree, chosen: Vector) -> Solver:
        """Return the constraint solver of the system on a tree with changed parameters."""
        plan, weights = Plan({}, tuple(range(tree.nv - 1, -1, -1))), list[Scalar]()
        if self._system.kernels.closed is not None:
            own = self._system.solver(chosen)
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
