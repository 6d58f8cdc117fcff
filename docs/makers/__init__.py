# SPDX-License-Identifier: Apache-2.0
"""Pages that are generated from the code before Sphinx collects its pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write(folder: Path, pages: Mapping[str, str]) -> None:
    """Write these pages and remove all others of a folder; unchanged pages keep their time (Sphinx skips them)."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
