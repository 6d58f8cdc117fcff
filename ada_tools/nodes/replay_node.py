# SPDX-License-Identifier: Apache-2.0
"""Node that plays an MCAP file on its recorded topics as serialized messages; imports rclpy.

    ros2 run ada_dynamics replay_node --ros-args -p path:=run.mcap
    ros2 run ada_dynamics replay_node --ros-args -p path:=run.mcap -p rate:=0.5 -p loop:=true -p "topics:=[/tf*]"

It plays files of record_node, simulations (`record=`) and ROS 2 bags with MCAP storage. RViz and view_node display it
like a live robot; `~/pause` pauses and resumes. Robot commands are played only if they are named in `topics`, since a
robot or simulation that subscribes to them would move.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from std_srvs.srv import SetBool

from ada_dynamics.clock import SYSTEM_CLOCK, Clock
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.simulation.record.mcap_files import ENCODING
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_robot.ros.diagnostics import Diagnostics, Level, Status
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.settings import setting
from ada_tools.nodes.bag.message_types import definition, layout, message_class
from ada_tools.nodes.bag.reading import Channel, TopicFile
from ada_tools.nodes.bag.topics import is_wanted, moves_robots, read_qos, resolved, standing_for, unmatched

LATCHED = ("/robot_description", "/tf_static")  # latched if the file has no QoS information
SHARED = {"/tf", "/tf_static", "/diagnostics"}  # topics with several publishers
LOOP_PAUSE = 0.1  # [s] between the end and the next repetition
_HEADER = 4  # [byte] minimum size of a message
_ACKNOWLEDGED = Duration(seconds=2)  # timeout for delivering the last messages


@dataclass(frozen=True)
class ReplaySettings:
    """Parameters of the node."""

    path: str = setting("", "file to play, such as run.mcap", read_only=True)
    topics: tuple[str, ...] = setting(
        (),
        "topics or patterns to play, such as /wrench/*; empty: all except commands, /rosout and /parameter_events",
        read_only=True,
    )
    rate: float = setting(1.0, "playback speed; 0: as fast as possible", lower=0.0, upper=1e3, read_only=True)
    loop: bool = setting(False, "repeat at the end", read_only=True)
    start_paused: bool = setting(False, "wait for the service ~/pause with false", read_only=True)
    exit_at_end: bool = setting(False, "exit at the end instead of keeping the latched topics alive", read_only=True)


class ReplayNode(Node):
    """Plays a recording; see the module docstring.

    Attributes:
        failure: exception that ended the node; None without one.
        played: number of messages played.
        position: recording time of the last played message [ns].
        state: "playing", "paused" or "ended".
    """

    def __init__(self, *, clock: Clock = SYSTEM_CLOCK, **options: Any) -> None:
        """Scan the file and start playing.

        Args:
            clock: steady clock of the messages.
            options: options of rclpy's Node.

        Raises:
            InputError: invalid parameter, or no playable topic in the file.
            RecordingError: the file cannot be read.
        """
        super().__init__("replay_node", **options)
        self._settings = settings = Parameters(self, ReplaySettings).value
        refuse_unknown_overrides(self)
        if not settings.path:
            raise InputError("parameter path is empty; give the file to play, such as -p path:=run.mcap.")
        self.failure: Exception | None = None
        self._file = TopicFile(settings.path)
        self._skipped: dict[str, str] = {}  # topic: reason
        self._left_out: list[str] = []  # command topics
        self._short = 0  # messages without a header
        self._by_channel: dict[int, Any] = {}  # publishers by channel
        self._make_publishers([resolved(p, self.get_namespace(), self.get_name()) for p in settings.topics])
        self.played, self.position = 0, self._file.first
        self.state = "paused" if settings.start_paused else "playing"
        self._steady = clock
        self._condition = threading.Condition()
        self._is_closing = False
        # Steady clock and recording time [ns] of the first message since the start, or since the last pause.
        self._base: tuple[int, int] | None = None
        self.create_service(SetBool, "~/pause", self._pause)
        self._diagnostics = Diagnostics(self, "replay_node")
        self._diagnostics.add("replay", self._status)
        self._report()
        self._thread = threading.Thread(target=self._play, name="player", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop playing; idempotent."""
        with self._condition:
            self._is_closing = True
            self._condition.notify()
        self._thread.join()

    # --- publishers ---------------------------------------------------------------------------------------------
    def _make_publishers(self, patterns: Sequence[str]) -> None:
        by_topic: dict[str, list[Channel]] = {}
        for channel in self._file.channels.values():
            if self._file.counts.get(channel.id):
                by_topic.setdefault(resolved(channel.topic), []).append(channel)  # the leading slash may be missing
        missing = unmatched(patterns, list(by_topic))
        if missing:
            has = ", ".join(sorted(by_topic))
            raise InputError(f"{self._file.path} has no topic {', '.join(missing)}; it contains {has}.")
        for topic, channels in by_topic.items():
            if not is_wanted(topic, patterns):
                continue
            if not patterns and moves_robots(topic):
                self._left_out.append(topic)
                continue
            try:
                self._make_publisher(topic, channels)
            except InputError as problem:
                self._skipped[topic] = str(problem)
        if not self._by_channel:
            reasons = " ".join(f"{topic}: {reason}" for topic, reason in self._skipped.items())
            raise InputError(
                f"{self._file.path} has no topic to play by default; name topics explicitly, "
                f"available: {', '.join(sorted(by_topic))}. {reasons}".rstrip()
            )

    def _make_publisher(self, topic: str, channels: Sequence[Channel]) -> None:
        """Create one publisher for all channels of a topic."""
        kinds = sorted({channel.kind for channel in channels})
        if len(kinds) > 1:
            raise InputError(f"several message types: {', '.join(kinds)}.")
        for channel in channels:
            _refuse_unplayable(channel)
        offers = [offer for channel in channels for offer in read_qos(channel.offered_qos)]
        offer = standing_for(offers, latched=topic.endswith(LATCHED))
        try:
            publisher = self.create_publisher(message_class(kinds[0]), topic, offer.profile(offer.depth))
        except AdaError:
            raise
        except Exception as problem:  # rclpy raises various errors for invalid names
            raise InputError(f"rejected by ROS 2: {problem}") from None
        self._by_channel.update((channel.id, publisher) for channel in channels)

    # --- playback -----------------------------------------------------------------------------------------------
    def _play(self) -> None:
        """Play the messages at absolute times, so that delays do not accumulate (thread of the player)."""
        try:
            while True:
                self._base = None
                for message in self._file.messages(self._by_channel):
                    if not self._wait_until(message.at):
                        return
                    if len(message.raw) < _HEADER:  # subscribers would fail to decode it
                        self._short += 1
                    else:
                        self._by_channel[message.channel].publish(message.raw)
                    self.played += 1
                    self.position = message.at
                if not self._settings.loop:
                    break
                with self._condition:
                    self._condition.wait(LOOP_PAUSE)
            self.state = "ended"
            self._end()
        except Exception as problem:
            if not self._is_closing and self.context.ok():
                self.failure = problem

    def _wait_until(self, at: int) -> bool:
        """Wait until a recording time; return False if the node ends."""
        with self._condition:
            while not self._is_closing:
                if self.state == "paused":
                    self._base = None
                    self._condition.wait()
                    continue
                now = self._steady.now_ns()
                if self._base is None or not self._settings.rate:
                    self._base = now, at
                steady, first = self._base
                ahead = (at - first) / (self._settings.rate or 1.0) - (now - steady)
                if ahead <= 0.0:
                    return True
                self._condition.wait(ahead / NANOSECONDS)
            return False

    def _end(self) -> None:
        self.get_logger().info("the recording has ended.")
        if self._settings.exit_at_end:
            for publisher in self._by_channel.values():
                publisher.wait_for_all_acked(_ACKNOWLEDGED)
            self.context.try_shutdown()

    def _pause(self, request: Any, response: Any) -> Any:
        with self._condition:
            if self.state == "ended":
                response.success, response.message = False, "the recording has ended; start the node again."
                return response
            self.state = "paused" if request.data else "playing"
            self._condition.notify()
        response.success = True
        response.message = f"{self.state} at {self._elapsed:.3f} s of {self._duration:.3f} s"
        return response

    # --- reports ------------------------------------------------------------------------------------------------
    @property
    def _duration(self) -> float:
        return (self._file.last - self._file.first) / NANOSECONDS

    @property
    def _elapsed(self) -> float:
        return (self.position - self._file.first) / NANOSECONDS

    @property
    def _topics(self) -> set[str]:
        return {publisher.topic_name for publisher in self._by_channel.values()}

    def _report(self) -> None:
        logger = self.get_logger()
        logger.info(f"{self._file.path}: {self._duration:.2f} s of {', '.join(sorted(self._topics))}")
        if self._file.problem:
            logger.warning(f"{self._file.path}: {self._file.problem}; the intact part is played.")
        if self._left_out:
            logger.info(f"robot commands are not played unless named in topics: {', '.join(self._left_out)}")
        for topic, reason in self._skipped.items():
            logger.warning(f"{topic} is not played: {reason}")

    def _status(self) -> Status:
        values = {
            "file": self._file.path,
            "state": self.state,
            "at [s]": f"{self._elapsed:.3f}",
            "duration [s]": f"{self._duration:.3f}",
            "messages played": self.played,
            "messages without a header": self._short,
            **{f"not played: {topic}": reason for topic, reason in self._skipped.items()},
        }
        others = sorted(topic for topic in self._topics - SHARED if self.count_publishers(topic) > 1)
        if others:
            return Status(Level.WARN, f"other nodes publish {', '.join(others)}, too", values)
        if self._file.problem:
            return Status(Level.WARN, f"{self.state}; {self._file.problem}", values)
        if self._skipped:
            return Status(Level.WARN, f"{self.state}; not played: {', '.join(self._skipped)}", values)
        return Status(Level.OK, self.state, values)


def _refuse_unplayable(channel: Channel) -> None:
    """Raise InputError for messages that the installed types cannot decode."""
    if channel.encoding != "cdr":
        raise InputError(f"message encoding {channel.encoding!r}; ROS 2 uses 'cdr'.")
    message_class(channel.kind)
    if channel.definition_encoding != ENCODING or not channel.definition:
        return
    try:
        installed = definition(channel.kind)
    except InputError:
        return  # not installed: no comparison possible
    if layout(channel.kind, channel.definition) != layout(channel.kind, installed):
        raise InputError(f"recorded definition of {channel.kind} differs from the installed one.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node and return the exit code."""
    return run_node(ReplayNode, arguments)


if __name__ == "__main__":
    sys.exit(main())
