# SPDX-License-Identifier: Apache-2.0
"""Files of parameters: their blocks, and what they say to many nodes at once. No rclpy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import yaml

BLOCK = "ros__parameters"
_FILE = "--params-file"


def blocks(content: object, above: str = "") -> Iterator[tuple[str, object]]:
    """Names of nodes, with namespace and wildcards, and what their blocks hold; namespaces may be nested.

    Args:
        content: of a file.
        above: the namespace that it is in.
    """
    if not isinstance(content, Mapping):
        return
    for key, inner in content.items():
        if key == BLOCK:
            yield above or "/**", inner
        else:
            yield from blocks(inner, f"{above.rstrip('/')}/{str(key).strip('/')}")


def told_to_many(arguments: Sequence[str]) -> frozenset[str]:
    """Names of parameters in blocks with wildcards, of all files that a process was started with.

    Args:
        arguments: of the process; files that cannot be read are rcl's to refuse.
    """
    found: set[str] = set()
    for flag, path in pairwise(arguments):
        if flag != _FILE:
            continue
        try:
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            continue
        for node, values in blocks(content):
            if "*" in node:
                found.update(_names(values, ""))
    return frozenset(found)


def _names(values: object, above: str) -> Iterator[str]:
    """Full names: nested mappings are joined by dots."""
    if isinstance(values, Mapping):
        for key, inner in values.items():
            yield from _names(inner, f"{above}{key}.")
    else:
        yield above[:-1]
