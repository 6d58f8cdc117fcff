# SPDX-License-Identifier: Apache-2.0
"""ROS 2 parameter files: blocks per node, and parameters in blocks with wildcards. No rclpy."""

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
    """Yield the node names (with namespace and wildcards) and contents of all blocks; namespaces may be nested.

    Args:
        content: content of a file.
        above: enclosing namespace.
    """
    if not isinstance(content, MappingNode):
        return
    for key, (_, inner) in content.entries.items():
        if key == BLOCK:
            yield above or "/**", inner
        else:
            yield from blocks(inner, f"{above.rstrip('/')}/{str(key).strip('/')}")


def wildcard_parameters(arguments: Sequence[str]) -> frozenset[str]:
    """Return the names of parameters in blocks with wildcards, in all parameter files of a process.

    Args:
        arguments: arguments of the process; unreadable files are skipped, because rcl refuses them.
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
    """Yield full names, with nested mappings joined by dots."""
    if isinstance(values, MappingNode):
        for key, (_, inner) in values.entries.items():
            yield from _names(inner, f"{above}{key}.")
    else:
        yield above[:-1]
