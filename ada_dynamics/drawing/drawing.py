# SPDX-License-Identifier: Apache-2.0
"""A robot in one pose on matplotlib's axes, from the side or in space: as shapes where it has them, else as sticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ada_dynamics.analysis.polygon import convex_hull
from ada_dynamics.arrays import Array
from ada_dynamics.drawing import colours
from ada_dynamics.drawing.skeleton import Stick, ends, sticks
from ada_dynamics.drawing.solids import Solid, solids_of
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import unknown_name

Plane: TypeAlias = Literal["xz", "yz", "xy", "3d"]
SPACE: Literal["3d"] = "3d"
SLIMMEST = 0.3  # picture: the shorter side by the longer one
FAR = 3.0  # sizes of a robot that it goes before it would be a speck in a picture of its whole way


class View(NamedTuple):
    """Which coordinates go to the right and up, and the one towards the eye with its sign."""

    right: int
    up: int
    towards: int
    sign: float


VIEWS: dict[str, View] = {
    "xz": View(0, 2, 1, -1.0),
    "yz": View(1, 2, 0, 1.0),
    "xy": View(0, 1, 2, 1.0),
}


class Pose(NamedTuple):
    """A robot in one pose, in the world: corners of its solids, and its sticks."""

    solids: list[tuple[Solid, Array]]
    sticks: list[Stick]
    tips: list[Stick]  # from the last joints to the centres of mass that they carry
    joints: Array  # where joints are, (n, 3)

    def corners(self) -> Array:
        """All points of it, (n, 3)."""
        parts = [placed for _, placed in self.solids]
        parts += [np.array([line.start, line.end]) for line in (*self.sticks, *self.tips)]
        return np.vstack([*parts, self.joints, np.zeros((0, 3))])

    def middle(self) -> Array:
        """Where a camera that follows the robot looks, (3,)."""
        points = self.joints if len(self.joints) else self.corners()
        return np.asarray(points.mean(axis=0) if len(points) else np.zeros(3), dtype=np.float64)


class Figurine:
    """A robot that is drawn pose by pose."""

    def __init__(self, dynamics: Dynamics) -> None:
        """Args: of the robot."""
        self.dynamics = dynamics
        self.solids = solids_of(dynamics.model)
        self._clad = {solid.link for solid in self.solids}

    def at(self, q: Array) -> Pose:
        """The robot in a pose."""
        model, poses = self.dynamics.model, self.dynamics.poses(q)
        placed = [(s, s.corners @ poses[s.link][:3, :3].T + poses[s.link][:3, 3]) for s in self.solids]
        lines, tips = sticks(model, poses), ends(model, poses)
        joints = [poses[joint.child][:3, 3] for joint in model.joints.values() if joint.nv and joint.child in poses]
        joints += [
            poses[loop.child][:3, 3] + poses[loop.child][:3, :3] @ loop.child_xyz
            for loop in model.loops.values()
            if loop.child in poses
        ]
        return Pose(
            placed,
            [line for line in lines if line.link not in self._clad],
            [line for line in tips if line.link not in self._clad],
            np.array(joints).reshape(-1, 3),
        )


def draw_side(axes: Any, pose: Pose, view: View, alpha: float = 1.0, layer: float = 2.0) -> None:
    """Draw a pose as seen along a coordinate axis.

    Args:
        axes: matplotlib's.
        pose: of the robot.
        view: from where.
        alpha: opacity.
        layer: matplotlib's zorder; higher ones cover lower ones.
    """
    flat = [view.right, view.up]
    # What is nearer to the eye comes later and covers what is behind.
    for solid, placed in sorted(pose.solids, key=lambda one: view.sign * float(one[1][:, view.towards].mean())):
        hull = convex_hull(placed[:, flat])
        axes.fill(
            hull[:, 0],
            hull[:, 1],
            facecolor=solid.colour[:3],
            edgecolor=_darker(solid.colour),
            alpha=alpha * solid.colour[3],
            linewidth=0.6,
            zorder=layer,
        )
    bare = not pose.solids
    for line in (*pose.sticks, *pose.tips):
        x, y = zip(line.start[flat], line.end[flat], strict=True)
        axes.plot(x, y, color=colours.STICK, linewidth=2.2, alpha=alpha, solid_capstyle="round", zorder=layer + 0.1)
    for line in pose.tips:
        mark = {"marker": "*", "markersize": 6.0, "color": colours.PALETTE[1], "markeredgewidth": 0.0}
        axes.plot(*line.end[flat], alpha=alpha, zorder=layer + 0.3, **mark)
    x, y = pose.joints[:, flat].T
    look = {"markersize": 4.0 if bare else 2.5, "markerfacecolor": "white", "markeredgecolor": colours.JOINT}
    axes.plot(x, y, "o", markeredgewidth=0.8, alpha=alpha, zorder=layer + 0.2, **look)


def draw_space(axes: Any, pose: Pose, alpha: float = 1.0) -> None:
    """Draw a pose on axes of three dimensions."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    for solid, placed in pose.solids:
        faces = [placed[list(face)] for face in solid.faces]
        opacity = alpha * solid.colour[3]
        shades = [(*_shaded(solid.colour, face), opacity) for face in faces]
        axes.add_collection3d(Poly3DCollection(faces, facecolors=shades, edgecolors=(0, 0, 0, 0.15 * opacity), lw=0.2))
    for line in (*pose.sticks, *pose.tips):
        axes.plot(*np.array([line.start, line.end]).T, color=colours.STICK, linewidth=2.2, alpha=alpha)
    for line in pose.tips:
        axes.plot(*line.end[:, None], "*", markersize=6.0, color=colours.PALETTE[1], markeredgewidth=0.0, alpha=alpha)
    if not pose.solids:
        look = {"markersize": 3.5, "markerfacecolor": "white", "markeredgecolor": colours.JOINT, "markeredgewidth": 0.8}
        axes.plot(*pose.joints.T, "o", alpha=alpha, **look)


def _shaded(colour: Sequence[float], face: Array) -> tuple[float, ...]:
    """A face's colour by how much light from above and from the front it gets."""
    normal = np.cross(face[1] - face[0], face[2] - face[1])
    size = float(np.linalg.norm(normal)) or 1.0
    light = 0.7 + 0.3 * abs(float(normal @ (0.36, -0.48, 0.8))) / size
    return tuple(min(1.0, light * c) for c in colour[:3])


def _darker(colour: Sequence[float]) -> tuple[float, ...]:
    return tuple(0.55 * c for c in colour[:3])


def view_of(poses: Sequence[Pose], plane: str | None) -> str:
    """The plane asked for, or the one that suits: x-z for a robot that stays in it, else space.

    Args:
        poses: some of the motion.
        plane: "xz", "yz", "xy", "3d", or None.

    Raises:
        InputError: there is no such view.
    """
    if plane is not None:
        if plane not in (*VIEWS, SPACE):
            raise unknown_name("plane", plane, (*VIEWS, SPACE))
        return plane
    spots = np.vstack([np.vstack([p.joints, *(line.end[None] for line in (*p.sticks, *p.tips))]) for p in poses])
    spread = np.ptp(spots, axis=0) if len(spots) else np.zeros(3)
    return "xz" if spread[1] <= 1e-6 * float(np.max(spread)) else SPACE


def frame(poses: Sequence[Pose], least: float = 0.1) -> tuple[Array, float]:
    """Middle of a cube that holds all poses, and half its side.

    Args:
        poses: what it must hold.
        least: half a side that is never fallen short of [m].
    """
    every = np.vstack([pose.corners() for pose in poses])
    if not len(every):
        return np.zeros(3), 1.0
    low, high = every.min(axis=0), every.max(axis=0)
    return 0.5 * (low + high), max(0.5 * float(np.max(high - low)) * 1.06, least)


def reach(poses: Sequence[Pose]) -> float:
    """Half the side of a cube about the middle of each pose that holds that pose, of all of them the largest."""
    far = [float(np.max(np.abs(pose.corners() - pose.middle()), initial=0.0)) for pose in poses]
    return max(1.06 * max(far, default=0.0), 0.1)


def goes_far(poses: Sequence[Pose]) -> bool:
    """True if the robot would be a speck in a picture of all its way, so that the camera has to follow it."""
    middles = np.array([pose.middle() for pose in poses])
    return len(poses) > 1 and float(np.max(np.ptp(middles, axis=0))) > FAR * 2.0 * reach(poses)


def look_at(axes: Any, pose: Pose, plane: str, half: float) -> None:
    """Point the axes at one pose.

    Args:
        axes: made by `prepare`.
        pose: of the robot.
        plane: that the axes were made for.
        half: half a side of what is seen [m]; see `reach`.
    """
    low, high = pose.middle() - half, pose.middle() + half
    if plane == SPACE:
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.set_zlim(low[2], high[2])
        return
    view = VIEWS[plane]
    axes.set(xlim=(low[view.right], high[view.right]), ylim=(low[view.up], high[view.up]))


def box(poses: Sequence[Pose], view: View) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of both axes of a view that hold all poses, with a margin."""
    every = np.vstack([pose.corners() for pose in poses])[:, [view.right, view.up]]
    low, high = (every.min(axis=0), every.max(axis=0)) if len(every) else (-np.ones(2), np.ones(2))
    longest = max(float(np.max(high - low)), 0.1)
    spare = 0.5 * np.maximum(SLIMMEST * longest - (high - low), 0.0)
    low, high = low - spare, high + spare
    edge = 0.05 * longest
    return (float(low[0] - edge), float(high[0] + edge)), (float(low[1] - edge), float(high[1] + edge))


def prepare(figure: Any, place: Any, poses: Sequence[Pose], plane: str) -> Any:
    """Axes that hold all poses, at one scale, with labels.

    Args:
        figure: matplotlib's.
        place: of the axes in it, as for `add_subplot`.
        poses: what they must hold.
        plane: a key of VIEWS, or "3d".
    """
    if plane == SPACE:
        axes = figure.add_subplot(place, projection="3d")
        middle, half = frame(poses)
        axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
        axes.set_zlim(middle[2] - half, middle[2] + half)
        axes.set_box_aspect((1, 1, 1), zoom=0.92)
        axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
        axes.view_init(elev=20.0, azim=-55.0)
        axes.locator_params(nbins=4)
        return axes
    view = VIEWS[plane]
    axes = figure.add_subplot(place)
    across, upward = box(poses, view)
    axes.set(xlim=across, ylim=upward, xlabel=f"{plane[0]} [m]", ylabel=f"{plane[1]} [m]")
    axes.set_aspect("equal")
    return axes


def draw(axes: Any, pose: Pose, plane: str, alpha: float = 1.0, layer: float = 2.0) -> None:
    """Draw a pose on axes made by `prepare`."""
    if plane == SPACE:
        draw_space(axes, pose, alpha)
    else:
        draw_side(axes, pose, VIEWS[plane], alpha, layer)
