# SPDX-License-Identifier: Apache-2.0
"""The notebooks as pages, with what their cells print and show: they are kept without it, and run here."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
_LONGEST = 4000  # letters of what a cell prints


def page(path: Path, is_run: bool = True) -> str:
    """A notebook from its first cell to its last, and where to find it."""
    names: dict[str, Any] | None = {"__name__": "notebook"} if is_run else None
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:  # for what a cell saves
        os.chdir(folder)
        try:
            parts = [part for cell in cells for part in _parts(cell["cell_type"], "".join(cell["source"]), names)]
        finally:
            os.chdir(home)
    return "\n\n".join(parts) + f"\n\n*This page is `notebooks/{path.name}`, run when the pages were made.*\n"


def _parts(kind: str, source: str, names: dict[str, Any] | None) -> Iterator[str]:
    """A cell; of code also what comes of it, where there are names to run it with."""
    if kind == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    if names is None:
        return
    said, value = _run(source, names)
    html = getattr(value, "_repr_html_", lambda: None)()
    if value is not None and html is None:
        said += repr(value) + "\n"
    if said.strip():
        yield f"```text\n{said.rstrip()[:_LONGEST]}\n```"
    if html is not None:
        yield f"````{{raw}} html\n<div class='shown'>{html}</div>\n````"


def _run(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and its last expression, as a notebook shows it."""
    body, last = ast.parse(source), None
    if body.body and isinstance(body.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = ast.Expression(body.body.pop().value)  # type: ignore[attr-defined]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(body, "cell", "exec"), names)
        value = None if last is None else eval(compile(last, "cell", "eval"), names)
    return printed.getvalue(), value


def texts(folder: Path = FOLDER, is_run: bool = True) -> dict[str, str]:
    """All pages by the name of their file, and one that leads to them. Without being run, cells show nothing."""
    every = sorted(folder.glob("*.ipynb"))
    hub = (
        "# Notebooks\n\nThe tutorials to play with: open the folder `notebooks/` in JupyterLab or VS Code, and change "
        "what you like. Here they are as they come out.\n\n```{toctree}\n:maxdepth: 1\n\n"
    )
    pages = {f"{path.stem}.md": page(path, is_run) for path in every}
    return pages | {"index.md": hub + "".join(f"{path.stem}\n" for path in every) + "```\n"}
