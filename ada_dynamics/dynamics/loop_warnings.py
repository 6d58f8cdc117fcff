# SPDX-License-Identifier: Apache-2.0
"""Warnings of states that violate the loop constraints, and of singular configurations."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.constraints.singular import SvdSolution
from ada_dynamics.errors import (
    BifurcationWarning,
    ConstraintViolationWarning,
    LoopVelocityWarning,
    SingularConfigurationWarning,
)
from ada_dynamics.model.model import Model

# Smallest constraint violation that causes a warning, in characteristic lengths; stages of an integrator stay far below
# it. The rate of the violation is compared with |J| |v|, and with as many lengths per second: slower violations have no
# visible effect on accelerations, which depend on the square of velocities.
NOTICED = 1e-4


def warn_if_off_loops(constraints: ConstraintSet, q: Array, v: Array) -> None:
    """Warn if a state, or some state of a batch, violates the constraints, or has velocities that violate them."""
    if not q.size or not np.isfinite(q).all() or not np.isfinite(v).all():  # for which other checks raise errors
        return
    gaps = np.abs(constraints.violations(q)) / constraints.weights[:, None]
    name = constraints.model.name
    found, facts = _worst(constraints, gaps, gaps > NOTICED * constraints.length, "m", q.ndim == 2)
    if found:
        message = (
            f"loops of model {name!r} are open in this state: {found}. The results are those of a mechanism assembled "
            "with this error; close the loops with ada.close_loops(model, q) or with project_to_constraints(q, v)."
        )
        warnings.warn(ConstraintViolationWarning(message, **facts), stacklevel=level_of_caller())
    if not v.any():
        return
    drifts, scales = (x / constraints.weights[:, None] for x in constraints.rate_violations(q, v))
    found, facts = _worst(
        constraints, drifts, drifts > NOTICED * np.maximum(scales, constraints.length), "m/s", q.ndim == 2
    )
    if found:
        message = (
            f"the velocities violate the loop constraints of model {name!r}: {found}. The mechanism cannot move this "
            "way, and the results are meaningless; use the nearest velocities: q, v = project_to_constraints(q, v)."
        )
        warnings.warn(LoopVelocityWarning(message, **facts), stacklevel=level_of_caller())


def _worst(
    constraints: ConstraintSet, values: Array, is_noticed: NDArray[np.bool_], unit: str, is_batch: bool
) -> tuple[str, dict[str, Any]]:
    """Return the largest noticed value of each loop as text ("" without one), and the attributes of a warning."""
    found: dict[str, list[float]] = {}
    for (loop, _, _), row, noticed in zip(constraints.rows, values, is_noticed, strict=True):
        if noticed.any():
            found.setdefault(loop, []).extend(row[noticed].tolist())
    shown = ", ".join(f"{loop!r} by {max(sizes):.3g} {unit}" for loop, sizes in found.items())
    states = np.flatnonzero(is_noticed.any(axis=0)).tolist()
    facts = {"loops": tuple(found), "states": tuple(states) if is_batch else ()}
    if not found or not is_batch:
        return shown, facts
    return f"{shown} (state {states[0]}" + (f" and {len(states) - 1} others)" if len(states) > 1 else ")"), facts


# Computed quantity: accelerations, efforts, or a projected state.
OF_FORWARD, OF_INVERSE, OF_STATE = "forward", "inverse", "state"
_MOVING = {
    OF_FORWARD: "its acceleration follows from the rate of the constraints; joint forces can be infinite",
    OF_INVERSE: "the efforts are those along its current branch; joint forces can be infinite",
    OF_STATE: "velocities across its branch can remain, as the projection leaves out singular values below 1e-5",
}
_AT_REST = {
    OF_FORWARD: "The accelerations are those of Gauss' principle of least constraint",
    OF_INVERSE: "The efforts are those for all directions of motion if the motors can produce them, or for one branch",
    OF_STATE: "Its loops allow more velocities than finite motions",
}


def warn_singular(
    model: Model, loops: Iterable[str], what: str, solution: SvdSolution, tangents: Sequence[Array] | None
) -> None:
    """Warn of a configuration in which constraints of some loops lose rank, or nearly do.

    `tangents` are the directions in which a mechanism at rest can start to move; None for a moving mechanism.
    """
    names = tuple(sorted(loops))
    near = "in" if solution.lost_rank else "next to"
    where = f"model {model.name!r} is {near} a singular configuration (loops {', '.join(names)})"
    if tangents is None:
        result = _MOVING[what] if solution.lost_rank else f"its relative errors are up to about {solution.error:.0e}"
        warning = SingularConfigurationWarning(f"{where}: {result}.", loops=names, error=solution.error)
        warnings.warn(warning, stacklevel=level_of_caller())
        return
    shown = "; ".join(np.array2string(w, precision=6, separator=", ") for w in tangents)
    message = (
        f"{where} and at rest: its motion is not determined. {_AT_REST[what]}; it can start to move along "
        f"{len(tangents) or 'several'} directions" + (f": {shown}." if tangents else ".")
    )
    warnings.warn(BifurcationWarning(message, loops=names), stacklevel=level_of_caller())


def level_of_caller() -> int:
    """Stack level of the first caller outside of this package, for the calling function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ada_dynamics."):
        level, frame = level + 1, frame.f_back
    return level
