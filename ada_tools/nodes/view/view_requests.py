# SPDX-License-Identifier: Apache-2.0
"""Services of the dynamics node, asked by a page that must not wait; imports rclpy."""

from __future__ import annotations

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ada_tools.browser.plant import Answer
from ada_tools.nodes.view.node_requests import NodeRequests, Post, reason_of


class PlantRequests(NodeRequests):
    """Clients of its services."""

    def __init__(self, node: Node, plant: str, post: Post) -> None:
        """Make the clients.

        Args:
            node: that asks.
            plant: name of the node that answers.
            post: takes answers over to the thread that waits for them.
        """
        super().__init__(node, plant, post)
        self._pause = self.client(SetBool, "pause")
        self._step = self.client(Trigger, "step")
        self._reset = self.client(Trigger, "reset")

    def pause(self, is_paused: bool, then: Answer) -> None:
        """Pause, or go on."""
        self.ask(self._pause, SetBool.Request(data=is_paused), reason_of, then)

    def step(self, then: Answer) -> None:
        """One step."""
        self.ask(self._step, Trigger.Request(), reason_of, then)

    def reset(self, then: Answer) -> None:
        """Back to the start."""
        self.ask(self._reset, Trigger.Request(), reason_of, then)
