# SPDX-License-Identifier: Apache-2.0
"""Named fields of a mapping, checked: texts, vectors, lists; every mistake says file, line and field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.robots.readers.loops.nodes import Listing, Node, Scalar, Table, kind_of, shortened
from ada_dynamics.robots.readers.problems import Problem
from ada_dynamics.robots.readers.spelling import near
from ada_dynamics.robots.readers.values import BadNumber, to_float


def refuse(file: str, line: int | None, where: str, message: str, fix: str = "") -> ModelError:
    """An error in the one form that all of them have."""
    return ModelError(Problem("loops", line, where, message, fix).text(file))


class Fields:
    """Reads the entries of one mapping."""

    def __init__(self, node: Node, where: str, file: str, known: Sequence[str], example: str) -> None:
        """A mapping with none but known keys.

        Args:
            node: what is there.
            where: what it describes, for messages.
            file: its source, for messages.
            known: keys that are allowed.
            example: how it should look.
        """
        self.where, self.file, self.line = where, file, node.line
        if not isinstance(node, Table):
            raise refuse(file, node.line, where, f"it is {kind_of(node)} and not a mapping.", f"Write {example}.")
        self._entries = node.entries
        for key, (line, _) in node.entries.items():
            if key not in known:
                hint = near(key, known)
                message = f"it has no field {shortened(key)!r}."
                raise refuse(file, line, where, message, f"{hint}Known: {', '.join(known)}.")

    def problem(self, key: str, message: str, fix: str = "") -> ModelError:
        """An error at a field."""
        line, node = self._entries.get(key, (None, None))
        at = node.line if node is not None and node.line is not None else line
        return refuse(self.file, self.line if at is None else at, f"{self.where}, {key}", message, fix)

    def has(self, key: str) -> bool:
        """Whether the field is there."""
        return key in self._entries

    def node(self, key: str) -> Node | None:
        """The field as it is, if it is there."""
        return self._entries[key][1] if key in self._entries else None

    def needed(self, key: str, example: str) -> Node:
        """The field, which must be there."""
        node = self.node(key)
        if node is None:
            raise self.problem(key, "it is missing.", f"Add {example}.")
        return node

    def text(self, key: str, example: str) -> str:
        """A text that must be there."""
        return self.as_text(self.needed(key, f"{key}: {example}"), key)

    def as_text(self, node: Node, key: str) -> str:
        """A node that must be a text; numbers and words such as `on` are taken as they are written."""
        if not isinstance(node, Scalar) or not node.text.strip():
            raise self.problem(key, f"it is {kind_of(node)}; it must be a name.")
        return node.text

    def line_of(self, key: str) -> int | None:
        """Line of a field."""
        line, node = self._entries.get(key, (self.line, None))
        return node.line if node is not None else line

    def vector(self, key: str, size: int = 3) -> Array | None:
        """Numbers, if they are there."""
        node = self.node(key)
        if node is None:
            return None
        allowed = f"Allowed: a list of {size} finite numbers, such as [{', '.join('0' * (size - 1))}, 1]."
        if not isinstance(node, Listing) or len(node.items) != size:
            raise self.problem(key, f"it is {kind_of(node)} and not {size} numbers.", allowed)
        return np.array([self._number(item, key, allowed) for item in node.items])

    def _number(self, item: Node, key: str, allowed: str) -> float:
        try:
            if not isinstance(item, Scalar):
                raise BadNumber(f"there is {kind_of(item)}")
            if item.is_text:
                raise BadNumber(f"{shortened(item.text)!r} is a text and not a number")
            return to_float(item.text)
        except BadNumber as reason:
            raise self.problem(key, f"{reason}.", allowed) from None

    def number(self, key: str) -> float:
        """A number that must be there."""
        return self._number(self.needed(key, f"{key}: 1.0"), key, "Allowed: a finite number.")

    def texts(self, key: str, node: Node | None = None) -> list[tuple[str, int | None]]:
        """A list of names with their lines."""
        listing = self.needed(key, f"{key}: [...]") if node is None else node
        if not isinstance(listing, Listing):
            raise self.problem(key, f"it is {kind_of(listing)} and not a list of names.", f"Write {key}: [a, b].")
        return [(self.as_text(item, key), item.line) for item in listing.items]
