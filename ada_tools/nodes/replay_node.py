# SPDX-License-Identifier: Apache-2.0
"""The node that plays an MCAP file on the topics that it was recorded from, byte for byte; imports rclpy.

    ros2 run ada_dynamics replay_node --ros-args -p path:=run.mcap
    ros2 run ada_dynamics replay_node --ros-args -p path:=run.mcap -p rate:=0.5 -p loop:=true -p "topics:=[/tf*]"

It takes what record_node, simulations (`record=`) and ROS 2 bags with MCAP storage wrote. RViz and view_node show it as
they would show the robot. `~/pause` stops and goes on, `~/restart` begins anew. Commands for robots are played only
where they are named in `topics`: a robot, or its simulation, that listens would move.
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
from ada_tools.nodes.bag.definitions import definition, layout
from ada_tools.nodes.bag.offered_qos import of_text, standing_for
from ada_tools.nodes.bag.playing import CLOCK_PERIOD, Player, latched_first
from ada_tools.nodes.bag.raw_topics import message_class, profile
from ada_tools.nodes.bag.reading import Channel, Recorded, TopicFile
from ada_tools.nodes.bag.selection import is_wanted, moves_robots, resolved, unmatched

LATCHED = ("/robot_description", "/tf_static")  # kept for late subscribers where the file does not say what is
CLOCK = "/clock"
_HEADER = 4  # [byte] of a message, at least
_ACKNOWLEDGED = Duration(seconds=2)  # what the last messages have to arrive, at most


@dataclass(frozen=True)
class ReplaySettings:
    """Parameters of the node."""

    path: str = setting("", "file to play, such as run.mcap", read_only=True)
    topics: tuple[str, ...] = setting(
        (),
        "topics to play, or patterns such as /wrench/*; none: all but commands, /rosout and /parameter_events",
        read_only=True,
    )
    rate: float = setting(1.0, "seconds of the recording in one second; 0: as fast as it goes", lower=0.0, upper=1e3)
    loop: bool = setting(False, "begin again at the end")
    start: float = setting(
        0.0, "where to begin, after the first message; a change holds from the next restart on", unit="s", lower=0.0
    )
    start_paused: bool = setting(False, "wait for the service ~/pause with false", read_only=True)
    publish_clock: bool = setting(
        False, "publish the time in the recording on /clock, unless /clock itself is in it", read_only=True
    )
    exit_at_end: bool = setting(False, "end the node at the end, rather than keep its latched topics", read_only=True)


class ReplayNode(Node):
    """Plays a recording; see the module."""

    def __init__(self, **options: Any) -> None:
        """Look through the file, and begin to play.

        Args:
            options: of rclpy's Node.

        Raises:
            InputError: a parameter is not usable, or nothing in the file can be played.
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
        self._left_out: list[str] = []  # topics that move robots
        self._short = 0  # messages without a header
        self._by_channel: dict[int, Any] = {}  # by channel
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
        """The player of the file."""
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
                by_topic.setdefault(resolved(channel.topic), []).append(channel)  # other programs leave out the slash
        missing = unmatched(patterns, list(by_topic))
        if missing:
            has = ", ".join(sorted(by_topic))
            raise InputError(f"{self._file.path} has no topic {', '.join(missing)}. It has {has}.")
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
                f"nothing in {self._file.path} can be played unless it is named in topics; "
                f"it has {', '.join(sorted(by_topic))}. {reasons}".rstrip()
            )

    def _make_publisher(self, topic: str, channels: Sequence[Channel]) -> None:
        """One publisher for all channels of a topic."""
        kinds = sorted({channel.kind for channel in channels})
        if len(kinds) > 1:
            raise InputError(f"it has messages of several types: {', '.join(kinds)}.")
        for channel in channels:
            _refuse_unplayable(channel)
        offers = [offer for channel in channels for offer in of_text(channel.offered_qos)]
        offer = standing_for(offers, latched=topic.endswith(LATCHED))
        try:
            publisher = self.create_publisher(message_class(kinds[0]), topic, profile(offer))
        except AdaError:
            raise
        except Exception as problem:  # rclpy has no class of its own for names that are not allowed
            raise InputError(f"ROS 2 does not allow it: {problem}") from None
        for channel in channels:
            self._by_channel[channel.id] = publisher
            if offer.latched:
                self._latched.add(channel.id)

    def _make_clock(self, wanted: bool) -> Any:
        if not wanted:
            return None
        if any(publisher.topic_name == CLOCK for publisher in self._by_channel.values()):
            self.get_logger().warning("publish_clock: the recording has /clock itself, and that is played.")
            return None
        return self.create_publisher(Clock, CLOCK, qos.CLOCK)

    def _messages(self) -> Iterator[Recorded]:
        since = self._file.first + round(self._settings.value.start * NANOSECONDS)
        return latched_first(self._file, self._by_channel, self._latched, since)

    def _publish(self, message: Recorded) -> None:
        if len(message.raw) < _HEADER:  # subscribers would fail over it
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
            raise InputError(f"parameter start is {start:g} s, but the recording lasts {duration:g} s; give less.")

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
            logger.warning(f"{self._file.path}: {self._file.problem}; what is before is played.")
        if self._left_out:
            logger.info(f"not played, because they move robots: {', '.join(self._left_out)}; name them in topics.")
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
    """Refuse messages whose bytes mean nothing, or something else, to the installed types.

    Raises:
        InputError: saying why.
    """
    if channel.encoding != "cdr":
        raise InputError(f"its messages are encoded as {channel.encoding!r}; ROS 2 has 'cdr'.")
    message_class(channel.kind)
    if channel.definition_encoding != ENCODING or not channel.definition:
        return
    try:
        installed = definition(channel.kind)
    except InputError:
        return  # there is nothing to compare with
    if layout(channel.kind, channel.definition) != layout(channel.kind, installed):
        raise InputError(f"it was recorded with another definition of {channel.kind} than the installed one.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node; the exit code."""
    return run_node(ReplayNode, arguments)


if __name__ == "__main__":
    sys.exit(main())
