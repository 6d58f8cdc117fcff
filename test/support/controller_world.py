# SPDX-License-Identifier: Apache-2.0
"""A controller node and what tests ask of it."""

from __future__ import annotations

from functools import partial
from typing import Any

import hardware_world
import numpy as np
from hardware_world import ARM
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from sensor_msgs.msg import JointState

from ada_controllers.node.controller_node import ControllerNode
from ada_robot.node.dynamics_node import DynamicsNode
from ada_robot.ros import qos

BENT = [0.1, 0.7, 0.0, 0.8, 0.0, 0.3, 0.0]
NAMES = list(ARM)
PATIENT = {"state_timeout": 20.0, "max_gap": 20.0}  # on a busy machine states may be late; some tests are about that
life = partial(hardware_world.life, node="controller_node")
set_parameter = partial(hardware_world.set_parameter, node="controller_node")
diagnosed = partial(hardware_world.diagnosed, node="controller_node")


def plant(ros: Any, **parameters: Any) -> Any:
    chosen = {"robot": "pa10", "publish_rate": 500.0, "initial_positions": BENT, **parameters}
    node = ros.make(DynamicsNode, chosen)
    ros.wait(lambda: node.loop is not None, what="the physics")
    return node


def controller(ros: Any, **parameters: Any) -> Any:
    """A controller node in this process; with `wait=True` until it is active."""
    wait = parameters.pop("wait", False)
    chosen = {"robot": "pa10", **PATIENT, **parameters}
    node = ros.make(ControllerNode, chosen)
    if wait:
        ros.wait(lambda: node.phase == "active", what="the controller to be active")
    return node


def transition(ros: Any, name: str) -> bool:
    wanted = getattr(Transition, f"TRANSITION_{name.upper()}")
    request = ChangeState.Request(transition=Transition(id=wanted))
    return bool(ros.call(ChangeState, "controller_node/change_state", request).success)


def joint_state(position: Any = BENT, velocity: Any = None, names: Any = None, effort: Any = ()) -> JointState:
    position = list(map(float, position))
    velocity = [0.0] * len(position) if velocity is None else list(map(float, velocity))
    return JointState(name=list(names or NAMES), position=position, velocity=velocity, effort=list(map(float, effort)))


class Sender:
    """Joint states from the test itself, when it wants."""

    def __init__(self, ros: Any) -> None:
        self._ros = ros
        self._publisher = ros.publisher(JointState, "joint_states")

    def send(self, *arguments: Any, **fields: Any) -> None:
        self._publisher.publish(joint_state(*arguments, **fields))

    def ready(self) -> Sender:
        self._ros.matched(self._publisher)
        return self

    def until(self, condition: Any, *arguments: Any, what: str = "a condition", **fields: Any) -> Any:
        """Send a state again and again until something holds."""

        def act() -> Any:
            self.send(*arguments, **fields)
            return condition()

        return self._ros.wait(act, what=what)


def played(ros: Any, effort: Any = (), **parameters: Any) -> tuple[Any, Sender]:
    """An active controller of a robot that the test itself plays, and that robot. Args: effort: of its motors."""
    sender = Sender(ros)
    node = controller(ros, **parameters)
    sender.until(lambda: node.phase == "active", what="an active controller", effort=effort)
    return node, sender


def referenced(ros: Any, kind: Any = JointState, topic: str = "joint_reference") -> Any:
    """A publisher of references that the controller hears."""
    return ros.matched(ros.publisher(kind, f"controller_node/{topic}", qos.COMMANDS))


def weight(position: Any = BENT) -> Any:
    import ada_dynamics as ada

    zero = np.zeros(7)
    return ada.Dynamics(ada.load("pa10")).inverse(np.array(position, dtype=float), zero, zero)
