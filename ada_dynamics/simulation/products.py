# SPDX-License-Identifier: Apache-2.0
"""Products of a rate, a step or a settling with vectors: its derivative along a change, and the gradient against one.

Both are taken from the graph of the equations of motion, contact, stops, servos and control laws included, and have the
arguments of these, (x, u, t), so that whatever marches through time with the one can march with the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.expr import Expr, Function, directional, gradient
from ada_dynamics.expr.evaluation import expand
from ada_dynamics.spatial.vector import ZERO, Scalar


def along(of: Quantity) -> Quantity:
    """[f; ∂f/∂x dx + ∂f/∂u du] of [x; dx] and [u; du]: the same steps take a state and its change forwards."""
    n, m = of.inputs["x"], of.inputs["u"]
    inputs = {**of.inputs, "x": 2 * n, "u": 2 * m}
    (result, (size,)) = next(iter(of.shapes.items()))

    def traced() -> Function:
        function = expand(of.trace())
        x, u = (function.graph.vector(name, inputs[name]) for name in ("x", "u"))
        seeds: dict[Expr, Scalar] = dict(zip([*x[:n], *u[:m]], [*x[n:], *u[m:]], strict=True))
        values = function.outputs[result]
        return _function(f"{of.name}_along", function, inputs, result, [*values, *directional(values, seeds)])

    return replace(_shaped(of, inputs, result, 2 * size, "along"), trace=traced)


def against(of: Quantity) -> Quantity:
    """[wᵀ ∂f/∂x; wᵀ ∂f/∂u] of [x; w] and u: gradients go backwards."""
    n, m = of.inputs["x"], of.inputs["u"]
    inputs = {**of.inputs, "x": 2 * n}
    result = next(iter(of.shapes))

    def traced() -> Function:
        function = expand(of.trace())
        x, u = (function.graph.vector(name, inputs[name]) for name in ("x", "u"))
        product = sum((w * value for w, value in zip(x[n:], function.outputs[result], strict=True)), ZERO)
        return _function(f"{of.name}_against", function, inputs, result, gradient(product, [*x[:n], *u]))

    return replace(_shaped(of, inputs, result, n + m, "against"), trace=traced)


def _shaped(of: Quantity, inputs: dict[str, int], result: str, size: int, how: str) -> Quantity:
    return replace(of, name=f"{of.name}_{how}", inputs=inputs, shapes={result: (size,)}, body=None)


def _function(name: str, of: Function, inputs: dict[str, int], result: str, values: Sequence[Scalar]) -> Function:
    return Function(name, of.graph, dict(inputs), {result: tuple(values)}, {result: (len(values),)}, of.guards)
