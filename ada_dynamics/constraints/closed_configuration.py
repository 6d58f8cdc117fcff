# SPDX-License-Identifier: Apache-2.0
"""A configuration that closes all loops, with its constraint violation and mobility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import ConstraintAnalysis, analyse, constraint_state, refuse_open
from ada_dynamics.constraints.closure import closed_near, free_velocities, initial_configuration, within_joint_limits
from ada_dynamics.constraints.constraint_set import ConstraintSet, characteristic_length
from ada_dynamics.constraints.rank import ROUNDED_GAP
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.errors import InputError, invalid
from ada_dynamics.model.model import Model


class ClosedConfiguration(NotebookDisplay, np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """Configuration q that closes all loops: an array with properties for its constraint violation and mobility.

    The properties follow in-place changes of the array. Copies have them, too; slices raise an InputError, and results
    of arithmetic are plain numpy arrays.
    """

    _model: Model | None
    _guess: Array | None
    _analysed: tuple[bytes, ConstraintAnalysis] | None  # values of q and their analysis

    def __array_finalize__(self, other: Any) -> None:
        """Copy the model and the guess, unless this is a slice."""
        is_whole = isinstance(other, ClosedConfiguration) and other.shape == self.shape
        self._model, self._guess = (other._model, other._guess) if is_whole else (None, None)
        self._analysed = None

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """Return plain arrays, except from operations in place."""
        return array if array is self else np.asarray(array)[()]

    def __reduce__(self) -> tuple[Any, ...]:
        return _closed, (np.array(self), self._model, self._guess)

    def _whole(self) -> tuple[Model, Array]:
        """The model and q as a plain array."""
        if self._model is None:
            raise InputError(
                f"{np.asarray(self)!s:.80} is a part of a configuration, which has no closure error; use the array "
                "that ada.close_loops returned, or a copy of it.",
                field="q",
                value=np.asarray(self),
            )
        return self._model, np.asarray(self)

    def _analysis(self) -> ConstraintAnalysis | None:
        model, q = self._whole()
        if not model.loops:
            return None
        key = q.tobytes()
        if self._analysed is None or self._analysed[0] != key:
            self._analysed = key, analyse(model, q)
        return self._analysed[1]

    @property
    def violation(self) -> dict[str, Array]:
        """Violation of each constraint, by loop [m, rad]."""
        model, q = self._whole()
        if not model.loops:
            return {}
        constraints = ConstraintSet(model)
        return constraints.by_loop(constraints.violation(q))

    @property
    def residual(self) -> float:
        """Largest constraint violation [m, rad]."""
        return max((float(np.max(np.abs(g), initial=0.0)) for g in self.violation.values()), default=0.0)

    @property
    def moved(self) -> float:
        """Largest change from the guess [m, rad]."""
        model, q = self._whole()
        assert self._guess is not None
        return float(np.max(np.abs(model.difference(self._guess, q)), initial=0.0))

    @property
    def mobility(self) -> int:
        """Degrees of freedom in general configurations, from the rank of the constraint Jacobian."""
        found = self._analysis()
        return self._whole()[0].nv if found is None else found.mobility

    @property
    def mobility_here(self) -> int:
        """Degrees of freedom in this configuration; more than `mobility` in a singular one."""
        found = self._analysis()
        return self.mobility if found is None else constraint_state(found, np.asarray(self), None).mobility

    @property
    def redundant(self) -> list[str]:
        """Trivial and redundant constraints in words, loop by loop."""
        found = self._analysis()
        return [] if found is None else found.redundant_names()

    def report(self) -> str:
        """Closure error, mobility and redundant constraints in a few lines."""
        model, _ = self._whole()
        error, moved = self.residual, f"{self.moved:.3g} from the guess"
        if error > ROUNDED_GAP * max(1.0, characteristic_length(model)):
            return f"open by {error:.3g}, {moved}: ada.close_loops(model, q) closes the loops"
        singular = f", {self.mobility_here} in this singular configuration" if self.is_singular else ""
        redundant = (f"redundant: {text}" for text in self.redundant)
        return "\n".join([f"closed to {error:.1e}, {moved}", f"mobility {self.mobility}{singular}", *redundant])

    @property
    def is_singular(self) -> bool:
        """True if the constraint Jacobian loses rank in this configuration."""
        return self.mobility_here > self.mobility


def _closed(q: Array, model: Model | None, guess: Array | None) -> ClosedConfiguration:
    closed = q.view(ClosedConfiguration)
    closed._model, closed._guess = model, guess
    return closed


def closed_configuration(
    model: Model, guess: ArrayLike | Mapping[str, ArrayLike] | None = None, hold: str | Sequence[str] = ()
) -> ClosedConfiguration:
    """Close all loops near one configuration; arguments, result and errors are those of `ada.close_loops`."""
    if not isinstance(model, Model):
        raise invalid("model", model, "a Model, such as ada.load returns", allowed=Model)
    q = initial_configuration(model, guess)
    start = q.copy()
    if model.loops:
        constraints = ConstraintSet(model)
        refuse_open(constraints)
        free = free_velocities(model, hold)
        q = closed_near(model, constraints, q, free)
        error = float(np.max(np.abs(constraints.violation(start))))
        is_kept = guess is not None and error < ROUNDED_GAP * constraints.length
        q = q if is_kept else within_joint_limits(constraints, q, start, free)
    return _closed(q, model, start)
