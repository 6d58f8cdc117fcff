# SPDX-License-Identifier: Apache-2.0
"""Services of a node, asked by a page that must not wait: each answer is a note to it; imports rclpy."""

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
Reader = Callable[[Any], "str | None"]  # of a response: the reason why it was not done, or None

PATIENCE = 6.0  # [s] for an answer; the plant itself may take 5 s to refuse


class _Pending(NamedTuple):
    service: str
    until: float  # [s], steady clock
    patience: float  # [s]
    then: Answer


class NodeRequests:
    """Clients of one node's services, and of its parameters.

    Attributes:
        clients: rclpy's, by service.
    """

    def __init__(self, node: Node, asked: str, services: Mapping[str, Any], post: Post) -> None:
        """Make the clients.

        Args:
            node: that asks.
            asked: name of the node that answers.
            services: their types by name; those of its parameters are always there.
            post: takes answers over to the thread that waits for them.
        """
        self._asked, self._post = asked, post
        kinds = {"set_parameters": SetParameters, "get_parameters": GetParameters, **services}
        self.clients = {name: node.create_client(kind, f"{asked}/{name}") for name, kind in kinds.items()}
        self._names = {name: node.resolve_service_name(f"{asked}/{name}") for name in kinds}
        self._pending: dict[Any, _Pending] = {}
        self._lock = threading.Lock()

    def trigger(self, service: str, then: Answer, patience: float | None = None) -> None:
        """Ask a service of the type std_srvs/Trigger; from any thread."""
        self.ask(service, Trigger.Request(), reason_of, then, patience)

    def set_parameter(self, name: str, value: object, then: Answer) -> None:
        """Change a parameter."""
        message = Parameter(name, value=value).to_parameter_msg()
        self.ask("set_parameters", SetParameters.Request(parameters=[message]), _first_reason, then)

    def get_parameter(self, name: str, then: Callable[[object], None]) -> None:
        """Learn a parameter, if the node is there and knows it.

        One at a time: a node that does not know one of several names answers for none of them.

        Args:
            name: of the parameter.
            then: given its value, on the thread that spins the node.
        """
        if not self.clients["get_parameters"].service_is_ready():
            return

        def read(response: Any) -> None:
            found = [parameter_value_to_python(value) for value in response.values]
            if found and found[0] is not None:
                then(found[0])

        self.ask("get_parameters", GetParameters.Request(names=[name]), read, lambda problem: None)

    def forget_old(self) -> None:
        """Give up unanswered requests; to be called regularly by the thread that spins the node."""
        now = time.monotonic()
        with self._lock:
            old = [future for future, pending in self._pending.items() if now > pending.until]
            given_up = [(future, self._pending.pop(future)) for future in old]
        for future, pending in given_up:
            self.clients[pending.service].remove_pending_request(future)
            problem = f"{self._names[pending.service]} did not answer within {pending.patience:g} s."
            self._answer(pending.then, f"{problem} Is {self._asked} running?")

    def ask(self, service: str, request: Any, read: Reader, then: Answer, patience: float | None = None) -> None:
        """Ask a service; from any thread.

        Args:
            service: its name.
            request: to send.
            read: of the response: why it was not done, or None.
            then: given that, on the thread that waits for answers.
            patience: for an answer [s]; None: as long as for any.
        """
        client = self.clients[service]
        if not client.service_is_ready():
            self._answer(then, f"There is no service {self._names[service]}. Is {self._asked} running?")
            return
        patience = PATIENCE if patience is None else patience
        future = client.call_async(request)
        with self._lock:
            self._pending[future] = _Pending(service, time.monotonic() + patience, patience, then)
        future.add_done_callback(lambda done: self._done(done, read))

    def _done(self, future: Any, read: Reader) -> None:
        with self._lock:
            pending = self._pending.pop(future, None)
        if pending is None or future.cancelled():  # given up before
            return
        failure = future.exception()
        self._answer(pending.then, read(future.result()) if failure is None else str(failure))

    def _answer(self, then: Answer, problem: str | None) -> None:
        self._post(object(), lambda: then(problem))  # a key of its own: no other note takes its place


def reason_of(response: Any) -> str | None:
    """Why a service of std_srvs did not do it; None where it did."""
    return None if response.success else response.message or "The service refused without a reason."


def _first_reason(response: Any) -> str | None:
    refused = [result.reason or "It was refused." for result in response.results if not result.successful]
    return refused[0] if refused else None
