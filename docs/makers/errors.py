# SPDX-License-Identifier: Apache-2.0
"""The page on errors: every class with what it means, and every message that the code can raise with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from makers.docstrings import markdown

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("ada_dynamics", "ada_controllers", "ada_robot", "ada_hardware", "ada_tools")


@dataclass
class ErrorClass:
    """A class of errors, as its file has it."""

    name: str
    module: str
    bases: tuple[str, ...]
    means: str
    messages: set[str] = field(default_factory=set)


def found() -> list[ErrorClass]:
    """The errors and warnings, with their messages. The code is read, not run."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in _files()}
    classes = [one for path, tree in trees.items() for one in _classes(path, tree)]
    kept = _descendants(classes)
    for path, tree in trees.items():
        package = path.relative_to(ROOT).parts[0]
        for name, message in _raised(tree):
            meant = [one for one in kept if one.name == name]
            for one in [one for one in meant if one.module.startswith(package)] or meant:
                one.messages.add(message)
    return sorted(kept, key=lambda one: (PACKAGES.index(one.module.split(".")[0]), one.module.count(".")))


def _files() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def _classes(path: Path, tree: ast.Module) -> Iterator[ErrorClass]:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            bases = tuple(ast.unparse(base).rsplit(".")[-1] for base in node.bases)
            yield ErrorClass(node.name, module, bases, ast.get_docstring(node) or "")


def _descendants(classes: list[ErrorClass]) -> list[ErrorClass]:
    """AdaError and the warnings, and what comes from them."""
    names = {"AdaError", "UserWarning", "RuntimeWarning"}
    while more := {one.name for one in classes if names.intersection(one.bases)} - names:
        names |= more
    return [one for one in classes if one.name in names]


def _raised(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names of classes and messages with which they are made, directly or as a variable assigned before."""
    texts: dict[str, list[tuple[int, ast.expr]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            texts.setdefault(node.targets[0].id, []).append((node.lineno, node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.func, (ast.Name, ast.Attribute)):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            first = node.args[0]
            if isinstance(first, ast.Name):
                before = [one for one in texts.get(first.id, ()) if one[0] < node.lineno]
                first = max(before, key=lambda one: one[0])[1] if before else first
            if name[:1].isupper() and (message := _template(first)) is not None:
                yield name, message


def _template(node: ast.expr) -> str | None:
    """A text, with what is filled in in braces; None if it is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_piece(part) for part in node.values)
    return None


def _piece(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    assert isinstance(part, ast.FormattedValue)
    said = ast.unparse(part.value)
    return "{" + (said if said.replace(".", "").replace("_", "").isalnum() else "...") + "}"


def text() -> str:
    """The page."""
    page = (
        "# Error messages\n\n"
        "Every error comes from `ada.AdaError` and says what is wrong, where (file, line, link, joint, field), what is "
        "allowed, and the fix. Warnings do the same. Catch the class; search this page for the words of a message. "
        "What a message fills in stands in {braces}.\n"
    )
    for one in found():
        bases = ", ".join(f"`{base}`" for base in one.bases)
        page += f"\n## {one.name}\n\n{markdown(one.means)}\n\n`{one.module}`, a kind of {bases}.\n"
        if one.messages:
            rows = "\n".join(f"- `{' '.join(said.replace('`', chr(39)).split())}`" for said in sorted(one.messages))
            page += f"\n:::{{dropdown}} Its messages ({len(one.messages)})\n\nWhat it says:\n\n{rows}\n:::\n"
    return page
