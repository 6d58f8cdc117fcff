# SPDX-License-Identifier: Apache-2.0
"""Limits of mesh files, checked before expensive parsing.

Small files can require unbounded work by repeated or nested instances, and entities.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from typing import Any

from ada_dynamics.errors import AdaError
from ada_dynamics.structured_text.files import has_longer_line

MAX_BYTES = 64 * 1024 * 1024  # of a file; the largest of example-robot-data has 29 MB
MAX_TRIANGLES = 2_000_000  # of one mesh
_MAX_INDICES = 4 * 3 * MAX_TRIANGLES  # corners have position, normal, colour and texture
LONGEST_LINE = 1024 * 1024  # [byte] of an OBJ file, a polygon of 100 000 corners
_MAX_LINES = 3_000_000  # of an OBJ file; valid files of 64 MB have fewer
_MAX_NODES = 100_000
_MAX_TAGS = 400_000  # of a Collada file; one of example-robot-data has 13 011, the others below 1600


class MeshError(AdaError):
    """A mesh cannot be read; the message states the reason."""


def check_bounds(data: bytes, suffix: str) -> None:
    """Raise a MeshError if a mesh file exceeds a limit.

    Args:
        data: content of the file.
        suffix: suffix of its name in lower case.

    Raises:
        MeshError: a limit is exceeded.
    """
    if suffix == ".dae":
        _check_collada(data)
    elif suffix == ".obj":
        _check_obj(data)


def check_triangles(count: int) -> None:
    """Raise a MeshError if a mesh has too many triangles."""
    if count > MAX_TRIANGLES:
        raise MeshError(f"it has {count} triangles; at most {MAX_TRIANGLES} are drawn", field="triangles", value=count)


def _check_obj(data: bytes) -> None:
    if has_longer_line(data, LONGEST_LINE):
        raise MeshError(f"a line has more than {LONGEST_LINE} bytes, the limit", field="line")
    if data.count(b"\n") > _MAX_LINES:
        raise MeshError(f"it has more than {_MAX_LINES} lines, the limit", field="lines")


def _check_collada(data: bytes) -> None:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise MeshError("its document type or encoding is not accepted: only plain UTF-8 XML is", field="encoding")
    if data.count(b"<") > _MAX_TAGS:
        raise MeshError(f"it has more than {_MAX_TAGS} tags, the limit", field="tags")
    if b"<instance_node" not in data and data.count(b"<instance_geometry") * len(data) <= _MAX_INDICES:
        return
    try:
        root = ET.fromstring(data)
    except (ET.ParseError, ValueError) as problem:
        raise MeshError(f"it is not XML: {problem}") from None
    sizes = {f"#{g.get('id')}": _indices(g) for g in _all(root, "geometry")}
    nodes = {f"#{n.get('id')}": n for n in _all(root, "node") if n.get("id")}

    def below(node: ET.Element) -> Iterable[ET.Element]:
        yield from (child for child in node if _tag(child) == "node")
        targets = (nodes.get(child.get("url", "")) for child in node if _tag(child) == "instance_node")
        yield from (target for target in targets if target is not None)

    def weight(node: ET.Element) -> int:
        return 1 + sum(sizes.get(child.get("url", ""), 0) for child in node if _tag(child) == "instance_geometry")

    scenes = _all(root, "visual_scene")
    _check_expansion([node for scene in scenes for node in below(scene)], below, weight)


def _tag(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _all(root: ET.Element, tag: str) -> list[ET.Element]:
    return [element for element in root.iter() if _tag(element) == tag]


def _indices(geometry: ET.Element) -> int:
    """Upper bound of the number of corners of a geometry: a number has at least two characters."""
    return sum(len(p.text or "") // 2 + 1 for p in geometry.iter() if _tag(p) == "p")


def _check_expansion(starts: list[Any], below: Callable[[Any], Iterable[Any]], weight: Callable[[Any], int]) -> None:
    """Raise a MeshError if a graph of shared parts is cyclic or too large after expansion."""
    totals: dict[int, int] = {}
    open_parts: set[int] = set()
    stack = [(node, False) for node in reversed(starts)]
    while stack:
        node, is_done = stack.pop()
        key = id(node)
        if is_done:
            open_parts.discard(key)
            totals[key] = weight(node) + sum(totals[id(child)] for child in below(node))
            continue
        if key in totals:
            continue
        if key in open_parts:
            raise MeshError("a part contains itself")
        open_parts.add(key)
        stack.append((node, True))
        for child in below(node):
            if id(child) in open_parts:
                raise MeshError("a part contains itself")
            if id(child) not in totals:
                stack.append((child, False))
        if len(totals) + len(open_parts) > _MAX_NODES:
            raise MeshError(f"it has more than {_MAX_NODES} nodes")
    total = sum(totals[id(node)] for node in starts)
    if total > _MAX_INDICES:
        raise MeshError(f"its instances have {total} corners in total; the limit is {_MAX_INDICES}")
