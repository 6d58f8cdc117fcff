# SPDX-License-Identifier: Apache-2.0
"""Controllers for robots with open chains and closed loops, for simulations, ROS 2 nodes and devices.

    from ada_controllers import JointReference, State, make

    controller = make("computed_torque", model)
    controller.reset(State(q, v), time=0.0)
    command = controller.update(State(q, v), JointReference(q_desired), time=0.001)

List of controllers: `ada_controllers.registry.CONTROLLERS`; settings and units: docs/controllers.md.
"""

from ada_controllers.controller import Controller
from ada_controllers.registry import CONTROLLERS, find, make
from ada_controllers.state import (
    ActivationRefused,
    CommandRefused,
    JointPath,
    JointReference,
    PoseReference,
    Reference,
    ReferenceRefused,
    State,
    StateRefused,
)
from ada_robot.contract import Command

__all__ = [
    "CONTROLLERS",
    "ActivationRefused",
    "Command",
    "CommandRefused",
    "Controller",
    "JointPath",
    "JointReference",
    "PoseReference",
    "Reference",
    "ReferenceRefused",
    "State",
    "StateRefused",
    "find",
    "make",
]
