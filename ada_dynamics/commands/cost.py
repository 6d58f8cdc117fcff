# SPDX-License-Identifier: Apache-2.0
"""What the dynamics of a robot cost: operations of each quantity, for `ada info`."""

from __future__ import annotations

from typing import Any

from ada_dynamics import expr
from ada_dynamics.commands.common import table
from ada_dynamics.dynamics import Dynamics, quantities
from ada_dynamics.dynamics.kernels import SPECIALISE_UP_TO
from ada_dynamics.errors import ModelError
from ada_dynamics.model.model import Model


def cost_section(model: Model) -> tuple[dict[str, Any], list[str]]:
    """Operations per call of the robot's own kernels; for robots that the generic kernels serve, only that."""
    if model.nv == 0:
        return {}, ["nothing moves"]
    if model.nv > SPECIALISE_UP_TO:
        text = f"generic loop kernels serve models with more than {SPECIALISE_UP_TO} velocities"
        return {"kernel": "generic"}, [text]
    try:
        dynamics = Dynamics(model)
    except ModelError as problem:
        return {"problem": str(problem)}, [str(problem)]
    tree, algorithm = model.tree, dynamics.algorithm
    made = {
        f"forward ({algorithm})": quantities.forward(tree, algorithm, external=False),
        "inverse": quantities.inverse(tree, external=False),
        "mass_matrix": quantities.mass_matrix(tree, "crba"),
    }
    rows = []
    for name, quantity in made.items():
        count = expr.cost(quantity.trace())
        rows.append((name, count.flops, count.divisions, count.sincos_pairs))
    head = ("quantity", "flops", "divisions", "sincos pairs")
    data = {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}
    return {"algorithm": algorithm, **data}, table(head, rows)
