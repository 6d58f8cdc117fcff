# SPDX-License-Identifier: Apache-2.0
"""A function on numbers: node by node for any precision, or as generated Python source for speed without a JIT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.expr.columns import written_out
from ada_dynamics.expr.expand import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import (
    ADD,
    ATAN2,
    CONST,
    COS,
    MUL,
    NEG,
    REC,
    SELECT,
    SIN,
    SQRT,
    SUB,
    VAR,
    Expr,
    Scalar,
)
from ada_dynamics.expr.run_nodes import evaluate_nodes


def evaluate(function: Function, /, **inputs: Sequence[Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Outputs of a function for numbers of any kind (floats, numpy.longdouble, arrays of them)."""
    if set(inputs) != set(function.inputs):
        raise InputError(
            f"function {function.name} takes {list(function.inputs)}, not {sorted(inputs)}",
            field="inputs",
            value=tuple(sorted(inputs)),
            allowed=tuple(function.inputs),
        )
    for name, size in function.inputs.items():
        if len(inputs[name]) != size:
            raise InputError(
                f"function {function.name}: {name} has {len(inputs[name])} elements instead of {size}",
                field=name,
                value=len(inputs[name]),
                allowed=size,
            )
    function = written_out(function)
    known = evaluate_nodes(function.nodes(), inputs)
    return {
        name: np.array([known[x.index] if isinstance(x, Expr) else x for x in elements]).reshape(
            function.shapes[name] + np.shape(known[elements[0].index] if isinstance(elements[0], Expr) else 0.0)
        )
        for name, elements in function.outputs.items()
    }


_FORMS = {ADD: "{0} + {1}", SUB: "{0} - {1}", MUL: "{0}*{1}", NEG: "-{0}", REC: "1.0/{0}"}
_FORMS.update({SQRT: "sqrt({0})", SIN: "sin({0})", COS: "cos({0})", ATAN2: "atan2({0}, {1})"})
_SELECT = {"math": "{2} if {0} < {1} else {3}", "numpy": "where({0} < {1}, {2}, {3})"}


def python_source(function: Function, namespace: str = "math") -> str:
    """Source of a Python function that returns (output, ..., guards), each a flat tuple of scalars.

    Args:
        function: what to print.
        namespace: "math" for floats, "numpy" for arrays (each element of an input may then be an array of states).
    """
    function = expand(function)
    forms = {**_FORMS, SELECT: _SELECT[namespace]}
    lines = [f"def {function.name}({', '.join(function.inputs)}):"]
    for node in function.nodes():
        if node.op not in (VAR, CONST):
            lines.append(f"    {_name(node)} = {forms[node.op].format(*map(_name, node.args))}")
    groups = [*function.outputs.values(), function.guards]
    texts = ["(" + "".join(f"{_name(x)}, " for x in group) + ")" for group in groups]
    lines.append(f"    return {', '.join(texts)},")  # one alone is a tuple, too
    return "\n".join(lines) + "\n"


def _name(value: Scalar) -> str:
    if not isinstance(value, Expr):
        return _number(value)
    if value.op is VAR:
        return f"{value.variable[0]}[{value.variable[1]}]"
    return _number(value.value) if value.op is CONST else f"x{value.index}"


def _number(value: float) -> str:
    text = repr(value) if np.isfinite(value) else f'float("{value}")'
    return f"({text})" if text.startswith("-") else text
