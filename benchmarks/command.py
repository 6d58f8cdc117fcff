# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks' three commands share: sections by name, run in turn; their report, as text and as a file."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ada_dynamics.errors import AdaError
from benchmarks.report import Report

CANNOT_RUN = 2  # exit code


def add_choice(parser: argparse.ArgumentParser, sections: Iterable[str]) -> None:
    """Let a command's user choose sections, and their smallest form."""
    parser.add_argument("section", nargs="*", help=f"which of {', '.join(sections)}; all where none is given")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs: figures mean little")


def chosen_of(parser: argparse.ArgumentParser, words: list[str] | None, sections: Iterable[str]) -> argparse.Namespace:
    """What the user chose, `section` being complete; a section that there is not ends the program."""
    chosen, known = parser.parse_args(words), list(sections)
    unknown = [name for name in chosen.section if name not in known]
    if unknown:
        parser.error(f"no section {unknown[0]!r}; there are {', '.join(known)}")
    chosen.section = [name for name in known if not chosen.section or name in chosen.section]
    return chosen


def positive(parser: argparse.ArgumentParser, option: str, value: float, most: float, called: str = "") -> None:
    """Refuse an option's value that is not positive, or too large."""
    if not 0.0 < value <= most:
        parser.error(f"{option} is {value:g}; it must be positive and at most {called or format(most, 'g')}")


def run(report: Report, method: str, sections: Mapping[str, Callable[[], None]], figures: Path | None) -> int:
    """Run sections in turn, and write what they found.

    Args:
        report: gets their tables and targets.
        method: how is measured, in words.
        sections: what is run, by name; where one cannot run, the others still do.
        figures: file of all figures; None: none.

    Returns:
        The exit code: 0; 1 where a target is missed; `CANNOT_RUN` where a section could not run to its end.
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
    """Run a section; why it ended early, or nothing."""
    try:
        section()
    except AdaError as problem:
        return str(problem)
    except Exception as problem:  # a defect of this section is no reason to lose the figures of the others
        traceback.print_exc()
        return f"{type(problem).__name__}: {problem}"
    return ""
