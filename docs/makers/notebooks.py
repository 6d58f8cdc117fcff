# SPDX-License-Identifier: Apache-2.0
"""The notebooks as pages, with the outputs that `tools/run_notebooks.py` stored in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
LONGEST = 4000  # characters of text shown per output


def page(path: Path) -> str:
    """All cells of a notebook, and where to find it."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = [part for cell in cells for part in _parts(cell)]
    return "\n\n".join(parts) + f"\n\n*This page is the file `notebooks/{path.name}`.*\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    """A cell, and the outputs of code."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {})
        html = "".join(data.get("text/html", ""))
        text = "".join(output.get("text", "")) or "".join(data.get("text/plain", ""))
        if html:
            yield f"````{{raw}} html\n<div class='shown'>{html}</div>\n````"
        elif text.strip():
            yield f"```text\n{text.rstrip()[:LONGEST]}\n```"


def texts(folder: Path = FOLDER) -> dict[str, str]:
    """All pages by the name of their file, and an index."""
    every = sorted(folder.glob("*.ipynb"))
    index = (
        "# Notebooks\n\nThe tutorials as notebooks: open the folder `notebooks/` in JupyterLab or VS Code.\n\n"
        "```{toctree}\n:maxdepth: 1\n\n"
    )
    pages = {f"{path.stem}.md": page(path) for path in every}
    return pages | {"index.md": index + "".join(f"{path.stem}\n" for path in every) + "```\n"}
