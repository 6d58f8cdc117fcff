# SPDX-License-Identifier: Apache-2.0
"""Sequence of checks with names, verdicts and figures; a failed essential check ends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from ada_dynamics.errors import AdaError

_WIDTH = 26  # column of names


class Verdict(Enum):
    """Result of a check."""

    OK = "ok"
    FAILED = "failed"
    MISSING = "missing"  # optional
    NOT_DONE = "not done"  # not applicable, or not requested


@dataclass(frozen=True)
class Check:
    """Finished check."""

    name: str  # name of the check
    verdict: Verdict  # result
    text: str  # result with its figures, and the remedy if it is not ok
    figures: Mapping[str, object] = field(default_factory=dict)  # figures for programs; their names end with the unit

    @property
    def line(self) -> str:
        """One line for a terminal."""
        word = "FAILED" if self.verdict is Verdict.FAILED else self.verdict.value
        return f"  {word:9}{self.name:{_WIDTH}} {self.text}".rstrip()

    def to_dict(self) -> dict[str, object]:
        """Return a dictionary for JSON."""
        return {"check": self.name, "verdict": self.verdict.value, "text": self.text, **self.figures}


class Finding(NamedTuple):
    """Result of a measurement."""

    text: str  # result
    problem: str = ""  # problem and remedy; "": ok
    figures: Mapping[str, object] = {}  # as of `Check`


class TestEnded(Exception):
    """An essential check failed; the remaining ones are skipped."""

    __test__ = False  # not a pytest class


class Checks:
    """Finished checks.

    Attributes:
        done: checks in their order.
    """

    def __init__(self, report: Callable[[Check], object] = lambda check: None) -> None:
        """Start without checks. `report`: called with each finished check."""
        self.done: list[Check] = []
        self._report = report

    @property
    def failed(self) -> list[Check]:
        """Failed checks."""
        return [one for one in self.done if one.verdict is Verdict.FAILED]

    @property
    def missing(self) -> list[Check]:
        """Checks of optional items that are missing."""
        return [one for one in self.done if one.verdict is Verdict.MISSING]

    @property
    def is_ok(self) -> bool:
        """True if no check failed and at least one is ok."""
        return not self.failed and any(one.verdict is Verdict.OK for one in self.done)

    def ok(self, name: str, text: str, **figures: object) -> None:
        """Record a check as ok."""
        self._note(Check(name, Verdict.OK, text, figures))

    def fail(self, name: str, text: str, **figures: object) -> None:
        """Record a check as failed and continue."""
        self._note(Check(name, Verdict.FAILED, text, figures))

    def miss(self, name: str, text: str, **figures: object) -> None:
        """Record an optional item as missing."""
        self._note(Check(name, Verdict.MISSING, text, figures))

    def leave_out(self, name: str, why: str) -> None:
        """Record a check as not done."""
        self._note(Check(name, Verdict.NOT_DONE, why))

    def judge(self, name: str, problems: str, text: str, **figures: object) -> bool:
        """Record a check as ok or failed; return True if it is ok.

        Args:
            name: name of the check.
            problems: problems and remedies; "": ok.
            text: result.
            figures: as of `Check`.
        """
        if problems:
            self.fail(name, f"{text}: {problems}" if text else problems, **figures)
        else:
            self.ok(name, text, **figures)
        return not problems

    def take(self, others: Checks, remark: str = "") -> None:
        """Append checks of another list, with a remark after their texts."""
        for one in others.done:
            self._note(replace(one, text=f"{one.text}{remark}"))

    def measure(self, name: str, measure: Callable[[], Finding], *, ends: bool = False) -> bool:
        """Record the result of a measurement; return True if it is ok.

        Args:
            name: name of the check.
            measure: returns the result; an AdaError counts as failed.
            ends: an AdaError ends the test.

        Raises:
            TestEnded: see `ends`.
        """
        try:
            found = measure()
        except AdaError as problem:
            self.fail(name, str(problem))
            if ends:
                raise TestEnded(name) from None
            return False
        return self.judge(name, found.problem, found.text, **found.figures)

    def _note(self, check: Check) -> None:
        self.done.append(check)
        self._report(check)
