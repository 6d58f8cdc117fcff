# SPDX-License-Identifier: Apache-2.0
"""Figures of panels (a), (b), (c) ... by matplotlib without a display.

plot_log(log, "fall.png")  # joints and energies plot_log(log, "fall.pdf", ["position", "energy", "singularity"])
plot_log(log, "legs.png", joints=["left_knee", "right_knee"]) figure_of([Panel.of("Force", "[N]", t, {"left": f})],
"force.svg")
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.drawing import colours
from ada_dynamics.drawing.panels import Curve, Panel, base_of, panels_of
from ada_dynamics.errors import InputError, check_name
from ada_dynamics.resources import how_to_install

PANEL_SIZE = (3.9, 2.45)  # without the legend [inch]
DPI = 130
CURVES = 8  # of a panel; the palette has seven colours, and a longer legend would not fit
_LETTER = 0.6  # width of a letter in a legend relative to its height
_ROOM = 0.05  # margin next to markers, relative to the range of x
_BESIDE = 4.0  # width of the line samples and margins of a legend in letter heights


def plot_log(
    log: Any,
    path: str | os.PathLike[str] | None = None,
    panels: Sequence[str | Panel] | None = None,
    *,
    joints: Sequence[str] | None = None,
    columns: int | None = None,
) -> Any:
    """Plot a motion over time.

    Args:
        log: a `Log`, or a motion with model, t, q, v (a, tau, ...).
        path: file to write (.png, .pdf, .svg, ...), or None.
        panels: keys of `drawing.panels.PANELS`, and panels; by default joints, a floating base, energies, and
            the closure error of loops.
        joints: names of the joints to draw, at most 8; by default those with the largest range of motion.
        columns: panels per row; by default 2, or 3 for 7 panels or more.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: a panel or joint is unknown or has no data, matplotlib is not installed, or the file cannot be
            written.
    """
    return figure_of(panels_for(log, panels, joints), path, columns)


def panels_for(
    log: Any, panels: Sequence[str | Panel] | None = None, joints: Sequence[str] | None = None
) -> list[Panel]:
    """Panels drawn by `plot_log` with these arguments; omitted curves are mentioned in the note of a panel."""
    chosen = default_panels(log) if panels is None else list(panels)
    made = select_joints(panels_of(log, chosen), log, joints)
    singular = tuple(getattr(log, "singular", ())) or tuple(next((p.marks for p in made if p.marks), ()))
    if singular:
        made = [replace(p, marks=singular) if p.xlabel.startswith("Time") and not p.marks else p for p in made]
    return made


def default_panels(log: Any) -> list[str]:
    """Names of the default panels for a robot."""
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
) -> Any:
    """Arrange panels in rows, lettered (a), (b), (c) ...

    Args:
        panels: panels to draw; a panel with more than 8 curves shows those with the largest range.
        path: file to write, or None.
        columns: panels per row; by default 2, or 3 for 7 panels or more.
        title: title of the figure.

    Returns:
        The matplotlib Figure.
    """
    if not panels:
        raise InputError("a figure needs at least one panel.", field="panels", value=0)
    wide = columns if columns is not None else min(len(panels), 2 if len(panels) < 7 else 3)
    if wide < 1:
        raise InputError(f"columns is {columns}; it must be at least 1.", field="columns", value=columns)
    wide = min(wide, len(panels))
    rows = -(-len(panels) // wide)
    with figure_context() as new_figure:
        shown = [limit_curves(panel) for panel in panels]
        legend = max(_legend_width(panel) for panel in shown)
        figure = new_figure(wide * (PANEL_SIZE[0] + legend), rows * PANEL_SIZE[1] + (0.3 if title else 0.0))
        for i, panel in enumerate(shown):
            axes = figure.add_subplot(rows, wide, i + 1)
            draw_panel(axes, panel, f"({chr(ord('a') + i)}) " if 1 < len(panels) <= 26 else "")
        if title:
            figure.suptitle(title)
        if path is not None:
            save(figure, path)
    return figure


@contextmanager
def figure_context() -> Iterator[Callable[[float, float], Any]]:
    """Apply the style of the project: `with figure_context() as new_figure: figure = new_figure(width, height)` [inch].

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


def check_suffix(file: Path) -> None:
    """Raise an InputError if matplotlib cannot write files with this suffix or is not installed."""
    with figure_context() as new_figure:
        known = sorted(f".{name}" for name in new_figure(1.0, 1.0).canvas.get_supported_filetypes())
    if file.suffix.lower() not in known:
        text = f"the plot cannot be written to {file}: its suffix must be one of {', '.join(known)}."
        raise InputError(text, field="path", value=str(file), allowed=tuple(known))


def save(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Write a figure; the suffix of the file selects the format.

    Raises:
        InputError: the suffix is unknown or the file cannot be written.
    """
    file = Path(path)
    check_suffix(file)
    # Files without dates are reproducible.
    undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(file.suffix.lower())
    try:
        figure.savefig(file, metadata=undated)
    except (OSError, ValueError) as problem:
        raise InputError(f"the plot cannot be written to {file}: {problem}", field="path", value=str(file)) from None
    return file


# --- the curves of a panel: those with the largest range, unless joints are given ----------------------------------
def check_joints(model: Any, joints: Sequence[str] | None) -> None:
    """Raise an InputError for names that are not joints of the model, or for more than `CURVES` names."""
    if joints is None:
        return
    if isinstance(joints, str):
        raise InputError(
            f"joints is {joints!r}: give a list of names, such as [{joints!r}].", field="joints", value=joints
        )
    for name in joints:
        check_name("joint", name, model.joint_names)
    if not 1 <= len(set(joints)) <= CURVES:
        text = f"joints has {len(set(joints))} names; a panel shows 1 to {CURVES} of them."
        raise InputError(text, field="joints", value=tuple(joints), allowed=f"1 to {CURVES} names")


def select_joints(panels: Sequence[Panel], motion: Any, joints: Sequence[str] | None = None) -> list[Panel]:
    """Restrict all panels to the curves of the same joints.

    Args:
        panels: panels; curves without a joint are unchanged.
        motion: motion of the panels.
        joints: names of joints; by default those with the largest range of motion if the robot has more than `CURVES`.

    Raises:
        InputError: a name is not a joint of the model, or the list has more than `CURVES` names.
    """
    check_joints(motion.model, joints)
    travel = _travel(motion)
    found = []
    for panel in panels:
        own = list(dict.fromkeys(curve.joint for curve in panel.curves if curve.joint))
        if not own or (joints is None and len(panel.curves) <= CURVES):
            found.append(panel)
            continue
        chosen = _most(panel.curves, sorted(own, key=lambda name: -travel.get(name, 0.0))) if joints is None else joints
        kept = tuple(curve for curve in panel.curves if not curve.joint or curve.joint in chosen)
        if not kept:
            continue  # none of the chosen joints has a curve in this panel
        count = sum(name in chosen for name in own)
        words = "joints with the largest range" if joints is None else "joints"
        found.append(replace(panel, curves=kept, note=f"{count} of {len(own)} {words}" if count < len(own) else ""))
    return found


def limit_curves(panel: Panel) -> Panel:
    """Restrict a panel to the `CURVES` curves with the largest range, in their original order."""
    if len(panel.curves) <= CURVES:
        return panel
    ranges = [max(_range(curve.y), _range(curve.x) if panel.is_plane else 0.0) for curve in panel.curves]
    kept = sorted(np.argsort([-width for width in ranges], kind="stable")[:CURVES])
    note = f"{CURVES} of {len(panel.curves)} curves with the largest range"
    return replace(panel, curves=tuple(panel.curves[i] for i in kept), note=panel.note or note)


def _travel(motion: Any) -> dict[str, float]:
    """Range of motion by joint: the largest range of its coordinates."""
    model = motion.model
    if not len(motion.t):
        return dict.fromkeys(model.joint_names, 0.0)
    ranges = np.ptp(np.where(np.isfinite(motion.q), motion.q, 0.0), axis=0)
    return {name: float(ranges[model.q_index(name)].max(initial=0.0)) for name in model.joint_names}


def _most(curves: Sequence[Curve], ranked: Sequence[str]) -> Collection[str]:
    """First joints whose curves fit into a panel, at least one."""
    room = CURVES
    chosen: list[str] = []
    for name in ranked:
        room -= sum(one.joint == name for one in curves)
        if room < 0 and chosen:
            break
        chosen.append(name)
    return chosen


def _range(values: NDArray[np.float64]) -> float:
    finite = values[np.isfinite(values)]
    return float(np.ptp(finite)) if len(finite) else 0.0


# --- drawing -------------------------------------------------------------------------------------------------------
def draw_panel(axes: Any, panel: Panel, letter: str = "") -> None:
    """Draw a panel on matplotlib axes."""
    covered = _hidden_counts(panel.curves)
    for i, curve in enumerate(panel.curves):
        axes.plot(curve.x, curve.y, label=curve.label, **_line_style(curve, i, covered[i]))
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
        _limit_zoom(axes, panel.curves)
    if panel.is_plane:
        axes.set_aspect("equal", adjustable="datalim")
    elif panel.curves:
        left, right = _extent([curve.x for curve in panel.curves])
        left, right = (left, right) if right > left else (left - 0.5, right + 0.5)
        is_scattered = all(curve.style and curve.style not in colours.DASHES for curve in panel.curves)
        margin = _ROOM * (right - left) if is_scattered else 0.0  # keeps markers within the axes
        axes.set_xlim(left - margin, right + margin)
    if any(curve.label for curve in panel.curves):
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)


def _legend_width(panel: Panel) -> float:
    """Width of the legend [inch]."""
    longest = max((len(curve.label) for curve in panel.curves), default=0)
    height = float(colours.STYLE["legend.fontsize"]) / 72.0
    return height * (_BESIDE + _LETTER * longest) if longest else 0.0


def _hidden_counts(every: Sequence[Curve]) -> list[int]:
    """Number of curves below each curve that it would hide; such curves are dashed."""
    low, high = _extent([curve.y for curve in every])
    near = 0.004 * (high - low)
    hidden = []
    for i, above in enumerate(every):
        below = [s for s in every[:i] if s.x.shape == above.x.shape]
        hidden.append(sum(bool(np.nanmax(np.abs(above.y - s.y), initial=0.0) <= near) for s in below))
    return hidden


def _line_style(curve: Curve, i: int, hides: int) -> dict[str, Any]:
    look: dict[str, Any] = dict(colours.curve(i))
    if hides and not curve.style:
        look["linestyle"] = colours.DASHES[min(hides, len(colours.DASHES) - 1)]
    elif curve.style in colours.DASHES:
        look["linestyle"] = curve.style
    elif curve.style:
        look.update(marker=curve.style, linestyle="none", markersize=4.0)
    return look


def _limit_zoom(axes: Any, every: Sequence[Curve]) -> None:
    """Keep the scale of nearly constant curves larger than their rounding errors."""
    low, high = _extent([curve.y for curve in every])
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size or size == 0.0:
        half = 0.05 * size or 1.0
        axes.set_ylim(0.5 * (low + high) - half, 0.5 * (low + high) + half)


def _extent(values: Sequence[Array]) -> tuple[float, float]:
    """Smallest and largest finite number; 0 and 1 without any."""
    finite = np.concatenate([x[np.isfinite(x)] for x in values] or [np.zeros(0)])
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
