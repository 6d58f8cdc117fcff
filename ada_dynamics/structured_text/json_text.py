# SPDX-License-Identifier: Apache-2.0
"""JSON parser that returns nodes with line numbers."""

from __future__ import annotations

import re
from bisect import bisect_right
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]

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

_SPACE = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[-+.\w]+")


def parse_json(text: str, file: str) -> Node:
    """Parse a JSON text.

    Raises:
        ModelError: the text is not valid JSON, has repeated keys, or is too large or too deeply nested.
    """
    return _Parser(text, file).parse()


class _Parser:
    """Recursive-descent parser of one text."""

    def __init__(self, text: str, file: str) -> None:
        self._text, self._file = text, file
        self._ends = [match.end() for match in re.finditer("\n", text)]
        self._counter = NodeCounter(file)
        self._at = 0

    def parse(self) -> Node:
        node = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._error("unexpected text after the end of the value")
        return node

    def _line(self, at: int) -> int:
        return bisect_right(self._ends, at) + 1

    def _error(self, reason: str) -> ModelError:
        return ModelError(f"{self._file}, line {self._line(self._at)}: it is not well-formed JSON: {reason}.")

    def _skip(self) -> str:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at : self._at + 1]

    def _value(self, depth: int) -> Node:
        self._counter.count()
        if depth > MAX_DEPTH:
            raise self._error(f"it is nested more than {MAX_DEPTH} deep")
        sign = self._skip()
        line = self._line(self._at)
        if sign == "{":
            return MappingNode(line, self._entries(depth))
        if sign == "[":
            return ListNode(line, self._items(depth))
        if sign == '"':
            return ScalarNode(line, self._string(), True)
        match = _WORD.match(self._text, self._at)
        if match is None:
            raise self._error(f"a value is expected, not {sign!r}" if sign else "the text ends too early")
        self._at = match.end()
        return ScalarNode(line, match.group(), False)

    def _string(self) -> str:
        try:
            value, self._at = scanstring(self._text, self._at + 1, True)
        except JSONDecodeError as problem:
            raise self._error(problem.msg[:1].lower() + problem.msg[1:]) from None
        return str(value)

    def _items(self, depth: int) -> tuple[Node, ...]:
        items: list[Node] = []
        self._at += 1
        if self._skip() == "]":
            self._at += 1
            return ()
        while True:
            items.append(self._value(depth + 1))
            if self._separator("]"):
                return tuple(items)

    def _entries(self, depth: int) -> dict[str, tuple[int | None, Node]]:
        entries: dict[str, tuple[int | None, Node]] = {}
        self._at += 1
        if self._skip() == "}":
            self._at += 1
            return entries
        while True:
            if self._skip() != '"':
                raise self._error('a key in "quotation marks" is expected')
            line = self._line(self._at)
            key = self._string()
            if key in entries:
                raise self._error(f"the key {shortened(key)!r} is repeated (lines {entries[key][0]}, {line})")
            if self._skip() != ":":
                raise self._error(f"a colon is expected after the key {shortened(key)!r}")
            self._at += 1
            entries[key] = (line, self._value(depth + 1))
            if self._separator("}"):
                return entries

    def _separator(self, end: str) -> bool:
        """Consume a comma or the closing bracket; return True for the closing bracket."""
        sign = self._skip()
        if sign not in (",", end) or not sign:
            raise self._error(f"a comma or {end!r} is expected" + (f", not {sign!r}" if sign else ""))
        self._at += 1
        return sign == end
