# SPDX-License-Identifier: Apache-2.0
"""One mapping of an angle map's file, read strictly: every mistake says file, line, key, what is allowed."""

from __future__ import annotations

from collections.abc import Sequence

from ada_dynamics.robots.readers.loops.nodes import Listing, Node, Scalar, Table, kind_of, shortened
from ada_dynamics.robots.readers.spelling import near
from ada_dynamics.robots.readers.values import BadNumber, to_float
from ada_hardware.kondo.errors import MotionError


class MapEntry:
    """A mapping with known keys only."""

    def __init__(self, node: Node, name: str, file: str, known: Sequence[str]) -> None:
        """Take a mapping.

        Args:
            node: what is there.
            name: how messages call it.
            file: its source.
            known: the keys that it may have.

        Raises:
            MotionError: it is no mapping, or has another key.
        """
        self._name, self._file, self._line = name, file, node.line
        if not isinstance(node, Table):
            raise MotionError(f"{self._place(node.line)}: {name} is {kind_of(node)}, not a mapping.")
        self._entries = node.entries
        for key, (line, _) in node.entries.items():
            if key not in known:
                raise MotionError(
                    f"{self._place(line)}: {name} has no key {shortened(key)!r}. {near(key, known)}"
                    f"Known: {', '.join(known)}."
                )

    def problem(self, key: str, message: str) -> MotionError:
        """An error at a key, or, where it is missing, at the mapping."""
        line, node = self._entries.get(key, (self._line, None))
        return MotionError(f"{self._place((node and node.line) or line)}: {self._name}.{key}: {message}")

    def number(self, key: str) -> float:
        """A plain number."""
        found = self._scalar(key, "a plain number")
        try:
            return to_float(found.text)
        except BadNumber as reason:
            raise self.problem(key, f"{reason}; it must be a plain number.") from None

    def whole(self, key: str, least: int, most: int) -> int:
        """A whole number within bounds."""
        value = self.number(key)
        if value != int(value) or not least <= value <= most:
            raise self.problem(key, f"it is {value:g}; it must be a whole number from {least} to {most}.")
        return int(value)

    def text(self, key: str) -> str:
        """A text that is not empty."""
        return self._scalar(key, "a text").text.strip()

    def items(self, key: str) -> Sequence[Node]:
        """The items of a list; none where it is missing."""
        if key not in self._entries or kind_of(self._entries[key][1]) == "empty":
            return ()
        node = self._entries[key][1]
        if not isinstance(node, Listing):
            raise self.problem(key, f"it is {kind_of(node)}; it must be a list.")
        return node.items

    def _scalar(self, key: str, wanted: str) -> Scalar:
        node = self._entries[key][1] if key in self._entries else None
        if node is None or kind_of(node) == "empty":
            raise self.problem(key, f"it is missing; it must be {wanted}.")
        if not isinstance(node, Scalar) or not node.text.strip():
            raise self.problem(key, f"it is {kind_of(node)}; it must be {wanted}.")
        return node

    def _place(self, line: int | None) -> str:
        return self._file if line is None else f"{self._file}, line {line}"
