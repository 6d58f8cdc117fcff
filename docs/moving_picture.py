# SPDX-License-Identifier: Apache-2.0
"""The moving picture of README and front page: two robots are dragged by a point, loops and feet stay in place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.proj3d import proj_transform
from PIL import Image

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.drawing.robot_drawing import PlacedRobot, RobotDrawing, draw_robot, prepare_axes
from ada_dynamics.drawing.solids import Solid
from ada_dynamics.robots.mechanisms import stewart
from ada_dynamics.spatial.orientation import pose_of

FRAMES, EACH = 64, 50  # pictures, and how long each is shown [ms]
COLOURS = 48
HAND = "#d62728"


class Dragged(NamedTuple):
    """A robot along the way on which it is dragged."""

    title: str
    model: ada.Model
    poses: list[Array]
    held: Array  # where the hand is, (frames, 3)


def platform() -> Dragged:
    """A Stewart platform whose corner goes round."""
    model, q = stewart(position=(0, 0, 0.7), rpy=(0, 0, 0))
    dynamics = ada.Dynamics(model, q0=q)
    corner, poses, held = np.array([0.33, 0.0, 0.065]), [], []
    for s in _turns():
        place = (0.13 * np.cos(s), 0.13 * np.sin(s), 0.66 + 0.05 * np.sin(2.0 * s))
        goal = pose_of(place, (0.25 * np.sin(s), -0.25 * np.cos(s), 0.2 * np.sin(s)))
        q = _reached(ada.solve_ik(dynamics, ada.PoseTask("platform", goal), q, limits=False))
        poses.append(q)
        held.append(goal[:3, :3] @ corner + goal[:3, 3])
    return Dragged("six loops stay closed", model, poses, np.array(held))


def humanoid() -> Dragged:
    """A HOAP-2 that is led by a hand while both feet stay on the ground."""
    model = ada.load("hoap2")
    dynamics, upright = ada.Dynamics(model), model.neutral()
    knees = {f"{side}_{joint}": angle for side in ("left", "right") for joint, angle in _KNEES.items()}
    for name, angle in knees.items():
        upright[model.q_index(name)] = angle
    feet = [ada.PoseTask(f"{side}_foot", _level(dynamics, f"{side}_foot", upright)) for side in ("left", "right")]
    q, poses, held = upright, [], []
    start, com = dynamics.pose("right_hand", upright)[:3, 3], dynamics.com(upright)
    for s in (*_turns(), *_turns()):  # the first round leads onto the way on which the second one closes
        hand = start + np.array([0.09 + 0.06 * np.cos(s), -0.02 + 0.05 * np.sin(s), 0.12 + 0.09 * np.sin(s)])
        tasks = [
            *feet,
            ada.PositionTask("right_hand", hand),
            ada.ComTask(com + np.array([0.0, 0.02 * np.sin(s), -0.015 - 0.01 * np.cos(s)])),
            ada.PostureTask(upright, level=1),
        ]
        q = _reached(ada.solve_ik(dynamics, tasks, q))
        poses.append(q)
        held.append(hand)
    return Dragged("feet stay, weight follows", model, poses[FRAMES:], np.array(held[FRAMES:]))


_KNEES = {"hip_pitch": -0.45, "knee": 0.9, "ankle_pitch": -0.45}  # [rad]


def _reached(found: ada.IkResult) -> Array:
    """The pose, if it is what the picture says of it."""
    if not found.reached:
        raise RuntimeError(f"the robot cannot follow: {found.reason}")
    return found.q


def _level(dynamics: ada.Dynamics, foot: str, q: Array) -> Array:
    return pose_of(dynamics.pose(foot, q)[:3, 3])


def _turns() -> Array:
    """One round, without its end."""
    return np.linspace(0.0, 2.0 * np.pi, FRAMES, endpoint=False)


def pictures(robots: list[Dragged]) -> Iterator[Image.Image]:
    """Frame by frame, all robots side by side."""
    figure = Figure(figsize=(7.2, 3.7), dpi=90)
    figure.subplots_adjust(left=0.0, right=1.0, bottom=0.0, top=0.92, wspace=0.0)
    canvas = FigureCanvasAgg(figure)
    drawers = [RobotDrawing(ada.Dynamics(one.model)) for one in robots]
    scenes: list[Any] = []
    for i, (one, drawer) in enumerate(zip(robots, drawers, strict=True), 1):
        axes = prepare_axes(figure, 100 + 10 * len(robots) + i, [drawer.at(q) for q in one.poses[::8]], "3d")
        axes.set_axis_off()
        axes.computed_zorder = False  # what is drawn first is behind
        axes.set_box_aspect((1, 1, 1), zoom=1.45)
        axes.set_title(one.title, fontsize=12)
        scenes.append(axes)
    glass = figure.add_axes((0, 0, 1, 1), xlim=(0, 1), ylim=(0, 1), zorder=10)  # the hand is never behind the robot
    glass.set_axis_off()
    own = [set(axes.get_children()) for axes in (*scenes, glass)]
    for row in range(FRAMES):
        for axes, kept in zip((*scenes, glass), own, strict=True):
            for artist in [a for a in axes.get_children() if a not in kept]:
                artist.remove()
        for axes, one, drawer in zip(scenes, robots, drawers, strict=True):
            limits = axes.get_xlim(), axes.get_ylim(), axes.get_zlim()
            draw_robot(axes, _sorted(drawer.at(one.poses[row]), axes), "3d")
            axes.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
            way = _on(glass, axes, np.vstack([one.held, one.held[:1]]))
            glass.plot(*way, color=HAND, lw=1.2, alpha=0.35)
            glass.plot(*way[:, row, None], "o", color=HAND, markersize=8)
        canvas.draw()
        yield Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())


def _sorted(pose: PlacedRobot, axes: Any) -> PlacedRobot:
    """The pose with its convex solids in an order in which none covers what is in front of it."""
    M = axes.get_proj()
    eye = np.linalg.solve(M[[0, 1, 3], :3], -M[[0, 1, 3], 3])
    corners = [placed for _, placed in pose.solids]
    flat = [np.array(proj_transform(*points.T, M))[:2] for points in corners]
    low, high = (np.array([side(points, axis=1) for points in flat]) for side in (np.min, np.max))
    far = np.array([np.linalg.norm(points - eye, axis=1).mean() for points in corners])
    slim = [np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[1] for points in corners]
    faces = [_faces(solid, points) for solid, points in pose.solids]
    first = np.zeros((len(far), len(far)), dtype=bool)  # whether one has to be drawn before another
    for i, j in combinations(range(len(far)), 2):
        if (low[i] < high[j]).all() and (low[j] < high[i]).all():
            one, other = _before(faces[i], corners[j], eye), _before(faces[j], corners[i], eye)
            apart, before = max(one, (other[0], not other[1]))
            if apart < -min(faces[i].width, faces[j].width):  # one is in the other
                before = slim[i] < slim[j]
            first[(i, j) if before else (j, i)] = True
    order: list[int] = []
    left = np.ones(len(far), dtype=bool)
    while left.any():
        ready = left & ~first[left].any(axis=0)
        order.append(int(np.argmax(np.where(ready if ready.any() else left, far, -np.inf))))
        left[order[-1]] = False
    return pose._replace(solids=[pose.solids[i] for i in order])


class _Faces(NamedTuple):
    """Planes of a convex solid: outward normals, their distances from the origin, and its smallest width."""

    normals: Array
    at: Array
    width: float


def _faces(solid: Solid, placed: Array) -> _Faces:
    edges = [(placed[face[1]] - placed[face[0]], placed[face[2]] - placed[face[1]]) for face in solid.faces]
    normals = np.array([np.cross(*pair) for pair in edges])
    normals = normals[np.linalg.norm(normals, axis=1) > 1e-12]
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    normals = np.concatenate([normals, -normals])
    reach = placed @ normals.T
    return _Faces(normals, reach.max(axis=0), float(np.ptp(reach, axis=0).min()))


def _before(faces: _Faces, points: Array, eye: Array) -> tuple[float, bool]:
    """How far points are beyond the face that separates them best, and whether they cover the solid then."""
    beyond = (points @ faces.normals.T).min(axis=0) - faces.at
    best = int(np.argmax(beyond))
    return float(beyond[best]), bool(faces.normals[best] @ eye > faces.at[best])


def _on(glass: Any, axes: Any, points: Array) -> Array:
    """Points in space as the axes show them, in the coordinates of the glass, (2, n)."""
    across, up, _ = proj_transform(*points.T, axes.get_proj())
    return np.array(glass.transData.inverted().transform(axes.transData.transform(np.column_stack([across, up])))).T


def write(path: Path) -> Path:
    """Write the picture, with one table of colours, so that what stands still costs nothing."""
    frames = list(pictures([platform(), humanoid()]))
    table = frames[0].quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    shown = [frame.quantize(palette=table, dither=Image.Dither.NONE) for frame in frames]
    shown[0].save(path, save_all=True, append_images=shown[1:], duration=EACH, loop=0, optimize=True)
    return path


if __name__ == "__main__":
    print(write(Path(__file__).parent / "images/moving.gif"))
