# SPDX-License-Identifier: Apache-2.0
"""Tables and targets of the sections, printed and kept for the JSON file; the command line of all benchmarks."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import ada_dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.jit import Target
from ada_tools.commands.doctor import processor
from benchmarks.timing import Timings

CANNOT_RUN = 2  # exit code


@dataclass(frozen=True)
class MeasuredTarget:
    """A measured value and its limit."""

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
    """A target for the ratio of the times of two contenders."""

    slow: str
    fast: str
    limit: float | None = None  # None: the ratio is only shown


@dataclass
class Report:
    """All results of a run."""

    machine: dict[str, str] = field(default_factory=dict)
    tables: list[dict[str, Any]] = field(default_factory=list)
    targets: list[MeasuredTarget] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    section: str = ""

    def begin(self, section: str, title: str) -> None:
        """Start a section."""
        self.section = section
        _print(f"\n=== {section}: {title} ===")

    def note(self, text: str) -> None:
        """Add a remark about the figures."""
        self.notes.append(f"{self.section}: {text}")
        _print(f"  note: {text}")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table, numbers with three digits."""
        plain = [[value.item() if isinstance(value, np.generic) else value for value in row] for row in rows]
        self.tables.append({"section": self.section, "title": title, "columns": list(columns), "rows": plain})
        shown = [list(columns), *([_cell(value) for value in row] for row in rows)]
        widths = [max(len(row[i]) for row in shown) for i in range(len(columns))]
        _print(f"\n  {title}")
        for row in shown:
            cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
            _print("    " + "  ".join(cells).rstrip())

    def timings(self, title: str, timings: Timings, aims: Sequence[Aim] = ()) -> None:
        """Print a table of times, and the ratios of contenders that took part."""
        rows = [[label, timings.median(label) * 1e6, timings.best(label) * 1e6] for label in timings.labels]
        self.table(title, ["us per state", "median", "best"], rows)
        for aim in aims:
            if not {aim.slow, aim.fast} <= set(timings.labels):
                continue
            ratio = timings.ratio(aim.slow, aim.fast)
            low, high = timings.spread(aim.slow, aim.fast)
            name = f"{aim.slow} / {aim.fast}"
            if aim.limit is None:
                _print(f"      {name} = {number(ratio)} (quartiles {number(low)} ... {number(high)})")
            else:
                self.aim(f"{title}: {name}", ratio, aim.limit, "x", at_least=True)

    def aim(self, what: str, measured: float, limit: float, unit: str, *, at_least: bool = False) -> None:
        """Add a target."""
        target = MeasuredTarget(self.section, what, float(measured), limit, at_least, unit)
        self.targets.append(target)
        _print(f"      {target}")

    def summary(self) -> None:
        """Print the missed targets."""
        if not self.targets:
            return
        missed = [t for t in self.targets if not t.reached]
        _print(f"\n=== {len(self.targets) - len(missed)} of {len(self.targets)} targets reached ===")
        for target in missed:
            _print(f"  {target.section}: {target}")

    def to_dict(self) -> dict[str, Any]:
        """All results as plain data."""
        targets = [{**asdict(t), "reached": t.reached} for t in self.targets]
        return {"machine": self.machine, "tables": self.tables, "targets": targets, "notes": self.notes}


def number(value: float) -> str:
    """Three significant digits, without powers of ten for usual sizes."""
    if value == 0.0 or not 1e-3 <= abs(value) < 1e7:
        return f"{value:.3g}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _print(text: str) -> None:
    print(text, flush=True)


def describe_machine(pinned: str) -> dict[str, str]:
    """Processor, lanes and versions."""
    target = Target.host()
    found = {
        "processor": processor(),
        "LLVM calls it": f"{target.cpu}, {target.lanes} lanes of float64, {'with' if target.fma else 'without'} FMA",
        "CPUs": f"{os.cpu_count()}, this process {pinned}",
        "load": " ".join(f"{x:.2f}" for x in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "ada_dynamics": ada_dynamics.__version__,
    }
    for package in ("numpy", "llvmlite", "pin", "mujoco"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


# --- the command line -----------------------------------------------------------------------------------------------
def parse(parser: argparse.ArgumentParser, words: list[str] | None, sections: Sequence[str]) -> argparse.Namespace:
    """Parse the command line with its sections and --quick; unknown sections end the program."""
    parser.add_argument("section", nargs="*", help=f"some of {', '.join(sections)}; all by default")
    parser.add_argument("--quick", action="store_true", help="check that every section runs; figures mean little")
    chosen = parser.parse_args(words)
    unknown = [name for name in chosen.section if name not in sections]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(sections)}")
    chosen.section = [name for name in sections if not chosen.section or name in chosen.section]
    return chosen


def require(parser: argparse.ArgumentParser, option: str, value: float, most: float) -> None:
    """Refuse the value of an option that is not positive, or too large."""
    if not 0.0 < value <= most:
        parser.error(f"{option} is {value:g}; it must be positive and at most {most:g}")


def run_sections(report: Report, method: str, sections: Mapping[str, Callable[[], None]], figures: Path | None) -> int:
    """Run sections and write their results; a section that fails does not stop the others.

    Args:
        report: receives tables and targets.
        method: description of the method.
        sections: functions by name.
        figures: file of all figures; None: none.

    Returns:
        The exit code: 0; 1 if a target is missed; `CANNOT_RUN` if a section failed.
    """
    for key, value in report.machine.items():
        print(f"{key:18} {value}")
    print(method)
    failures = {name: problem for name, section in sections.items() if (problem := _problem(section))}
    report.summary()
    if figures is not None:
        figures.parent.mkdir(parents=True, exist_ok=True)
        figures.write_text(json.dumps(report.to_dict(), indent=1), encoding="utf-8")
    for name, problem in failures.items():
        print(f"error: section {name} did not run to its end: {problem}", file=sys.stderr)
    return CANNOT_RUN if failures else int(not all(target.reached for target in report.targets))


def _problem(section: Callable[[], None]) -> str:
    """Run a section; returns the reason if it failed."""
    try:
        section()
    except AdaError as problem:
        return str(problem)
    except Exception as problem:  # a defect of one section must not lose the figures of the others
        traceback.print_exc()
        return f"{type(problem).__name__}: {problem}"
    return ""
