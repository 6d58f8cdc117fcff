# SPDX-License-Identifier: Apache-2.0
"""Checks of robot descriptions: structure, inertial parameters, joints, loops, meshes and spelling.

`check` reports all problems as errors, warnings and notes, not only the first one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path

from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.model.description import (
    BASES,
    Base,
    Description,
    Problem,
    Sink,
    rigid_loops,
    structure_problems,
    value_problems,
)
from ada_dynamics.model.model import Model
from ada_dynamics.robots.addresses import AddressResolver, missing_meshes
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.check.motion import check_motion
from ada_dynamics.robots.check.parts import check_joints, check_links
from ada_dynamics.robots.check.report import CheckReport
from ada_dynamics.robots.load import Document, Source, find_document, refuse_base, to_model
from ada_dynamics.robots.readers import describe
from ada_dynamics.robots.readers.description_builder import note_open_frames
from ada_dynamics.robots.readers.loop_files import LoopSource, add_loops, loop_path
from ada_dynamics.robots.readers.urdf_loops import ELEMENTS
from ada_dynamics.robots.readers.values import unknown_names
from ada_dynamics.robots.readers.xml import Element, parse_xml
from ada_dynamics.structured_text.files import read_file
from ada_dynamics.structured_text.lexical import slip


def check(
    source: Source,
    base: Base | None = None,
    mappings: Mapping[str, object] | None = None,
    loops: LoopSource | None = None,
) -> CheckReport:
    """Report errors, probable mistakes and peculiarities of a robot description.

    Errors make results wrong or impossible; warnings are probable mistakes; notes are for information. A description
    without errors can be loaded, and its loops can be closed.

    Example::

        print(check("robot.urdf"))
        print(check("four_bar.urdf", loops="four_bar.loops.yaml"))

    Args:
        source: name in the catalogue, path of a file, or its text, as for `load`.
        base: "fixed" or "floating" (the root link can move); by default that of the catalogue, else fixed.
        mappings: values of the <xacro:arg>s of a xacro file.
        loops: additional loop joints, as for `load`.

    Returns:
        The report; problems inside a file are findings, not exceptions.

    Raises:
        InputError: an argument is invalid.
        ModelError: the file does not exist.
    """
    if base is not None and base not in BASES:
        raise unknown_name("base", base, BASES)
    if isinstance(loops, str | os.PathLike):
        read_file(loop_path(loops))  # raises if the file is missing
    out = CheckReport(str(source) if len(str(source)) <= 200 and "<" not in str(source) else "URDF text")
    try:
        document = find_document(source, mappings)
        shown = out.source = document.name
        robot = describe(parse_xml(document.data, shown), shown, _sink(out, shown))
        out.robot = robot.name
        if loops is not None:
            try:
                add_loops(robot, loops)
            except ModelError as problem:
                out.add("loops-unreadable", "error", "the loops", str(problem))
        note_open_frames(robot)
        for found in (*value_problems(robot), *structure_problems(robot), *rigid_loops(robot)):
            _sink(out, shown)(found)
        model, refusal = (None, "") if out.errors else _built(document, robot, base)
        _check_description(robot, base or robot.own_base or document.base, document.path, out)
        if refusal and not out.errors:
            out.add("unbuildable", "error", f"robot {robot.name!r}", refusal)
        if model is not None and not (robot.loops and out.errors):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the findings contain their content
                check_motion(model, robot, start_of(source), out)
    except ModelError as problem:
        if not out.source.endswith(" text") and not Path(out.source).is_file():
            raise
        out.add("unreadable", "error", "the document", str(problem).removeprefix(out.source).lstrip(":, "))
    out.sort()
    return out


def _built(document: Document, robot: Description, base: Base | None) -> tuple[Model | None, str]:
    """Return the model, or the reason why it cannot be built, which is mostly a finding of the rules on links."""
    refuse_base(document, robot, base)
    try:
        return to_model(document, robot, base), ""
    except ModelError as problem:
        return None, str(problem)


def _sink(out: CheckReport, file: str, severity: str = "error") -> Sink:
    """Return a callback that adds problems to the report; problems in another file name that file."""

    def sink(problem: Problem) -> None:
        where, line = problem.where, problem.line
        if problem.file not in (None, file):
            where = f"{problem.file}{'' if line is None else f', line {line}'}: {where}"
            line = None
        out.add(problem.code, severity, where, problem.message, problem.fix, line)

    return sink


def _check_description(robot: Description, base: str, path: Path | None, out: CheckReport) -> None:
    if robot.root.tag == "robot" and not robot.root.attributes.get("name", "").strip():
        message = "it has no name, which URDF requires."
        out.add("no-name", "warning", "<robot>", message, 'Add name="...".', robot.root.line)
    check_links(robot, base != "fixed", out)
    if robot.root.tag == "robot":
        check_joints(robot, out)
        _check_spelling(robot.root, "<robot>", out)
    for odd in robot.odd_shapes:
        message = f"{odd.message} The shape is ignored; the dynamics does not need it."
        out.add(odd.code, "warning", odd.where, message, odd.fix, odd.line)
    for lost in robot.left_out:
        _sink(out, robot.file, "warning")(lost)
    for note in robot.notes:
        part, _, message = note.rpartition(": ")
        out.add("left-out", "note", part or f"robot {robot.name!r}", message)
    _check_meshes(robot, path, out)


def _check_meshes(robot: Description, path: Path | None, out: CheckReport) -> None:
    """Report missing meshes in one note; only drawings need them."""
    addresses = AddressResolver(path)
    first: dict[str, tuple[str, int | None]] = {}
    for link in robot.links:
        for shape in (*link.visuals, *link.collisions):
            if shape.mesh:
                first.setdefault(shape.mesh, (link.where, link.line))
    missing = {mesh: addresses.searched(mesh) for mesh in first if addresses.file(mesh) is None}
    if missing:
        where, line = first[next(iter(missing))]
        message = f"{missing_meshes(missing, len(first))}. The dynamics does not need them."
        out.add("mesh-missing", "note", where, message, "", line)


# Children and attributes of elements of a URDF.
_KNOWN = {
    "robot": (("link", "joint", "material", "transmission", "gazebo", "sensor", *ELEMENTS), ("name", "version")),
    "link": (("inertial", "visual", "collision", "contact"), ("name", "type")),
    "joint": (
        ("origin", "parent", "child", "axis", "axis2", "limit", "dynamics", "mimic", "calibration"),
        ("name", "type"),
    ),
    "inertial": (("origin", "mass", "inertia"), ()),
    "origin": ((), ("xyz", "rpy", "quat_xyzw")),
    "mass": ((), ("value",)),
    "inertia": ((), ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")),
    "axis": ((), ("xyz",)),
    "axis2": ((), ("xyz",)),
    "parent": ((), ("link",)),
    "child": ((), ("link",)),
    "limit": ((), ("lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk")),
    "dynamics": ((), ("damping", "friction", "armature", "spring_stiffness", "spring_reference")),
    "mimic": ((), ("joint", "multiplier", "offset")),
}


def _check_spelling(element: Element, where: str, out: CheckReport) -> None:
    """Report elements and attributes that are probably misspelt; readers ignore unknown ones."""
    children, attributes = _KNOWN[element.tag]
    for at, what, name in unknown_names(element, children, attributes):
        near = slip(name, children if what == "element" else attributes)
        if near:
            shown, meant = (f"<{name}>", f"<{near}>") if what == "element" else (repr(name), repr(near))
            message = f"<{element.tag}> has an unknown {what} {shown}, which is ignored."
            out.add(f"unknown-{what}", "warning", where, message, f"Did you mean {meant}?", at.line)
    for child in element.children:
        if child.tag in children and child.tag in _KNOWN:
            is_part = element.tag == "robot"
            _check_spelling(child, f"{child.tag} {child.attributes.get('name', '')!r}" if is_part else where, out)
