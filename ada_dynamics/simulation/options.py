# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn, SupportsIndex, TypeVar

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, invalid

T = TypeVar("T")


def is_positive(value: object) -> bool:
    """Return True if the value is a finite number greater than zero."""
    return isinstance(value, int | float | np.number) and 0.0 < float(value) < np.inf


def whole_steps(name: str, value: float) -> int:
    """Return a number of steps after a check."""
    if not is_positive(value) or int(value) != value:
        raise invalid(name, value, "a whole number of steps, 1 or more")
    return int(value)


def finite_array(name: str, value: object, *shapes: tuple[int | str, ...], where: str = "", **facts: Any) -> Array:
    """Return an array after a check that its values are finite and its shape is one of these.

    A length that is a name, such as "N", is any positive number.
    """
    try:
        found = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):  # not numbers, or ragged
        found = np.full((), np.nan)
    has_shape = any(_fits(found.shape, shape) for shape in shapes)
    if has_shape and np.isfinite(found).all():
        return found
    names = {0: "a finite number", 1: "{0} finite numbers"}
    shown = (names.get(len(shape), "finite, ({0})").format(", ".join(map(str, shape))) for shape in shapes)
    required = " or ".join(shown)
    if not found.ndim:
        raise invalid(name, value, required, where, allowed=shapes, **facts)
    if has_shape:
        at = np.argwhere(~np.isfinite(found))[0].tolist()
        problem = f"{name}{at} is {found[tuple(at)]}"
    else:
        problem = f"{name} has shape {found.shape}"
    raise InputError(f"{where}{problem}; it must be {required}.", field=name, value=value, allowed=shapes, **facts)


def _fits(shape: tuple[int, ...], wanted: tuple[int | str, ...]) -> bool:
    same = (n == m or (isinstance(m, str) and n > 0) for n, m in zip(shape, wanted, strict=False))
    return len(shape) == len(wanted) and all(same)


def as_tuple(name: str, given: object, kind: type[T], required: str) -> tuple[T, ...]:
    """Return a sequence as a tuple after a check of the type of its elements."""
    if not isinstance(given, Iterable):
        raise invalid(name, given, f"a list: {name}=[...]")
    found = tuple(given)
    for i, one in enumerate(found):
        if not isinstance(one, kind):
            raise invalid(f"{name}[{i}]", one, required)
    return found


class NotCopyable:
    """Base of classes whose state compiled code addresses; copying and pickling are rejected."""

    _alternative: ClassVar[str]

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise an InputError that names the alternative."""
        raise InputError(
            f"a {type(self).__name__} cannot be copied or pickled because compiled code addresses its state; "
            f"{self._alternative}."
        )
