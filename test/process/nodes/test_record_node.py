# SPDX-License-Identifier: Apache-2.0
"""record_node over DDS: what was sent is on disk, byte for byte."""

import shutil
import signal
import struct
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("mcap")

from diagnostic_msgs.msg import DiagnosticArray
from mcap.reader import make_reader
from mcap_messages import raw_messages, recording
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from ros_world import RosWorld
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String

from ada_dynamics.errors import RecordingError
from ada_robot.ros import qos
from ada_tools.nodes.record_node import DEPTH, RecordNode

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


def number_of(i: float) -> bytes:
    return b"\x00\x01\x00\x00" + struct.pack("<d", i)


def test_what_was_sent_is_recorded_bit_for_bit_and_decoded_by_another_reader(ros, tmp_path):
    path = tmp_path / "run.mcap"
    sent = recorded_run(ros, path)
    for topic, messages in sent.items():
        assert raw_messages(path, topic) == messages, topic
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
    assert len(raw_messages(tmp_path / "run.mcap", "/later")) == 3


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
    assert raw_messages(path, "/n") == [number_of(float(i)) for i in (0, *range(sent - DEPTH, sent))]
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
    assert recording(path).is_whole and raw_messages(path, "/n") == [number_of(1.0)]
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
    assert raw_messages(path, "/n") == [number_of(1.0)]
    assert recording(path).is_whole == (number == signal.SIGINT)
