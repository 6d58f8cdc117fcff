# SPDX-License-Identifier: Apache-2.0
"""Elements of an MJCF document: includes, spelling, settings, and attributes with their default classes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.model.description import Description, Problem, Sink
from ada_dynamics.model.rotations import UNIT, Pose, about, clean_rotation, dot, length, product, shortest_turn
from ada_dynamics.robots.readers.values import ElementReader, parse_numbers, unknown_names
from ada_dynamics.robots.readers.xml import Element, parse_xml
from ada_dynamics.spatial.rotation import from_quaternion
from ada_dynamics.structured_text.files import read_file
from ada_dynamics.structured_text.lexical import BadNumber, near, slip

MAX_INCLUDE_DEPTH = 50  # depth of nested includes


def folder_of(file: str) -> Path | None:
    """Folder of a document for relative names; None for a text without file."""
    try:
        return Path(file).absolute().parent if Path(file).is_file() else None
    except (OSError, ValueError):
        return None


def expand_includes(root: Element, file: str, sink: Sink) -> None:
    """Replace each <include> by the children of the included file's root; each file can be included once.

    As in MuJoCo, a name is relative to the folder of the main file or else of the including file. For security it must
    be in the parent of the main file's folder or below it. A text without file includes nothing.

    Args:
        root: root element of the main document.
        file: name of the main document.
        sink: callback for problems.
    """
    folder = folder_of(file)
    chain = [Path(file).resolve()] if folder else []  # files that include each other
    met = set(chain)

    def expand(top: Element) -> None:
        pending = [top]
        while pending:
            element = pending.pop()
            if any(child.tag == "include" for child in element.children):
                element.children = [new for child in element.children for new in replaced(child)]
            pending.extend(element.children)

    def replaced(element: Element) -> list[Element]:
        if element.tag != "include":
            return [element]
        try:
            path = _included_file(element, folder, chain, met)
            inner = parse_xml(read_file(path), str(path))
        except ModelError as problem:
            sink(Problem("include", element.line, "<include>", str(problem), file=element.file))
            return []
        for one in inner.walk():
            one.file = str(path)
        met.add(path)
        chain.append(path)
        expand(inner)
        chain.pop()
        return inner.children

    expand(root)


def _included_file(element: Element, folder: Path | None, chain: list[Path], met: set[Path]) -> Path:
    """Return the file of an <include>; raise ModelError if it cannot be included."""
    name = element.attributes.get("file", "").strip()
    if not name:
        raise ModelError('has no file. Add file="...".')
    if folder is None:
        raise ModelError(f"includes {name[:80]!r}. A text has no folder: load the file by its path.")
    own = folder if element.file is None else Path(element.file).parent
    # without resolving symbolic links, which colcon uses in its folders
    places = [Path(os.path.normpath(place / name)) for place in (folder, own)]
    around = folder.parent if folder.parent != folder.parent.parent else folder  # not the whole file system
    inside = [place for place in places if place.is_relative_to(around)]
    if not inside:
        fix = "Move it to the folder of the main file or its parent."
        raise ModelError(f"includes {name[:80]!r}, which is outside of {around}. {fix}")
    path = next((place.resolve() for place in inside if place.is_file()), None)
    if path is None:
        looked = ", ".join(dict.fromkeys(map(str, inside)))
        raise ModelError(f"includes {name[:80]!r}, which does not exist. Searched: {looked}.")
    if path in chain:
        way = " -> ".join(one.name for one in [*chain[chain.index(path) :], path])
        raise ModelError(f"includes {name!r} in a cycle: {way}. Remove one of them.")
    if len(chain) > MAX_INCLUDE_DEPTH:
        raise ModelError(f"is nested too deeply. At most {MAX_INCLUDE_DEPTH} levels are allowed.")
    if path in met:
        raise ModelError(f"includes {name!r} again. Include each file once, as in MuJoCo.")
    return path


# --- spelling -----------------------------------------------------------------------------------------------------
def _read_words() -> dict[str, tuple[list[str], list[str] | None]]:
    """Read the known children and attributes by parent/element or by element."""
    _, *entries = re.split(r"\n(?=\S)", Path(__file__).with_name("words.txt").read_text(encoding="utf-8"))
    known = {}
    for entry in entries:
        key, _, words = entry.partition(":")
        children, mark, attributes = words.partition("|")
        known[key] = (children.split(), attributes.split() if mark else None)
    motors = known.pop("motors")
    tags = known["actuator"][0]
    return known | {f"{section}/{tag}": motors for section in ("actuator", "default") for tag in tags}


_KNOWN = _read_words()
_UNREAD = {"plugin", "composite", "flexcomp", "attach", "replicate", "config"}


def check_spelling(root: Element, robot: Description, sink: Sink) -> None:
    """Report misspelt elements and attributes, and list other unknown ones (of a newer MuJoCo) as left out."""
    pending = [(root, "mujoco")]
    while pending:
        element, key = pending.pop()
        children, attributes = _KNOWN[key]
        where = f"<{element.tag}>" + (f" {element.attributes['name']!r}" if element.attributes.get("name") else "")
        for at, what, name in unknown_names(element, children, attributes):
            if ":" in name:
                continue
            meant = slip(name, children if what == "element" else attributes or ())
            message = f"has an unknown {what} {f'<{name[:40]}>' if what == 'element' else repr(name[:40])}."
            code = f"unknown-{what}"
            if meant is not None:
                sink(Problem(code, at.line, where, message, f"Did you mean {meant!r}?", at.file))
            else:
                robot.left_out.append(Problem(code, at.line, where, f"{message} It is not read.", "", at.file))
        for child in element.children:
            found = next((one for one in (f"{element.tag}/{child.tag}", child.tag) if one in _KNOWN), None)
            if found is not None and child.tag in children and child.tag not in _UNREAD:
                pending.append((child, found))


# --- attributes and settings --------------------------------------------------------------------------------------
MAIN = "main"  # default class of elements without class

_SHORTEST = 1e-14  # MuJoCo's bound for directions


@dataclass
class MjcfSettings:
    """Settings of a document: units of angles, Euler sequence, default classes."""

    degrees: bool = True
    sequence: str = "xyz"
    autolimits: bool = True
    inertia_from_geoms: str = "auto"  # auto, true or false
    inertia_groups: tuple[int, int] = (0, 5)
    total_mass: float = -1.0
    least_mass: float = 0.0  # of every body [kg]
    least_inertia: float = 0.0  # principal moments of every body [kg m²]
    balances: bool = False  # balanceinertia: make impossible moments equal
    off: set[str] = field(default_factory=set)  # disabled by <flag>
    mesh_folder: str = ""
    strips_paths: bool = False  # strippath: use file names of meshes without folders
    defaults: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)  # class -> element -> attributes
    colours: dict[str, tuple[float, ...]] = field(default_factory=dict)  # of materials
    ground_friction: float = 1.0  # MuJoCo's default
    ground_margin: float = 0.0  # [m]

    def angle(self, value: float) -> float:
        """Convert an angle of the file to radians."""
        return float(np.radians(value)) if self.degrees else value


class MjcfValues(ElementReader):
    """Reads the attributes of an element with the defaults of its class."""

    def __init__(
        self,
        element: Element,
        where: str,  # body, joint or geom, for messages
        sink: Sink,
        settings: MjcfSettings,
        in_class: str = MAIN,  # default class of the enclosing elements
        family: str = "",  # tag of its defaults, if it differs from the element's tag
    ) -> None:
        """Look up the defaults of the element's class."""
        super().__init__(element, where, sink)
        self.settings = settings
        name = element.attributes.get("class", in_class)
        if name not in settings.defaults:
            known = list(settings.defaults)
            self.problem("class", f"has class={name[:40]!r}, which is not defined.", near(name, known))
            name = MAIN
        defaults: Mapping[str, str] = settings.defaults.get(name, {}).get(family or element.tag, {})
        self._own = {**defaults, **element.attributes}
        # An orientation of the element replaces that of the class, in any notation.
        if any(key in element.attributes for key in _ORIENTATIONS):
            hidden = set(_ORIENTATIONS) - element.attributes.keys()
            self._own = {key: value for key, value in self._own.items() if key not in hidden}

    def find(self, name: str) -> tuple[Element, str | None, str]:
        """Return the element, the attribute of it or of its class, and its label in messages."""
        return self.element, self._own.get(name), f"{name}="

    def refuse(self, name: str, fix: str) -> None:
        """Report a nonzero attribute that has no counterpart in models."""
        if self.has(name) and any(value != 0.0 for value in self.numbers(name)):
            self.problem("not-modelled", f"has {name}={self._own[name][:40]!r}, which is not modelled.", fix)

    def has(self, name: str) -> bool:
        """True if the element or its default class has the attribute."""
        return name in self._own

    def text(self, name: str, default: str = "") -> str:
        """Return the text of an attribute."""
        return self._own.get(name, default).strip()

    def word(self, name: str, default: str, allowed: Sequence[str]) -> str:
        """Return one of several keywords."""
        value = self.text(name, default)
        if value in allowed:
            return value
        self.problem("keyword", f"has {name}={value[:40]!r}.", f"{near(value, allowed)}Known: {', '.join(allowed)}.")
        return default

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a Boolean attribute."""
        return self.word(name, "true" if default else "false", ("true", "false")) == "true"

    def numbers(self, name: str, least: int = 1, most: int = 100) -> Array:
        """Return numbers separated by spaces, or `least` zeros after reporting a problem."""
        text = self._own.get(name, "")
        try:
            return parse_numbers(text, least, most)
        except BadNumber as reason:
            self.problem("not-a-number", f"{name}={text[:60]!r}: {reason}.", "Allowed: finite numbers and spaces.")
            return np.zeros(least)

    def direction(self, name: str, default: Sequence[float]) -> Array:
        """Return a nonzero vector."""
        value = self.vector(name, default)
        if float(np.linalg.norm(value)) < _SHORTEST:
            self.problem("zero-axis", f"has {name} of length zero.", "Give a direction such as 0 0 1.")
            return np.array(default, dtype=float)
        return value

    # --- poses --------------------------------------------------------------------------------------------------
    def pose(self) -> Pose:
        """Read position and orientation."""
        return self.orientation(), self.vector("pos", (0.0, 0.0, 0.0))

    def orientation(self) -> Array:
        """Read the orientation in any notation."""
        given = [name for name in _ORIENTATIONS if self.has(name)]
        if len(given) > 1:
            self.problem("two-orientations", f"has both {given[0]!r} and {given[1]!r}.", "Keep one of them.")
        notation = given[0] if given else ""
        if notation == "quat":
            return rotation_of(self.direction("quat", (1.0, 0.0, 0.0, 0.0)))
        if notation == "euler":
            return self.turned_by(self.vector("euler", (0.0, 0.0, 0.0)))
        if notation == "zaxis":
            return shortest_turn(np.array([0.0, 0.0, 1.0]), self.direction("zaxis", (0.0, 0.0, 1.0)))
        if notation == "axisangle":
            *axis, angle = self.vector("axisangle", (0.0, 0.0, 1.0, 0.0)).tolist()
            if float(np.linalg.norm(axis)) >= _SHORTEST:
                return about(np.array(axis), self.settings.angle(angle))
            self.problem("zero-axis", "has an axisangle with an axis of length zero.", "Give a direction.")
        return self._from_xyaxes() if notation == "xyaxes" else UNIT

    def turned_by(self, angles: Array) -> Array:
        """Rotation by three Euler angles of the document's unit and sequence."""
        R: Array = UNIT
        for letter, angle in zip(self.settings.sequence, angles, strict=True):
            turn = about(np.eye(3)["xyz".index(letter.lower())], self.settings.angle(float(angle)))
            # Small letters are rotations about moving axes, capital letters about fixed axes.
            R = product(R, turn) if letter.islower() else product(turn, R)
        return clean_rotation(R)

    def _from_xyaxes(self) -> Array:
        values = self.vector("xyaxes", (1.0, 0.0, 0.0, 0.0, 1.0, 0.0))
        x = values[:3] / max(length(values[:3]), _SHORTEST)
        y = values[3:] - x * dot(x, values[3:])
        if length(values[:3]) < _SHORTEST or length(y) < _SHORTEST:
            self.problem("zero-axis", "has xyaxes that span no plane.", "Give two directions that are not parallel.")
            return UNIT
        y = y / length(y)
        return clean_rotation(np.column_stack([x, y, np.cross(x, y)]))


def rotation_of(quaternion: Array) -> Array:
    """Rotation matrix of a quaternion w, x, y, z of any length."""
    w, x, y, z = quaternion.tolist()
    return UNIT if x == y == z == 0.0 else clean_rotation(np.array(from_quaternion(x, y, z, w)))


_ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


_LETTERS = set("xyzXYZ")
_CONSTRAINTS = ("equality", "frictionloss", "limit")
_PASSIVE = ("spring", "damper")
ACTUATOR = "actuator"  # <general>, <motor>, <position>, ... of a class share their defaults
_ACTUATORS = {"general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "pid"}
_ACTUATORS |= {"orientation", "dcmotor", "adhesion"}
_FLAGS = {"constraint": _CONSTRAINTS, "passive": _PASSIVE, **{name: (name,) for name in (*_CONSTRAINTS, *_PASSIVE)}}


def read_settings(root: Element, robot: Description, sink: Sink) -> MjcfSettings:
    """Read the settings of a document; gravity is stored in the description."""
    settings = MjcfSettings()
    settings.defaults[MAIN] = {}
    for element in root.all("compiler"):
        _read_compiler(MjcfValues(element, "<compiler>", sink, settings))
    for element in root.all("default"):
        _read_default(element, MAIN, settings, sink, is_top=True)
    for element in root.all("option"):
        _read_option(MjcfValues(element, "<option>", sink, settings), robot)
    return settings


def _read_compiler(values: MjcfValues) -> None:
    settings = values.settings
    unit = values.word("angle", "degree" if settings.degrees else "radian", ("degree", "radian"))
    settings.degrees = unit == "degree"
    sequence = values.text("eulerseq", settings.sequence)
    if len(sequence) == 3 and set(sequence) <= _LETTERS:
        settings.sequence = sequence
    else:
        values.problem("keyword", f"has eulerseq={sequence[:40]!r}.", "Three letters out of x, y, z, X, Y, Z.")
    settings.autolimits = values.flag("autolimits", settings.autolimits)
    choices = ("auto", "true", "false")
    settings.inertia_from_geoms = values.word("inertiafromgeom", settings.inertia_from_geoms, choices)
    if values.has("inertiagrouprange"):
        low, high = values.numbers("inertiagrouprange", 2, 2).tolist()
        settings.inertia_groups = (int(low), int(high))
    settings.total_mass = values.number("settotalmass", settings.total_mass)
    settings.least_mass = values.number("boundmass", settings.least_mass)
    settings.least_inertia = values.number("boundinertia", settings.least_inertia)
    settings.balances = values.flag("balanceinertia", settings.balances)
    settings.mesh_folder = values.text("meshdir", values.text("assetdir", settings.mesh_folder))
    settings.strips_paths = values.flag("strippath", settings.strips_paths)
    if values.flag("alignfree"):
        values.problem("not-modelled", "has alignfree, which moves the frames of free bodies.", "Set it to false.")
    if values.text("coordinate", "local") != "local":
        values.problem("not-modelled", "has global coordinates.", "Convert the model with a newer MuJoCo.")


def _read_option(values: MjcfValues, robot: Description) -> None:
    settings = values.settings
    if values.has("gravity"):
        x, y, z = values.vector("gravity", (0.0, 0.0, -9.81)).tolist()
        robot.gravity = (x, y, z)
    for name in ("density", "viscosity", "wind"):
        values.refuse(name, "Set it to zero; fluids are not modelled.")
    for flag in values.element.all("flag"):
        off = {name for name, value in flag.attributes.items() if value.strip() == "disable"}
        settings.off |= {one for name in off for one in _FLAGS.get(name, ())}
        if "gravity" in off:
            robot.gravity = (0.0, 0.0, 0.0)
    if settings.off:
        robot.notes.append(f"<flag> disables {', '.join(sorted(settings.off))}, which are left out.")


def _read_default(element: Element, parent: str, settings: MjcfSettings, sink: Sink, is_top: bool = False) -> None:
    """Read a default class, which inherits from its parent class."""
    name = element.attributes.get("class", MAIN if is_top else "").strip()
    if not name or (name in settings.defaults and not is_top):
        message = f"its class {name!r} is defined twice." if name else "it has no class."
        sink(Problem("class", element.line, "<default>", message, 'Give each a unique class="...".', element.file))
        return
    inherited = settings.defaults.get(parent, {})
    own = settings.defaults.setdefault(name, {tag: dict(values) for tag, values in inherited.items()})
    if is_top:
        settings.defaults[MAIN] = own  # the outermost class may have another name
    for child in element.children:
        if child.tag != "default":
            own.setdefault(ACTUATOR if child.tag in _ACTUATORS else child.tag, {}).update(child.attributes)
    for child in element.all("default"):
        _read_default(child, name, settings, sink)
