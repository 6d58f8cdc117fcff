# SPDX-License-Identifier: Apache-2.0
"""Tables and targets: printed as they come, kept for the JSON file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.timing import Timings


@dataclass(frozen=True)
class Target:
    """What was aimed at, and what was measured."""

    section: str
    what: str
    measured: float
    limit: float
    at_least: bool = True
    unit: str = "x"

    @property
    def reached(self) -> bool:
        """True if the measured value is as good as the target."""
        return bool(self.measured >= self.limit if self.at_least else self.measured <= self.limit)

    def __str__(self) -> str:
        relation = ">=" if self.at_least else "<="
        verdict = "reached" if self.reached else "missed"
        return f"{self.what}: {number(self.measured)} {self.unit}, target {relation} {self.limit:g}: {verdict}"


@dataclass(frozen=True)
class Aim:
    """A target for a ratio of two contenders."""

    slow: str
    fast: str
    limit: float | None = None  # None: only shown


@dataclass
class Report:
    """Everything that a run found."""

    machine: dict[str, str] = field(default_factory=dict)
    tables: list[dict[str, Any]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    section: str = ""

    def begin(self, section: str, title: str) -> None:
        """Start a section."""
        self.section = section
        _say(f"\n=== {section}: {title} ===")

    def note(self, text: str) -> None:
        """Something to know about the figures."""
        self.notes.append(f"{self.section}: {text}")
        _say(f"  note: {text}")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table; numbers to three digits."""
        self.tables.append(
            {
                "section": self.section,
                "title": title,
                "columns": list(columns),
                "rows": [[value.item() if isinstance(value, np.generic) else value for value in row] for row in rows],
            }
        )
        shown = [list(columns), *([_cell(value) for value in row] for row in rows)]
        widths = [max(len(row[i]) for row in shown) for i in range(len(columns))]
        _say(f"\n  {title}")
        for row in shown:
            cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
            _say("    " + "  ".join(cells).rstrip())

    def timings(self, title: str, timings: Timings, aims: Sequence[Aim] = ()) -> None:
        """A table of times, and those ratios of interest both of whose contenders were there."""
        rows = [[label, timings.median(label) * 1e6, timings.best(label) * 1e6] for label in timings.labels]
        self.table(title, ["us per state", "median", "best"], rows)
        for aim in aims:
            if not {aim.slow, aim.fast} <= set(timings.labels):
                continue
            ratio = timings.ratio(aim.slow, aim.fast)
            low, high = timings.spread(aim.slow, aim.fast)
            what = f"{title}: {aim.slow} / {aim.fast}"
            middle = f"      {aim.slow} / {aim.fast} = {number(ratio)} (quartiles {number(low)} ... {number(high)})"
            if aim.limit is None:
                _say(middle)
                continue
            target = Target(self.section, what, ratio, aim.limit)
            self.targets.append(target)
            _say(f"{middle}, target >= {aim.limit:g}: {'reached' if target.reached else 'missed'}")

    def aim(self, what: str, measured: float, limit: float, unit: str, *, at_least: bool = False) -> None:
        """A target that is not a ratio of times."""
        target = Target(self.section, what, float(measured), limit, at_least, unit)
        self.targets.append(target)
        _say(f"      {target}")

    def summary(self) -> None:
        """The targets once more, the missed ones first."""
        if not self.targets:
            return
        missed = [t for t in self.targets if not t.reached]
        _say(f"\n=== {len(self.targets) - len(missed)} of {len(self.targets)} targets reached ===")
        for target in missed:
            _say(f"  {target.section}: {target}")

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "machine": self.machine,
            "tables": self.tables,
            "targets": [{**asdict(t), "reached": t.reached} for t in self.targets],
            "notes": self.notes,
        }


def number(value: float) -> str:
    """Three significant digits, never in powers of ten for everyday sizes."""
    if value == 0.0 or not 1e-3 <= abs(value) < 1e7:
        return f"{value:.3g}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _say(text: str) -> None:
    print(text, flush=True)
