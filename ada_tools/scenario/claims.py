# SPDX-License-Identifier: Apache-2.0
"""Results of an experiment: claims of ours, statements of documents, the figures that decide them, tables, pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

Relation: TypeAlias = Literal["<=", ">=", "==", "~"]
Verdict: TypeAlias = Literal["holds", "not confirmed", "fails"]
HOLDS: Final = "holds"
NOT_CONFIRMED: Final = "not confirmed"
FAILS: Final = "fails"
ABOUT = 0.1  # of a figure: as far from it is "about", where nothing else is said


@dataclass(frozen=True)
class Claim:
    """One statement about an experiment, with the figure that decides it.

    Attributes:
        text: the statement.
        measured: the figure.
        limit: what it must not pass.
        relation: "<=" where the limit is the largest allowed figure, ">=" where it is the smallest, "==" for counts,
            "~" for about.
        unit: of both.
        note: where the limit comes from, or what the figure does not show.
        within: of "~": how far the figure may be off, such as half of the last digit that is printed.
    """

    text: str
    measured: float
    limit: float
    relation: Relation = "<="
    unit: str = ""
    note: str = ""
    within: float | None = None

    @property
    def holds(self) -> bool:
        """True if the figure is on the right side of its limit; one that is not a number never is."""
        if math.isnan(self.measured):
            return False
        if self.relation == "==":
            return self.measured == self.limit
        if self.relation == "~":
            off = ABOUT * abs(self.limit) if self.within is None else self.within
            return abs(self.measured - self.limit) <= off
        return self.measured <= self.limit if self.relation == "<=" else self.measured >= self.limit

    @property
    def verdict(self) -> Verdict:
        """Verdict on a claim of ours: where it does not hold, our programs are at fault."""
        return HOLDS if self.holds else FAILS

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        found: dict[str, Any] = {
            "claim": self.text,
            "measured": float(self.measured),
            "limit": float(self.limit),
            "holds": bool(self.holds),
            "relation": self.relation,
        }
        return found | ({"unit": self.unit} if self.unit else {}) | ({"note": self.note} if self.note else {})


@dataclass(frozen=True)
class Quantity:
    """A figure that an experiment finds, for the statements about it.

    Attributes:
        value: the figure.
        unit: of it.
        spread: from where to where it scattered, if it is about time: a busy machine changes it.
    """

    value: float
    unit: str = ""
    spread: tuple[float, float] | None = None


@dataclass(frozen=True)
class Statement(Claim):
    """A claim that a document makes. That our physics does not confirm one, for a known reason, is no fault of ours.

    Attributes:
        document: who says it.
        where: chapter, equation, figure or table there.
        why: the reason for which our physics does not confirm it.
        spread: of a figure about time, which is never a fault of ours either.
    """

    document: str = ""
    where: str = ""
    why: str = ""
    spread: tuple[float, float] | None = None

    @property
    def verdict(self) -> Verdict:
        """Verdict: it holds, or fails for a known reason, or fails and the fault may be ours."""
        if self.holds:
            return HOLDS
        if self.spread is not None:
            return NOT_CONFIRMED
        return NOT_CONFIRMED if self.why and not math.isnan(self.measured) else FAILS

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        found = super().as_json()
        found["statement"] = found.pop("claim")
        found |= {"document": self.document, "place": self.where, "verdict": self.verdict}
        if self.spread is not None:
            found["spread"] = [float(end) for end in self.spread]
        return found | ({"why": self.why} if self.verdict == NOT_CONFIRMED else {})


@dataclass(frozen=True)
class Table:
    """Figures in rows and columns, for the report."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""


@dataclass
class Outcome:
    """Results of an experiment.

    Attributes:
        claims: what was to be shown, with figures.
        figures: pictures (PNG), in the order of the report.
        tables: figures in rows.
        notes: what a reader should know: what differs from the document, what is assumed.
        captions: by the name of a figure's file, what stands below it.
        quantities: by name, for the scenario's statements about them.
        statements: of the document, with figures and verdicts.
    """

    claims: list[Claim] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    captions: dict[str, str] = field(default_factory=dict)
    quantities: dict[str, Quantity] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """True if something was to be shown and nothing of it fails."""
        shown = [*self.claims, *self.statements]
        return bool(shown) and all(claim.verdict != FAILS for claim in shown)
