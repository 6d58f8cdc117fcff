# SPDX-License-Identifier: Apache-2.0
"""Checks before the first of many runs: that every parameter exists and its values are of the right kind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from ada_dynamics.dynamics.kernels import tree_fingerprint
from ada_dynamics.errors import AdaError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.scenario import Scenario
from ada_tools.scenario.states import build_model, efforts, start_state
from ada_tools.sweep.axes import Axis


def robot_digest(scenario: Scenario) -> str:
    """A text that differs where the robot of a scenario differs: its dynamics, and the files that the scenario names.

    Raises:
        ScenarioError: the robot cannot be built.
    """
    total = hashlib.blake2b(tree_fingerprint(build_model(scenario).full_tree).encode(), digest_size=16)
    part = scenario.model
    for name in () if part is None else (part.robot, part.loops):
        path = None if name is None else scenario.path(name)
        if path is not None and path.is_file():
            total.update(path.read_bytes())
    return total.hexdigest()


def check_values(scenario: Scenario, axes: Sequence[Axis]) -> None:
    """Refuse a parameter that is unknown, or a value that does not fit it.

    Raises:
        ScenarioError: the message names file, line, parameter and value.
    """
    # Whether loops can be closed is found out by each run: here they are left out.
    open_model = _without_loops(build_model(scenario))
    # The first values of all, since some parameters are only right together with others.
    others = {axis.key: axis.samples[0] for axis in axes}
    for axis in axes:
        looks = _looks(axis.key, open_model)
        for value in axis.samples:
            try:
                changed = scenario.with_changes({**others, axis.key: value})
                if looks is not None:
                    looks(changed)
            except AdaError as problem:
                raise ScenarioError(f"{axis.place}: {value!r} does not fit: {problem}") from None


def _looks(key: str, model: Model) -> Callable[[Scenario], Any] | None:
    """Tries a value of a parameter beyond reading it."""
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
