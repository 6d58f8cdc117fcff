# SPDX-License-Identifier: Apache-2.0
"""Received messages and requests: polled instead of called back, with their senders; robot descriptions; imports rclpy.

Callbacks for 250 messages per second take rclpy a tenth of a core, even if they are empty. A page that draws 30 frames
per second polls instead. An executor serves callbacks sequentially: while it opens devices, which takes seconds, a stop
would have to wait.

DDS delivers the id of the publisher with each message. MessageInfo of rclpy (7.1, 9.1) omits it, so that the public C
function `rcl_take_serialized_message` is called instead. If that fails, messages are taken by rclpy without the id.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from std_msgs.msg import String

from ada_dynamics.errors import InputError
from ada_robot.ros import qos

_MOST_BAD = 100  # maximum number of consecutive undecodable messages per call
GID = 16  # bytes that identify a publisher; distributions with 24 append zeros
_OK, _NOTHING = 0, 401  # RCL_RET_OK, RCL_RET_SUBSCRIPTION_TAKE_FAILED
TOPIC = "robot_description"


def decoded(raw: bytes, kind: Any) -> Any:
    """Deserialize a message. InputError if the bytes are no message of this type."""
    try:
        return deserialize_message(raw, kind)
    except RuntimeError as problem:  # RMWError or RCLError, which move between distributions
        reason = " ".join(str(problem).split())[:200]
        requested = f"{kind.__module__.partition('.')[0]}/{kind.__name__}"
        raise InputError(f"{len(raw)} bytes are no valid {requested}: {reason}.") from None


class _Allocator(ctypes.Structure):
    """rcutils_allocator_t."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zero", "state"))


class _Bytes(ctypes.Structure):
    """rcutils_uint8_array_t, alias rcl_serialized_message_t."""

    _fields_ = (
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    )


class _Info(ctypes.Structure):
    """rmw_message_info_t, with space for fields of other distributions."""

    _fields_ = (
        ("sent", ctypes.c_int64),
        ("received", ctypes.c_int64),
        ("publication", ctypes.c_uint64),
        ("reception", ctypes.c_uint64),
        ("implementation", ctypes.c_char_p),
        ("gid", ctypes.c_uint8 * GID),
        ("more", ctypes.c_uint8 * 128),
    )


class Taker:
    """Takes messages of one type; for one thread."""

    def __init__(self, kind: Any) -> None:
        """Allocate the memory of a message type."""
        self._kind, self._libraries = kind, _libraries()
        self._info, self._bytes = _Info(), _Bytes()
        if self._libraries is not None:
            _, rcutils = self._libraries
            allocator = rcutils.rcutils_get_default_allocator()
            size = ctypes.c_size_t(1024)
            if rcutils.rcutils_uint8_array_init(ctypes.byref(self._bytes), size, ctypes.byref(allocator)) != _OK:
                self._libraries = None

    def take(self, handle: Any) -> tuple[Any, bytes | None] | None:
        """Take the oldest waiting message, or None. Args: entered handle of the subscription.

        Returns:
            Message, and id of its publisher, the first bytes of endpoint_gid in `get_publishers_info_by_topic`; None if
            unknown.
        """
        pointer = getattr(handle, "pointer", None)
        if self._libraries is not None and pointer is not None:
            rcl, rcutils = self._libraries
            for _ in range(_MOST_BAD):
                code = rcl.rcl_take_serialized_message(
                    ctypes.c_void_p(pointer), ctypes.byref(self._bytes), ctypes.byref(self._info), None
                )
                if code == _NOTHING:
                    return None
                if code != _OK:  # not supported by this middleware
                    rcutils.rcutils_reset_error()
                    self.close()
                    return self.take(handle)
                with suppress(InputError):  # skip invalid messages, like rclpy
                    message = decoded(ctypes.string_at(self._bytes.buffer, self._bytes.length), self._kind)
                    return message, bytes(self._info.gid)
            return None
        taken = handle.take_message(self._kind, False)
        return None if taken is None else (taken[0], None)

    def close(self) -> None:
        """Free the memory; messages taken afterwards have no sender."""
        if self._libraries is not None:
            self._libraries[1].rcutils_uint8_array_fini(ctypes.byref(self._bytes))
        self._libraries = None


@cache
def _libraries() -> tuple[Any, Any] | None:
    """Load the C libraries used by rclpy; None if functions are missing."""
    with suppress(OSError, AttributeError):
        rcl, rcutils = ctypes.CDLL("librcl.so"), ctypes.CDLL("librcutils.so")
        rcutils.rcutils_get_default_allocator.restype = _Allocator
        rcutils.rcutils_reset_error.restype = None
        for library, name in (
            (rcl, "rcl_take_serialized_message"),
            (rcutils, "rcutils_uint8_array_init"),
            (rcutils, "rcutils_uint8_array_fini"),
        ):
            getattr(library, name)
        return rcl, rcutils
    return None


class NoCallbacks(CallbackGroup):
    """Callback group whose members do not wake the executor."""

    def can_execute(self, entity: object) -> bool:
        """Return False."""
        return False


class Inbox:
    """Subscription without a callback. One thread at a time may call `fetch`.

    Attributes:
        topic: full topic name.
    """

    def __init__(
        self, node: Node, kind: Any, topic: str, qos: QoSProfile, *, raw: bool = False, senders: bool = False
    ) -> None:
        """Subscribe.

        Args:
            node: node of the subscription.
            kind: message type.
            topic: topic name.
            qos: quality of service; its depth is the capacity of the queue.
            raw: whether to return serialized messages.
            senders: whether `fetch_sent` returns the senders of the messages.
        """
        self._taker = Taker(kind) if senders else None
        self._node, self._depth = node, qos.depth
        self._lock = threading.Lock()
        self._is_open = True
        self._subscription: Any = node.create_subscription(
            kind, topic, _never, qos, raw=raw, callback_group=NoCallbacks()
        )
        self.topic: str = self._subscription.topic_name
        # rclpy reports incompatible publishers in the node's thread
        for handler in self._subscription.event_handlers:
            handler.callback_group = node.default_callback_group
            node.default_callback_group.add_entity(handler)

    def fetch(self) -> list[Any]:
        """Return the messages since the last call, the oldest first; only the latest if the queue was full."""
        subscription = self._subscription
        # like rclpy's executors and its `wait_for_message`
        return [taken[0] for taken in self._taken(lambda h: h.take_message(subscription.msg_type, subscription.raw))]

    def fetch_sent(self) -> list[tuple[Any, bytes | None]]:
        """Return messages with their senders, see `fetch`; for subscriptions with `senders`."""
        return [] if self._taker is None else self._taken(self._taker.take)

    def _taken(self, take: Callable[[Any], Any]) -> list[Any]:
        found: list[Any] = []
        with self._lock:
            if not self._is_open:
                return found
            handle = self._subscription.handle
            with handle:
                # at most the depth of the queue, so that a fast sender cannot block the loop
                while len(found) < self._depth and (taken := take(handle)) is not None:
                    found.append(taken)
        return found

    def senders(self) -> dict[bytes, str]:
        """Return the names of the publishing nodes by the ids of their publishers."""
        return {
            bytes(one.endpoint_gid)[:GID]: f"{one.node_namespace.rstrip('/')}/{one.node_name}"
            for one in self._node.get_publishers_info_by_topic(self.topic)
        }

    @property
    def publishers(self) -> int:
        """Number of publishers on the topic."""
        with self._lock:
            return self._subscription.get_publisher_count() if self._is_open else 0

    def close(self) -> None:
        """Unsubscribe; to be called by the thread that spins the node."""
        with self._lock:
            if self._is_open:
                self._is_open = False
                self._node.destroy_subscription(self._subscription)
                if self._taker is not None:
                    self._taker.close()


def _never(message: object) -> None:
    """Callback that is never called."""


class PolledService:
    """Service whose requests are served by `serve`, from one thread at a time."""

    def __init__(self, node: Node, kind: Any, name: str, answer: Callable[[Any, Any], Any]) -> None:
        """Create the service; `answer` fills the response to a request, and returns it."""
        self._node, self._kind, self._answer = node, kind, answer
        self._service: Any = node.create_service(kind, name, answer, callback_group=NoCallbacks())

    def serve(self) -> None:
        """Serve all waiting requests."""
        handle = self._service.handle
        while True:
            with handle:
                message, header = handle.service_take_request(self._kind.Request)
            if header is None:
                return
            answer = self._answer(message, self._kind.Response())
            try:
                self._service.send_response(answer, header)
            except Exception as problem:  # RCLError, whose module varies: the client has ended
                self._node.get_logger().warning(f"response of {self._service.srv_name} could not be sent: {problem}")


class AwaitedDescription:
    """Calls a function for each received description.

    Attributes:
        topic: full topic name.
    """

    def __init__(
        self,
        node: Node,
        timeout: float,
        take: Callable[[str], None],
        give_up: Callable[[Exception], None],
    ) -> None:
        """Subscribe.

        Args:
            node: node of the subscription.
            timeout: timeout of the first description [s]; 0 for none.
            take: called with each description.
            give_up: called with the error if none is received in time.
        """
        self._node, self._timeout, self._take, self._give_up = node, timeout, take, give_up
        self._subscription = node.create_subscription(String, TOPIC, self._receive, qos.LATCHED)
        self.topic = self._subscription.topic_name
        self._timer = None
        if timeout:
            self._timer = node.create_timer(timeout, self._time_out, clock=Clock(clock_type=ClockType.STEADY_TIME))
        node.get_logger().info(f"waiting for a robot description on {self.topic}")

    def _receive(self, message: String) -> None:
        self._stop_waiting()
        self._take(message.data)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _time_out(self) -> None:
        self._stop_waiting()
        named = "name a robot: -p robot:=pa10 (names: ada list), " if self._node.has_parameter("robot") else ""
        self._give_up(
            InputError(
                f"no robot description received on {self.topic} within {self._timeout:g} s. Start its publisher in "
                f"the same namespace, {named}or wait longer: -p description_timeout:=60.0 (0.0: for ever)."
            )
        )
