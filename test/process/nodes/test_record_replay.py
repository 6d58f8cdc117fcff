# SPDX-License-Identifier: Apache-2.0
"""record_node and replay_node over DDS: what was sent is on disk, and what is on disk is sent, byte for byte."""

import shutil
import signal
import struct
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("mcap")

from diagnostic_msgs.msg import DiagnosticArray
from mcap.reader import make_reader
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from ros_world import RosWorld
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String
from std_srvs.srv import SetBool

import ada_dynamics as ada
from ada_dynamics.clock import ManualClock
from ada_dynamics.errors import RecordingError
from ada_dynamics.simulation.record.mcap_files import Topic, TopicWriter
from ada_robot.ros import qos
from ada_tools.nodes.bag.reading import TopicFile
from ada_tools.nodes.bag.topics import OfferedQos, qos_text
from ada_tools.nodes.record_node import DEPTH, RecordNode
from ada_tools.nodes.replay_node import ReplayNode

pytestmark = pytest.mark.ros

MANY = 100  # messages that a subscriber of a test keeps
RELIABLE = qos.QoSProfile(depth=MANY, reliability=qos.ReliabilityPolicy.RELIABLE)
WARN, ERROR = b"\x01", b"\x02"
DESCRIPTION = "<robot name='one'/>"


def parameters(**values: object) -> list[Parameter]:
    return [Parameter(name, value=value) for name, value in values.items()]


def recorder(ros: RosWorld, path: Path, namespace: str = "", **values: object) -> RecordNode:
    overrides = parameters(path=str(path), **values)
    return ros.add(RecordNode(context=ros.context, namespace=namespace, parameter_overrides=overrides))


def replayer(ros: RosWorld, path: Path, namespace: str = "", **values: object) -> ReplayNode:
    overrides = parameters(path=str(path), **values)
    return ros.add(ReplayNode(context=ros.context, namespace=namespace, parameter_overrides=overrides))


def publisher_of(node: ReplayNode, topic: str) -> Any:
    return next(publisher for publisher in node.publishers if publisher.topic_name == topic)


def paused(
    ros: RosWorld, path: Path, topic: str = "/n", kind: Any = Float64, profile: Any = RELIABLE, **values: object
) -> tuple[ReplayNode, list[Any]]:
    """A replay that waits, and what is heard of one of its topics from its beginning on."""
    heard = ros.collect(kind, topic, profile)
    node = replayer(ros, path, start_paused=True, **values)
    ros.matched(publisher_of(node, topic))
    return node, heard


def pause(ros: RosWorld, wanted: bool) -> Any:
    return ros.call(SetBool, "/replay_node/pause", SetBool.Request(data=wanted))


def status_of(ros: RosWorld, name: str, level: bytes | None = None) -> Any:
    """The next report on a part of a node, of a level."""
    reports = ros.collect(DiagnosticArray, "/diagnostics")

    def found() -> Any:
        seen = [status for report in reports for status in report.status if status.name == name]
        return next((status for status in seen if level in (None, status.level)), None)

    return ros.wait(found, what=f"a report on {name}")


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
    node = recorder(ros, path, topics=list(seen))
    ros.matched(states, 2)
    ros.matched(numbers, 2)
    for i in range(30):
        states.publish(joint_state(i))
        numbers.publish(Float64(data=i / 7.0))
        ros.wait(lambda i=i: len(seen["/arm/number"]) > i and len(seen["/joint_states"]) > i, what="the message")
    ros.wait(lambda: node.messages == 61, what="61 messages on disk")
    ros.remove(node)
    return seen


def file_of(path: Path, topics: dict[Topic, list[tuple[int, bytes]]]) -> Path:
    with TopicWriter(path) as writer:
        for topic, messages in topics.items():
            for at, raw in messages:
                writer.add(topic, at, at, raw)
    return path


def number_of(i: float) -> bytes:
    return b"\x00\x01\x00\x00" + struct.pack("<d", i)


def numbers(path: Path, values: range, topic: str = "/n", spacing: int = 1_000_000) -> Path:
    kind = Topic(topic, "std_msgs/msg/Float64", "float64 data\n", qos_text([OfferedQos()]))
    return file_of(path, {kind: [(1_000_000_000 + spacing * i, number_of(i)) for i in values]})


def values_of(messages: list[Float64]) -> list[float]:
    return [message.data for message in messages]


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
        other.matched(publisher_of(player, topic))
    assert pause(other, False).success
    other.wait(lambda: player.state == "ended", what="the end of the recording")
    other.wait(lambda: len(heard["/joint_states"]) >= 30 and len(heard["/arm/number"]) >= 30, what="60 messages")
    assert heard == {topic: sent[topic] for topic in heard}
    late = other.collect(String, "/robot_description", qos.LATCHED)
    other.wait(lambda: late, what="the description, for a late subscriber")
    assert [message.data for message in late] == [DESCRIPTION]
    is_decoded_by_another_reader(path, sent["/joint_states"])


def is_decoded_by_another_reader(path: Path, states: list[bytes]) -> None:
    decoder = pytest.importorskip("mcap_ros2.decoder")
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[decoder.DecoderFactory()])
        header, summary = reader.get_header(), reader.get_summary()
        decoded = [(channel, message) for _, channel, _, message in reader.iter_decoded_messages()]
    assert header.profile == "ros2"
    assert summary.statistics.message_count == len(decoded) == 61
    found = [message for channel, message in decoded if channel.topic == "/joint_states"]
    for raw, one in zip(states, found, strict=True):
        true = deserialize_message(raw, JointState)
        assert (list(one.name), list(one.position)) == (true.name, list(true.position))
        assert (one.header.stamp.sec, one.header.stamp.nanosec) == (true.header.stamp.sec, true.header.stamp.nanosec)
    metadata = {channel.topic: channel.metadata for channel, _ in decoded}
    assert "reliability: 2" in metadata["/arm/number"]["offered_qos_profiles"]
    assert "durability: 1" in metadata["/robot_description"]["offered_qos_profiles"]
    assert metadata["/joint_states"]["topic_type_hash"].startswith("RIHS01_")


def test_topics_and_publishers_that_offer_less_are_recorded_when_they_appear_and_chatter_is_not(ros, tmp_path):
    node = recorder(ros, tmp_path / "run.mcap")
    publishers = []
    for count, profile in enumerate((RELIABLE, qos.SENSOR), start=1):
        publishers.append(ros.matched(ros.publisher(Float64, "/later", profile)))
        publishers[-1].publish(Float64(data=1.0))
        ros.wait(lambda n=count: node.messages >= n, what="the publisher's message")
    ros.matched(publishers[0]).publish(Float64(data=3.0))
    ros.wait(lambda: "/diagnostics" in node.topics, what="its own diagnostics")
    assert node.topics == ["/diagnostics", "/later"]
    ros.remove(node)
    assert len(on_disk(tmp_path / "run.mcap", "/later")) == 3


def test_what_comes_while_a_recorder_has_no_time_is_in_its_file_or_counted(ros, tmp_path):
    path, sent = tmp_path / "run.mcap", 2 * DEPTH
    node = recorder(ros, path, topics=["/n"])
    publisher = ros.matched(ros.publisher(Float64, "/n", QoSProfile(depth=sent)))
    publisher.publish(Float64(data=0.0))
    ros.wait(lambda: node.messages == 1, what="the first message")
    with ros.paused():
        for i in range(1, sent):
            publisher.publish(Float64(data=float(i)))
        assert publisher.wait_for_all_acked(Duration(seconds=10))
        node.close()
    assert on_disk(path, "/n") == [number_of(float(i)) for i in (0, *range(sent - DEPTH, sent))]
    assert node.lost == sent - DEPTH - 1


def test_a_full_disk_ends_the_file_properly_and_is_an_error_in_diagnostics(ros, tmp_path, monkeypatch):
    path = tmp_path / "run.mcap"
    node = recorder(ros, path, topics=["/n"])
    publisher = ros.matched(ros.publisher(Float64, "/n", RELIABLE))
    publisher.publish(Float64(data=1.0))
    ros.wait(lambda: node.messages == 1, what="a message on disk")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(100, 90, 10))
    publisher.publish(Float64(data=2.0))
    status = status_of(ros, "record_node: recording", ERROR)
    assert str(path) in status.message
    assert {value.key: value.value for value in status.values}["dropped"] == "1"
    file = TopicFile(path)
    assert not file.problem and [message.raw for message in file.messages(file.channels)] == [number_of(1.0)]
    ros.remove(node)
    assert isinstance(node.failure, RecordingError)  # the exit code of the process


@pytest.mark.smoke
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_an_interrupted_recorder_ends_its_file_and_a_killed_one_leaves_what_it_has_written(ros, tmp_path, number):
    path = tmp_path / "run.mcap"
    options = ("-p", f"path:={path}", "-p", "topics:=[/n]")
    process = ros.start(sys.executable, "-m", "ada_tools.nodes.record_node", "--ros-args", *options)
    publisher = ros.matched(ros.publisher(Float64, "/n", RELIABLE))
    publisher.publish(Float64(data=1.0))
    ros.wait(lambda: path.stat().st_size > 500, what="a chunk on disk")
    process.signal(number)
    assert process.wait() == (0 if number == signal.SIGINT else -number), process.output
    assert on_disk(path, "/n") == [number_of(1.0)]
    assert bool(TopicFile(path).problem) == (number == signal.SIGKILL)


def test_pause_stops_and_goes_on_and_a_loop_begins_again_at_the_end(ros, tmp_path):
    node, heard = paused(ros, numbers(tmp_path / "n.mcap", range(20), spacing=20_000_000), loop=True)
    assert node.state == "paused" and not node.played
    answer = pause(ros, False)
    assert answer.success and "playing" in answer.message
    ros.wait(lambda: len(heard) > 3, what="some messages")
    answer = pause(ros, True)
    assert answer.success and "paused at" in answer.message
    stopped = node.played
    ros.wait(lambda: len(heard) == stopped, what="what was under way")
    assert pause(ros, False).success
    ros.wait(lambda: len(heard) > 25, what="messages from the beginning")
    assert values_of(heard)[:22] == [*map(float, range(20)), 0.0, 1.0]


@pytest.mark.parametrize("rate", [0.5, 4.0])
def test_messages_are_played_in_order_when_they_are_due_and_each_behind_its_time(ros, tmp_path, rate):
    clock = ManualClock(5.0)
    heard = ros.collect(Float64, "/n", RELIABLE)
    overrides = parameters(path=str(numbers(tmp_path / "n.mcap", range(20), spacing=2_000_000)), rate=rate)
    node = ros.add(ReplayNode(clock=clock, context=ros.context, parameter_overrides=overrides))
    for count in (1, 4, 20):
        clock.advance(5.0 + 2e-3 * (count - 1) / rate - clock.now() + 1e-5)
        ros.wait(lambda count=count: node.played >= count, what=f"{count} messages")
        assert node.played == count, "none before its time"
    ros.wait(lambda: node.state == "ended", what="the end")
    assert not pause(ros, True).success
    assert node.position == 1_000_000_000 + 19 * 2_000_000 and len(heard) <= 20


def test_a_simulation_that_was_recorded_is_played_into_joint_states(ros, tmp_path):
    path = tmp_path / "fall.mcap"
    simulation = ada.Simulation(ada.load("pa10"), step=1e-3)
    log = simulation.run(0.3, record=path)
    node, heard = paused(ros, path, "/joint_states", JointState, rate=0.0)
    assert pause(ros, False).success
    ros.wait(lambda: node.state == "ended", what="the end")
    ros.wait(lambda: len(heard) >= 30, what="30 joint states")
    for message in heard:
        i = int(np.argmin(abs(log.t - (message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec))))
        assert list(message.position) == log.q[i].tolist()
    late = ros.collect(String, "/robot_description", qos.LATCHED)
    ros.wait(lambda: late, what="the description")
    assert "<robot" in late[0].data


def test_topics_that_cannot_be_played_are_named_and_the_others_are_played(ros, tmp_path):
    path = file_of(
        tmp_path / "mixed.mcap",
        {
            Topic("/n", "std_msgs/msg/Float64", "float64 data\n"): [(1, number_of(1.0)), (2, b"\x00\x01")],
            Topic("/alien", "no_such_msgs/msg/Thing"): [(1, b"\x00\x01\x00\x00")],
            Topic("/changed", "std_msgs/msg/String", "string data\nint32 more\n"): [(1, b"\x00\x01\x00\x00")],
            Topic("/odd", "not a type"): [(1, b"\x00\x01\x00\x00")],
            Topic("/bad name", "std_msgs/msg/Float64"): [(1, number_of(1.0))],
        },
    )
    node = replayer(ros, path)
    ros.wait(lambda: node.state == "ended", what="the end")
    values = {value.key: value.value for value in status_of(ros, "replay_node: replay", WARN).values}
    assert "not installed" in values["not played: /alien"]
    assert "differs from the installed one" in values["not played: /changed"]
    assert "not a message type" in values["not played: /odd"]
    assert "rejected by ROS 2" in values["not played: /bad name"]
    assert values["messages without a header"] == "1"


def test_what_is_before_the_missing_end_of_a_recording_is_played_and_reported_and_another_publisher_too(ros, tmp_path):
    path = tmp_path / "n.mcap"
    writer = TopicWriter(path)
    for i in range(50):
        writer.add(Topic("/n", "std_msgs/msg/Float64"), i, i, number_of(i))
    writer.flush()  # and no end, as of a recorder that was killed
    _, heard = paused(ros, path)
    assert pause(ros, False).success
    ros.wait(lambda: len(heard) == 50, what="50 messages")
    assert values_of(heard) == [float(i) for i in range(50)]
    assert "no end" in status_of(ros, "replay_node: replay", WARN).message
    ros.publisher(Float64, "/n")
    ros.wait(lambda: "other nodes publish /n" in status_of(ros, "replay_node: replay", WARN).message, what="the report")


def test_a_replay_that_is_to_end_at_the_end_ends_with_exit_code_zero_and_all_messages_sent(ros, tmp_path):
    path, heard = numbers(tmp_path / "n.mcap", range(60)), ros.collect(Float64, "/n", RELIABLE)
    words = (f"path:={path}", "start_paused:=true", "exit_at_end:=true")
    options = [option for word in words for option in ("-p", word)]
    process = ros.start(sys.executable, "-m", "ada_tools.nodes.replay_node", "--ros-args", *options)
    ros.wait(lambda: ros.tester.count_publishers("/n"), what="the replay")
    ros.call(SetBool, "/replay_node/pause", SetBool.Request(data=False))
    assert process.wait() == 0, process.output
    ros.wait(lambda: len(heard) == 60, what="60 messages")
