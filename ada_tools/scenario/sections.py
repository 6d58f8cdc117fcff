# SPDX-License-Identifier: Apache-2.0
"""Sections of a scenario: model, simulation, controller, disturbances, claims, statements and figures.

The format is described in docs/reproduce.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, TypeAlias, cast

from ada_dynamics.model.description import BASES
from ada_dynamics.simulation import profiles
from ada_dynamics.simulation.methods import DEFAULT, METHODS
from ada_dynamics.simulation.profiles import WrenchProfile
from ada_dynamics.structured_text.nodes import ScalarNode
from ada_tools.scenario import units
from ada_tools.scenario.claims import Relation
from ada_tools.scenario.fields import Part

PLANES = ("xz", "xy", "yz", "3d")
STRIP = 5  # snapshots per row
PULSES: Mapping[str, Callable[..., WrenchProfile]] = {"half_sine": profiles.half_sine, "rectangle": profiles.rectangle}
CONSTANT = "constant"
KINDS = (*PULSES, CONSTANT)
RELATIONS = ("<=", ">=", "==", "~")
WRENCH = (units.FORCE,) * 3 + (units.MOMENT,) * 3
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_START = ("joints", "velocity", "close", "hold", "centre_of_mass")
_REFERENCE = ("joints", "velocity", "pose")
_POSE = ("position", "rpy")
_CONTACT = ("soles", "points", "spheres", "ground", "material")
_DISTURBANCE = ("kind", "link", "wrench", "start", "duration", "frame", "at")
_CLAIM = ("claim", "measure", "quantity", "limit", "relation", "within", "with", "note")
_STATEMENT = ("statement", "document", "place", "why", *_CLAIM[1:])
_FIGURE = ("file", "like", "panels", "columns", "snapshots", "plane", "animation", "with")
Numbers = tuple[float, ...]
AUTO: Final = "auto"
NO_STOPS = "none"
# Joint stops: stiffness and damping, automatic, or none.
Stops: TypeAlias = tuple[float, float] | Literal["auto"] | None


def keys_of(section: type[Any]) -> tuple[str, ...]:
    """Keys of a section that are the fields of its class."""
    return tuple(one.name for one in fields(section))


@dataclass(frozen=True)
class ModelPart:
    """Robot of a scenario.

    Attributes:
        robot: catalogue name, or file path relative to the scenario.
        base: "fixed", "floating" or "floating_euler"; None for the default of the catalogue.
        loops: file of loop joints, relative to the scenario.
        gravity: [m/s²]; None for the value of the robot file.
        arguments: xacro arguments.
        masses: replaced link masses, with proportional inertias [kg].
    """

    robot: str
    base: str | None = None
    loops: str | None = None
    gravity: Numbers | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    masses: Mapping[str, float] = field(default_factory=dict)


def read_model(top: Part) -> ModelPart | None:
    """Section model; None without it."""
    if not top.has("model"):
        return None
    part = top.part("model", keys_of(ModelPart))
    masses = part.part("masses", None)
    arguments = part.part("arguments", None)
    return ModelPart(
        robot=part.text("robot"),
        base=part.choice("base", tuple(BASES), "") if part.has("base") else None,
        loops=part.text("loops") if part.has("loops") else None,
        gravity=part.vector("gravity", (units.ACCELERATION,) * 3) if part.has("gravity") else None,
        arguments={key: arguments.text(key) for key in arguments.keys()},  # noqa: SIM118
        masses={link: masses.positive(link, units.MASS) for link in masses.keys()},  # noqa: SIM118
    )


def read_start(top: Part) -> Part:
    """Section start, which is evaluated with the model."""
    part = top.part("start", _START)
    part.part("joints", None)
    part.part("velocity", None)
    part.flag("close")
    part.texts("hold")
    part.choice("centre_of_mass", ("at rest", "as given"), "as given")
    return part


@dataclass(frozen=True)
class SimulationPart:
    """Integration settings, as the arguments of `ada.Simulation`."""

    integrator: str
    step: float  # [s]
    duration: float  # [s]
    algorithm: str
    hybrid: tuple[str, ...]  # joints at which the algorithm hybrid cuts
    tolerance: float
    log_every: int
    efforts: Part  # constant efforts by joint
    contact: Part | None
    stops: Stops


def read_simulation(top: Part) -> SimulationPart | None:
    """Section simulation; None without it."""
    if not top.has("simulation"):
        return None
    part = top.part("simulation", keys_of(SimulationPart))
    step = part.positive("step", units.TIME, 1e-3)
    duration = part.positive("duration", units.TIME)
    if duration < step:
        raise part.problem("duration", f"it is {duration:g} s, less than one step of {step:g} s.")
    return SimulationPart(
        integrator=part.choice("integrator", tuple(METHODS), DEFAULT),
        step=step,
        duration=duration,
        algorithm=part.text("algorithm", "auto"),
        hybrid=part.texts("hybrid"),
        tolerance=part.positive("tolerance", units.NUMBER, 1e-10),
        log_every=part.whole("log_every", 1),
        efforts=part.part("efforts", None),
        contact=part.part("contact", _CONTACT) if part.has("contact") else None,
        stops=_stops(part),
    )


def _stops(part: Part) -> Stops:
    if not part.has("stops") or isinstance(part.node("stops"), ScalarNode):
        if part.choice("stops", (AUTO, NO_STOPS), AUTO) == NO_STOPS:
            return None
        return AUTO
    stops = part.part("stops", ("stiffness", "damping"))
    return stops.positive("stiffness", units.TURNING_STIFFNESS), stops.quantity("damping", units.TURNING_DAMPING, 0.0)


@dataclass(frozen=True)
class ControlPart:
    """Controller of the motors.

    Attributes:
        name: controller name, see `ada_controllers.registry`.
        settings: controller settings.
        shaping: command limits.
        period: control period [s].
        robot: catalogue name of the robot model of the controller; None for the simulated robot.
        reference: reference; the initial state if empty.
    """

    name: str
    settings: Mapping[str, Any]
    shaping: Mapping[str, Any]
    period: float
    robot: str | None
    reference: Part


def read_control(top: Part, simulation: SimulationPart | None) -> ControlPart | None:
    """Section controller; None without it."""
    if not top.has("controller") or simulation is None:
        return None
    part = top.part("controller", keys_of(ControlPart))
    reference = part.part("reference", _REFERENCE)
    if reference.has("pose") and (reference.has("joints") or reference.has("velocity")):
        raise reference.problem("pose", "a reference has either a pose or joints.")
    reference.part("joints", None)
    reference.part("velocity", None)
    if reference.has("pose"):
        pose = reference.part("pose", _POSE)
        pose.vector("position", (units.LENGTH,) * 3)
        if pose.has("rpy"):
            pose.vector("rpy", (units.ANGLE,) * 3)
    return ControlPart(
        name=part.text("name"),
        settings=part.part("settings", None).plain(),
        shaping=part.part("shaping", None).plain(),
        period=part.positive("period", units.TIME, simulation.step),
        robot=part.text("robot") if part.has("robot") else None,
        reference=reference,
    )


def read_disturbances(top: Part) -> tuple[WrenchProfile, ...]:
    """Section disturbances."""
    return tuple(_disturbance(part) for part in top.parts("disturbances", _DISTURBANCE))


def _disturbance(part: Part) -> WrenchProfile:
    kind = part.choice("kind", KINDS, KINDS[0])
    link, wrench = part.text("link"), part.vector("wrench", WRENCH)
    start = part.quantity("start", units.TIME, 0.0)
    duration = 0.0 if kind == CONSTANT else part.positive("duration", units.TIME)
    frame = part.choice("frame", profiles.FRAMES, profiles.FRAMES[0])
    at = part.vector("at", (units.LENGTH,) * 3) if part.has("at") else (0.0, 0.0, 0.0)
    if kind == CONSTANT:
        return profiles.constant(link, wrench, frame=frame, at=at)
    return PULSES[kind](link, wrench, start, duration, frame=frame, at=at)


@dataclass(frozen=True)
class ClaimPart:
    """A claim: a measure of the motion, or a quantity of the experiment, and its limit.

    `changes` define the variant of the scenario.
    """

    text: str
    measure: str
    quantity: str
    limit: float
    relation: Relation
    within: float | None
    units: tuple[str, str]  # of limit and tolerance, as written; "" for those of the measure
    changes: Mapping[str, Any]
    note: str
    place: str  # file and line, for messages


@dataclass(frozen=True)
class StatementPart(ClaimPart):
    """A claim made by a document.

    Attributes:
        document: cited document.
        where: chapter, equation, figure or table.
        why: reason why the simulation does not confirm it; empty if it does.
    """

    document: str
    where: str
    why: str


@dataclass(frozen=True)
class FigurePart:
    """A figure: time plots, or snapshots of the motion."""

    file: str
    like: str
    panels: tuple[str, ...]
    columns: int
    snapshots: int
    plane: str
    animation: bool
    changes: Mapping[str, Any]
    place: str


def read_claims(top: Part) -> tuple[ClaimPart, ...]:
    """Section claims."""
    parts = top.parts("claims", _CLAIM)
    return tuple(ClaimPart(text=part.text("claim"), **_judged(part, top)) for part in parts)


def _judged(part: Part, top: Part) -> dict[str, Any]:
    """Common fields of claims and statements."""
    if part.has("measure") == part.has("quantity"):
        raise part.problem("measure", "give either measure: NAME, or quantity: NAME of the experiment.")
    for key, source in (("measure", "simulation"), ("quantity", "experiment")):
        if part.has(key) and not top.has(source):
            raise part.problem(key, f"the scenario has no {source}.")
    limit, unit = part.number_and_unit("limit")
    within, unit_of_within = part.number_and_unit("within") if part.has("within") else (None, "")
    return {
        "measure": part.text("measure", ""),
        "quantity": part.text("quantity", ""),
        "limit": limit,
        "relation": cast(Relation, part.choice("relation", RELATIONS, RELATIONS[0])),
        "within": within,
        "units": (unit, unit_of_within),
        "changes": _changes(part),
        "note": part.text("note", ""),
        "place": part.place,
    }


def read_statements(top: Part) -> tuple[StatementPart, ...]:
    """Section statements."""
    document = top.text("source", "").partition(",")[0]
    return tuple(
        StatementPart(
            text=part.text("statement"),
            document=part.text("document", document),
            where=part.text("place"),
            why=part.text("why", ""),
            **_judged(part, top),
        )
        for part in top.parts("statements", _STATEMENT)
    )


def _changes(part: Part) -> dict[str, Any]:
    return part.part("with", None).plain()


def read_figures(top: Part) -> tuple[FigurePart, ...]:
    """Section figures."""
    found: list[FigurePart] = []
    for part in top.parts("figures", _FIGURE):
        file = part.text("file")
        if not FILE_NAME.fullmatch(file) or file in {figure.file for figure in found}:
            raise part.problem(
                "file", f"{file[:60]!r} is not allowed: give a unique name without folder and extension."
            )
        panels, snapshots = part.texts("panels"), part.whole("snapshots", 0, least=0)
        if bool(panels) == bool(snapshots):
            raise part.problem("panels", "a figure has either panels: [...] or snapshots: NUMBER.")
        found.append(
            FigurePart(
                file=file,
                like=part.text("like", ""),
                panels=panels,
                columns=part.whole("columns", STRIP if snapshots else 2),
                snapshots=snapshots,
                plane=part.choice("plane", PLANES, PLANES[0]),
                animation=part.flag("animation"),
                changes=_changes(part),
                place=part.place,
            )
        )
    return tuple(found)
