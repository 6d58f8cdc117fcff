# SPDX-License-Identifier: Apache-2.0
"""Report of `ada reproduce`, and ledger of the statements of the documents, both in Markdown.

Both contain claims or statements with measured values and verdicts. The statements are defined in `statements:` of the
scenarios in the folder data; the ledger of an `ada reproduce all` is the page docs/faithfulness.md.
"""

from __future__ import annotations

import math
import os
import platform
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from ada_dynamics._version import __version__
from ada_dynamics.errors import InputError
from ada_dynamics.structured_text.files import atomic_write
from ada_experiments.reproduce import ScenarioResult
from ada_tools.commands.doctor import processor
from ada_tools.scenario import GROUPS
from ada_tools.scenario.registry import FAILS, HOLDS, IN_PART, NOT_CONFIRMED, Claim, Table, Verdict
from ada_tools.scenario.scenario import ClaimPart
from ada_tools.sweep.running import cores

REPORT = "report.md"
_SIGNS = {"<=": "≤", ">=": "≥", "==": "=", "~": "≈"}


def number(value: float) -> str:
    """Format a number: four digits, integers without decimals."""
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite"
    if value == round(value) and abs(value) < 1e6:
        return str(round(value))
    return f"{value:.3g}" if 1e-3 <= abs(value) < 1e5 else f"{value:.2e}"


def relation_text(claim: Claim | ClaimPart) -> str:
    """Limit of a claim without its unit, such as "≤ 1e-8"."""
    return f"{_SIGNS[claim.relation]} {claim.limit:.3g}"


def limit_text(claim: Claim) -> str:
    """Limit of a claim, such as "≤ 1e-8 m"."""
    return relation_text(claim) + (f" {claim.unit}" if claim.unit else "")


def figure_text(claim: Claim) -> str:
    """Measured value with its unit, the range of a timing, and the sweep of a parameter that is not printed."""
    unit = f" {claim.unit}" if claim.unit else ""
    spread = getattr(claim, "spread", None)
    scattered = f" ({number(spread[0])} to {number(spread[1])})" if spread else ""
    swept = [f"{label.partition(' ')[2]}: {number(value)}" for label, value in claim.sweep.items()]
    parameter = next(iter(claim.sweep), "").partition(" ")[0]
    share = f"{len(claim.confirming)} of {len(swept)} confirm"
    return f"{number(claim.measured)}{unit}{scattered}" + (
        f" ({parameter} {'; '.join(swept)}: {share})" if swept else ""
    )


def said(statement: Claim) -> str:
    """A statement with its place in the document."""
    return f"{statement.where}: {statement.text}"


def remark(claim: Claim) -> str:
    """Note of a claim, and the reason why a statement is not confirmed."""
    why = getattr(claim, "why", "") if claim.verdict == NOT_CONFIRMED else ""
    return ". ".join(part for part in (why and f"Not confirmed: {why}", claim.note) if part)


# --- report ---------------------------------------------------------------------------------------------------------
def write_report(results: Sequence[ScenarioResult], folder: Path) -> None:
    """Write the report, a Markdown page that shows the figures in the folders of the experiments.

    Args:
        results: one per scenario.
        folder: output folder, with a folder of figures per scenario.

    Raises:
        InputError: the page cannot be written.
    """
    good = sum(result.holds for result in results)
    rows = [
        [
            result.name,
            result.title,
            f"{sum(claim.holds for claim in result.outcome.claims)} of {len(result.outcome.claims)}",
            standing(result),
            HOLDS if result.holds else FAILS,
        ]
        for result in results
    ]
    head = ("experiment", "title", "claims that hold", "statements of the document", "verdict")
    text = f"# Reproduced experiments\n\n{good} of {len(results)} experiments hold.\n\n{grid(head, rows)}\n"
    with atomic_write(folder / REPORT, InputError) as path:
        path.write_text("\n".join([text, *(_section(result, folder) for result in results), _facts()]), "utf-8")


def _section(result: ScenarioResult, folder: Path) -> str:
    outcome = result.outcome
    source = f"{plain(result.source)}. " if result.source else ""
    parts = [f"## {result.name}: {plain(result.title)}", f"{source}Duration: {result.seconds:.1f} s."]
    if result.error:
        parts.append(f"**Not completed**: {plain(result.error)}")
        parts += [f"```\n{result.trace.rstrip()}\n```"] if result.trace else []
    if outcome.claims:
        parts.append(_judged("claim", "limit", [(claim.text, claim) for claim in outcome.claims]))
    if outcome.statements:
        parts.append(_judged("the document says", "stated", [(said(one), one) for one in outcome.statements]))
    for figure in outcome.figures:
        caption = plain(outcome.captions.get(figure.name, ""))
        parts.append(f"![{caption}]({quote(os.path.relpath(figure, folder))})\n\n{caption}".rstrip())
    for table in outcome.tables:
        parts += [f"### {plain(table.title)}", grid(table.columns, cells(table))]
        parts += [plain(table.note)] if table.note else []
    if outcome.notes:
        parts.append("\n".join(f"- {plain(note)}" for note in outcome.notes))
    return "\n\n".join(parts) + "\n"


def _judged(text: str, limit: str, rows: Sequence[tuple[str, Claim]]) -> str:
    """A table of claims or statements with measured values and verdicts."""
    lines = [
        [". ".join(filter(None, (words, remark(one)))), figure_text(one), limit_text(one), one.verdict]
        for words, one in rows
    ]
    return grid((text, "measured", limit, "verdict"), lines)


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(plain(cell) for cell in row) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines)


def standing(result: ScenarioResult) -> str:
    """Number of the document's statements per verdict, such as "5 holds, 1 not confirmed"."""
    found = [statement.verdict for statement in result.outcome.statements]
    return ", ".join(f"{found.count(word)} {word}" for word in dict.fromkeys(found))


def cells(table: Table) -> list[list[str]]:
    """Cells of a table as texts."""
    return [
        [number(float(x)) if isinstance(x, int | float) and not isinstance(x, bool) else str(x) for x in row]
        for row in table.rows
    ]


def _facts() -> str:
    """Machine and package versions; missing packages are omitted."""
    facts = {"ada_dynamics": __version__, "Python": platform.python_version()}
    for package in ("numpy", "llvmlite", "scipy", "matplotlib", "pin", "mujoco"):
        with suppress(PackageNotFoundError):
            facts[package] = version(package)
    facts["processor"] = f"{processor()}, {cores()} cores in use"
    facts["system"] = f"{platform.system()} {platform.release()} {platform.machine()}"
    facts["date"] = time.strftime("%Y-%m-%d %H:%M %Z")
    return "## Machine and versions\n\n" + "\n".join(f"- {name}: {value}" for name, value in facts.items()) + "\n"


# --- ledger ---------------------------------------------------------------------------------------------------------
FILE = "faithfulness.md"
VERDICTS: dict[Verdict, str] = {HOLDS: "confirmed", IN_PART: "in part", NOT_CONFIRMED: NOT_CONFIRMED, FAILS: FAILS}
DOCUMENTS = ("Takahashi 2012", "Yamada", "CRB note", "Awa 2009", "Tarao et al.")
HEAD = ("place", "statement", "stated", "measured", "verdict", "experiment")

_TITLE = """\
# Statements of the documents and their verification

This page lists every statement of the documents that can be computed, with the measured value. `ada reproduce all`
writes it (see [](reproduce.md)); the statements are defined in `experiments/ada_experiments/data`.

- **confirmed**: the measured value is as stated.
- **in part**: it depends on a parameter that the document does not print, and is confirmed for some of the tested
  values only: "(full_angle 45 deg: 7.83; 0.1 rad: 0.187: 1 of 2 confirm)". It is possible, not certain.
- **not confirmed**: it is not, for the given reason; the statement is wrong, misprinted or about another machine.
- **fails**: it is not, for an unknown reason. This is an error of the software, and `ada reproduce` returns 1.

"≈" is within a tenth. Times are medians with their interquartile range and never fail.
"""


class Entry(NamedTuple):
    """A line of the ledger."""

    experiment: str
    statement: Claim | ClaimPart
    measured: str
    verdict: Verdict

    def cells(self) -> list[str]:
        """Table cells below `HEAD`."""
        stated = self.statement
        verdict = VERDICTS[self.verdict]
        if self.verdict == NOT_CONFIRMED and stated.why:
            verdict = f"{verdict}: {stated.why}"
        return [stated.where, stated.text, relation_text(stated), self.measured, verdict, self.experiment]


def entries(results: Sequence[ScenarioResult]) -> list[Entry]:
    """Statements of the given results."""
    return [
        Entry(result.name, statement, figure_text(statement), statement.verdict)
        for result in results
        for statement in result.outcome.statements
    ]


def counts(found: Sequence[Entry]) -> str:
    """Numbers of statements that are confirmed, in part or not, and fail, as text."""
    by_verdict = Counter(entry.verdict for entry in found)
    misprints = sum(entry.verdict == NOT_CONFIRMED and "misprint" in entry.statement.why for entry in found)
    return (
        f"{by_verdict[HOLDS]} statements of the documents are confirmed, {by_verdict[IN_PART]} in part, "
        f"{by_verdict[NOT_CONFIRMED]} are not confirmed ({misprints} of them misprints), {by_verdict[FAILS]} fail"
    )


def index(found: Sequence[Entry]) -> str:
    """Places of a document in the order of their sections and equations, with the experiments about them."""
    by_place: dict[str, dict[str, None]] = {}
    for entry in sorted(found, key=lambda one: [int(digits) for digits in re.findall(r"\d+", one.statement.where)]):
        by_place.setdefault(plain(entry.statement.where), {})[entry.experiment] = None
    return "Index: " + "; ".join(f"{place} ({', '.join(names)})" for place, names in by_place.items()) + "."


def page(found: Sequence[Entry]) -> str:
    """Ledger as a Markdown page, with a table per document."""
    parts = [_TITLE, f"{counts(found)}.\n"]
    in_order = sorted(found, key=_order)
    for document in dict.fromkeys(entry.statement.document for entry in in_order):
        own = [entry for entry in in_order if entry.statement.document == document]
        table = grid(HEAD, [entry.cells() for entry in own])
        parts.append(f"## {document}\n\n{counts(own)}.\n\n{table}\n\n{index(own)}\n")
    return "\n".join(parts)


def write_ledger(results: Sequence[ScenarioResult], folder: Path) -> None:
    """Write the ledger of some results into a folder.

    Raises:
        InputError: the file cannot be written.
    """
    with atomic_write(folder / FILE, InputError) as path:
        path.write_text(page(entries(results)), encoding="utf-8")


def _order(entry: Entry) -> tuple[int, int, list[int]]:
    """Sort key: document, chapter and number of the experiment; the order within an experiment is kept."""
    document, name = entry.statement.document, entry.experiment
    known = DOCUMENTS.index(document) if document in DOCUMENTS else len(DOCUMENTS)
    chapters = [i for i, beginnings in enumerate(GROUPS.values()) if name.startswith(beginnings)]
    return known, chapters[0] if chapters else len(GROUPS), [int(digits) for digits in re.findall(r"\d+", name)]


def plain(cell: str) -> str:
    """Cell text as a single line without column separators."""
    return " ".join(cell.split()).replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")
