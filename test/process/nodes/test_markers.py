# SPDX-License-Identifier: Apache-2.0
"""Marks as messages for RViz, and read from them."""

import numpy as np
import pytest

pytest.importorskip("rclpy")
from standing_box import EACH, FRAMES, box, standing
from visualization_msgs.msg import Marker, MarkerArray

from ada_dynamics.drawing.marks import Mark, MarkKind, MarkStore
from ada_robot.messages.markers import MarkerMessages, read_markers
from ada_robot.messages.marks import Marks

__all__ = ["box"]
pytestmark = pytest.mark.ros
UP = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def test_a_lifted_foot_is_deleted_once_and_comes_back_as_the_same_marker(box):
    marks, messages = Marks(box[1], contact_frames=FRAMES), MarkerMessages("odom", 0.5)

    def actions(forces):
        found = messages.message(marks.at(standing(box[0], forces)), 0).markers
        assert len({(marker.ns, marker.id) for marker in found}) == len(found)
        return {(marker.ns, marker.id): marker.action for marker in found}

    assert actions(EACH)["contact", 1] == Marker.ADD
    lifted = {**EACH, "b": 0.0}
    assert actions(lifted)["contact", 1] == Marker.DELETE
    assert ("contact", 1) not in actions(lifted)
    assert actions(EACH)["contact", 1] == Marker.ADD
    in_the_air = actions({})
    assert {key for key, action in in_the_air.items() if action == Marker.DELETE} == {
        *(("contact", i) for i in range(4)), ("zmp", 0), ("support", 0)
    }  # fmt: skip
    assert in_the_air["com", 0] == Marker.ADD


def test_a_marker_is_read_as_it_was_written():
    marks = [
        Mark("contact", 3, MarkKind.ARROW, np.array(UP), (0.125, 0.25, 0.5), (1.0, 0.5, 0.0, 1.0)),
        Mark("zmp", 0, MarkKind.SPHERE, np.array([[1.0, 2.0, 3.0]]), (0.5,), (0.0, 0.0, 1.0, 0.5)),
        Mark("support", 0, MarkKind.LINE, np.array([*UP, UP[0]]), (0.25,), (0.5, 0.0, 0.0, 1.0)),
    ]
    message = MarkerMessages("odom", 0.25).message(marks, 0)
    kept, problems = MarkStore(), []
    read_markers(message, kept, 10.0, ("odom",), problems.append)
    assert problems == []
    for mark, read in zip(marks, kept.present(10.25), strict=True):
        assert read._replace(points=None) == mark._replace(points=None)
        np.testing.assert_array_equal(read.points, mark.points)
    assert kept.present(10.26) == []
    turned = message.markers[0]  # a quarter turn about x, and a metre along it
    turned.pose.orientation.x = turned.pose.orientation.w = 1.0
    turned.pose.position.x = 1.0
    read_markers(MarkerArray(markers=[turned]), kept, 20.0, ("odom",), problems.append)
    np.testing.assert_allclose(kept.present(20.0)[0].points, [[1, 0, 0], [1, -1, 0]], atol=1e-15)
