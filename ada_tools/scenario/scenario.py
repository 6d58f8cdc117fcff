# SPDX-License-Identifier: Apache-2.0
"""A scenario as data: model, initial state, simulation, disturbances, claims, statements and figures.

The format is described in docs/reproduce.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from ada_dynamics.simulation.profiles import WrenchProfile
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode, from_object, is_empty
from ada_tools.scenario.claims import Relation
from ada_tools.scenario.fields import Part, ScenarioError, plain

Numbers = tuple[float, ...]
# Mappings by names of joints, links or arguments, which may contain dots.
BY_NAME: Final = frozenset(
    {
        "model.arguments.",
        "model.masses.",
        "start.joints.",
        "start.velocity.",
        "simulation.efforts.",
        "controller.reference.joints.",
        "controller.reference.velocity.",
    }
)
START: Final = "start."  # key prefix


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


AUTO: Final = "auto"
NO_STOPS = "none"
# Joint stops: stiffness and damping, automatic, or none.
Stops: TypeAlias = tuple[float, float] | Literal["auto"] | None


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


@dataclass(frozen=True)
class ClaimPart:
    """A claim: a measure of the motion and its limit; `changes` define the variant of the scenario."""

    text: str
    measure: str
    limit: float
    relation: Relation
    within: float | None
    units: tuple[str, str]  # of limit and tolerance, as written; "" for those of the measure
    changes: Mapping[str, Any]
    note: str
    place: str  # file and line, for messages


@dataclass(frozen=True)
class StatementPart(ClaimPart):
    """A statement of a document about a measure, or about a quantity of the experiment.

    Attributes:
        document: cited document.
        where: chapter, equation, figure or table.
        quantity: name of the quantity; empty for a measure.
        why: reason why the simulation does not confirm it; empty if it does.
    """

    document: str
    where: str
    quantity: str
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


@dataclass(frozen=True, eq=False)
class Scenario:
    """One experiment.

    Attributes:
        name: short name such as "T3.1".
        title: title.
        source: document, section and figures.
        file: source file, for messages.
        folder: base of relative paths; None for data without a file.
        model: robot; None if the experiment provides one.
        start: initial state, evaluated with the model by `run.start_state`.
        simulation: None without a simulation.
        control: None without a controller.
        disturbances: wrenches on links.
        claims: claims of this project.
        statements: statements of the document, confirmed or not.
        figures: figures to draw.
        experiment: name of an experiment function, see `registry`.
        settings: settings of that function.
        notes: notes for the report.
        full: changes for all cases, where the scenario has a subset that takes less time.
        tree: parsed source.
        read: (tree, file, folder) -> Scenario; used by `with_changes`.
        read_start: (tree, file) -> initial state; used by `with_changes`.
    """

    name: str
    title: str
    source: str
    file: str
    folder: Path | None
    model: ModelPart | None
    start: Part
    simulation: SimulationPart | None
    control: ControlPart | None
    disturbances: tuple[WrenchProfile, ...]
    claims: tuple[ClaimPart, ...]
    statements: tuple[StatementPart, ...]
    figures: tuple[FigurePart, ...]
    experiment: str | None
    settings: Mapping[str, Any]
    notes: tuple[str, ...]
    full: Mapping[str, Any]
    tree: Node
    read: Callable[[Node, str, Path | None], Scenario] = field(repr=False)
    read_start: Callable[[Node, str], Part] = field(repr=False)

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
            tree = _replaced(tree, path.split("."), from_object(value, key), path, self.file)
        # Fast path: sweeps change the initial state a million times.
        if self.simulation is not None and all(key.startswith(START) for key in changes):
            return replace(self, tree=tree, start=self.read_start(tree, self.file))
        return self.read(tree, self.file, self.folder)

    def as_data(self) -> dict[str, Any]:
        """Scenario as plain Python data, for JSON output and comparison."""
        found: dict[str, Any] = plain(self.tree)
        return found

    def path(self, name: str) -> Path:
        """Path of a file relative to the scenario."""
        return Path(name) if self.folder is None else self.folder / name


def full_key(key: str) -> str:
    """Complete key of `with_changes`: "step" is "simulation.step"."""
    return key if "." in key else f"simulation.{key}"


def _replaced(node: Node, keys: list[str], value: Node, path: str, file: str) -> Node:
    """Tree with one value replaced; missing mappings are created."""
    if not keys:
        return value
    count = _pieces(node, keys, path)
    key, rest = ".".join(keys[:count]), keys[count:]
    if isinstance(node, ListNode):
        if not key.isdecimal() or int(key) >= len(node.items):
            text = f"{file}: the change of {path!r} requires an index from 0 to {len(node.items) - 1}, not {key!r}."
            raise ScenarioError(text, file=file, field=path, value=key, allowed=range(len(node.items)))
        items = list(node.items)
        items[int(key)] = _replaced(items[int(key)], rest, value, path, file)
        return ListNode(node.line, tuple(items))
    if isinstance(node, MappingNode):
        entries = dict(node.entries)
    elif is_empty(node):
        entries = {}
    else:
        words = f"{file}: the change of {path!r} addresses key {key!r} of a scalar value."
        raise ScenarioError(words, file=file, field=path, value=key)
    line, inner = entries.get(key, (None, MappingNode(None, {})))
    entries[key] = (line, _replaced(inner, rest, value, path, file))
    return MappingNode(node.line, entries)


def _pieces(node: Node, keys: list[str], path: str) -> int:
    """Number of path segments of the next key: the longest existing key with further levels, or a new name."""
    if isinstance(node, MappingNode):
        for count in range(len(keys), 0, -1):
            _, inner = node.entries.get(".".join(keys[:count]), (None, None))
            if inner is not None and (count == len(keys) or not isinstance(inner, ScalarNode)):
                return count
    return len(keys) if path.removesuffix(".".join(keys)) in BY_NAME else 1


def settings_of(scenario: Scenario, known: Sequence[str]) -> Part:
    """Return the settings of a scenario.

    Args:
        scenario: the scenario of the experiment.
        known: allowed keys.

    Raises:
        ScenarioError: there are other keys.
    """
    return Part(scenario.tree, "", scenario.file, None).part("settings", known)
