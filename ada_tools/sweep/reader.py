# SPDX-License-Identifier: Apache-2.0
"""Read sweeps from YAML or JSON files, or from data; errors name file, line, key and allowed values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.structured_text.fields import placed
from ada_dynamics.structured_text.lexical import near
from ada_dynamics.structured_text.nodes import ListNode, MappingNode, Node, ScalarNode, from_object, kind_of, shortened
from ada_tools.scenario import reader as scenarios
from ada_tools.scenario.fields import Part, plain
from ada_tools.scenario.registry import find_measure
from ada_tools.scenario.scenario import Scenario, full_key
from ada_tools.sweep.axes import DISTRIBUTIONS, NORMAL, UNIFORM, Axis, ListAxis, RandomAxis, evenly, number_and_unit
from ada_tools.sweep.check import check_side_by_side, check_values, robot_digest
from ada_tools.sweep.sweep import KEEP, Runs, Sweep

MOST_RUNS = 10_000_000
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
    wanted = top.texts("measures") or tuple(claim.measure for claim in scenario.claims)
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
