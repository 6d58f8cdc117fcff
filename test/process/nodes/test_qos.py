# SPDX-License-Identifier: Apache-2.0
"""Quality of service: who can listen to whom."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy")
pytestmark = pytest.mark.ros

from rclpy.qos import (  # noqa: E402
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
    qos_profile_sensor_data,
)
from rclpy.serialization import serialize_message  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from ada_dynamics.errors import InputError  # noqa: E402
from ada_robot.ros import senders  # noqa: E402
from ada_robot.ros.decoding import decoded  # noqa: E402
from ada_robot.ros.inbox import Inbox  # noqa: E402
from ada_robot.ros.qos import CLOCK, COMMANDS, LATCHED, SENSOR, STATES  # noqa: E402
from ada_robot.ros.senders import GID  # noqa: E402

BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)  # of ROS 2's own clocks


def is_compatible(publisher, subscriber):
    # a warning is about policies that are left to the middleware, as almost everybody leaves some
    return qos_check_compatible(publisher, subscriber)[0] != QoSCompatibility.ERROR


@pytest.mark.parametrize("publisher", [STATES, COMMANDS, CLOCK, LATCHED])
@pytest.mark.parametrize("subscriber", [QoSProfile(depth=10), qos_profile_sensor_data, BEST_EFFORT, SENSOR])
def test_what_we_publish_reaches_strict_and_lenient_subscribers(publisher, subscriber):
    assert is_compatible(publisher, subscriber)


@pytest.mark.parametrize("publisher", [QoSProfile(depth=10), qos_profile_sensor_data, BEST_EFFORT])
def test_subscriptions_with_sensor_take_from_everybody(publisher):
    assert is_compatible(publisher, SENSOR)


def test_an_inbox_tells_of_a_publisher_that_nothing_can_come_from(ros, capfd):
    """It wakes no executor for messages; what the middleware tells of publishers is logged all the same."""
    Inbox(ros.tester, String, "commands", QoSProfile(depth=20, reliability=COMMANDS.reliability))
    ros.node("careless").create_publisher(String, "commands", BEST_EFFORT)
    said = []

    def is_told():
        said.append(capfd.readouterr().err)
        return "incompatible QoS" in "".join(said)

    ros.wait(is_told, what="a word in the log")
    assert "'commands'" in "".join(said) and "RELIABILITY" in "".join(said)


def test_messages_come_with_who_sent_them(ros):
    inbox = Inbox(ros.tester, String, "commands", QoSProfile(depth=20), senders=True)
    others = {name: ros.node(name) for name in ("one", "two")}
    publishers = {name: ros.matched(node.create_publisher(String, "commands", 1)) for name, node in others.items()}
    ros.wait(lambda: inbox.publishers == 2, what="both")
    who = {bytes(one.endpoint_gid)[:GID]: one.node_name for one in ros.tester.get_publishers_info_by_topic("commands")}
    assert set(who.values()) == set(others)
    found = []
    for text in ("one", "two", "two", "one" * 20_000):
        publishers[text[:3]].publish(String(data=text))
        count = len(found)
        ros.wait(lambda n=count: found.extend(inbox.fetch_sent()) or len(found) > n, what="the message")
    assert [len(one.message.data) for one in found] == [3, 3, 3, 60_000]
    assert [who[one.sender] for one in found] == [one.message.data[:3] for one in found]
    with ros.paused():
        inbox.close()
    assert inbox.fetch_sent() == [] and inbox.publishers == 0


def test_where_the_library_does_not_tell_messages_come_without_their_sender(ros, monkeypatch):
    monkeypatch.setattr(senders, "_library", lambda: None)
    inbox = Inbox(ros.tester, String, "commands", QoSProfile(depth=20), senders=True)
    ros.matched(ros.publisher(String, "commands", 1)).publish(String(data="x"))
    found = []
    ros.wait(lambda: found.extend(inbox.fetch_sent()) or found, what="the message")
    assert found[0].message.data == "x" and found[0].sender is None


def test_a_late_subscriber_gets_the_last_latched_message(ros):
    ros.publisher(String, "robot_description", LATCHED).publish(String(data="<robot/>"))
    got = ros.collect(String, "robot_description", LATCHED)
    ros.wait(lambda: got, what="the description")
    assert [message.data for message in got] == ["<robot/>"]


def test_one_that_asks_for_more_than_is_offered_gets_nothing():
    assert not is_compatible(SENSOR, STATES)
    assert not is_compatible(STATES, LATCHED)


def test_bytes_that_are_no_message_are_left_out_and_the_next_one_comes(ros):
    inbox = Inbox(ros.tester, String, "commands", QoSProfile(depth=20), senders=True)
    publisher = ros.node("one").create_publisher(String, "commands", QoSProfile(depth=20))
    ros.wait(lambda: inbox.publishers == 1, what="the publisher")
    for raw in (b"\x00\x01\x00\x00\xff\xff\xff\xff", serialize_message(String(data="good"))):
        publisher.publish(raw)
    found = []
    ros.wait(lambda: found.extend(inbox.fetch_sent()) or found, what="the message")
    assert [one.message.data for one in found] == ["good"]


def test_bytes_that_are_no_message_are_refused_by_name():
    with pytest.raises(InputError, match="1 bytes are no std_msgs/String"):
        decoded(b"\x00", String)
