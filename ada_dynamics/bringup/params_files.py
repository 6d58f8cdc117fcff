# SPDX-License-Identifier: Apache-2.0
"""A user's file of parameters: whether it speaks of nodes that there are, or would be passed over in silence."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ada_dynamics.errors import InputError

_BLOCK = "ros__parameters"


def check_params_file(path: Path, nodes: Sequence[str]) -> None:
    """Check that a file is one of parameters, and that each of its blocks is for one of our nodes.

    Without PyYAML nothing is checked here; the nodes read the file themselves.

    Args:
        path: the file.
        nodes: names of the nodes, with their namespace.

    Raises:
        InputError: it is no such file, or there is no node of a block's name: ROS 2 would say nothing.
    """
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        return
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise InputError(f"params_file {path} cannot be read: {' '.join(str(problem).split())}.") from None
    keys = list(_blocks(content, path, ""))
    if not keys:
        raise InputError(f"params_file {path} holds no parameters: {_form(nodes)}")
    for key in keys:
        if not any(_matches(key, node) for node in nodes):
            raise InputError(
                f"params_file {path}: {key!r} is the name of no node here; there may be {', '.join(nodes)}. "
                "Write a node's whole name, or one with wildcards such as /**/dynamics_node."
            )


def _blocks(content: object, path: Path, above: str) -> list[str]:
    """Names of the nodes that a file speaks of; namespaces may be nested."""
    if not isinstance(content, dict):
        raise InputError(f"params_file {path}: {above or 'its content'} is no mapping. {_form(['dynamics_node'])}")
    found = []
    for key, inner in content.items():
        if key == _BLOCK:
            if inner is not None and not isinstance(inner, dict):
                raise InputError(f"params_file {path}: {above}: {_BLOCK} is {inner!r:.60}; it must be a mapping.")
            found.append(above or "/**")
        else:
            found += _blocks(inner, path, f"{above.rstrip('/')}/{str(key).strip('/')}")
    return found


def _form(nodes: Sequence[str]) -> str:
    return f"it must look like `{nodes[0]}: {{{_BLOCK}: {{name: value}}}}`."


def _matches(key: str, node: str) -> bool:
    """As ROS has it: * is one part of a name, ** any number of parts."""
    parts = [re.escape(part) for part in key.strip("/").split("/")]
    pattern = "".join({r"\*\*": r"(/[^/]+)*", r"\*": r"/[^/]+"}.get(part, f"/{part}") for part in parts)
    return re.fullmatch(pattern, node) is not None
