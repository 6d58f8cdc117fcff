# SPDX-License-Identifier: Apache-2.0
"""The node that records topics to an MCAP file, byte for byte; imports rclpy.

    ros2 run ada_dynamics record_node --ros-args -p path:=run.mcap
    ros2 run ada_dynamics record_node --ros-args -p path:=run.mcap -p "topics:=[joint_states, dynamics_node/wrench/*]"

Topics are looked for five times a second for as long as it runs, so that nodes may start later. It subscribes with
what all publishers of a topic offer. A message's time is the system's time of its arrival, also in simulations: it
does not go backwards when a simulation is reset, and a replay is as fast as the recording was.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node

from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter
from ada_robot.ros.diagnostics import Diagnostics, Level, Status
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.settings import setting
from ada_tools.nodes.bag.definitions import definition
from ada_tools.nodes.bag.gaps import Gaps
from ada_tools.nodes.bag.offered_qos import Offer, accepting, to_text
from ada_tools.nodes.bag.raw_topics import message_class, offer_of, profile
from ada_tools.nodes.bag.recording import Recording
from ada_tools.nodes.bag.selection import is_wanted, resolved, unmatched

LOOK = 0.2  # [s] between looks at the graph
DEPTH = 500  # messages of a topic that may wait while others are taken
MISSING = "messages are not in the recording"


@dataclass(frozen=True)
class RecordSettings:
    """Parameters of the node."""

    path: str = setting("", "file to write, such as run.mcap", read_only=True)
    topics: tuple[str, ...] = setting(
        (),
        "topics to record, or patterns such as dynamics_node/wrench/*; none: all of its namespace and /tf, /tf_static, "
        "/clock, /diagnostics",
        read_only=True,
    )
    overwrite: bool = setting(False, "whether the file may take the place of another one", read_only=True)


class _Subscribed(NamedTuple):
    topic: Topic
    asked: Offer
    subscription: Any


class RecordNode(Node):
    """Records topics; see the module."""

    def __init__(self, *, class_of: Callable[[str], Any] = message_class, **options: Any) -> None:
        """Begin the file.

        Args:
            class_of: finds the class of a message's type.
            options: of rclpy's Node.

        Raises:
            InputError: a parameter is not usable.
            RecordingError: the file cannot be written.
        """
        super().__init__("record_node", **options)
        settings = Parameters(self, RecordSettings).value
        refuse_unknown_overrides(self)
        if not settings.path:
            raise InputError("parameter path is empty; give the file to write, such as -p path:=run.mcap.")
        self._class_of = class_of
        self._patterns = [resolved(p, self.get_namespace(), self.get_name()) for p in settings.topics]
        self._subscribed: dict[str, _Subscribed] = {}
        self._skipped: dict[str, str] = {}  # topic: reason
        self._refused: set[str] = set()  # of these, those that are not tried again
        self._definitions: dict[str, str] = {}
        self._reported_lost = 0  # by the middleware
        self._gaps: dict[str, Gaps] = {}
        self._has_reported_failure = self._is_closed = False
        self.failure: Exception | None = None  # of a node that has ended
        self.recording = Recording(TopicWriter(settings.path, overwrite=settings.overwrite))
        self._diagnostics = Diagnostics(self, "record_node")
        self._diagnostics.add("recording", self._status)
        self.create_timer(LOOK, self._look)
        self._look()
        self.get_logger().info(f"recording to {settings.path}; Ctrl-C ends it.")

    @property
    def topics(self) -> list[str]:
        """Topics that it is subscribed to."""
        return sorted(self._subscribed)

    def close(self) -> None:
        """Take what waits, and end the file; idempotent."""
        for name in list(self._subscribed):
            self._empty(name)
            self._drop(name)
        self.recording.close()
        self._report_failure()
        statistics = self.recording.statistics
        if statistics.failure is not None:
            self.failure = RecordingError(statistics.failure)
        elif not self._is_closed:
            path = self.recording.writer.path
            self.get_logger().info(f"{path}: {statistics.messages} messages, {statistics.size / 2**20:.1f} MiB.")
            if statistics.dropped or self.lost:
                self.get_logger().warning(f"{path}: {statistics.dropped + self.lost} {MISSING}.")
        self._is_closed = True

    # --- topics -------------------------------------------------------------------------------------------------
    def _look(self) -> None:
        """Subscribe to what is new, and anew where a publisher has come that offers less."""
        if self._report_failure():
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
            self._skip(name, f"it has several types; only messages of {kinds[0]} are recorded, those of {others} not")
        self._gaps.setdefault(name, Gaps()).publishers(len(publishers))
        offers = [offer_of(publisher) for publisher in publishers]
        asked = accepting(offers)
        known = self._subscribed.get(name)
        if known is not None:
            if (known.asked.reliable, known.asked.latched) <= (asked.reliable, asked.latched):
                return
            self.get_logger().warning(f"{name}: a publisher offers less than the others; subscribing anew.")
            self._drop(name)
        elif name in self._refused:
            return
        try:
            topic = known.topic if known is not None else self._topic(name, kinds[0], offers, publishers)
            self._subscribed[name] = _Subscribed(topic, asked, self._subscription(topic, asked))
        except Exception as problem:  # such as a policy that does not allow it: the other topics are recorded
            self._refused.add(name)
            self._skip(name, f"it cannot be recorded: {problem}")

    def _topic(self, name: str, kind: str, offers: list[Offer], publishers: Sequence[Any]) -> Topic:
        if kind not in self._definitions:
            try:
                self._definitions[kind] = definition(kind)
            except InputError as problem:
                self.get_logger().warning(f"{problem} The recording can be replayed, but viewers will not read {kind}.")
                self._definitions[kind] = ""
        type_hash = getattr(publishers[0], "topic_type_hash", "")
        return Topic(name, kind, self._definitions[kind], to_text(offers), str(type_hash))

    def _subscription(self, topic: Topic, asked: Offer) -> Any:
        return self.create_subscription(
            self._class_of(topic.kind),
            topic.name,
            self._taker(topic),
            profile(asked, DEPTH),
            raw=True,
            event_callbacks=SubscriptionEventCallbacks(message_lost=self._count_lost),
        )

    def _taker(self, topic: Topic) -> Callable[[bytes, dict[str, Any]], None]:
        take, gaps = self.recording.take, self._gaps[topic.name]

        def taken(raw: bytes, info: dict[str, Any]) -> None:
            received = info["received_timestamp"] or time.time_ns()
            number = info.get("publication_sequence_number")
            if number is not None:  # some middlewares have none
                gaps.take(number)
            take(topic, received, info["source_timestamp"] or received, raw)

        return taken

    def _count_lost(self, event: Any) -> None:
        self._reported_lost += event.total_count_change

    @property
    def lost(self) -> int:
        """Messages that never came: as reported by the middleware, or by their numbers where that is more."""
        return max(self._reported_lost, sum(one.lost for one in self._gaps.values()))

    def _empty(self, name: str) -> None:
        """Take what came and waits in the queue."""
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
    def _report_failure(self) -> bool:
        """True if the file has ended early; no more messages are taken then."""
        failure = self.recording.statistics.failure
        if failure is None:
            return False
        if not self._has_reported_failure:
            self._has_reported_failure = True
            self.get_logger().error(failure)
            for name in list(self._subscribed):
                self._drop(name)
        return True

    def _status(self) -> Status:
        statistics = self.recording.statistics
        values = {
            "file": self.recording.writer.path,
            "topics": len(self._subscribed),
            "messages": statistics.messages,
            "size [byte]": statistics.size,
            "waiting for the disk [byte]": statistics.waiting,
            "dropped": statistics.dropped,
            "lost on the way": self.lost,
            **{f"not recorded: {name}": reason for name, reason in self._skipped.items()},
        }
        if statistics.failure is not None:
            return Status(Level.ERROR, statistics.failure, values)
        missing = unmatched(self._patterns, self.topics)
        if missing:
            return Status(Level.WARN, f"nobody publishes {', '.join(missing)}", values)
        if statistics.dropped or self.lost:
            return Status(Level.WARN, f"{statistics.dropped + self.lost} {MISSING}", values)
        if self._skipped:
            return Status(Level.WARN, f"not recorded: {', '.join(self._skipped)}", values)
        return Status(Level.OK, f"{statistics.messages} messages of {len(self._subscribed)} topics", values)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node; the exit code."""
    return run_node(RecordNode, arguments)


if __name__ == "__main__":
    sys.exit(main())
