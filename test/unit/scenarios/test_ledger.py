# SPDX-License-Identifier: Apache-2.0
"""The ledger: docs/faithfulness.md says of every statement of the documents what the scenarios say of it."""

from __future__ import annotations

import re
from pathlib import Path

from ada_experiments import joint_tables, report
from ada_tools import scenario as scenarios
from ada_tools.scenario.registry import FAILS, NOT_CONFIRMED
from ada_tools.scenario.scenario import ClaimPart

PAGE = Path(__file__).resolve().parents[3] / "docs" / report.FILE


def written() -> dict[tuple[str, str, str], tuple[str, str]]:
    """Figures and verdicts on the page, by experiment, place and statement."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in PAGE.read_text(encoding="utf-8").splitlines() if "|" in line]
    cells = ([cell.strip() for cell in row] for row in rows)
    return {(name, where, text): (figure, verdict) for where, text, _, figure, verdict, name in cells}


def declared() -> list[tuple[str, ClaimPart]]:
    return [(name, part) for name in scenarios.names() for part in scenarios.load(name).statements]


def test_the_page_has_every_statement_as_it_stands_beside_the_experiments() -> None:
    found = written()
    entries = []
    for name, part in declared():
        figure, verdict = found[name, report.plain(part.where), report.plain(part.text)]
        word = next(word for word, shown in report.VERDICTS.items() if verdict.startswith(shown))
        entries.append(report.Entry(name, part, figure, word))
    assert PAGE.read_text(encoding="utf-8") == report.page(entries), "write it anew: ada reproduce all"


def test_nothing_on_the_page_fails_and_what_is_not_confirmed_has_a_reason() -> None:
    verdicts = [verdict for _, verdict in written().values()]
    assert not [verdict for verdict in verdicts if verdict.startswith(FAILS)]
    assert NOT_CONFIRMED not in verdicts


def test_rows_with_a_parameter_that_is_not_printed_show_its_sweep() -> None:
    every = {name: scenarios.load(name) for name in scenarios.names()}
    swept = {name for name, scenario in every.items() if scenario.sweep or "full_angles" in scenario.settings}
    assert swept >= {"T6.1", "T6.2", "T6.3", "T6.4", "T6.8"}
    assert all(" (full_angle " in figure for (name, *_), (figure, _) in written().items() if name in swept)


def test_a_statement_stands_once() -> None:
    every = [(name, part.where, part.text) for name, part in declared()]
    assert len(set(every)) == len(every)


def test_printed_turns_are_the_librarys_but_for_one_entry() -> None:
    off = {name: quantity.value for name, quantity in joint_tables.rotation_errors().items()}
    assert off.pop("eq_3_29_off") > 0.1
    assert max(off.values()) < 1e-15
