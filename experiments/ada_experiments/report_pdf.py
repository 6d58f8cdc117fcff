# SPDX-License-Identifier: Apache-2.0
"""Report of `ada reproduce` as a PDF by matplotlib: A4 pages with the content of the HTML page."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install
from ada_experiments.report import (
    CLAIM_HEAD,
    STATEMENT_HEAD,
    TITLE,
    cells,
    figure_text,
    limit_text,
    remark,
    said,
    standing,
)
from ada_tools.scenario.claims import FAILS, HOLDS, NOT_CONFIRMED

if TYPE_CHECKING:
    from ada_tools.scenario.claims import Claim, Table
    from ada_tools.scenario.reproduce import Result

WIDTH, HEIGHT, MARGIN = 8.27, 11.69, 0.8  # A4 [inch]
LINE = 1.45  # line height / font size
_INK, _SOFT, _GOOD, _BAD = "#1c2126", "#5c666f", "#00664f", "#a93200"
_VERDICTS = {HOLDS: _GOOD, NOT_CONFIRMED: _SOFT, FAILS: _BAD}
_POINT = 1.0 / 72.0  # [inch]
_OWN_NAME = re.compile("「.*?」")  # Japanese names, which the font of matplotlib lacks
_DRAWN = (".png", ".jpg")  # read by matplotlib; animations are only in the HTML page


def write_pdf(results: Sequence[Result], path: Path, facts: Sequence[tuple[str, str]]) -> None:
    """Write the report.

    Args:
        results: one per scenario.
        path: output file.
        facts: on machine and versions, for the last page.

    Raises:
        InputError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_pdf import PdfPages
    except ImportError:
        raise InputError(f"the PDF report requires matplotlib: {how_to_install('tools')}") from None
    try:
        # No date in the file: the same report gives the same bytes.
        with PdfPages(path, metadata={"Title": TITLE, "CreationDate": None}) as pages:
            paper = _Paper(pages)
            _summary(paper, results)
            for result in results:
                _experiment(paper, result)
            paper.new_page()
            paper.write("Machine and versions", 13, weight="bold")
            paper.rows([[name, value] for name, value in facts], (0.0, 1.6), 9)
            paper.finish()
    except OSError as problem:
        words = f"cannot write the report {path}: {problem.strerror}."
        raise InputError(words, file=path, value=problem.errno) from None


class _Paper:
    """Pages filled from top to bottom."""

    def __init__(self, pages: Any) -> None:
        self._pages, self._y = pages, 0.0
        self._figure: Any = None
        self.new_page()

    def new_page(self) -> None:
        """Continue at the top of the next page."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.finish()
        self._figure = Figure(figsize=(WIDTH, HEIGHT))
        FigureCanvasAgg(self._figure)
        self._y = HEIGHT - MARGIN

    def finish(self) -> None:
        """Write the page to the file."""
        if self._figure is not None:
            self._pages.savefig(self._figure)
            self._figure = None

    def room(self, height: float) -> None:
        """Start the next page if less than `height` remains [inch]."""
        if self._y - height < MARGIN:
            self.new_page()

    def space(self, height: float) -> None:
        """Add vertical space [inch]."""
        self._y -= height

    def write(self, text: str, size: float = 9.5, color: str = _INK, weight: str = "normal", left: float = 0.0) -> None:
        """Write a text, wrapped to the page width."""
        for line in _lines(text, size, WIDTH - 2 * MARGIN - left):
            self.room(size * LINE * _POINT)
            self._put(line, left, size, color, weight)
            self._y -= size * LINE * _POINT

    def rows(
        self,
        rows: Sequence[Sequence[str]],
        lefts: Sequence[float],
        size: float = 9.0,
        colors: Sequence[Sequence[str]] | None = None,
    ) -> None:
        """Write a table: cells wrap within their columns, which begin at `lefts` [inch]."""
        ends = [*lefts[1:], WIDTH - 2 * MARGIN]
        for i, row in enumerate(rows):
            wrapped = [_lines(x, size, b - a - 0.1) for x, a, b in zip(row, lefts, ends, strict=True)]
            height = max(map(len, wrapped)) * size * LINE * _POINT
            self.room(height)
            top = self._y
            for j, (lines, left) in enumerate(zip(wrapped, lefts, strict=True)):
                self._y = top
                for line in lines:
                    self._put(line, left, size, colors[i][j] if colors else _INK, "normal")
                    self._y -= size * LINE * _POINT
            self._y = top - height - 0.03

    def picture(self, path: Path, caption: str) -> None:
        """Draw a picture with the width of the page, or the height that remains."""
        from matplotlib.image import imread

        try:
            image = imread(path)
        except (OSError, ValueError, SyntaxError) as problem:
            raise InputError(f"cannot read the figure {path}: {problem}.") from None
        below = 0.35 if caption else 0.15
        ratio = image.shape[0] / image.shape[1]
        width = min(WIDTH - 2 * MARGIN, (HEIGHT - 2 * MARGIN - below) / ratio, image.shape[1] / 110.0)
        self.room(width * ratio + below)
        self._y -= width * ratio
        left = (WIDTH - width) / 2.0
        axes = self._figure.add_axes((left / WIDTH, self._y / HEIGHT, width / WIDTH, width * ratio / HEIGHT))
        axes.imshow(image, aspect="auto", interpolation="lanczos")
        axes.axis("off")
        if caption:
            self._put(caption, 0.0, 8.5, _SOFT, "normal")
        self._y -= below

    def _put(self, line: str, left: float, size: float, color: str, weight: str) -> None:
        # A dollar sign would start a formula.
        self._figure.text(
            (MARGIN + left) / WIDTH,
            self._y / HEIGHT,
            line.replace("$", r"\$"),
            size=size,
            color=color,
            weight=weight,
            va="top",
        )


def _lines(text: str, size: float, width: float) -> list[str]:
    """Wrap a text to lines; characters are about half as wide as high."""
    return textwrap.wrap(str(text), max(6, int(width / (0.57 * size * _POINT)))) or [""]


def _summary(paper: _Paper, results: Sequence[Result]) -> None:
    good = sum(result.holds for result in results)
    paper.write(TITLE, 20, weight="bold")
    paper.write(f"{good} of {len(results)} experiments hold.", 10, _SOFT)
    paper.space(0.15)
    words = [HOLDS if r.holds else FAILS for r in results]
    rows = [
        [r.name, r.title, _share(r.outcome.claims), standing(r), word] for r, word in zip(results, words, strict=True)
    ]
    colors = [[_INK, _INK, _INK, _INK, _VERDICTS[word]] for word in words]
    head = ["experiment", "title", "claims", "statements", "verdict"]
    _headed(paper, head, rows, (0.0, 0.95, 3.8, 4.6, 5.95), colors)


def _experiment(paper: _Paper, result: Result) -> None:
    paper.new_page()
    outcome = result.outcome
    paper.write(f"{result.name}: {result.title}", 14, weight="bold")
    source = _OWN_NAME.sub("", result.source)
    paper.write(f"{source}{'. ' if source else ''}Duration: {result.seconds:.1f} s.", 9, _SOFT)
    paper.space(0.1)
    if result.error:
        paper.write(f"Not completed: {result.error}", 9.5, _BAD)
        paper.space(0.1)
    _judged(paper, CLAIM_HEAD, [(claim.text, claim) for claim in outcome.claims])
    _judged(paper, STATEMENT_HEAD, [(said(statement), statement) for statement in outcome.statements])
    for path in outcome.figures:
        if path.suffix.lower() in _DRAWN:
            paper.space(0.1)
            paper.picture(path, outcome.captions.get(path.name, ""))
    for table in outcome.tables:
        _table(paper, table)
    for note in outcome.notes:
        paper.write(f"Note: {note}", 9, _SOFT)


def _judged(paper: _Paper, head: Sequence[str], claims: Sequence[tuple[str, Claim]]) -> None:
    """Write a table of claims or statements with measured values and verdicts."""
    if not claims:
        return
    rows = [
        [text + (f" ({remark(claim)})" if remark(claim) else ""), figure_text(claim), limit_text(claim), claim.verdict]
        for text, claim in claims
    ]
    colors = [[_INK, _INK, _INK, _VERDICTS[claim.verdict]] for _, claim in claims]
    _headed(paper, head, rows, (0.0, 3.6, 4.75, 5.85), colors)


def _table(paper: _Paper, table: Table) -> None:
    paper.space(0.12)
    paper.room(0.6)
    paper.write(table.title, 10, weight="bold")
    rows, columns = cells(table), list(table.columns)
    longest = [max([len(head), *(len(row[i]) for row in rows)]) + 2 for i, head in enumerate(columns)]
    scale = (WIDTH - 2 * MARGIN) / sum(longest)
    lefts = [min(scale, 0.075) * sum(longest[:i]) for i in range(len(longest))]
    _headed(paper, columns, rows, lefts, None, 8.0)
    if table.note:
        paper.write(table.note, 8.5, _SOFT)


def _headed(
    paper: _Paper,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    lefts: Sequence[float],
    colors: Sequence[Sequence[str]] | None,
    size: float = 9.0,
) -> None:
    paper.rows([head], lefts, size, [[_SOFT] * len(head)])
    paper.rows(rows, lefts, size, colors)


def _share(claims: Sequence[Claim]) -> str:
    return f"{sum(c.holds for c in claims)} of {len(claims)}"
