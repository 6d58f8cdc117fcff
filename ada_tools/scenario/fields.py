# SPDX-License-Identifier: Apache-2.0
"""Keys of a scenario's mappings, read strictly: every mistake says file, line, key, what is allowed and the fix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ada_dynamics.errors import InputError
from ada_dynamics.robots.readers.loops.nodes import Listing, Node, Scalar, Table, kind_of, shortened
from ada_dynamics.robots.readers.spelling import near
from ada_dynamics.robots.readers.values import BadNumber, to_float
from ada_tools.scenario.units import BadValue, Dimension, to_si

_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")


class ScenarioError(InputError):
    """A scenario is unusable; the message names its file, the line and the key."""


def is_empty(node: Node | None) -> bool:
    """Whether a value is missing, or written as nothing or null."""
    return node is None or (isinstance(node, Scalar) and not node.is_text and node.text.strip() in {"", "~", "null"})


def plain(node: Node) -> Any:
    """A value as Python has it: numbers, texts, True, False, None, lists, dicts."""
    if isinstance(node, Table):
        return {key: plain(value) for key, (_, value) in node.entries.items()}
    if isinstance(node, Listing):
        return [plain(item) for item in node.items]
    assert isinstance(node, Scalar)
    if node.is_text:
        return node.text
    if is_empty(node):
        return None
    if node.text.lower() in {"true", "false"}:
        return node.text.lower() == "true"
    try:
        return int(node.text)
    except ValueError:
        pass
    try:
        return to_float(node.text)
    except BadNumber:
        return node.text


class Part:
    """One mapping of a scenario."""

    def __init__(self, node: Node | None, path: str, file: str, known: Sequence[str] | None) -> None:
        """A mapping with none but known keys.

        Args:
            node: what is there; nothing counts as a mapping without keys.
            path: the keys that lead to it, such as "simulation"; "" for the whole scenario.
            file: its source, for messages.
            known: keys that are allowed; None for any.
        """
        self.path, self.file = path, file
        self.line = None if node is None else node.line
        self.entries: dict[str, tuple[int | None, Node]] = {}
        if is_empty(node):
            return
        if not isinstance(node, Table):
            assert node is not None
            raise ScenarioError(
                f"{self._place(node.line)}: {path or 'the scenario'} is {kind_of(node)}, not a mapping."
            )
        self.entries = node.entries
        for key, (line, _) in node.entries.items():
            if known is not None and key not in known:
                where = f"{path} has" if path else "a scenario has"
                raise ScenarioError(
                    f"{self._place(line)}: {where} no key {shortened(key)!r}. {near(key, known)}"
                    f"Known: {', '.join(known)}."
                )

    def _place(self, line: int | None) -> str:
        return self.file if line is None else f"{self.file}, line {line}"

    def full(self, key: str) -> str:
        """The keys that lead to an entry, with dots."""
        return f"{self.path}.{key}" if self.path else key

    def problem(self, key: str, message: str) -> ScenarioError:
        """An error at a key, or, where it is missing, at the mapping."""
        line, node = self.entries.get(key, (self.line, None))
        at = node.line if node is not None and node.line is not None else line
        return ScenarioError(f"{self._place(at)}: {self.full(key)}: {message}")

    def has(self, key: str) -> bool:
        """Whether there is a value."""
        return not is_empty(self.node(key))

    def node(self, key: str) -> Node | None:
        """The value as it was read."""
        return self.entries[key][1] if key in self.entries else None

    def keys(self) -> list[str]:
        """The keys that are there."""
        return list(self.entries)

    # --- values -------------------------------------------------------------------------------------------------
    def text(self, key: str, default: str | None = None) -> str:
        """A text; an error where there is neither one nor a default."""
        node = self.node(key)
        if is_empty(node):
            if default is None:
                raise self.problem(key, "it is missing.")
            return default
        if not isinstance(node, Scalar) or not node.text.strip():
            raise self.problem(key, f"it is {kind_of(node)}; it must be a text." if node else "it is missing.")
        return node.text.strip()

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """One of some words."""
        found = self.text(key, default)
        if found not in allowed:
            hint = near(found, allowed)
            raise self.problem(key, f"{shortened(found)!r} is not possible. {hint}Allowed: {', '.join(allowed)}.")
        return found

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        word = self.text(key, _YES[0] if default else _NO[0]).lower()
        if word not in (*_YES, *_NO):
            raise self.problem(key, f"{shortened(word)!r} is not possible. Allowed: true, false.")
        return word in _YES

    def quantity(self, key: str, wanted: Dimension, default: float | None = None) -> float:
        """A number with a unit."""
        node = self.node(key)
        if is_empty(node):
            if default is None:
                raise self.problem(key, f"it is missing; it must be {wanted}.")
            return default
        return self._value(key, node, wanted)

    def positive(self, key: str, wanted: Dimension, default: float | None = None) -> float:
        """A number above zero with a unit."""
        value = self.quantity(key, wanted, default)
        if not value > 0.0:
            raise self.problem(key, f"it is {value:g}; it must be {wanted} greater than 0.")
        return value

    def whole(self, key: str, default: int, least: int = 1) -> int:
        """A whole number."""
        text = self.text(key, str(default))
        try:
            value = to_float(text)  # "9.0", too: Python data has its numbers as floats
        except BadNumber:
            value = -1.0
        if value < least or value != int(value):
            raise self.problem(key, f"{shortened(text)!r} is not possible; it must be a whole number from {least} on.")
        return int(value)

    def vector(self, key: str, wanted: Sequence[Dimension]) -> tuple[float, ...]:
        """Numbers in a list, each with its dimension."""
        node = self.node(key)
        if not isinstance(node, Listing) or len(node.items) != len(wanted):
            found = "missing" if node is None else kind_of(node)
            raise self.problem(key, f"it is {found}; it must be a list of {len(wanted)} numbers.")
        return tuple(self._value(key, item, unit) for item, unit in zip(node.items, wanted, strict=True))

    def numbers(self, key: str, wanted: Sequence[Dimension]) -> tuple[float, ...]:
        """One number where one is wanted, else a list of them."""
        if len(wanted) == 1 and not isinstance(self.node(key), Listing):
            return (self.quantity(key, wanted[0]),)
        return self.vector(key, wanted)

    def _value(self, key: str, node: Node | None, wanted: Dimension) -> float:
        if not isinstance(node, Scalar):
            raise self.problem(key, f"it is {kind_of(node) if node else 'missing'}; it must be {wanted}.")
        try:
            return to_si(node.text, wanted)
        except BadValue as reason:
            raise self.problem(key, f"{reason}. It must be {wanted}; a number without a unit is SI.") from None

    # --- mappings and lists -------------------------------------------------------------------------------------
    def part(self, key: str, known: Sequence[str] | None) -> Part:
        """A mapping in this one; without keys where there is none."""
        inner = Part(self.node(key), self.full(key), self.file, known)
        inner.line = inner.line if inner.line is not None else self.line
        return inner

    def parts(self, key: str, known: Sequence[str]) -> list[Part]:
        """A list of mappings."""
        return [Part(item, f"{self.full(key)}.{i}", self.file, known) for i, item in enumerate(self.items(key))]

    def items(self, key: str) -> Sequence[Node]:
        """What is in a list; nothing where there is none."""
        node = self.node(key)
        if is_empty(node):
            return ()
        if not isinstance(node, Listing):
            raise self.problem(key, f"it is {kind_of(node)}; it must be a list." if node else "it is missing.")
        return node.items

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        found = []
        for item in self.items(key):
            if not isinstance(item, Scalar) or not item.text.strip():
                raise self.problem(key, f"{kind_of(item)} is among them; all must be texts.")
            found.append(item.text.strip())
        return tuple(found)
