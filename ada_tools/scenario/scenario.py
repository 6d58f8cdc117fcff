# SPDX-License-Identifier: Apache-2.0
"""A scenario as data: model, start, simulation, disturbances, claims, statements, figures; see docs/reproduce.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from ada_dynamics.simulation.profiles import WrenchProfile
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode, from_object, is_empty
from ada_tools.scenario.claims import Relation
from ada_tools.scenario.fields import Part, ScenarioError, plain

Numbers = tuple[float, ...]
# Mappings of single values by names of joints, links or arguments, which may have dots.
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
START: Final = "start."  # of keys


@dataclass(frozen=True)
class ModelPart:
    """The robot.

    Attributes:
        robot: name in the catalogue, or path of a file, from the scenario's folder.
        base: "fixed", "floating" or "floating_euler"; as the catalogue has it where None.
        loops: file of joints that close loops, from the scenario's folder.
        gravity: [m/s²]; that of the robot's file where None.
        arguments: for the file, if it is a xacro.
        masses: of links that are to have another one; inertias go in proportion [kg].
    """

    robot: str
    base: str | None = None
    loops: str | None = None
    gravity: Numbers | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    masses: Mapping[str, float] = field(default_factory=dict)


AUTO: Final = "auto"
NO_STOPS = "none"
# Stops at limits: their stiffness and damping, as stiff as the step follows, or none.
Stops: TypeAlias = tuple[float, float] | Literal["auto"] | None


@dataclass(frozen=True)
class SimulationPart:
    """How it is integrated; as the arguments of `ada.Simulation`."""

    integrator: str
    step: float  # [s]
    duration: float  # [s]
    algorithm: str
    hybrid: tuple[str, ...]  # joints at which the algorithm hybrid cuts
    tolerance: float
    log_every: int
    efforts: Part  # constant, by joint
    contact: Part | None
    stops: Stops


@dataclass(frozen=True)
class ControlPart:
    """The controller that drives the motors.

    Attributes:
        name: of a controller, see `ada_controllers.registry`.
        settings: of it.
        shaping: what its commands are held to.
        period: between two calls [s].
        robot: in the catalogue, that the controller takes the robot for; the simulated one where None.
        reference: what to follow; without keys: the start.
    """

    name: str
    settings: Mapping[str, Any]
    shaping: Mapping[str, Any]
    period: float
    robot: str | None
    reference: Part


@dataclass(frozen=True)
class ClaimPart:
    """A claim: a measure of the motion and its limit; `changes` give the variant it is about."""

    text: str
    measure: str
    limit: float
    relation: Relation
    within: float | None
    changes: Mapping[str, Any]
    note: str
    place: str  # file and line, for messages


@dataclass(frozen=True)
class StatementPart(ClaimPart):
    """A statement of a document: a claim about a measure, or about a quantity that the experiment finds.

    Attributes:
        document: who says it.
        where: chapter, equation, figure or table there.
        quantity: its name; empty where it is a measure.
        why: the reason for which our physics does not confirm it; empty where it does.
    """

    document: str
    where: str
    quantity: str
    why: str


@dataclass(frozen=True)
class FigurePart:
    """A picture: panels over time, or snapshots of the motion."""

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
        name: short, such as "T3.1".
        title: in words.
        source: document, section and figures.
        file: where it was read from, for messages.
        folder: where relative paths start; None for data without a file.
        model: the robot; None where an experiment brings its own.
        start: its joints, velocities and how to close loops; read with the model, see `run.start_state`.
        simulation: None where there is none.
        control: None where nothing drives the motors but constant efforts.
        disturbances: wrenches on links.
        claims: what must hold.
        statements: of the document, which our physics may confirm or not.
        figures: to be drawn.
        experiment: name of a function that does more, see `registry`.
        settings: of that function.
        notes: for the report.
        tree: all of it as it was read.
        read: (tree, file, folder) -> Scenario, by which it was read; for `with_changes`.
        read_start: (tree, file) -> its start alone; likewise.
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
    tree: Node
    read: Callable[[Node, str, Path | None], Scenario] = field(repr=False)
    read_start: Callable[[Node, str], Part] = field(repr=False)

    def with_changes(self, changes: Mapping[str, Any]) -> Scenario:
        """The same scenario with other values, read anew and as strictly.

        Example::

            faster = scenario.with_changes({"start.joints.joint_1": "120 deg", "simulation.step": 5e-4})

        Args:
            changes: value by key; a key without a dot is one of `simulation`, numbers count the items of a list, and
                names of joints and links may have dots.

        Raises:
            ScenarioError: there is no such key, or the value does not fit.
        """
        tree = self.tree
        for key, value in changes.items():
            path = full_key(key)
            tree = _replaced(tree, path.split("."), from_object(value, key), path, self.file)
        # In a fraction of the time: sweeps ask for a million of these.
        if self.simulation is not None and all(key.startswith(START) for key in changes):
            return replace(self, tree=tree, start=self.read_start(tree, self.file))
        return self.read(tree, self.file, self.folder)

    def as_data(self) -> dict[str, Any]:
        """The scenario as plain Python data, for JSON and to compare it with another one."""
        found: dict[str, Any] = plain(self.tree)
        return found

    def path(self, name: str) -> Path:
        """A file that is named in the scenario, from its folder."""
        return Path(name) if self.folder is None else self.folder / name


def full_key(key: str) -> str:
    """A key of `with_changes` with all of its parts: "step" is "simulation.step"."""
    return key if "." in key else f"simulation.{key}"


def _replaced(node: Node, keys: list[str], value: Node, path: str, file: str) -> Node:
    """A tree with one value changed; mappings on the way are made where they are missing."""
    if not keys:
        return value
    count = _pieces(node, keys, path)
    key, rest = ".".join(keys[:count]), keys[count:]
    if isinstance(node, ListNode):
        if not key.isdecimal() or int(key) >= len(node.items):
            text = f"{file}: the change of {path!r} needs a number from 0 to {len(node.items) - 1} instead of {key!r}."
            raise ScenarioError(text, file=file, field=path, value=key, allowed=range(len(node.items)))
        items = list(node.items)
        items[int(key)] = _replaced(items[int(key)], rest, value, path, file)
        return ListNode(node.line, tuple(items))
    if isinstance(node, MappingNode):
        entries = dict(node.entries)
    elif is_empty(node):
        entries = {}
    else:
        words = f"{file}: the change of {path!r} leads into a single value; it has no key {key!r}."
        raise ScenarioError(words, file=file, field=path, value=key)
    line, inner = entries.get(key, (None, MappingNode(None, {})))
    entries[key] = (line, _replaced(inner, rest, value, path, file))
    return MappingNode(node.line, entries)


def _pieces(node: Node, keys: list[str], path: str) -> int:
    """How many pieces of a path make the next key: the longest key that is there and leads on, or a new name."""
    if isinstance(node, MappingNode):
        for count in range(len(keys), 0, -1):
            _, inner = node.entries.get(".".join(keys[:count]), (None, None))
            if inner is not None and (count == len(keys) or not isinstance(inner, ScalarNode)):
                return count
    return len(keys) if path.removesuffix(".".join(keys)) in BY_NAME else 1
