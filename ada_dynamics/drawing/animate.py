# SPDX-License-Identifier: Apache-2.0
"""Animations of a motion without a display: .gif, .mp4, or one frame as .png."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.analysis.linkages import point_path
from ada_dynamics.analysis.motion import StateTrajectory, dynamics_of
from ada_dynamics.arrays import Array
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.drawing.marks import FORCE
from ada_dynamics.drawing.plots import figure_context, save
from ada_dynamics.drawing.robot_drawing import (
    SPACE,
    VIEWS,
    PlacedRobot,
    RobotDrawing,
    center_axes,
    draw_robot,
    exceeds_view,
    half_extent,
    prepare_axes,
    select_plane,
)
from ada_dynamics.errors import InputError
from ada_dynamics.resources import how_to_install

ProgressCallback = Callable[[float, str], object]

ENDINGS = (".gif", ".mp4", ".png")
_MAX_GIF_RATE = 50.0  # [frame/s]; many viewers show faster animations at 10 frames per second
_SIDE, _DPI = 4.4, 90  # [inch], dots per inch: an even number of pixels, as common video formats need
TRACE = "#d62728"  # colour of the path of a point
_ARROW = 0.6  # length of the largest force relative to half the size of the robot
_FRAMED = 40  # configurations that determine the axes limits


class Film(NotebookDisplay):
    """An animation in a file, displayed by notebooks.

    Attributes:
        path: path of the file.
    """

    def __init__(self, path: Path) -> None:
        """Initialize with the path of the file."""
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<Film {str(self.path)!r}>"


def animate(
    log: StateTrajectory,
    path: str | os.PathLike[str],
    *,
    fps: float = 25.0,
    speed: float = 1.0,
    plane: str | None = None,
    at: float | None = None,
    trace: tuple[str, ArrayLike] | None = None,
    forces: bool = False,
    progress: ProgressCallback | None = None,
) -> Path:
    """Write an animation.

    Args:
        log: a `Log`, or a motion with model, t, q and v.
        path: file to write: .gif (needs pillow), .mp4 (needs ffmpeg) or .png (one frame).
        fps: frames per second; a .gif has a resolution of 10 ms.
        speed: seconds of the motion per second of the animation.
        plane: "xz", "yz", "xy" (orthogonal projection) or "3d"; by default "xz" for planar motions in it, else "3d".
        at: time of the frame of a .png [s]; the last one by default.
        trace: link and point in its frame [m], whose path up to each frame is drawn.
        forces: whether arrows show the forces in the joints on their child links, to one scale; needs a `Log`.
        progress: called with the completed fraction and a description.

    Returns:
        The file.

    Raises:
        InputError: the suffix or a number is invalid, the file cannot be written, or a dependency is not installed.
    """
    file = Path(path)
    check_tools(file)
    for name, value in (("fps", fps), ("speed", speed)):
        if not 0.0 < value < np.inf:
            raise InputError(f"{name} is {value}; it must be positive.", field=name, value=value)
    if not len(log.t):
        raise InputError(f"the log of model {log.model.name!r} has no rows to draw.", field="log", value=0)
    film = _FrameRenderer(log, plane, trace, forces)
    if file.suffix.lower() == ".png":
        return film.write_still(file, at)
    return film.write(file, _rows(log.t, speed / fps), fps, progress)


class _FrameRenderer:
    """Renders frames of a motion on one figure."""

    def __init__(
        self,
        log: StateTrajectory,
        plane: str | None,
        trace: tuple[str, ArrayLike] | None,
        forces: bool,
    ) -> None:
        self.log, dynamics = log, dynamics_of(log)
        self.drawer = RobotDrawing(dynamics)
        self.path = None if trace is None else point_path(dynamics, trace[0], log.q, trace[1])
        self.wrenches: Mapping[str, Array] = getattr(log, "wrenches", {}) if forces else {}
        some = np.unique(np.linspace(0, len(log.t) - 1, min(_FRAMED, len(log.t))).astype(int))
        self.framed: list[PlacedRobot] = [self.drawer.at(log.q[i]) for i in some]
        self.plane = select_plane(self.framed, plane)
        largest = max((np.max(np.linalg.norm(w[:, :3], axis=1)) for w in self.wrenches.values()), default=0.0)
        self.scale = _ARROW * half_extent(self.framed) / largest if largest else 0.0
        self.half = half_extent(self.framed) if exceeds_view(self.framed) else None  # the camera then follows the robot

    def write(self, file: Path, rows: Sequence[int], fps: float, progress: ProgressCallback | None) -> Path:
        """Write the frames of some rows as .gif or .mp4."""
        from matplotlib import animation, rcParams

        with figure_context() as new_figure:
            figure, axes = self._prepare(new_figure)
            figure.canvas.draw()  # layout is computed once, so frames do not shift
            figure.set_layout_engine("none")
            rate: Any = fps  # annotated as int in matplotlib
            if file.suffix.lower() == ".gif":
                writer: Any = animation.PillowWriter(min(rate, _MAX_GIF_RATE))
            else:
                rcParams["animation.ffmpeg_path"] = ffmpeg()  # within the context of the figure
                writer = animation.FFMpegWriter(rate, extra_args=["-movflags", "+faststart"])
            try:
                with writer.saving(figure, str(file), _DPI):
                    for i, row in enumerate(rows, 1):
                        self._show(axes, row)
                        writer.grab_frame()
                        if progress is not None:
                            progress(i / len(rows), f"frame {i} of {len(rows)}")
            except (OSError, subprocess.CalledProcessError) as problem:
                raise InputError(f"the animation cannot be written to {file}: {problem}", field="path") from None
        return file

    def write_still(self, file: Path, at: float | None) -> Path:
        """Write one frame."""
        t = self.log.t
        if at is not None and not t[0] <= at <= t[-1]:
            text = f"at is {at:g} s; the log is from {t[0]:g} s to {t[-1]:g} s."
            raise InputError(text, field="at", value=at, allowed=(float(t[0]), float(t[-1])))
        with figure_context() as new_figure:
            figure, axes = self._prepare(new_figure)
            self._show(axes, len(t) - 1 if at is None else int(np.argmin(np.abs(t - at))))
            return save(figure, file)

    def _prepare(self, new_figure: Any) -> tuple[Any, Any]:
        figure = new_figure(_SIDE, _SIDE)
        figure.set_dpi(_DPI)
        axes = prepare_axes(figure, 111, self.framed, self.plane)
        axes.set_title(" ")
        self._static = set(axes.get_children())
        return figure, axes

    def _show(self, axes: Any, row: int) -> None:
        for artist in [a for a in axes.get_children() if a not in self._static]:
            artist.remove()
        limits = (axes.get_xlim(), axes.get_ylim())
        pose = self.drawer.at(self.log.q[row])
        draw_robot(axes, pose, self.plane)
        view = [0, 1, 2] if self.plane == SPACE else [VIEWS[self.plane].right, VIEWS[self.plane].up]
        if self.path is not None:
            axes.plot(*self.path[: row + 1, view].T, color=TRACE, linewidth=1.5, zorder=1.5)
        if self.scale:
            starts, reaches = self._forces(row)
            scaled = {} if self.plane == SPACE else {"angles": "xy", "scale_units": "xy", "scale": 1.0, "width": 0.006}
            axes.quiver(*starts[:, view].T, *reaches[:, view].T, color=FORCE[:3], zorder=4.0, **scaled)
        axes.set(xlim=limits[0], ylim=limits[1])
        if self.half is not None:
            center_axes(axes, pose, self.plane, self.half)
        axes.set_title(f"{self.log.model.name}   t = {self.log.t[row]:.2f} s", loc="center")

    def _forces(self, row: int) -> tuple[Array, Array]:
        """Positions of the joints and their scaled forces on the child links, in the world, (n, 3) each."""
        model, poses = self.log.model, self.drawer.dynamics.forward_kinematics(self.log.q[row])
        starts, reaches = [], []
        for name, wrench in self.wrenches.items():
            loop = model.loops.get(name)
            pose = poses.get((loop or model.joints[name]).child, np.eye(4))
            R = pose[:3, :3] if loop is None else pose[:3, :3] @ loop.child_rotation
            starts.append(pose[:3, 3] if loop is None else pose[:3, 3] + pose[:3, :3] @ loop.child_xyz)
            reaches.append(self.scale * R @ wrench[row, :3])
        return np.array(starts), np.array(reaches)


def _rows(t: Array, step: float) -> list[int]:
    """Rows nearest to equally spaced times."""
    times = np.arange(t[0], t[-1] + 0.5 * step, step)
    after = np.clip(np.searchsorted(t, times), 1, max(len(t) - 1, 1))
    if len(t) == 1:
        return [0]
    nearer = np.where(times - t[after - 1] <= t[after] - times, after - 1, after)
    return [int(i) for i in nearer]


def check_tools(file: Path) -> None:
    """Raise an InputError if the suffix is not supported or a dependency is not installed."""
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        text = f"{file.name!r}: the suffix of an animation is one of {', '.join(ENDINGS)}."
        raise InputError(text, field="path", value=str(file), allowed=ENDINGS)
    if ending == ".mp4":
        ffmpeg()
    if ending == ".gif" and importlib.util.find_spec("PIL") is None:
        raise InputError(f"a .gif needs pillow: {how_to_install('tools')}", field="path", value=str(file))


def ffmpeg() -> str:
    """Path of ffmpeg: an installed program, or that of the package imageio-ffmpeg.

    Raises:
        InputError: ffmpeg is not installed.
    """
    own = shutil.which("ffmpeg")
    if own:
        return own
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        text = "an .mp4 needs ffmpeg: apt install ffmpeg, or pip install imageio-ffmpeg. A .gif needs neither."
        raise InputError(text, field="path", allowed=".gif") from None
