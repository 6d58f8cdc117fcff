# SPDX-License-Identifier: Apache-2.0
"""Markers in the browser scene, and checkboxes that select which are displayed.

Markers with the same appearance share one reusable scene node: a frame costs one or two messages per appearance,
independent of the number of contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.drawing.marks import Colour, Mark, MarkKind
from ada_tools.browser.batch import Batch
from ada_tools.browser.page import Page
from ada_tools.browser.parts import ShapePart
from ada_tools.browser.robot_node import RobotSource

Floats = NDArray[np.float32]

# Drawn by the scene itself, at the displayed configuration.
DRAWN_BY_SCENE = ("com", "loop")
LABELS = {
    "contact": "contact forces",
    "external": "external forces",
    "zmp": "zero-moment point",
    "support": "support polygon",
    "joint_force": "forces of joints",
    "joint_moment": "moments of joints",
}
LOAD_MARKS = frozenset({"joint_force", "joint_moment"})  # not displayed initially
_MOST_LOOKS = 64  # maximum number of cached appearances


class MarkerStyle(NamedTuple):
    """Common appearance of markers drawn by one node."""

    kind: MarkKind
    size: tuple[float, ...]
    colour: Colour


class MarksLayer:
    """Markers as nodes of the viser scene."""

    def __init__(self, server: Any, name: str = "/marks") -> None:
        """Create an empty layer of nodes below a path."""
        self._server, self._name = server, name
        self._drawn: dict[MarkerStyle, tuple[Any, Floats]] = {}  # node and positions of the markers of each appearance
        self._count = 0

    def show(self, marks: Sequence[Mark]) -> None:
        """Display exactly these markers; unchanged ones cause no messages."""
        wanted: dict[MarkerStyle, list[Mark]] = {}
        for mark in marks:
            look = MarkerStyle(mark.kind, tuple(np.round(mark.size, 5).tolist()), mark.colour)
            wanted.setdefault(look, []).append(mark)
        with self._server.atomic():
            for look, (node, _) in self._drawn.items():
                if look not in wanted and node.visible:
                    node.visible = False
            for look, of_look in wanted.items():
                self._draw(look, _points(look.kind, of_look))
            if len(self._drawn) > _MOST_LOOKS:
                self._forget_hidden()

    def remove(self) -> None:
        """Remove all markers."""
        for node, _ in self._drawn.values():
            node.remove()
        self._drawn.clear()

    def _draw(self, look: MarkerStyle, points: Floats) -> None:
        node, before = self._drawn.get(look, (None, points))
        if node is not None and look.kind is MarkKind.SPHERE and len(before) != len(points):
            node.remove()  # poses and scales of a batch have a fixed number of rows
            node = None
        if node is None:
            self._count += 1
            node = _new_node(self._server.scene, f"{self._name}/{self._count}", look, points)
        elif not np.array_equal(before, points):
            if look.kind is MarkKind.SPHERE:
                node.batched_positions = points
            else:
                node.points = points
        self._drawn[look] = node, points
        if not node.visible:
            node.visible = True

    def _forget_hidden(self) -> None:
        for look in [look for look, (node, _) in self._drawn.items() if not node.visible]:
            self._drawn.pop(look)[0].remove()


def _points(kind: MarkKind, marks: Sequence[Mark]) -> Floats:
    """Centres of spheres (n, 3), or end points of arrows and line segments (n, 2, 3)."""
    if kind is MarkKind.LINE:
        pieces = [np.stack([mark.points[:-1], mark.points[1:]], axis=1) for mark in marks]
        return np.concatenate(pieces).astype(np.float32)
    points = np.array([mark.points for mark in marks], dtype=np.float32)
    return points[:, 0] if kind is MarkKind.SPHERE else points


def _new_node(scene: Any, name: str, look: MarkerStyle, points: Floats) -> Any:
    colour = tuple(round(255.0 * share) for share in look.colour[:3])
    if look.kind is MarkKind.ARROW:
        shaft, head, tip = look.size
        return scene.add_arrows(name, points, colour, shaft_radius=0.5 * shaft, head_radius=0.5 * head, head_length=tip)
    if look.kind is MarkKind.LINE:
        return scene.add_line_segments(name, points, colour, thickness=look.size[0])
    radius = 0.5 * look.size[0]
    ball = ShapePart("", "sphere", np.eye(4), np.full(3, radius), look.colour)
    node = Batch(scene, name, [ball] * len(points)).node
    node.batched_positions = points
    return node


class MarksPanel:
    """Checkbox for each marker namespace received from a source, and display of the selected markers.

    Markers are requested while a browser shows the page and at least one box is ticked.
    """

    def __init__(self, page: Page, source: RobotSource) -> None:
        """Create an empty panel for the markers of a source."""
        self.boxes: dict[str, Any] = {}
        self.layer = MarksLayer(page.server)
        self._page, self._source = page, source
        self._is_watching = self._is_chosen = False
        self._folder = page.gui.add_folder("forces and balance", visible=False)
        if source.loaded:  # a simulation computes these only if they are wanted
            for space in sorted(LOAD_MARKS):
                self._add_box(space)

    def tick(self) -> None:
        """Per-frame update: display the received markers."""
        is_wanted = not self._is_chosen or any(box.value for box in self.boxes.values())
        is_watching = is_wanted and self._page.is_looked_at
        if is_watching != self._is_watching:
            self._is_watching = is_watching
            self._source.watch_marks(is_watching)
        wanted = {space for space, box in self.boxes.items() if box.value}
        marks = self._source.marks(wanted) if is_watching else ()
        shown = [mark for mark in marks if mark.space not in DRAWN_BY_SCENE]
        for mark in shown:
            if mark.space not in self.boxes:
                self._add_box(mark.space)
        self.layer.show([mark for mark in shown if self.boxes[mark.space].value])

    def close(self) -> None:
        """Remove the markers and unsubscribe."""
        self._source.watch_marks(False)
        self.layer.remove()

    def _add_box(self, space: str) -> None:
        with self._folder:
            box = self._page.gui.add_checkbox(LABELS.get(space, space), space not in LOAD_MARKS)
        self.boxes[space] = box
        self._folder.visible = True
        self._page.when(box, self._choose)

    def _choose(self) -> None:
        """Record that the user made a selection; the next frame applies it."""
        self._is_chosen = True
