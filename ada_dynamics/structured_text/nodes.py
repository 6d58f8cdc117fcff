# SPDX-License-Identifier: Apache-2.0
"""Common representation of YAML, JSON and Python data: scalars, lists and mappings with line numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ada_dynamics.errors import InputError, ModelError

MAX_DEPTH = 40  # of nested lists and mappings; robots and scenarios need five
MAX_NODES = 400_000  # a hundred thousand numbers are ten thousand loops


@dataclass(frozen=True)
class Node:
    """A value and its line number; None for Python objects."""

    line: int | None


@dataclass(frozen=True)
class ScalarNode(Node):
    """A single value in its textual form; `is_text` if it is quoted, and therefore not a number."""

    text: str
    is_text: bool


@dataclass(frozen=True)
class ListNode(Node):
    """Values in order."""

    items: tuple[Node, ...]


@dataclass(frozen=True)
class MappingNode(Node):
    """Values by key, with line numbers of the keys."""

    entries: dict[str, tuple[int | None, Node]]


def kind_of(node: Node) -> str:
    """Description of a node for messages."""
    if isinstance(node, ListNode):
        return f"a list of {len(node.items)}"
    if isinstance(node, MappingNode):
        return f"a mapping with {', '.join(list(node.entries)[:6]) or 'no keys'}"
    if is_empty(node):
        return "empty"
    return repr(shortened(getattr(node, "text", "")))


def is_empty(node: Node | None) -> bool:
    """Return True if a value is missing, empty or null."""
    return node is None or (
        isinstance(node, ScalarNode) and not node.is_text and node.text.strip() in {"", "~", "null"}
    )


def shortened(text: str) -> str:
    """A text truncated for messages."""
    return text if len(text) <= 60 else text[:57] + "..."


class NodeCounter:
    """Limit on the number of nodes, so that no input exhausts memory."""

    def __init__(self, where: str) -> None:
        """Initialize with the name of the source, for messages."""
        self._where, self.left = where, MAX_NODES

    def count(self, amount: int = 1) -> None:
        """Count further nodes.

        Raises:
            ModelError: the limit is exceeded.
        """
        self.left -= amount
        if self.left < 0:
            raise ModelError(
                f"{self._where}: more than {MAX_NODES} values; values repeated by an alias are counted each time."
            )


def from_object(value: object, where: str) -> Node:
    """Convert Python dicts, lists, numbers and strings (also of numpy) to nodes.

    Raises:
        InputError: another type occurs, or the nesting is too deep.
    """
    return _converted(value, where, 0, NodeCounter(where))


def _converted(value: object, where: str, depth: int, counter: NodeCounter) -> Node:
    counter.count()
    if depth > MAX_DEPTH:
        raise InputError(f"{where}: it is nested more than {MAX_DEPTH} deep.")
    if isinstance(value, str):
        return ScalarNode(None, value, True)
    if value is None:
        return ScalarNode(None, "", False)
    if isinstance(value, bool | np.bool_):
        return ScalarNode(None, "true" if value else "false", False)
    if isinstance(value, int | float | np.integer | np.floating):
        return ScalarNode(None, repr(float(value)), False)
    if isinstance(value, Mapping):
        return MappingNode(None, _converted_entries(value, where, depth, counter))
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return ListNode(None, tuple(_converted(item, where, depth + 1, counter) for item in value))
    raise InputError(f"{where}: {value!r} is neither a text, a number, a list nor a dict.")


def _converted_entries(
    value: Mapping[object, object], where: str, depth: int, counter: NodeCounter
) -> dict[str, tuple[int | None, Node]]:
    entries: dict[str, tuple[int | None, Node]] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise InputError(f"{where}: the key {key!r} is not a text.")
        entries[key] = (None, _converted(item, where, depth + 1, counter))
    return entries
