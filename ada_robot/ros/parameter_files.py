# SPDX-License-Identifier: Apache-2.0
"""Files of parameters: their blocks, and parameters for many nodes at once. No rclpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from ada_dynamics.errors import AdaError
from ada_dynamics.structured_text.files import parsed
from ada_dynamics.structured_text.nodes import MappingNode, Node

BLOCK = "ros__parameters"
_FILE = "--params-file"


def blocks(content: Node, above: str = "") -> Iterator[tuple[str, Node]]:
    """Names of nodes, with namespace and wildcards, and what their blocks hold; namespaces may be nested.

    Args:
        content: of a file.
        above: the namespace that it is in.
    """
    if not isinstance(content, MappingNode):
        return
    for key, (_, inner) in content.entries.items():
        if key == BLOCK:
            yield above or "/**", inner
        else:
            yield from blocks(inner, f"{above.rstrip('/')}/{str(key).strip('/')}")


def wildcard_parameters(arguments: Sequence[str]) -> frozenset[str]:
    """Names of parameters in blocks with wildcards, of all files that a process was started with.

    Args:
        arguments: of the process; files that cannot be read are rcl's to refuse.
    """
    found: set[str] = set()
    for flag, path in pairwise(arguments):
        if flag != _FILE:
            continue
        try:
            content = parsed(Path(path))
        except AdaError:
            continue
        for node, values in blocks(content):
            if "*" in node:
                found.update(_names(values, ""))
    return frozenset(found)


def _names(values: Node, above: str) -> Iterator[str]:
    """Full names: nested mappings are joined by dots."""
    if isinstance(values, MappingNode):
        for key, (_, inner) in values.entries.items():
            yield from _names(inner, f"{above}{key}.")
    else:
        yield above[:-1]
