# SPDX-License-Identifier: Apache-2.0
"""Ledger of all computable statements of the documents, with source, measured value and verdict.

The statements are defined in `statements:` of the scenarios in the folder data; `ada reproduce` writes the ledger
of its experiments as faithfulness.md. The page of that name in docs/ is written by `ada reproduce all`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ada_dynamics.errors import InputError
from ada_dynamics.output_files import atomic_write
from ada_experiments.report import figure_text, relation_text
from ada_tools.scenario import GROUPS, Result
from ada_tools.scenario.claims import FAILS, HOLDS, NOT_CONFIRMED, Statement, Verdict
from ada_tools.scenario.sections import StatementPart

FILE = "faithfulness.md"
VERDICTS: dict[Verdict, str] = {HOLDS: "confirmed", NOT_CONFIRMED: NOT_CONFIRMED, FAILS: FAILS}
DOCUMENTS = ("Takahashi 2012", "Yamada", "CRB note", "Awa 2009", "Tarao et al.")
HEAD = ("place", "statement", "stated", "measured", "verdict", "experiment")

_TITLE = """\
# Statements of the documents and their verification

This page lists every statement of the documents that can be computed, with the measured value. `ada reproduce all`
writes it (see [](reproduce.md)); the statements are defined in `experiments/ada_experiments/data`.

- **confirmed**: the measured value is as stated.
- **not confirmed**: it is not, for the given reason; the statement is wrong, misprinted or about another machine.
- **fails**: it is not, for an unknown reason. This is an error of the software, and `ada reproduce` returns 1.

"≈" is within a tenth. Times are medians with their interquartile range and never fail.
"""


class Entry(NamedTuple):
    """A line of the ledger."""

    experiment: str
    statement: Statement | StatementPart
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


def counts(found: Iterable[Entry]) -> str:
    """Numbers of statements that are confirmed, are not confirmed, and fail, as text."""
    by_verdict = Counter(entry.verdict for entry in found)
    return (
        f"{by_verdict[HOLDS]} statements of the documents are confirmed, "
        f"{by_verdict[NOT_CONFIRMED]} are not confirmed, {by_verdict[FAILS]} fail"
    )


def page(found: Sequence[Entry]) -> str:
    """Ledger as a Markdown page, with a table per document."""
    parts = [_TITLE, f"{counts(found)}.\n"]
    in_order = sorted(found, key=_order)
    for document in dict.fromkeys(entry.statement.document for entry in in_order):
        rows = [entry.cells() for entry in in_order if entry.statement.document == document]
        lines = ["| " + " | ".join(plain(cell) for cell in row) + " |" for row in (HEAD, *rows)]
        lines.insert(1, "|" + "---|" * len(HEAD))
        parts.append(f"## {document}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def write(results: Sequence[Result], folder: Path) -> None:
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
