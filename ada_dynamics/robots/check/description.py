# SPDX-License-Identifier: Apache-2.0
"""Check of a robot description: structure, inertial parameters, joints, meshes and spelling.

All problems are reported, not only the first one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ada_dynamics.errors import ModelError, unknown_name
from ada_dynamics.model.description import BASES, ODD_SHAPES, Description
from ada_dynamics.model.problems import Problem
from ada_dynamics.model.structure import rigid_loops, structure_problems
from ada_dynamics.robots.addresses import AddressResolver, missing_meshes
from ada_dynamics.robots.check.bodies import mesh_names, rigid_bodies
from ada_dynamics.robots.check.inertias import check_inertias
from ada_dynamics.robots.check.joints import check_joints
from ada_dynamics.robots.check.report import CheckReport, Collector
from ada_dynamics.robots.check.singular import check_singular
from ada_dynamics.robots.load import Source, find_document
from ada_dynamics.robots.readers import describe
from ada_dynamics.robots.readers.loops import ELEMENTS, LoopSource, add_loops
from ada_dynamics.robots.readers.vendor_elements import note_open_frames
from ada_dynamics.robots.readers.xml import Element, parse_xml
from ada_dynamics.structured_text.files import read_file
from ada_dynamics.structured_text.lexical import slip

_MANY_BODIES = 20_000  # beyond these the search for joints without inertia takes too long


def check_description(
    source: Source,
    base: str | None = None,
    mappings: Mapping[str, object] | None = None,
    loops: LoopSource | None = None,
) -> CheckReport:
    """Check a robot description without the rank of its loop constraints: arguments, result and errors of `check`."""
    if base is not None and base not in BASES:
        raise unknown_name("base", base, BASES)
    if isinstance(loops, str | os.PathLike):
        read_file(Path(loops))  # raises if the file is missing
    out = Collector()
    name = ""
    shown = str(source) if len(str(source)) <= 200 and "<" not in str(source) else "URDF text"
    try:
        document = find_document(source, mappings)
        shown = document.name
        robot = describe(parse_xml(document.data, shown), shown, _Sink(out, shown))
        name = robot.name
        if loops is not None:
            _add_loops(robot, loops, out)
        note_open_frames(robot)
        _check_robot(robot, base or robot.own_base or document.base, document.path, out)
    except ModelError as problem:
        if not shown.endswith(" text") and not Path(shown).is_file():
            raise
        out.add("unreadable", "error", "the document", str(problem).removeprefix(shown).lstrip(":, "))
    return out.report(shown, name)


def _add_loops(robot: Description, loops: LoopSource, out: Collector) -> None:
    """Add loops from another file or from data; an unreadable source is one error of the report."""
    try:
        add_loops(robot, loops)
    except ModelError as problem:
        out.add("loops-unreadable", "error", "the loops", str(problem))


class _Sink:
    """Callback that adds problems to the report; problems in another file name that file."""

    def __init__(self, out: Collector, file: str, severity: str = "error") -> None:
        self._out, self._file, self._severity = out, file, severity

    def __call__(self, problem: Problem) -> None:
        where, line = problem.where, problem.line
        if problem.file not in (None, self._file):
            where = f"{problem.file}{'' if line is None else f', line {line}'}: {where}"
            line = None
        self._out.add(problem.code, self._severity, where, problem.message, problem.fix, line)


def _check_robot(robot: Description, base: str, path: Path | None, out: Collector) -> None:
    sink = _Sink(out, robot.file)
    for problem in (*structure_problems(robot), *rigid_loops(robot)):
        sink(problem)
    if robot.root.tag == "robot" and not robot.root.attributes.get("name", "").strip():
        message = "it has no name, which URDF requires."
        out.add("no-name", "warning", "<robot>", message, 'Add name="...".', robot.root.line)
    bodies = rigid_bodies(robot)
    floats = base != "fixed"
    check_inertias(robot, bodies, floats, out)
    if robot.root.tag == "robot":
        check_joints(robot, out)
    if len(bodies) <= _MANY_BODIES:
        check_singular(bodies, floats, out)
    check_spelling(robot, out)
    for odd in robot.odd_shapes:
        out.add(
            odd.code,
            "warning",
            odd.where,
            f"{odd.message} The shape is ignored; the dynamics does not need it.",
            odd.fix,
            odd.line,
        )
    for lost in robot.left_out:
        _Sink(out, robot.file, "warning")(lost)
    for note in robot.notes:
        if not note.startswith(ODD_SHAPES):  # each one has its own finding
            out.add("left-out", "note", f"robot {robot.name!r}", note)
    _check_meshes(robot, path, out)
    if not out.has_errors:
        try:
            robot.build(base)
        except ModelError as problem:  # pragma: no cover - the rules above cover all refusals of the builder
            out.add("unbuildable", "error", f"robot {robot.name!r}", str(problem))


def _check_meshes(robot: Description, path: Path | None, out: Collector) -> None:
    """Report missing meshes in one note; only drawings need them."""
    addresses = AddressResolver(path)
    first: dict[str, tuple[str, int | None]] = {}
    for link in robot.links:
        for mesh in mesh_names(link):
            first.setdefault(mesh, (link.where, link.line))
    missing = {mesh: addresses.searched(mesh) for mesh in first if addresses.file(mesh) is None}
    if missing:
        where, line = first[next(iter(missing))]
        message = f"{missing_meshes(missing, len(first))}. The dynamics does not need them."
        out.add("mesh-missing", "note", where, message, "", line)


# Element -> known children and attributes.
_KNOWN: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "robot": (
        frozenset(("link", "joint", "material", "transmission", "gazebo", "sensor", *ELEMENTS)),
        frozenset(("name", "version")),
    ),
    "link": (
        frozenset(("inertial", "visual", "collision", "contact")),
        frozenset(("name", "type")),
    ),
    "joint": (
        frozenset(("origin", "parent", "child", "axis", "axis2", "limit", "dynamics", "mimic", "turn", "calibration")),
        frozenset(("name", "type")),
    ),
    "inertial": (frozenset(("origin", "mass", "inertia")), frozenset()),
    "origin": (frozenset(), frozenset(("xyz", "rpy", "quat_xyzw"))),
    "mass": (frozenset(), frozenset(("value",))),
    "inertia": (frozenset(), frozenset(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))),
    "axis": (frozenset(), frozenset(("xyz",))),
    "axis2": (frozenset(), frozenset(("xyz",))),
    "parent": (frozenset(), frozenset(("link",))),
    "child": (frozenset(), frozenset(("link",))),
    "limit": (
        frozenset(),
        frozenset(("lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk")),
    ),
    "dynamics": (frozenset(), frozenset(("damping", "friction", "armature", "spring_stiffness", "spring_reference"))),
    "mimic": (frozenset(), frozenset(("joint", "multiplier", "offset"))),
    "turn": (frozenset(), frozenset(("xyz", "lower", "upper"))),
}


def check_spelling(robot: Description, out: Collector) -> None:
    """Report elements and attributes that are probably misspelt; readers ignore unknown ones."""
    for part in (robot.root, *robot.root.children):
        if part.tag not in {"robot", "link", "joint"}:
            continue
        where = f"<{part.tag}>" if part is robot.root else f"{part.tag} {part.attributes.get('name', '')!r}"
        _check_element(part, where, out)
        if part is not robot.root:
            for child in part.children:
                _check_below(child, where, out)


def _check_below(element: Element, where: str, out: Collector) -> None:
    if element.tag not in _KNOWN or element.tag in {"robot", "link", "joint"}:
        return
    _check_element(element, where, out)
    if element.tag == "inertial":
        for child in element.children:
            _check_below(child, where, out)


def _check_element(element: Element, where: str, out: Collector) -> None:
    children, attributes = _KNOWN[element.tag]
    for child in element.children:
        near = slip(child.tag, children)
        if near:
            message = f"<{element.tag}> has an unknown element <{child.tag}>, which is ignored."
            out.add("unknown-element", "warning", where, message, f"Did you mean <{near}>?", child.line)
    for name in element.attributes:
        near = slip(name, attributes)
        if near:
            message = f"<{element.tag}> has an unknown attribute {name!r}, which is ignored."
            out.add("unknown-attribute", "warning", where, message, f"Did you mean {near!r}?", element.line)
