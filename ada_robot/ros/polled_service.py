# SPDX-License-Identifier: Apache-2.0
"""A service whose requests wait until a thread fetches them, behind no executor; imports rclpy.

An executor answers one thing after another: while it brings devices up, which takes seconds, it would leave a stop
unanswered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from ada_robot.ros.inbox import NoCallbacks


class PolledService:
    """A service that `serve` answers, from any one thread."""

    def __init__(self, node: Node, kind: Any, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Offer it.

        Args:
            node: whose it is.
            kind: of its requests and answers.
            name: of the service.
            answer: fills an answer to a request, and returns it.
        """
        self._node, self._kind, self._answer = node, kind, answer
        self._lock = threading.Lock()
        self._is_open = True
        self._service: Any = node.create_service(kind, name, answer, callback_group=NoCallbacks())

    def serve(self) -> int:
        """Answer the requests that came; how many there were."""
        count = 0
        while (request := self._taken()) is not None:
            message, header = request
            self._send(self._answer(message, self._kind.Response()), header)
            count += 1
        return count

    def _taken(self) -> tuple[Any, Any] | None:
        with self._lock:
            if not self._is_open:
                return None
            handle = self._service.handle
            with handle:
                message, header = handle.service_take_request(self._kind.Request)
        return None if header is None else (message, header)

    def _send(self, answer: Any, header: Any) -> None:
        try:
            with self._lock:
                if self._is_open:
                    self._service.send_response(answer, header)
        except Exception as problem:  # RCLError, which moves between distributions: the client is gone
            self._node.get_logger().warning(f"no answer of {self._service.srv_name} could be sent: {problem}")

    def close(self) -> None:
        """Remove it; on the thread that spins the node."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._node.destroy_service(self._service)
