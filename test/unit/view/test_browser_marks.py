# SPDX-License-Identifier: Apache-2.0
"""Marks beside a robot on the page: what is drawn, when it fades, which boxes there are, when they are wanted."""

import numpy as np
import pytest
from page_world import RobotNode
from viser_stand_in import SOMEBODY

from ada_dynamics.drawing.marks import Mark, MarkKind, MarkStore
from ada_tools.browser.marks_layer import MarksLayer, MarksPanel

ARROWS, BALLS, LINES = "arrows", "batched_meshes_simple", "line_segments"
ORANGE, VIOLET = (1.0, 0.5, 0.0, 1.0), (0.5, 0.2, 0.7, 1.0)


def arrow(number, height, space="contact", colour=ORANGE):
    points = np.array([[number, 0.0, 0.0], [number, 0.0, height]])
    return Mark(space, number, MarkKind.ARROW, points, (0.02, 0.05, 0.1), colour)


def ball(number, x, space="zmp"):
    return Mark(space, number, MarkKind.SPHERE, np.array([[x, 0.0, 0.0]]), (0.2,), VIOLET)


def ring(side, space="support"):
    points = side * np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0.0]])
    return Mark(space, 0, MarkKind.LINE, points, (0.01,), VIOLET)


@pytest.fixture
def layer(page):
    return MarksLayer(page.server)


def nodes(page):
    return {node.kind: node for node in page.scene.below("/marks")}


def test_a_mark_that_is_not_renewed_fades_and_one_that_is_deleted_is_gone_at_once():
    kept = MarkStore()
    kept.put(arrow(0, 1.0), 1.0)
    kept.put(arrow(1, 1.0), 2.0)
    kept.put(ball(0, 0.0), np.inf)
    assert len(kept.present(1.0)) == 3
    assert [m.number for m in kept.present(1.5)] == [1, 0]
    kept.put(arrow(1, 9.0), 3.0)
    assert [m.points[1, 2] for m in kept.present(2.5) if m.space == "contact"] == [9.0]
    kept.drop("contact", 1)
    kept.drop("contact", 7)  # never there
    assert [m.space for m in kept.present(1e9)] == ["zmp"]
    kept.clear()
    assert kept.present(0.0) == []


def test_marks_are_drawn_where_they_are_with_their_sizes_and_colours(page, layer):
    layer.show([arrow(0, 1.0), arrow(1, 2.0), ball(0, 3.0), ring(2.0)])
    found = nodes(page)
    arrows, balls, line = (found[kind] for kind in (ARROWS, BALLS, LINES))
    np.testing.assert_array_equal(arrows.points, [[[0, 0, 0], [0, 0, 1]], [[1, 0, 0], [1, 0, 2]]])
    np.testing.assert_array_equal(arrows.colors, [255, 128, 0])
    assert (arrows.shaft_radius, arrows.head_radius, arrows.head_length) == (0.01, 0.025, 0.1)
    np.testing.assert_array_equal(balls.batched_positions, [[3, 0, 0]])
    np.testing.assert_allclose(balls.batched_scales, [[0.1, 0.1, 0.1]])
    expected = [[[0, 0, 0], [2, 0, 0]], [[2, 0, 0], [2, 2, 0]], [[2, 2, 0], [0, 0, 0]]]
    np.testing.assert_array_equal(line.points, expected)
    assert line.thickness == 0.01


def test_what_moves_or_grows_in_number_is_the_same_node_and_what_stays_costs_nothing(page, layer):
    first = [*(arrow(i, 1.0) for i in range(16)), ball(0, 0.0), ring(1.0)]
    layer.show(first)
    before, sent = nodes(page), page.server.changes
    sent.clear()
    layer.show(first)
    assert sent == []
    layer.show([*(arrow(i, 2.0) for i in range(20)), ball(0, 1.0), ring(2.0)])
    assert nodes(page) == before
    assert len(sent) == 3  # one message for each look
    assert len(before[ARROWS].points) == 20


def test_each_space_that_is_seen_has_a_box_and_forces_of_joints_are_off_at_first(page):
    plant = RobotNode()
    panel = MarksPanel(page, plant)
    panel.tick()
    folder = page.gui.named("forces and balance")
    assert (panel.boxes, folder.visible) == ({}, False)
    plant.seen_marks = [
        arrow(0, 1.0),
        arrow(0, 1.0, "joint_force"),
        ball(0, 0.0),
        ball(1, 0.0, "com"),
        ball(2, 0, "mine"),
    ]
    panel.tick()
    assert folder.visible
    ticked = {space: box.value for space, box in panel.boxes.items()}
    assert ticked == {"contact": True, "joint_force": False, "zmp": True, "mine": True}  # the scene has its own com
    assert len(nodes(page)[ARROWS].points) == 1
    panel.boxes["joint_force"].set(True)
    panel.tick()
    assert len(nodes(page)[ARROWS].points) == 2
    panel.boxes["contact"].set(False)
    panel.boxes["joint_force"].set(False)
    panel.tick()
    assert ARROWS not in nodes(page)


def test_marks_are_asked_for_while_somebody_looks_and_wants_any(page):
    plant = RobotNode()
    plant.seen_marks = [arrow(0, 1.0)]
    page.server.leave()
    panel = MarksPanel(page, plant)
    panel.tick()
    assert plant.asked == []
    page.server.join(SOMEBODY)
    panel.tick()
    box, asked = panel.boxes["contact"], [("watch", True)]
    assert plant.asked == asked
    for is_on in (False, True):
        box.set(is_on)
        page.act()
        panel.tick()
        panel.tick()
        asked += [("watch", is_on)]
        assert plant.asked == asked
        assert (ARROWS in nodes(page)) == is_on
    page.server.leave()
    panel.tick()
    assert plant.asked[-1] == ("watch", False)
    assert nodes(page) == {}  # nothing old for the next who looks
