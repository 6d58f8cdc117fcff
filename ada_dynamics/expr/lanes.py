# SPDX-License-Identifier: Apache-2.0
"""Lanes: several scalars in one node, so that equal sub-chains are computed by vector instructions.

`pack` makes a lane value from scalars, `extract` and `lane_sum` convert it to scalars; all operations and functions
apply to lane values. Only native code for one state uses lanes; all other consumers expand them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ada_dynamics.errors import InputError
from ada_dynamics.expr.graph import CONST, EXTRACT, LANE_SUM, NEG, PACK, Expr
from ada_dynamics.expr.per_lane import lane_count, lane_of, per_lane


def pack(values: Sequence[Any]) -> Any:
    """Generic scalars in lanes; a plain scalar if all lanes have the same one.

    Floats become constants per lane, expressions a node; other numbers become a `PerLane`.

    Raises:
        InputError: a value has lanes already, or expressions belong to different graphs.
    """
    for value in values:
        if lanes_of(value) > 1:
            raise InputError("lanes cannot be packed into lanes: extract them first", field="lanes", allowed=1)
    if all(value is values[0] for value in values):
        return values[0]
    nodes = [value for value in values if type(value) is Expr]
    if not nodes:
        return per_lane(values)
    graph = nodes[0].graph
    if len(nodes) == len(values) and all(node.op is NEG for node in nodes):
        return -pack([node.args[0] for node in nodes])
    source = nodes[0].args[0] if nodes[0].op is EXTRACT else None
    if source is not None and is_unpacked(values, source):
        return source
    args = tuple(x if type(x) is Expr else graph.constant(float(x)) for x in values)
    graph.has_lanes = True
    found = graph.node(PACK, args)
    found.lanes = len(args)
    return found


def is_unpacked(values: Sequence[Any], source: Expr) -> bool:
    """Return True if the values are the lanes of `source`, in order."""
    return len(values) == source.lanes and all(
        type(x) is Expr and x.op is EXTRACT and x.args[0] is source and x.value == lane for lane, x in enumerate(values)
    )


def lanes_of(x: Any) -> int:
    """Number of lanes of a generic scalar; 1 if all lanes are equal."""
    if type(x) is Expr:
        return x.lanes
    return lane_count(x)


def extract(x: Any, lane: int) -> Any:
    """The scalar in one lane.

    Raises:
        InputError: the lane does not exist.
    """
    if type(x) is not Expr:
        return lane_of(x, lane)
    if x.lanes == 1:
        return x
    if not 0 <= lane < x.lanes:
        raise InputError(
            f"lane {lane} is not one of the {x.lanes} lanes", field="lane", value=lane, allowed=tuple(range(x.lanes))
        )
    if x.op is NEG:
        return -extract(x.args[0], lane)
    if x.op is PACK:
        return x.args[lane].value if x.args[lane].op is CONST else x.args[lane]
    table, key = x.graph.table[EXTRACT], (x, lane)
    found = table.get(key)
    if found is None:
        found = table[key] = Expr(x.graph, EXTRACT, (x,), lanes=1)
        found.value = lane
    return found


def lane_sum(x: Any, count: int) -> Any:
    """Sum over `count` lanes; count * x for a scalar without lanes.

    Raises:
        InputError: x has another number of lanes.
    """
    lanes = lanes_of(x)
    if lanes == 1:
        return count * x
    if lanes != count:
        raise InputError(
            f"a value with {lanes} lanes cannot be summed over {count}", field="lanes", value=lanes, allowed=count
        )
    if type(x) is not Expr:
        return sum(x.values[1:], x.values[0])
    if x.op is NEG:
        return -lane_sum(x.args[0], count)
    found = x.graph.node(LANE_SUM, (x,))
    found.lanes = 1
    return found
