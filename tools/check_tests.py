# SPDX-License-Identifier: Apache-2.0
"""python tools/check_tests.py [PATH ...]: tests use public names only, do not sleep, and check errors by attributes.

Rules, each with file and line:
  private      x._name (self, cls, os and sys excepted), `from ada_... import _name`
  constructor  object.__new__, __dict__
  patch        monkeypatch.setattr, setitem or delattr, or an assignment, on anything of this project
  sleep        time.sleep outside of test/support/waiting.py
  sentence     match= outside of test_messages.py (one file per folder)
  import       subprocess, socket, pty, multiprocessing, rclpy, selenium or asyncio imported by a file in test/unit
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OWN = ("ada_", "benchmarks", "trials")
FIELDS = {"_replace", "_asdict", "_fields", "_make"}  # public methods of a named tuple
UNIT_FORBIDS = {"subprocess", "socket", "pty", "multiprocessing", "rclpy", "selenium", "asyncio"}
WAITING = ROOT / "test/support/waiting.py"
GUARD = ROOT / "test/unit/conftest.py"  # replaces functions of the standard library


def main(paths: list[str]) -> int:
    """Print each use that a rule forbids in some paths, or in all tests; 1 if there is one."""
    found = [
        f"{file.relative_to(ROOT)}:{line}: {rule}: {text}"
        for file in files([Path(path).resolve() for path in paths] or [ROOT / "test"])
        for line, rule, text in violations(file)
    ]
    for use in found:
        print(use)
    return int(bool(found))


def files(paths: list[Path]) -> Iterator[Path]:
    """Python files below some paths."""
    for path in paths:
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def violations(file: Path) -> Iterator[tuple[int, str, str]]:
    """Line, rule and source text of each violation in a file."""
    if file == GUARD:
        return
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    checker = Checker(file)
    checker.visit(ast.parse(text))
    for line, rule in sorted(checker.found):
        yield line, rule, lines[line - 1].strip()


class Checker(ast.NodeVisitor):
    """Collects (line, rule) of one file."""

    def __init__(self, file: Path) -> None:
        self.file, self.found = file, set[tuple[int, str]]()
        self.is_unit = "unit" in file.relative_to(ROOT).parts
        self.origin: dict[str, str] = {}  # name in this file -> module it was imported from

    def visit_Import(self, node: ast.Import) -> None:
        """Remember modules by their names here."""
        for one in node.names:
            self._imported(node, one.asname or one.name.split(".")[0], one.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Remember names, and refuse private ones."""
        for one in node.names:
            self._imported(node, one.asname or one.name, node.module or "")
            if _is_private(one.name):
                self._add(node, "private")

    def _imported(self, node: ast.stmt, name: str, module: str) -> None:
        self.origin[name] = module
        if self.is_unit and module.split(".")[0] in UNIT_FORBIDS:
            self._add(node, "import")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Private names, constructors avoided, sleeps."""
        base = node.value.id if isinstance(node.value, ast.Name) else ""
        if _is_private(node.attr) and base not in ("self", "cls", "os", "sys") and not _is_super(node.value):
            self._add(node, "private")
        if node.attr in ("__new__", "__dict__") and not _is_super(node.value):
            self._add(node, "constructor")
        if node.attr == "sleep" and base == "time" and self.file != WAITING:
            self._add(node, "sleep")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Patches of the project, and sentences."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("setattr", "delattr", "setitem", "delitem"):
            target = node.args[0] if node.args else None
            if target is not None and not self._is_foreign(target):
                self._add(node, "patch")
        if any(one.arg == "match" for one in node.keywords) and self.file.name != "test_messages.py":
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if name in ("raises", "warns"):
                self._add(node, "sentence")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Assignments to attributes of the project's modules and classes."""
        for target in node.targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                is_own = self.origin.get(target.value.id, "").startswith(OWN)
                self.found |= {(node.lineno, "patch")} if is_own else set()
        self.generic_visit(node)

    def _is_foreign(self, target: ast.expr) -> bool:
        """Return True if the patched object belongs to the standard library or to another package."""
        if isinstance(target, ast.Constant) and isinstance(target.value, str):
            return not target.value.startswith(OWN)
        while isinstance(target, ast.Attribute):
            target = target.value
        if not isinstance(target, ast.Name) or target.id not in self.origin:
            return False
        return not self.origin[target.id].startswith(OWN)

    def _add(self, node: ast.AST, rule: str) -> None:
        self.found.add((node.lineno, rule))  # type: ignore[attr-defined]


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_" and name not in FIELDS


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
