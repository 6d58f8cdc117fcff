# SPDX-License-Identifier: Apache-2.0
"""Strict reading of the entries of a mapping: every error names file, line, key, allowed values and the fix."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.errors import AdaError, ModelError
from ada_dynamics.structured_text.lexical import BadNumber, near, to_float
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode, is_empty, kind_of, shortened


def placed(file: str, line: int | None) -> str:
    """A file name, followed by the line number if it is known."""
    return file if line is None else f"{file}, line {line}"


class Fields:
    """Entries of one mapping.

    Attributes:
        where: name of the mapping for messages; "" for the whole file.
        file: its source.
        line: its first line; None if unknown.
        entries: values by key, with the lines of their keys.
    """

    ERROR: type[AdaError] = ModelError
    WHOLE = "the file"
    JOIN = "."  # between the name of a mapping and a key

    def __init__(
        self, node: Node | None, where: str, file: str, known: Sequence[str] | None = None, example: str = ""
    ) -> None:
        """Check the keys of a mapping.

        Args:
            node: the mapping; None is an empty mapping.
            where: name of the mapping for messages; "" for the whole file.
            file: its source.
            known: allowed keys; None allows any.
            example: a correct example, for messages.

        Raises:
            AdaError: `ERROR` of the class, if the node is no mapping or has an unknown key.
        """
        self.where, self.file, self.line = where, file, None if node is None else node.line
        self.entries: dict[str, tuple[int | None, Node]] = {}
        if node is None:
            return
        if not isinstance(node, MappingNode):
            raise self._refusal(node.line, f" is {kind_of(node)}, not a mapping.", example and f"Write {example}.")
        self.entries = node.entries
        for key, (line, _) in node.entries.items():
            if known is not None and key not in known:
                fix = f"{near(key, known)}Known: {', '.join(known)}."
                raise self._refusal(line, f" has no key {shortened(key)!r}.", fix, key)

    def _refusal(self, line: int | None, message: str, fix: str, key: str | None = None) -> AdaError:
        words = f"{placed(self.file, line)}: {self.where or self.WHOLE}{message} {fix}".rstrip()
        return self.ERROR(words, file=self.file, line=line, field=self.where or None, value=key)

    def full(self, key: str) -> str:
        """A key prefixed with the name of its mapping."""
        return f"{self.where}{self.JOIN}{key}" if self.where else key

    def problem(self, key: str, message: str, fix: str = "") -> AdaError:
        """An error at a key, or at the mapping if the key is missing."""
        line = self.line_of(key)
        line = self.line if line is None else line
        words = f"{placed(self.file, line)}: {self.full(key)}: {message} {fix}".rstrip()
        return self.ERROR(words, file=self.file, line=line, field=self.full(key))

    def line_of(self, key: str) -> int | None:
        """Line number of a value."""
        line, node = self.entries.get(key, (self.line, None))
        return line if node is None or node.line is None else node.line

    def has(self, key: str) -> bool:
        """Return True if the key has a value."""
        return not is_empty(self.node(key))

    def node(self, key: str) -> Node | None:
        """The node of a key; None if the key is missing."""
        return self.entries[key][1] if key in self.entries else None

    # --- values -------------------------------------------------------------------------------------------------
    def scalar(self, key: str, expected: str, fix: str = "") -> ScalarNode:
        """A required single value.

        Args:
            key: its key.
            expected: description of allowed values, for messages.
            fix: how to correct the file, for messages.
        """
        node = self.node(key)
        if node is None or is_empty(node):
            raise self.problem(key, f"it is missing; it must be {expected}.", fix)
        return self.single(key, node, expected)

    def single(self, key: str, node: Node, expected: str) -> ScalarNode:
        """A node that must be a single value.

        Args:
            key: key of the node, or of the list that contains it.
            node: the node.
            expected: description of allowed values, for messages.
        """
        if not isinstance(node, ScalarNode) or not node.text.strip():
            raise self.problem(key, f"it is {kind_of(node)}; it must be {expected}.")
        return node

    def text(self, key: str, default: str | None = None) -> str:
        """A text; unquoted numbers and words such as `on` are returned as they are written."""
        if default is not None and not self.has(key):
            return default
        return self.scalar(key, "a text").text.strip()

    def number(self, key: str, expected: str = "a number") -> float:
        """A number without a unit."""
        found = self.scalar(key, expected)
        try:
            return to_float(found.text)
        except BadNumber as reason:
            raise self.problem(key, f"{reason}; it must be {expected}.") from None

    def whole(self, key: str, default: int | None = None, least: int = 1, most: int | None = None) -> int:
        """A whole number within bounds; "9.0" is accepted, because Python data represents numbers as floats."""
        if default is not None and not self.has(key):
            return default
        expected = f"a whole number from {least} " + ("on" if most is None else f"to {most}")
        value = self.number(key, expected)
        if value != int(value) or value < least or (most is not None and value > most):
            raise self.problem(key, f"it is {value:g}; it must be {expected}.")
        return int(value)

    # --- lists --------------------------------------------------------------------------------------------------
    def items(self, key: str) -> Sequence[Node]:
        """The items of a list; empty without a value."""
        node = self.node(key)
        if node is None or is_empty(node):
            return ()
        if not isinstance(node, ListNode):
            raise self.problem(key, f"it is {kind_of(node)}; it must be a list.")
        return node.items

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(self.single(key, item, "a list of texts").text.strip() for item in self.items(key))
