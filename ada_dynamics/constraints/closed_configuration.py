# SPDX-License-Identifier: Apache-2.0
"""`close_loops`: a consistent pose of a mechanism with loops, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import Study, loop_state, refuse_open, study
from ada_dynamics.constraints.closure import assembled, free_velocities, limited, start_of
from ada_dynamics.constraints.constraint_set import LoopNumbers, typical_length
from ada_dynamics.constraints.rank import ROUNDED_GAP
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model


class ClosedConfiguration(NotebookDisplay, np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Positions q that close all loops: an array like any other, which can also say what there is to know about it.

    Every answer is that of the numbers as they are. Copies can give it, too; a part of a pose says that it is one, and
    what is computed of a pose is an array of numpy's.
    """

    _model: Model | None
    _guess: Array | None
    _studied: tuple[bytes, Study] | None  # for which numbers, and the findings

    def __array_finalize__(self, other: Any) -> None:
        """Numbers of another pose, all of them or some."""
        is_whole = isinstance(other, ClosedConfiguration) and other.shape == self.shape
        self._model, self._guess = (other._model, other._guess) if is_whole else (None, None)
        self._studied = None

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What is computed of a pose is plain numbers; in place it stays what it is."""
        return array if array is self else np.asarray(array)[()]

    def __reduce__(self) -> tuple[Any, ...]:
        return _pose, (np.array(self), self._model, self._guess)

    def _whole(self) -> tuple[Model, Array]:
        """The model, and the numbers."""
        if self._model is None:
            raise InputError(
                f"{np.asarray(self)!s:.80} is a part of a pose, which says nothing by itself: ask the pose that "
                "ada.close_loops returned, or a copy of it.",
                field="pose",
                value=np.asarray(self),
            )
        return self._model, np.asarray(self)

    def _study(self) -> Study | None:
        model, q = self._whole()
        if not model.loops:
            return None
        key = q.tobytes()
        if self._studied is None or self._studied[0] != key:
            self._studied = key, study(model, q)
        return self._studied[1]

    @property
    def gaps(self) -> dict[str, Array]:
        """Gap of each loop's conditions, by loop [m, rad]."""
        model, q = self._whole()
        if not model.loops:
            return {}
        numbers = LoopNumbers(model)
        names, whole = np.array([loop for loop, _, _ in numbers.conditions]), numbers.gap(q)
        return {name: whole[names == name] for name in model.loop_names}

    @property
    def residual(self) -> float:
        """Largest gap [m, rad]."""
        return max((float(np.max(np.abs(g), initial=0.0)) for g in self.gaps.values()), default=0.0)

    @property
    def moved(self) -> float:
        """Largest change from the guess [m, rad]."""
        model, q = self._whole()
        assert self._guess is not None
        return float(np.max(np.abs(model.difference(self._guess, q)), initial=0.0))

    @property
    def mobility(self) -> int:
        """Degrees of freedom in general poses, by rank."""
        found = self._study()
        return self._whole()[0].nv if found is None else found.mobility

    @property
    def mobility_here(self) -> int:
        """The same in this pose; more in a singular one."""
        found = self._study()
        model, q = self._whole()
        return model.nv if found is None else loop_state(found, q, None).mobility

    @property
    def redundant(self) -> list[str]:
        """Redundant conditions in words, loop by loop."""
        found = self._study()
        return [] if found is None else found.redundant_names()

    def report(self) -> str:
        """The findings, in a few lines; of numbers that leave loops open only by how much."""
        model, _ = self._whole()
        gap, way = self.residual, f"{self.moved:.3g} from the guess"
        if gap > ROUNDED_GAP * max(1.0, typical_length(model)):
            return f"open by {gap:.3g}, {way}: ada.close_loops(model, q) closes the loops"
        singular = f", {self.mobility_here} in this pose, which is singular" if self.is_singular else ""
        lines = [
            f"closed to {gap:.1e}, {way}",
            f"mobility {self.mobility}{singular}",
            *(f"redundant: {text}" for text in self.redundant),
        ]
        return "\n".join(lines)

    @property
    def is_singular(self) -> bool:
        """True if the loops lose rank in this pose."""
        return self.mobility_here > self.mobility


def _pose(q: Array, model: Model | None, guess: Array | None) -> ClosedConfiguration:
    pose = q.view(ClosedConfiguration)
    pose._model, pose._guess = model, guess
    return pose


def close_loops(model: Model, guess: ArrayLike | None = None, hold: str | Sequence[str] = ()) -> ClosedConfiguration:
    """Close all loops from a rough pose.

    Example::

        q = ada.close_loops(model, guess)
        print(q.report())

    Args:
        model: a model with loops.
        guess: positions to start from; those of the model's file by default.
        hold: joints, or the one, that stay where the guess has them, such as motors set to wanted angles.

    Returns:
        Positions near the guess that close all loops, with a report of what is left. A guess that closes them is kept;
        otherwise positions within the limits of the joints are preferred, and a BeyondLimitsWarning names the joints
        where there are none.

    Raises:
        InputError: guess or hold are unusable.
        ModelError: no pose closes the loops; the message says which stay open, and by how much.
    """
    if not isinstance(model, Model):
        raise InputError(
            f"model is {model!r:.100}; close_loops needs a Model, such as ada.load returns.",
            field="model",
            value=model,
            allowed=Model,
        )
    q = start_of(model, guess)
    start = q.copy()
    if model.loops:
        numbers = LoopNumbers(model)
        refuse_open(numbers)
        free = free_velocities(model, hold)
        q = assembled(model, numbers, q, free)
        is_kept = guess is not None and float(np.max(np.abs(numbers.gap(start)))) < ROUNDED_GAP * numbers.length
        q = q if is_kept else limited(numbers, q, start, free)
    return _pose(q, model, start)
