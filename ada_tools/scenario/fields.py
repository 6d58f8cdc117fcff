# SPDX-License-Identifier: Apache-2.0
"""Fields of scenario mappings: words, numbers with units, nested mappings."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ada_dynamics.errors import AdaError, InputError, ModelError
from ada_dynamics.structured_text import files
from ada_dynamics.structured_text.fields import Fields, placed
from ada_dynamics.structured_text.lexical import BadNumber, near, to_float
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode, is_empty, kind_of, shortened
from ada_tools.scenario.units import BadValue, split, value_in

# Mappings by names of joints, links or arguments, which may contain dots.
BY_NAME: Final = frozenset(
    {
        "model.masses.",
        "start.joints.",
        "start.velocity.",
        "simulation.efforts.",
        "controller.reference.joints.",
        "controller.reference.velocity.",
    }
)
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")


class ScenarioError(InputError):
    """Invalid scenario; the message names file, line and key."""


def refusal(file: str, field: str, problem: AdaError) -> ScenarioError:
    """Error in a part of a scenario, with the attributes of its cause."""
    facts = {name: getattr(problem, name) for name in ("joint", "link", "loop", "value", "allowed")}
    return ScenarioError(f"{file}: {field}: {problem}", file=file, line=problem.line, field=field, **facts)


def parsed(path: Path) -> Node:
    """Content of a YAML or JSON file.

    Raises:
        ScenarioError: the file cannot be read; the message names file and line.
    """
    try:
        return files.parsed(path)
    except ModelError as problem:
        raise ScenarioError(str(problem), file=problem.file, line=problem.line, field=problem.field) from None


def plain(node: Node) -> Any:
    """Convert a node to plain Python data: numbers, strings, booleans, None, lists and dicts."""
    if isinstance(node, MappingNode):
        return {key: plain(value) for key, (_, value) in node.entries.items()}
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    assert isinstance(node, ScalarNode)
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


def keys_of(section: type[Any]) -> tuple[str, ...]:
    """Keys of a section that are the fields of its dataclass."""
    return tuple(one.name for one in dataclasses.fields(section))


class Part(Fields):
    """A mapping of a scenario; `where` is the path of its keys, such as "simulation"."""

    ERROR = ScenarioError
    WHOLE = "the scenario"

    def keys(self) -> list[str]:
        """Keys of the mapping."""
        return list(self.entries)

    def plain(self) -> dict[str, Any]:
        """The mapping as plain Python data."""
        return {key: plain(value) for key, (_, value) in self.entries.items()}

    @property
    def place(self) -> str:
        """File and line, for messages."""
        return placed(self.file, self.line)

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """One of the allowed words."""
        found = self.text(key, default)
        if found not in allowed:
            hint = near(found, allowed)
            raise self.problem(key, f"{shortened(found)!r} is not allowed. {hint}Allowed: {', '.join(allowed)}.")
        return found

    def flag(self, key: str, default: bool = False) -> bool:
        """Boolean value."""
        word = self.text(key, _YES[0] if default else _NO[0]).lower()
        if word not in (*_YES, *_NO):
            raise self.problem(key, f"{shortened(word)!r} is not allowed. Allowed: true, false.")
        return word in _YES

    def quantity(self, key: str, unit: str, default: float | None = None) -> float:
        """Number, converted to an SI unit."""
        node = self.node(key)
        if default is not None and is_empty(node):
            return default
        return self._value(key, node, unit)

    def number_and_unit(self, key: str) -> tuple[float, str]:
        """Number and its unit as written, which is not checked."""
        try:
            return split(self.text(key))
        except BadValue as reason:
            raise self.problem(key, f"{reason}. It must be a number, alone or with a unit.") from None

    def positive(self, key: str, unit: str, default: float | None = None) -> float:
        """Positive number, converted to an SI unit."""
        value = self.quantity(key, unit, default)
        if not value > 0.0:
            raise self.problem(key, f"it is {value:g}; it must be greater than 0 [{unit}].")
        return value

    def vector(self, key: str, units: Sequence[str]) -> tuple[float, ...]:
        """List of numbers, converted to SI units."""
        node = self.node(key)
        if not isinstance(node, ListNode) or len(node.items) != len(units):
            found = "missing" if node is None else kind_of(node)
            raise self.problem(key, f"it is {found}; it must be a list of {len(units)} numbers [{', '.join(units)}].")
        return tuple(self._value(key, item, unit) for item, unit in zip(node.items, units, strict=True))

    def numbers(self, key: str, units: Sequence[str]) -> tuple[float, ...]:
        """Single number for one unit, else a list of numbers."""
        if len(units) == 1 and not isinstance(self.node(key), ListNode):
            return (self.quantity(key, units[0]),)
        return self.vector(key, units)

    def _value(self, key: str, node: Node | None, unit: str) -> float:
        if not isinstance(node, ScalarNode) or is_empty(node):
            raise self.problem(key, f"it is {kind_of(node) if node else 'missing'}; it must be a number [{unit}].")
        try:
            return value_in(node.text, unit)
        except BadValue as reason:
            raise self.problem(key, f"{reason}. A number without a unit is in {unit}.") from None

    def part(self, key: str, known: Sequence[str] | None) -> Part:
        """Nested mapping; empty if missing."""
        inner = Part(self.node(key) if self.has(key) else None, self.full(key), self.file, known)
        inner.line = inner.line if inner.line is not None else self.line
        return inner

    def parts(self, key: str, known: Sequence[str]) -> list[Part]:
        """List of mappings."""
        return [Part(item, f"{self.full(key)}.{i}", self.file, known) for i, item in enumerate(self.items(key))]


# --- changes ----------------------------------------------------------------------------------------------------------
def full_key(key: str) -> str:
    """Complete key of `with_changes`: "step" is "simulation.step"."""
    return key if "." in key else f"simulation.{key}"


def replaced(node: Node, keys: list[str], value: Node, path: str, file: str) -> Node:
    """Tree with one value replaced; missing mappings are created."""
    if not keys:
        return value
    count = _pieces(node, keys, path)
    key, rest = ".".join(keys[:count]), keys[count:]
    if isinstance(node, ListNode):
        if not key.isdecimal() or int(key) >= len(node.items):
            text = f"{file}: the change of {path!r} requires an index from 0 to {len(node.items) - 1}, not {key!r}."
            raise ScenarioError(text, file=file, field=path, value=key, allowed=range(len(node.items)))
        items = list(node.items)
        items[int(key)] = replaced(items[int(key)], rest, value, path, file)
        return ListNode(node.line, tuple(items))
    if not isinstance(node, MappingNode) and not is_empty(node):
        words = f"{file}: the change of {path!r} addresses key {key!r} of a scalar value."
        raise ScenarioError(words, file=file, field=path, value=key)
    entries = dict(node.entries) if isinstance(node, MappingNode) else {}
    line, inner = entries.get(key, (None, MappingNode(None, {})))
    entries[key] = (line, replaced(inner, rest, value, path, file))
    return MappingNode(node.line, entries)


def _pieces(node: Node, keys: list[str], path: str) -> int:
    """Number of path segments of the next key: the longest existing key with further levels, or a new name."""
    if isinstance(node, MappingNode):
        for count in range(len(keys), 0, -1):
            _, inner = node.entries.get(".".join(keys[:count]), (None, None))
            if inner is not None and (count == len(keys) or not isinstance(inner, ScalarNode)):
                return count
    return len(keys) if path.removesuffix(".".join(keys)) in BY_NAME else 1
