# SPDX-License-Identifier: Apache-2.0
"""Progress of long computations: a bar on a terminal, occasional lines in a file."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import invalid

FIRST_AFTER = 0.5  # [s] before the first output
REDRAW_AFTER = 0.1  # [s] between two updates on a terminal
LINE_AFTER = 10.0  # [s] between two lines in a file, or
LINE_SHARE = 0.1  # this fraction of the total, with at least
LINE_NOT_BEFORE = 1.0  # [s] between two lines
_BAR = 24  # characters


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
        start: float = 0.0,
        stream: TextIO | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Initialize the progress.

        Args:
            total: total amount.
            label: text in front of the bar.
            unit: unit of the total, such as "s" or "runs"; without one only the fraction is shown.
            start: amount done in an earlier run that is resumed.
            stream: text stream; the standard error by default.
            clock: clock of the computation.
        """
        self.total, self.done = float(total), float(start)
        self._label, self._unit, self._text = label, unit, ""
        self._clock, self._began, self._first = clock, clock(), float(start)
        self._shown_at, self._shown_share = self._began, self.share
        self._stream, self._is_terminal = sys.stderr if stream is None else stream, False
        with suppress(AttributeError, ValueError):  # no stream, or a closed one
            self._is_terminal = self._stream.isatty()

    @property
    def share(self) -> float:
        """Fraction that is done, from 0 to 1."""
        return min(1.0, max(0.0, self.done / self.total)) if self.total > 0.0 else 1.0

    def update(self, done: float, text: str = "") -> None:
        """Set the amount that is done, and the text after the figures."""
        self.done, self._text = float(done), text
        now = self._clock()
        since, is_far = now - self._shown_at, self.share - self._shown_share >= LINE_SHARE
        is_due = since >= (REDRAW_AFTER if self._is_terminal else LINE_AFTER) or (since >= LINE_NOT_BEFORE and is_far)
        if is_due and now - self._began >= FIRST_AFTER:
            self._show(now)

    def __call__(self, fraction: float, text: str = "") -> None:
        """Set the fraction that is done."""
        self.update(fraction * self.total, text)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """Show the final figures if any were shown, and end the line; in a file, once."""
        if self._shown_at > self._began and (self._is_terminal or self._shown_share < 1.0):
            self._show(self._clock(), is_last=True)

    def _show(self, now: float, is_last: bool = False) -> None:
        self._shown_at, self._shown_share = now, self.share
        with suppress(OSError, ValueError):  # a closed pipe does not end the computation
            if self._is_terminal:
                width = max(20, shutil.get_terminal_size().columns - 1)
                full = round(_BAR * self.share)
                bar = f"[{'#' * full}{'.' * (_BAR - full)}]"
                self._stream.write(f"\r{self._line(now, bar)[:width]}\x1b[K" + ("\n" if is_last else ""))
            else:
                self._stream.write(self._line(now) + "\n")
            self._stream.flush()

    def _line(self, now: float, bar: str = "") -> str:
        speed = (self.done - self._first) / max(now - self._began, 1e-9)
        left = max(0.0, self.total - self.done) / speed if speed > 0.0 else math.inf
        figures = [f"{100.0 * self.share:3.0f} %"]
        figures += [f"{self.done:.6g}/{self.total:.6g} {self._unit}"] if self._unit else []
        figures += [f"{duration_text(now - self._began)} passed"]
        figures += [f"{duration_text(left)} left"] if self.share < 1.0 else []
        figures += [self._text] if self._text else []
        return " ".join(filter(None, (f"{self._label}:" if self._label else "", bar, ", ".join(figures))))


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
        raise invalid("progress", progress, "None, 'auto', or a function of fraction and text")


def duration_text(seconds: float) -> str:
    """Return hours, minutes and seconds as text; "?" for an infinite duration."""
    if not math.isfinite(seconds):
        return "?"
    whole = math.ceil(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02d}:{whole % 60:02d}" if hours else f"{minutes}:{whole % 60:02d}"
