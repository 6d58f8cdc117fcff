# SPDX-License-Identifier: Apache-2.0
"""The oracle node on real topics: it finds its robot, compares, says what is wrong, and can come and go."""

import sys

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("pinocchio")
from diagnostic_msgs.msg import DiagnosticArray
from loop_robots import driven_state
from rcl_interfaces.msg import Log
from rclpy.logging import LoggingSeverity
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from standing_box import Row
from std_msgs.msg import Float64MultiArray, String

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_robot.messages.outgoing import StateMessages
from ada_robot.ros import qos
from ada_tools.nodes.oracle import ROWS
from ada_tools.nodes.oracle_node import OracleNode

pytestmark = pytest.mark.ros

OK, WARN, ERROR, STALE = (bytes([i]) for i in range(4))


class Robot:
    """Publishes what a dynamics node does, one state at a time."""

    def __init__(self, ros, name, description=None):
        self.ros, self.model = ros, ada.load(name, base="fixed")
        dynamics, *numbers = driven_state(self.model, 1)
        self.row = Row(0.0, *numbers)
        self.messages = StateMessages(dynamics)
        self._description = ros.publisher(String, "robot_description", qos.LATCHED)
        self._joints = ros.publisher(JointState, "joint_states", qos.STATES)
        self.describe(self.model.source if description is None else description)

    def describe(self, text):
        self._description.publish(String(data=text))

    def publish(self, row=None, joints=None):
        self._joints.publish(joints or self.messages.joint_state(row or self.row, 1))

    def until(self, condition, what, **options):
        """Publish again and again until something happens."""

        def publish_and_look():
            self.publish(**options)
            return condition()

        return self.ros.wait(publish_and_look, what=what)


def started(ros, **parameters):
    arrays = ros.collect(DiagnosticArray, "/diagnostics")
    differences = ros.collect(Float64MultiArray, "oracle_node/differences", qos.STATES)
    return ros.make(OracleNode, {"rate": 100.0, **parameters}), arrays, differences


def last(arrays):
    return arrays[-1].status[0] if arrays else None


def report(arrays, level):
    newest = last(arrays)
    return newest if newest is not None and newest.level == level else None


def assert_agreement(found, nv):
    rows, joints = found.layout.dim
    assert (rows.size, rows.stride, rows.label) == (6, 6 * nv, ",".join(ROWS))
    assert (joints.size, joints.stride, len(joints.label.split(","))) == (nv, nv, nv)
    ours, theirs, difference, *efforts = np.reshape(found.data, (6, nv))
    for mine, other, rest in ((ours, theirs, difference), efforts):
        assert mine == pytest.approx(other, abs=1e-8, rel=1e-8)
        assert np.array_equal(rest, mine - other)
        assert np.max(np.abs(mine)) > 1e-3


def test_the_oracle_confirms_our_dynamics_on_the_topics_of_one_robot_after_another(ros):
    node, arrays, differences = started(ros)
    for name in ("pa10", "four_bar", "five_bar", "khr1"):
        robot = Robot(ros, name)
        nv = robot.model.nv
        found = robot.until(
            lambda n=nv: differences and differences[-1].layout.dim[1].size == n and differences[-1], name
        )
        assert_agreement(found, nv)
        status = robot.until(lambda: report(arrays, OK), "a good report")
        values = {pair.key: pair.value for pair in status.values}
    assert status.name == "oracle_node: comparison with pinocchio"
    assert int(values["compared"]) > 0
    assert values["over tolerance"] == "0"  # messages between two robots may be refused
    assert float(values["accelerations: largest difference"]) < 1e-8 * float(values["accelerations: largest number"])
    robot = Robot(ros, "four_bar")
    row = robot.row._replace(q=robot.row.q + np.array([0.0, 0.01, 0.0]))

    def is_open():
        found = report(arrays, WARN)
        return found and "closure error of the loops" in found.message

    robot.until(is_open, "a warning", row=row)
    assert np.isnan(differences[-1].data).all()
    good, bad = node.set_parameters([Parameter("rate", value=20.0), Parameter("rate", value=-1.0)])
    assert good.successful and not bad.successful and "rate" in bad.reason


def test_bad_descriptions_bad_states_and_silence_are_reported(ros):
    robot = Robot(ros, "planar_3r", description="<robot name='broken'><link")
    _, arrays, differences = started(ros, stale_after=1.0, description_timeout=0.0)
    robot.until(lambda: report(arrays, ERROR), "an error")
    robot.describe("/etc/passwd")
    robot.until(lambda: (found := report(arrays, ERROR)) and "must be URDF text" in found.message, "a refusal")
    robot.describe(robot.model.source)
    bad = JointState(name=["joint_1"], position=[1.0], velocity=[0.0])
    robot.until(lambda: (found := report(arrays, WARN)) and "missing joints" in found.message, "a warning", joints=bad)
    assert not differences
    robot.until(lambda: differences, "a comparison")
    assert_agreement(differences[-1], 3)
    robot.until(lambda: report(arrays, OK), "a good report")
    ros.wait(lambda: (found := report(arrays, STALE)) and "no states for" in found.message, what="silence to be seen")


def test_without_pinocchio_the_report_and_the_log_say_at_once_and_once_that_nothing_is_compared(ros, monkeypatch):
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    logged = ros.collect(Log, "/rosout")
    _, arrays, differences = started(ros)

    def words():
        return [one.msg for one in logged if one.name == "oracle_node" and one.level >= LoggingSeverity.ERROR]

    ros.wait(words, what="an error in the log, without any robot")
    status = Robot(ros, "planar_3r").until(lambda: report(arrays, ERROR), "an error")
    assert "pip install" in status.message and "[oracle]" in status.message
    count = len(arrays)
    ros.wait(lambda: len(arrays) > count + 1, what="further reports")
    assert len(words()) == 1 and not differences


def test_a_description_that_never_comes_ends_the_node_with_the_fix(ros):
    node, _, _ = started(ros, description_timeout=0.05)
    failure = ros.wait(lambda: node.failure, what="the end of its patience")
    assert isinstance(failure, InputError) and "description_timeout:=" in str(failure)
