# SPDX-License-Identifier: Apache-2.0
"""Robot model and initial state of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, unknown_name
from ada_dynamics.model.edit.parts import Parts, with_gravity
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.model import Model
from ada_dynamics.robots.catalogue import CATALOGUE, start_of
from ada_dynamics.robots.load import load as load_robot
from ada_tools.scenario import units
from ada_tools.scenario.fields import Part, ScenarioError, refusal
from ada_tools.scenario.scenario import Scenario
from ada_tools.scenario.sections import ModelPart

CLOSED = 1e-9  # [m, rad], [m/s, rad/s] tolerance of the loop constraints for the initial state

# Dimensions of a coordinate, its rate and its effort, by the unit of the coordinate.
_DIMENSIONS = {
    "rad": (units.ANGLE, units.ANGULAR_SPEED, units.MOMENT),
    "m": (units.LENGTH, units.SPEED, units.FORCE),
    "1": (units.NUMBER, units.NUMBER, units.NUMBER),
}


def build_model(scenario: Scenario) -> Model:
    """Robot model of a scenario.

    Raises:
        ScenarioError: the model is missing or cannot be loaded.
    """
    part = scenario.model
    if part is None:
        words = f"{scenario.file}: model: missing; write model: {{robot: ...}}."
        raise ScenarioError(words, file=scenario.file, field="model")
    try:
        model = _loaded(scenario, part)
        if part.gravity is not None and part.gravity != model.gravity:
            model = with_gravity(model, part.gravity)
        return _with_masses(model, part) if part.masses else model
    except ScenarioError:
        raise
    except AdaError as problem:
        raise refusal(scenario.file, "model", problem) from None


def _loaded(scenario: Scenario, part: ModelPart) -> Model:
    source = part.robot if part.robot in CATALOGUE else str(scenario.path(part.robot))
    more: dict[str, Any] = {}
    if part.base is not None:
        more["base"] = part.base
    if part.loops is not None:
        more["loops"] = str(scenario.path(part.loops))
    if source not in CATALOGUE and not scenario.path(part.robot).exists():
        raise unknown_name("file or robot of the catalogue", part.robot, CATALOGUE)
    return load_robot(source, mappings=part.arguments or None, **more)


def _with_masses(model: Model, part: ModelPart) -> Model:
    """Replace link masses; inertias scale proportionally."""
    parts = Parts.of(model)
    for name, mass in part.masses.items():
        if name not in parts.links:
            raise unknown_name("link in model.masses", name, parts.links)
        link = parts.links[name]
        if not link.mass > 0.0:
            raise ScenarioError(f"link {name!r} is massless; model.masses cannot change it.", link=name, field="masses")
        parts.links[name] = replace(link, mass=mass, inertia=link.inertia * (mass / link.mass))
    return parts.build()


def start_state(scenario: Scenario, model: Model) -> tuple[Array, Array]:
    """Initial configuration and velocity of a scenario.

    Joints that are not named are at zero and at rest; without any names the configuration of the catalogue is used.

    Raises:
        ScenarioError: unknown joint, invalid value, or open loops.
    """
    start = scenario.start
    given = start.part("joints", None)
    robot = None if given.entries or scenario.model is None else scenario.model.robot
    catalogued = start_of(robot)
    q = model.home() if catalogued is None else np.array(catalogued, dtype=np.float64)
    _fill(q, given, model, model.q_index, _position_units)
    wrong = model.position_problems(q) if model.has_manifold_coordinates else []
    if wrong:
        raise start.problem("joints", f"{'; '.join(map(str, wrong))}.")
    v = np.zeros(model.nv)
    _fill(v, start.part("velocity", None), model, model.v_index, _velocity_units)
    if model.loops:
        q, v = _on_loops(start, model, q, v)
    if start.text("centre_of_mass", "as given") == "at rest":
        v = _at_rest(start, model, q, v)
    return q, v


def efforts(scenario: Scenario, model: Model) -> Array:
    """Constant efforts of the simulation."""
    tau = np.zeros(model.nv)
    if scenario.simulation is not None:
        _fill(tau, scenario.simulation.efforts, model, model.v_index, _effort_units)
    return tau


def _fill(
    into: Array,
    part: Part,
    model: Model,
    index: Callable[[str], slice],
    units_of: Callable[[type[JointType]], Sequence[units.Dimension]],
) -> None:
    """Write the entries of a joint mapping into a vector."""
    for joint in part.keys():  # noqa: SIM118
        try:
            place = index(joint)
        except AdaError as problem:
            raise part.problem(joint, str(problem)) from None
        into[place] = part.numbers(joint, units_of(model.joints[joint].type))


def _position_units(joint: type[JointType]) -> Sequence[units.Dimension]:
    return [_DIMENSIONS[c.unit][0] for c in joint.coordinates]


def _velocity_units(joint: type[JointType]) -> Sequence[units.Dimension]:
    return [_DIMENSIONS[c.unit][1] for c in joint.rates]


def _effort_units(joint: type[JointType]) -> Sequence[units.Dimension]:
    return [_DIMENSIONS[c.unit][2] for c in joint.rates]


def _on_loops(start: Part, model: Model, q: Array, v: Array) -> tuple[Array, Array]:
    """State with closed loops; raises an error with the closure error if closing is not requested."""
    from ada_dynamics.constraints.closed_configuration import close_loops
    from ada_dynamics.constraints.constraint_set import ConstraintSet
    from ada_dynamics.dynamics import Dynamics

    numbers = ConstraintSet(model)
    closes = start.flag("close")
    gap = numbers.violation(q)
    if float(np.max(np.abs(gap), initial=0.0)) > CLOSED:
        if not closes:
            raise start.problem("joints", f"the loops are not closed: {_by_loop(numbers, gap, '[m, rad]')}. {_CLOSE}")
        try:
            q = np.array(close_loops(model, q, start.texts("hold")))
        except AdaError as problem:
            raise start.problem("close", str(problem)) from None
    drift = numbers.jacobian(q) @ v
    if float(np.max(np.abs(drift), initial=0.0)) > CLOSED:
        if not closes:
            shown = _by_loop(numbers, drift, "[m/s, rad/s]")
            raise start.problem("velocity", f"it violates the loop constraints: {shown}. {_CLOSE}")
        q, v = Dynamics(model, q0=q).project_to_constraints(q, v)
    return q, v


_CLOSE = "Write start: {close: true} to use the nearest closed state."


def _by_loop(numbers: Any, values: Array, unit: str) -> str:
    """Largest value of each loop, as text."""
    worst: dict[str, float] = {}
    for (loop, _, _), value in zip(numbers.rows, np.abs(values).tolist(), strict=True):
        worst[loop] = max(worst.get(loop, 0.0), value)
    return ", ".join(f"{loop!r} by {value:.3g} {unit}" for loop, value in worst.items() if value > CLOSED)


def _at_rest(start: Part, model: Model, q: Array, v: Array) -> Array:
    """Correct the base velocity so that the centre of mass is at rest; documents print rounded velocities."""
    from ada_dynamics.dynamics import Dynamics

    first = model.joint_names[0]
    if not model.joints[first].type.leaves_free():
        raise start.problem("centre_of_mass", "it requires a floating base.")
    dynamics = Dynamics(model)
    base = slice(model.v_index(first).start, model.v_index(first).start + 3)
    J = np.asarray(dynamics.com_jacobian(q), dtype=np.float64)
    v = v.copy()
    for _ in range(2):  # the second iteration removes rounding errors
        v[base] -= np.linalg.solve(J[:, base], J @ v)
    return v
