# SPDX-License-Identifier: Apache-2.0
"""Diagnostics as a real subscriber gets them."""

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytestmark = pytest.mark.ros

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
