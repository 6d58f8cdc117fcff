# SPDX-License-Identifier: Apache-2.0
"""Warnings for states off the loops: gaps, and velocities that tear loops apart."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.errors import ConstraintViolationWarning, LoopVelocityWarning

# Gap, in lengths of the mechanism, that is warned of: stages of an integrator stay far below it. Velocities across a
# loop are measured by what the velocities of the joints would give if they added up, and by as many lengths a second:
# of slower ones accelerations, which go with the square, show nothing.
NOTICED = 1e-4


def warn_if_off_loops(constraints: ConstraintSet, q: Array, v: Array) -> None:
    """Warn where a state, or one of a batch, has open loops or velocities that open them."""
    if not q.size or not np.isfinite(q).all() or not np.isfinite(v).all():  # which is explained elsewhere
        return
    gaps = np.abs(constraints.violations(q)) / constraints.weights[:, None]
    name = constraints.model.name
    found, facts = _worst(constraints, gaps, gaps > NOTICED * constraints.length, "m", q.ndim == 2)
    if found:
        message = (
            f"loops of model {name!r} are open in the state given: {found}. The results are those of a mechanism that "
            "was put together so; close the loops with ada.close_loops(model, q) or with project_to_constraints(q, v)."
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
            f"the velocities given open loops of model {name!r}: {found}. No motion of the mechanism has them, and the "
            "results mean nothing; take the nearest that it can have: q, v = project_to_constraints(q, v)."
        )
        warnings.warn(LoopVelocityWarning(message, **facts), stacklevel=level_of_caller())


def _worst(
    constraints: ConstraintSet, values: Array, is_noticed: NDArray[np.bool_], unit: str, is_batch: bool
) -> tuple[str, dict[str, Any]]:
    """The worst noticed value of each loop in words, nothing where there is none, and the facts for a warning."""
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


def level_of_caller() -> int:
    """Stack level of the first caller outside of this package, for the function that asks."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ada_dynamics."):
        level, frame = level + 1, frame.f_back
    return level
