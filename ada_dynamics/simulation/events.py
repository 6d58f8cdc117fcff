# SPDX-License-Identifier: Apache-2.0
"""Events: zeros of a function of time, configuration and velocity, located within a step to rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, invalid

RELATIVE = 4e-16  # relative tolerance of the time of an event
_MOST_TRIALS = 100


@dataclass(frozen=True)
class Event:
    """Zero of a function along the simulation.

    Example::

        Event("touchdown", lambda t, q, v: q[2] - 0.3, terminal=True, direction=-1)

    Attributes:
        name: name of the event.
        function: function of t, q and v whose zeros are the events.
        terminal: whether the run ends at the event.
        direction: 1 for rising zeros, -1 for falling zeros, 0 for both.
    """

    name: str
    function: Callable[[float, Array, Array], float]
    terminal: bool = False
    direction: int = 0

    def __post_init__(self) -> None:
        """Check the values."""
        if not callable(self.function):
            raise invalid("function", self.function, "a function of t, q and v", f"event {self.name!r}: ")
        if self.direction not in (-1, 0, 1):
            raise invalid("direction", self.direction, "-1, 0 or 1", f"event {self.name!r}: ", allowed=(-1, 0, 1))

    def value(self, t: float, q: Array, v: Array) -> float:
        """Return the value of the function after a check."""
        found = self.function(t, q, v)
        try:
            number = float(found)
        except (TypeError, ValueError):
            number = np.nan
        if np.isnan(number):
            raise InputError(
                f"event {self.name!r} returned {found!r:.80} at t = {t:g} s; it must return a number.",
                field=self.name,
                value=found,
            )
        return number

    def happens(self, before: float, after: float) -> bool:
        """Return True if the function passes through zero between two values; an initial zero does not count."""
        rises, falls = before < 0.0 <= after, before > 0.0 >= after
        return (rises and self.direction >= 0) or (falls and self.direction <= 0)


def zero_between(function: Callable[[float], float], a: float, b: float, at_a: float, at_b: float) -> float:
    """Return where a function changes its sign between a and b, or just behind, by the Illinois algorithm.

    `at_a` and `at_b` are its values at a and b.
    """
    was_before = None  # whether the last trial was before the zero
    for trial in range(_MOST_TRIALS):
        if at_b == 0.0 or abs(b - a) <= RELATIVE * max(abs(a), abs(b)):
            break
        x = 0.5 * (a + b) if trial % 3 == 2 else (a * at_b - b * at_a) / (at_b - at_a)
        at_x = function(x)
        is_before = at_x * at_b < 0.0
        if is_before:
            a, at_a, at_b = x, at_x, 0.5 * at_b if was_before else at_b
        else:
            b, at_b, at_a = x, at_x, 0.5 * at_a if was_before is False else at_a
        was_before = is_before
    return b
