# SPDX-License-Identifier: Apache-2.0
"""Node that records topics as serialized messages to an MCAP file; imports rclpy.

    ros2 run ada_dynamics record_node --ros-args -p path:=run.mcap
    ros2 run ada_dynamics record_node --ros-args -p path:=run.mcap -p "topics:=[joint_states, dynamics_node/wrench/*]"

It searches for topics five times per second, so that nodes may start later, and subscribes with a QoS compatible with
all publishers of a topic. Messages are written four times per second: no more is lost if the recorder is killed. They
are stamped with the system time of their reception, also in simulations: it is monotonic when a simulation is reset,
and preserves the timing of the recording.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node

from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.record.mcap_files import Topic, TopicWriter
from ada_robot.ros.diagnostics import Diagnostics, Level, Status
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.settings import setting
from ada_tools.nodes.recorded_topics import (
    OfferedQos,
    SequenceGaps,
    accepting,
    definition,
    is_wanted,
    message_class,
    qos_text,
    resolved,
    unmatched,
)

LOOK = 0.2  # [s] period of graph queries
PERIOD = 0.25  # [s] write period
CHUNK_BYTES = 2**19  # [byte] size that triggers an earlier write
DEPTH = 500  # queue depth of each subscription
MISSING = "messages are missing in the recording"


@dataclass(frozen=True)
class RecordSettings:
    """Parameters of the node."""

    path: str = setting("", "file to write, such as run.mcap", read_only=True)
    topics: tuple[str, ...] = setting(
        (),
        "topics or patterns to record, such as dynamics_node/wrench/*; empty: all of its namespace, /tf, /tf_static, "
        "/clock, /diagnostics",
        read_only=True,
    )
    overwrite: bool = setting(False, "overwrite an existing file", read_only=True)


class _Subscribed(NamedTuple):
    topic: Topic
    asked: OfferedQos
    subscription: Any


class RecordNode(Node):
    """Records topics to a file; see the module docstring.

    Attributes:
        failure: reason why the file ended early, after `close`; None without a failure.
        messages: number of messages in the file.
        dropped: number of messages that could not be written.
    """

    def __init__(self, **options: Any) -> None:
        """Open the file.

        Args:
            options: options of rclpy's Node.

        Raises:
            InputError: invalid parameter.
            RecordingError: the file cannot be written.
        """
        super().__init__("record_node", **options)
        settings = Parameters(self, RecordSettings).value
        refuse_unknown_overrides(self)
        if not settings.path:
            raise InputError("parameter path is empty; give the file to write, such as -p path:=run.mcap.")
        self._patterns = [resolved(p, self.get_namespace(), self.get_name()) for p in settings.topics]
        self._subscribed: dict[str, _Subscribed] = {}
        self._skipped: dict[str, str] = {}  # topic: reason
        self._refused: set[str] = set()  # topics among these that are not retried
        self._definitions: dict[str, str] = {}
        self._reported_lost = 0  # by the middleware
        self._gaps: dict[str, SequenceGaps] = {}
        self._is_closed = False
        self._error: RecordingError | None = None  # the file ended early
        self.failure: Exception | None = None
        self.messages = self.dropped = 0
        self._waiting = self._bytes = 0  # messages and bytes since the last write
        self._writer = TopicWriter(settings.path, overwrite=settings.overwrite)
        self._diagnostics = Diagnostics(self, "record_node")
        self._diagnostics.add("recording", self._status)
        steady = Clock(clock_type=ClockType.STEADY_TIME)  # simulated time may be paused
        self.create_timer(LOOK, self._look, clock=steady)
        self.create_timer(PERIOD, self._write, clock=steady)
        self._look()
        self.get_logger().info(f"recording to {settings.path}; Ctrl-C ends it.")

    @property
    def topics(self) -> list[str]:
        """Subscribed topics."""
        return sorted(self._subscribed)

    def close(self) -> None:
        """Record queued messages and finish the file; idempotent."""
        for name in list(self._subscribed):
            self._empty(name)
            self._drop(name)
        self._write(is_last=True)
        self.failure = self._error
        if self.failure is None and not self._is_closed:
            path = self._writer.path
            self.get_logger().info(f"{path}: {self.messages} messages, {self._writer.size / 2**20:.1f} MiB.")
            if self.lost:
                self.get_logger().warning(f"{path}: {self.lost} {MISSING}.")
        self._is_closed = True

    # --- file ---------------------------------------------------------------------------------------------------
    def _take(self, topic: Topic, received: int, published: int, raw: bytes) -> None:
        if self._error is not None:
            self.dropped += 1
            return
        self._waiting += 1
        self._bytes += len(raw)
        try:
            self._writer.add(topic, received, published, raw)
        except Exception as problem:  # any failure must be reported
            self._fail(problem)
        if self._bytes >= CHUNK_BYTES:
            self._write()

    def _write(self, *, is_last: bool = False) -> None:
        """Write the messages received since the last call."""
        if self._error is not None or not (self._waiting or is_last):
            return
        try:
            (self._writer.close if is_last else self._writer.flush)()
        except Exception as problem:  # any failure must be reported
            self._fail(problem)
            return
        self.messages += self._waiting
        self._waiting = self._bytes = 0

    def _fail(self, problem: Exception) -> None:
        """Report that the file ended early; nothing more is recorded."""
        self._error = RecordingError(self._writer.failure or f"the recording {self._writer.path} failed: {problem!r}.")
        self.dropped += self._waiting
        self._waiting = self._bytes = 0
        self.get_logger().error(str(self._error))

    # --- topics -------------------------------------------------------------------------------------------------
    def _look(self) -> None:
        """Subscribe to new topics, and again if a publisher with a lower QoS appears."""
        if self._error is not None:
            for name in list(self._subscribed):
                self._drop(name)
            return
        for name, kinds in self.get_topic_names_and_types():
            if not is_wanted(name, self._patterns, self.get_namespace()):
                continue
            publishers = self.get_publishers_info_by_topic(name)
            if publishers:
                self._follow(name, sorted(kinds), publishers)

    def _follow(self, name: str, kinds: list[str], publishers: Sequence[Any]) -> None:
        if len(kinds) > 1:
            others = ", ".join(kinds[1:])
            self._skip(name, f"several types: {kinds[0]} is recorded, {others} is ignored")
        self._gaps.setdefault(name, SequenceGaps()).publishers(len(publishers))
        offers = [OfferedQos.of(publisher) for publisher in publishers]
        asked = accepting(offers)
        known = self._subscribed.get(name)
        if known is not None:
            if (known.asked.reliable, known.asked.latched) <= (asked.reliable, asked.latched):
                return
            self.get_logger().warning(f"{name}: a publisher has a lower QoS; subscribing again.")
            self._drop(name)
        elif name in self._refused:
            return
        try:
            topic = known.topic if known is not None else self._topic(name, kinds[0], offers, publishers)
            self._subscribed[name] = _Subscribed(topic, asked, self._subscription(topic, asked))
        except Exception as problem:  # for example by a security policy; other topics are recorded
            self._refused.add(name)
            self._skip(name, f"cannot be recorded: {problem}")

    def _topic(self, name: str, kind: str, offers: list[OfferedQos], publishers: Sequence[Any]) -> Topic:
        if kind not in self._definitions:
            try:
                self._definitions[kind] = definition(kind)
            except InputError as problem:
                self.get_logger().warning(f"{problem} The recording can be replayed, but viewers cannot decode {kind}.")
                self._definitions[kind] = ""
        type_hash = getattr(publishers[0], "topic_type_hash", "")
        return Topic(name, kind, self._definitions[kind], qos_text(offers), str(type_hash))

    def _subscription(self, topic: Topic, asked: OfferedQos) -> Any:
        return self.create_subscription(
            message_class(topic.kind),
            topic.name,
            self._taker(topic),
            asked.profile(DEPTH),
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(message_lost=self._count_lost),
        )

    def _taker(self, topic: Topic) -> Callable[[bytes, dict[str, Any]], None]:
        gaps = self._gaps[topic.name]

        def taken(raw: bytes, info: dict[str, Any]) -> None:
            received = info["received_timestamp"] or time.time_ns()
            number = info.get("publication_sequence_number")
            if number is not None:  # not provided by all middlewares
                gaps.take(number)
            self._take(topic, received, info["source_timestamp"] or received, raw)

        return taken

    def _count_lost(self, event: Any) -> None:
        self._reported_lost += event.total_count_change

    @property
    def lost(self) -> int:
        """Number of lost messages: reported by the middleware or derived from sequence numbers, whichever is larger."""
        return max(self._reported_lost, sum(one.lost for one in self._gaps.values()))

    def _empty(self, name: str) -> None:
        """Record the messages that are still queued."""
        subscription = self._subscribed[name].subscription
        with subscription.handle:
            for _ in range(DEPTH):
                taken = subscription.handle.take_message(subscription.msg_type, True)
                if taken is None:
                    return
                subscription.callback(*taken)

    def _drop(self, name: str) -> None:
        self.destroy_subscription(self._subscribed.pop(name).subscription)

    def _skip(self, name: str, reason: str) -> None:
        if name not in self._skipped:
            self._skipped[name] = reason
            self.get_logger().warning(f"{name}: {reason}.")

    # --- reports ------------------------------------------------------------------------------------------------
    def _status(self) -> Status:
        values = {
            "file": self._writer.path,
            "topics": len(self._subscribed),
            "messages": self.messages,
            "size [byte]": self._writer.size,
            "waiting for the disk [byte]": self._bytes,
            "dropped": self.dropped,
            "lost before reception": self.lost,
            **{f"not recorded: {name}": reason for name, reason in self._skipped.items()},
        }
        if self._error is not None:
            return Status(Level.ERROR, str(self._error), values)
        missing = unmatched(self._patterns, self.topics)
        if missing:
            return Status(Level.WARN, f"no publisher of {', '.join(missing)}", values)
        if self.lost:
            return Status(Level.WARN, f"{self.lost} {MISSING}", values)
        if self._skipped:
            return Status(Level.WARN, f"not recorded: {', '.join(self._skipped)}", values)
        return Status(Level.OK, f"{self.messages} messages of {len(self._subscribed)} topics", values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node and return the exit code."""
    return run_node(RecordNode, arguments)


if __name__ == "__main__":
    sys.exit(main())
