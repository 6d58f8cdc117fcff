# SPDX-License-Identifier: Apache-2.0
"""Results that lie side by side in memory: the lanes of one value leave in one store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ada_dynamics.expr.graph import EXTRACT, Expr, Scalar
from ada_dynamics.jit.emit import Emitter
from ada_dynamics.jit.lanes import part


class Run(NamedTuple):
    """A value whose lanes are the elements from a position on."""

    position: int
    value: Scalar
    lanes: int = 1


def runs(elements: Sequence[Scalar]) -> list[Run]:
    """The elements of a result: all lanes of a value, in order, as one run; any other element by itself."""
    found, position = [], 0
    while position < len(elements):
        run = _run_at(elements, position)
        found.append(run)
        position += run.lanes
    return found


def _run_at(elements: Sequence[Scalar], position: int) -> Run:
    first = elements[position]
    if isinstance(first, Expr) and first.op is EXTRACT and first.value == 0:
        (source,) = first.args
        together = elements[position : position + source.lanes]
        if len(together) == source.lanes and all(_is_lane(x, source, lane) for lane, x in enumerate(together)):
            return Run(position, source, source.lanes)
    return Run(position, first)


def _is_lane(x: Scalar, source: Expr, lane: int) -> bool:
    return isinstance(x, Expr) and x.op is EXTRACT and x.args[0] is source and x.value == lane


def store_runs(emitter: Emitter, of_result: Sequence[Run], pointer: str) -> None:
    """Store a result behind a pointer; where the code is for W states, element i lies at i W."""
    body = emitter.body
    for position, value, lanes in of_result:
        if lanes == 1:
            body.store(emitter.lanes.real, emitter.value(value), pointer, position * emitter.lanes.width)
        else:
            assert isinstance(value, Expr)
            kind = emitter.kind(value)
            whole = emitter.value(value, kind)
            exact = whole if lanes == kind.width else part(body, kind, whole, 0, lanes)
            body.store(f"<{lanes} x double>", exact, pointer, position)
