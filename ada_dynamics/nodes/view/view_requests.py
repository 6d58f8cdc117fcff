# SPDX-License-Identifier: Apache-2.0
"""Services of the dynamics node, asked by a page that must not wait: each answer is a note to it; imports rclpy."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from std_srvs.srv import SetBool, Trigger

from ada_dynamics.view.browser.plant import Answer

Post = Callable[[object, Callable[[], None]], None]  # as `Page.note`
Reader = Callable[[Any], "str | None"]  # of a response: the reason why it was not done, or None

PATIENCE = 6.0  # [s] for an answer; the plant itself may take 5 s to refuse


class _Pending(NamedTuple):
    client: Any
    since: float  # [s], steady clock
    then: Answer


class PlantRequests:
    """Clients of one node's services."""

    def __init__(self, node: Node, plant: str, post: Post) -> None:
        """Make the clients.

        Args:
            node: that asks.
            plant: name of the node that answers.
            post: takes answers over to the thread that waits for them.
        """
        self._plant, self._post = plant, post
        self._names: dict[Any, str] = {}  # whole names of the clients' services, for messages

        def client(kind: Any, service: str) -> Any:
            made = node.create_client(kind, f"{plant}/{service}")
            self._names[made] = node.resolve_service_name(f"{plant}/{service}")
            return made

        self._pause = client(SetBool, "pause")
        self._step = client(Trigger, "step")
        self._reset = client(Trigger, "reset")
        self._set = client(SetParameters, "set_parameters")
        self._get = client(GetParameters, "get_parameters")
        self._pending: dict[Any, _Pending] = {}
        self._lock = threading.Lock()
        self._count = itertools.count()

    def pause(self, is_paused: bool, then: Answer) -> None:
        """Pause, or go on."""
        self._ask(self._pause, SetBool.Request(data=is_paused), _reason, then)

    def step(self, then: Answer) -> None:
        """One step."""
        self._ask(self._step, Trigger.Request(), _reason, then)

    def reset(self, then: Answer) -> None:
        """Back to the start."""
        self._ask(self._reset, Trigger.Request(), _reason, then)

    def set_parameter(self, name: str, value: object, then: Answer) -> None:
        """Change a parameter."""
        message = Parameter(name, value=value).to_parameter_msg()
        self._ask(self._set, SetParameters.Request(parameters=[message]), _first_reason, then)

    def get_parameter(self, name: str, then: Callable[[object], None]) -> None:
        """Learn a parameter, if the node is there and knows it.

        One at a time: a node that does not know one of several names answers for none of them.

        Args:
            name: of the parameter.
            then: given its value, on the thread that spins the node.
        """
        if not self._get.service_is_ready():
            return

        def read(response: Any) -> None:
            found = [parameter_value_to_python(value) for value in response.values]
            if found and found[0] is not None:
                then(found[0])

        self._ask(self._get, GetParameters.Request(names=[name]), read, lambda problem: None)

    def forget_old(self) -> None:
        """Give up what nobody has answered; to be called now and then by the thread that spins the node."""
        now = time.monotonic()
        with self._lock:
            old = [future for future, pending in self._pending.items() if now - pending.since > PATIENCE]
            given_up = [(future, self._pending.pop(future)) for future in old]
        for future, pending in given_up:
            pending.client.remove_pending_request(future)
            problem = f"{self._names[pending.client]} did not answer within {PATIENCE:g} s. Is {self._plant} running?"
            self._answer(pending.then, problem)

    def _ask(self, client: Any, request: Any, read: Reader, then: Answer) -> None:
        if not client.service_is_ready():
            self._answer(then, f"There is no service {self._names[client]}. Is {self._plant} running?")
            return
        future = client.call_async(request)
        with self._lock:
            self._pending[future] = _Pending(client, time.monotonic(), then)
        future.add_done_callback(lambda done: self._done(done, read))

    def _done(self, future: Any, read: Reader) -> None:
        with self._lock:
            pending = self._pending.pop(future, None)
        if pending is None or future.cancelled():  # given up before
            return
        failure = future.exception()
        self._answer(pending.then, read(future.result()) if failure is None else str(failure))

    def _answer(self, then: Answer, problem: str | None) -> None:
        self._post(("answer", next(self._count)), lambda: then(problem))


def _reason(response: Any) -> str | None:
    return None if response.success else response.message or "The service refused without a reason."


def _first_reason(response: Any) -> str | None:
    refused = [result.reason or "It was refused." for result in response.results if not result.successful]
    return refused[0] if refused else None
