# SPDX-License-Identifier: Apache-2.0
"""Results of an experiment: claims, statements of documents, their measured values, tables and figures."""

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
ABOUT = 0.1  # default relative tolerance of "about"


@dataclass(frozen=True)
class Claim:
    """A claim about an experiment, with the measured value that decides it.

    Attributes:
        text: the claim.
        measured: measured value.
        limit: limit of the measured value.
        relation: "<=" for an upper limit, ">=" for a lower limit, "==" for counts, "~" for about.
        unit: unit of both.
        note: origin of the limit, or restrictions of the measurement.
        within: tolerance of "~", such as half of the last printed digit.
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
        """Return True if the measured value satisfies the limit; NaN never does."""
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
        """Verdict on a claim of this project: a violation is a defect of the programs."""
        return HOLDS if self.holds else FAILS

    def as_json(self) -> dict[str, Any]:
        """JSON data of the claim."""
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
    """A value found by an experiment, for the statements about it.

    Attributes:
        value: measured value.
        unit: unit of the value.
        spread: range of repeated time measurements, which depend on the machine load.
    """

    value: float
    unit: str = ""
    spread: tuple[float, float] | None = None


@dataclass(frozen=True)
class Statement(Claim):
    """A claim made by a document; it may be refuted for a known reason, which is not a failure of this project.

    Attributes:
        document: cited document.
        where: chapter, equation, figure or table.
        why: reason why the simulation does not confirm it.
        spread: range of a time measurement; a violated time limit is not a failure.
    """

    document: str = ""
    where: str = ""
    why: str = ""
    spread: tuple[float, float] | None = None

    @property
    def verdict(self) -> Verdict:
        """Verdict: holds, not confirmed for a known reason, or fails."""
        if self.holds:
            return HOLDS
        if self.spread is not None:
            return NOT_CONFIRMED
        return NOT_CONFIRMED if self.why and not math.isnan(self.measured) else FAILS

    def as_json(self) -> dict[str, Any]:
        """JSON data of the statement."""
        found = super().as_json()
        found["statement"] = found.pop("claim")
        found |= {"document": self.document, "place": self.where, "verdict": self.verdict}
        if self.spread is not None:
            found["spread"] = [float(end) for end in self.spread]
        return found | ({"why": self.why} if self.verdict == NOT_CONFIRMED else {})


@dataclass(frozen=True)
class Table:
    """Numbers in rows and columns, for the report."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""


@dataclass
class Outcome:
    """Results of an experiment.

    Attributes:
        claims: claims with their measured values.
        figures: pictures (PNG), in the order of the report.
        tables: tables of numbers.
        notes: assumptions, and differences from the document.
        captions: captions by figure file name.
        quantities: values by name, for the statements of the scenario.
        statements: statements of the document with measured values and verdicts.
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
        """Return True if anything was to be verified and nothing fails."""
        shown = [*self.claims, *self.statements]
        return bool(shown) and all(claim.verdict != FAILS for claim in shown)
