# SPDX-License-Identifier: Apache-2.0
"""A sweep: scenario, parameters and measures, read from YAML or JSON files, or from data, and checked before any run.

The values of a run depend only on its number. A random value depends only on seed, draw number and key: runs can be
executed in any order on any machine, and adding a parameter does not change the others. It is computed from the raw
bits of PCG64, whose stability numpy guarantees, unlike that of its distributions.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ada_dynamics import resources
from ada_dynamics.dynamics.kernel_store import tree_fingerprint
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_dynamics.structured_text.fields import placed
from ada_dynamics.structured_text.lexical import near
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode, from_object, kind_of, shortened
from ada_tools.scenario import scenario as scenarios
from ada_tools.scenario.fields import Part, ScenarioError, full_key, parsed, plain
from ada_tools.scenario.registry import find_measure
from ada_tools.scenario.run import believed_robot, build_model, efforts, start_state
from ada_tools.scenario.scenario import START, Scenario
from ada_tools.scenario.units import BadValue, split

MOST_RUNS = 10_000_000
UNIFORM, NORMAL = "uniform", "normal"
# Parts of a scenario that do not affect motion or measures.
IRRELEVANT = (
    *("name", "title", "source", "claims", "statements", "figures", "experiment"),
    *("captions", "notes", "full", "alone"),
)
_TOP = ("name", "scenario", "with", "parameters", "random", "measures")
_RANGE = ("from", "to", "count")
_AXIS = (*_RANGE, UNIFORM, NORMAL)
_VARIABLE = ("model", "start", "simulation", "controller", "disturbances")
_UNIT_INTERVAL = 2.0**-53  # spacing of the 2^53 numbers in [0, 1)


@dataclass(frozen=True)
class ListAxis:
    """A parameter with listed values."""

    key: str  # full scenario key
    place: str  # file and line, for messages
    samples: tuple[Any, ...]  # values as in the scenario file

    def data(self) -> Any:
        """Data for the header of the results."""
        return list(self.samples)


@dataclass(frozen=True)
class RandomAxis:
    """A parameter with random values."""

    key: str  # full scenario key
    place: str  # file and line, for messages
    kind: str  # distribution: "uniform" or "normal"
    first: float  # minimum, or mean
    second: float  # maximum, or standard deviation
    unit: str  # unit of both, as written

    def value(self, seed: int, draw: int) -> Any:
        """Value of a draw."""
        raw = np.random.PCG64(np.random.SeedSequence([seed, draw, zlib.crc32(self.key.encode())])).random_raw(2)
        share, other = ((int(bits) >> 11) * _UNIT_INTERVAL for bits in raw)
        if self.kind == UNIFORM:
            return with_unit(self.first + (self.second - self.first) * share, self.unit)
        normal = math.sqrt(-2.0 * math.log1p(-share)) * math.cos(2.0 * math.pi * other)  # Box and Muller
        return with_unit(self.first + self.second * normal, self.unit)

    @property
    def samples(self) -> tuple[Any, ...]:
        """Values to validate before the first run."""
        ends = (self.first, self.second) if self.kind == UNIFORM else (self.first,)
        return tuple(with_unit(x, self.unit) for x in ends)

    def data(self) -> Any:
        """Data for the header of the results."""
        return {self.kind: [with_unit(self.first, self.unit), with_unit(self.second, self.unit)]}


Axis: TypeAlias = ListAxis | RandomAxis


def with_unit(number: float, unit: str) -> Any:
    """Value as in a scenario file: a number, or text with a unit."""
    return f"{number!r} {unit}" if unit else number


def number_and_unit(value: Any) -> tuple[float, str] | None:
    """Number and unit of a value; None if it does not start with a number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    try:
        return split(value) if isinstance(value, str) else None
    except BadValue:
        return None


def flat(data: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Scalar values and lists by dotted keys."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        full = f"{path}.{key}" if path else key
        found |= flat(value, full) if isinstance(value, Mapping) and value else {full: value}
    return found


@dataclass(frozen=True, eq=False)
class Sweep:
    """A scenario to run for many parameter values.

    All combinations of the listed values occur, each with the same `draws` of the random ones. Runs that differ only in
    the initial state are consecutive, since they share a simulation.
    """

    name: str  # short name, for folders and messages
    scenario: Scenario  # scenario to run
    axes: tuple[Axis, ...]  # parameters
    draws: int  # number of random draws; 1 without random parameters
    seed: int  # seed of the random parameters
    measures: tuple[str, ...]  # names of the measures of each run
    robot: str  # digest of the robot model and the files used

    def __len__(self) -> int:
        """Number of runs."""
        return math.prod(self.draws if axis is None else len(axis.samples) for axis in self._order)

    def changes(self, run: int) -> dict[str, Any]:
        """Values of a run by key, for `Scenario.with_changes`.

        Raises:
            InputError: no such run.
        """
        if not 0 <= run < len(self):
            text = f"run is {run}; sweep {self.name!r} has runs 0 to {len(self) - 1}."
            raise InputError(text, field="run", value=run)
        found: dict[str, Any] = {}
        rest = run
        for axis in reversed(self._order):
            if axis is None:
                rest, draw = divmod(rest, self.draws)
                found |= {random.key: random.value(self.seed, draw) for random in self._random}
            else:
                rest, i = divmod(rest, len(axis.samples))
                found[axis.key] = axis.samples[i]
        return {axis.key: found[axis.key] for axis in self.axes}

    @cached_property
    def _random(self) -> tuple[RandomAxis, ...]:
        return tuple(axis for axis in self.axes if isinstance(axis, RandomAxis))

    @cached_property
    def _order(self) -> tuple[ListAxis | None, ...]:
        """Axes from the slowest to the fastest; None represents all random ones, which are drawn together."""
        lists = [axis for axis in self.axes if isinstance(axis, ListAxis)]
        others = [axis for axis in lists if not axis.key.startswith(START)]
        starts = [axis for axis in lists if axis.key.startswith(START)]
        return (*others, None, *starts)

    def data(self) -> dict[str, Any]:
        """Data that determine the results, as JSON data."""
        return {
            "scenario": _relevant(self.scenario),
            "robot": self.robot,
            "parameters": {axis.key: axis.data() for axis in self.axes},
            "random": {"count": self.draws, "seed": self.seed} if self._random else {},
            "measures": list(self.measures),
        }

    @cached_property
    def fingerprint(self) -> str:
        """Differs between sweeps whose results may differ."""
        return hashlib.blake2b(json.dumps(self.data(), sort_keys=True).encode(), digest_size=16).hexdigest()


def _relevant(scenario: Scenario) -> dict[str, Any]:
    return {key: value for key, value in scenario.as_data().items() if key not in IRRELEVANT}


# --- reading ----------------------------------------------------------------------------------------------------------
def load(source: str | os.PathLike[str] | Mapping[str, Any]) -> Sweep:
    """Load a sweep.

    Example::

        starts = sweep.load("starts.yaml")

    Args:
        source: path of a YAML or JSON file, or the same data as a dict.

    Raises:
        InputError: invalid sweep; the message names file, line and key.
    """
    if isinstance(source, Mapping):
        return _read(from_object(source, "sweep"), "sweep", Path(), "sweep")
    text = os.fspath(source)
    if not isinstance(text, str):
        raise InputError(f"source is {source!r:.100}; it must be a path or a dict.", field="source")
    path = Path(text)
    if path.suffix.lower() not in scenarios.ENDINGS:
        words = f"a sweep file has the extension {', '.join(scenarios.ENDINGS)}; {text!r} has not."
        raise InputError(words, file=text, allowed=scenarios.ENDINGS)
    return _read(parsed(path), str(path), path.parent, path.stem)


class _SweepPart(Part):
    """Mapping of a sweep."""

    WHOLE = "the sweep"


def _read(node: Node, file: str, folder: Path, stem: str) -> Sweep:
    top = _SweepPart(node, "", file, _TOP)
    scenario, axes = _scenario(top, folder), _axes(top)
    draws, seed = _random(top, axes)
    found = Sweep(
        name=top.text("name", stem),
        scenario=scenario,
        axes=axes,
        draws=draws,
        seed=seed,
        measures=_measures(top, scenario),
        robot=_robot_digest(scenario, axes),
    )
    if len(found) > MOST_RUNS:
        raise top.problem("parameters", f"they give {len(found)} runs; at most {MOST_RUNS} are allowed.")
    _check_values(scenario, axes)
    return found


def _scenario(top: Part, folder: Path) -> Scenario:
    """Scenario by name, from a file relative to the sweep, or inline."""
    node = top.node("scenario")
    if isinstance(node, MappingNode):
        scenario = scenarios.read_node(node, top.file, folder.absolute())
    else:
        name = top.text("scenario")
        try:
            scenario = scenarios.load(folder.absolute() / name if Path(name).suffix in scenarios.ENDINGS else name)
        except AdaError as problem:
            raise top.problem("scenario", str(problem)) from None
    if scenario.simulation is None:
        raise top.problem("scenario", f"{scenario.name!r} has no simulation.")
    try:
        return scenario.with_changes(top.part("with", None).plain())
    except AdaError as problem:
        raise top.problem("with", str(problem)) from None


def _measures(top: Part, scenario: Scenario) -> tuple[str, ...]:
    """Measures; default: those of the scenario's claims."""
    wanted = top.texts("measures") or tuple(claim.measure for claim in scenario.claims if claim.measure)
    if not wanted:
        raise top.problem("measures", "missing, and the scenario has no claims; write measures: [energy_drift].")
    try:
        return tuple(find_measure(name).name for name in dict.fromkeys(wanted))
    except AdaError as problem:
        raise top.problem("measures", str(problem)) from None


def _axes(top: Part) -> tuple[Axis, ...]:
    parameters = top.part("parameters", None)
    if not parameters.entries:
        raise top.problem("parameters", "missing; write, for example, {simulation.step: [1 ms, 2 ms]}.")
    found: dict[str, Axis] = {}
    for short in parameters.keys():  # noqa: SIM118
        key = full_key(short)
        first = key.partition(".")[0]
        if first not in _VARIABLE:
            hint = near(first, _VARIABLE)
            raise parameters.problem(short, f"only {', '.join(_VARIABLE)} can vary. {hint}".strip())
        if key in found:
            raise parameters.problem(short, f"{key!r} is given twice.")
        found[key] = _axis(parameters, short, key)
    return tuple(found.values())


def _axis(parameters: Part, short: str, key: str) -> Axis:
    line, node = parameters.entries[short]
    place = f"{placed(parameters.file, line)}: {parameters.full(short)}"
    if isinstance(node, ListNode):
        return ListAxis(key, place, _listed(parameters, short))
    words = "it must be [...], {from, to, count}, {uniform: [a, b]}, or {normal: [m, s]}."
    if not isinstance(node, MappingNode):
        raise parameters.problem(short, f"it is {kind_of(node)}; {words}")
    part = parameters.part(short, _AXIS)
    kinds = [kind for kind in (_RANGE, (UNIFORM,), (NORMAL,)) if set(kind) & set(part.entries)]
    if len(kinds) != 1:
        raise parameters.problem(short, words)
    (kind,) = kinds
    if kind == _RANGE:
        first, last, unit = _two(part, _RANGE[:2], [part.node("from"), part.node("to")])
        count = part.whole("count", 0, 2, MOST_RUNS)
        inner = [first + (last - first) * i / (count - 1) for i in range(count - 1)]
        return ListAxis(key, place, tuple(with_unit(x, unit) for x in [*inner, last]))
    return _random_axis(part, kind[0], key, place)


def _listed(part: Part, key: str) -> tuple[Any, ...]:
    values = tuple(plain(item) for item in part.items(key))
    if not values:
        raise part.problem(key, "it is empty; give at least one value.")
    return values


def _random_axis(part: Part, kind: str, key: str, place: str) -> RandomAxis:
    items = part.items(kind)
    if len(items) != 2:
        two = "[least, greatest]" if kind == UNIFORM else "[mean, standard deviation]"
        raise part.problem(kind, f"it has {len(items)} values; it must be {two}.")
    first, second, unit = _two(part, (kind, kind), items)
    if kind == UNIFORM and not first < second:
        raise part.problem(kind, f"{first:g} is not less than {second:g}.")
    if kind == NORMAL and not second > 0.0:
        raise part.problem(kind, f"the standard deviation is {second:g}; it must be greater than 0.")
    return RandomAxis(key, place, kind, first, second, unit)


def _two(part: Part, keys: Sequence[str], nodes: Sequence[Node | None]) -> tuple[float, float, str]:
    """Two numbers with the same unit."""
    found = []
    for key, node in zip(keys, nodes, strict=True):
        pair = number_and_unit(plain(node)) if isinstance(node, ScalarNode) else None
        if pair is None:
            shown = "missing" if node is None else kind_of(node)
            raise part.problem(key, f"it is {shown}; it must be a number, alone or with a unit.")
        found.append(pair)
    (first, unit), (second, other) = found
    if unit != other:
        text = f"the units {shortened(unit)!r} and {shortened(other)!r} differ; use the same unit."
        raise part.problem(keys[1], text)
    return first, second, unit


def _random(top: Part, axes: tuple[Axis, ...]) -> tuple[int, int]:
    """Number of draws and seed."""
    is_random = any(isinstance(axis, RandomAxis) for axis in axes)
    if is_random and top.has("random"):
        part = top.part("random", ("count", "seed"))
        return part.whole("count", 0), part.whole("seed", 0, least=0)
    if is_random:
        raise top.problem("random", "missing, but a parameter is random; write random: {count: 1000, seed: 1}.")
    if top.has("random"):
        raise top.problem("random", "no parameter is random; write one as {uniform: [a, b]} or {normal: [m, s]}.")
    return 1, 0


# --- checks beyond the file -------------------------------------------------------------------------------------------
def _robot_digest(scenario: Scenario, axes: Sequence[Axis]) -> str:
    """Digest of the robot models, and of the files named by the scenario or its parameters.

    Raises:
        ScenarioError: a robot cannot be built.
    """
    total = hashlib.blake2b(tree_fingerprint(build_model(scenario).full_tree).encode(), digest_size=16)
    if scenario.control is not None and scenario.control.robot is not None:
        total.update(tree_fingerprint(believed_robot(scenario, scenario.control.robot).full_tree).encode())
    values = [*flat(_relevant(scenario)).values(), *(axis.samples for axis in axes if axis.key.startswith("model."))]
    for value in values:
        for name in value if isinstance(value, list | tuple) else [value]:
            if isinstance(name, str):
                for path in _files(scenario, name):
                    total.update(path.read_bytes())
    return total.hexdigest()


def _files(scenario: Scenario, name: str) -> list[Path]:
    """Files that a value may name: relative to the scenario or the current folder, or in config/ for controllers."""
    with suppress(AdaError, OSError):  # other text
        given = [path for path in (scenario.path(name), Path(name)) if path.is_file()]
        return given or [resources.find("config", name)]
    return []


def _check_values(scenario: Scenario, axes: Sequence[Axis]) -> None:
    """Reject unknown parameters and invalid values.

    Raises:
        ScenarioError: names file, line, parameter and value.
    """
    # Each run checks whether its loops can be closed: they are omitted here.
    open_model = _without_loops(build_model(scenario))
    # Parameters may be valid only in combination: use the first value of the others.
    others = {axis.key: axis.samples[0] for axis in axes}
    for axis in axes:
        for value in axis.samples:
            try:
                _check_value(scenario.with_changes({**others, axis.key: value}), axis.key, open_model)
            except AdaError as problem:
                words = f"{axis.place}: {value!r} is invalid: {problem}"
                raise ScenarioError(words, field=axis.key, value=value) from None


def _check_value(scenario: Scenario, key: str, open_model: Model) -> None:
    if key.startswith(START):
        start_state(scenario.with_changes({"start.centre_of_mass": "as given"}), open_model)
    elif key.startswith("simulation.efforts."):
        efforts(scenario, open_model)
    elif key.startswith("model."):
        build_model(scenario)


def _without_loops(model: Model) -> Model:
    parts = Parts.of(model)
    parts.loops = {}
    return parts.build() if model.loops else model
