# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions: build once from readable algorithms, fold, differentiate, evaluate, print."""

from ada_dynamics.expr.derivatives import directional, gradient, jacobian, jvp
from ada_dynamics.expr.evaluation import evaluate, expand
from ada_dynamics.expr.function import Function, Traced, make_function, trace
from ada_dynamics.expr.functions import absolute, atan2, cos, maximum, minimum, select, sign, sin, sqrt
from ada_dynamics.expr.graph import Expr, Graph, Scalar
from ada_dynamics.expr.lanes import extract, lane_sum, lanes_of, pack
from ada_dynamics.expr.operation_count import Cost, cost
from ada_dynamics.expr.per_lane import PerLane
from ada_dynamics.expr.printing import CExport, python_source, to_c

__all__ = [
    "CExport",
    "Cost",
    "Expr",
    "Function",
    "Graph",
    "PerLane",
    "Scalar",
    "Traced",
    "absolute",
    "atan2",
    "cos",
    "cost",
    "directional",
    "evaluate",
    "expand",
    "extract",
    "gradient",
    "jacobian",
    "jvp",
    "lane_sum",
    "lanes_of",
    "make_function",
    "maximum",
    "minimum",
    "pack",
    "python_source",
    "select",
    "sign",
    "sin",
    "sqrt",
    "to_c",
    "trace",
]
