# SPDX-License-Identifier: Apache-2.0
"""YAML and JSON parsers that return nodes with line numbers, based on the events of PyYAML.

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

_PLAIN_TAGS = {None, "!", *(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "seq", "map"))}


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

    builder = _Builder(file)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.take(event)
    except yaml.YAMLError as problem:
        reason = _reason(problem)
        if "nesting depth" in reason:  # the scanner of PyYAML has a limit, too
            reason = f"it is nested more than {MAX_DEPTH} deep"
        else:
            reason = f"it is not well-formed YAML: {reason}"
        raise ModelError(f"{file}{_place(problem)}: {reason}.") from None
    except RecursionError:
        raise ModelError(f"{file}: it is nested too deeply.") from None
    return builder.document()


def _place(problem: Any) -> str:
    mark = getattr(problem, "problem_mark", None)
    return "" if mark is None else f", line {mark.line + 1}, column {mark.column + 1}"


def _reason(problem: Any) -> str:
    words = " ".join(str(getattr(problem, "problem", None) or problem).split())
    context = getattr(problem, "context", None)
    return f"{context}, {words}" if context else words


class _Open:
    """An unfinished list or mapping."""

    def __init__(self, line: int, anchor: str | None, is_table: bool) -> None:
        self.line, self.anchor, self.is_table = line, anchor, is_table
        self.items: list[Node] = []
        self.entries: dict[str, tuple[int | None, Node]] = {}
        self.key: ScalarNode | None = None
        self.size = 1


class _Builder:
    """Builds nodes from events."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._counter = NodeCounter(file)
        self._open: list[_Open] = []
        self._documents: list[Node] = []
        self._anchors: dict[str, tuple[Node, int] | None] = {}  # None while its node is unfinished

    def take(self, event: Any) -> None:
        """Process one event."""
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._check_tag(event)
            is_text = event.style is not None and event.style != ""
            self._counter.count()
            self._add(ScalarNode(self._line(event), event.value, is_text), 1, event.anchor)
        elif kind in ("SequenceStartEvent", "MappingStartEvent"):
            self._start(event, kind == "MappingStartEvent")
        elif kind in ("SequenceEndEvent", "MappingEndEvent"):
            done = self._open.pop()
            self._counter.count()
            node = MappingNode(done.line, done.entries) if done.is_table else ListNode(done.line, tuple(done.items))
            self._add(node, done.size, done.anchor)
        elif kind == "AliasEvent":
            self._alias(event)

    def document(self) -> Node:
        """The only document."""
        if len(self._documents) != 1:
            many = f"it has {len(self._documents)} documents" if self._documents else "it is empty"
            raise ModelError(f"{self._file}: {many}; it must have one mapping, such as loops: [...].")
        return self._documents[0]

    def _line(self, event: Any) -> int:
        return int(event.start_mark.line) + 1

    def _refuse(self, event: Any, message: str) -> ModelError:
        return ModelError(f"{self._file}, line {self._line(event)}: {message}")

    def _check_tag(self, event: Any) -> None:
        if event.tag not in _PLAIN_TAGS:
            raise self._refuse(event, f"it has the tag {shortened(event.tag)!r}; tags are not read: remove it.")

    def _start(self, event: Any, is_table: bool) -> None:
        self._check_tag(event)
        if len(self._open) >= MAX_DEPTH:
            raise self._refuse(event, f"it is nested more than {MAX_DEPTH} deep.")
        if self._open and self._open[-1].is_table and self._open[-1].key is None:
            raise self._refuse(event, "a key is a list or a mapping; keys must be texts.")
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open(self._line(event), event.anchor, is_table))

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise self._refuse(event, f"the alias *{event.anchor} has no anchor &{event.anchor} before it.")
        found = self._anchors[event.anchor]
        if found is None:
            raise self._refuse(event, f"the alias *{event.anchor} is inside the node that it repeats.")
        self._counter.count(found[1])
        self._add(found[0], found[1], None)

    def _add(self, node: Node, size: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (node, size)
        if not self._open:
            self._documents.append(node)
            return
        top = self._open[-1]
        top.size += size
        if not top.is_table:
            top.items.append(node)
        elif top.key is None:
            top.key = self._as_key(node, top)
        else:
            top.entries[top.key.text] = (top.key.line, node)
            top.key = None

    def _as_key(self, node: Node, table: _Open) -> ScalarNode:
        if not isinstance(node, ScalarNode):
            raise ModelError(f"{self._file}, line {node.line}: a key is a list or a mapping; keys must be texts.")
        if node.text in table.entries:
            first = table.entries[node.text][0]
            raise ModelError(
                f"{self._file}, line {node.line}: the key {shortened(node.text)!r} is repeated (lines {first}, "
                f"{node.line}): remove one."
            )
        return node
