# SPDX-License-Identifier: Apache-2.0
"""Dictionaries by name that answer an unknown name with the nearest ones; read-only ones for models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from ada_dynamics.errors import ReadOnlyError, unknown_name

T = TypeVar("T")


class Named(dict[str, T]):
    """Things by name: a dictionary whose KeyError has the known names, and the nearest of them."""

    def __init__(self, what: str, items: Mapping[str, T] | Iterable[tuple[str, T]]) -> None:
        """Args: what the things are, for messages, such as "joint"; the things by name."""
        super().__init__(items)
        self.what = what

    def __missing__(self, name: object) -> NoReturn:
        raise unknown_name(self.what, name, self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and sent to other processes whole."""
        return type(self), (self.what, dict(self))


class FrozenNamed(Named[T]):
    """The same for what must not change."""

    def __init__(self, what: str, items: Mapping[str, T] | Iterable[tuple[str, T]], instead: str = "") -> None:
        """Args: as those of `Named`; what to do instead of a change, as a sentence."""
        super().__init__(what, items)
        self.instead = instead

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, dict(self), self.instead)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ReadOnlyError(f"a model's {self.what}s are read-only. {self.instead}".rstrip())

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
