# SPDX-License-Identifier: Apache-2.0
"""Loading of models from a catalogue name, a file or a text."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ada_dynamics.errors import InputError, ModelError, check_name, unknown_name
from ada_dynamics.model.description import BASES, Base, Description
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import STANDARD_GRAVITY, Model
from ada_dynamics.robots.catalogue import CATALOGUE
from ada_dynamics.robots.readers import MimicChoice, read_document
from ada_dynamics.robots.readers.loop_files import LoopSource, add_loops
from ada_dynamics.robots.readers.xacro import expand_xacro
from ada_dynamics.robots.readers.xml import Element
from ada_dynamics.structured_text.files import read_file

_log = logging.getLogger("ada_dynamics")

Source = str | os.PathLike[str]
_SOURCES = "a catalogue name, a path or URDF text"
_DESCRIPTIONS = "robot_descriptions"  # package with a module for each robot, which downloads it by git once


class Document(NamedTuple):
    """A robot description before parsing."""

    data: bytes | str
    name: str  # for messages
    path: Path | None  # file to which relative addresses refer
    base: str = "fixed"  # default joint between world and root link
    gravity: tuple[float, float, float] | None = None  # default gravity [m/s²]


def load(
    source: Source,
    base: Base | None = None,
    gravity: Sequence[float] | None = None,
    mimic: MimicChoice = "keep",
    mappings: Mapping[str, object] | None = None,
    loops: LoopSource | None = None,
) -> Model:
    """Load a robot.

    Example::

        model = load("pa10")
        model = load("robot.urdf", base="floating", gravity=(0, 0, -1.62))
        model = load("robot.urdf.xacro", mappings={"arm": "left"})
        model = load("four_bar.urdf", loops="four_bar.loops.yaml")
        model = load("robot_descriptions:g1_description", loops="g1_ankles")

    Args:
        source: name in the catalogue (such as "pa10"), path of a URDF, xacro, MJCF or SDFormat file, or the text of
            such a document (a string that starts with "<"). A xacro file is a program that runs with the user's rights:
            load only trusted ones. "robot_descriptions:NAME" is the robot of a module of the package
            robot_descriptions, which downloads it at the first time.
        base: joint between world and root link: "fixed", "floating" (quaternion) or "floating_euler" (z-y-x angles).
            The default is that of the file (SDFormat without a joint to the world: floating) or of the catalogue, else
            fixed.
        gravity: gravity vector in world axes [m/s²]. The default is that of the file (MJCF, SDFormat worlds) or of the
            catalogue (robots in space), else (0, 0, -9.81).
        mimic: treatment of <mimic>: "keep" (the joint follows its leader) or "free" (it has an independent coordinate).
        mappings: values of the <xacro:arg>s of a xacro file.
        loops: loop joints in addition to those of the document: path of a YAML or JSON file, name of one in
            config/loops, or its content as a dict or a list of dicts; `docs/loops.md` shows all formats.

    Returns:
        The model.

    Raises:
        InputError: an argument is invalid.
        ModelError: the description is invalid; the message names the file, line, link or joint, and the fix.
    """
    document, robot = find_robot(source, base, mimic, mappings, loops)
    for problem in robot.left_out:
        _log.warning("%s", problem.text(robot.file))
    for note in robot.notes:
        _log.info("%s: %s", document.name, note)
    if robot.odd_shapes:
        count, first = len(robot.odd_shapes), robot.odd_shapes[0].text(robot.file)
        text = "%s: shapes with %d problem(s) were left out or lost their colour, the first: %s"
        _log.info(text, document.name, count, first)
    return to_model(document, robot, base, gravity)


def to_model(
    document: Document,
    robot: Description,
    base: Base | None = None,
    gravity: Sequence[float] | None = None,
) -> Model:
    """Build the model of a description, with the defaults of `load`."""
    if gravity is None:
        gravity = document.gravity or robot.gravity or STANDARD_GRAVITY
    data = document.data
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    return robot.build(base or robot.own_base or document.base, gravity, text)


def find_robot(
    source: Source,
    base: Base | None = None,
    mimic: MimicChoice = "keep",
    mappings: Mapping[str, object] | None = None,
    loops: LoopSource | None = None,
) -> tuple[Document, Description]:
    """Return the document of a source and its description; for the arguments see `load`."""
    if base is not None and base not in BASES:
        raise unknown_name("base", base, BASES)
    document = find_document(source, mappings)
    robot = read_document(document.data, document.name, mimic, loops)
    refuse_base(document, robot, base)
    if document.path is not None:  # addresses of meshes are relative to the file
        file = str(document.path.absolute())
        for link in robot.links:
            link.visuals = [replace(s, description_file=file) if s.mesh else s for s in link.visuals]
            link.collisions = [replace(s, description_file=file) if s.mesh else s for s in link.collisions]
    return document, robot


def refuse_base(document: Document, robot: Description, base: Base | None) -> None:
    """Raise InputError for a base that the description does not allow, as it defines its own."""
    if robot.holds_itself and base not in (None, "fixed"):
        message = (
            f"{document.name}: base={base!r}, but this file defines the base itself: omit base. A body floats if it "
            "has a free joint (MJCF) or no joint to the world (SDFormat)."
        )
        raise InputError(message, file=document.name, field="base", value=base)


def find_document(source: Source, mappings: Mapping[str, object] | None = None) -> Document:
    """Return the document of a source; for the arguments see `load`."""
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"source is {source!r}; give {_SOURCES}.", field="source", value=source, allowed=_SOURCES)
    if source in CATALOGUE:
        entry = CATALOGUE[str(source)]
        if mappings:
            text, where = entry.expand(mappings), entry.xacro_path
            return Document(text, f"{source} (expanded)", where, entry.base, entry.gravity)
        return Document(read_file(entry.path), entry.path.name, entry.path, entry.base, entry.gravity)
    is_text = isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith(("<", "#usda"))
    if isinstance(source, str) and source.startswith(f"{_DESCRIPTIONS}:"):
        source = _described(source.partition(":")[2])
    if isinstance(source, str) and not is_text:
        _refuse_if_unknown(source)
    path = None if is_text else Path(source)
    if path is not None and path.suffix.lower() == ".xacro":
        return Document(expand_xacro(path, mappings), f"{path} (expanded)", path)
    name = _name_of_text(str(source)) if path is None else str(path)
    if mappings:
        message = f"mappings need a xacro file, and the name of {name[:200]} does not end in .xacro."
        raise InputError(message, field="mappings", value=mappings)
    if path is None:
        return Document(str(source), name, None)
    return Document(read_file(path), name, path)


def _described(name: str) -> Path:
    """Path of the URDF, else of the MJCF file, of a module of the package robot_descriptions."""
    facts: Any = {"field": "source", "value": f"{_DESCRIPTIONS}:{name}"}
    package = importlib.util.find_spec(_DESCRIPTIONS)
    if package is None:
        message = f"{_DESCRIPTIONS}:{name} needs the package {_DESCRIPTIONS}: pip install {_DESCRIPTIONS}"
        raise InputError(message, **facts)
    folders = package.submodule_search_locations or ()
    names = sorted(file.stem for folder in folders for file in Path(folder).glob("*_description.py"))
    check_name(f"robot of {_DESCRIPTIONS}", name, names)
    try:
        module = importlib.import_module(f"{_DESCRIPTIONS}.{name}")
    except Exception as problem:  # any error of git or of the package, such as a missing network
        message = f"{_DESCRIPTIONS} cannot provide {name}: {problem}. The first use downloads the robot by git."
        raise ModelError(message, **facts) from problem
    for kind in ("URDF_PATH", "MJCF_PATH"):
        if hasattr(module, kind):
            return Path(getattr(module, kind))
    raise ModelError(f"{_DESCRIPTIONS}.{name} has neither a URDF nor an MJCF file; it cannot be loaded.", **facts)


def _name_of_text(text: str) -> str:
    """Name of a text for messages, by its root element."""
    found = re.search(r"#usda|<(mujoco|sdf|robot)\b", text)
    names = {"#usda": "USD text", "<mujoco": "MJCF text", "<sdf": "SDFormat text"}
    return names.get(found[0] if found else "", "URDF text")


def _refuse_if_unknown(source: str) -> None:
    """Raise an error with suggestions if a text is neither in the catalogue nor a file."""
    if not source.strip():
        raise InputError(f"source is empty; give {_SOURCES}.", field="source", value=source, allowed=_SOURCES)
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
        known = "Addresses such as package:// or http:// are not supported: give the path of a file."
    message = f"no file and no robot of the catalogue is named {shown!r} (in {Path.cwd()}).{hint} {known}"
    raise ModelError(message, file=source, field="source", value=source)


def with_loops(model: Model, loops: LoopSource) -> Model:
    """Return a model with additional loop joints.

    Example::

        closed = with_loops(ada.load("planar_4r"), "loops/parallel_four_bar.yaml")

    Args:
        model: the model; it is not changed.
        loops: path of a YAML or JSON file, or its content, as for `load`; actuated joints in it are ignored.

    Raises:
        InputError: the model has a loop of the same name.
        ModelError: the file cannot be read, or a loop joins links that do not exist.
    """
    read = Description(model.name, "the loops", Element("robot", {}, 0))
    add_loops(read, loops)
    if read.links or read.joints:
        message = "the file adds links or joints, which need the robot's own file: ada.load(file, loops=...)."
        raise InputError(message, field="loops")
    twice = [loop.name for loop in read.loops if loop.name in model.loops]
    if twice:
        raise InputError(f"model {model.name!r} has a loop {twice[0]!r} already; rename the added one.", loop=twice[0])
    parts = Parts.of(model)
    parts.loops |= {loop.name: loop for loop in read.loops}
    return parts.build()
