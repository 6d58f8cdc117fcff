# SPDX-License-Identifier: Apache-2.0
"""Asynchronous service calls of a node for a page; results are posted to the page; imports rclpy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import Trigger

from ada_tools.browser.robot_node import Answer

Post = Callable[[object, Callable[[], None]], None]  # as `Page.note`
Reader = Callable[[Any], "str | None"]  # maps a response to the reason of a failure, or None

PATIENCE = 6.0  # [s] timeout of a reply; the plant may take 5 s to refuse


class _Pending(NamedTuple):
    service: str
    until: float  # [s], steady clock
    patience: float  # [s]
    then: Answer


class NodeRequests:
    """Clients of the services and parameters of one node.

    Attributes:
        clients: rclpy clients by service.
    """

    def __init__(self, node: Node, asked: str, services: Mapping[str, Any], post: Post) -> None:
        """Create the clients of services, by name, and of the parameters of a node; `post` posts their results."""
        self._asked, self._post = asked, post
        kinds = {"set_parameters": SetParameters, "get_parameters": GetParameters, **services}
        self.clients = {name: node.create_client(kind, f"{asked}/{name}") for name, kind in kinds.items()}
        self._names = {name: node.resolve_service_name(f"{asked}/{name}") for name in kinds}
        self._pending: dict[Any, _Pending] = {}
        self._lock = threading.Lock()

    def trigger(self, service: str, then: Answer, patience: float | None = None) -> None:
        """Call a std_srvs/Trigger service, from any thread."""
        self.ask(service, Trigger.Request(), reason_of, then, patience)

    def set_parameter(self, name: str, value: object, then: Answer) -> None:
        """Set a parameter."""
        message = Parameter(name, value=value).to_parameter_msg()
        self.ask("set_parameters", SetParameters.Request(parameters=[message]), _first_reason, then)

    def get_parameter(self, name: str, then: Callable[[object], None]) -> None:
        """Read a parameter if the node is available and has it; `then` gets the value on the spinning thread.

        Parameters are read one at a time: a node returns none of several names if it does not know one of them.
        """
        if not self.clients["get_parameters"].service_is_ready():
            return

        def read(response: Any) -> None:
            found = [parameter_value_to_python(value) for value in response.values]
            if found and found[0] is not None:
                then(found[0])

        self.ask("get_parameters", GetParameters.Request(names=[name]), read, lambda problem: None)

    def forget_old(self) -> None:
        """Cancel requests that timed out; to be called periodically by the spinning thread."""
        now = time.monotonic()
        with self._lock:
            old = [future for future, pending in self._pending.items() if now > pending.until]
            given_up = [(future, self._pending.pop(future)) for future in old]
        for future, pending in given_up:
            self.clients[pending.service].remove_pending_request(future)
            problem = f"{self._names[pending.service]} did not reply within {pending.patience:g} s."
            self._answer(pending.then, f"{problem} Is {self._asked} running?")

    def ask(self, service: str, request: Any, read: Reader, then: Answer, patience: float | None = None) -> None:
        """Call a service, from any thread.

        Args:
            service: name of the service.
            request: request message.
            read: maps the response to the reason of a failure, or None.
            then: called with that on the waiting thread.
            patience: timeout [s]; None for the default.
        """
        client = self.clients[service]
        if not client.service_is_ready():
            self._answer(then, f"Service {self._names[service]} is not available. Is {self._asked} running?")
            return
        patience = PATIENCE if patience is None else patience
        future = client.call_async(request)
        with self._lock:
            self._pending[future] = _Pending(service, time.monotonic() + patience, patience, then)
        future.add_done_callback(lambda done: self._done(done, read))

    def _done(self, future: Any, read: Reader) -> None:
        with self._lock:
            pending = self._pending.pop(future, None)
        if pending is None or future.cancelled():  # timed out before
            return
        failure = future.exception()
        self._answer(pending.then, read(future.result()) if failure is None else str(failure))

    def _answer(self, then: Answer, problem: str | None) -> None:
        self._post(object(), lambda: then(problem))  # unique key: not replaced by other actions


def reason_of(response: Any) -> str | None:
    """Reason why a std_srvs request failed; None on success."""
    return None if response.success else response.message or "Request refused without a reason."


def _first_reason(response: Any) -> str | None:
    refused = [result.reason or "Request refused." for result in response.results if not result.successful]
    return refused[0] if refused else None
