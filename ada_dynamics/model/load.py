# SPDX-License-Identifier: Apache-2.0
"""From a name, a path or a text to a model."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ada_dynamics.errors import InputError, ModelError, unknown_name
from ada_dynamics.model.builder import BASES
from ada_dynamics.model.catalogue import CATALOGUE
from ada_dynamics.model.model import STANDARD_GRAVITY, Model
from ada_dynamics.model.readers.source import read_file
from ada_dynamics.model.readers.urdf import check_mimic, read_urdf
from ada_dynamics.model.readers.xacro import expand_xacro

Source = str | os.PathLike[str]


class Document(NamedTuple):
    """A robot description, not yet parsed."""

    data: bytes | str
    name: str  # for messages
    path: Path | None  # where relative file names start


def load(
    source: Source,
    base: str = "fixed",
    gravity: Sequence[float] = STANDARD_GRAVITY,
    mimic: str = "keep",
    mappings: Mapping[str, object] | None = None,
) -> Model:
    """Load a robot.

    Example::

        model = load("pa10")
        model = load("robot.urdf", base="floating", gravity=(0, 0, -1.62))
        model = load("robot.urdf.xacro", mappings={"arm": "left"})

    Args:
        source: name in the catalogue (such as "pa10"), path of a .urdf, .xml or .xacro file, or URDF text (a string
            that starts with "<"). A xacro file is a program that runs with your rights: only open those you trust.
        base: how the root link is held: "fixed", "floating" (quaternion) or "floating_euler" (z-y-x angles).
        gravity: gravity vector in the world's axes [m/s²].
        mimic: what a <mimic> means: "keep" (the joint follows the other one), "free" (it has its own coordinate) or
            "refuse" (an error that names the joints).
        mappings: values for the <xacro:arg>s of a xacro file.

    Raises:
        InputError: an argument is unusable.
        ModelError: the description is; the message names the file, line, link or joint, and the fix.
    """
    if base not in BASES:
        raise unknown_name("base", base, BASES)
    check_mimic(mimic)
    document = find_document(source, mappings)
    builder = read_urdf(document.data, document.name, mimic)
    return builder.build(base, gravity, _as_text(document.data))


def _as_text(data: bytes | str) -> str:
    return data if isinstance(data, str) else data.decode("utf-8", "replace")


def find_document(source: Source, mappings: Mapping[str, object] | None = None) -> Document:
    """The description that a source means: see `load`."""
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"source is {source!r}; it must be a name, a path or URDF text.")
    if isinstance(source, str):
        if source.lstrip("\ufeff \t\r\n").startswith("<"):
            _no_mappings(mappings, "URDF text")
            return Document(source, "URDF text", None)
        if source in CATALOGUE:
            entry = CATALOGUE[source]
            if mappings:
                return Document(entry.expand(mappings), f"{source} (expanded)", entry.xacro_path)
            return Document(read_file(entry.path), entry.path.name, entry.path)
        _refuse_if_unknown(source)
    path = Path(source)
    if path.suffix.lower() == ".xacro":
        return Document(expand_xacro(path, mappings), f"{path} (expanded)", path)
    _no_mappings(mappings, str(path))
    return Document(read_file(path), str(path), path)


def _no_mappings(mappings: Mapping[str, object] | None, what: str) -> None:
    if mappings:
        raise InputError(f"mappings are for xacro files, but {what[:200]} is none (its name does not end in .xacro).")


def _refuse_if_unknown(source: str) -> None:
    """An error that helps where a text is neither in the catalogue nor a file."""
    if not source.strip():
        raise InputError("source is empty; give a name of the catalogue, a path or URDF text.")
    try:
        if Path(source).exists():
            return
    except (OSError, ValueError):
        pass
    shown = source if len(source) <= 200 else source[:197] + "..."
    near = difflib.get_close_matches(source[:200].lower(), CATALOGUE, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    known = f"The catalogue has {', '.join(CATALOGUE)}."
    if "://" in source:
        known = "Addresses such as package:// or http:// are not followed: give the path of a file."
    raise ModelError(f"there is no file {shown!r} (looked from {Path.cwd()}) and no such robot.{hint} {known}")
