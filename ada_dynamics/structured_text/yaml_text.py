# SPDX-License-Identifier: Apache-2.0
"""YAML and JSON parsers that return nodes with line numbers, based on the nodes of PyYAML.

Constructors of PyYAML are not used: tags are refused, depth and size are limited, and an alias is counted with all
nodes that it repeats.
"""

from __future__ import annotations

import json
from typing import Any

from ada_dynamics.errors import ModelError
from ada_dynamics.structured_text.nodes import (
    MAX_DEPTH,
    ListNode,
    MappingNode,
    Node,
    NodeCounter,
    ScalarNode,
    shortened,
)

MAX_CHARACTERS = 4 * 1024 * 1024

_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "seq", "map")}


def parse_yaml(text: str, file: str) -> Node:
    """Parse a YAML text with a single document.

    Raises:
        ModelError: the text is not valid YAML, too large, or has tags, repeated keys or several documents.
    """
    if len(text) > MAX_CHARACTERS:
        raise ModelError(f"{file}: it has {len(text)} characters; at most {MAX_CHARACTERS} are read.")
    return _parsed(text, file)


def parse_json(text: str, file: str) -> Node:
    """Parse a JSON text; JSON is a subset of YAML, except for tabs.

    Raises:
        ModelError: the text is not valid JSON, has repeated keys, or is too large or too deeply nested.
    """
    try:
        json.loads(text, parse_int=float)  # an int of many digits would take long, or be refused by Python
    except json.JSONDecodeError as problem:
        reason = problem.msg[:1].lower() + problem.msg[1:]
        raise ModelError(f"{file}, line {problem.lineno}: it is not well-formed JSON: {reason}.") from None
    except RecursionError:
        raise ModelError(f"{file}: it is nested more than {MAX_DEPTH} deep.") from None
    return _parsed(text.replace("\t", " "), file)


def _parsed(text: str, file: str) -> Node:
    import yaml

    loader, counter, documents = getattr(yaml, "CBaseLoader", yaml.BaseLoader), NodeCounter(file), 0
    try:
        for event in yaml.parse(text, Loader=loader):  # before all nodes are in memory
            counter.count(isinstance(event, yaml.NodeEvent))
            documents += isinstance(event, yaml.DocumentStartEvent)
        found = yaml.compose(text, Loader=loader) if documents == 1 else None
    except yaml.YAMLError as problem:
        reason = _reason(problem)
        if "nesting depth" in reason:  # the scanner of PyYAML has a limit, too
            reason = f"it is nested more than {MAX_DEPTH} deep"
        else:
            reason = f"it is not well-formed YAML: {reason}"
        raise ModelError(f"{file}{_place(problem)}: {reason}.") from None
    except RecursionError:
        raise ModelError(f"{file}: it is nested too deeply.") from None
    if found is None:
        many = f"it has {documents} documents" if documents else "it is empty"
        raise ModelError(f"{file}: {many}; it must have one mapping, such as loops: [...].")
    return _Converter(file).convert(found)


def _place(problem: Any) -> str:
    mark = getattr(problem, "problem_mark", None)
    return "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"


def _reason(problem: Any) -> str:
    words = " ".join(str(getattr(problem, "problem", None) or problem).split())
    context = getattr(problem, "context", None)
    return f"{context}, {words}" if context else words


class _Converter:
    """Converts nodes of PyYAML, of which aliases repeat some."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._counter = NodeCounter(file)
        self._open: set[int] = set()  # identities of the lists and mappings around a node
        self._sizes: dict[int, tuple[Node, int]] = {}  # converted nodes, and the number of nodes in them

    def convert(self, node: Any) -> Node:
        """Convert a node and those in it."""
        line = int(node.start_mark.line) + 1
        if id(node) in self._sizes:
            found, size = self._sizes[id(node)]
            self._counter.count(size)
            return found
        if node.tag not in _PLAIN_TAGS:
            raise self._refusal(line, f"it has the tag {shortened(node.tag)!r}; tags are not read: remove it.")
        if id(node) in self._open:
            raise self._refusal(line, "an alias is inside the node that it repeats.")
        if len(self._open) > MAX_DEPTH:
            raise self._refusal(line, f"it is nested more than {MAX_DEPTH} deep.")
        before = self._counter.left
        self._counter.count()
        self._open.add(id(node))
        if node.id == "scalar":
            made: Node = ScalarNode(line, node.value, bool(node.style))
        elif node.id == "sequence":
            made = ListNode(line, tuple(self.convert(item) for item in node.value))
        else:
            made = MappingNode(line, self._entries(node))
        self._open.remove(id(node))
        self._sizes[id(node)] = made, before - self._counter.left
        return made

    def _entries(self, node: Any) -> dict[str, tuple[int | None, Node]]:
        entries: dict[str, tuple[int | None, Node]] = {}
        for written, value in node.value:
            key = self.convert(written)
            if not isinstance(key, ScalarNode):
                raise self._refusal(key.line, "a key is a list or a mapping; keys must be texts.")
            if key.text in entries:
                text = f"the key {shortened(key.text)!r} is repeated (lines {entries[key.text][0]}, {key.line})"
                raise self._refusal(key.line, f"{text}: remove one.")
            entries[key.text] = key.line, self.convert(value)
        return entries

    def _refusal(self, line: int | None, message: str) -> ModelError:
        return ModelError(f"{self._file}, line {line}: {message}")
