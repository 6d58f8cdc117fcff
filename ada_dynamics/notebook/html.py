# SPDX-License-Identifier: Apache-2.0
"""HTML of models, logs and results in notebooks, with figures as SVG; it needs no server."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import ClosedConfiguration, closed_configuration
from ada_dynamics.drawing.animate import Film
from ada_dynamics.drawing.plots import figure_context, plot_log
from ada_dynamics.drawing.robot_drawing import RobotDrawing, draw_robot, prepare_axes, select_plane
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError, InputError
from ada_dynamics.identification.result import Identification, ParameterEstimate
from ada_dynamics.model.model import Model, motor_joints
from ada_dynamics.robots.catalogue import RobotList, start_of
from ada_dynamics.robots.check.report import CheckReport
from ada_dynamics.simulation.log import Log

_SIDE = 3.4  # side of a figure [inch]
_MAX_ROWS = 40  # of a table
_KINDS = {".gif": "image/gif", ".png": "image/png", ".mp4": "video/mp4"}
_MAX_SVG = 300_000  # characters; larger figures become PNG
_DPI = 80
_CELL = "padding:0.1em 0.8em 0.1em 0;vertical-align:top"


@singledispatch
def html_of(content: object) -> str | None:
    """HTML of an object, or None for types without HTML."""
    return None


@html_of.register
def _(model: Model) -> str:
    actuated = set(motor_joints(model))
    rows = [
        (
            "  " * depth + joint.name,
            joint.kind,
            f"{joint.parent} → {joint.child}",
            "mimics " + joint.mimic.joint if joint.mimic else "motor" if joint.name in actuated else "",
        )
        for depth, joint in _by_depth(model)
    ]
    parts = [
        _heading(model.name, f"{len(model.links)} links, nq = {model.nq}, nv = {model.nv}, {model.total_mass:.5g} kg")
    ]
    parts.append(_short_table(("joint", "type", "links", ""), rows))
    if model.loops:
        loops = [(loop.name, loop.kind, f"{loop.parent} — {loop.child}") for loop in model.loops.values()]
        parts.append(_short_table(("loop", "type", "links"), loops))
    return _side_by_side("".join(parts), _figure(lambda: _robot_figure(model, _default_configuration(model))))


@html_of.register
def _(q: ClosedConfiguration) -> str | None:
    model = q._model
    if model is None:  # a slice of a configuration
        return None
    words = "".join(f"<div>{line}</div>" for line in q.report().splitlines())
    positions = [(name, " ".join(f"{x:.5g}" for x in q[model.q_index(name)])) for name in model.joint_names]
    table = _heading(f"configuration of {model.name}") + words + _short_table(("joint", "q [rad, m]"), positions)
    return _side_by_side(table, _figure(lambda: _robot_figure(model, np.asarray(q))))


@html_of.register
def _(log: Log) -> str:
    span = f"{log.t[0]:g} to {log.t[-1]:g} s" if len(log) else "empty"
    head = _heading(f"motion of {log.model.name}", f"{len(log)} rows, {span}")
    happened = [(event.t, event.name) for event in log.events] + [(t, "singular configuration") for t in log.singular]
    table = _short_table(("t [s]", "event"), sorted(happened)) if happened else ""
    return head + table + (_figure(lambda: plot_log(log)) if len(log) else "")


@html_of.register
def _(report: CheckReport) -> str:
    counts = report.to_dict()["counts"]
    words = ", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts.items())
    rows = [(f.severity, f.line or "", f.where, f"{f.message} {f.fix}".rstrip()) for f in report.findings]
    head = _heading(report.robot or report.source, "no findings" if not rows else words)
    return head + (_short_table(("", "line", "where", "what"), rows) if rows else "")


@html_of.register
def _(found: Identification) -> str:
    left = [(joint, float(x)) for joint, x in zip(found.joints, found.fit.percent, strict=True)]
    head = _heading(f"parameters of {found.equations.dynamics.model.name}", f"condition {found.condition:.3g}")
    tables = [
        _short_table(("parameter", "model", "identified", "deviation", ""), map(_parameter, found.parameters())),
        _short_table(("combination", "model", "identified", "deviation", ""), map(_parameter, found.combinations())),
    ]
    return head + _side_by_side(*tables, _short_table(("joint", "residual effort [%]"), left))


@html_of.register
def _(film: Film) -> str:
    content = _data_url(_KINDS[film.path.suffix.lower()], film.path.read_bytes())
    if film.path.suffix.lower() == ".mp4":
        return f'<video controls loop src="{content}"></video>'
    return f'<img src="{content}">'


@html_of.register
def _(robots: RobotList) -> str:
    return _table(("name", "robot"), robots.items())


def _parameter(row: ParameterEstimate) -> tuple[object, ...]:
    return row.name, row.model, row.value, row.deviation, row.status


def _short_table(head: tuple[str, ...], rows: Any) -> str:
    every = list(rows)
    more = f"<div>and {len(every) - _MAX_ROWS} more</div>" if len(every) > _MAX_ROWS else ""
    return _table(head, every[:_MAX_ROWS]) + more


def _by_depth(model: Model) -> list[tuple[int, Any]]:
    """Joints in their order, with their depth in the tree."""
    depths = {model.root: 0}
    found = []
    for joint in model.joints.values():  # parents come first
        depth = depths.get(joint.parent, 0)
        depths[joint.child] = depth + 1
        found.append((depth, joint))
    return found


def _default_configuration(model: Model) -> Array:
    """Initial configuration of the catalogue, or a configuration with closed loops, or that of the file."""
    start = start_of(model.name, model)
    if start is not None:
        return np.asarray(start)
    try:
        return np.asarray(closed_configuration(model))
    except AdaError:
        return model.home()


def _robot_figure(model: Model, q: Array) -> Any:
    """Figure of a robot at a configuration."""
    pose = RobotDrawing(Dynamics(model)).at(q)
    seen = select_plane([pose], None)
    with figure_context() as new_figure:
        figure = new_figure(_SIDE, _SIDE)
        draw_robot(prepare_axes(figure, 111, [pose], seen), pose, seen)
    return figure


# --- elements of a page --------------------------------------------------------------------------------------------
def _side_by_side(*parts: str) -> str:
    """Elements side by side, wrapped on narrow pages."""
    boxes = "".join(f'<div style="min-width:0;overflow-x:auto">{part}</div>' for part in parts if part)
    return f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">{boxes}</div>'


def _heading(text: str, about: str = "") -> str:
    """A name in bold and a description."""
    return f"<div><b>{escape(text)}</b>{' ' + escape(about) if about else ''}</div>"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with right-aligned numbers of five digits."""
    line = "".join(f'<th style="text-align:left;{_CELL}">{escape(name)}</th>' for name in head)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f'<table style="font-size:0.9em"><thead><tr>{line}</tr></thead><tbody>{body}</tbody></table>'


def _cell(value: object) -> str:
    is_number = isinstance(value, float | int) and not isinstance(value, bool)
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    align = "right" if is_number else "left"
    return f'<td style="text-align:{align};white-space:pre-wrap;{_CELL}">{escape(text)}</td>'


def _figure(make: Callable[[], Any]) -> str:
    """A matplotlib figure as SVG or PNG; empty if matplotlib is not installed."""
    try:
        figure = make()
    except InputError:  # the page is useful without figures
        return ""
    svg = io.StringIO()
    figure.savefig(svg, format="svg", bbox_inches="tight", metadata={"Date": None})
    text = svg.getvalue()
    if len(text) <= _MAX_SVG:
        return text[text.index("<svg") :]
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=_DPI, bbox_inches="tight")
    return f'<img src="{_data_url("image/png", png.getvalue())}">'


def _data_url(kind: str, content: bytes) -> str:
    """Content of a file as a data URL."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
