# SPDX-License-Identifier: Apache-2.0
"""Marks beside a robot on the page: what is drawn, when it fades, which boxes there are, when they are wanted."""

import numpy as np
import pytest
from page_world import RobotNode

pytest.importorskip("viser", reason="viser is not installed: pip install '.[view]'")

from ada_dynamics.drawing.marks import KeptMarks, Kind, Mark
from ada_tools.browser.marks_layer import MarksLayer, MarksPanel
from ada_tools.browser.page import Page

ORANGE, VIOLET = (1.0, 0.5, 0.0, 1.0), (0.5, 0.2, 0.7, 1.0)


def arrow(number, height, space="contact", colour=ORANGE):
    points = np.array([[number, 0.0, 0.0], [number, 0.0, height]])
    return Mark(space, number, Kind.ARROW, points, (0.02, 0.05, 0.1), colour)


def ball(number, x, space="zmp"):
    return Mark(space, number, Kind.SPHERE, np.array([[x, 0.0, 0.0]]), (0.2,), VIOLET)


def ring(side, space="support"):
    points = side * np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0.0]])
    return Mark(space, 0, Kind.LINE, points, (0.01,), VIOLET)


@pytest.fixture(autouse=True)
def _is_looked_at(monkeypatch):
    monkeypatch.setattr(Page, "is_looked_at", True)


@pytest.fixture
def sent(page, monkeypatch):
    """Names of the messages to browsers since the list was cleared."""
    names = []
    queue = page.server._websock_server.queue_message
    monkeypatch.setattr(
        page.server._websock_server, "queue_message", lambda m: (names.append(type(m).__name__), queue(m))[1]
    )
    return names


def nodes(layer):
    return {look.kind: node for look, (node, _) in layer._drawn.items() if node.visible}


# --- keeping --------------------------------------------------------------------------------------------------------
def test_a_mark_that_is_not_renewed_fades_and_one_that_is_deleted_is_gone_at_once():
    kept = KeptMarks()
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


# --- drawing --------------------------------------------------------------------------------------------------------
def test_marks_are_drawn_where_they_are_with_their_sizes_and_colours(page):
    layer = MarksLayer(page.server)
    layer.show([arrow(0, 1.0), arrow(1, 2.0), ball(0, 3.0), ring(2.0)])
    found = nodes(layer)
    arrows, balls, line = (found[kind] for kind in (Kind.ARROW, Kind.SPHERE, Kind.LINE))
    np.testing.assert_array_equal(arrows.points, [[[0, 0, 0], [0, 0, 1]], [[1, 0, 0], [1, 0, 2]]])
    np.testing.assert_array_equal(arrows.colors, [255, 128, 0])
    assert (arrows.shaft_radius, arrows.head_radius, arrows.head_length) == (0.01, 0.025, 0.1)
    np.testing.assert_array_equal(balls.batched_positions, [[3, 0, 0]])
    np.testing.assert_allclose(balls.batched_scales, [[0.1, 0.1, 0.1]])
    expected = [[[0, 0, 0], [2, 0, 0]], [[2, 0, 0], [2, 2, 0]], [[2, 2, 0], [0, 0, 0]]]
    np.testing.assert_array_equal(line.points, expected)
    assert line.thickness == 0.01


def test_what_moves_or_grows_in_number_is_the_same_node_and_what_stays_costs_nothing(page, sent):
    layer = MarksLayer(page.server)
    first = [*(arrow(i, 1.0) for i in range(16)), ball(0, 0.0), ring(1.0)]
    layer.show(first)
    assert len(layer._drawn) == 3
    before = nodes(layer)
    sent.clear()
    layer.show(first)
    assert sent == []
    layer.show([*(arrow(i, 2.0) for i in range(20)), ball(0, 1.0), ring(2.0)])
    assert nodes(layer) == before
    assert len(sent) == 3  # one message for each look
    assert len(before[Kind.ARROW].points) == 20


def test_what_is_gone_is_hidden_and_comes_back(page):
    layer = MarksLayer(page.server)
    layer.show([arrow(0, 1.0), ball(0, 0.0)])
    layer.show([ball(0, 0.0), ball(1, 5.0)])
    assert set(nodes(layer)) == {Kind.SPHERE}
    assert len(nodes(layer)[Kind.SPHERE].batched_positions) == 2
    layer.show([])
    assert nodes(layer) == {}
    layer.show([arrow(0, 3.0)])
    np.testing.assert_array_equal(nodes(layer)[Kind.ARROW].points[0, 1], [0, 0, 3])


def test_ever_new_colours_do_not_fill_the_scene(page):
    layer = MarksLayer(page.server)
    for i in range(200):
        layer.show([arrow(0, 1.0, colour=(i / 200, 0.0, 0.0, 1.0))])
    assert len(layer._drawn) <= 65
    layer.remove()
    assert not layer._drawn


# --- boxes ----------------------------------------------------------------------------------------------------------
def test_each_space_that_is_seen_has_a_box_and_forces_of_joints_are_off_at_first(page):
    plant = RobotNode()
    panel = MarksPanel(page, plant)
    panel.tick()
    assert (panel.boxes, panel._folder.visible) == ({}, False)
    plant.seen_marks = [
        arrow(0, 1.0),
        arrow(0, 1.0, "joint_force"),
        ball(0, 0.0),
        ball(1, 0.0, "com"),
        ball(2, 0, "mine"),
    ]
    panel.tick()
    assert panel._folder.visible
    ticked = {space: box.value for space, box in panel.boxes.items()}
    assert ticked == {"contact": True, "joint_force": False, "zmp": True, "mine": True}  # the scene has its own com
    assert panel.boxes["contact"].label == "contact forces"
    assert len(nodes(panel.layer)[Kind.ARROW].points) == 1
    panel.boxes["joint_force"].value = True
    panel.tick()
    assert len(nodes(panel.layer)[Kind.ARROW].points) == 2
    panel.boxes["contact"].value = panel.boxes["joint_force"].value = False
    panel.tick()
    assert Kind.ARROW not in nodes(panel.layer)


def test_marks_are_asked_for_while_somebody_looks_and_wants_any(page, monkeypatch):
    plant = RobotNode()
    plant.seen_marks = [arrow(0, 1.0)]
    monkeypatch.setattr(Page, "is_looked_at", False)
    panel = MarksPanel(page, plant)
    panel.tick()
    assert plant.asked == []
    monkeypatch.setattr(Page, "is_looked_at", True)
    panel.tick()
    assert plant.asked == [("watch", True)]
    box = panel.boxes["contact"]
    box.value = False
    panel._choose()
    panel.tick()
    assert plant.asked == [("watch", True), ("watch", False)]
    assert nodes(panel.layer) == {}
    box.value = True
    panel.tick()
    panel.tick()
    assert plant.asked == [("watch", True), ("watch", False), ("watch", True)]
    assert Kind.ARROW in nodes(panel.layer)
    monkeypatch.setattr(Page, "is_looked_at", False)
    panel.tick()
    assert plant.asked[-1] == ("watch", False)
    assert nodes(panel.layer) == {}  # nothing old for the next who looks
    panel.close()
    assert plant.asked[-1] == ("watch", False)
