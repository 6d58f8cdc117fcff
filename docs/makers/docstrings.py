# SPDX-License-Identifier: Apache-2.0
"""Entries of the reference pages as MyST text, from signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Iterator
from functools import cached_property
from typing import Any

_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):$")
_ITEM = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*)(?: \([^)]*\))?: +(.*)$")
_FIELD = re.compile(r'''^    (\w+): [^#\n]*(?:  # (.*))?\n(?:    """(.*)"""\n)?''', re.MULTILINE)
_LITERAL = re.compile(r"""[-+\w.,()\[\] '"]+""")
LARGE = 8  # members from which a class gets a summary table
_FIELDS = {"Args": "param", "Attributes": "ivar", "Raises": "raises"}


def entry(name: str, value: Any, module: str, depth: int = 0) -> str:
    """A class with its public members, a function or a constant, as directives of Sphinx's Python domain."""
    if inspect.isclass(value):
        body = _text_of_class(value) + "\n\n" + _summary(name, value, module)
        members = "\n".join(_member(*one) for one in members_of(value))
        return _directive("class", name, _signature_of_class(value), module, body + "\n" + members, 1)
    if callable(value) and typing.get_origin(value) is None:
        return _directive("function", name, signature(value), module, text(value), depth)
    return _directive("data", name, "", module, _says(value), depth)


def written(tree: ast.Module, module: str) -> str:
    """The public functions and classes of a module that is read, not imported: what it needs may not be installed."""
    return "\n".join(
        _written(node, module, 1)
        for node in tree.body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")
    )


def _written(node: ast.stmt, module: str, depth: int) -> str:
    if isinstance(node, ast.ClassDef):
        public = [one for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
        members = "\n".join(_written(one, "", 0) for one in public)
        return _directive("class", node.name, "", module, markdown(ast.get_docstring(node) or "") + "\n\n" + members, 1)
    assert isinstance(node, ast.FunctionDef)
    node.args.args = [one for one in node.args.args if one.arg not in ("self", "cls")]
    shown = f"({ast.unparse(node.args)})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
    kind = "function" if depth else "method"
    return _directive(kind, node.name, shown, module, markdown(ast.get_docstring(node) or ""), depth)


def members_of(cls: type[Any]) -> Iterator[tuple[str, Any, type[Any]]]:
    """The public methods and properties of a class with the class that has them, those of its own bases included."""
    seen = set()
    for owner in cls.__mro__:
        if not owner.__module__.startswith("ada_"):
            continue
        for name, value in vars(owner).items():
            if not name.startswith("_") and name not in seen and _is_member(value):
                seen.add(name)
                yield name, value, owner


def _is_member(value: Any) -> bool:
    is_method = callable(value) or isinstance(value, (classmethod, staticmethod))
    told = getattr(value, "__doc__", None) or ""
    return bool(told) and not told.startswith("Alias for field") and (is_method or hasattr(type(value), "__get__"))


def _summary(name: str, cls: type[Any], module: str) -> str:
    """A table of the members of a large class: name, and the first sentence of its docstring."""
    rows = []
    for member, value, owner in members_of(cls):
        role = "meth" if inspect.isroutine(getattr(owner, member)) else "attr"
        first = re.split(r"(?<=\.)\s|\n\n", inspect.getdoc(value) or "", maxsplit=1)[0]
        words = _escaped(" ".join(first.split())).replace("|", "\\|")
        rows.append(f"| {{py:{role}}}`{member} <{module}.{name}.{member}>` | {words} |")
    return "\n".join(["| member | summary |", "|---|---|", *rows, ""]) if len(rows) >= LARGE else ""


def _member(name: str, value: Any, owner: type[Any]) -> str:
    call = getattr(owner, name)  # methods that are compiled are found by their descriptor
    if isinstance(value, (property, cached_property)) or not inspect.isroutine(call):
        getter = getattr(value, "fget", None) or getattr(value, "func", None)
        kind = annotation(getattr(getter, "__annotations__", {}).get("return", ""))
        return _directive("property", name, f"\n:type: {kind}" if kind else "", "", text(value), 0)
    options = "".join(f"\n:{kind.__name__}:" for kind in (classmethod, staticmethod) if isinstance(value, kind))
    return _directive("method", name, signature(call) + options, "", text(value), 0)


def _directive(kind: str, name: str, shown: str, module: str, body: str, depth: int) -> str:
    fence = ":" * (4 + depth)
    where = f"\n:module: {module}" if module else ""
    return f"{fence}{{py:{kind}}} {name}{shown}{where}\n\n{body.strip()}\n{fence}\n"


# --- signatures ---------------------------------------------------------------------------------------------------
def signature(call: Any) -> str:
    """Arguments with types and defaults, and what comes back."""
    try:
        found = inspect.signature(call)
    except (TypeError, ValueError):
        return "()"
    parameters = [one for one in found.parameters.values() if one.name not in ("self", "cls")]
    back = annotation(found.return_annotation)
    return f"({_joined(parameters)})" + (f" -> {back}" if back else "")


def _signature_of_class(cls: type[Any]) -> str:
    if issubclass(cls, BaseException) or not hasattr(cls, "__init__"):
        return ""
    return re.sub(r" -> .*$", "", signature(cls))


def _joined(parameters: list[inspect.Parameter]) -> str:
    shown: list[str] = []
    kinds = inspect.Parameter
    for one in parameters:
        if one.kind == kinds.KEYWORD_ONLY and not any(word.startswith("*") for word in shown):
            shown.append("*")
        stars = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(one.kind, "")
        kind = annotation(one.annotation)
        shown.append(stars + one.name + (f": {kind}" if kind else "") + _default(one))
    return ", ".join(shown)


def _default(one: inspect.Parameter) -> str:
    if one.default is inspect.Parameter.empty:
        return ""
    said = repr(one.default)
    # What has no literal stands as dots: an object's address says nothing.
    return " = " + (said if _LITERAL.fullmatch(said) else "...")


def annotation(kind: Any) -> str:
    """A type as one writes it."""
    if kind in (inspect.Signature.empty, "", None):
        return "" if kind is not None else "None"
    if isinstance(kind, typing.ForwardRef):
        return kind.__forward_arg__
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


# --- docstrings ---------------------------------------------------------------------------------------------------
def text(value: Any) -> str:
    """A docstring as MyST: its sections become fields, its indented lines code."""
    return markdown(inspect.getdoc(value) or "")


def _text_of_class(cls: type[Any]) -> str:
    own = inspect.cleandoc(cls.__doc__ or "")
    if own.startswith(f"{cls.__name__}("):  # the one that dataclasses and named tuples make
        own = ""
    made = vars(cls).get("__init__")
    fields = "" if "Attributes:" in own else "\n".join(f":ivar {name}: {words}" for name, words in _fields_of(cls))
    return markdown(own + "\n\n" + inspect.cleandoc(getattr(made, "__doc__", None) or "")) + "\n\n" + fields


def _fields_of(cls: type[Any]) -> Iterator[tuple[str, str]]:
    """Comments and docstrings of the fields of a class, such as units."""
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):
        return
    for name, beside, below in _FIELD.findall(source):
        if (beside or below) and not name.startswith("_"):
            yield name, _escaped(beside or below)


def _says(value: Any) -> str:
    if inspect.ismodule(value):
        return text(value)
    if typing.get_origin(value) is not None:
        return "One of " + ", ".join(f"`{getattr(one, '__name__', repr(one))}`" for one in typing.get_args(value)) + "."
    if isinstance(value, (dict, tuple, list, frozenset, set)) or hasattr(value, "keys"):
        return ", ".join(f"`{one}`" for one in value)
    return f"`{value!r}`" if isinstance(value, (str, int, float)) else ""


def markdown(docstring: str) -> str:
    """Google's sections as MyST's field lists; indented blocks as Python."""
    parts: list[str] = []
    for block in _blocks(docstring.splitlines()):
        head = _SECTION.match(block[0])
        if head:
            parts.append(_fields(head[1], textwrap.dedent("\n".join(block[1:])).splitlines()))
        elif block[0].startswith("    "):
            parts.append("```python\n" + textwrap.dedent("\n".join(block)).rstrip() + "\n```")
        else:
            parts.append(_escaped("\n".join(block)))
    return "\n\n".join(part for part in parts if part.strip())


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Paragraphs, indented blocks and sections, each by itself."""
    at = 0
    while at < len(lines):
        if not lines[at].strip() or lines[at] in ("Example::", "Examples::"):
            at += 1
            continue
        end = at + 1
        is_deep = lines[at].startswith("    ") or bool(_SECTION.match(lines[at]))
        while end < len(lines):
            if is_deep and lines[end].strip() and not lines[end].startswith(" "):
                break
            if not is_deep and (not lines[end].strip() or _SECTION.match(lines[end])):
                break
            end += 1
        yield lines[at:end]
        at = end


def _fields(section: str, lines: list[str]) -> str:
    if section not in _FIELDS:
        return f":returns: {_escaped(' '.join(line.strip() for line in lines))}"
    shown: list[str] = []
    for line in lines:
        item = None if line.startswith(" ") else _ITEM.match(line)
        if item:
            shown.append(f":{_FIELDS[section]} {item[1]}: {_escaped(item[2])}")
        elif shown:
            shown[-1] += " " + _escaped(line.strip())
    return "\n".join(shown)


def _escaped(words: str) -> str:
    """Text in which < is no tag of HTML, and * and $ no mark, outside of `code`."""
    pieces = words.split("`")
    return "`".join(piece if i % 2 else re.sub(r"([<*$\[\]])", r"\\\1", piece) for i, piece in enumerate(pieces))
