# SPDX-License-Identifier: Apache-2.0
"""Read scenarios from YAML or JSON files, from data, or by name from the published ones."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from ada_dynamics.errors import InputError, ModelError, unknown_name
from ada_dynamics.model.description import BASES
from ada_dynamics.simulation import profiles
from ada_dynamics.simulation.methods import DEFAULT, METHODS
from ada_dynamics.simulation.profiles import WrenchProfile
from ada_dynamics.structured_text import files
from ada_dynamics.structured_text.nodes import Node, ScalarNode, from_object
from ada_tools.scenario import units
from ada_tools.scenario.claims import Relation
from ada_tools.scenario.fields import Part, ScenarioError
from ada_tools.scenario.registry import published
from ada_tools.scenario.scenario import (
    AUTO,
    NO_STOPS,
    ClaimPart,
    ControlPart,
    FigurePart,
    ModelPart,
    Scenario,
    SimulationPart,
    StatementPart,
    Stops,
)

ENDINGS = (".yaml", ".yml", ".json")

PLANES = ("xz", "xy", "yz", "3d")
STRIP = 5  # snapshots per row
PULSES: Mapping[str, Callable[..., WrenchProfile]] = {"half_sine": profiles.half_sine, "rectangle": profiles.rectangle}
CONSTANT = "constant"
KINDS = (*PULSES, CONSTANT)
RELATIONS = ("<=", ">=", "==", "~")
WRENCH = (units.FORCE,) * 3 + (units.MOMENT,) * 3

_TOP = (
    "name",
    "title",
    "source",
    "model",
    "start",
    "simulation",
    "controller",
    "disturbances",
    "claims",
    "statements",
    "figures",
    "experiment",
    "settings",
    "notes",
    "full",
)
_MODEL = ("robot", "base", "loops", "gravity", "arguments", "masses")
_START = ("joints", "velocity", "close", "hold", "centre_of_mass")
_SIMULATION = (
    "integrator",
    "step",
    "duration",
    "algorithm",
    "hybrid",
    "tolerance",
    "log_every",
    "efforts",
    "contact",
    "stops",
)
_CONTROLLER = ("name", "settings", "shaping", "period", "robot", "reference")
_REFERENCE = ("joints", "velocity", "pose")
_POSE = ("position", "rpy")
_CONTACT = ("soles", "points", "spheres", "ground", "material")
_DISTURBANCE = ("kind", "link", "wrench", "start", "duration", "frame", "at")
_CLAIM = ("claim", "measure", "limit", "relation", "within", "with", "note")
_STATEMENT = ("statement", "document", "place", "quantity", "why", *_CLAIM[1:])
_FIGURE = ("file", "like", "panels", "columns", "snapshots", "plane", "animation", "with")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


GROUPS: Mapping[str, tuple[str, ...]] = {
    "chapter2": ("T2.",),
    "chapter3": ("T3.",),
    "chapter4": ("T4.",),
    "chapter5": ("T5.",),
    "chapter6": ("T6.", "R"),
    "chapter7": ("T7.",),
    "pa10": ("Y",),
}
"""Groups of scenarios by name prefix; chapters are those of Takahashi 2012."""


def names_in(group: str) -> list[str]:
    """Scenarios of a group."""
    return [name for name in names() if name.startswith(GROUPS[group])]


def names() -> list[str]:
    """Published scenarios; empty if the distribution of the experiments is not installed."""
    return sorted(published())


def load(source: str | os.PathLike[str] | Mapping[str, Any]) -> Scenario:
    """Load a scenario.

    Example::

        scenario = scenarios.load("T3.1")
        scenario = scenarios.load("my_scenario.yaml")

    Args:
        source: published name (see `names`), path of a YAML or JSON file, or the same data as a dict.

    Raises:
        ScenarioError: invalid scenario; the message names file, line and key.
        InputError: no such scenario.
    """
    if isinstance(source, Mapping):
        return read_node(from_object(source, "scenario"), "scenario", None)
    text = os.fspath(source)
    if not isinstance(text, str):
        raise InputError(
            f"source is {source!r:.100}; it must be a name, a path or a dict.", field="source", value=source
        )
    known = published()
    if text not in known and not text.lower().endswith(ENDINGS):
        raise unknown_name("scenario", text, sorted(known))
    path = known.get(text) or Path(text)
    return read_node(parsed(path), str(path), path.parent)


def parsed(path: Path) -> Node:
    """Content of a YAML or JSON file.

    Raises:
        ScenarioError: the file cannot be read; the message names file and line.
    """
    try:
        return files.parsed(path)
    except ModelError as problem:
        raise ScenarioError(str(problem), file=problem.file, line=problem.line, field=problem.field) from None


def read_node(node: Node, file: str, folder: Path | None) -> Scenario:
    """Scenario from a parsed file."""
    top = Part(node, "", file, _TOP)
    name = top.text("name")
    if not _FILE_NAME.fullmatch(name):
        raise top.problem("name", f"{name[:60]!r} is not allowed: only letters, digits, '.', '_' and '-'.")
    experiment = top.text("experiment") if top.has("experiment") else None
    model = _model(top.part("model", _MODEL)) if top.has("model") else None
    simulation = _simulation(top.part("simulation", _SIMULATION)) if top.has("simulation") else None
    _refuse_incomplete(top, model, simulation, experiment)
    return Scenario(
        name=name,
        title=top.text("title", name),
        source=top.text("source", ""),
        file=file,
        folder=folder,
        model=model,
        start=_start(top),
        simulation=simulation,
        control=_control(top, simulation),
        disturbances=tuple(_disturbance(part) for part in top.parts("disturbances", _DISTURBANCE)),
        claims=tuple(_claim(part) for part in top.parts("claims", _CLAIM)),
        statements=_statements(top, simulation, experiment),
        figures=_figures(top),
        experiment=experiment,
        settings=top.part("settings", None).plain(),
        notes=top.texts("notes"),
        full=top.part("full", None).plain(),
        tree=node,
        read=read_node,
        read_start=read_start,
    )


def read_start(node: Node, file: str) -> Part:
    """Initial state section of a parsed scenario."""
    return _start(Part(node, "", file, _TOP))


def _refuse_incomplete(
    top: Part, model: ModelPart | None, simulation: SimulationPart | None, experiment: str | None
) -> None:
    if simulation is None and experiment is None:
        raise top.problem("simulation", "missing; a scenario requires a simulation or an experiment.")
    if simulation is not None and model is None:
        raise top.problem("model", "missing; a simulation requires a robot, such as model: {robot: pa10}.")
    if simulation is None:
        for key in ("start", "controller", "disturbances", "claims", "figures"):
            if top.has(key):
                raise top.problem(key, "it requires a simulation.")


def _model(part: Part) -> ModelPart:
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


def _start(top: Part) -> Part:
    part = top.part("start", _START)
    part.part("joints", None)
    part.part("velocity", None)
    part.flag("close")
    part.texts("hold")
    part.choice("centre_of_mass", ("at rest", "as given"), "as given")
    return part


def _simulation(part: Part) -> SimulationPart:
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


def _control(top: Part, simulation: SimulationPart | None) -> ControlPart | None:
    if not top.has("controller") or simulation is None:
        return None
    part = top.part("controller", _CONTROLLER)
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


def _stops(part: Part) -> Stops:
    if not part.has("stops") or isinstance(part.node("stops"), ScalarNode):
        if part.choice("stops", (AUTO, NO_STOPS), AUTO) == NO_STOPS:
            return None
        return AUTO
    stops = part.part("stops", ("stiffness", "damping"))
    return stops.positive("stiffness", units.TURNING_STIFFNESS), stops.quantity("damping", units.TURNING_DAMPING, 0.0)


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


def _claim(part: Part) -> ClaimPart:
    return ClaimPart(text=part.text("claim"), measure=part.text("measure"), **_limit(part))


def _limit(part: Part) -> dict[str, Any]:
    """Common fields of claims and statements."""
    limit, unit = part.number_and_unit("limit")
    within, unit_of_within = part.number_and_unit("within") if part.has("within") else (None, "")
    return {
        "limit": limit,
        "relation": cast(Relation, part.choice("relation", RELATIONS, RELATIONS[0])),
        "within": within,
        "units": (unit, unit_of_within),
        "changes": _changes(part),
        "note": part.text("note", ""),
        "place": part.place,
    }


def _statements(top: Part, simulation: SimulationPart | None, experiment: str | None) -> tuple[StatementPart, ...]:
    document = top.text("source", "").partition(",")[0]
    return tuple(_statement(part, document, simulation, experiment) for part in top.parts("statements", _STATEMENT))


def _statement(part: Part, document: str, simulation: SimulationPart | None, experiment: str | None) -> StatementPart:
    if part.has("measure") == part.has("quantity"):
        raise part.problem("measure", "give either measure: NAME, or quantity: NAME of the experiment.")
    if part.has("measure") and simulation is None:
        raise part.problem("measure", "it requires a simulation.")
    if part.has("quantity") and experiment is None:
        raise part.problem("quantity", "it requires an experiment.")
    return StatementPart(
        text=part.text("statement"),
        measure=part.text("measure", ""),
        **_limit(part),
        document=part.text("document", document),
        where=part.text("place"),
        quantity=part.text("quantity", ""),
        why=part.text("why", ""),
    )


def _changes(part: Part) -> dict[str, Any]:
    return part.part("with", None).plain()


def _figures(top: Part) -> tuple[FigurePart, ...]:
    found: list[FigurePart] = []
    for part in top.parts("figures", _FIGURE):
        file = part.text("file")
        if not _FILE_NAME.fullmatch(file) or file in {figure.file for figure in found}:
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
