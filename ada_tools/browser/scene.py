# SPDX-License-Identifier: Apache-2.0
"""A robot in the 3D scene of the browser: links, loop joints with their closure errors, ground and forces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.drawing.colours import closure_colour
from ada_dynamics.drawing.marks import FORCE, Mark, arrow_mark
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.model.model import Model, reach_of
from ada_tools.browser.batch import Batch, Batches
from ada_tools.browser.marks_layer import MarksLayer
from ada_tools.browser.parts import ShapePart, parts_of

_VIEW = np.array([0.65, -1.0, 0.42])  # initial viewing direction
_AWAY = 2.75  # initial camera distance in radii of the robot
_STANDING = 0.2  # minimum height of the centre of mass of a robot that stands on its base, in robot sizes
_GROUND, _CELLS, _SECTIONS = (226, 230, 234), (208, 213, 219), (186, 193, 201)  # colours of the ground
_LONGEST_ARROW = 0.5  # in robot sizes


class Arrow(NamedTuple):
    """A force at a point in the world frame."""

    at: Array  # [m]
    force: Array  # [N]


class MouseDrag(NamedTuple):
    """Drag of a link: grabbed point, which moves with the link, and pointer, in the world frame [m]."""

    link: str
    phase: str  # start | update | end
    grabbed: Array
    pointer: Array


class Scene:
    """One robot in the browser; `show` moves it.

    Attributes:
        size: size of the robot [m].
        weight: weight of the robot [N], at least 1.
        poses: displayed link poses in the world frame.
        parts: drawable parts.
        batches: scene nodes of the parts.
    """

    def __init__(
        self, server: Any, model: Model, dynamics: Dynamics | None = None, ground: float | None = None
    ) -> None:
        """Draw a robot; the default height of the ground [m] is its lowest point at the first configuration shown."""
        self.model = model
        self.dynamics = dynamics or Dynamics(model)
        self.size = reach_of(model)
        self.poses: dict[str, Array] = {}
        self._server = server
        self._ground = ground
        self.weight = max(model.total_mass * float(np.linalg.norm(model.gravity)), 1.0)
        rows = {link: i for i, link in enumerate(self.dynamics.forward_kinematics(model.neutral()))}
        self.parts = parts_of(model)
        self.batches = Batches(server.scene, self.parts, rows)
        self._loops = _LoopMarks(server.scene, self, rows) if model.loops else None
        self._forces = MarksLayer(server, "/forces")
        self._grid: Any = None
        self._is_set_up = False

    def show(self, q: ArrayLike, arrows: Sequence[Arrow] = ()) -> None:
        """Display a configuration and forces; all changes reach the browser in one message."""
        at = np.asarray(q, dtype=np.float64)
        self.poses = self.dynamics.forward_kinematics(at)
        stacked = np.array(list(self.poses.values()))
        if not self._is_set_up:
            self.frame([at])
        with self._server.atomic():
            self.batches.move(stacked)
            if self._loops:
                self._loops.move(at, stacked)
            self._forces.show(self._marks(arrows))

    def remove(self) -> None:
        """Remove all objects of this scene from the page."""
        self.batches.remove()
        for node in (*(self._loops.nodes if self._loops else ()), self._grid):
            if node is not None:
                node.remove()
        self._forces.remove()

    @property
    def gap(self) -> float:
        """Largest closure error of all loops at the displayed configuration [m, rad]."""
        return max(self.gaps.values(), default=0.0)

    @property
    def gaps(self) -> Mapping[str, float]:
        """Closure error of each loop at the displayed configuration [m, rad]."""
        return self._loops.gaps if self._loops else {}

    def on_mouse(self, pulled: Callable[[MouseDrag], None]) -> None:
        """Call a function while a link is dragged with the left button."""
        for batch in self.batches.each:

            async def pull(event: Any, links: Sequence[str] = tuple(batch.links)) -> None:
                grabbed, pointer = np.array(event.start_position), np.array(event.end_position)
                pulled(MouseDrag(links[event.instance_index], event.phase, grabbed, pointer))

            batch.node.on_drag("left")(pull)

    def wrench_at(self, link: str, force: ArrayLike, point: ArrayLike) -> Array:
        """Wrench [f, n] at the origin of a link of a force [N] at a point [m], all in world axes."""
        f = np.asarray(force, dtype=np.float64)
        arm = np.asarray(point, dtype=np.float64) - self.poses[link][:3, 3]
        return np.concatenate([f, np.cross(arm, f)])

    def frame(self, several: Sequence[ArrayLike], margin: float = 0.0) -> None:
        """Place the ground grid, and set the camera so that some configurations and a margin [m] are visible."""
        self._is_set_up = True
        seen = []
        boxes = [(part.link, part.corners) for part in self.parts]
        for q in several:
            poses = self.dynamics.forward_kinematics(np.asarray(q, dtype=np.float64))
            seen.append(np.array([pose[:3, 3] for pose in poses.values()]))
            seen += [corners @ poses[link][:3, :3].T + poses[link][:3, 3] for link, corners in boxes]
        drawn = np.concatenate(seen)
        low, high = drawn.min(axis=0), drawn.max(axis=0)
        centre = 0.5 * (low + high)
        radius = max(0.5 * float(np.linalg.norm(high - low)) + margin, 0.25 * self.size)
        height = self._ground
        if height is None:  # a robot stands on its base, or swings above the ground
            stands = self.dynamics.com(several[0])[2] > _STANDING * self.size
            height = min(float(low[2]), 0.0) - (0.0 if stands else 0.5 * radius)
        cell = 10.0 ** np.round(np.log10(max(radius, 1e-6))) / 5.0
        self._grid = self._server.scene.add_grid(
            "/ground",
            cell_size=cell,
            section_size=5.0 * cell,
            cell_color=_CELLS,
            section_color=_SECTIONS,
            plane_color=_GROUND,
            plane_opacity=1.0,
            shadow_opacity=0.25,
            position=(float(centre[0]), float(centre[1]), height),
            infinite_grid=True,
            fade_distance=15.0 * radius,
        )
        # The aspect ratio of the viewer is unknown: include a margin around the bounding sphere.
        self._server.initial_camera.look_at = centre
        self._server.initial_camera.position = centre + _AWAY * radius * _VIEW / np.linalg.norm(_VIEW)

    def _marks(self, arrows: Sequence[Arrow]) -> list[Mark]:
        """Markers of forces; the weight of the robot is half a robot size long, which is the maximum."""
        longest, scale = _LONGEST_ARROW * self.size, self.size / (2.0 * self.weight)
        marks = []
        for i, arrow in enumerate(arrows):
            reach = scale * np.asarray(arrow.force)
            reach *= min(1.0, longest / max(float(np.linalg.norm(reach)), 1e-12))
            marks.append(arrow_mark("force", i, arrow.at, reach, self.size, FORCE))
        return marks


class _LoopMarks:
    """Sphere at each loop joint, and a line across its closure error, coloured by its size."""

    def __init__(self, scene: Any, owner: Scene, rows: dict[str, int]) -> None:
        loops = list(owner.model.loops.values())
        self._numbers = ConstraintSet(owner.model)
        names = [name for name, _, _ in self._numbers.rows]
        self._firsts = [names.index(loop.name) for loop in loops]  # first row of each loop (contiguous)
        self.gaps: dict[str, float] = dict.fromkeys(owner.model.loop_names, 0.0)
        world = len(rows)  # identity transform after the link rows
        sides = [(loop.parent, loop.parent_xyz, loop.child, loop.child_xyz) for loop in loops]
        self._rows = np.array([[rows.get(a, world), rows.get(b, world)] for a, _, b, _ in sides])
        self._points = np.array([[[*p, 1.0], [*r, 1.0]] for _, p, _, r in sides])[..., np.newaxis]
        self._colours: NDArray[np.uint8] | None = None
        root, radius = owner.model.root, 0.018 * owner.size
        marks = [ShapePart(root, "sphere", np.eye(4), np.full(3, radius), (0.0, 0.0, 0.0, 1.0)) for _ in loops]
        self._balls = Batch(scene, "/loops/joints", marks).node
        self._lines = scene.add_line_segments(
            "/loops/gaps", np.zeros((len(marks), 2, 3)), np.zeros((len(marks), 2, 3)), thickness=0.5 * radius
        )

    @property
    def nodes(self) -> list[Any]:
        """Nodes in the browser's scene."""
        return [self._balls, self._lines]

    def move(self, q: Array, poses: Array) -> None:
        """Update the markers for a configuration and its link poses."""
        sizes = np.maximum.reduceat(np.abs(self._numbers.violation(q)), self._firsts)
        self.gaps = dict(zip(self.gaps, sizes.tolist(), strict=True))
        whole = np.concatenate([poses, np.eye(4)[np.newaxis]])
        ends = (whole[self._rows] @ self._points)[..., :3, 0].astype(np.float32)
        self._balls.batched_positions = ends[:, 1]
        self._lines.points = ends
        colours = closure_colour(sizes)
        if self._colours is None or (colours != self._colours).any():
            self._colours = colours
            self._balls.batched_colors = colours
            self._lines.colors = np.repeat(colours[:, np.newaxis], 2, axis=1)
