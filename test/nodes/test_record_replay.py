# SPDX-License-Identifier: Apache-2.0
"""record_node and replay_node over DDS: what was sent is on disk, and what is on disk is sent, byte for byte."""

import shutil
import signal
import struct
import sys
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("mcap")

from diagnostic_msgs.msg import DiagnosticArray
from mcap import writer as mcap_writer
from rclpy.parameter import Parameter
from rclpy.serialization import deserialize_message, serialize_message
from ros_world import RosWorld, own_domain, world_environment
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool, Trigger

import ada_dynamics as ada
from ada_dynamics.errors import InputError, RecordingError
from ada_dynamics.simulation.record import mcap_writing
from ada_dynamics.simulation.record.mcap_writing import Topic, TopicWriter
from ada_robot.ros import qos
from ada_tools.nodes.bag.offered_qos import Offer, to_text
from ada_tools.nodes.bag.reading import TopicFile
from ada_tools.nodes.record_node import RecordNode
from ada_tools.nodes.replay_node import ReplayNode

pytestmark = pytest.mark.ros

START = 60.0  # [s] that a process may take to start, on a machine that is busy with other tests
MANY = 100  # messages that a subscriber of a test keeps
RELIABLE = qos.QoSProfile(depth=MANY, reliability=qos.ReliabilityPolicy.RELIABLE)
BEST_EFFORT = qos.QoSProfile(depth=MANY, reliability=qos.ReliabilityPolicy.BEST_EFFORT)
DESCRIPTION = "<robot name='one'/>"


def parameters(**values: object) -> list[Parameter]:
    return [Parameter(name, value=value) for name, value in values.items()]


def recorder(ros: RosWorld, path: Path, **values: object) -> RecordNode:
    overrides = parameters(path=str(path), **values)
    return ros.add(RecordNode(context=ros.context, parameter_overrides=overrides))


def replayer(ros: RosWorld, path: Path, **values: object) -> ReplayNode:
    overrides = parameters(path=str(path), **values)
    return ros.add(ReplayNode(context=ros.context, parameter_overrides=overrides))


@pytest.fixture
def other(tmp_path: Path) -> Iterator[RosWorld]:
    """A second world, in which a recording is played."""
    with own_domain() as domain:
        world = RosWorld(domain, world_environment(domain, tmp_path / "other_log"))
        try:
            yield world
        finally:
            world.close()


def joint_state(i: int) -> JointState:
    message = JointState(name=["a", "bé"[: 1 + i % 2]], position=[i + 0.1, -float(i)], effort=[1e-300 * i])
    message.header.stamp.sec, message.header.stamp.nanosec = i, 7 * i
    return message


def on_disk(path: Path, topic: str) -> list[bytes]:
    file = TopicFile(path)
    channels = [channel.id for channel in file.channels.values() if channel.topic == topic]
    return [message.raw for message in file.messages(channels)]


def recorded_run(ros: RosWorld, path: Path) -> dict[str, list[bytes]]:
    """Record some messages on three topics; the bytes that another subscriber saw, by topic."""
    states = ros.publisher(JointState, "/joint_states", RELIABLE)
    numbers = ros.publisher(Float64, "/arm/number", qos.SENSOR)
    ros.publisher(String, "/robot_description", qos.LATCHED).publish(String(data=DESCRIPTION))
    seen = {
        "/joint_states": ros.collect(JointState, "/joint_states", RELIABLE, raw=True),
        "/arm/number": ros.collect(Float64, "/arm/number", qos.SENSOR, raw=True),
        "/robot_description": ros.collect(String, "/robot_description", qos.LATCHED, raw=True),
    }
    node = recorder(ros, path)
    ros.matched(states, 2)
    ros.matched(numbers, 2)
    for i in range(30):
        states.publish(joint_state(i))
        numbers.publish(Float64(data=i / 7.0))
        ros.wait(lambda i=i: len(seen["/arm/number"]) > i and len(seen["/joint_states"]) > i, what="the message")
    ros.wait(lambda: node.recording.statistics.messages >= 61, what="61 messages on disk")
    ros.remove(node)
    return seen


def file_of(path: Path, topics: dict[Topic, list[tuple[int, bytes]]]) -> Path:
    with TopicWriter(path) as writer:
        for topic, messages in topics.items():
            for at, raw in messages:
                writer.add(topic, at, at, raw)
    return path


def number(i: float) -> bytes:
    return b"\x00\x01\x00\x00" + struct.pack("<d", i)


def numbers(path: Path, values: range, topic: str = "/n", spacing: int = 1_000_000) -> Path:
    """A file of numbers, a millisecond apart."""
    kind = Topic(topic, "std_msgs/msg/Float64", "float64 data\n", to_text([Offer()]))
    return file_of(path, {kind: [(1_000_000_000 + spacing * i, number(i)) for i in values]})


def values_of(messages: list[Float64]) -> list[float]:
    return [message.data for message in messages]


# --- recording and playing ------------------------------------------------------------------------------------------
def test_what_was_recorded_is_played_on_another_domain_bit_for_bit_and_in_order(ros, other, tmp_path):
    path = tmp_path / "run.mcap"
    sent = recorded_run(ros, path)
    for topic, messages in sent.items():
        assert on_disk(path, topic) == messages, topic
    heard = {
        "/joint_states": other.collect(JointState, "/joint_states", RELIABLE, raw=True),
        "/arm/number": other.collect(Float64, "/arm/number", qos.streams(100), raw=True),
    }
    player = replayer(other, path, start_paused=True)
    for topic in heard:
        publisher = next(p for p in player.publishers if p.topic_name == topic)
        other.matched(publisher)
    assert other.call(SetBool, "/replay_node/pause", SetBool.Request(data=False)).success
    other.wait(lambda: player.player.has_ended, what="the end of the recording")
    other.wait(lambda: len(heard["/joint_states"]) >= 30 and len(heard["/arm/number"]) >= 30, what="60 messages")
    assert heard == {topic: sent[topic] for topic in heard}
    late = other.collect(String, "/robot_description", qos.LATCHED)
    other.wait(lambda: late, what="the description, for a late subscriber")
    assert [message.data for message in late] == [DESCRIPTION]


def test_another_reader_decodes_every_message_of_a_recording(ros, tmp_path):
    path = tmp_path / "run.mcap"
    sent = recorded_run(ros, path)
    mcap_ros2 = pytest.importorskip("mcap_ros2.decoder")
    from mcap.reader import make_reader

    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[mcap_ros2.DecoderFactory()])
        header, summary = reader.get_header(), reader.get_summary()
        decoded = [(channel, message) for _, channel, _, message in reader.iter_decoded_messages()]
    assert header.profile == "ros2"
    assert summary.statistics.message_count == len(decoded) >= 61
    states = [message for channel, message in decoded if channel.topic == "/joint_states"]
    for raw, found in zip(sent["/joint_states"], states, strict=True):
        true = deserialize_message(raw, JointState)
        assert list(found.name) == true.name
        assert list(found.position) == list(true.position)
        assert (found.header.stamp.sec, found.header.stamp.nanosec) == (
            true.header.stamp.sec,
            true.header.stamp.nanosec,
        )
    by_topic = {channel.topic: channel for channel, _ in decoded}
    assert "reliability: 2" in by_topic["/arm/number"].metadata["offered_qos_profiles"]
    assert "durability: 1" in by_topic["/robot_description"].metadata["offered_qos_profiles"]
    assert by_topic["/joint_states"].metadata["topic_type_hash"].startswith("RIHS01_")


def test_topics_that_appear_later_are_recorded_and_chatter_is_not(ros, tmp_path):
    node = recorder(ros, tmp_path / "run.mcap")
    publisher = ros.matched(ros.publisher(Float64, "/later", RELIABLE))
    publisher.publish(Float64(data=1.0))
    ros.wait(lambda: node.recording.statistics.messages, what="a message on disk")
    ros.wait(lambda: "/diagnostics" in node.topics, what="its own diagnostics")
    assert node.topics == ["/diagnostics", "/later"]


def test_a_publisher_that_offers_less_is_recorded_too(ros, tmp_path):
    node = recorder(ros, tmp_path / "run.mcap", topics=["/n"])
    first = ros.matched(ros.publisher(Float64, "/n", RELIABLE))
    first.publish(Float64(data=1.0))
    ros.wait(lambda: node.recording.statistics.messages == 1, what="the reliable publisher's message")
    second = ros.matched(ros.publisher(Float64, "/n", qos.SENSOR))
    second.publish(Float64(data=2.0))
    ros.wait(lambda: node.recording.statistics.messages == 2, what="the other publisher's message")
    ros.matched(first).publish(Float64(data=3.0))
    ros.wait(lambda: node.recording.statistics.messages == 3, what="the first publisher's next message")


def test_a_recorder_in_a_namespace_takes_what_is_in_it_and_what_all_share(ros, tmp_path):
    for topic in ("/left/joint_states", "/right/joint_states", "/tf_like", "/clock"):
        ros.publisher(Clock if topic == "/clock" else Float64, topic)
    overrides = parameters(path=str(tmp_path / "a.mcap"))
    node = ros.add(RecordNode(context=ros.context, namespace="left", parameter_overrides=overrides))
    ros.wait(lambda: len(node.topics) == 3, what="three topics")
    assert node.topics == ["/clock", "/diagnostics", "/left/joint_states"]
    overrides = parameters(path=str(tmp_path / "b.mcap"), topics=["joint_*", "/tf_like"])
    chosen = ros.add(RecordNode(context=ros.context, namespace="right", parameter_overrides=overrides))
    ros.wait(lambda: chosen.topics == ["/right/joint_states", "/tf_like"], what="the topics of the other")


def test_a_killed_recorder_leaves_all_but_the_last_moment_and_that_is_played(ros, tmp_path):
    path = tmp_path / "run.mcap"
    publisher = ros.publisher(Float64, "/n", RELIABLE)
    process = ros.start(
        sys.executable, "-m", "ada_tools.nodes.record_node", "--ros-args", "-p", f"path:={path}",
        "-p", "topics:=[/n]",
    )  # fmt: skip
    ros.matched(publisher, timeout=START)
    for i in range(50):
        publisher.publish(Float64(data=float(i)))

    def all_on_disk() -> bool:
        try:
            return len(on_disk(path, "/n")) == 50
        except RecordingError:  # nothing yet
            return False

    ros.wait(all_on_disk, what="50 messages on disk while it runs")
    process.signal(signal.SIGKILL)
    process.wait()
    assert "no end" in TopicFile(path).problem
    heard = ros.collect(Float64, "/n", RELIABLE)
    ros.tester.destroy_publisher(publisher)
    node = replayer(ros, path, start_paused=True)
    publisher = next(p for p in node.publishers if p.topic_name == "/n")
    ros.matched(publisher)
    node.player.pause(False)
    ros.wait(lambda: len(heard) == 50, what="50 messages")
    assert values_of(heard) == [float(i) for i in range(50)]
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    status = ros.wait(lambda: _status(reports, "replay_node: replay"), what="a report")
    assert status.level == b"\x01" and "no end" in status.message


def _status(reports: list[DiagnosticArray], name: str, level: bytes | None = None):
    found = [status for report in reports for status in report.status if status.name == name]
    found = [status for status in found if level is None or status.level == level]
    return found[-1] if found else None


def test_a_full_disk_ends_the_file_properly_and_is_an_error_in_diagnostics(ros, tmp_path, monkeypatch):
    path = tmp_path / "run.mcap"
    node = recorder(ros, path, topics=["/n"])
    publisher = ros.matched(ros.publisher(Float64, "/n", RELIABLE))
    publisher.publish(Float64(data=1.0))
    ros.wait(lambda: node.recording.statistics.messages == 1, what="a message on disk")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(mcap_writing.shutil, "disk_usage", lambda _: usage(100, 90, 10))
    publisher.publish(Float64(data=2.0))
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    status = ros.wait(lambda: _status(reports, "record_node: recording", b"\x02"), what="an error")
    assert str(path) in status.message and "cannot be written" in status.message
    assert {value.key: value.value for value in status.values}["dropped"] == "1"
    file = TopicFile(path)
    assert not file.problem and [message.raw for message in file.messages(file.channels)] == [number(1.0)]
    ros.remove(node)
    assert "cannot be written" in str(node.failure)  # the exit code of the process


def test_types_that_are_not_installed_are_named_and_the_others_are_recorded(ros, tmp_path, monkeypatch):
    from ada_tools.nodes import record_node

    real = record_node.message_class

    def without_string(kind: str) -> object:
        if kind.endswith("String"):
            raise InputError("the package of std_msgs/msg/String is not installed.")
        return real(kind)

    monkeypatch.setattr(record_node, "message_class", without_string)
    ros.publisher(String, "/text")
    ros.publisher(Float64, "/n")
    node = recorder(ros, tmp_path / "run.mcap", topics=["/text", "/n"])
    ros.wait(lambda: node.topics == ["/n"], what="the topic that can be recorded")
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    status = ros.wait(lambda: _status(reports, "record_node: recording", b"\x01"), what="a warning")
    assert "/text" in status.message


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, "path is empty"),
        ({"path": "no/such/folder/run.mcap"}, "No such file or directory"),
        ({"path": "run.mcap", "topic": "/n"}, "Did you mean 'topics'"),
        ({"path": "there.mcap"}, "exists already"),
    ],
)
def test_a_recorder_refuses_what_it_cannot_do(ros, tmp_path, monkeypatch, values, text):
    monkeypatch.chdir(tmp_path)
    Path("there.mcap").touch()
    with pytest.raises((InputError, RecordingError), match=text):
        RecordNode(context=ros.context, parameter_overrides=parameters(**values))


def test_an_interrupted_recorder_ends_its_file_and_its_exit_code_is_zero(ros, tmp_path):
    path = tmp_path / "run.mcap"
    process = ros.start(sys.executable, "-m", "ada_tools.nodes.record_node", "--ros-args", "-p", f"path:={path}")
    publisher = ros.matched(ros.publisher(Float64, "/n", RELIABLE), timeout=START)
    publisher.publish(Float64(data=1.0))
    ros.wait(lambda: path.stat().st_size > 500, what="a chunk on disk")
    assert process.stop() == 0, process.output
    assert not TopicFile(path).problem


# --- playing --------------------------------------------------------------------------------------------------------
def test_messages_keep_their_order_also_as_fast_as_it_goes(ros, tmp_path):
    node = replayer(ros, numbers(tmp_path / "n.mcap", range(80)), rate=0.0, start_paused=True)
    heard = ros.collect(Float64, "/n", RELIABLE)
    ros.matched(next(p for p in node.publishers if p.topic_name == "/n"))
    ros.call(SetBool, "/replay_node/pause", SetBool.Request(data=False))
    ros.wait(lambda: len(heard) == 80, what="80 messages")
    assert values_of(heard) == [float(i) for i in range(80)]


def test_pause_stops_and_goes_on_and_restart_begins_anew(ros, tmp_path):
    path = numbers(tmp_path / "n.mcap", range(100), spacing=20_000_000)
    heard = ros.collect(Float64, "/n", RELIABLE)
    node = replayer(ros, path, start_paused=True)
    ros.matched(next(p for p in node.publishers if p.topic_name == "/n"))
    node.player.pause(False)
    ros.wait(lambda: len(heard) > 3, what="some messages")
    answer = ros.call(SetBool, "/replay_node/pause", SetBool.Request(data=True))
    assert answer.success and "paused at" in answer.message
    stopped = node.player.played
    ros.wait(lambda: len(heard) == stopped, what="what was under way")
    assert ros.call(Trigger, "/replay_node/restart").message == "paused at the beginning"
    assert node.player.played == stopped  # still paused
    answer = ros.call(SetBool, "/replay_node/pause", SetBool.Request(data=False))
    assert answer.success and "playing" in answer.message
    ros.wait(lambda: len(heard) > stopped + 3, what="messages from the beginning")
    assert values_of(heard)[stopped : stopped + 3] == [0.0, 1.0, 2.0]


def test_a_recording_that_has_ended_can_only_be_restarted(ros, tmp_path):
    node = replayer(ros, numbers(tmp_path / "n.mcap", range(3)))
    ros.wait(lambda: node.player.has_ended, what="the end")
    answer = ros.call(SetBool, "/replay_node/pause", SetBool.Request(data=True))
    assert not answer.success and "restart" in answer.message
    assert ros.call(Trigger, "/replay_node/restart").success
    ros.wait(lambda: node.player.played == 6, what="the second pass")


def test_start_and_rate_are_checked_and_a_new_start_holds_from_the_next_restart_on(ros, tmp_path):
    path = numbers(tmp_path / "n.mcap", range(11), spacing=10_000_000)
    heard = ros.collect(Float64, "/n", RELIABLE)
    node = replayer(ros, path, start=0.08, start_paused=True)
    ros.matched(next(p for p in node.publishers if p.topic_name == "/n"))
    node.player.pause(False)
    ros.wait(lambda: node.player.has_ended and len(heard) == 3, what="the end")
    (refusal,) = node.set_parameters(parameters(start=0.2))
    assert not refusal.successful and "lasts 0.1 s" in refusal.reason
    (refusal,) = node.set_parameters(parameters(rate=-1.0))
    assert not refusal.successful and "rate" in refusal.reason
    assert node.set_parameters(parameters(start=0.09))[0].successful
    ros.call(Trigger, "/replay_node/restart")
    ros.wait(lambda: node.player.has_ended and len(heard) == 5, what="the end")
    assert values_of(heard) == [8.0, 9.0, 10.0, 9.0, 10.0]


def test_the_clock_follows_the_recording_and_never_passes_the_next_message(ros, tmp_path):
    path = numbers(tmp_path / "n.mcap", range(5), spacing=50_000_000)
    clock = ros.collect(Clock, "/clock", RELIABLE)
    node = replayer(ros, path, publish_clock=True, start_paused=True)
    ros.wait(lambda: ros.tester.count_publishers("/clock"), what="the clock")
    ros.matched(next(p for p in node.publishers if p.topic_name == "/clock"))
    node.player.pause(False)
    ros.wait(lambda: node.player.has_ended, what="the end")
    ros.wait(lambda: clock and clock[-1].clock.nanosec == 200_000_000, what="the last time")
    times = [message.clock.sec * 10**9 + message.clock.nanosec for message in clock]
    assert times == sorted(times) and times[0] >= 10**9 and times[-1] == 1_200_000_000
    assert len(times) > 5  # between messages too


def test_a_simulation_that_was_recorded_is_played_into_joint_states(ros, tmp_path):
    path = tmp_path / "fall.mcap"
    simulation = ada.Simulation(ada.load("pa10"), step=1e-3)
    log = simulation.run(0.3, record=path)
    heard = ros.collect(JointState, "/joint_states", RELIABLE)
    node = replayer(ros, path, rate=0.0, start_paused=True)
    ros.matched(next(p for p in node.publishers if p.topic_name == "/joint_states"))
    node.player.pause(False)
    ros.wait(lambda: node.player.has_ended, what="the end")
    ros.wait(lambda: len(heard) >= 30, what="30 joint states")
    for message in heard:
        i = int(np.argmin(abs(log.t - (message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec))))
        assert list(message.position) == log.q[i].tolist()
    late = ros.collect(String, "/robot_description", qos.LATCHED)
    ros.wait(lambda: late, what="the description")
    assert "<robot" in late[0].data


def test_a_bag_of_rosbag2_is_played(ros, tmp_path):
    path = tmp_path / "bag_0.mcap"
    profiles = (
        "- history: keep_last\n  depth: 7\n  reliability: best_effort\n  durability: volatile\n  deadline:\n"
        "    sec: 9223372036\n    nsec: 854775807\n  liveliness: automatic\n  avoid_ros_namespace_conventions: false\n"
    )
    with path.open("wb") as file:  # as its storage plugin writes: no compression, no check sums of chunks
        writer = mcap_writer.Writer(
            file, compression=mcap_writer.CompressionType.NONE, enable_crcs=False, chunk_size=200
        )
        writer.start("ros2", "libmcap 1.4.0")
        schema = writer.register_schema("std_msgs/msg/Float64", "ros2msg", b"# a number\nfloat64 data")
        channel = writer.register_channel("/n", "cdr", schema, {"offered_qos_profiles": profiles})
        for i in range(20):
            writer.add_message(channel, 10**18 + i * 10**6, number(i), 10**18 + i * 10**6)
        writer.add_metadata("rosbag2", {"serialized_metadata": "version: 9\n"})
        writer.finish()
    heard = ros.collect(Float64, "/n", BEST_EFFORT)
    node = replayer(ros, path, start_paused=True)
    publisher = ros.matched(next(p for p in node.publishers if p.topic_name == "/n"))
    assert publisher.qos_profile.reliability == qos.ReliabilityPolicy.BEST_EFFORT
    assert publisher.qos_profile.depth == 7
    node.player.pause(False)
    ros.wait(lambda: len(heard) == 20, what="20 messages")
    assert values_of(heard) == [float(i) for i in range(20)]


def test_topics_that_cannot_be_played_are_named_and_the_others_are_played(ros, tmp_path):
    path = file_of(
        tmp_path / "mixed.mcap",
        {
            Topic("/n", "std_msgs/msg/Float64", "float64 data\n"): [(1, number(1.0)), (2, b"\x00\x01")],
            Topic("/alien", "no_such_msgs/msg/Thing"): [(1, b"\x00\x01\x00\x00")],
            Topic("/changed", "std_msgs/msg/String", "string data\nint32 more\n"): [(1, b"\x00\x01\x00\x00")],
            Topic("/odd", "not a type"): [(1, b"\x00\x01\x00\x00")],
            Topic("/bad name", "std_msgs/msg/Float64"): [(1, number(1.0))],
        },
    )
    node = replayer(ros, path)
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    status = ros.wait(lambda: _status(reports, "replay_node: replay"), what="a report")
    values = {value.key: value.value for value in status.values}
    assert status.level == b"\x01"
    assert "not installed" in values["not played: /alien"]
    assert "another definition" in values["not played: /changed"]
    assert "no type of messages" in values["not played: /odd"]
    assert "does not allow" in values["not played: /bad name"]
    ros.wait(lambda: node.player.has_ended, what="the end")
    assert values["messages without a header"] == "1"


def test_another_publisher_of_a_played_topic_is_reported(ros, tmp_path):
    replayer(ros, numbers(tmp_path / "n.mcap", range(3)))
    ros.publisher(Float64, "/n")
    reports = ros.collect(DiagnosticArray, "/diagnostics")
    status = ros.wait(lambda: _status(reports, "replay_node: replay", b"\x01"), what="a warning")
    assert "other nodes publish /n" in status.message


def test_only_the_topics_asked_for_are_played(ros, tmp_path):
    kinds = {name: Topic(name, "std_msgs/msg/Float64", "float64 data\n") for name in ("/a/x", "/a/y", "/b", "/rosout")}
    path = file_of(tmp_path / "n.mcap", {kind: [(1, number(1.0))] for kind in kinds.values()})
    ros.wait(lambda: played(replayer(ros, path)) == ["/a/x", "/a/y", "/b"], what="all but chatter")
    node = ReplayNode(
        context=ros.context, namespace="a", parameter_overrides=parameters(path=str(path), topics=["x", "/b"])
    )
    assert played(ros.add(node)) == ["/a/x", "/b"]


def test_commands_are_played_only_where_they_are_named(ros, tmp_path):
    kinds = [Topic(name, "std_msgs/msg/Float64") for name in ("/joint_commands", "/arm/dynamics_node/set_state", "/n")]
    path = file_of(tmp_path / "n.mcap", {kind: [(1, number(1.0))] for kind in kinds})
    node = replayer(ros, path)
    assert played(node) == ["/n"]
    ros.remove(node)
    assert played(replayer(ros, path, topics=["/joint_commands"])) == ["/joint_commands"]


def played(node: ReplayNode) -> list[str]:
    own = {"/rosout", "/parameter_events", "/diagnostics"}
    return sorted({publisher.topic_name for publisher in node.publishers} - own)


def test_a_replay_that_is_to_end_at_the_end_ends_with_exit_code_zero_and_all_messages_sent(ros, tmp_path):
    path = numbers(tmp_path / "n.mcap", range(60))
    heard = ros.collect(Float64, "/n", RELIABLE)
    process = ros.start(
        sys.executable, "-m", "ada_tools.nodes.replay_node", "--ros-args", "-p", f"path:={path}",
        "-p", "start_paused:=true", "-p", "exit_at_end:=true",
    )  # fmt: skip
    ros.wait(lambda: ros.tester.count_publishers("/n"), START, "the replay")
    ros.call(SetBool, "/replay_node/pause", SetBool.Request(data=False))
    assert process.wait(START) == 0, process.output
    ros.wait(lambda: len(heard) == 60, what="60 messages")


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, "No such file"), (b"", "is empty"), (b"PK\x03\x04 zip", "no MCAP file"), (b"\x89MCAP0\r\n", "no messages")],
    ids=["missing", "empty", "foreign", "nothing in it"],
)
def test_files_that_cannot_be_played_are_refused_with_exit_code_two(ros, tmp_path, content, text):
    path = tmp_path / "bad.mcap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecordingError, match=text):
        ReplayNode(context=ros.context, parameter_overrides=parameters(path=str(path)))
    if content is None:  # one of them in a process: the start of a process takes its time
        process = ros.start(sys.executable, "-m", "ada_tools.nodes.replay_node", "--ros-args", "-p", f"path:={path}")
        assert process.wait(START) == 2
        assert "error:" in process.output and "Traceback" not in process.output


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"topics": ["/m"]}, "no topic /m. It has /n"),
        ({"rate": -1.0}, "rate"),
        ({"start": 9.0}, "lasts 0.002 s"),
        ({"speed": 1.0}, "speed"),
    ],
)
def test_a_replay_refuses_parameters_that_make_no_sense(ros, tmp_path, values, text):
    path = numbers(tmp_path / "n.mcap", range(3))
    with pytest.raises(InputError, match=text):
        ReplayNode(context=ros.context, parameter_overrides=parameters(path=str(path), **values))


def test_a_file_that_is_taken_away_while_it_is_played_ends_the_node(ros, tmp_path):
    path = numbers(tmp_path / "n.mcap", range(3))
    node = replayer(ros, path, start_paused=True)
    node.player.restart()
    shutil.copy(path, tmp_path / "kept")
    path.write_bytes(b"")
    node.player.restart()
    node.player.pause(False)
    ros.wait(lambda: node.failure, what="the failure")
    assert "cannot be read any more" in str(node.failure)
    assert serialize_message(Float64(data=1.0))[:4] == b"\x00\x01\x00\x00"  # what `number` begins with
