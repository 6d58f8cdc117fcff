# SPDX-License-Identifier: Apache-2.0
"""MJCF's <compiler>, <option> and <default>: what changes the meaning of all that follows."""

from __future__ import annotations

from ada_dynamics.model.description import Description
from ada_dynamics.model.problems import Problem, Sink
from ada_dynamics.robots.readers.mjcf.values import MAIN, Settings, Values
from ada_dynamics.robots.readers.xml import Element

_LETTERS = set("xyzXYZ")
_CONSTRAINTS = ("equality", "frictionloss", "limit")
_PASSIVE = ("spring", "damper")
ACTUATOR = "actuator"  # family of defaults: those of <general> are those of <motor>, <position>, ... of the class
_FAMILIES = dict.fromkeys(
    (
        *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "pid"),
        *("orientation", "dcmotor"),
    ),
    ACTUATOR,
)
_FLAGS = {"constraint": _CONSTRAINTS, "passive": _PASSIVE, **{name: (name,) for name in (*_CONSTRAINTS, *_PASSIVE)}}


def read_settings(root: Element, robot: Description, sink: Sink) -> Settings:
    """Settings of a document; gravity goes to the robot."""
    settings = Settings()
    settings.defaults[MAIN] = {}
    for element in root.all("compiler"):
        _read_compiler(Values(element, "<compiler>", sink, settings), settings)
    for element in root.all("default"):
        _read_default(element, MAIN, settings, sink, is_top=True)
    for element in root.all("option"):
        _read_option(Values(element, "<option>", sink, settings), settings, robot)
    return settings


def _read_compiler(values: Values, settings: Settings) -> None:
    settings.degrees = (
        values.word("angle", "degree" if settings.degrees else "radian", ("degree", "radian")) == "degree"
    )
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
        values.problem("not-modelled", "has global coordinates.", "Save the model anew with a newer MuJoCo.")


def _read_option(values: Values, settings: Settings, robot: Description) -> None:
    if values.has("gravity"):
        x, y, z = values.vector("gravity", (0.0, 0.0, -9.81)).tolist()
        robot.gravity = (x, y, z)
    for name in ("density", "viscosity", "wind"):
        values.refuse(name, "There is no fluid here: set it to zero.")
    for flag in values.element.all("flag"):
        off = {name for name, value in flag.attributes.items() if value.strip() == "disable"}
        settings.off |= {one for name in off for one in _FLAGS.get(name, ())}
        if "gravity" in off:
            robot.gravity = (0.0, 0.0, 0.0)
    if settings.off:
        robot.notes.append(
            f"<flag> disables {', '.join(sorted(settings.off))}: what the file has of these is left out."
        )


def _read_default(element: Element, parent: str, settings: Settings, sink: Sink, is_top: bool = False) -> None:
    """A class has what its parent has, but for what it says itself."""
    name = element.attributes.get("class", MAIN if is_top else "").strip()
    if not name or (name in settings.defaults and not is_top):
        message = f"its class {name!r} is defined twice." if name else "it has no class."
        sink(Problem("class", element.line, "<default>", message, 'Give each its own class="...".', element.file))
        return
    inherited = settings.defaults.get(parent, {})
    own = settings.defaults.setdefault(name, {tag: dict(values) for tag, values in inherited.items()})
    if is_top:
        settings.defaults[MAIN] = own  # the outermost class may have another name
    for child in element.children:
        if child.tag != "default":
            own.setdefault(_FAMILIES.get(child.tag, child.tag), {}).update(child.attributes)
    for child in element.all("default"):
        _read_default(child, name, settings, sink)
