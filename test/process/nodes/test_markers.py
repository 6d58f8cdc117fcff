# SPDX-License-Identifier: Apache-2.0
"""Marks as messages for RViz, and read from them."""

import numpy as np
import pytest

pytest.importorskip("rclpy")
from rclpy.serialization import deserialize_message, serialize_message
from standing_box import EACH, FRAMES, box, standing
from visualization_msgs.msg import Marker, MarkerArray

from ada_dynamics.drawing.marks import Mark, MarkKind, MarkStore
from ada_robot.messages.markers import MarkerMessages, read_markers
from ada_robot.messages.marks import Marks

__all__ = ["box"]
pytestmark = pytest.mark.ros
UP = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def test_markers_are_in_the_worlds_frame_and_fade(box):
    message = MarkerMessages("odom", 0.25).message(
        Marks(*box, contact_frames=FRAMES).at(standing(box[0], EACH)), 3_000_000_004
    )
    assert len(deserialize_message(serialize_message(message), MarkerArray).markers) == len(message.markers)
    kinds = {"contact": Marker.ARROW, "com": Marker.SPHERE, "zmp": Marker.SPHERE, "support": Marker.LINE_STRIP}
    assert {marker.ns for marker in message.markers} == set(kinds)
    for marker in message.markers:
        assert marker.header.frame_id == "odom"
        assert (marker.header.stamp.sec, marker.header.stamp.nanosec) == (3, 4)
        assert (marker.lifetime.sec, marker.lifetime.nanosec) == (0, 250_000_000)
        assert (marker.action, marker.type) == (Marker.ADD, kinds[marker.ns])
        assert marker.pose.orientation.w == 1.0
        assert marker.color.a == 1.0
        assert marker.scale.x > 0.0
        assert len(marker.points) == {"contact": 2, "support": 5}.get(marker.ns, 0)


def test_a_lifted_foot_is_deleted_once_and_comes_back_as_the_same_marker(box):
    marks, messages = Marks(*box, contact_frames=FRAMES), MarkerMessages("odom", 0.5)

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
