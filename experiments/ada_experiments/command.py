# SPDX-License-Identifier: Apache-2.0
"""Run the experiments of the documents and check their claims.

The figures of the documents are drawn, and a report is written. An experiment is a scenario: a YAML file with robot,
initial state, simulation settings and claims; see docs/reproduce.md. `--list` lists the published ones.

Examples:
  ada reproduce --list
  ada reproduce T3.1                          print claims; figures and report in ./reproduced
  ada reproduce chapter6 chapter7 pa10        experiments of a chapter or robot
  ada reproduce all --output out              then open out/report.md
  ada reproduce all --json --output out       results as JSON on stdout, progress on stderr
  ada reproduce T6.8 --full                   all cases, where a subset is run by default
  ada reproduce my_scenario.yaml

A claim of this project holds or fails. A statement of a document holds, is not confirmed for a given
reason, or fails. DIR/faithfulness.md lists every statement with its source, measured value and verdict. JSON and
report are written as experiments end: after Ctrl-C they contain the experiments up to then.

Exit code: 0 if nothing fails, 1 if a claim fails or an experiment cannot be completed, 2 for wrong usage. Timings
are shown with their spread and never fail, since they depend on the machine load.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from ada_dynamics.errors import InputError
from ada_dynamics.progress import Progress
from ada_dynamics.structured_text.files import to_json
from ada_experiments import report
from ada_experiments.reproduce import ScenarioResult, reproduce
from ada_tools.commands.common import make_folder, print_json, table
from ada_tools.scenario import GROUPS, Scenario, load, names, names_in
from ada_tools.scenario.registry import FAILS, HOLDS, NOT_CONFIRMED, Claim
from ada_tools.sweep.running import begin, cores

ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME|FILE",
        help=f"experiments, scenario files, groups, or: all; groups: {', '.join(GROUPS)}",
    )
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--json", action="store_true", help="print claims, statements and values as JSON")
    parser.add_argument("--full", action="store_true", help="run all cases of experiments that take hours")
    own = "1 for own scenario files"
    parser.add_argument("--jobs", type=int, metavar="N", help=f"experiments at a time (default: all cores; {own})")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("reproduced"),
        metavar="DIR",
        help="folder for report.md, faithfulness.md and figures (default: reproduced)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the experiments; print each result and rewrite the report as soon as it is there."""
    if options.list:
        return _list(options.json)
    scenarios = _scenarios(options.names)
    if options.jobs is not None and options.jobs < 1:
        raise InputError(f"--jobs is {options.jobs}; it must be at least 1.")
    make_folder("--output", options.output)
    order = [scenario.name for scenario in scenarios.values()]
    results: list[ScenarioResult] = []
    try:
        for result in _results(scenarios, options):
            word, number = HOLDS if result.holds else FAILS, len(results) + 1
            label = f"[{number}/{len(scenarios)}] {result.name} {word}"
            print(f"{label} ({result.seconds:.1f} s)", file=sys.stderr, flush=True)
            if options.json:
                print("," if results else "[", to_json(result.as_json(), indent=2), sep="\n", flush=True)
            else:
                print("\n".join(_text(result)), flush=True)
            results.append(result)
            shown = sorted(results, key=lambda one: order.index(one.name))
            report.write_report(shown, options.output)
            report.write_ledger(shown, options.output)
    finally:
        if options.json:
            print("]" if results else "[]")
    if not options.json:
        good = sum(result.holds for result in results)
        told = report.counts(report.entries(results))
        print(f"{good} of {len(results)} experiments hold; {told}. Report: {options.output / report.REPORT}")
    return 0 if all(result.holds for result in results) else 1


def _results(scenarios: Mapping[str, Scenario], options: argparse.Namespace) -> Iterator[ScenarioResult]:
    """Results as experiments end. Those that measure times run while no other one does."""
    jobs = options.jobs or (cores() if {*scenarios} <= {*names()} else 1)
    for source, scenario in scenarios.items():
        if jobs == 1 or len(scenarios) == 1 or scenario.alone:
            with Progress(1.0, scenario.name) as progress:
                yield _reproduced(source, options.full, options.output, progress)
    if jobs == 1 or len(scenarios) == 1:
        return
    others = [source for source, scenario in scenarios.items() if not scenario.alone]
    others.sort(key=lambda source: not scenarios[source].full)  # the longest ones first
    with ProcessPoolExecutor(jobs, get_context("spawn"), begin) as pool:
        running = {pool.submit(_reproduced, source, options.full, options.output): source for source in others}
        try:
            for future in as_completed(running):
                problem, scenario = future.exception(), scenarios[running[future]]
                if problem is None:
                    yield future.result()
                else:
                    ended = f"its process ended: {problem}"
                    yield ScenarioResult(scenario.name, scenario.title, scenario.source, error=ended)
        except BaseException:
            for process in list(pool._processes.values()):
                process.kill()
            raise


def _reproduced(source: str, is_full: bool, output: Path, progress: Progress | None = None) -> ScenarioResult:
    scenario = load(source)
    if is_full:
        scenario = scenario.with_changes(scenario.full)
    return reproduce(scenario, output / scenario.name, progress)


def _scenarios(wanted: Sequence[str]) -> dict[str, Scenario]:
    """Requested scenarios by name or file; all are read before the first one runs."""
    if not wanted:
        raise InputError(f"name an experiment, a file or {ALL!r}; `ada reproduce --list` shows the experiments.")
    found = {source: load(source) for word in wanted for source in _named(word)}
    taken: dict[str, Scenario] = {}
    for scenario in found.values():
        other = taken.setdefault(scenario.name, scenario)
        if other is not scenario:
            raise InputError(f"{scenario.file} and {other.file} have the same name {scenario.name!r}; rename one.")
    return found


def _named(word: str) -> list[str]:
    if word == ALL:
        return names()
    return names_in(word) if word in GROUPS else [word]


def _list(as_json: bool) -> int:
    scenarios = [load(name) for name in names()]
    if as_json:
        print_json([{"name": s.name, "title": s.title, "source": s.source} for s in scenarios])
    else:
        print("\n".join(table(("name", "title", "source"), [(s.name, s.title, s.source) for s in scenarios])))
    return 0


def _line(claim: Claim, text: str) -> tuple[str, str, str]:
    """Verdict, text, and measured value with its limit and, if not confirmed, the reason."""
    reason = f"  {report.remark(claim)}" if claim.verdict == NOT_CONFIRMED else ""
    return claim.verdict, text, f"{report.figure_text(claim)} {report.limit_text(claim)}{reason}"


def _text(result: ScenarioResult) -> list[str]:
    """Result as text."""
    rows = [_line(claim, claim.text) for claim in result.outcome.claims]
    rows += [_line(statement, report.said(statement)) for statement in result.outcome.statements]
    lines = [f"{result.name}: {result.title} ({result.seconds:.1f} s)"]
    if result.error:
        lines.append(f"  not completed: {result.error}")
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    lines += [f"  {a.ljust(widths[0])}  {b.ljust(widths[1])}  {c}" for a, b, c in rows]
    for one in result.outcome.tables:
        lines += ["", f"  {one.title}", *(f"  {line}" for line in table(one.columns, one.rows))]
    return [*lines, ""]
