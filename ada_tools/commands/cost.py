# SPDX-License-Identifier: Apache-2.0
"""Operation counts of the dynamics of a robot, for `ada info`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics import expr
from ada_dynamics.dynamics import Dynamics, quantities
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.dynamics.front import kernel_of
from ada_dynamics.errors import ModelError
from ada_dynamics.jit import Kernel
from ada_dynamics.model.model import Model
from ada_tools.commands.common import table


def cost_section(model: Model, guess: NDArray[np.float64] | None = None) -> tuple[dict[str, Any], list[str]]:
    """Operations per call of the specialised kernels; robots that are too large for these get a note only.

    Args:
        model: robot model.
        guess: approximate configuration for closing the loops.
    """
    if model.nv == 0:
        return {}, ["no moving joint"]
    try:
        dynamics = Dynamics(model, q0=guess)
        algorithm, forward, inverse = dynamics.algorithm, kernel_of(dynamics, "forward"), kernel_of(dynamics, "inverse")
    except ModelError as problem:
        return {"problem": str(problem)}, [str(problem)]
    if not isinstance(forward, Kernel) or not isinstance(inverse, Kernel) or kernels_of(dynamics).large:
        text = f"generic kernels are used: the model has {model.nv} velocities, too many for specialised code"
        return {"kernel": "generic"}, [text]
    made = {
        f"forward ({algorithm}{', loops closed' if model.loops else ''})": forward.function,
        "inverse": inverse.function,
        "mass_matrix": quantities.of_tree(model.tree, "mass_matrix").trace(),
    }
    rows = []
    for name, function in made.items():
        count = expr.cost(function)
        rows.append((name, count.flops, count.divisions, count.sincos_pairs))
    head = ("quantity", "flops", "divisions", "sincos pairs")
    data = {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}
    return {"algorithm": algorithm, **data}, table(head, rows)
