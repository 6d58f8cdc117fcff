# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation as tests read them: what is fenced, and what is run of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MADE = {"_build", "reference", "gallery", "notebooks"}  # by `make docs`, from the code
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if MADE.isdisjoint(page.relative_to(ROOT / "docs").parts)),
]
NEEDS = "# needs "
"""How a block begins that needs more than the library: a package, as `# needs torch`, or what a test cannot have."""


class Block(NamedTuple):
    """What stands in a fence."""

    page: Path
    line: int
    code: str

    @property
    def packages(self) -> list[str]:
        """Those that it names as what it needs; it is run where they are installed."""
        named = re.match(rf"{NEEDS}(\w+(?:, \w+)*)\n", self.code)
        return named[1].split(", ") if named else []

    @property
    def is_run(self) -> bool:
        return all(map(find_spec, self.packages)) if self.packages else not self.code.startswith(NEEDS)


@cache
def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"(?ms)^ *```(?:{'|'.join(languages)})\n(.*?)^ *```", text)
    return [Block(page, text[: one.start()].count("\n") + 1, one[1]) for one in found]


def run(page: Path) -> dict[str, Any]:
    """Run the Python of a page from top to bottom, as somebody who pastes it; the names that are there in the end."""
    scope: dict[str, Any] = {"__name__": "page"}  # dataclasses look their module up
    for block in blocks(page, "python"):
        program = compile("\n" * block.line + block.code, str(page), "exec", dont_inherit=True)  # with the page's lines
        if block.is_run:
            exec(program, scope)
    return scope


def commands() -> Iterator[tuple[str, str]]:
    """Where each line `ada ...` of a shell's fence or of an indented block stands, and the line."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fenced = [(one.line + i + 1, line) for one in blocks(page, "console", "bash", "sh") for i, line in
                  enumerate(one.code.splitlines())]  # fmt: skip
        indented = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.startswith("    ")]
        for number, line in (*fenced, *indented):
            said = re.sub(r"^(\$ )?(\.venv/bin/)?", "", line.strip())
            if re.match(r"ada [a-z]", said):
                yield f"{page.name}:{number}", said


def mentioned() -> set[str]:
    """Commands within the sentences of the pages, as often as not without their arguments."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    return {" ".join(said.split()) for said in re.findall(r"(?<!There is no )`(ada [a-z][^`]*)`", text)}


def words(line: str) -> list[str]:
    """The words of a command after `ada`, without its comment."""
    return shlex.split(line, comments=True)[1:]
