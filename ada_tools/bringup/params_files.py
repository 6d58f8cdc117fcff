# SPDX-License-Identifier: Apache-2.0
"""Parameter file of the user: detection of entries for unknown nodes, which ROS 2 ignores silently."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.structured_text.files import parsed
from ada_dynamics.structured_text.nodes import MappingNode, is_empty, kind_of
from ada_robot.ros.parameter_files import BLOCK, blocks


def unused_parameters(path: Path, nodes: Sequence[str]) -> str:
    """Warning about parameters for unknown nodes in a file; "" without any.

    Args:
        path: parameter file.
        nodes: names of the nodes with their namespace.

    Raises:
        InputError: the file is not a parameter file.
    """
    try:
        content = parsed(path)
    except AdaError as problem:
        raise InputError(
            f"params_file cannot be read: {problem} The file {_form(nodes)}", field="params_file"
        ) from None
    found = list(blocks(content))
    if not found:
        raise InputError(f"params_file {path} contains no parameters: it {_form(nodes)}", field="params_file")
    for name, inner in found:
        if not is_empty(inner) and not isinstance(inner, MappingNode):
            text = f"params_file {path}: {name:.200}: {BLOCK} is {kind_of(inner)}; it must be a mapping."
            raise InputError(text, field="params_file")
    foreign = [name for name, _ in found if not any(_matches(name, node) for node in nodes)]
    if not foreign:
        return ""
    return (
        f"params_file {path}: no node is named {', '.join(foreign)}; ignored. The nodes are "
        f"{', '.join(nodes)}: write the full name, or a name with wildcards such as /**/dynamics_node"
    )


def _form(nodes: Sequence[str]) -> str:
    return f"must have the form `{nodes[0]}: {{{BLOCK}: {{name: value}}}}`."


def _matches(key: str, node: str) -> bool:
    """Return True if a key matches a node name, as in ROS: * is one part of the name, ** any number of parts."""
    parts = node.strip("/").split("/")
    read = {0}  # numbers of leading node name parts matched so far
    for part in key.strip("/").split("/"):
        if part == "**":
            read = set(range(min(read, default=len(parts) + 1), len(parts) + 1))
        else:
            read = {k + 1 for k in read if k < len(parts) and part in ("*", parts[k])}
    return len(parts) in read
