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
from std_msgs.msg import String  # noqa: E402

from ada_dynamics.nodes.kit.qos import CLOCK, COMMANDS, LATCHED, SENSOR, STATES  # noqa: E402

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


def test_a_late_subscriber_gets_the_last_latched_message(ros):
    ros.publisher(String, "robot_description", LATCHED).publish(String(data="<robot/>"))
    got = ros.collect(String, "robot_description", LATCHED)
    ros.wait(lambda: got, what="the description")
    assert [message.data for message in got] == ["<robot/>"]


def test_one_that_asks_for_more_than_is_offered_gets_nothing():
    assert not is_compatible(SENSOR, STATES)
    assert not is_compatible(STATES, LATCHED)
