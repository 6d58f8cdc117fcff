# SPDX-License-Identifier: Apache-2.0
"""Moving pictures of a motion without a display: .gif, .mp4, or one frame as a .png."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.analysis.motion import StateTrajectory, dynamics_of
from ada_dynamics.arrays import Array
from ada_dynamics.display import NotebookDisplay
from ada_dynamics.drawing.drawing import Figurine, Pose, draw, goes_far, look_at, prepare, reach, view_of
from ada_dynamics.drawing.plots import drawing, save
from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install

Frame = NDArray[np.uint8]  # (height, width, 3)
Progress = Callable[[float, str], object]

ENDINGS = (".gif", ".mp4", ".png")
_COLOURS = 64  # of a .gif
_FRAMED = 40  # poses that the axes must hold


class Film(NotebookDisplay):
    """A moving picture in a file, which notebooks show.

    Attributes:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        """Args: the file."""
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
    size: tuple[float, float] = (4.4, 4.4),
    dpi: int = 90,
    progress: Progress | None = None,
) -> Path:
    """Write a moving picture.

    Args:
        log: a `Log`, or anything with its model, t, q and v.
        path: file to write: .gif (needs pillow), .mp4 (needs ffmpeg) or .png (one frame).
        fps: frames per second; a .gif counts in hundredths of a second.
        speed: seconds of the motion per second of the film.
        plane: "xz", "yz", "xy" (seen along an axis) or "3d"; by default "xz" for a robot that stays in it, else "3d".
        at: time of the frame of a .png [s]; the last one by default.
        size: [inch].
        dpi: dots per inch.
        progress: called with the share that is done and a word.

    Returns:
        The file.

    Raises:
        InputError: the ending or a number is unusable, the file cannot be written, or what it takes is not installed;
            the message says how to get it.
    """
    file = Path(path)
    check_tools(file)
    ending = file.suffix.lower()
    for name, value in (("fps", fps), ("speed", speed), ("dpi", dpi)):
        if not 0.0 < value < np.inf:
            raise InputError(f"{name} is {value}; it must be positive.")
    if not len(log.t):
        raise InputError(f"the log of model {log.model.name!r} has no rows to draw.")
    film = _Film(log, plane, size, dpi)
    if ending == ".png":
        return film.write_still(file, at)
    rows = _rows(log.t, speed / fps)
    frames = _counted(film.frames(rows), len(rows), progress)
    if ending == ".gif":
        _write_gif(file, frames, fps)
    else:
        _write_mp4(file, frames, fps)
    return file


class _Film:
    """Frames of a motion, on one figure that is drawn anew."""

    def __init__(self, log: StateTrajectory, plane: str | None, size: tuple[float, float], dpi: int) -> None:
        self.log, self.size, self.dpi = log, size, dpi
        self.figurine = Figurine(dynamics_of(log))
        some = np.unique(np.linspace(0, len(log.t) - 1, min(_FRAMED, len(log.t))).astype(int))
        self.framed: list[Pose] = [self.figurine.at(log.q[i]) for i in some]
        self.plane = view_of(self.framed, plane)
        self.half = reach(self.framed) if goes_far(self.framed) else None  # the camera then follows the robot

    def frames(self, rows: Iterable[int]) -> Iterator[Frame]:
        """Pictures of some rows."""
        with drawing() as new_figure:
            figure, axes = self._prepared(new_figure)
            figure.canvas.draw()  # lays it out once; it must not jump about later
            figure.set_layout_engine("none")
            for row in rows:
                self._show(axes, row)
                figure.canvas.draw()
                yield np.asarray(figure.canvas.buffer_rgba())[..., :3].copy()

    def write_still(self, file: Path, at: float | None) -> Path:
        """One frame."""
        t = self.log.t
        if at is not None and not t[0] <= at <= t[-1]:
            raise InputError(f"at is {at:g} s; the log is from {t[0]:g} s to {t[-1]:g} s.")
        with drawing() as new_figure:
            figure, axes = self._prepared(new_figure)
            self._show(axes, len(t) - 1 if at is None else int(np.argmin(np.abs(t - at))))
            return save(figure, file)

    def _prepared(self, new_figure: Any) -> tuple[Any, Any]:
        # An even number of dots: films in the common colour format need it.
        width, height = (2.0 * round(0.5 * side * self.dpi) / self.dpi for side in self.size)
        figure = new_figure(width, height)
        figure.set_dpi(self.dpi)
        axes = prepare(figure, 111, self.framed, self.plane)
        axes.set_title(" ")
        self._own = set(axes.get_children())
        return figure, axes

    def _show(self, axes: Any, row: int) -> None:
        for artist in [a for a in axes.get_children() if a not in self._own]:
            artist.remove()
        limits = (axes.get_xlim(), axes.get_ylim())
        pose = self.figurine.at(self.log.q[row])
        draw(axes, pose, self.plane)
        axes.set(xlim=limits[0], ylim=limits[1])
        if self.half is not None:
            look_at(axes, pose, self.plane, self.half)
        axes.set_title(f"{self.log.model.name}   t = {self.log.t[row]:.2f} s", loc="center")


def _rows(t: Array, step: float) -> list[int]:
    """The rows nearest to equally spaced times."""
    times = np.arange(t[0], t[-1] + 0.5 * step, step)
    after = np.clip(np.searchsorted(t, times), 1, max(len(t) - 1, 1))
    if len(t) == 1:
        return [0]
    nearer = np.where(times - t[after - 1] <= t[after] - times, after - 1, after)
    return [int(i) for i in nearer]


def _counted(frames: Iterator[Frame], count: int, progress: Progress | None) -> Iterator[Frame]:
    for i, frame in enumerate(frames):
        yield frame
        if progress is not None:
            progress((i + 1) / count, f"frame {i + 1} of {count}")


def _write_gif(file: Path, frames: Iterator[Frame], fps: float) -> None:
    from PIL import Image  # there, as check_tools has found

    images = (Image.fromarray(frame).quantize(_COLOURS) for frame in frames)
    each = max(2, round(100.0 / fps)) * 10  # [ms]; what is shorter many viewers take for 100 ms
    try:
        next(images).save(file, save_all=True, append_images=images, duration=each, loop=0, optimize=False)
    except OSError as problem:
        raise InputError(f"the animation cannot be written to {file}: {problem}") from None


def _write_mp4(file: Path, frames: Iterator[Frame], fps: float) -> None:
    program = ffmpeg()
    first = next(frames)
    height, width = first.shape[:2]
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-"]
    wanted = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(file.resolve())]
    command = [program, "-y", "-loglevel", "error", *given, *wanted]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        into, out = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stderr)
        with contextlib.suppress(BrokenPipeError):  # it has ended; what it says is read below
            into.write(first.tobytes())
            for frame in frames:
                into.write(frame.tobytes())
            into.close()
        said = out.read().decode("utf-8", "replace").strip()
    if process.returncode:
        raise InputError(f"ffmpeg could not write {file}: {said.splitlines()[-1] if said else 'it said nothing'}")


def check_tools(file: Path) -> None:
    """Refuse a file that cannot become a film here.

    Raises:
        InputError: its ending is none of a film, or what it takes is not installed.
    """
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{file.name!r}: an animation ends in one of {', '.join(ENDINGS)}.")
    if ending == ".mp4":
        ffmpeg()
    if ending == ".gif" and importlib.util.find_spec("PIL") is None:
        raise InputError(f"a .gif needs pillow: {how_to_install('tools')}")


def ffmpeg() -> str:
    """The program that makes films: the machine's own, or that of the package imageio-ffmpeg.

    Raises:
        InputError: there is none.
    """
    own = shutil.which("ffmpeg")
    if own:
        return own
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise InputError(
            "an .mp4 needs ffmpeg: apt install ffmpeg, or pip install imageio-ffmpeg. A .gif needs neither."
        ) from None
