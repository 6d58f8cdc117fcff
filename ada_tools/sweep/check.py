# SPDX-License-Identifier: Apache-2.0
"""Validation before the first run: parameters exist and their values have the right type."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ada_dynamics import resources
from ada_dynamics.dynamics.kernel_store import tree_fingerprint
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.model.model import Model
from ada_tools.scenario.control import believed_robot
from ada_tools.scenario.fields import ScenarioError
from ada_tools.scenario.registry import find_measure, measures
from ada_tools.scenario.scenario import START, ControlPart, Scenario
from ada_tools.scenario.states import build_model, efforts, start_state
from ada_tools.sweep.axes import Axis, flat
from ada_tools.sweep.side_by_side import CPU, HOST, fitting
from ada_tools.sweep.sweep import KEEP, Sweep

ROBOT_FILES = ("model.robot", "model.loops")


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
