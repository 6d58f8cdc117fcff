# SPDX-License-Identifier: Apache-2.0
"""A scenario as data, read from YAML or JSON files, from mappings, or by name from the published ones.

The format is described in docs/reproduce.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ada_dynamics.errors import InputError, ModelError, unknown_name
from ada_dynamics.resources import provided
from ada_dynamics.simulation.profiles import WrenchProfile
from ada_dynamics.structured_text import files
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode, from_object, is_empty
from ada_tools.scenario import sections
from ada_tools.scenario.fields import Part, ScenarioError, plain
from ada_tools.scenario.sections import ClaimPart, ControlPart, FigurePart, ModelPart, SimulationPart, StatementPart

ENDINGS = (".yaml", ".yml", ".json")
EXPERIMENTS = "ada_dynamics.experiments"  # group of entry points
START: Final = "start."  # key prefix
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
    "alone",
)

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
        alone: whether it measures times, which other experiments would disturb.
        tree: parsed source.
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
    alone: bool
    tree: Node

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
            return replace(self, tree=tree, start=sections.read_start(Part(tree, "", self.file, _TOP)))
        return read_node(tree, self.file, self.folder)

    def as_data(self) -> dict[str, Any]:
        """Scenario as plain Python data, for JSON output and comparison."""
        found: dict[str, Any] = plain(self.tree)
        return found

    def path(self, name: str) -> Path:
        """Path of a file relative to the scenario."""
        return Path(name) if self.folder is None else self.folder / name


def packages() -> tuple[Any, ...]:
    """Packages of published experiments."""
    return provided(EXPERIMENTS)


def published() -> dict[str, Path]:
    """Files of the published scenarios by name; empty if their distribution is not installed."""
    folders = [Path(str(package.__file__)).with_name("data") for package in packages()]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


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
    if not sections.FILE_NAME.fullmatch(name):
        raise top.problem("name", f"{name[:60]!r} is not allowed: only letters, digits, '.', '_' and '-'.")
    experiment = top.text("experiment") if top.has("experiment") else None
    model, simulation = sections.read_model(top), sections.read_simulation(top)
    _refuse_incomplete(top, model, simulation, experiment)
    return Scenario(
        name=name,
        title=top.text("title", name),
        source=top.text("source", ""),
        file=file,
        folder=folder,
        model=model,
        start=sections.read_start(top),
        simulation=simulation,
        control=sections.read_control(top, simulation),
        disturbances=sections.read_disturbances(top),
        claims=sections.read_claims(top),
        statements=sections.read_statements(top),
        figures=sections.read_figures(top),
        experiment=experiment,
        settings=top.part("settings", None).plain(),
        notes=top.texts("notes"),
        full=top.part("full", None).plain(),
        alone=top.flag("alone"),
        tree=node,
    )


def _refuse_incomplete(
    top: Part, model: ModelPart | None, simulation: SimulationPart | None, experiment: str | None
) -> None:
    if simulation is None and experiment is None:
        raise top.problem("simulation", "missing; a scenario requires a simulation or an experiment.")
    if simulation is not None and model is None:
        raise top.problem("model", "missing; a simulation requires a robot, such as model: {robot: pa10}.")
    if simulation is None:
        for key in ("start", "controller", "disturbances", "figures"):
            if top.has(key):
                raise top.problem(key, "it requires a simulation.")


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
