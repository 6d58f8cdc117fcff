# SPDX-License-Identifier: Apache-2.0
"""The entries of a mapping in a file of loops: names, vectors, lists of names."""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.model.problems import Problem
from ada_dynamics.structured_text.fields import Fields
from ada_dynamics.structured_text.lexical import BadNumber, to_float
from ada_dynamics.structured_text.nodes import ListNode, Node, ScalarNode, kind_of, shortened


def refuse(file: str, line: int | None, where: str, message: str, fix: str = "") -> ModelError:
    """An error in the one form that all of them have."""
    return ModelError(Problem("loops", line, where, message, fix).text(file))


class LoopFields(Fields):
    """One mapping. A key without a value is a mistake here: what it says of loops would go lost."""

    JOIN = ", "

    def has(self, key: str) -> bool:
        """True if the key is there."""
        return key in self.entries

    def needed(self, key: str, example: str) -> Node:
        """A value, which must be there."""
        node = self.node(key)
        if node is None:
            raise self.problem(key, "it is missing.", f"Add {example}.")
        return node

    def name(self, key: str, example: str) -> str:
        """A name, which must be there."""
        return self.single(key, self.needed(key, f"{key}: {example}"), "a name").text

    def names(self, key: str) -> list[tuple[str, int | None]]:
        """A list of names with their lines."""
        listing = self.needed(key, f"{key}: [...]")
        if not isinstance(listing, ListNode):
            raise self.problem(key, f"it is {kind_of(listing)} and not a list of names.", f"Write {key}: [a, b].")
        return [(self.single(key, item, "a name").text, item.line) for item in listing.items]

    def vector(self, key: str) -> Array | None:
        """Three numbers, if they are there."""
        node = self.node(key)
        if node is None:
            return None
        allowed = "Allowed: a list of 3 finite numbers, such as [0, 0, 1]."
        if not isinstance(node, ListNode) or len(node.items) != 3:
            raise self.problem(key, f"it is {kind_of(node)} and not 3 numbers.", allowed)
        return np.array([self._entry(item, key, allowed) for item in node.items])

    def _entry(self, item: Node, key: str, allowed: str) -> float:
        try:
            if not isinstance(item, ScalarNode):
                raise BadNumber(f"there is {kind_of(item)}")
            if item.is_text:
                raise BadNumber(f"{shortened(item.text)!r} is a text and not a number")
            return to_float(item.text)
        except BadNumber as reason:
            raise self.problem(key, f"{reason}.", allowed) from None

    def number(self, key: str, wanted: str = "a finite number") -> float:
        """A number that must be there."""
        return self._entry(self.needed(key, f"{key}: 1.0"), key, f"Allowed: {wanted}.")
