# SPDX-License-Identifier: Apache-2.0
"""Maps of the distances to singular configurations over a workspace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ada_dynamics.analysis.workspace import SingularityMap
from ada_dynamics.drawing import colours
from ada_dynamics.drawing.plots import figure_context, save
from ada_dynamics.errors import InputError, check_name

SHOWN = {  # title, and label of the colours
    "serial": ("serial (type 1)", "smallest speed of the link"),
    "parallel": ("parallel (type 2)", "smallest fraction of the motors"),
    "constraint": ("constraint", "smallest singular value"),
    "condition": ("condition", "1 / condition number"),
    "minimum": ("all types", "smallest distance"),
}
_SIZE = (3.6, 3.2)  # of a panel [inch]
_NEAR = 0.1  # contour line around smaller distances


def plot_map(
    found: SingularityMap, path: str | os.PathLike[str] | None = None, measures: Sequence[str] = ("serial", "parallel")
) -> Any:
    """Draw distances over a grid of two axes: dark near singular configurations, white out of reach.

    Args:
        found: result of `analysis.workspace.singularity_map`.
        path: file to write; its suffix selects the format.
        measures: attributes of `SingularityDistance`: serial, parallel, constraint, condition, or minimum.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: the grid does not have two axes, a measure is unknown, matplotlib is not installed, or the file
            cannot be written.
    """
    axes = found.workspace.axes
    if len(axes) != 2:
        raise InputError(
            f"the map has the axes {', '.join(axes)}; a picture needs two.", field="axes", value=tuple(axes)
        )
    for name in measures:
        check_name("measure", name, SHOWN)
    with figure_context() as new_figure:
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
