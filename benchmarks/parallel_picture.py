# SPDX-License-Identifier: Apache-2.0
"""The picture of docs/parallel.md: `python -m benchmarks.parallel_picture FIGURES.json PICTURE.png`.

FIGURES.json is what `python -m benchmarks assembly --json FIGURES.json` writes.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

FIRST = ("links", "depth", "ABA")  # columns before those of the workers
SHOWN_LINKS = (16, 64, 512, 4096)
SHOWN_WORKERS = (1, 4, 32, 1024)


def draw(table: dict[str, Any]) -> Figure:
    """Time against workers, and against links."""
    workers = [int(name[2:]) for name in table["columns"][len(FIRST) : -1]]
    rows = {row[0]: row for row in table["rows"]}
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for i, n in enumerate(SHOWN_LINKS):
        left.loglog(workers, rows[n][len(FIRST) : -1], "o-", color=f"C{i}", markersize=3, label=f"ADA, {n} links")
        left.axhline(rows[n][2], color=f"C{i}", ls=":")
    left.set(xlabel="workers", ylabel="one evaluation [µs]", title="dotted: ABA on one worker (measured)")
    for i, p in enumerate(SHOWN_WORKERS):
        times = [row[len(FIRST) + workers.index(p)] for row in rows.values()]
        right.loglog([*rows], times, "o-", color=f"C{i}", markersize=3, label=f"ADA, p = {p}")
    right.loglog([*rows], [row[2] for row in rows.values()], "k:", label="ABA, p = 1 (measured)")
    right.set(xlabel="links", title="solid: computed from the measured steps")
    for axes in (left, right):
        axes.legend(fontsize="small")
        axes.grid(alpha=0.3)
    return figure


def main(source: str, target: str) -> None:
    """Read figures, write the picture."""
    tables = json.loads(Path(source).read_text(encoding="utf-8"))["tables"]
    table = next(t for t in tables if t["columns"][: len(FIRST)] == list(FIRST))
    drawn = io.BytesIO()
    draw(table).savefig(drawn, dpi=90)
    # A palette makes it a third of the size; without matplotlib's version in it, the same picture is the same file.
    Image.open(drawn).convert("RGB").quantize(64).save(target, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
