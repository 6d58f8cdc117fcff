# SPDX-License-Identifier: Apache-2.0
"""Quantities of a robot as CasADi functions (SX), for differentiation and optimization in CasADi.

    import ada_dynamics.casadi

    forward = ada_dynamics.casadi.function(model)  # (q, v, tau) -> a, loops closed
    violation = ada_dynamics.casadi.function(model, "constraint_violation")  # zero for closed loops

The functions have no fallback for singular configurations, where they divide by zero. `pip install casadi` is
sufficient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.algorithms.kkt import Plan, residual
from ada_dynamics.constraints.coordinates import INDEPENDENT, Coordinates
from ada_dynamics.dynamics import Dynamics, closed_quantities
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.dynamics.constraint_queries import tangent_map_quantity
from ada_dynamics.dynamics.export import QUANTITIES as OF_EVERY_ROBOT
from ada_dynamics.dynamics.export import quantity_of
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.errors import InputError, check_name
from ada_dynamics.expr import Function, trace
from ada_dynamics.expr.evaluation import expand
from ada_dynamics.expr.graph import ADD, ATAN2, CONST, COS, MUL, NEG, REC, SELECT, SIN, SQRT, SUB, VAR, Expr
from ada_dynamics.model.model import Model
from ada_dynamics.resources import how_to_install
from ada_dynamics.spatial.vector import Scalar

OF_LOOPS = {"constraint_violation": "constraint_violation", "constraint_jacobian": "constraint_terms"}
QUANTITIES = (*OF_EVERY_ROBOT, "position_rate", "residual", *OF_LOOPS, "tangent_map")


def function(
    robot: Model | Dynamics,
    quantity: str = "forward",
    *,
    link: str | None = None,
    coordinates: Coordinates = INDEPENDENT,
) -> Any:
    """Create a quantity as a `casadi.Function` of column vectors, named as the arguments of `Dynamics`.

    Args:
        robot: a model, or its dynamics.
        quantity: "forward", "inverse", "mass_matrix", "bias", "gravity", "com", "energy", "pose" or "jacobian", as in
            `Dynamics`; "position_rate", the rate of q; with loops "constraint_violation" [m, rad],
            "constraint_jacobian", J and γ of J a + γ = 0, and "tangent_map", T of v = T y. "residual" is the mechanism
            as a DAE:
            (q, v, a, multipliers, tau) -> [M a + h - τ - Jᵀλ; J a + γ].
        link: link of "pose" and "jacobian".
        coordinates: coordinates y of "tangent_map".

    Raises:
        InputError: the quantity is unknown, or CasADi is not installed.
    """
    try:
        import casadi
    except ModuleNotFoundError:
        raise InputError(f"CasADi is not installed: {how_to_install('casadi')}") from None
    check_name("quantity", quantity, QUANTITIES)
    dynamics = robot if isinstance(robot, Dynamics) else Dynamics(robot)
    if quantity in OF_EVERY_ROBOT:
        traced = quantity_of(dynamics, quantity, link).trace()
    elif quantity == "position_rate":
        traced = _position_rate(dynamics)
    elif quantity == "residual":
        traced = _residual(dynamics)
    else:
        traced = _of_loops(dynamics, quantity, coordinates).trace()
    return _to_casadi(casadi, expand(traced), quantity)


def _position_rate(dynamics: Dynamics) -> Function:
    model = dynamics.model

    def body(q: Sequence[Scalar], v: Sequence[Scalar]) -> dict[str, list[Scalar]]:
        return {"rate": position_rates(model.tree, q, v)}

    return trace("position_rate", {"q": model.nq, "v": model.nv}, body)


def _residual(dynamics: Dynamics) -> Function:
    closed, model = kernels_of(dynamics).closed, dynamics.model
    tree = model.tree if closed is None else closed.tree
    plan = Plan({} if closed is None else closed.plans.rows, ())

    def body(**given: Sequence[Scalar]) -> dict[str, list[Scalar]]:
        q, v, a, tau = (given[name] for name in ("q", "v", "a", "tau"))
        efforts, conditions = residual(tree, q, v, a, plan, given.get("multipliers", ()))
        return {"residual": [x - u for x, u in zip(efforts, tau, strict=True)] + conditions}

    multipliers = {"multipliers": plan.constraint_count} if plan.constraint_count else {}
    return trace("residual", {"q": model.nq, "v": model.nv, "a": model.nv, **multipliers, "tau": model.nv}, body)


def _of_loops(dynamics: Dynamics, quantity: str, coordinates: Coordinates) -> Quantity:
    closed = kernels_of(dynamics).closed
    if closed is None:
        text = f"model {dynamics.model.name!r} has no loops and no {quantity}."
        raise InputError(text, field=quantity, value=dynamics.model.name, allowed="a model with loops")
    if quantity == "tangent_map":
        found = tangent_map_quantity(dynamics.constraints, coordinates)
        if found is None:
            text = f"the tangent map of model {dynamics.model.name!r} is only available numerically."
            raise InputError(text, field="tangent_map", value=dynamics.model.name)
        return found
    return closed_quantities.of_constraints(OF_LOOPS[quantity], closed.analysis.constraints, closed.plans)


def _to_casadi(casadi: Any, of: Function, name: str) -> Any:
    inputs = {key: casadi.SX.sym(key, size) for key, size in of.inputs.items()}
    known: dict[int, Any] = {}
    binary = {ADD: lambda a, b: a + b, SUB: lambda a, b: a - b, MUL: lambda a, b: a * b, ATAN2: casadi.atan2}
    unary = {NEG: lambda a: -a, REC: lambda a: 1 / a, SQRT: casadi.sqrt, SIN: casadi.sin, COS: casadi.cos}
    for node in of.nodes():
        operands = [known[arg.index] for arg in node.args]
        if node.op is VAR:
            key, position = node.variable
            known[node.index] = inputs[key][position]
        elif node.op is CONST:
            known[node.index] = casadi.SX(node.value)
        elif node.op is SELECT:
            a, b, x, y = operands
            known[node.index] = casadi.if_else(a < b, x, y)
        else:
            known[node.index] = (binary if len(operands) == 2 else unary)[node.op](*operands)

    def shaped(key: str) -> Any:
        values = [known[x.index] if isinstance(x, Expr) else casadi.SX(x) for x in of.outputs[key]]
        shape = of.shapes[key]
        column = casadi.vertcat(*values)
        return casadi.reshape(column, shape[1], shape[0]).T if len(shape) == 2 else column

    outputs = [shaped(key) for key in of.outputs]
    return casadi.Function(name, list(inputs.values()), outputs, list(inputs), list(of.outputs))
