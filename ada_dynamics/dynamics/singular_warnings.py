# SPDX-License-Identifier: Apache-2.0
"""Warnings of singular configurations, by the quantity that was computed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.off_loops import level_of_caller
from ada_dynamics.errors import BifurcationWarning, SingularConfigurationWarning
from ada_dynamics.model.model import Model

# Computed quantity: accelerations, efforts, or a projected state.
OF_FORWARD, OF_INVERSE, OF_STATE = "forward", "inverse", "state"
_MOVING = {
    OF_FORWARD: "its acceleration follows from the rate of the constraints; joint forces can be infinite",
    OF_INVERSE: "the efforts are those along its current branch; joint forces can be infinite",
    OF_STATE: "its loops allow more velocities than finite motions; the velocity is projected onto its current branch",
}
_AT_REST = {
    OF_FORWARD: "The accelerations are those of Gauss' principle of least constraint",
    OF_INVERSE: "The efforts are those for all directions of motion if the motors can produce them, or for one branch",
    OF_STATE: "Its loops allow more velocities than finite motions",
}


def warn_singular(model: Model, loops: Iterable[str], what: str, ways: Sequence[Array] | None) -> None:
    """Warn of a singular configuration.

    Args:
        model: the model.
        loops: names of loops whose constraints lose rank.
        what: the computed quantity.
        ways: directions in which it can start to move, if it is at rest.
    """
    names = tuple(sorted(loops))
    where = f"model {model.name!r} is in a singular configuration (loops {', '.join(names)})"
    if ways is None:
        warning = SingularConfigurationWarning(f"{where}: {_MOVING[what]}.", loops=names)
        warnings.warn(warning, stacklevel=level_of_caller())
        return
    shown = "; ".join(np.array2string(w, precision=6, separator=", ") for w in ways)
    message = (
        f"{where} and at rest: its motion is not determined. {_AT_REST[what]}; it can start to move along "
        f"{len(ways) or 'several'} directions" + (f": {shown}." if ways else ".")
    )
    warnings.warn(BifurcationWarning(message, loops=names), stacklevel=level_of_caller())
