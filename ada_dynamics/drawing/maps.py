# SPDX-License-Identifier: Apache-2.0
"""Maps of a workspace: how near to each kind of singular pose a mechanism is, place by place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ada_dynamics.analysis.workspace import SingularityMap
from ada_dynamics.drawing import colours
from ada_dynamics.drawing.plots import drawing, save
from ada_dynamics.errors import InputError, unknown_name

SHOWN = {  # title, and what the colours are
    "serial": ("serial (type 1)", "least speed of the link"),
    "parallel": ("parallel (type 2)", "least share of the motors"),
    "constraint": ("constraint", "least hold of the loops"),
    "condition": ("condition", "1 / condition number"),
    "least": ("nearest of all kinds", "least of the measures"),
}
_SIZE = (3.6, 3.2)  # of a panel [inch]
_NEAR = 0.1  # a line around what is nearer to a singular pose than that


def plot_map(
    found: SingularityMap, path: str | os.PathLike[str] | None = None, measures: Sequence[str] = ("serial", "parallel")
) -> Any:
    """Draw measures over a grid of two axes, dark where the mechanism is singular, white where it cannot go.

    Args:
        found: by `analysis.workspace.singularity_map`.
        path: file to write; its ending says how.
        measures: of `Nearness`: serial, parallel, constraint, condition, or least.

    Returns:
        matplotlib's Figure.

    Raises:
        InputError: the grid has not two axes, a measure is unknown, matplotlib is missing, the file cannot be written.
    """
    axes = found.workspace.axes
    if len(axes) != 2:
        raise InputError(
            f"the map has the axes {', '.join(axes)}; a picture needs two.", field="axes", value=tuple(axes)
        )
    for name in measures:
        if name not in SHOWN:
            raise unknown_name("measure", name, SHOWN)
    with drawing() as new_figure:
        figure = new_figure(len(measures) * _SIZE[0], _SIZE[1])
        for i, name in enumerate(measures):
            _panel(figure, figure.add_subplot(1, len(measures), i + 1), found, name)
        if path is not None:
            save(figure, path)
    return figure


def _panel(figure: Any, panel: Any, found: SingularityMap, name: str) -> None:
    first, second = found.workspace.values
    values = np.array(getattr(found.distance, name))
    if name == "condition":
        values = 1.0 / values
    shades = panel.pcolormesh(first, second, values.T, cmap="viridis", shading="nearest", vmin=0.0, rasterized=True)
    if np.nanmin(values, initial=np.inf) < _NEAR < np.nanmax(values, initial=-np.inf):
        panel.contour(first, second, values.T, levels=[_NEAR], colors=colours.INK, linewidths=0.7)
    title, label = SHOWN[name]
    figure.colorbar(shades, ax=panel, shrink=0.85).set_label(label)
    panel.set_title(title, loc="left")
    panel.grid(visible=False)
    units = ["m" if axis in ("x", "y", "z") else "rad" for axis in found.workspace.axes]
    panel.set(**{f"{k}label": f"{a} [{u}]" for k, a, u in zip("xy", found.workspace.axes, units, strict=True)})
    if units == ["m", "m"]:
        panel.set_aspect("equal")
