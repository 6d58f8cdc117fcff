# SPDX-License-Identifier: Apache-2.0
"""Service polled by a thread instead of an executor; imports rclpy.

An executor serves callbacks sequentially: while it opens devices, which takes seconds, a stop would have to wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from ada_robot.ros.inbox import NoCallbacks


class PolledService:
    """Service whose requests are served by `serve`, from one thread at a time."""

    def __init__(self, node: Node, kind: Any, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Create the service.

        Args:
            node: node of the service.
            kind: service type.
            name: service name.
            answer: fills the response to a request, and returns it.
        """
        self._node, self._kind, self._answer = node, kind, answer
        self._lock = threading.Lock()
        self._is_open = True
        self._service: Any = node.create_service(kind, name, answer, callback_group=NoCallbacks())

    def serve(self) -> int:
        """Serve all waiting requests; return their number."""
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
        except Exception as problem:  # RCLError, whose module varies: the client has ended
            self._node.get_logger().warning(f"response of {self._service.srv_name} could not be sent: {problem}")

    def close(self) -> None:
        """Destroy the service; to be called by the thread that spins the node."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._node.destroy_service(self._service)
