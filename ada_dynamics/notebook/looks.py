# SPDX-License-Identifier: Apache-2.0
"""The look of each kind of thing in a notebook."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import ClosedConfiguration, close_loops
from ada_dynamics.drawing.animate import Film
from ada_dynamics.drawing.drawing import Figurine, draw, prepare, view_of
from ada_dynamics.drawing.plots import drawing, plot_log
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import AdaError
from ada_dynamics.identification.result import Identification, ParameterEstimate
from ada_dynamics.model.model import Model, motor_joints
from ada_dynamics.notebook.html import beside, data_address, drawn, heading, table
from ada_dynamics.robots.catalogue import RobotList, start_of
from ada_dynamics.robots.check.report import Report
from ada_dynamics.simulation.log import Log

_SIDE = 3.4  # of a picture [inch]
_ROWS = 40  # of a table; the rest is counted
_KINDS = {".gif": "image/gif", ".png": "image/png", ".mp4": "video/mp4"}


@singledispatch
def html_of(shown: object) -> str | None:
    """HTML of a thing; None for one that has no look."""
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
        heading(model.name, f"{len(model.links)} links, nq = {model.nq}, nv = {model.nv}, {model.total_mass:.5g} kg")
    ]
    parts.append(_cut(("joint", "type", "links", ""), rows))
    if model.loops:
        loops = [(loop.name, loop.kind, f"{loop.parent} — {loop.child}") for loop in model.loops.values()]
        parts.append(_cut(("loop", "type", "links"), loops))
    return beside("".join(parts), drawn(lambda: _portrait(model, _some_pose(model))))


@html_of.register
def _(q: ClosedConfiguration) -> str | None:
    model = q._model
    if model is None:  # a part of a pose
        return None
    words = "".join(f"<div>{line}</div>" for line in q.report().splitlines())
    positions = [(name, " ".join(f"{x:.5g}" for x in q[model.q_index(name)])) for name in model.joint_names]
    table = heading(f"pose of {model.name}") + words + _cut(("joint", "q [rad, m]"), positions)
    return beside(table, drawn(lambda: _portrait(model, np.asarray(q))))


@html_of.register
def _(log: Log) -> str:
    span = f"{log.t[0]:g} to {log.t[-1]:g} s" if len(log) else "empty"
    head = heading(f"motion of {log.model.name}", f"{len(log)} rows, {span}")
    happened = [(event.t, event.name) for event in log.events] + [(t, "singular pose") for t in log.singular]
    table = _cut(("t [s]", "event"), sorted(happened)) if happened else ""
    return head + table + (drawn(lambda: plot_log(log)) if len(log) else "")


@html_of.register
def _(report: Report) -> str:
    counts = report.to_dict()["counts"]
    words = ", ".join(f"{count} {severity}{'' if count == 1 else 's'}" for severity, count in counts.items())
    rows = [(f.severity, f.line or "", f.where, f"{f.message} {f.fix}".rstrip()) for f in report.findings]
    head = heading(report.robot or report.source, "no findings" if not rows else words)
    return head + (_cut(("", "line", "where", "what"), rows) if rows else "")


@html_of.register
def _(found: Identification) -> str:
    left = [(joint, float(x)) for joint, x in zip(found.joints, found.fit.percent, strict=True)]
    head = heading(f"parameters of {found.equations.dynamics.model.name}", f"condition {found.condition:.3g}")
    tables = [
        _cut(("parameter", "model", "identified", "deviation", ""), map(_parameter, found.parameters())),
        _cut(("combination", "model", "identified", "deviation", ""), map(_parameter, found.combinations())),
    ]
    return head + beside(*tables, _cut(("joint", "effort left [%]"), left))


@html_of.register
def _(film: Film) -> str:
    content = data_address(_KINDS[film.path.suffix.lower()], film.path.read_bytes())
    if film.path.suffix.lower() == ".mp4":
        return f'<video controls loop src="{content}"></video>'
    return f'<img src="{content}">'


@html_of.register
def _(robots: RobotList) -> str:
    return table(("name", "robot"), robots.items())


def _parameter(row: ParameterEstimate) -> tuple[object, ...]:
    return row.name, row.model, row.value, row.deviation, row.status


def _cut(head: tuple[str, ...], rows: Any) -> str:
    every = list(rows)
    more = f"<div>and {len(every) - _ROWS} more</div>" if len(every) > _ROWS else ""
    return table(head, every[:_ROWS]) + more


def _by_depth(model: Model) -> list[tuple[int, Any]]:
    """Joints in their order, with how many stand before each."""
    depths = {model.root: 0}
    found = []
    for joint in model.joints.values():  # parents come first
        depth = depths.get(joint.parent, 0)
        depths[joint.child] = depth + 1
        found.append((depth, joint))
    return found


def _some_pose(model: Model) -> Array:
    """The start of a robot of the catalogue, else a closed pose; that of its file where none is found."""
    start = start_of(model.name, model)
    if start is not None:
        return np.asarray(start)
    try:
        return np.asarray(close_loops(model))
    except AdaError:
        return model.home()


def _portrait(model: Model, q: Array) -> Any:
    """A figure of a robot in a pose."""
    pose = Figurine(Dynamics(model)).at(q)
    seen = view_of([pose], None)
    with drawing() as new_figure:
        figure = new_figure(_SIDE, _SIDE)
        draw(prepare(figure, 111, [pose], seen), pose, seen)
    return figure
