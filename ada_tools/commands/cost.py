# SPDX-License-Identifier: Apache-2.0
"""Cost of a robot's dynamics: operations of each quantity, for `ada info`."""

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
    """Operations per call of the robot's own kernels; for robots that are too large for these, only that.

    Args:
        model: the robot.
        guess: rough pose to close its loops from.
    """
    if model.nv == 0:
        return {}, ["nothing moves"]
    try:
        dynamics = Dynamics(model, q0=guess)
        algorithm, forward, inverse = dynamics.algorithm, kernel_of(dynamics, "forward"), kernel_of(dynamics, "inverse")
    except ModelError as problem:
        return {"problem": str(problem)}, [str(problem)]
    if not isinstance(forward, Kernel) or not isinstance(inverse, Kernel) or kernels_of(dynamics).large:
        text = f"generic kernels serve the {model.nv} velocities of this model: code of its own would be too large"
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
