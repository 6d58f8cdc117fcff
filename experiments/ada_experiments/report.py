# SPDX-License-Identifier: Apache-2.0
"""Report of `ada reproduce` as a self-contained HTML page, and ledger of the statements of the documents.

Both contain claims or statements with measured values and verdicts. The statements are defined in `statements:` of the
scenarios in the folder data; the ledger of an `ada reproduce all` is the page docs/faithfulness.md.
"""

from __future__ import annotations

import base64
import html
import math
import platform
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from ada_dynamics._version import __version__
from ada_dynamics.errors import InputError
from ada_dynamics.structured_text.files import atomic_write
from ada_experiments.reproduce import Result
from ada_tools.commands.doctor import processor
from ada_tools.scenario import GROUPS
from ada_tools.scenario.registry import FAILS, HOLDS, IN_PART, NOT_CONFIRMED, Claim, Table, Verdict
from ada_tools.scenario.scenario import ClaimPart
from ada_tools.sweep.running import cores

TITLE = "Reproduced experiments"
CLAIM_HEAD = ("claim", "measured", "limit", "verdict")
STATEMENT_HEAD = ("the document says", "measured", "stated", "verdict")
_SIGNS = {"<=": "≤", ">=": "≥", "==": "=", "~": "≈"}
_KINDS = {".png": "image/png", ".gif": "image/gif", ".jpg": "image/jpeg", ".svg": "image/svg+xml"}

_STYLE = Path(__file__).parent / "data" / "report.css"


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


# --- HTML -----------------------------------------------------------------------------------------------------------
def write_html(results: Sequence[Result], path: Path) -> None:
    """Write the page.

    Args:
        results: one per scenario.
        path: output file.

    Raises:
        InputError: a figure cannot be read, or the page cannot be written.
    """
    body = [_summary(results), *(_section(result) for result in results), _facts()]
    page = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{TITLE}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{_STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n{''.join(body)}</body>\n</html>\n"
    )
    with atomic_write(path, InputError) as part:
        part.write_text(page, encoding="utf-8")


def _summary(results: Sequence[Result]) -> str:
    good = sum(result.holds for result in results)
    rows = [
        [
            f'<a href="#{_text(r.name)}">{_text(r.name)}</a>',
            _text(r.title),
            f"{sum(c.holds for c in r.outcome.claims)} of {len(r.outcome.claims)}",
            _text(standing(r)),
            _verdict(HOLDS if r.holds else FAILS),
        ]
        for r in results
    ]
    return (
        f'<h1>{TITLE}</h1>\n<p class="soft">{good} of {len(results)} experiments hold. Each is run by '
        "<code>ada reproduce</code>; a claim holds if the measured value is within its limit. A statement of a "
        "document that is not confirmed does not count as a failure.</p>\n"
        + _grid(
            ["experiment", "title", "claims that hold", "statements of the document", "verdict"],
            rows,
            ["", "", "number", "", ""],
        )
    )


def _section(result: Result) -> str:
    outcome = result.outcome
    parts = [
        f'<section id="{_text(result.name)}">\n<div class="head"><h2>{_text(result.name)}: {_text(result.title)}</h2>'
        f"{_verdict(HOLDS if result.holds else FAILS)}</div>\n"
        f'<p class="soft">{_text(result.source)}{". " if result.source else ""}Duration: {result.seconds:.1f} s.</p>\n'
    ]
    if result.error:
        trace = f"<details><summary>where</summary><pre>{_text(result.trace)}</pre></details>" if result.trace else ""
        parts.append(f'<div class="error"><p>Not completed: {_text(result.error)}</p>{trace}</div>\n')
    if outcome.claims:
        parts.append(_judged(CLAIM_HEAD, [(claim.text, claim) for claim in outcome.claims]))
    if outcome.statements:
        parts.append(_judged(STATEMENT_HEAD, [(said(statement), statement) for statement in outcome.statements]))
    parts.extend(_picture(path, outcome.captions.get(path.name, "")) for path in outcome.figures)
    parts.extend(_table(table) for table in outcome.tables)
    if outcome.notes:
        parts.append("<h3>Notes</h3>\n<ul>" + "".join(f"<li>{_text(note)}</li>" for note in outcome.notes) + "</ul>\n")
    return "".join(parts) + "</section>\n"


def _judged(head: Sequence[str], rows: Sequence[tuple[str, Claim]]) -> str:
    """A table of claims or statements with measured values and verdicts."""
    lines = [
        [
            _text(text) + (f'<span class="note">{_text(remark(claim))}</span>' if remark(claim) else ""),
            _text(figure_text(claim)),
            _text(limit_text(claim)),
            _verdict(claim.verdict),
        ]
        for text, claim in rows
    ]
    return _grid(head, lines, ["claim", "number", "number", ""])


def standing(result: Result) -> str:
    """Number of the document's statements per verdict, such as "5 holds, 1 not confirmed"."""
    found = [statement.verdict for statement in result.outcome.statements]
    return ", ".join(f"{found.count(word)} {word}" for word in dict.fromkeys(found))


def _verdict(word: Verdict) -> str:
    return f'<span class="verdict {word}">{word}</span>'


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]], classes: Sequence[str]) -> str:
    """A table of HTML cells in a box with its own scroll bar."""
    marks = [f' class="{name}"' if name else "" for name in classes]
    top = "".join(f"<th{mark}>{_text(cell)}</th>" for mark, cell in zip(marks, head, strict=True))
    lines = ["".join(f"<td{mark}>{cell}</td>" for mark, cell in zip(marks, row, strict=True)) for row in rows]
    body = "".join(f"<tr>{line}</tr>\n" for line in lines)
    return f'<div class="wide"><table>\n<tr>{top}</tr>\n{body}</table></div>\n'


def _table(table: Table) -> str:
    rows = cells(table)
    classes = ["number" if is_numeric(rows, i) else "" for i in range(len(table.columns))]
    note = f'<p class="soft">{_text(table.note)}</p>\n' if table.note else ""
    shown = [[_text(cell) for cell in row] for row in rows]
    return f"<h3>{_text(table.title)}</h3>\n{_grid(list(table.columns), shown, classes)}{note}"


def cells(table: Table) -> list[list[str]]:
    """Cells of a table as texts."""
    return [
        [number(float(x)) if isinstance(x, int | float) and not isinstance(x, bool) else str(x) for x in row]
        for row in table.rows
    ]


def is_numeric(rows: Sequence[Sequence[str]], column: int) -> bool:
    """True if a column contains only numbers or dashes and is aligned right."""

    def fits(text: str) -> bool:
        try:
            float(text)
        except ValueError:
            return text in {"-", "–", ""}
        return True

    return column > 0 and all(fits(row[column]) for row in rows)


def _picture(path: Path, caption: str) -> str:
    try:
        data = base64.b64encode(path.read_bytes()).decode("ascii")
    except OSError as problem:
        raise InputError(f"cannot read the figure {path}: {problem.strerror}.", file=path) from None
    kind = _KINDS.get(path.suffix.lower(), "application/octet-stream")
    words = f"<figcaption>{_text(caption)}</figcaption>" if caption else ""
    alternative = _text(caption or path.stem)
    return f'<figure><img src="data:{kind};base64,{data}" alt="{alternative}">{words}</figure>\n'


def _facts() -> str:
    """Machine and package versions; missing packages are omitted."""
    facts = {"ada_dynamics": __version__, "Python": platform.python_version()}
    for package in ("numpy", "llvmlite", "scipy", "matplotlib", "pin", "mujoco"):
        with suppress(PackageNotFoundError):
            facts[package] = version(package)
    facts["processor"] = processor()
    facts["cores in use"] = str(cores())
    facts["system"] = f"{platform.system()} {platform.release()} {platform.machine()}"
    facts["date"] = time.strftime("%Y-%m-%d %H:%M %Z")
    rows = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts.items())
    return f'<section id="machine"><h2>Machine and versions</h2>\n<dl>{rows}</dl></section>\n'


def _text(text: str) -> str:
    return html.escape(str(text), quote=True)


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


def entries(results: Sequence[Result]) -> list[Entry]:
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
        rows = [entry.cells() for entry in own]
        lines = ["| " + " | ".join(plain(cell) for cell in row) + " |" for row in (HEAD, *rows)]
        lines.insert(1, "|" + "---|" * len(HEAD))
        parts.append(f"## {document}\n\n{counts(own)}.\n\n" + "\n".join(lines) + f"\n\n{index(own)}\n")
    return "\n".join(parts)


def write_ledger(results: Sequence[Result], folder: Path) -> None:
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
