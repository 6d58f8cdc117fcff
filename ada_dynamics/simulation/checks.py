# SPDX-License-Identifier: Apache-2.0
"""Numbers and lists as a user gives them, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, NoReturn, SupportsIndex

import numpy as np

from ada_dynamics.errors import InputError


def is_positive(value: object) -> bool:
    """True if it is a finite number above zero."""
    return isinstance(value, int | float | np.number) and 0.0 < float(value) < np.inf


def whole_steps(name: str, value: float) -> int:
    """A number of steps, checked."""
    if not is_positive(value) or int(value) != value:
        raise InputError(f"{name} is {value!r}; it must be a whole number of steps, 1 or more.")
    return int(value)


def finite_time(t: object) -> float:
    """A time [s], checked."""
    if not isinstance(t, int | float | np.number) or not np.isfinite(t):
        raise InputError(f"t is {t!r:.80}; it must be a finite number of seconds.")
    return float(t)


def listed(name: str, given: object) -> tuple[object, ...]:
    """A list of parts; one that stands alone is refused."""
    if not isinstance(given, Iterable):
        raise InputError(f"{name} is {given!r:.80}; it must be a list: {name}=[...].")
    return tuple(given)


class Uncopied:
    """Neither copied nor pickled: compiled code works on it where it lies."""

    _instead: ClassVar[str]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Refuse, and say what to do instead."""
        raise InputError(
            f"a {type(self).__name__} cannot be copied or pickled: compiled code works on its state where it lies. "
            f"Instead, {self._instead}."
        )
