# SPDX-License-Identifier: Apache-2.0
"""The steps of a system as they depend on parameters of the model, too: masses, inertias, losses, rotors, springs.

The same equations, on a tree whose constants are nodes: u goes on with how much each parameter differs from its value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ada_dynamics.algorithms import kkt, regressor
from ada_dynamics.algorithms.elimination import ConstrainedSolution, Plan
from ada_dynamics.algorithms.joint_loads import without_friction
from ada_dynamics.algorithms.passive import unloaded
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.dynamics.quantities.base import body_wrenches
from ada_dynamics.dynamics.quantities.closed import Solver
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.expr import Traced, trace
from ada_dynamics.jit import Kernel
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation import rates
from ada_dynamics.simulation.rates import Equations
from ada_dynamics.simulation.system import System
from ada_dynamics.spatial.vector import Scalar

Vector = Sequence[Scalar]
SolverFor = Callable[[Vector], Solver]  # by the combinations in u


class Parametrised:
    """A system whose input goes on with changes of parameters."""

    def __init__(self, system: System, names: Sequence[str]) -> None:
        """Args: the system; names of parameters, as `Dynamics.parameters` has them."""
        self._system, self._names = system, tuple(names)
        self._links = [system.model.joints[body.name].child for body in system.equations.tree.bodies]
        known = regressor.parameters(system.equations.tree, self._links)
        for name in names:
            if name not in known:
                raise unknown_name("parameter", name, known)
            if name.endswith(".friction") and system.equations.loads.friction_speed is None:
                raise InputError(
                    f"parameter {name!r}: no joint of model {system.model.name!r} has friction, and how motion changes "
                    "with the first of it is not smooth. Give one of its joints some."
                )

    def kernel_of(self, quantity: Quantity) -> Kernel:
        """Its kernel, kept with those of the dynamics."""
        return self._system.kernel_of(quantity)

    def marched(self, is_direct: bool) -> tuple[Quantity, Quantity | None]:
        """See `System.marched`."""
        main, settle = self._system.marched(is_direct)

        def step(of: Equations, solver: SolverFor) -> Quantity:
            return rates.step_quantity(of, main.name, solver)

        def rate(of: Equations, solver: SolverFor) -> Quantity:
            return rates.rate_quantity(of, main.name, lambda chosen: _forward(of.tree, solver(chosen)))

        def settled(of: Equations, solver: SolverFor) -> Quantity:
            has_loops = self._system.kernels.closed is not None
            return rates.settle_quantity(of, "parametrised", solver if has_loops else None)

        made = self._with_parameters(main, step if is_direct else rate)
        return made, None if settle is None else self._with_parameters(settle, settled)

    def _with_parameters(self, of: Quantity, make: Callable[[Equations, SolverFor], Quantity]) -> Quantity:
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
        """How the system is solved, on the tree with its parameters; what the system itself refuses, it has before."""
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
        acting = () if wrenches is None else (body_wrenches(tree, wrenches),)
        return {"a": solver.run(q, v, tau, *acting).accelerations}

    return forward
