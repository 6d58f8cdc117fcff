# SPDX-License-Identifier: Apache-2.0
"""Quality of service, messages that are fetched with their senders, and diagnostics as a real subscriber gets them."""

import numpy as np
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

from ada_robot.ros.inbox import GID, Inbox  # noqa: E402
from ada_robot.ros.qos import CLOCK, COMMANDS, LATCHED, SENSOR, STATES  # noqa: E402

BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)  # of ROS 2's own clocks


def is_compatible(publisher, subscriber):
    # a warning is about policies that are left to the middleware, as almost everybody leaves some
    return qos_check_compatible(publisher, subscriber)[0] != QoSCompatibility.ERROR


def test_our_publishers_reach_strict_and_lenient_subscribers_and_sensor_subscriptions_take_from_everybody():
    foreign = [QoSProfile(depth=10), qos_profile_sensor_data, BEST_EFFORT]
    for publisher in (STATES, COMMANDS, CLOCK, LATCHED):
        assert all(is_compatible(publisher, subscriber) for subscriber in (*foreign, SENSOR))
    assert all(is_compatible(publisher, SENSOR) for publisher in foreign)
    assert not is_compatible(SENSOR, STATES) and not is_compatible(STATES, LATCHED)


def test_an_inbox_tells_of_a_publisher_that_nothing_can_come_from(ros, capfd):
    Inbox(ros.tester, String, "commands", QoSProfile(depth=20, reliability=COMMANDS.reliability))
    ros.node("careless").create_publisher(String, "commands", BEST_EFFORT)
    said = []

    def is_told():
        said.append(capfd.readouterr().err)
        return "incompatible QoS" in "".join(said)

    ros.wait(is_told, what="a word in the log")
    assert "'commands'" in "".join(said) and "RELIABILITY" in "".join(said)


def test_messages_come_with_their_senders_and_bytes_that_are_no_message_are_left_out(ros):
    inbox = Inbox(ros.tester, String, "commands", QoSProfile(depth=20), senders=True)
    others = {name: ros.node(name) for name in ("one", "two")}
    publishers = {name: ros.matched(node.create_publisher(String, "commands", 20)) for name, node in others.items()}
    ros.wait(lambda: inbox.publishers == 2, what="both")
    who = {bytes(one.endpoint_gid)[:GID]: one.node_name for one in ros.tester.get_publishers_info_by_topic("commands")}
    assert set(who.values()) == set(others)
    found = []

    def fetched(count):
        ros.wait(lambda: found.extend(inbox.fetch_sent()) or len(found) >= count, what="the message")

    for count, text in enumerate(("one", "two", "two", "one" * 20_000), start=1):
        publishers[text[:3]].publish(String(data=text))
        fetched(count)
    assert [len(message.data) for message, _ in found] == [3, 3, 3, 60_000]
    assert [who[sender] for _, sender in found] == [message.data[:3] for message, _ in found]
    for raw in (b"\x00\x01\x00\x00\xff\xff\xff\xff", serialize_message(String(data="good"))):
        publishers["one"].publish(raw)
    fetched(5)
    assert [message.data for message, _ in found[4:]] == ["good"]
    with ros.paused():
        inbox.close()
    assert inbox.fetch_sent() == [] and inbox.publishers == 0


pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from ada_robot.ros.diagnostics import Diagnostics, Level, Status  # noqa: E402


def raises():
    raise ZeroDivisionError("no period yet")


def test_reports_arrive_with_all_that_they_say_and_a_source_that_fails_is_an_error_and_silences_no_other(ros):
    assert [bytes([level]) for level in Level] == [
        DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR, DiagnosticStatus.STALE
    ]  # fmt: skip
    node = ros.node("robot_node", namespace="/cell/right", parameter_overrides=[Parameter("use_sim_time", value=True)])
    diagnostics = Diagnostics(node, "pa10")
    values = {"periods": 12, "late p99 [ms]": 0.123456789, "is paused": False, "array": np.float64(2.0), "since": None}
    diagnostics.add("physics", lambda: Status(Level.WARN, "3 periods missed", values))
    for name, broken in (("a", raises), ("b", lambda: None), ("c", lambda: Status(9, "what?"))):
        diagnostics.add(name, broken)
    arrays = ros.collect(DiagnosticArray, "/diagnostics")
    ros.wait(lambda: len(arrays) > 1, what="two reports while simulated time stands still")
    status, *failed = arrays[0].status
    assert status.level == DiagnosticStatus.WARN
    # in the namespace of the node, on a topic that is global
    assert (status.name, status.hardware_id, status.message) == (
        "cell/right/robot_node: physics",
        "pa10",
        "3 periods missed",
    )
    assert {pair.key: pair.value for pair in status.values} == {
        "periods": "12",
        "late p99 [ms]": "0.123457",
        "is paused": "false",
        "array": "2",
        "since": "",
    }
    assert [one.level for one in failed] == [DiagnosticStatus.ERROR] * 3
    assert "ZeroDivisionError: no period yet" in failed[0].message
