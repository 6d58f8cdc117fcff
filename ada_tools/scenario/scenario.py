# SPDX-License-Identifier: Apache-2.0
"""A scenario as data, read from YAML or JSON files, from mappings, or by name from the published ones.

The format is described in docs/reproduce.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.description import BASES
from ada_dynamics.simulation import forces
from ada_dynamics.simulation.forces import WrenchProfile
from ada_dynamics.simulation.methods import DEFAULT, METHODS
from ada_dynamics.structured_text.nodes import Node, from_object
from ada_tools.scenario.fields import Part, full_key, keys_of, parsed, plain, replaced
from ada_tools.scenario.published import published

Relation: TypeAlias = Literal["<=", ">=", "==", "~"]
ENDINGS = (".yaml", ".yml", ".json")
START: Final = "start."  # key prefix
_TOP = (
    *("name", "title", "source", "model", "start", "simulation", "controller", "disturbances", "claims", "statements"),
    *("figures", "experiment", "settings", "captions", "notes", "full", "sweep", "alone"),
)
_START = ("joints", "velocity", "close", "hold", "centre_of_mass")
_DISTURBANCE = ("kind", "link", "wrench", "start", "duration", "frame", "at")
_CLAIM = ("claim", "measure", "quantity", "limit", "relation", "within", "with", "note")
_STATEMENT = ("statement", "document", "place", "why", *_CLAIM[1:])
_FIGURE = ("file", "like", "panels", "columns", "snapshots", "plane", "with")
_PLANES = ("xz", "xy", "yz", "3d")
_STRIP = 5  # snapshots per row
_CONSTANT = "constant"
_PULSES: Mapping[str, Callable[..., WrenchProfile]] = {"half_sine": forces.half_sine, "rectangle": forces.rectangle}
_RELATIONS = ("<=", ">=", "==", "~")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class ModelPart:
    """Robot of a scenario."""

    robot: str  # catalogue name, or file path relative to the scenario
    base: str | None  # "fixed", "floating" or "floating_euler"; None for the default of the catalogue
    loops: str | None  # file of loop joints, relative to the scenario
    gravity: tuple[float, ...] | None  # [m/s²]; None for the value of the robot file
    masses: Mapping[str, float]  # replaced link masses, with proportional inertias [kg]
    rotor_inertia: float | None  # replaced reflected rotor inertia of each motor [kg m², kg]; None to keep it
    joint_friction: float | None  # replaced Coulomb friction of each motor [N m, N]; None to keep it


@dataclass(frozen=True)
class ContactPart:
    """Contact of soles with the ground at height 0."""

    links: tuple[str, ...]  # feet; the lowest boxes of each are its sole
    stiffness: float | None  # of each corner of a sole [N/m]; None for the stiffest that suits weight and step
    friction: float  # friction coefficient


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
    stops: bool  # joint stops with automatic stiffness
    contact: ContactPart | None


@dataclass(frozen=True)
class ControlPart:
    """Controller of the motors."""

    name: str  # controller name, see `ada_controllers.registry`
    settings: Mapping[str, Any]  # controller settings
    period: float  # control period [s]
    robot: str | None  # catalogue name of the robot model of the controller; None for the simulated robot
    reference: Part  # reference; the initial state if empty


@dataclass(frozen=True)
class ClaimPart:
    """A claim, or a statement of a document: a measure of the motion or a quantity of the experiment, and its limit."""

    text: str  # the claim
    measure: str  # measure of the motion; "" for a quantity
    quantity: str  # quantity of the experiment; "" for a measure
    limit: float  # limit of the value
    relation: Relation  # relation of value and limit
    within: float | None  # tolerance of "~"
    units: tuple[str, str]  # units of limit and tolerance as written; "" for those of the measure
    changes: Mapping[str, Any]  # variant of the scenario
    note: str  # origin of the limit, or restrictions of the measurement
    place: str  # file and line, for messages
    document: str = ""  # cited document; "" for claims
    where: str = ""  # chapter, equation, figure or table; "" for claims
    why: str = ""  # reason why the simulation does not confirm a statement; empty if it does


@dataclass(frozen=True)
class FigurePart:
    """A figure: time plots, or snapshots of the motion."""

    file: str
    like: str
    panels: tuple[str, ...]
    columns: int
    snapshots: int
    plane: str
    changes: Mapping[str, Any]
    place: str


@dataclass(frozen=True, eq=False)
class Scenario:
    """One experiment."""

    name: str  # short name such as "T3.1"
    title: str
    source: str  # document, section and figures
    file: str  # source file, for messages
    folder: Path | None  # base of relative paths; None for data without a file
    model: ModelPart | None  # robot; None if the experiment provides one
    start: Part  # initial state, evaluated with the model by `run.start_state`
    simulation: SimulationPart | None  # None without a simulation
    control: ControlPart | None  # None without a controller
    disturbances: tuple[WrenchProfile, ...]  # wrenches on links
    claims: tuple[ClaimPart, ...]  # claims of this project
    statements: tuple[ClaimPart, ...]  # statements of the document, confirmed or not
    figures: tuple[FigurePart, ...]  # figures to draw
    experiment: str | None  # name of an experiment function, see `registry`
    settings: Mapping[str, Any]  # settings of that function
    captions: Mapping[str, Any]  # captions of the experiment's figures, by file name
    notes: tuple[str, ...]  # notes for the report
    full: Mapping[str, Any]  # changes for all cases, where the scenario has a subset that takes less time
    sweep: Mapping[str, Sequence[Any]]  # values of a parameter that the document does not print, by its key
    alone: bool  # whether it measures times, which other experiments would disturb
    tree: Node  # parsed source

    def with_changes(self, changes: Mapping[str, Any]) -> Scenario:
        """Copy with changed values, validated like the original.

        Example::

            faster = scenario.with_changes({"start.joints.joint_1": "120 deg", "simulation.step": 5e-4})

        Args:
            changes: values by key; a key without a dot refers to `simulation`, numbers index lists, and names of joints
                and links may contain dots.

        Raises:
            ScenarioError: unknown key or invalid value.
        """
        tree = self.tree
        for key, value in changes.items():
            path = full_key(key)
            tree = replaced(tree, path.split("."), from_object(value, key), path, self.file)
        # Fast path: sweeps change the initial state a million times.
        if self.simulation is not None and all(key.startswith(START) for key in changes):
            return replace(self, tree=tree, start=_start(Part(tree, "", self.file, _TOP)))
        return read_node(tree, self.file, self.folder)

    def as_data(self) -> dict[str, Any]:
        """Scenario as plain Python data, for JSON output and comparison."""
        found: dict[str, Any] = plain(self.tree)
        return found

    def path(self, name: str) -> Path:
        """Path of a file relative to the scenario."""
        return Path(name) if self.folder is None else self.folder / name


# --- reading ----------------------------------------------------------------------------------------------------------
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
        raise InputError(f"source is {source!r:.80}; it must be a name, path or dict.", field="source", value=source)
    known = published()
    if text not in known and not text.lower().endswith(ENDINGS):
        raise unknown_name("scenario", text, sorted(known))
    path = known.get(text) or Path(text)
    return read_node(parsed(path), str(path), path.parent)


def read_node(node: Node, file: str, folder: Path | None) -> Scenario:
    """Scenario from a parsed file."""
    top = Part(node, "", file, _TOP)
    name = top.text("name")
    if not _FILE_NAME.fullmatch(name):
        raise top.problem("name", f"{name[:60]!r} is not allowed: only letters, digits, '.', '_' and '-'.")
    _refuse_incomplete(top)
    simulation = _simulation(top)
    return Scenario(
        name=name,
        title=top.text("title", name),
        source=top.text("source", ""),
        file=file,
        folder=folder,
        model=_model(top),
        start=_start(top),
        simulation=simulation,
        control=_control(top, simulation),
        disturbances=tuple(_disturbance(part) for part in top.parts("disturbances", _DISTURBANCE)),
        claims=tuple(_claim(part, top, part.text("claim")) for part in top.parts("claims", _CLAIM)),
        statements=_statements(top),
        figures=_figures(top),
        experiment=top.text("experiment") if top.has("experiment") else None,
        settings=top.part("settings", None).plain(),
        captions=top.part("captions", None).plain(),
        notes=top.texts("notes"),
        full=top.part("full", None).plain(),
        sweep=_sweep(top),
        alone=top.flag("alone"),
        tree=node,
    )


def _refuse_incomplete(top: Part) -> None:
    if not top.has("simulation") and not top.has("experiment"):
        raise top.problem("simulation", "missing; a scenario requires a simulation or an experiment.")
    if top.has("simulation") and not top.has("model"):
        raise top.problem("model", "missing; a simulation requires a robot, such as model: {robot: pa10}.")
    for key in ("start", "controller", "disturbances", "figures"):
        if top.has(key) and not top.has("simulation"):
            raise top.problem(key, "it requires a simulation.")


def _model(top: Part) -> ModelPart | None:
    if not top.has("model"):
        return None
    part = top.part("model", keys_of(ModelPart))
    masses = part.part("masses", None)
    for name, unit in (("rotor_inertia", "kg m^2, kg"), ("joint_friction", "N m, N")):
        if part.has(name) and part.quantity(name, unit) < 0.0:
            raise part.problem(name, f"it is negative; it must be at least 0 [{unit}].")
    return ModelPart(
        robot=part.text("robot"),
        base=part.choice("base", tuple(BASES), "") if part.has("base") else None,
        loops=part.text("loops") if part.has("loops") else None,
        gravity=part.vector("gravity", ("m/s^2",) * 3) if part.has("gravity") else None,
        masses={link: masses.positive(link, "kg") for link in masses.keys()},  # noqa: SIM118
        rotor_inertia=part.quantity("rotor_inertia", "kg m^2, kg") if part.has("rotor_inertia") else None,
        joint_friction=part.quantity("joint_friction", "N m, N") if part.has("joint_friction") else None,
    )


def _start(top: Part) -> Part:
    """Section start, which is evaluated with the model."""
    part = top.part("start", _START)
    part.part("joints", None)
    part.part("velocity", None)
    part.flag("close")
    part.texts("hold")
    part.choice("centre_of_mass", ("at rest", "as given"), "as given")
    return part


def _simulation(top: Part) -> SimulationPart | None:
    if not top.has("simulation"):
        return None
    part = top.part("simulation", keys_of(SimulationPart))
    step = part.positive("step", "s", 1e-3)
    duration = part.positive("duration", "s")
    if duration < step:
        raise part.problem("duration", f"it is {duration:g} s, less than one step of {step:g} s.")
    return SimulationPart(
        integrator=part.choice("integrator", tuple(METHODS), DEFAULT),
        step=step,
        duration=duration,
        algorithm=part.text("algorithm", "auto"),
        hybrid=part.texts("hybrid"),
        tolerance=part.positive("tolerance", "1", 1e-10),
        log_every=part.whole("log_every", 1),
        efforts=part.part("efforts", None),
        stops=part.choice("stops", ("auto", "none"), "auto") == "auto",
        contact=_contact(part) if part.has("contact") else None,
    )


def _contact(simulation: Part) -> ContactPart:
    part = simulation.part("contact", keys_of(ContactPart))
    links, friction = part.texts("links"), part.quantity("friction", "1", 0.8)
    if not links:
        raise part.problem("links", "missing; give the feet, such as [right_foot, left_foot].")
    if friction < 0.0:
        raise part.problem("friction", f"it is {friction:g}; it must be at least 0.")
    return ContactPart(links, part.positive("stiffness", "N/m") if part.has("stiffness") else None, friction)


def _control(top: Part, simulation: SimulationPart | None) -> ControlPart | None:
    if not top.has("controller") or simulation is None:
        return None
    part = top.part("controller", keys_of(ControlPart))
    reference = part.part("reference", ("joints", "velocity", "pose"))
    if reference.has("pose") and (reference.has("joints") or reference.has("velocity")):
        raise reference.problem("pose", "a reference has either a pose or joints.")
    reference.part("joints", None)
    reference.part("velocity", None)
    if reference.has("pose"):
        pose = reference.part("pose", ("position", "rpy"))
        pose.vector("position", ("m",) * 3)
        if pose.has("rpy"):
            pose.vector("rpy", ("rad",) * 3)
    return ControlPart(
        name=part.text("name"),
        settings=part.part("settings", None).plain(),
        period=part.positive("period", "s", simulation.step),
        robot=part.text("robot") if part.has("robot") else None,
        reference=reference,
    )


def _disturbance(part: Part) -> WrenchProfile:
    kind = part.choice("kind", (*_PULSES, _CONSTANT), "half_sine")
    link, wrench = part.text("link"), part.vector("wrench", ("N",) * 3 + ("N m",) * 3)
    start = part.quantity("start", "s", 0.0)
    frame = part.choice("frame", forces.FRAMES, forces.FRAMES[0])
    at = part.vector("at", ("m",) * 3) if part.has("at") else (0.0, 0.0, 0.0)
    if kind == _CONSTANT:
        return forces.constant(link, wrench, frame=frame, at=at)
    return _PULSES[kind](link, wrench, start, part.positive("duration", "s"), frame=frame, at=at)


def _statements(top: Part) -> tuple[ClaimPart, ...]:
    document = top.text("source", "").partition(",")[0]
    return tuple(
        replace(
            _claim(part, top, part.text("statement")),
            document=part.text("document", document),
            where=part.text("place"),
            why=part.text("why", ""),
        )
        for part in top.parts("statements", _STATEMENT)
    )


def _sweep(top: Part) -> dict[str, Sequence[Any]]:
    """Values of at most one parameter, by its key."""
    found = top.part("sweep", None).plain()
    if len(found) > 1 or not all(isinstance(values, list) and values for values in found.values()):
        raise top.problem("sweep", "it must be one key with a list of values, such as {simulation.step: [1 ms, 2 ms]}.")
    return found


def _claim(part: Part, top: Part, text: str) -> ClaimPart:
    if part.has("measure") == part.has("quantity"):
        raise part.problem("measure", "give either measure: NAME, or quantity: NAME of the experiment.")
    for key, source in (("measure", "simulation"), ("quantity", "experiment")):
        if part.has(key) and not top.has(source):
            raise part.problem(key, f"the scenario has no {source}.")
    limit, unit = part.number_and_unit("limit")
    within, unit_of_within = part.number_and_unit("within") if part.has("within") else (None, "")
    return ClaimPart(
        text=text,
        measure=part.text("measure", ""),
        quantity=part.text("quantity", ""),
        limit=limit,
        relation=cast(Relation, part.choice("relation", _RELATIONS, _RELATIONS[0])),
        within=within,
        units=(unit, unit_of_within),
        changes=part.part("with", None).plain(),
        note=part.text("note", ""),
        place=part.place,
    )


def _figures(top: Part) -> tuple[FigurePart, ...]:
    found: list[FigurePart] = []
    for part in top.parts("figures", _FIGURE):
        file = part.text("file")
        if not _FILE_NAME.fullmatch(file) or file in {figure.file for figure in found}:
            words = f"{file[:60]!r} is not allowed: give a unique name without folder and extension."
            raise part.problem("file", words)
        panels, snapshots = part.texts("panels"), part.whole("snapshots", 0, least=0)
        if bool(panels) == bool(snapshots):
            raise part.problem("panels", "a figure has either panels: [...] or snapshots: NUMBER.")
        found.append(
            FigurePart(
                file=file,
                like=part.text("like", ""),
                panels=panels,
                columns=part.whole("columns", _STRIP if snapshots else 2),
                snapshots=snapshots,
                plane=part.choice("plane", _PLANES, _PLANES[0]),
                changes=part.part("with", None).plain(),
                place=part.place,
            )
        )
    return tuple(found)


def settings_of(scenario: Scenario, known: Sequence[str]) -> Part:
    """Settings of the experiment of a scenario, which must have known keys only.

    Raises:
        ScenarioError: there are other keys.
    """
    return Part(scenario.tree, "", scenario.file, None).part("settings", known)
