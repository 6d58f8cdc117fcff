# SPDX-License-Identifier: Apache-2.0
"""Diagnostics as a real subscriber gets them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytestmark = pytest.mark.ros

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

from ada_dynamics.errors import InputError  # noqa: E402
from ada_robot.ros import diagnostics as diagnostics_module  # noqa: E402
from ada_robot.ros.diagnostics import Diagnostics, Level, Status  # noqa: E402


def test_a_report_arrives_with_name_hardware_level_message_and_values(ros):
    node = ros.node("robot_node")
    values = {"periods": 12, "late p99 [ms]": 0.123456789, "is paused": False, "array": np.float64(2.0), "since": None}
    diagnostics = Diagnostics(node, "pa10")
    diagnostics.add("physics", lambda: Status(Level.WARN, "3 periods missed", values))
    arrays = ros.collect(DiagnosticArray, "/diagnostics")
    ros.wait(lambda: arrays, what="diagnostics")
    (status,) = arrays[0].status
    assert status.level == DiagnosticStatus.WARN
    assert (status.name, status.hardware_id, status.message) == ("robot_node: physics", "pa10", "3 periods missed")
    assert {pair.key: pair.value for pair in status.values} == {
        "periods": "12",
        "late p99 [ms]": "0.123457",
        "is paused": "false",
        "array": "2",
        "since": "",
    }
    assert diagnostics.level is Level.WARN


def test_the_topic_is_global_whatever_the_namespace_which_the_name_of_a_report_tells(ros):
    for namespace in ("/left", "/cell/right"):
        Diagnostics(ros.node("robot_node", namespace=namespace), "pa10").add("physics", lambda: Status(Level.OK, ""))
    arrays = ros.collect(DiagnosticArray, "/diagnostics")
    names = {"left/robot_node: physics", "cell/right/robot_node: physics"}
    ros.wait(lambda: {status.name for array in arrays for status in array.status} == names, what="both")


def test_levels_are_those_of_ros():
    assert [bytes([level]) for level in Level] == [
        DiagnosticStatus.OK,
        DiagnosticStatus.WARN,
        DiagnosticStatus.ERROR,
        DiagnosticStatus.STALE,
    ]


@pytest.mark.parametrize("broken", ["raises", "returns nonsense", "has a level that is none"])
def test_a_source_that_fails_is_an_error_and_silences_no_other(ros, broken):
    def source():
        if broken == "raises":
            raise ZeroDivisionError("no period yet")
        return Status(9, "what?") if broken == "has a level that is none" else None

    node = ros.node("robot_node")
    diagnostics = Diagnostics(node, "pa10")
    diagnostics.add("broken", source)
    diagnostics.add("whole", lambda: Status(Level.OK, "fine"))
    arrays = ros.collect(DiagnosticArray, "/diagnostics")
    ros.wait(lambda: len(arrays) > 1, what="two reports")
    broken_one, whole = arrays[-1].status
    assert broken_one.level == DiagnosticStatus.ERROR
    assert broken_one.message.startswith("this report failed: ")
    if broken == "raises":
        assert "ZeroDivisionError: no period yet" in broken_one.message
    assert (whole.level, whole.message) == (DiagnosticStatus.OK, "fine")
    assert diagnostics.level is Level.ERROR


def test_reports_go_on_while_simulated_time_stands_still(ros):
    node = ros.node("robot_node", parameter_overrides=[Parameter("use_sim_time", value=True)])
    diagnostics = Diagnostics(node, "pa10")
    assert diagnostics.level is Level.STALE
    arrays = ros.collect(DiagnosticArray, "/diagnostics")
    ros.wait(lambda: len(arrays) > 2, what="three reports without a clock")
    assert diagnostics.level is Level.OK


def test_a_report_can_be_sent_at_once_and_none_comes_after_the_end(ros, monkeypatch):
    node = ros.node("robot_node")
    monkeypatch.setattr(diagnostics_module, "PERIOD", 3600.0)
    diagnostics = Diagnostics(node, "pa10")
    arrays = ros.collect(DiagnosticArray, "/diagnostics")
    ros.wait(lambda: node.count_subscribers("/diagnostics"), what="the subscriber")
    ros.wait(lambda: diagnostics.publish() or arrays, what="a report that was asked for")
    diagnostics.close()
    ros.wait(lambda: not node.count_publishers("/diagnostics"), what="the end of the publisher")


def test_a_name_is_taken_once(ros):
    diagnostics = Diagnostics(ros.node("robot_node"), "pa10")
    diagnostics.add("physics", lambda: Status(Level.OK, ""))
    with pytest.raises(InputError, match="robot_node have a source 'physics' already"):
        diagnostics.add("physics", lambda: Status(Level.OK, ""))


def test_a_part_that_is_gone_is_reported_no_more_and_its_name_is_free(ros):
    diagnostics = Diagnostics(ros.node("robot_node"), "pa10")
    arrays = ros.collect(DiagnosticArray, "/diagnostics")
    for _ in range(2):
        diagnostics.add("arm", lambda: Status(Level.OK, ""))
        ros.wait(lambda: arrays and len(arrays[-1].status) == 1, what="a report with it")
        diagnostics.remove("arm")
        ros.wait(lambda: not arrays[-1].status, what="a report without it")
    diagnostics.remove("arm")
