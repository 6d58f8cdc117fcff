# SPDX-License-Identifier: Apache-2.0
"""Read sweeps from YAML or JSON files, or from data, and check them before the first run.

Errors name file, line, key and allowed values.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from ada_dynamics import resources
from ada_dynamics.dynamics.kernel_store import tree_fingerprint
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_dynamics.structured_text.fields import placed
from ada_dynamics.structured_text.lexical import near
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode, from_object, kind_of, shortened
from ada_tools.scenario import scenario as scenarios
from ada_tools.scenario.fields import Part, ScenarioError, plain
from ada_tools.scenario.registry import find_measure, measures
from ada_tools.scenario.run import believed_robot
from ada_tools.scenario.scenario import START, Scenario, full_key
from ada_tools.scenario.sections import ControlPart
from ada_tools.scenario.states import build_model, efforts, start_state
from ada_tools.sweep.side_by_side import CPU, HOST, fitting
from ada_tools.sweep.sweep import (
    DISTRIBUTIONS,
    KEEP,
    MOST_RUNS,
    NORMAL,
    UNIFORM,
    Axis,
    ListAxis,
    RandomAxis,
    Runs,
    Sweep,
    evenly,
    flat,
    number_and_unit,
)

ROBOT_FILES = ("model.robot", "model.loops")
_TOP = ("name", "scenario", "with", "parameters", "random", "measures", "keep", "device")
_RANGE = ("from", "to", "count")
_AXIS = (*_RANGE, "list", *DISTRIBUTIONS)
_VARIABLE = ("model", "start", "simulation", "disturbances")


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
    return _read(scenarios.parsed(path), str(path), path.parent, path.stem)


class _SweepPart(Part):
    """Mapping of a sweep."""

    WHOLE = "the sweep"


def _read(node: Node, file: str, folder: Path, stem: str) -> Sweep:
    top = _SweepPart(node, "", file, _TOP)
    scenario = _scenario(top, folder)
    axes = _axes(top)
    runs = Runs(axes, *_random(top, axes))
    if len(runs) > MOST_RUNS:
        raise top.problem("parameters", f"they give {len(runs)} runs; at most {MOST_RUNS} are allowed.")
    check_values(scenario, axes)
    found = Sweep(
        name=top.text("name", stem),
        file=file,
        scenario=scenario,
        runs=runs,
        measures=_measures(top, scenario),
        keep=top.choice("keep", KEEP, KEEP[0]),
        device=top.text("device") if top.has("device") else None,
        robot=robot_digest(scenario, axes),
    )
    if found.device is not None:
        try:
            check_side_by_side(found)
        except AdaError as problem:
            raise top.problem("device", str(problem)) from None
    return found


def _scenario(top: Part, folder: Path) -> Scenario:
    """Scenario by name, from a file relative to the sweep, or inline."""
    node = top.node("scenario")
    if isinstance(node, MappingNode):
        scenario = scenarios.read_node(node, top.file, folder)
    else:
        name = top.text("scenario")
        source = name if name in scenarios.names() else folder / name
        try:
            scenario = scenarios.load(source if Path(name).suffix in scenarios.ENDINGS else name)
        except AdaError as problem:
            raise top.problem("scenario", str(problem)) from None
    if scenario.simulation is None:
        raise top.problem("scenario", f"{scenario.name!r} has no simulation.")
    fixed = top.part("with", None)
    changes = fixed.plain()
    try:
        return scenario.with_changes(changes)
    except AdaError as problem:
        raise top.problem("with", str(problem)) from None


def _measures(top: Part, scenario: Scenario) -> tuple[str, ...]:
    """Measures; default: those of the scenario's claims."""
    wanted = top.texts("measures") or tuple(claim.measure for claim in scenario.claims if claim.measure)
    if not wanted:
        raise top.problem("measures", "missing, and the scenario has no claims; write measures: [energy_drift].")
    for name in wanted:
        try:
            find_measure(name)
        except AdaError as problem:
            raise top.problem("measures", str(problem)) from None
    return tuple(dict.fromkeys(wanted))


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
        return ListAxis(key, _listed(parameters, short), place)
    if not isinstance(node, MappingNode):
        raise parameters.problem(
            short, f"it is {kind_of(node)}; it must be a list of values, or a mapping with {', '.join(_AXIS)}."
        )
    part = parameters.part(short, _AXIS)
    ways = [set(_RANGE) & set(part.entries), *({word} & set(part.entries) for word in ("list", *DISTRIBUTIONS))]
    if sum(map(bool, ways)) != 1:
        raise parameters.problem(
            short, "it must be one of {from, to, count}, {list: [...]}, {uniform: [a, b]}, {normal: [m, s]}."
        )
    if part.has("list"):
        return ListAxis(key, _listed(part, "list"), place)
    if ways[0]:
        first, last, unit = _two(part, "from", "to", [part.node("from"), part.node("to")])
        return ListAxis(key, evenly(first, last, part.whole("count", 0, 2, MOST_RUNS), unit), place)
    return _random_axis(part, key, place)


def _listed(part: Part, key: str) -> tuple[Any, ...]:
    values = tuple(plain(item) for item in part.items(key))
    if not values:
        raise part.problem(key, "it is empty; give at least one value.")
    return values


def _random_axis(part: Part, key: str, place: str) -> RandomAxis:
    kind = next(word for word in DISTRIBUTIONS if word in part.entries)
    items = part.items(kind)
    if len(items) != 2:
        two = "[least, greatest]" if kind == UNIFORM else "[mean, standard deviation]"
        raise part.problem(kind, f"it has {len(items)} values; it must be {two}.")
    first, second, unit = _two(part, kind, kind, items)
    if kind == UNIFORM and not first < second:
        raise part.problem(kind, f"{first:g} is not less than {second:g}.")
    if kind == NORMAL and not second > 0.0:
        raise part.problem(kind, f"the standard deviation is {second:g}; it must be greater than 0.")
    return RandomAxis(key, cast(Any, kind), first, second, unit, place)


def _two(part: Part, first_key: str, second_key: str, nodes: Any) -> tuple[float, float, str]:
    """Two numbers with the same unit."""
    found = []
    for key, node in zip((first_key, second_key), nodes, strict=True):
        pair = None if node is None else number_and_unit(plain(node)) if isinstance(node, ScalarNode) else None
        if pair is None:
            shown = "missing" if node is None else kind_of(node)
            raise part.problem(key, f"it is {shown}; it must be a number, alone or with a unit.")
        found.append(pair)
    (first, unit), (second, other) = found
    if unit != other:
        raise part.problem(
            second_key, f"the units {shortened(unit)!r} and {shortened(other)!r} differ; use the same unit."
        )
    return first, second, unit


def _random(top: Part, axes: tuple[Axis, ...]) -> tuple[int, int]:
    """Number of draws and seed."""
    is_random = any(isinstance(axis, RandomAxis) for axis in axes)
    if not is_random:
        if top.has("random"):
            raise top.problem("random", "no parameter is random; write one as {uniform: [a, b]} or {normal: [m, s]}.")
        return 1, 0
    if not top.has("random"):
        raise top.problem("random", "missing, but a parameter is random; write random: {count: 1000, seed: 1}.")
    part = top.part("random", ("count", "seed"))
    return part.whole("count", 0), part.whole("seed", 0, least=0)


# --- checks beyond the file -------------------------------------------------------------------------------------------
def robot_digest(scenario: Scenario, axes: Sequence[Axis]) -> str:
    """Digest of the robot models, and of the files used by scenario, controller or parameters.

    Raises:
        ScenarioError: a robot cannot be built.
    """
    total = hashlib.blake2b(tree_fingerprint(build_model(scenario).full_tree).encode(), digest_size=16)
    if scenario.control is not None and scenario.control.robot is not None:
        total.update(tree_fingerprint(believed_robot(scenario, scenario.control.robot).full_tree).encode())
    for path in (*_robot_files(scenario, axes), *_controller_files(scenario.control)):
        total.update(path.read_bytes())
    return total.hexdigest()


def _robot_files(scenario: Scenario, axes: Sequence[Axis]) -> Iterator[Path]:
    part = scenario.model
    named = [] if part is None else [part.robot, part.loops]
    named += [value for axis in axes if axis.key in ROBOT_FILES for value in axis.samples]
    for name in named:
        if name is not None and scenario.path(name).is_file():
            yield scenario.path(name)


def _controller_files(part: ControlPart | None) -> Iterator[Path]:
    """Files in the settings of a controller, as given or in config/."""
    if part is None:
        return
    for value in flat({"robot": part.robot, "settings": part.settings, "shaping": part.shaping}).values():
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, str) and name:
                with suppress(AdaError, OSError):  # other text
                    yield Path(name) if Path(name).is_file() else resources.find("config", name)


def check_values(scenario: Scenario, axes: Sequence[Axis]) -> None:
    """Reject unknown parameters and invalid values.

    Raises:
        ScenarioError: names file, line, parameter and value.
    """
    # Each run checks whether its loops can be closed: they are omitted here.
    open_model = _without_loops(build_model(scenario))
    # Parameters may be valid only in combination: use the first value of the others.
    others = {axis.key: axis.samples[0] for axis in axes}
    for axis in axes:
        looks = _looks(axis.key, open_model)
        for value in axis.samples:
            try:
                changed = scenario.with_changes({**others, axis.key: value})
                if looks is not None:
                    looks(changed)
            except AdaError as problem:
                words = f"{axis.place}: {value!r} is invalid: {problem}"
                raise ScenarioError(words, field=axis.key, value=value) from None


def check_side_by_side(sweep: Sweep) -> None:
    """Reject a sweep that cannot be batched, as far as its file shows.

    Raises:
        InputError: states the reason and the correction.
    """
    device, scenario, control = str(sweep.device), sweep.scenario, sweep.scenario.control
    alone = "or omit device, to execute runs individually."
    if device != CPU and device != HOST and not re.fullmatch(r"cuda(:\d+)?", device):
        raise InputError(f"{device[:60]!r} is not allowed. Allowed: {CPU}, cuda, cuda:N, {HOST}.")
    if control is not None:
        raise InputError(f"controller {control.name!r} is not supported in batches. Use constant efforts, {alone}")
    if scenario.disturbances:
        raise InputError(f"disturbances are not supported in batches. Remove them, {alone}")
    if sweep.keep == KEEP[2]:
        raise InputError(f"batched runs have no logs. Keep failed ones or none, {alone}")
    several = [axis.key for axis in sweep.runs.random if not axis.key.startswith(START)]
    if several:
        raise InputError(f"random {several[0]} requires a separate simulation per draw. List its values, {alone}")
    wrong = [name for name in sweep.measures if not find_measure(name).side_by_side]
    if wrong:
        able = ", ".join(sorted(name for name, one in measures().items() if one.side_by_side))
        raise InputError(f"measure {wrong[0]!r} does not support batches. Choose from {able}, {alone}")
    fitting(scenario, build_model(scenario))


def _looks(key: str, model: Model) -> Callable[[Scenario], Any] | None:
    """Function that validates a parameter value beyond parsing."""
    if key.startswith("start."):
        return lambda scenario: start_state(scenario.with_changes({"start.centre_of_mass": "as given"}), model)
    if key.startswith("simulation.efforts."):
        return lambda scenario: efforts(scenario, model)
    if key.startswith("model."):
        return build_model
    return None


def _without_loops(model: Model) -> Model:
    if not model.loops:
        return model
    parts = Parts.of(model)
    parts.loops = {}
    return parts.build()
