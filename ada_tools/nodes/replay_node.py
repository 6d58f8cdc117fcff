# SPDX-License-Identifier: Apache-2.0
"""Node that plays an MCAP file on its recorded topics as serialized messages; imports rclpy.

    ros2 run ada_dynamics replay_node --ros-args -p path:=run.mcap
    ros2 run ada_dynamics replay_node --ros-args -p path:=run.mcap -p rate:=0.5 -p loop:=true -p "topics:=[/tf*]"

It plays files of record_node, simulations (`record=`) and ROS 2 bags with MCAP storage. RViz and view_node display it
like a live robot. `~/pause` pauses and resumes, `~/restart` restarts. Robot commands are played only if they are named
in `topics`, since a robot or simulation that subscribes to them would move.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_srvs.srv import SetBool, Trigger

from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.simulation.record.cdr import NANOSECONDS
from ada_dynamics.simulation.record.mcap_records import ENCODING
from ada_robot.ros import qos
from ada_robot.ros.diagnostics import Diagnostics, Level, Status
from ada_robot.ros.parameters import Parameters, refuse_unknown_overrides
from ada_robot.ros.run_node import run_node
from ada_robot.settings import setting
from ada_tools.nodes.bag.message_types import definition, layout, message_class
from ada_tools.nodes.bag.playing import CLOCK_PERIOD, Player
from ada_tools.nodes.bag.reading import Channel, RecordedMessage, TopicFile
from ada_tools.nodes.bag.topics import is_wanted, moves_robots, read_qos, resolved, standing_for, unmatched

LATCHED = ("/robot_description", "/tf_static")  # latched if the file has no QoS information
CLOCK = "/clock"
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
    rate: float = setting(1.0, "playback speed; 0: as fast as possible", lower=0.0, upper=1e3)
    loop: bool = setting(False, "repeat at the end")
    start: float = setting(
        0.0, "start time after the first message; a change applies from the next restart", unit="s", lower=0.0
    )
    start_paused: bool = setting(False, "wait for the service ~/pause with false", read_only=True)
    publish_clock: bool = setting(
        False, "publish the recording time on /clock, unless the recording contains /clock", read_only=True
    )
    exit_at_end: bool = setting(False, "exit at the end instead of keeping the latched topics alive", read_only=True)


class ReplayNode(Node):
    """Plays a recording; see the module docstring."""

    def __init__(self, **options: Any) -> None:
        """Scan the file and start playing.

        Args:
            options: options of rclpy's Node.

        Raises:
            InputError: invalid parameter, or no playable topic in the file.
            RecordingError: the file cannot be read.
        """
        super().__init__("replay_node", **options)
        self._settings = Parameters(self, ReplaySettings, on_change=self._change)
        refuse_unknown_overrides(self)
        settings = self._settings.value
        if not settings.path:
            raise InputError("parameter path is empty; give the file to play, such as -p path:=run.mcap.")
        self.failure: Exception | None = None  # ends the node
        self._player: Player | None = None
        self._file = TopicFile(settings.path)
        self._skipped: dict[str, str] = {}  # topic: reason
        self._left_out: list[str] = []  # command topics
        self._short = 0  # messages without a header
        self._by_channel: dict[int, Any] = {}  # publishers by channel
        self._latched: set[int] = set()
        self._check_start(settings.start)
        self._make_publishers([resolved(p, self.get_namespace(), self.get_name()) for p in settings.topics])
        self._clock_publisher = self._make_clock(settings.publish_clock)
        self._clock_at: int | None = None
        self._player = Player(
            self._messages,
            self._publish,
            rate=settings.rate,
            loop=settings.loop,
            paused=settings.start_paused,
            tick=None if self._clock_publisher is None else self._tick,
            on_end=self._end,
            on_failure=self._fail,
        )
        self.create_service(SetBool, "~/pause", self._pause)
        self.create_service(Trigger, "~/restart", self._restart)
        self._is_closing = False
        self._diagnostics = Diagnostics(self, "replay_node")
        self._diagnostics.add("replay", self._status)
        self._report()
        self._player.start()

    @property
    def player(self) -> Player:
        """Player of the file."""
        assert self._player is not None
        return self._player

    def close(self) -> None:
        """Stop playing; idempotent."""
        self._is_closing = True
        if self._player is not None:
            self._player.stop()

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
        for channel in channels:
            self._by_channel[channel.id] = publisher
            if offer.latched:
                self._latched.add(channel.id)

    def _make_clock(self, wanted: bool) -> Any:
        if not wanted:
            return None
        if any(publisher.topic_name == CLOCK for publisher in self._by_channel.values()):
            self.get_logger().warning("publish_clock has no effect: the recording contains /clock.")
            return None
        return self.create_publisher(Clock, CLOCK, qos.CLOCK)

    def _messages(self) -> Iterator[RecordedMessage]:
        since = self._file.first + round(self._settings.value.start * NANOSECONDS)
        return self._file.latched_first(self._by_channel, self._latched, since)

    def _publish(self, message: RecordedMessage) -> None:
        if len(message.raw) < _HEADER:  # subscribers would fail to decode it
            self._short += 1
            return
        self._by_channel[message.channel].publish(message.raw)

    def _tick(self, at: int) -> None:
        last = self._clock_at
        if last is None or at == self._file.last or not last <= at < last + CLOCK_PERIOD * NANOSECONDS:
            self._clock_at = at
            now = Clock()
            now.clock.sec, now.clock.nanosec = divmod(at, NANOSECONDS)
            self._clock_publisher.publish(now)

    # --- services -----------------------------------------------------------------------------------------------
    def _change(self, _old: ReplaySettings, new: ReplaySettings) -> None:
        self._check_start(new.start)
        self.player.set_rate(new.rate)
        self.player.set_loop(new.loop)

    def _check_start(self, start: float) -> None:
        duration = self._duration
        if start > duration:
            raise InputError(f"parameter start is {start:g} s, but the recording lasts {duration:g} s; reduce it.")

    def _pause(self, request: Any, response: Any) -> Any:
        if self.player.has_ended:
            response.success, response.message = False, "the recording has ended; call ~/restart."
            return response
        self.player.pause(bool(request.data))
        response.success = True
        response.message = (
            f"{'paused' if request.data else 'playing'} at {self._elapsed:.3f} s of {self._duration:.3f} s"
        )
        return response

    def _restart(self, _request: Any, response: Any) -> Any:
        self.player.restart()
        response.success, response.message = True, "paused at the beginning" if self.player.is_paused else "playing"
        return response

    # --- reports ------------------------------------------------------------------------------------------------
    @property
    def _duration(self) -> float:
        return (self._file.last - self._file.first) / NANOSECONDS

    @property
    def _elapsed(self) -> float:
        position = self.player.position
        return 0.0 if position is None else (position - self._file.first) / NANOSECONDS

    def _report(self) -> None:
        logger = self.get_logger()
        topics = sorted({publisher.topic_name for publisher in self._by_channel.values()})
        logger.info(f"{self._file.path}: {self._duration:.2f} s of {', '.join(topics)}")
        if self._file.problem:
            logger.warning(f"{self._file.path}: {self._file.problem}; the intact part is played.")
        if self._left_out:
            logger.info(f"robot commands are not played unless named in topics: {', '.join(self._left_out)}")
        for topic, reason in self._skipped.items():
            logger.warning(f"{topic} is not played: {reason}")

    def _end(self) -> None:
        self.get_logger().info("the recording has ended.")
        if not self._settings.value.exit_at_end:
            return
        for publisher in self._by_channel.values():
            publisher.wait_for_all_acked(_ACKNOWLEDGED)
        self.context.try_shutdown()

    def _fail(self, problem: Exception) -> None:
        if self._is_closing or not self.context.ok():
            return
        self.failure = problem

    def _status(self) -> Status:
        player = self.player
        state = "ended" if player.has_ended else "paused" if player.is_paused else "playing"
        values = {
            "file": self._file.path,
            "state": state,
            "at [s]": f"{self._elapsed:.3f}",
            "duration [s]": f"{self._duration:.3f}",
            "messages played": player.played,
            "messages without a header": self._short,
            **{f"not played: {topic}": reason for topic, reason in self._skipped.items()},
        }
        others = sorted(self._topics_of_others())
        if others:
            return Status(Level.WARN, f"other nodes publish {', '.join(others)}, too", values)
        if self._file.problem:
            return Status(Level.WARN, f"{state}; {self._file.problem}", values)
        if self._skipped:
            return Status(Level.WARN, f"{state}; not played: {', '.join(self._skipped)}", values)
        return Status(Level.OK, state, values)

    def _topics_of_others(self) -> set[str]:
        topics = {publisher.topic_name for publisher in self._by_channel.values()} - {
            "/tf",
            "/tf_static",
            "/diagnostics",
        }
        return {topic for topic in topics if self.count_publishers(topic) > 1}


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
