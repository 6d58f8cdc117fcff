# SPDX-License-Identifier: Apache-2.0
"""Controllers by name; each is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ada_dynamics.errors import unknown_name

if TYPE_CHECKING:
    from ada_controllers.controller import Controller
    from ada_controllers.kit.shaping import ShapingSettings
    from ada_dynamics.model.model import Model

CONTROLLERS: Mapping[str, str] = {
    "balance": "Balance",
    "compliance": "Compliance",
    "computed_torque": "ComputedTorque",
    "gravity_compensation": "GravityCompensation",
    "impedance": "Impedance",
    "joint_trajectory": "JointTrajectory",
    "pid": "Pid",
    "pose_servo": "PoseServo",
    "reaction_null_space": "ReactionNullSpace",
    "spring_damper": "SpringDamper",
    "virtual_closed_chain": "VirtualClosedChain",
}
"""Name, which is also the module's, and class."""


def find(name: str) -> type[Controller[Any]]:
    """The class of a controller.

    Raises:
        InputError: there is none of that name.
    """
    if name not in CONTROLLERS:
        raise unknown_name("controller", name, CONTROLLERS)
    found: type[Controller[Any]] = getattr(import_module(f"ada_controllers.{name}"), CONTROLLERS[name])
    return found


def make(
    name: str,
    model: Model,
    settings: Mapping[str, object] | None = None,
    shaping: ShapingSettings | Mapping[str, object] | None = None,
) -> Controller[Any]:
    """A controller for a robot.

    Args:
        name: see `CONTROLLERS`.
        model: the robot.
        settings: by name; the others keep their defaults.
        shaping: what its commands are held to beside the robot's limits.

    Raises:
        InputError: an unknown controller or setting, a value that is not allowed, a robot that it is not for.
    """
    return find(name)(model, settings, shaping)
