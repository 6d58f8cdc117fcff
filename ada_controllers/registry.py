# SPDX-License-Identifier: Apache-2.0
"""Controllers by name, imported at first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ada_dynamics.errors import unknown_name

if TYPE_CHECKING:
    from ada_controllers.command_shaping import ShapingSettings
    from ada_controllers.controller import Controller
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
    "virtual_closed_chain": "VirtualClosedChain",
}
"""Class names by controller name, which is also the module name."""


def find(name: str) -> type[Controller[Any]]:
    """Return the class of a controller.

    Raises:
        InputError: if the name is unknown.
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
    """Create a controller for a robot.

    Args:
        name: key of `CONTROLLERS`.
        model: robot model.
        settings: settings by name; others keep their defaults.
        shaping: command limits in addition to those of the robot.

    Raises:
        InputError: if the controller or a setting is unknown, a value is invalid, or the robot is not supported.
    """
    return find(name)(model, settings, shaping)
