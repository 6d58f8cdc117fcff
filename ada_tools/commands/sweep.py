# SPDX-License-Identifier: Apache-2.0
"""Run a scenario for many parameter values, resumable.

Values are on a grid or random; all cores are used. A sweep is a YAML file, see docs/sweeps.md:

  scenario: T3.1
  parameters:
    start.joints.joint_1: {from: 0 deg, to: 90 deg, count: 10}
    start.joints.joint_2: {uniform: [-10 deg, 10 deg]}
  random: {count: 1000, seed: 1}
  measures: [energy_drift]

Each run is a line of OUTPUT/runs.jsonl. After Ctrl-C, a crash or a power failure the same command resumes: finished
runs are kept and not repeated.

Examples:
  ada sweep starts.yaml                           results in ./swept/starts; repeat to resume
  ada sweep starts.yaml --output starts --jobs 4 --limit 100
  ada sweep status starts                         also while it runs
  ada sweep export starts starts.csv

Exit code: 0 if all runs are complete, 1 if some are missing (or, with --strict, failed), 2 for wrong usage, 130 after
Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ada_dynamics.errors import INTERRUPTED, AdaError, InputError
from ada_tools.commands.common import check_files, print_json, table
from ada_tools.sweep.results import SweepResult, read_result
from ada_tools.sweep.running import run_sweep
from ada_tools.sweep.sweep import load

STATUS, EXPORT = "status", "export"
HOME = "swept"  # default folder of results, ignored by git
NOT_ALL = 1
_USAGE = "write: ada sweep FILE, ada sweep status DIR, or ada sweep export DIR OUT"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("words", nargs="+", metavar="FILE", help="sweep to run; or: status DIR; or: export DIR OUT")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help=f"folder for the results (default: {HOME}/ and the name of FILE without extension)",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="parallel runs (default: number of cores)")
    parser.add_argument("--limit", type=int, metavar="N", help="stop after N runs; the same command resumes")
    parser.add_argument("--retry-failed", action="store_true", help="repeat failed runs")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if a run failed")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(options: argparse.Namespace) -> int:
    """Run a sweep, or show or export its results."""
    words: list[str] = options.words
    if words[0] == STATUS:
        _expect(words, 2)
        return _show(read_result(words[1]), options)
    if words[0] == EXPORT:
        _expect(words, 3)
        return _export(Path(words[1]), Path(words[2]))
    _expect(words, 1)
    output = Path(HOME, Path(words[0]).stem) if options.output is None else options.output
    try:
        result = run_sweep(
            load(words[0]),
            output,
            None,
            options.jobs,
            "auto",
            limit=options.limit,
            retry_failed=options.retry_failed,
        )
    except KeyboardInterrupt:
        print(f"ada: interrupted. {_kept(output)}", file=sys.stderr)
        return INTERRUPTED
    return _show(result, options)


def _expect(words: Sequence[str], count: int) -> None:
    if len(words) != count:
        raise InputError(f"got {len(words)} arguments, {' '.join(words)!r}; {_USAGE}.")


def _kept(output: Path) -> str:
    try:
        result = read_result(output)
    except AdaError:  # not started
        return "No run is complete."
    made = result.done + result.failed
    return f"{made} of {result.total} runs are stored in {output}; the same command resumes."


def _export(folder: Path, out: Path) -> int:
    result = read_result(folder)
    if out.suffix.lower() != ".csv":
        raise InputError(f"OUT is {out}; its extension must be .csv.")
    check_files({"OUT": out})
    result.to_csv(out)
    print(f"{out}: {result.done + result.failed} of {result.total} runs")
    return 0


def _show(result: SweepResult, options: argparse.Namespace) -> int:
    found = result.summary()
    if options.json:
        print_json(found)
    else:
        print("\n".join(_text(found)))
    return NOT_ALL if result.left or (options.strict and result.failed) else 0


def _text(found: dict[str, Any]) -> list[str]:
    counts = f"{found['done']} of {found['runs']} runs done, {found['failed']} failed, {found['left']} left"
    lines = [
        f"{found['name']}: {counts} ({found['seconds_of_computing']:.1f} s of computing). Results: {found['folder']}"
    ]
    rows = [
        (name, *(_figure(span[key]) for key in ("least", "mean", "greatest")), _figure(span["greatest_in_run"]))
        for name, span in found["measures"].items()
    ]
    if rows:
        lines += ["", *table(("measure", "least", "mean", "greatest", "in run"), rows)]
    odd = {name: span["not_finite"] for name, span in found["measures"].items() if span["not_finite"]}
    lines += [f"not finite in {count} runs: {name}" for name, count in odd.items()]
    lines += [f"failed, {one['runs']} times: {one['error']}" for one in found["errors"]]
    return [*lines, *(f"note: {note}" for note in found["notes"])]


def _figure(value: float | None) -> object:
    return "-" if value is None else value
