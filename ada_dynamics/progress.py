# SPDX-License-Identifier: Apache-2.0
"""Progress of long computations: a bar on a terminal, occasional lines in a file."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import TracebackType
from typing import TextIO

from ada_dynamics.clock import SYSTEM_CLOCK, Clock, ManualClock
from ada_dynamics.errors import InputError

FIRST_AFTER = 0.5  # [s] before the first output
ANALYSIS_AFTER = 1.0  # [s] before the first output of an analysis
REDRAW_AFTER = 0.1  # [s] between two updates on a terminal
LINE_AFTER = 10.0  # [s] between two lines in a file, or
LINE_SHARE = 0.1  # this fraction of the total, with at least
LINE_NOT_BEFORE = 1.0  # [s] between two lines
_BAR = 24  # characters
_STILL = ManualClock()
_analyses_are_shown: ContextVar[bool] = ContextVar("analyses_are_shown", default=False)


class Progress:
    """Progress of a computation on the standard error.

    Example::

        with Progress(3600.0, "pa10", "s") as progress:
            for t in ...:
                progress.update(t, "energy drift 1e-9")

    An instance is callable with fraction and text, as `Simulation.run(progress=...)` requires.
    """

    def __init__(
        self,
        total: float,
        label: str = "",
        unit: str = "",
        *,
        quiet: bool = False,
        start: float = 0.0,
        first_after: float = FIRST_AFTER,
        stream: TextIO | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Initialize the progress; nothing is written.

        Args:
            total: total amount.
            label: text in front of the bar.
            unit: unit of the total, such as "s" or "runs"; without one only the fraction is shown.
            quiet: whether nothing is shown.
            start: amount done in an earlier run that is resumed.
            first_after: time before the first output [s].
            stream: text stream; the standard error by default.
            clock: clock of the computation.
        """
        self.total = float(total)
        self.done = float(start)
        self._label, self._unit, self._text = label, unit, ""
        self._quiet = quiet
        self._first = float(start)
        self._first_after = first_after
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._began = clock()
        self._shown_at = -math.inf
        self._shown_share = self.share
        self._has_shown = False
        self._is_terminal = _is_terminal(self._stream)

    # --- how far ------------------------------------------------------------------------------------------------
    @property
    def share(self) -> float:
        """Fraction that is done, from 0 to 1."""
        return min(1.0, max(0.0, self.done / self.total)) if self.total > 0.0 else 1.0

    @property
    def seconds_left(self) -> float:
        """Remaining time estimated from the mean speed [s]; infinite at the start."""
        speed = (self.done - self._first) / max(self._clock() - self._began, 1e-9)
        return max(0.0, self.total - self.done) / speed if speed > 0.0 else math.inf

    def update(self, done: float, text: str = "") -> None:
        """Set the amount that is done, and the text after the figures."""
        self.done, self._text = float(done), text
        if self._quiet:
            return
        now = self._clock()
        if now - self._began >= self._first_after and self._is_due(now):
            self._show(now)

    def advance(self, step: float = 1.0, text: str = "") -> None:
        """Increase the amount that is done."""
        self.update(self.done + step, text)

    def __call__(self, fraction: float, text: str = "") -> None:
        """Set the fraction that is done."""
        self.update(fraction * self.total, text)

    def _is_due(self, now: float) -> bool:
        since = now - self._shown_at if self._has_shown else now - self._began
        if self._is_terminal:
            return not self._has_shown or since >= REDRAW_AFTER
        return since >= LINE_AFTER or (since >= LINE_NOT_BEFORE and self.share - self._shown_share >= LINE_SHARE)

    # --- the end ------------------------------------------------------------------------------------------------
    def close(self) -> None:
        """Show the final figures if any were shown, and end the line."""
        if self._has_shown and not self._quiet:
            self._show(self._clock(), is_last=True)
        self._quiet = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    # --- text ---------------------------------------------------------------------------------------------------
    def _show(self, now: float, is_last: bool = False) -> None:
        self._shown_at, self._shown_share, self._has_shown = now, self.share, True
        with suppress(OSError, ValueError):  # a closed pipe does not end the computation
            if self._is_terminal:
                width = max(20, shutil.get_terminal_size().columns - 1)
                self._stream.write(f"\r{self._line(now, with_bar=True)[:width]}\x1b[K" + ("\n" if is_last else ""))
            else:
                self._stream.write(self._line(now, with_bar=False) + "\n")
            self._stream.flush()

    def _line(self, now: float, with_bar: bool) -> str:
        full = round(_BAR * self.share)
        bar = [f"[{'#' * full}{'.' * (_BAR - full)}]"] if with_bar else []
        amount = [f"{self.done:.6g}/{self.total:.6g} {self._unit}"] if self._unit else []
        passed = f"{duration_text(now - self._began)} passed"
        left = [f"{duration_text(self.seconds_left)} left"] if self.share < 1.0 else []
        text = [self._text] if self._text else []
        figures = ", ".join([f"{100.0 * self.share:3.0f} %", *amount, passed, *left, *text])
        return " ".join([*([f"{self._label}:"] if self._label else []), *bar, figures])


@contextmanager
def reporting(
    progress: str | Callable[[float, str], None] | None, label: str, total: float, unit: str
) -> Iterator[Callable[[float], None] | None]:
    """Return a callback for the amount that is done; None for no progress, "auto" for a bar."""
    if progress is None:
        yield None
    elif progress == "auto":
        with Progress(total, label, unit) as bar:
            yield bar.update
    elif callable(progress):
        tell = progress
        yield lambda done: tell(min(1.0, done / total), label)
    else:
        message = f"progress is {progress!r:.100}; it must be None, 'auto', or a function of fraction and text."
        raise InputError(message, field="progress", value=progress)


@contextmanager
def showing_analyses() -> Iterator[None]:
    """Show the progress of long analyses of loop constraints within the block."""
    before = _analyses_are_shown.set(True)
    try:
        yield
    finally:
        _analyses_are_shown.reset(before)


def analysis_progress(
    label: str, total: float, unit: str = "", *, stream: TextIO | None = None, clock: Clock = SYSTEM_CLOCK
) -> Progress:
    """Progress of an analysis, which is quiet outside of `showing_analyses`; arguments as for `Progress`."""
    if not _analyses_are_shown.get():  # library calls do not read the clock
        return Progress(total, label, unit, quiet=True, clock=_STILL)
    return Progress(total, label, unit, first_after=ANALYSIS_AFTER, stream=stream, clock=clock)


def duration_text(seconds: float) -> str:
    """Return hours, minutes and seconds as text; "?" for an infinite duration."""
    if not math.isfinite(seconds):
        return "?"
    whole = math.ceil(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False
