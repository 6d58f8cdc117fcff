# SPDX-License-Identifier: Apache-2.0
"""Expansion of <include> and <replicate> in MJCF, and a check of the spelling."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.model.description import Description
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.model.rotations import NO_MOVE, compose
from ada_dynamics.robots.readers.mjcf.values import MAIN, MjcfSettings, MjcfValues
from ada_dynamics.robots.readers.xml import Element, parse_xml
from ada_dynamics.structured_text.files import read_file
from ada_dynamics.structured_text.lexical import slip

MAX_INCLUDE_DEPTH = 50  # depth of nested includes


def folder_of(file: str) -> Path | None:
    """Folder of a document for relative names; None for a text without file."""
    try:
        return Path(file).absolute().parent if Path(file).is_file() else None
    except (OSError, ValueError):
        return None


class Includes:
    """Replaces <include> by the children of the included file's root; each file can be included once.

    As in MuJoCo, a name is relative to the folder of the main file or else of the including file. For security it must
    be in the parent of the main file's folder or below it. A text without file includes nothing.
    """

    def __init__(self, file: str, sink: Sink) -> None:
        """Args: name of the main document, and the callback for problems."""
        self._file, self._sink = file, sink
        self._folder = folder_of(file)
        self._chain = [Path(file).resolve()] if self._folder else []
        self._met = set(self._chain)

    def expand(self, root: Element) -> None:
        """Expand all includes below an element."""
        pending = [root]
        while pending:
            element = pending.pop()
            if any(child.tag == "include" for child in element.children):
                element.children = [new for child in element.children for new in self._of(child)]
            pending.extend(element.children)

    def _of(self, element: Element) -> list[Element]:
        """Return the element, or the content of the file that it includes."""
        if element.tag != "include":
            return [element]
        name = element.attributes.get("file", "").strip()
        if not name:
            return self._refuse(element, "has no file.", 'Add file="...".')
        path = self._find(element, name)
        if path is None:
            return []
        if path in self._chain:
            way = " -> ".join(one.name for one in [*self._chain[self._chain.index(path) :], path])
            return self._refuse(element, f"includes {name!r} in a cycle: {way}.", "Remove one of them.")
        if len(self._chain) > MAX_INCLUDE_DEPTH:
            fix = f"At most {MAX_INCLUDE_DEPTH} levels are allowed."
            return self._refuse(element, "is nested too deeply.", fix)
        if path in self._met:
            return self._refuse(element, f"includes {name!r} again.", "Include each file once, as in MuJoCo.")
        return self._content(element, path)

    def _content(self, element: Element, path: Path) -> list[Element]:
        try:
            root = parse_xml(read_file(path), str(path))
        except ModelError as problem:
            return self._refuse(element, f"cannot be read: {problem}", "")
        for inner in root.walk():
            inner.file = str(path)
        self._met.add(path)
        self._chain.append(path)
        found = []
        for child in root.children:
            for one in self._of(child):
                self.expand(one)
                found.append(one)
        self._chain.pop()
        return found

    def _find(self, element: Element, name: str) -> Path | None:
        if self._folder is None:
            fix = "A text has no folder: load the file by its path."
            self._refuse(element, f"includes {name[:80]!r}.", fix)
            return None
        own = self._folder if element.file is None else Path(element.file).parent
        # without resolving symbolic links, which colcon uses in its folders
        places = [Path(os.path.normpath(folder / name)) for folder in (self._folder, own)]
        above = self._folder.parent
        around = above if above != above.parent else self._folder  # not the whole file system
        inside = [place for place in places if place.is_relative_to(around)]
        if not inside:
            fix = "Move it to the folder of the main file or its parent."
            self._refuse(element, f"includes {name[:80]!r}, which is outside of {around}.", fix)
            return None
        for place in inside:
            if place.is_file():
                return place.resolve()
        looked = ", ".join(dict.fromkeys(map(str, inside)))
        self._refuse(element, f"includes {name[:80]!r}, which does not exist.", f"Searched: {looked}.")
        return None

    def _refuse(self, element: Element, message: str, fix: str) -> list[Element]:
        self._sink(Problem("include", element.line, "<include>", message, fix, element.file))
        return []


MOST_COPIES = 10_000  # of one <replicate>
MOST_ELEMENTS = 100_000  # of all copies in a document, as nested replicates grow exponentially


def expand_replicates(root: Element, settings: MjcfSettings, sink: Sink) -> None:
    """Expand all <replicate>s below an element, inner ones first.

    Each copy is in a frame of its own, and a number is appended to its names.
    """
    left = MOST_ELEMENTS
    for element in reversed(list(root.walk())):
        if not any(child.tag == "replicate" for child in element.children):
            continue
        written: list[Element] = []
        for child in element.children:
            copies = _copies(child, settings, sink, left) if child.tag == "replicate" else [child]
            written += copies
            left -= sum(1 for copy in copies for _ in copy.walk()) if child.tag == "replicate" else 0
        element.children = written


def _copies(element: Element, settings: MjcfSettings, sink: Sink, most: int) -> list[Element]:
    values = MjcfValues(element, "<replicate>", sink, settings, MAIN)
    count = int(values.number("count", 0.0))
    if not 0 < count <= MOST_COPIES:
        values.problem("keyword", f"has count={values.text('count')!r}.", f"A number from 1 to {MOST_COPIES}.")
        return []
    if count * sum(1 for _ in element.walk()) > most:
        fix = f"All copies together have at most {MOST_ELEMENTS} elements."
        values.problem("keyword", "makes too many copies.", fix)
        return []
    offset, turns = values.vector("offset", (0.0, 0.0, 0.0)), values.vector("euler", (0.0, 0.0, 0.0))
    digits, separator = len(str(count)), values.text("sep")
    result, place = [], NO_MOVE
    for i in range(count):
        # copy i is rotated by i times the angles, and translated by i offsets, each in the frame of the previous copy
        frame = _copy_frame(element, values.turned_by(i * turns), place[1])
        frame.children = [_renamed(child, f"{separator}{i:0{digits}d}") for child in element.children]
        result.append(frame)
        place = compose(place, (values.turned_by(turns), offset))
    return result


def _copy_frame(element: Element, R: Array, p: Array) -> Element:
    x_and_y = np.concatenate([R[:, 0], R[:, 1]])
    attributes = {"pos": " ".join(map(repr, p.tolist())), "xyaxes": " ".join(map(repr, x_and_y.tolist()))}
    if "childclass" in element.attributes:
        attributes["childclass"] = element.attributes["childclass"]
    frame = Element("frame", attributes, element.line)
    frame.file = element.file
    return frame


def _renamed(element: Element, ending: str) -> Element:
    attributes = dict(element.attributes)
    if attributes.get("name"):
        attributes["name"] += ending
    copy = Element(element.tag, attributes, element.line)
    copy.file, copy.text = element.file, element.text
    copy.children = [_renamed(child, ending) for child in element.children]
    return copy


_TURNS = "quat axisangle euler xyaxes zaxis"
_PLACE = f"name class pos {_TURNS}"
_SOFT = "solreflimit solimplimit solreffriction solimpfriction margin"
_EFFORT = "actuatorfrcrange actuatorfrclimited range limited stiffness damping frictionloss armature springyield"
_TENDON = f"name class group user width material rgba springlength {_SOFT} {_EFFORT}"
_EQUALITY = "name class active solref solimp"
_ENDS = "body1 body2 site1 site2 anchor"
_BODY = "inertial joint freejoint geom attach site camera light plugin composite flexcomp body frame replicate"
_MOTORS = "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion dcmotor plugin"
_MOTOR = (
    "name class group joint jointinparent tendon site refsite body cranksite slidersite cranklength gear lengthrange "
    "ctrlrange ctrllimited forcerange forcelimited actrange actlimited actdim actearly armature damping delay interp "
    "nsample user input inheritrange dyntype gaintype biastype dynprm gainprm biasprm ffrange velrange posrange kp kv "
    "ki imax slewmax dampratio timeconst tausmooth area diameter bias scale force range lmin lmax vmax fpmax fvmax "
    "gain motorconst resistance inductance nominal saturation thermal cogging lugre controller plugin instance"
)
# Children and attributes of elements that are read; None: no check.
_KNOWN: dict[str, tuple[str, str | None]] = {
    "mujoco": (
        "compiler option size statistic visual default extension asset worldbody deformable contact tendon equality "
        "actuator sensor custom keyframe include",
        None,
    ),
    "compiler": (
        "lengthrange",
        "alignfree angle assetdir autolimits balanceinertia boundinertia boundmass conflict convexhull coordinate "
        "discardvisual eulerseq exactmeshinertia fitaabb fusestatic inertiafromgeom inertiagrouprange meshdir "
        "passthrough savecanonical savecompiled saveinertial settotalmass strippath texturedir usethread",
    ),
    "option": (
        "flag",
        "timestep gravity wind magnetic density viscosity impratio integrator cone jacobian solver iterations "
        "tolerance ls_iterations ls_tolerance noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance "
        "mpr_iterations mpr_tolerance sdf_iterations sdf_initpoints sleep_tolerance o_margin o_solref o_solimp "
        "o_friction collision apirate actuatorgroupdisable",
    ),
    "flag": (
        "",
        "constraint equality frictionloss limit contact passive spring damper gravity clampctrl warmstart filterparent "
        "actuation refsafe sensor midphase nativeccd eulerdamp autoreset island override energy fwdinv invdiscrete "
        "multiccd sleep diagexact ipc speculative",
    ),
    "asset": ("mesh hfield skin texture material model", None),
    "asset/mesh": (
        "plugin",
        "name class file content_type scale inertia refpos refquat vertex normal texcoord face builtin params "
        "smoothnormal maxhullvert material",
    ),
    "default": (
        f"default mesh texture material joint geom site camera light pair equality tendon {_MOTORS}",
        "class",
    ),
    "worldbody": (_BODY, None),
    "body": (_BODY, f"name childclass pos {_TURNS} mocap gravcomp fuse simple sleep user"),
    "frame": (_BODY, f"name childclass pos {_TURNS} scale massscale"),
    "replicate": (_BODY, "count sep offset euler childclass"),
    "inertial": ("", f"pos {_TURNS} mass diaginertia fullinertia"),
    "joint": ("", f"name class type pos axis ref springref springdamper group user actuatorgravcomp {_SOFT} {_EFFORT}"),
    "freejoint": ("", "name group align"),
    "geom": (
        "plugin",
        f"{_PLACE} type size fromto mass density shellinertia mesh hfield fitscale material rgba group user contype "
        "conaffinity condim priority friction solmix solref solimp margin gap adhesion surfacevel fluidshape fluidcoef "
        "castshadow",
    ),
    "site": ("", f"{_PLACE} type size fromto material mesh rgba group user"),
    "equality": ("connect weld joint tendon flex flexvert flexstrain distance", None),
    "equality/connect": ("", f"{_EQUALITY} {_ENDS}"),
    "equality/weld": ("", f"{_EQUALITY} {_ENDS} relpose torquescale"),
    "equality/joint": ("", f"{_EQUALITY} joint1 joint2 polycoef"),
    "equality/tendon": ("", f"{_EQUALITY} tendon1 tendon2 polycoef"),
    "default/equality": ("", _EQUALITY),
    "default/tendon": ("", _TENDON),
    "tendon": ("spatial fixed", None),
    "tendon/spatial": ("site geom pulley", _TENDON),
    "tendon/fixed": ("joint", _TENDON),
    "fixed/joint": ("", "joint coef"),
    "spatial/site": ("", "site"),
    "spatial/geom": ("", "geom sidesite"),
    "actuator": (_MOTORS, None),
    **{f"{section}/{tag}": ("config", _MOTOR) for section in ("actuator", "default") for tag in _MOTORS.split()},
}
_UNREAD = {"plugin", "composite", "flexcomp", "attach", "config"}


def check_spelling(root: Element, robot: Description, sink: Sink) -> None:
    """Report misspelt elements and attributes, and list other unknown ones (of a newer MuJoCo) as left out."""
    pending = [(root, "mujoco")]
    while pending:
        element, key = pending.pop()
        children, attributes = _KNOWN[key]
        for name in element.attributes if attributes is not None else ():
            _check(name, (attributes or "").split(), "attribute", element, element, robot, sink)
        for child in element.children:
            if child.tag not in children.split():
                _check(child.tag, children.split(), "element", child, element, robot, sink)
                continue
            found = next((one for one in (f"{element.tag}/{child.tag}", child.tag) if one in _KNOWN), None)
            if found is not None and child.tag not in _UNREAD:
                pending.append((child, found))


def _check(
    name: str, known: list[str], what: str, at: Element, inside: Element, robot: Description, sink: Sink
) -> None:
    """Check an element in another one, or an attribute."""
    if name in known or ":" in name:
        return
    where = f"<{inside.tag}>" + (f" {inside.attributes['name']!r}" if inside.attributes.get("name") else "")
    meant = slip(name, known)
    said = f"<{name[:40]}>" if what == "element" else repr(name[:40])
    message = f"has an unknown {what} {said}."
    if meant is not None:
        sink(Problem(f"unknown-{what}", at.line, where, message, f"Did you mean {meant!r}?", at.file))
    else:
        robot.left_out.append(Problem(f"unknown-{what}", at.line, where, f"{message} It is not read.", "", at.file))
