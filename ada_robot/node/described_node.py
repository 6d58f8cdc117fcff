# SPDX-License-Identifier: Apache-2.0
"""Node whose robot is named by its parameters, or received as a description; imports rclpy."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from rclpy.node import Node

from ada_robot.ros.inbox import AwaitedDescription
from ada_robot.ros.parameters import Parameters
from ada_robot.ros.robot_settings import DescribedSettings

S = TypeVar("S", bound=DescribedSettings)


class DescribedNode(Node, Generic[S]):
    """Node of one robot, which ends if the robot is invalid. Subclasses define `_set_up` and `_change`.

    Attributes:
        failure: exception that ended the node, for `run_node`; None while it runs.
        outlives_callbacks: invalid messages on which rclpy itself raises are survived.
    """

    outlives_callbacks = True

    def __init__(self, name: str, settings: type[S], **arguments: Any) -> None:
        """Declare the parameters. Args: name of the node; class of its settings; arguments of rclpy's Node.

        Raises:
            InputError: if a parameter is invalid.
        """
        super().__init__(name, **arguments)
        self.failure: Exception | None = None
        self._is_described = False
        self._settings = Parameters(self, settings, on_change=self._change)

    def _find_robot(self) -> None:
        """Load the robot, or wait for its description."""
        settings = self._settings.value
        if settings.robot:
            self._set_up(None)
        else:
            AwaitedDescription(self, settings.description_timeout, self._described, self._end)

    def _described(self, description: str) -> None:
        if self._is_described:
            return
        self._is_described = True
        try:
            self._set_up(description)
        except Exception as problem:
            self._end(problem)

    def _set_up(self, described: str | None) -> None:
        """Load the robot from a description; None for that of the parameters."""
        raise NotImplementedError

    def _change(self, old: S, new: S) -> None:
        """Apply changed parameters; an AdaError refuses them."""

    def _end(self, problem: BaseException) -> None:
        self.failure = problem if isinstance(problem, Exception) else RuntimeError(str(problem))
