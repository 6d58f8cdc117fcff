# SPDX-License-Identifier: Apache-2.0
"""Who is told how far a run has come: nobody, a progress bar, or a function."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from ada_dynamics.errors import InputError


class Reporter:
    """Tells nobody; the base of those that do."""

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def at(self, value: float) -> None:
        """So much of the total is done."""


class _Function(Reporter):
    def __init__(self, function: Callable[[float, str], None], label: str, total: float) -> None:
        self._function, self._label, self._total = function, label, total

    def at(self, value: float) -> None:
        self._function(min(1.0, value / self._total), self._label)


class _Bar(Reporter):
    def __init__(self, label: str, total: float, unit: str) -> None:
        from ada_dynamics.simulation.progress import Progress

        self._bar: Any = Progress(total, label, unit)

    def __enter__(self) -> Reporter:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, problem, trace)

    def at(self, value: float) -> None:
        self._bar.update(value)


def reporter(progress: str | Callable[[float, str], None] | None, label: str, total: float, unit: str) -> Reporter:
    """Args: None, "auto" or a function; what is done, how much of it there is, and its unit."""
    if progress is None:
        return Reporter()
    if progress == "auto":
        return _Bar(label, total, unit)
    if callable(progress):
        return _Function(progress, label, total)
    raise InputError(f"progress is {progress!r:.80}; it must be None, 'auto', or a function of share and text.")
