# SPDX-License-Identifier: Apache-2.0
"""Warnings of singular poses, and what these mean for the question that was asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.off_loops import level_of_caller
from ada_dynamics.errors import BifurcationWarning, SingularConfigurationWarning
from ada_dynamics.model.model import Model

# By what is asked for: accelerations, efforts, or a state that is projected.
OF_FORWARD, OF_INVERSE, OF_STATE = "forward", "inverse", "state"
_MOVING = {
    OF_FORWARD: "its acceleration follows from the rate of the loop conditions; joint forces can be infinite",
    OF_INVERSE: "the efforts are those along the branch on which it moves; joint forces can be infinite",
    OF_STATE: "its loops allow more velocities here than motions; those of its branch are what it goes on with",
}
_AT_REST = {
    OF_FORWARD: "The accelerations are those of least constraint",
    OF_INVERSE: "The efforts are those for all of its motions if the motors can, or for one of its branches",
    OF_STATE: "Its loops allow more velocities here than motions",
}


def warn_singular(model: Model, loops: Iterable[str], what: str, ways: Sequence[Array] | None) -> None:
    """Tell of a singular pose.

    Args:
        model: that is in it.
        loops: that lose conditions there.
        what: was asked for.
        ways: directions in which it can start to move, where it is at rest.
    """
    names = tuple(sorted(loops))
    where = f"model {model.name!r} is in a singular pose (loops {', '.join(names)})"
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
