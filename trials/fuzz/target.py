# SPDX-License-Identifier: Apache-2.0
"""A target: what gets the inputs, from what they grow, and the bounds of each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ada_dynamics.errors import AdaError
from trials.fuzz.counts import peak
from trials.fuzz.fence import fence

LONGEST_TEXT = 4000  # characters of an error's message


class OutOfBoundsError(Exception):
    """An input cost more than its target allows, or its error says too little or too much."""


@dataclass(frozen=True)
class Target:
    """What inputs are tried on.

    Attributes:
        name: on the command line.
        about: what it reads, in a few words.
        run: takes an input; returns, or raises one of `typed`. Whatever else it raises is a defect.
        seeds: inputs to begin with, valid ones above all.
        words: what mutations may put in.
        file: name of the file that an input is put into; `run` gets its path then, and otherwise the bytes.
        before: called once, outside of the fence: what takes long, or opens files.
        typed: errors that a refusal may be.
        reads: folders of the project that it may read from.
        longest: of an input [bytes].
        seconds: of the processor, for one input.
        megabytes: by which one input may raise the peak of memory.
    """

    name: str
    about: str
    run: Callable[[Any], object]
    seeds: Callable[[], Iterable[bytes]]
    words: tuple[str, ...] = ()
    file: str = ""
    before: Callable[[], object] = object
    typed: tuple[type[Exception], ...] = (AdaError,)
    reads: tuple[Path, ...] = ()
    longest: int = 4096
    seconds: float = 5.0
    megabytes: int = 256


class Trial:
    """Puts one input after another through a target.

    Attributes:
        slowest: time of the processor for the most expensive input [s], and that input.
    """

    def __init__(self, target: Target, folder: Path) -> None:
        """Args: the target; a folder of its own, for the file that it reads."""
        self._target, self._file = target, folder / target.file
        self._readable = (folder.resolve(), *target.reads)
        self.slowest = (0.0, b"")
        target.before()
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning, module="ada_")  # as in pyproject.toml

    def __call__(self, data: bytes) -> bool:
        """Try an input; whether it was taken.

        Raises:
            OutOfBoundsError: it took too long, or too much memory.
            Escaped: see `fence`.
            Exception: any other that is not one of the target's typed errors.
        """
        target, given = self._target, data
        if target.file:
            self._file.write_bytes(data)
        is_taken = True
        before, began = peak(), time.thread_time()
        try:
            with fence(self._readable):
                target.run(self._file if target.file else given)
        except target.typed as problem:
            is_taken = False
            _check_text(problem)
        spent, grown = time.thread_time() - began, peak() - before
        if spent > self.slowest[0]:
            self.slowest = (spent, data)
        if spent > target.seconds:
            raise OutOfBoundsError(f"it took {spent:.3g} s; {target.name} allows {target.seconds:g} s.")
        if grown > target.megabytes:
            raise OutOfBoundsError(f"it took {grown:.0f} MB; {target.name} allows {target.megabytes} MB.")
        return is_taken


def _check_text(problem: Exception) -> None:
    text = str(problem)
    if not 0 < len(text.strip()) <= LONGEST_TEXT:
        raise OutOfBoundsError(f"a {type(problem).__name__} of {len(text)} characters: {text:.300}")
