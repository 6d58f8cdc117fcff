# SPDX-License-Identifier: Apache-2.0
"""Figures of panels (a), (b), (c) ... as in the papers, drawn by matplotlib without a display.

plot_log(log, "fall.png")                                  # joints and energies
plot_log(log, "fall.pdf", ["position", "energy", "singularity"])
plot_log(log, "legs.png", joints=["left_knee", "right_knee"])
figure_of([Panel.of("Force", "[N]", t, {"left": f})], "force.svg")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.drawing import choice, colours
from ada_dynamics.drawing.joint_panels import base_of
from ada_dynamics.drawing.panels import Panel, Series, panels_of
from ada_dynamics.errors import InputError
from ada_dynamics.extras import how_to_install

PANEL_SIZE = (3.9, 2.45)  # [inch]
DPI = 130
POINTS = 4000  # of a curve that are drawn; more cannot be told apart
_LETTER = 0.6  # width of one in a legend, by its height
_ROOM = 0.05  # beside markers, of the width of what they show
_BESIDE = 4.0  # heights of letters that lines and margins of a legend take


def plot_log(
    log: Any,
    path: str | os.PathLike[str] | None = None,
    panels: Sequence[str | Panel] | None = None,
    *,
    joints: Sequence[str] | None = None,
    columns: int | None = None,
    title: str | None = None,
) -> Any:
    """Draw a motion over time.

    Args:
        log: a `Log`, or anything with its model, t, q, v (a, tau ...).
        path: file to write (.png, .pdf, .svg, ...); none where None.
        panels: names of `drawing.panels.panel_names()`, and panels of your own; joints, a floating base, energies and,
            with loops, their gap by default.
        joints: whose curves are drawn, at most 8; by default those that move most, where a robot has more.
        columns: panels side by side; 2 by default, 3 from 7 panels on.
        title: above all.

    Returns:
        matplotlib's Figure.

    Raises:
        InputError: a panel or joint is unknown or has nothing to show, matplotlib is missing, the file cannot be
            written.
    """
    return figure_of(panels_for(log, panels, joints), path, columns, title=title)


def panels_for(
    log: Any, panels: Sequence[str | Panel] | None = None, joints: Sequence[str] | None = None
) -> list[Panel]:
    """The panels that `plot_log` draws; a panel's note says what it leaves out.

    Args:
        log: as there.
        panels: as there.
        joints: as there.
    """
    chosen = default_panels(log) if panels is None else list(panels)
    made = choice.of_joints(panels_of(log, chosen), log, joints)
    singular = tuple(getattr(log, "singular", ()))
    if singular:
        made = [p.with_marks(singular) if p.xlabel.startswith("Time") and not p.marks else p for p in made]
    return made


def default_panels(log: Any) -> list[str]:
    """Names of the panels that the papers show of such a robot."""
    model = log.model
    base = base_of(model)
    names: list[str] = []
    if not base or model.nv > 6:
        names += ["position", "velocity"]
        names += [name for name, rows in (("acceleration", "a"), ("effort", "tau")) if _has(log, rows)]
    if base:
        names += ["base_position", "base_orientation", "base_velocity", "base_angular_velocity"]
    names.append("energy")
    return [*names, "loop_gap"] if model.loops else names


def _has(log: Any, rows: str) -> bool:
    values = getattr(log, rows, None)
    return values is not None and bool(np.isfinite(values).any())


def figure_of(
    panels: Sequence[Panel],
    path: str | os.PathLike[str] | None = None,
    columns: int | None = None,
    *,
    title: str | None = None,
    size: tuple[float, float] = PANEL_SIZE,
) -> Any:
    """Lay panels out row by row, lettered (a), (b), (c) ...

    Args:
        panels: what to draw; of a panel with more than 8 curves, those that change most.
        path: file to write; none where None.
        columns: panels side by side; 2 by default, 3 from 7 panels on.
        title: above all.
        size: of one panel without its legend [inch].

    Returns:
        matplotlib's Figure.
    """
    if not panels:
        raise InputError("a figure needs at least one panel.")
    wide = columns if columns is not None else min(len(panels), 2 if len(panels) < 7 else 3)
    if wide < 1:
        raise InputError(f"columns is {columns}; it must be at least 1.")
    wide = min(wide, len(panels))
    rows = -(-len(panels) // wide)
    with drawing() as new_figure:
        shown = [choice.limited(panel) for panel in panels]
        beside = max(_legend_width(panel) for panel in shown)
        figure = new_figure(wide * (size[0] + beside), rows * size[1] + (0.3 if title else 0.0))
        for i, panel in enumerate(shown):
            axes = figure.add_subplot(rows, wide, i + 1)
            draw_panel(axes, panel, f"({chr(ord('a') + i)}) " if 1 < len(panels) <= 26 else "")
        if title:
            figure.suptitle(title)
        if path is not None:
            save(figure, path)
    return figure


@contextmanager
def drawing() -> Iterator[Callable[[float, float], Any]]:
    """matplotlib with the house's style: `with drawing() as new_figure: figure = new_figure(width, height)` [inch].

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(f"plots need matplotlib: {how_to_install('tools')}") from None

    def new_figure(width: float, height: float) -> Any:
        figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        return figure

    with matplotlib.rc_context(colours.STYLE):
        yield new_figure


def check_ending(file: Path) -> None:
    """Refuse a file whose ending no picture can have.

    Raises:
        InputError: it is unknown, or matplotlib is not installed.
    """
    with drawing() as new_figure:
        known = sorted(f".{name}" for name in new_figure(1.0, 1.0).canvas.get_supported_filetypes())
    if file.suffix.lower() not in known:
        raise InputError(f"the plot cannot be written to {file}: its ending must be one of {', '.join(known)}.")


def save(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write a figure; the ending of the file says how.

    Raises:
        InputError: the ending is unknown or the file cannot be written.
    """
    file = Path(path)
    check_ending(file)
    # No date in the file: the same figure is the same bytes.
    undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(file.suffix.lower())
    try:
        figure.savefig(file, metadata=undated)
    except (OSError, ValueError) as problem:
        raise InputError(f"the plot cannot be written to {file}: {problem}") from None
    return file


def draw_panel(axes: Any, panel: Panel, letter: str = "") -> None:
    """Draw a panel on matplotlib's axes."""
    covered = _covered(panel.series)
    for i, series in enumerate(panel.series):
        x, y = thinned(series.x, series.y)
        axes.plot(x, y, label=series.label, **_look(series, i, covered[i]))
    for mark in panel.marks:
        axes.axvline(mark, color=colours.MARK, linewidth=0.8, linestyle=":", zorder=0.5)
    axes.set_title(letter + panel.title, loc="left")
    if panel.note:
        axes.set_title(panel.note, loc="right", fontsize=colours.STYLE["legend.fontsize"], color=colours.SOFT)
    axes.set_xlabel(panel.xlabel)
    axes.set_ylabel(panel.ylabel)
    if panel.is_logarithmic:
        axes.set_yscale("log", nonpositive="mask")
    elif not panel.is_plane:
        _keep_noise_small(axes, panel.series)
    if panel.is_plane:
        axes.set_aspect("equal", adjustable="datalim")
    elif panel.series:
        left, right = _span([series.x for series in panel.series])
        is_scattered = all(series.style and series.style not in colours.DASHES for series in panel.series)
        room = _ROOM * (right - left) if is_scattered else 0.0  # so that no marker is cut at the border
        axes.set_xlim(left - room, right + room)
    if any(series.label for series in panel.series):
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def _legend_width(panel: Panel) -> float:
    """Room beside the axes [inch]."""
    longest = max((len(series.label) for series in panel.series), default=0)
    height = float(colours.STYLE["legend.fontsize"]) / 72.0
    return height * (_BESIDE + _LETTER * longest) if longest else 0.0


def _covered(every: Sequence[Series]) -> list[int]:
    """How many curves below it each curve would hide: it is dashed, so that they show through."""
    finite = [s.y[np.isfinite(s.y)] for s in every]
    low = min((float(y.min()) for y in finite if len(y)), default=0.0)
    high = max((float(y.max()) for y in finite if len(y)), default=0.0)
    near = 0.004 * (high - low)
    hidden = []
    for i, above in enumerate(every):
        below = [s for s in every[:i] if s.x.shape == above.x.shape]
        hidden.append(sum(bool(np.nanmax(np.abs(above.y - s.y), initial=0.0) <= near) for s in below))
    return hidden


def _look(series: Series, i: int, hides: int) -> dict[str, Any]:
    look: dict[str, Any] = dict(colours.curve(i))
    if hides and not series.style:
        look["linestyle"] = colours.DASHES[min(hides, len(colours.DASHES) - 1)]
    elif series.style in colours.DASHES:
        look["linestyle"] = series.style
    elif series.style:
        look.update(marker=series.style, linestyle="none", markersize=4.0)
    return look


def _keep_noise_small(axes: Any, every: Sequence[Series]) -> None:
    """Rounding errors of a constant are not blown up to fill the panel."""
    values = [s.y[np.isfinite(s.y)] for s in every]
    values = [y for y in values if len(y)]
    if not values:
        return
    low, high = min(float(y.min()) for y in values), max(float(y.max()) for y in values)
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size or size == 0.0:
        half = 0.05 * size or 1.0
        axes.set_ylim(0.5 * (low + high) - half, 0.5 * (low + high) + half)


def _span(values: Sequence[Array]) -> tuple[float, float]:
    found = [x[np.isfinite(x)] for x in values]
    found = [x for x in found if len(x)]
    low = min((float(x.min()) for x in found), default=0.0)
    high = max((float(x.max()) for x in found), default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def thinned(x: Array, y: Array, points: int = POINTS) -> tuple[Array, Array]:
    """At most about that many points of a curve, with the least and the greatest value of each stretch kept."""
    if len(x) <= points:
        return x, y
    kept = extreme_rows(y, points)
    return x[kept], y[kept]


def extreme_rows(y: Array, points: int) -> NDArray[np.intp]:
    """About that many rows of a curve: the first, the last, and where it is least and greatest in each stretch."""
    each = -(-2 * len(y) // points)
    starts = np.arange(0, len(y), each)
    blocks = np.full((len(starts), each), np.nan)
    blocks.flat[: len(y)] = y
    finite = np.isfinite(blocks)
    low = starts + np.argmin(np.where(finite, blocks, np.inf), axis=1)
    high = starts + np.argmax(np.where(finite, blocks, -np.inf), axis=1)
    return np.unique(np.concatenate([[0], low, high, [len(y) - 1]]))
