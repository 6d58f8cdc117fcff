# SPDX-License-Identifier: Apache-2.0
"""Drawing of a robot on matplotlib axes, projected or in 3D: by the shapes of its links, else by line segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ada_dynamics.analysis.balance import convex_hull
from ada_dynamics.arrays import Array
from ada_dynamics.drawing import colours
from ada_dynamics.drawing.solids import Solid, solids_of
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import check_name
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.model import Model

Line: TypeAlias = tuple[Array, Array]  # end points
Plane: TypeAlias = Literal["xz", "yz", "xy", "3d"]
SPACE: Literal["3d"] = "3d"
MIN_ASPECT = 0.3  # ratio of the sides of a picture
_FILLED = 0.3  # opacity of links with three joints or more
MAX_TRAVEL = 3.0  # distance in sizes of a robot, above which the view follows it


class Stick(NamedTuple):
    """A line segment of a link."""

    link: str
    start: Array
    end: Array


class ProjectionAxes(NamedTuple):
    """Coordinates to the right and upwards, and the coordinate towards the viewer with its sign."""

    right: int
    up: int
    towards: int
    sign: float


VIEWS: dict[str, ProjectionAxes] = {
    "xz": ProjectionAxes(0, 2, 1, -1.0),
    "yz": ProjectionAxes(1, 2, 0, 1.0),
    "xy": ProjectionAxes(0, 1, 2, 1.0),
}


class PlacedRobot(NamedTuple):
    """Geometry of a robot at a configuration in the world frame: corners of its solids, and line segments."""

    solids: list[tuple[Solid, Array]]
    sticks: list[Stick]
    tips: list[Stick]  # from the last joints to the centers of mass that they carry
    joints: Array  # positions of the joints, (n, 3)
    ground: str = ""  # fixed root link, if it has no solids

    def corners(self) -> Array:
        """All points, (n, 3)."""
        parts = [placed for _, placed in self.solids]
        parts += [np.array([line.start, line.end]) for line in (*self.sticks, *self.tips)]
        return np.vstack([*parts, self.joints, np.zeros((0, 3))])

    def coloured(self) -> list[tuple[str, list[Stick], Array]]:
        """Line segments of each link with the colour and the corners of the link, (n, 3)."""
        lines: dict[str, list[Stick]] = {}
        for line in (*self.sticks, *self.tips):
            lines.setdefault(line.link, []).append(line)
        palette = {link: colours.PALETTE[i % len(colours.PALETTE)] for i, link in enumerate(lines)}
        corners = {link: np.unique([p for line in own for p in line[1:]], axis=0) for link, own in lines.items()}
        return [
            (colours.MARK if link == self.ground else palette[link], own, corners[link]) for link, own in lines.items()
        ]

    def middle(self) -> Array:
        """Center of a view that follows the robot, (3,)."""
        points = self.joints if len(self.joints) else self.corners()
        return np.asarray(points.mean(axis=0) if len(points) else np.zeros(3), dtype=np.float64)


class RobotDrawing:
    """Computes the geometry of a robot for drawing."""

    def __init__(self, dynamics: Dynamics) -> None:
        """Initialize with the dynamics of the robot."""
        self.dynamics = dynamics
        self.solids = solids_of(dynamics.model)
        self._with_solids = {solid.link for solid in self.solids}

    def at(self, q: Array) -> PlacedRobot:
        """Geometry at a configuration."""
        model, poses = self.dynamics.model, self.dynamics.forward_kinematics(q)
        placed = [(s, s.corners @ poses[s.link][:3, :3].T + poses[s.link][:3, 3]) for s in self.solids]
        lines, tips = sticks(model, poses), end_sticks(model, poses)
        joints = [poses[joint.child][:3, 3] for joint in model.joints.values() if joint.nv and joint.child in poses]
        joints += [
            poses[loop.child][:3, 3] + poses[loop.child][:3, :3] @ loop.child_xyz
            for loop in model.loops.values()
            if loop.child in poses
        ]
        return PlacedRobot(
            placed,
            [line for line in lines if line.link not in self._with_solids],
            [line for line in tips if line.link not in self._with_solids],
            np.array(joints).reshape(-1, 3),
            "" if model.floating_joint or model.root in self._with_solids else model.root,
        )


def draw_projection(axes: Any, pose: PlacedRobot, view: ProjectionAxes, alpha: float = 1.0, layer: float = 2.0) -> None:
    """Draw the projection of a robot along a coordinate axis, with an opacity and a zorder (`layer`) of matplotlib."""
    flat = [view.right, view.up]
    # Solids nearer to the viewer are drawn later.
    for solid, placed in sorted(pose.solids, key=lambda one: view.sign * float(one[1][:, view.towards].mean())):
        hull = convex_hull(placed[:, flat])
        axes.fill(
            hull[:, 0],
            hull[:, 1],
            facecolor=solid.colour[:3],
            edgecolor=tuple(0.55 * c for c in solid.colour[:3]),
            alpha=alpha * solid.colour[3],
            linewidth=0.6,
            zorder=layer,
        )
    bare = not pose.solids
    for colour, lines, corners in pose.coloured():
        if colour == colours.MARK:  # pivots on the ground
            ends = np.array([line.end[flat] for line in lines])
            axes.plot(*ends.T, "^", markersize=13.0, color=colour, alpha=alpha, zorder=layer)
            continue
        if len(corners) > 2:
            hull = convex_hull(corners[:, flat])
            axes.fill(hull[:, 0], hull[:, 1], color=colour, alpha=_FILLED * alpha, linewidth=0.0, zorder=layer)
        for line in lines:
            x, y = zip(line.start[flat], line.end[flat], strict=True)
            axes.plot(x, y, color=colour, linewidth=2.2, alpha=alpha, solid_capstyle="round", zorder=layer + 0.1)
    for line in pose.tips:
        mark = {"marker": "*", "markersize": 6.0, "color": colours.PALETTE[1], "markeredgewidth": 0.0}
        axes.plot(*line.end[flat], alpha=alpha, zorder=layer + 0.3, **mark)
    x, y = pose.joints[:, flat].T
    look = {"markersize": 4.0 if bare else 2.5, "markerfacecolor": "white", "markeredgecolor": colours.JOINT}
    axes.plot(x, y, "o", markeredgewidth=0.8, alpha=alpha, zorder=layer + 0.2, **look)


def draw_3d(axes: Any, pose: PlacedRobot, alpha: float = 1.0) -> None:
    """Draw a robot on 3D axes."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    for solid, placed in pose.solids:
        faces = [placed[list(face)] for face in solid.faces]
        opacity = alpha * solid.colour[3]
        shades = [(*_shaded(solid.colour, face), opacity) for face in faces]
        axes.add_collection3d(Poly3DCollection(faces, facecolors=shades, edgecolors=(0, 0, 0, 0.15 * opacity), lw=0.2))
    for colour, lines, corners in pose.coloured():
        if len(corners) == 3 and colour != colours.MARK:
            axes.add_collection3d(Poly3DCollection([corners], facecolors=[colour], alpha=_FILLED * alpha))
        for line in lines:
            axes.plot(*np.array([line.start, line.end]).T, color=colour, linewidth=2.2, alpha=alpha)
    for line in pose.tips:
        axes.plot(*line.end[:, None], "*", markersize=6.0, color=colours.PALETTE[1], markeredgewidth=0.0, alpha=alpha)
    if not pose.solids:
        look = {"markersize": 3.5, "markerfacecolor": "white", "markeredgecolor": colours.JOINT, "markeredgewidth": 0.8}
        axes.plot(*pose.joints.T, "o", alpha=alpha, **look)


def _shaded(colour: Sequence[float], face: Array) -> tuple[float, ...]:
    """Colour of a face with diffuse light from above and front."""
    normal = np.cross(face[1] - face[0], face[2] - face[1])
    size = float(np.linalg.norm(normal)) or 1.0
    light = 0.7 + 0.3 * abs(float(normal @ (0.36, -0.48, 0.8))) / size
    return tuple(min(1.0, light * c) for c in colour[:3])


def select_plane(poses: Sequence[PlacedRobot], plane: str | None) -> str:
    """Return the given plane, or for None "xz" if the geometries move in the x-z plane, and "3d" otherwise.

    Raises:
        InputError: the plane is unknown.
    """
    if plane is not None:
        check_name("plane", plane, (*VIEWS, SPACE))
        return plane
    spots = np.vstack([np.vstack([p.joints, *(line.end[None] for line in (*p.sticks, *p.tips))]) for p in poses])
    spread = np.ptp(spots, axis=0) if len(spots) else np.zeros(3)
    return "xz" if spread[1] <= 1e-6 * float(np.max(spread)) else SPACE


def bounding_cube(poses: Sequence[PlacedRobot]) -> tuple[Array, float]:
    """Center and half side of a cube that contains all geometries, at least 0.1 m."""
    every = np.vstack([pose.corners() for pose in poses])
    if not len(every):
        return np.zeros(3), 1.0
    low, high = every.min(axis=0), every.max(axis=0)
    return 0.5 * (low + high), max(0.5 * float(np.max(high - low)) * 1.06, 0.1)


def half_extent(poses: Sequence[PlacedRobot]) -> float:
    """Half side of a cube about the center of each geometry that contains it, for the largest of them [m]."""
    far = [float(np.max(np.abs(pose.corners() - pose.middle()), initial=0.0)) for pose in poses]
    return max(1.06 * max(far, default=0.0), 0.1)


def exceeds_view(poses: Sequence[PlacedRobot]) -> bool:
    """Return True if the robot moves so far that the view should follow it."""
    middles = np.array([pose.middle() for pose in poses])
    return len(poses) > 1 and float(np.max(np.ptp(middles, axis=0))) > MAX_TRAVEL * 2.0 * half_extent(poses)


def center_axes(axes: Any, pose: PlacedRobot, plane: str, half: float) -> None:
    """Center axes made by `prepare_axes` at a geometry; `half` is half the side of the view [m], see `half_extent`."""
    low, high = pose.middle() - half, pose.middle() + half
    if plane == SPACE:
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.set_zlim(low[2], high[2])
        return
    view = VIEWS[plane]
    axes.set(xlim=(low[view.right], high[view.right]), ylim=(low[view.up], high[view.up]))


def axes_limits(poses: Sequence[PlacedRobot], view: ProjectionAxes) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of both axes of a projection that contain all geometries, with a margin."""
    every = np.vstack([pose.corners() for pose in poses])[:, [view.right, view.up]]
    low, high = (every.min(axis=0), every.max(axis=0)) if len(every) else (-np.ones(2), np.ones(2))
    longest = max(float(np.max(high - low)), 0.1)
    spare = 0.5 * np.maximum(MIN_ASPECT * longest - (high - low), 0.0)
    low, high = low - spare, high + spare
    edge = 0.05 * longest
    return (float(low[0] - edge), float(high[0] + edge)), (float(low[1] - edge), float(high[1] + edge))


def prepare_axes(figure: Any, place: Any, poses: Sequence[PlacedRobot], plane: str) -> Any:
    """Create labelled axes of equal scale that contain all geometries.

    `place` is their position as for `add_subplot`, `plane` a key of VIEWS or "3d".
    """
    if plane == SPACE:
        axes = figure.add_subplot(place, projection="3d")
        middle, half = bounding_cube(poses)
        axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
        axes.set_zlim(middle[2] - half, middle[2] + half)
        axes.set_box_aspect((1, 1, 1), zoom=0.92)
        axes.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
        axes.view_init(elev=20.0, azim=-55.0)
        axes.locator_params(nbins=4)
        return axes
    view = VIEWS[plane]
    axes = figure.add_subplot(place)
    across, upward = axes_limits(poses, view)
    axes.set(xlim=across, ylim=upward, xlabel=f"{plane[0]} [m]", ylabel=f"{plane[1]} [m]")
    axes.set_aspect("equal")
    return axes


def draw_robot(axes: Any, pose: PlacedRobot, plane: str, alpha: float = 1.0, layer: float = 2.0) -> None:
    """Draw a robot on axes made by `prepare_axes`."""
    if plane == SPACE:
        draw_3d(axes, pose, alpha)
    else:
        draw_projection(axes, pose, VIEWS[plane], alpha, layer)


# --- line segments -------------------------------------------------------------------------------------------------
def skeleton(dynamics: Dynamics, q: Array) -> list[Line]:
    """Lines from each joint to the next ones."""
    return [(stick.start, stick.end) for stick in sticks(dynamics.model, dynamics.forward_kinematics(q))]


def sticks(model: Model, poses: Mapping[str, Array]) -> list[Stick]:
    """Line segments between joints, with their links, for poses from `Dynamics.forward_kinematics`."""
    found = [
        Stick(joint.parent, poses[joint.parent][:3, 3], poses[joint.child][:3, 3])
        for joint in model.joints.values()
        if not joint.type.leaves_free() and joint.parent in poses
    ]
    for loop in model.loops.values():  # from the link origins to the loop joint
        for link, xyz in ((loop.parent, loop.parent_xyz), (loop.child, loop.child_xyz)):
            if link != WORLD_LINK:
                pose = poses[link]
                found.append(Stick(link, pose[:3, 3], pose[:3, 3] + pose[:3, :3] @ xyz))
    return found


def end_sticks(model: Model, poses: Mapping[str, Array]) -> list[Stick]:
    """Line segments from the last joints to the centers of mass of the links that they carry."""
    carrying = {joint.parent for joint in model.joints.values()}
    carrying |= {link for loop in model.loops.values() for link in (loop.parent, loop.child)}
    found = []
    for link in model.links.values():
        if link.name not in carrying and link.mass > 0.0 and link.name in poses:
            pose = poses[link.name]
            found.append(Stick(link.name, pose[:3, 3], pose[:3, 3] + pose[:3, :3] @ link.com))
    return found
