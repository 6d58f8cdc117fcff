# SPDX-License-Identifier: Apache-2.0
"""Checks one after another: each has a name, a verdict, text with figures; a failed essential check ends them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum

from ada_dynamics.errors import AdaError

_WIDTH = 26  # of names in a line


class Verdict(Enum):
    """Result of a check."""

    OK = "ok"
    FAILED = "failed"
    MISSING = "missing"  # it can be done without
    NOT_DONE = "not done"  # it does not apply, or was not asked for


@dataclass(frozen=True)
class Check:
    """A finished check.

    Attributes:
        name: what was checked.
        verdict: result.
        text: what was found, with its figures, and what to do where it is not ok.
        figures: the same as numbers and words, for programs; their names end with the unit.
    """

    name: str
    verdict: Verdict
    text: str
    figures: Mapping[str, object] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """One line for a terminal."""
        word = "FAILED" if self.verdict is Verdict.FAILED else self.verdict.value
        return f"  {word:9}{self.name:{_WIDTH}} {self.text}".rstrip()

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {"check": self.name, "verdict": self.verdict.value, "text": self.text, **self.figures}


class TestEnded(Exception):
    """An essential check failed: the others make no sense."""

    __test__ = False  # pytest takes classes of such names for tests


class Checks:
    """Finished checks.

    Attributes:
        done: in their order.
    """

    def __init__(self, report: Callable[[Check], object] = lambda check: None) -> None:
        """Begin.

        Args:
            report: called with each as soon as it is done.
        """
        self.done: list[Check] = []
        self._report = report

    @property
    def failed(self) -> list[Check]:
        """Failed checks."""
        return [one for one in self.done if one.verdict is Verdict.FAILED]

    @property
    def missing(self) -> list[Check]:
        """Checks of optional things that are missing."""
        return [one for one in self.done if one.verdict is Verdict.MISSING]

    @property
    def is_ok(self) -> bool:
        """True if something was checked, and all of it was ok."""
        return not self.failed and any(one.verdict is Verdict.OK for one in self.done)

    def ok(self, name: str, text: str, **figures: object) -> None:
        """Note a check as ok."""
        self._note(Check(name, Verdict.OK, text, figures))

    def fail(self, name: str, text: str, **figures: object) -> None:
        """Note a check as failed, and go on."""
        self._note(Check(name, Verdict.FAILED, text, figures))

    def miss(self, name: str, text: str, **figures: object) -> None:
        """Note an optional thing as missing."""
        self._note(Check(name, Verdict.MISSING, text, figures))

    def leave_out(self, name: str, why: str) -> None:
        """Note a check as not done."""
        self._note(Check(name, Verdict.NOT_DONE, why))

    def judge(self, name: str, problems: str, text: str, **figures: object) -> bool:
        """Note a check by its problems; True if it is ok.

        Args:
            name: of the check.
            problems: what is wrong, and what to do; "": nothing.
            text: what was found.
            figures: as of `Check`.
        """
        if problems:
            self.fail(name, f"{text}: {problems}" if text else problems, **figures)
        else:
            self.ok(name, text, **figures)
        return not problems

    def take(self, others: Checks, remark: str = "") -> None:
        """Add checks done elsewhere, with a remark behind their text."""
        for one in others.done:
            self._note(replace(one, text=f"{one.text}{remark}"))

    def end(self, name: str, why: object) -> TestEnded:
        """Note a failed check that ends the test; raise the error that this returns."""
        self.fail(name, str(why))
        return TestEnded(name)

    @contextmanager
    def needed(self, name: str) -> Iterator[None]:
        """Ends the test with a failed check of this name where anything inside fails."""
        try:
            yield
        except AdaError as problem:
            raise self.end(name, problem) from None

    def _note(self, check: Check) -> None:
        self.done.append(check)
        self._report(check)
