# SPDX-License-Identifier: Apache-2.0
"""Functions put together to one, for machines on which a state is a thread: what is between stays in registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ada_dynamics.dynamics.quantities.base import Quantity, reshape, substitute
from ada_dynamics.expr import Expr, Function, Traced, trace
from ada_dynamics.expr.expand import expand
from ada_dynamics.expr.run_nodes import evaluate_nodes
from ada_dynamics.spatial.scalar import Scalar


def wrenches_of_efforts(forward: Quantity, wrenches: Quantity) -> Quantity:
    """Joint wrenches from q, v and τ (and wrenches on bodies): what forward dynamics finds stays in registers.

    Args:
        forward: accelerations, and multipliers where there are loops.
        wrenches: of all joints, from q, v, a and these multipliers.
    """
    inputs = forward.inputs
    shapes = {**wrenches.shapes, **{name: shape for name, shape in forward.shapes.items() if name == "multipliers"}}

    def body(**given: Sequence[Scalar]) -> Traced:
        solved, guards = applied(forward.trace(), given)
        state = {**given, **solved}
        carried = substitute(expand(wrenches.trace()), {name: state[name] for name in wrenches.inputs})
        outputs = {name: reshape(carried[name], shape) for name, shape in wrenches.shapes.items()}
        return Traced({**outputs, **{name: solved[name] for name in shapes if name not in outputs}}, guards)

    name = f"{wrenches.name}_of_{forward.name}"
    return Quantity(name, inputs, shapes, lambda: trace(name, inputs, body, tuple(shapes)), body)


def applied(
    function: Function, arguments: Mapping[str, Sequence[Scalar]]
) -> tuple[dict[str, list[Scalar]], list[Scalar]]:
    """Results and guards of a traced function, for arguments of another graph."""
    plain = expand(function)
    values = evaluate_nodes(plain.nodes(), arguments)
    results = {
        name: [values[x.index] if isinstance(x, Expr) else x for x in elements]
        for name, elements in plain.outputs.items()
    }
    return results, [values[guard.index] for guard in plain.guards]
