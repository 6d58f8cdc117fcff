# SPDX-License-Identifier: Apache-2.0
"""Services of the dynamics node: reset, pause, step; imports rclpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ada_robot.node.dynamics_settings import DynamicsSettings
from ada_robot.node.plant_loop import PlantLoop, done
from ada_robot.ros.answers import answered
from ada_robot.simulated.source import initial_state

BATCH = 200  # maximum number of steps per request to the physics thread


class PlantServices:
    """Services executed by the physics thread between two steps; the response is sent afterwards."""

    def __init__(self, node: Node, loop: PlantLoop, settings: Callable[[], DynamicsSettings]) -> None:
        """Create the services.

        Args:
            node: node of the services.
            loop: physics thread.
            settings: returns the present settings of the node.
        """
        self._loop, self._settings = loop, settings
        node.create_service(Trigger, "~/reset", self._reset)
        node.create_service(SetBool, "~/pause", self._pause)
        node.create_service(Trigger, "~/step", self._step)

    def reset(self, *, restarts_time: bool = False) -> str:
        """Reset the robot to its initial state; return a message.

        Raises:
            AdaError: if it is not possible.
        """
        plant = self._loop.plant  # raises if it is not created yet
        q, v = initial_state(plant.model, self._settings())
        done(self._loop.change(lambda: plant.reset(q, v, restarts_time=restarts_time)))
        return f"{plant.model.name} is reset to its initial state; all commands have ended."

    def pause(self, paused: bool) -> str:
        """Pause or resume; return a message."""
        done(self._loop.pause(paused))
        return f"{'paused' if paused else 'running'} at t = {self._loop.latest.t:.6g} s"

    def step(self, count: int) -> str:
        """Take steps while paused; return a message.

        Raises:
            AdaError: if it is not paused, or the simulation has failed.
        """
        left, batch = count, BATCH - BATCH % self._loop.every or BATCH  # whole periods of joint_states
        while left > batch:  # the timeout applies to one batch, and the node may end between two
            done(self._loop.step(batch))
            left -= batch
        snapshot = done(self._loop.step(left))
        return f"{count} step{'s' if count > 1 else ''} taken, t = {snapshot.t:.9g} s"

    # --- responses ----------------------------------------------------------------------------------------------
    def _reset(self, _: Any, answer: Any) -> Any:
        return answered(answer, self.reset)

    def _pause(self, request: Any, answer: Any) -> Any:
        return answered(answer, lambda: self.pause(request.data))

    def _step(self, _: Any, answer: Any) -> Any:
        return answered(answer, lambda: self.step(self._settings().step_count))
