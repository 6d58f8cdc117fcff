# SPDX-License-Identifier: Apache-2.0
"""What the documentation takes from the code: pages made before Sphinx looks for pages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write(folder: Path, pages: Mapping[str, str]) -> None:
    """Let a folder have these pages and no others; one that is as it was is not touched, so that Sphinx skips it."""
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
