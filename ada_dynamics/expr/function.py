# SPDX-License-Identifier: Apache-2.0
"""Traced functions: named input vectors, named outputs of any shape, and guards that must hold at run time."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.expr.graph import Expr, Graph, Scalar, live_nodes
from ada_dynamics.expr.per_lane import lane_count, lane_of


class Traced(NamedTuple):
    """Result of a traced body with guards (each must be >= 0 at run time) or columns, instead of a bare mapping."""

    outputs: Mapping[str, Any]
    guards: Sequence[Scalar] = ()
    columns: Sequence[Columns] = ()


SHARED, COLUMN = "shared", "column"


@dataclass(frozen=True)
class Columns:
    """Columns of a matrix, computed by one function of values that all columns share and of operands of each column.

    Expanded, n columns have n times as many nodes; as columns they are a vectorized loop of native code. Several groups
    of columns may compute one matrix, and a matrix may be the source of the columns of a later one; then it is no
    output, and several matrices may have it as their source in turn.

    Attributes:
        output: name of the matrix.
        each: function of the vectors SHARED and COLUMN; its only output is a column.
        shared: values that all columns share.
        rows: operands of the columns side by side, row by row.
        first: column of the matrix at which these start.
        total: number of columns of the matrix; 0: as many as the rows have.
        source: earlier matrix whose columns are the operands, in place of rows.
        row: row of the matrix at which these start.
        height: number of rows of the matrix; 0: as many as the function has results.
        window: 0, or the number of these columns if `shared` has the values of all rows of the matrix, one after the
            other, and `rows` the operands of all its columns.
    """

    output: str
    each: Function
    shared: tuple[Scalar, ...]
    rows: tuple[tuple[Scalar, ...], ...]
    first: int = 0
    total: int = 0
    source: str = ""
    row: int = 0
    height: int = 0
    window: int = 0

    @property
    def count(self) -> int:
        """Number of these columns."""
        return self.window or (self.total if self.source else len(self.rows[0]))

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        (result,) = self.each.outputs.values()
        return self.height or len(result), self.total or self.count

    @property
    def before(self) -> tuple[int, int]:
        """Numbers of shared values, and of operands in each row, of the matrix before these."""
        return (self.row * (len(self.shared) // self.height), self.first) if self.window else (0, 0)

    @property
    def values(self) -> list[Scalar]:
        """All values from which the columns are computed."""
        return [*self.shared, *(x for row in self.rows for x in row)]


@dataclass(frozen=True)
class Function:
    """Named expressions: `outputs[name]` are the elements in C order of an array of `shapes[name]`.

    An output that is one of `columns` has a shape but no elements.
    """

    name: str
    graph: Graph
    inputs: dict[str, int]
    outputs: dict[str, tuple[Scalar, ...]]
    shapes: dict[str, tuple[int, ...]]
    guards: tuple[Expr, ...] = ()
    columns: tuple[Columns, ...] = ()

    def __post_init__(self) -> None:
        for name in (self.name, *self.inputs, *self.outputs):
            if not name.isidentifier() or keyword.iskeyword(name):
                text = f"{name!r} is not a valid name of a function, an input or an output: use an identifier"
                raise InputError(text, field="name", value=name, allowed="an identifier")
        clash = sorted(set(self.inputs) & set(self.outputs))
        if clash:
            raise InputError(
                f"function {self.name}: {clash} name both an input and an output", field="name", value=tuple(clash)
            )

    @property
    def values(self) -> list[Scalar]:
        """All output elements, values needed by columns, and guards, in this order."""
        of_columns = (x for columns in self.columns for x in columns.values)
        return [*(x for elements in self.outputs.values() for x in elements), *of_columns, *self.guards]

    def variables(self, name: str) -> tuple[Expr, ...]:
        """The nodes of an input vector."""
        if name not in self.inputs:
            text = f"function {self.name} has no input {name!r}; its inputs are {list(self.inputs)}"
            raise InputError(text, field="input", value=name, allowed=tuple(self.inputs))
        return self.graph.vector(name, self.inputs[name])

    def nodes(self) -> list[Expr]:
        """Nodes on which outputs and guards depend, operands first."""
        return self._nodes.copy()

    @property
    def sources(self) -> dict[str, tuple[int, int]]:
        """Shapes of the matrices that are no outputs."""
        return {one.output: one.shape for one in self.columns if one.output not in self.shapes}

    @cached_property
    def _nodes(self) -> list[Expr]:
        return live_nodes(self.values)


def flatten(value: Any) -> tuple[list[Any], tuple[int, ...]]:
    """Elements in C order and the shape of nested tuples, lists or arrays of scalars."""
    if hasattr(value, "tolist") and not isinstance(value, Expr):
        value = value.tolist()
    if not isinstance(value, (tuple, list)):
        return [value], ()
    parts = [flatten(item) for item in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) > 1:
        text = f"an output is ragged: its rows have the shapes {sorted(shapes)}"
        raise InputError(text, field="output", value=tuple(sorted(shapes)), allowed="rows of one shape")
    elements = [element for items, _ in parts for element in items]
    return elements, (len(parts), *(shapes.pop() if shapes else ()))


def make_function(
    name: str,
    graph: Graph,
    inputs: Mapping[str, int],
    outputs: Mapping[str, Any],
    guards: Iterable[Scalar] = (),
    order: Sequence[str] | None = None,
    columns: Sequence[Columns] = (),
) -> Function:
    """Make a function from nested outputs.

    Args:
        name: an identifier.
        graph: owner of all nodes.
        inputs: size of each input vector, in calling order.
        outputs: nested tuples, lists or arrays of scalars by name.
        guards: scalars that must be >= 0 at run time.
        order: order of the outputs (default: that of the mapping, then columns).
        columns: outputs that are computed column by column.

    Raises:
        InputError: an output is ragged, empty or not numeric, or a constant guard fails.
    """
    flat: dict[str, tuple[Scalar, ...]] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    sources = {one.source for one in columns}
    by_columns = {one.output: one for one in columns if one.output not in sources}
    names = [*outputs, *by_columns]
    if order is not None and sorted(order) != sorted(names):
        text = f"function {name}: the order {list(order)} does not match the outputs {sorted(names)}"
        raise InputError(text, field="order", value=tuple(order), allowed=tuple(sorted(names)))
    for key in order if order is not None else names:
        if key in by_columns:
            shapes[key] = by_columns[key].shape
            continue
        elements, shape = flatten(outputs[key])
        flat[key] = tuple(_scalar(element, name, key) for element in elements)
        shapes[key] = shape
        if prod(shape) == 0:
            raise InputError(f"function {name}: output {key!r} is empty", field=key, allowed="at least one number")
    return Function(name, graph, dict(inputs), flat, shapes, live_guards(name, guards), tuple(columns))


def _scalar(element: Any, function: str, output: str) -> Scalar:
    if isinstance(element, Expr):
        if element.lanes > 1:
            text = f"function {function}: output {output!r} has a value of {element.lanes} lanes; extract or sum them"
            raise InputError(text, field=output, value=element.lanes, allowed=1)
        return element
    try:
        return float(element)
    except (TypeError, ValueError) as error:
        message = f"function {function}: output {output!r} contains {element!r}, which is neither a number nor an Expr"
        raise InputError(message, field=output, value=element) from error


def live_guards(function: str, guards: Iterable[Any]) -> tuple[Expr, ...]:
    """Guards that depend on the inputs (each lane must hold); constant guards are checked here."""
    live: dict[Expr, None] = {}
    for guard in guards:
        if isinstance(guard, Expr):
            live[guard] = None
        elif not all(lane_of(guard, lane) >= 0.0 for lane in range(lane_count(guard))):
            text = f"function {function}: a guard is the constant {guard}, so it fails for every input"
            raise InputError(text, field="guard", value=guard)
    return tuple(live)


def trace(
    name: str,
    inputs: Mapping[str, int],
    body: Callable[..., Mapping[str, Any] | Traced],
    order: Sequence[str] | None = None,
) -> Function:
    """Run `body(**vectors)` on vectors of variables and return its results as a function.

    Args:
        name: name of the function (an identifier).
        inputs: size of each input vector, in calling order.
        body: takes one tuple of variables per input, by name; returns a mapping from output names to nested tuples of
            scalars, or a `Traced`.
        order: order of the outputs (default: that of the mapping).
    """
    for key, size in inputs.items():
        if size < 1:
            text = f"function {name}: input {key!r} has size {size}; it must be at least 1"
            raise InputError(text, field=key, value=size, allowed="at least 1")
    graph = Graph()
    with pause_garbage_collection():  # its searches would double the time
        result = body(**{key: graph.vector(key, size) for key, size in inputs.items()})
    traced = result if isinstance(result, Traced) else Traced(result)
    return make_function(name, graph, inputs, traced.outputs, traced.guards, order, traced.columns)
