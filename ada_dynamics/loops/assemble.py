# SPDX-License-Identifier: Apache-2.0
"""`assemble`: a consistent pose of a mechanism with loops, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.loops.assembly import assembled, free_velocities, start_of
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.state import loop_state
from ada_dynamics.loops.study import Study, refuse_open, study
from ada_dynamics.model.model import Model
from ada_dynamics.shown import Shown


class AssembledPose(Shown, np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Positions q that close all loops: an array like any other, which also knows what was found out.

    Attributes:
        residual: largest gap left [m, rad].
        gaps: gap of each loop's conditions, by loop.
        moved: largest change from the guess [m, rad].
    """

    residual: float
    gaps: dict[str, Array]
    moved: float
    _model: Model

    def __array_finalize__(self, other: Any) -> None:
        """Views and results of arithmetic are plain poses without a report."""

    @cached_property
    def _found(self) -> Study | None:
        return study(self._model, np.asarray(self)) if self._model.loops else None

    @property
    def mobility(self) -> int:
        """Degrees of freedom in general poses, by rank."""
        return self._model.nv if self._found is None else self._found.mobility

    @cached_property
    def mobility_here(self) -> int:
        """The same in this pose; more in a singular one."""
        if self._found is None:
            return self._model.nv
        return loop_state(self._found, np.asarray(self), None).mobility

    @property
    def redundant(self) -> list[str]:
        """Redundant conditions in words, loop by loop."""
        return [] if self._found is None else self._found.redundant_names()

    def report(self) -> str:
        """The findings, in a few lines."""
        singular = f", {self.mobility_here} in this pose, which is singular" if self.is_singular else ""
        lines = [
            f"closed to {self.residual:.1e}, {self.moved:.3g} from the guess",
            f"mobility {self.mobility}{singular}",
            *(f"redundant: {text}" for text in self.redundant),
        ]
        return "\n".join(lines)

    @property
    def is_singular(self) -> bool:
        """True if the loops lose rank in this pose."""
        return self.mobility_here > self.mobility


def assemble(model: Model, guess: ArrayLike | None = None, hold: Sequence[str] = ()) -> AssembledPose:
    """Close all loops from a rough pose.

    Example::

        q = ada.assemble(model, guess)
        print(q.report())

    Args:
        model: a model with loops.
        guess: positions to start from; the neutral pose by default.
        hold: joints that stay where the guess has them, such as motors set to wanted angles.

    Returns:
        Positions near the guess that close all loops, with a report of what is left.

    Raises:
        InputError: guess or hold are unusable.
        ModelError: no pose closes the loops; the message says which stay open, and by how much.
    """
    if not isinstance(model, Model):
        raise InputError(f"model is {model!r:.100}; assemble needs a Model, such as ada.load returns.")
    q = start = start_of(model, guess)
    gaps: dict[str, Array] = {}
    if model.loops:
        numbers = LoopNumbers(model)
        refuse_open(numbers)
        q = assembled(model, numbers, start, free_velocities(model, hold))
        names, whole = np.array([loop for loop, _, _ in numbers.conditions]), numbers.gap(q)
        gaps = {name: whole[names == name] for name in model.loop_names}
    pose = q.view(AssembledPose)
    pose._model, pose.gaps = model, gaps
    pose.residual = max((float(np.max(np.abs(g), initial=0.0)) for g in gaps.values()), default=0.0)
    pose.moved = float(np.max(np.abs(model.difference(start, q)), initial=0.0))
    return pose
