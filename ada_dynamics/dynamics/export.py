# SPDX-License-Identifier: Apache-2.0
"""A quantity of a model as a C file that stands alone: for a microcontroller, or a controller in another language."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.arguments import choice
from ada_dynamics.dynamics.front import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Function, to_c
from ada_dynamics.model.tree import Tree

EXPORTS: dict[str, Callable[[Tree], quantities.Quantity]] = {
    "inverse": lambda tree: quantities.inverse(tree, external=False),
    "mass_matrix": lambda tree: quantities.mass_matrix(tree, "crba"),
    "bias": quantities.bias,
    "gravity": quantities.gravity,
    "com": quantities.com,
    "energy": quantities.energies,
}
NAMES = ("forward", *EXPORTS, "pose", "jacobian")


def traced(dynamics: Dynamics, quantity: str = "forward", link: str | None = None) -> Function:
    """A quantity as expressions, to be exported or looked at.

    Args:
        dynamics: whose model and algorithm.
        quantity: forward, inverse, mass_matrix, bias, gravity, com, energy, pose or jacobian.
        link: the link, for pose and jacobian.
    """
    choice("quantity", quantity, NAMES)
    tree = dynamics.model.tree
    if quantity in ("pose", "jacobian"):
        if link is None:
            raise InputError(f"{quantity} needs a link; this model has {', '.join(dynamics.model.link_names)}.")
        dynamics.require_link(link)
        made = quantities.pose(tree, link) if quantity == "pose" else quantities.link_jacobian(tree, link, "local")
        return made.trace()
    if quantity == "forward":
        return quantities.forward(tree, dynamics.algorithm, external=False).trace()
    return EXPORTS[quantity](tree).trace()


def export_c(
    dynamics: Dynamics, directory: str | Path, quantity: str = "forward", link: str | None = None
) -> tuple[Path, Path]:
    """Write NAME.c and NAME.h into a directory, which is made if need be; arguments as in `traced`."""
    function = traced(dynamics, quantity, link)
    code, folder = to_c(function), Path(directory)
    paths = folder / f"{function.name}.c", folder / f"{function.name}.h"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, (code.source, code.header), strict=True):
            path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"the C files cannot be written to {folder}: {problem}") from None
    return paths
