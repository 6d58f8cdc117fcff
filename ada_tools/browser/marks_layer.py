# SPDX-License-Identifier: Apache-2.0
"""Marks in the browser's scene, and the boxes beside it that say which ones are seen.

Marks that look alike are one node of the scene, which is used again and again: a frame costs a message or two for each
look, however many contacts a robot has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.drawing.marks import Colour, Mark, MarkKind
from ada_tools.browser.batch import Batch
from ada_tools.browser.page import Page
from ada_tools.browser.parts import Part
from ada_tools.browser.robot_node import RobotSource

Floats = NDArray[np.float32]

# Of these the scene has its own, always at the pose that it shows.
DRAWN_BY_SCENE = ("com", "loop")
LABELS = {
    "contact": "contact forces",
    "zmp": "zero-moment point",
    "support": "support polygon",
    "joint_force": "forces of joints",
    "joint_moment": "moments of joints",
}
_OFF_AT_FIRST = ("joint_force", "joint_moment")
_MOST_LOOKS = 64  # that are kept for later


class Look(NamedTuple):
    """Common to marks that are drawn at one go."""

    kind: MarkKind
    size: tuple[float, ...]
    colour: Colour


class MarksLayer:
    """Marks as nodes of viser's scene."""

    def __init__(self, server: Any, name: str = "/marks") -> None:
        """Begin with none.

        Args:
            server: viser's.
            name: under which the nodes are.
        """
        self._server, self._name = server, name
        self._drawn: dict[Look, tuple[Any, Floats]] = {}  # node of the marks of a look, and where they are
        self._count = 0

    def show(self, marks: Sequence[Mark]) -> None:
        """Draw these, and nothing else; what is already drawn like this costs nothing."""
        wanted: dict[Look, list[Mark]] = {}
        for mark in marks:
            look = Look(mark.kind, tuple(np.round(mark.size, 5).tolist()), mark.colour)
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
        """Take all marks away."""
        for node, _ in self._drawn.values():
            node.remove()
        self._drawn.clear()

    def _draw(self, look: Look, points: Floats) -> None:
        node, before = self._drawn.get(look, (None, points))
        if node is not None and look.kind is MarkKind.SPHERE and len(before) != len(points):
            node.remove()  # its rows of poses and scales belong together
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
    """Places of spheres (n, 3), or ends of arrows and of the pieces of lines (n, 2, 3)."""
    if kind is MarkKind.LINE:
        pieces = [np.stack([mark.points[:-1], mark.points[1:]], axis=1) for mark in marks]
        return np.concatenate(pieces).astype(np.float32)
    points = np.array([mark.points for mark in marks], dtype=np.float32)
    return points[:, 0] if kind is MarkKind.SPHERE else points


def _new_node(scene: Any, name: str, look: Look, points: Floats) -> Any:
    colour = tuple(round(255.0 * share) for share in look.colour[:3])
    if look.kind is MarkKind.ARROW:
        shaft, head, tip = look.size
        return scene.add_arrows(name, points, colour, shaft_radius=0.5 * shaft, head_radius=0.5 * head, head_length=tip)
    if look.kind is MarkKind.LINE:
        return scene.add_line_segments(name, points, colour, thickness=look.size[0])
    radius = 0.5 * look.size[0]
    ball = Part("", "sphere", np.eye(4), np.full(3, radius), look.colour)
    node = Batch(scene, name, [ball] * len(points)).node
    node.batched_positions = points
    return node


class MarksPanel:
    """A box for each space of marks that a source has sent, and the marks of those that are ticked.

    Marks are requested while a browser has the page open, until all boxes are unticked.
    """

    def __init__(self, page: Page, source: RobotSource) -> None:
        """Begin without boxes.

        Args:
            page: to draw on.
            source: that sends the marks.
        """
        self.boxes: dict[str, Any] = {}
        self.layer = MarksLayer(page.server)
        self._page, self._source = page, source
        self._is_watching = self._is_chosen = False
        self._folder = page.gui.add_folder("forces and balance", visible=False)

    def tick(self) -> None:
        """Once a frame: show what arrived."""
        is_wanted = not self._is_chosen or any(box.value for box in self.boxes.values())
        is_watching = is_wanted and self._page.is_looked_at
        if is_watching != self._is_watching:
            self._is_watching = is_watching
            self._source.watch_marks(is_watching)
        marks = self._source.marks() if is_watching else []
        shown = [mark for mark in marks if mark.space not in DRAWN_BY_SCENE]
        for mark in shown:
            if mark.space not in self.boxes:
                self._add_box(mark.space)
        self.layer.show([mark for mark in shown if self.boxes[mark.space].value])

    def close(self) -> None:
        """Take the marks away, and ask for no more."""
        self._source.watch_marks(False)
        self.layer.remove()

    def _add_box(self, space: str) -> None:
        with self._folder:
            box = self._page.gui.add_checkbox(LABELS.get(space, space), space not in _OFF_AT_FIRST)
        self.boxes[space] = box
        self._folder.visible = True
        self._page.when(box, self._choose)

    def _choose(self) -> None:
        """A person has made a choice; the next frame shows it."""
        self._is_chosen = True
