# SPDX-License-Identifier: Apache-2.0
"""Functions as Python source, and as a C99 file with its header."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, isnan
from typing import NamedTuple

import numpy as np

from ada_dynamics.errors import InputError
from ada_dynamics.expr import graph as ops
from ada_dynamics.expr.evaluation import expand
from ada_dynamics.expr.function import Function
from ada_dynamics.expr.graph import Expr, Scalar
from ada_dynamics.expr.operation_count import cost

_FORMS = {ops.ADD: "{0} + {1}", ops.SUB: "{0} - {1}", ops.MUL: "{0} * {1}", ops.NEG: "-{0}", ops.REC: "1.0 / {0}"}
_FORMS.update({ops.SQRT: "sqrt({0})", ops.SIN: "sin({0})", ops.COS: "cos({0})", ops.ATAN2: "atan2({0}, {1})"})
_PYTHON_SELECT = {"math": "{2} if {0} < {1} else {3}", "numpy": "where({0} < {1}, {2}, {3})"}


def python_source(function: Function, namespace: str = "math") -> str:
    """Source of a Python function that returns (output, ..., guards), each a flat tuple of scalars.

    Args:
        function: function to print.
        namespace: "math" for floats, "numpy" for arrays (an element of an input may then be an array of states).
    """
    function = expand(function)
    forms = {**_FORMS, ops.SELECT: _PYTHON_SELECT[namespace]}
    lines = [f"def {function.name}({', '.join(function.inputs)}):"]
    for node in function.nodes():
        if node.op not in (ops.VAR, ops.CONST):
            lines.append(f"    {_python_value(node)} = {forms[node.op].format(*map(_python_value, node.args))}")
    groups = [*function.outputs.values(), function.guards]
    texts = ["(" + "".join(f"{_python_value(x)}, " for x in group) + ")" for group in groups]
    lines.append(f"    return {', '.join(texts)},")  # a tuple, also with one element
    return "\n".join(lines) + "\n"


def _python_value(value: Scalar) -> str:
    return _value(value, _python_literal)


def _value(value: Scalar, literal: Callable[[float], str]) -> str:
    if not isinstance(value, Expr):
        return literal(value)
    if value.op is ops.VAR:
        return f"{value.variable[0]}[{value.variable[1]}]"
    # The trailing underscore avoids clashes with names of inputs and outputs.
    return literal(value.value) if value.op is ops.CONST else f"x{value.index}_"


def _python_literal(value: float) -> str:
    text = repr(value) if np.isfinite(value) else f'float("{value}")'
    return f"({text})" if text.startswith("-") else text


_C_FORMS = {**_FORMS, ops.SELECT: "({0} < {1}) ? {2} : {3}"}

# Python identifiers that are not valid as names of C functions or arguments.
_C_RESERVED = frozenset(
    "auto case char const default do double enum extern float goto inline int long register restrict short signed "  # noqa: SIM905
    "sizeof static struct switch typedef union unsigned void volatile main sin cos sqrt atan2".split()
)


class CExport(NamedTuple):
    """Text of NAME.c and NAME.h."""

    source: str
    header: str


def to_c(function: Function) -> CExport:
    """C99 text of `int NAME(const double *input, ..., double *output, ...)`; it returns 0, or 1 if a guard fails.

    Raises:
        InputError: a name is a reserved word of C or is not ASCII.
    """
    function = expand(function)
    name = function.name
    for word in (name, *function.inputs, *function.outputs):
        if word in _C_RESERVED or not word.isascii():
            raise InputError(
                f"{word!r} is not a valid name in C: rename it in function {name}", field="name", value=word
            )
    declaration = _declaration(function)
    guard = f"{name.upper()}_H"
    header = (
        f"{_description(function)}#ifndef {guard}\n#define {guard}\n\n#ifdef __cplusplus\n"
        f'extern "C" {{\n#endif\n\n{declaration};\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n'
    )
    operations = [node for node in function.nodes() if node.op not in (ops.VAR, ops.CONST)]
    body = [
        f"    const double {_c_value(node)} = {_C_FORMS[node.op].format(*map(_c_value, node.args))};"
        for node in operations
    ]
    for output, elements in function.outputs.items():
        body.extend(f"    {output}[{index}] = {_c_value(element)};" for index, element in enumerate(elements))
    # A guard that is NaN fails in this form.
    conditions = " && ".join(f"{_c_value(guard)} >= 0.0" for guard in function.guards)
    body.append(f"    return ({conditions}) ? 0 : 1;" if conditions else "    return 0;")
    unused = [f"    (void){key};" for key in function.inputs if not _is_used(function, key)]
    source = f'{_description(function)}#include <math.h>\n\n#include "{name}.h"\n\n{declaration}\n{{\n'
    return CExport(source + "\n".join([*unused, *body]) + "\n}\n", header)


def _is_used(function: Function, name: str) -> bool:
    return any(node.op is ops.VAR and node.variable[0] == name for node in function.nodes())


def _declaration(function: Function) -> str:
    inputs = [f"const double *{name}" for name in function.inputs]
    outputs = [f"double *{name}" for name in function.outputs]
    return f"int {function.name}({', '.join([*inputs, *outputs])})"


def _description(function: Function) -> str:
    """The leading comment: sizes and order of inputs and outputs."""
    of = cost(function)
    lines = [f"{function.name}: generated by ada_dynamics; do not edit.", ""]
    lines += [f"in   {name}[{size}]" for name, size in function.inputs.items()]
    for name, shape in function.shapes.items():
        dims = "".join(f"[{size}]" for size in shape) or "[1]"
        lines.append(f"out  {name}{dims}, {len(function.outputs[name])} doubles, last index fastest")
    lines += [
        "",
        f"Returns 0, or 1 where one of {len(function.guards)} guards fails (then the outputs are not to be used).",
        f"{of.flops} additions and multiplications, {of.divisions} divisions, {of.square_roots} square roots, "
        f"{of.sincos_pairs} sine-cosine pairs, {of.arctangents} arctangents.",
        "The outputs may overlap neither the inputs nor each other.",
    ]
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def _c_value(value: Scalar) -> str:
    return _value(value, _c_literal)


def _c_literal(value: float) -> str:
    if isnan(value):
        return "(double)NAN"
    if not isfinite(value):
        return "(double)INFINITY" if value > 0.0 else "(-(double)INFINITY)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text
