# SPDX-License-Identifier: Apache-2.0
"""Results of an experiment: claims with the figures that decide them, timings that decide nothing, tables, pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

Relation: TypeAlias = Literal["<=", ">=", "=="]


@dataclass(frozen=True)
class Claim:
    """One statement about an experiment, with the figure that decides it.

    Attributes:
        text: the statement.
        measured: the figure.
        limit: what it must not pass.
        relation: "<=" where the limit is the largest allowed figure, ">=" where it is the smallest, "==" for counts.
        unit: of both.
        note: where the limit comes from, or what the figure does not show.
    """

    text: str
    measured: float
    limit: float
    relation: Relation = "<="
    unit: str = ""
    note: str = ""

    @property
    def holds(self) -> bool:
        """True if the figure is on the right side of its limit; one that is not a number never is."""
        if math.isnan(self.measured):
            return False
        if self.relation == "==":
            return self.measured == self.limit
        return self.measured <= self.limit if self.relation == "<=" else self.measured >= self.limit

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
class Timing:
    """A figure about time. It is reported with its spread and decides nothing: a busy machine changes it.

    Attributes:
        text: the statement that it stands beside.
        measured: the figure.
        spread: from where to where it scattered.
        expected: what the statement says, such as a document's own figure.
        relation: to it, as in a claim; "~" for "about".
        unit: of all of them.
        note: what the spread is of, where the expected figure comes from.
    """

    text: str
    measured: float
    spread: tuple[float, float]
    expected: float
    relation: Literal["<=", ">=", "~"] = "<="
    unit: str = ""
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """For machines: no verdict, so that nobody counts it as a claim."""
        found: dict[str, Any] = {
            "timing": self.text,
            "measured": float(self.measured),
            "spread": [float(end) for end in self.spread],
            "expected": float(self.expected),
            "relation": self.relation,
        }
        return found | ({"unit": self.unit} if self.unit else {}) | ({"note": self.note} if self.note else {})


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
        timings: figures about time, which decide nothing.
    """

    claims: list[Claim] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    captions: dict[str, str] = field(default_factory=dict)
    timings: list[Timing] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """True if there are claims, and all of them hold."""
        return bool(self.claims) and all(claim.holds for claim in self.claims)
