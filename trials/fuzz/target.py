# SPDX-License-Identifier: Apache-2.0
"""A target of fuzzing with the bounds of its inputs, and the inputs kept for it.

Files in `corpus` and `crashes` have a line for each input, with bytes as in Python's literals.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ada_dynamics.errors import AdaError
from trials.fuzz.fence import fence

SECONDS, MEGABYTES = 5.0, 256  # limits of processor time and growth of memory by one input
LONGEST_TEXT = 4000  # characters of an error's message
HERE = Path(__file__).parent
CORPUS, CRASHES = "corpus", "crashes"


class OutOfBoundsError(Exception):
    """An input exceeds the limits of its target, or its error text is empty or too long."""


@dataclass(frozen=True)
class Target:
    """A function under test.

    Attributes:
        name: on the command line.
        about: description of the input.
        run: receives an input; returns, or raises an AdaError. Any other exception is a defect.
        seeds: initial inputs, mostly valid ones.
        words: tokens that mutations may insert.
        file: name of a file for the input, whose path `run` receives; without it, `run` receives the bytes.
        before: called once, outside of the fence: for slow preparations and opening of files.
        reads: folders of the project that it may read.
        longest: limit of an input [bytes].
    """

    name: str
    about: str
    run: Callable[[Any], object]
    seeds: Callable[[], Iterable[bytes]]
    words: tuple[str, ...] = ()
    file: str = ""
    before: Callable[[], object] = object
    reads: tuple[Path, ...] = ()
    longest: int = 4096


class Trial:
    """Runs a target with one input after another."""

    def __init__(self, target: Target, folder: Path) -> None:
        """Args: the target; an empty folder for the file that it reads."""
        self._target, self._file = target, folder / target.file
        self._readable = (folder.resolve(), *target.reads)
        target.before()
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning, module="ada_")  # as in pyproject.toml

    def __call__(self, data: bytes) -> bool:
        """Run the target; returns True if it accepted the input.

        Raises:
            OutOfBoundsError: it took too long, or too much memory.
            Escaped: see `fence`.
            Exception: another error.
        """
        target, given = self._target, data
        if target.file:
            self._file.write_bytes(data)
        is_taken = True
        before, began = _peak(), time.thread_time()
        try:
            with fence(self._readable):
                target.run(self._file if target.file else given)
        except AdaError as problem:
            is_taken = False
            _check_text(problem)
        spent, grown = time.thread_time() - began, _peak() - before
        if spent > SECONDS or grown > MEGABYTES:
            raise OutOfBoundsError(f"{spent:.3g} s, {grown:.0f} MB; the limits are {SECONDS:g} s, {MEGABYTES} MB.")
        return is_taken


def _check_text(problem: Exception) -> None:
    text = str(problem)
    if not 0 < len(text.strip()) <= LONGEST_TEXT:
        raise OutOfBoundsError(f"a {type(problem).__name__} of {len(text)} characters: {text:.300}")


def _peak() -> float:
    """Largest memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def kept(what: str, name: str) -> list[bytes]:
    """Inputs of a target in `CORPUS` or `CRASHES`."""
    path = HERE / what / f"{name}.txt"
    if not path.exists():
        return []
    return [line.decode("unicode_escape").encode("latin-1") for line in path.read_bytes().splitlines()]


def keep(what: str, name: str, inputs: Iterable[bytes]) -> None:
    """Write the inputs of a target, without duplicates, in order of length."""
    path = HERE / what / f"{name}.txt"
    path.parent.mkdir(exist_ok=True)
    ordered = sorted(set(inputs), key=lambda one: (len(one), one))
    path.write_bytes(b"".join(one.decode("latin-1").encode("unicode_escape") + b"\n" for one in ordered))
