# SPDX-License-Identifier: Apache-2.0
"""Addresses of meshes in a description that leaves its place: to another file, or to a topic."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

from ada_dynamics.model.model import Model
from ada_dynamics.robots.addresses import AddressResolver


def with_lasting_addresses(text: str, model: Model, place: Path | None) -> tuple[str, int]:
    """A description whose meshes are found from its new place, too, and how many addresses had to change for that.

    Only addresses that lead to another file from there, or to none, become file:// ones.

    Args:
        text: URDF or SDFormat of the model.
        model: what it describes.
        place: the file that it will be; None where it goes out as text.
    """
    there = AddressResolver(place)
    here: dict[str, AddressResolver] = {}
    changed: dict[str, str] = {}
    for link in model.links.values():
        for shape in (*link.visuals, *link.collisions):
            if shape.mesh is None or shape.beside is None or shape.mesh in changed:
                continue
            file = here.setdefault(shape.beside, AddressResolver(shape.beside)).file(shape.mesh)
            if file is not None and there.file(shape.mesh) != file:
                changed[shape.mesh] = file.absolute().as_uri()
    for old, new in changed.items():
        for before, after in ('""', "''", "><"):
            text = text.replace(f"{before}{escape(old)}{after}", f"{before}{escape(new)}{after}")
    return text, len(changed)
