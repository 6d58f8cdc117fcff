# SPDX-License-Identifier: Apache-2.0
"""Controller of a scenario and its reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.model.model import Model
from ada_dynamics.robots.load import load as load_robot
from ada_dynamics.spatial.orientation import pose_of
from ada_robot.settings import fields_of
from ada_tools.scenario import units
from ada_tools.scenario.fields import Part, ScenarioError, refusal
from ada_tools.scenario.scenario import Scenario
from ada_tools.scenario.units import BadValue, value_in

if TYPE_CHECKING:
    from ada_controllers.controller import Controller
    from ada_controllers.in_simulation import InSimulation
    from ada_controllers.state import Reference


def control_loop(scenario: Scenario, model: Model, q: Array) -> InSimulation:
    """Create the controller of a scenario with its reference.

    Args:
        scenario: scenario with a controller.
        model: simulated robot.
        q: initial configuration; joints without a reference hold it.

    Raises:
        ScenarioError: unknown controller, unsuitable robot, or invalid reference.
    """
    from ada_controllers import make
    from ada_controllers.checks.shaping import ShapingSettings
    from ada_controllers.in_simulation import InSimulation, by_joint_names
    from ada_controllers.registry import find

    part = scenario.control
    assert part is not None
    try:
        robot = model if part.robot is None else believed_robot(scenario, part.robot)
        settings = _in_si(part.settings, find(part.name).SETTINGS)
        controller = make(part.name, robot, settings, _in_si(part.shaping, ShapingSettings))
        state = None if part.robot is None else by_joint_names(robot, model)
        start = q if state is None else state(q, np.zeros(model.nv)).q
        reference = _reference(part.reference, controller, start)
        if reference is not None:
            controller.check(reference)
    except ScenarioError:
        raise
    except AdaError as problem:
        raise refusal(scenario.file, "controller", problem) from None
    return InSimulation(controller, reference, period=part.period, state=state)


def believed_robot(scenario: Scenario, name: str) -> Model:
    """Robot model used by the controller.

    Raises:
        ScenarioError: the robot cannot be loaded.
    """
    try:
        return load_robot(name)
    except AdaError as problem:
        raise refusal(scenario.file, "controller", problem) from None


def _in_si(given: Mapping[str, Any], cls: type[Any]) -> dict[str, Any]:
    """Settings with numbers in place of texts such as "45 deg"."""
    unit = {one.name: one.unit for one in fields_of(cls) if one.kind in ("float", "floats")}
    return {name: _without_unit(name, value, unit[name]) if name in unit else value for name, value in given.items()}


def _without_unit(name: str, value: Any, unit: str) -> Any:
    if isinstance(value, list):
        return [_without_unit(name, item, unit) for item in value]
    try:
        return value_in(value, unit) if isinstance(value, str) else value
    except BadValue as problem:
        raise InputError(f"{name}: {problem}.", field=name, value=value, allowed=unit) from None


def _reference(part: Part, controller: Controller[object], start: Array) -> Reference | None:
    from ada_controllers.state import JointReference, PoseReference

    if part.has("pose"):
        pose = part.part("pose", None)
        rpy = pose.vector("rpy", (units.ANGLE,) * 3) if pose.has("rpy") else (0.0, 0.0, 0.0)
        return PoseReference(pose_of(pose.vector("position", (units.LENGTH,) * 3), rpy))
    if not part.keys():
        return None
    position, velocity = start[controller.q_index], np.zeros(len(controller.joints))
    for key, into, unit in (("joints", position, units.ANGLE), ("velocity", velocity, units.ANGULAR_SPEED)):
        given = part.part(key, None)
        for joint in given.keys():  # noqa: SIM118
            if joint not in controller.joints:
                known = ", ".join(controller.joints)
                raise given.problem(joint, f"the controller commands no such joint. Known: {known}.")
            turns = controller.model.joints[joint].type.turns()
            metres = units.LENGTH if key == "joints" else units.SPEED
            into[controller.joints.index(joint)] = given.quantity(joint, unit if turns else metres)
    return JointReference(position, velocity)
