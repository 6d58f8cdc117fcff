# SPDX-License-Identifier: Apache-2.0
"""Panels of a figure as data: curves with a title and units, and the named panels of a motion.

panels_of(log, ["position", "velocity", "energy"])

Angles are in degrees, other quantities in SI units, as in the figures of Takahashi 2012.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name

TIME = "Time [s]"
_SIGNAL = "signal:"  # prefix of a controller signal
_LINK = ("link_position:", "link_velocity:")  # prefixes of a link
_MAKERS = ("joint_panels", "body_panels")


@dataclass(frozen=True, eq=False)
class Series:
    """A curve.

    Attributes:
        label: label in the legend; empty for a single curve named by the title.
        x: abscissae, usually times, (N,).
        y: values, (N,).
        style: dashes ("-", "--", ":"), or a marker such as "o"; empty for the default of the palette.
        joint: name of the joint of the curve, or empty.
    """

    label: str
    x: Array
    y: Array
    style: str = ""
    joint: str = ""

    def __post_init__(self) -> None:
        """Convert x and y to arrays and check their shapes."""
        for name in ("x", "y"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if self.x.ndim != 1 or self.x.shape != self.y.shape:
            text = (
                f"curve {self.label!r} has x of shape {self.x.shape} and y of shape {self.y.shape}; "
                "both must be one-dimensional and of equal length."
            )
            raise InputError(text, field="y", value=self.y.shape, allowed=self.x.shape)


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    Attributes:
        title: title, such as "Joint angle"; figures prepend "(a)" etc.
        ylabel: label with unit, such as "[deg]".
        series: curves.
        xlabel: label with unit.
        marks: values of x of events, such as singular configurations.
        is_logarithmic: True for a logarithmic y axis, which omits values that are not positive.
        is_plane: True if x and y are lengths in a plane, drawn at equal scale.
        note: remark next to the title, such as the number of omitted curves.
    """

    title: str
    ylabel: str
    series: Sequence[Series]
    xlabel: str = TIME
    marks: Sequence[float] = ()
    is_logarithmic: bool = False
    is_plane: bool = False
    note: str = ""

    @classmethod
    def of(cls, title: str, ylabel: str, x: ArrayLike, curves: Mapping[str, ArrayLike], **more: Any) -> Panel:
        """Create a panel of curves over a common x.

        Args:
            title: title.
            ylabel: label with unit.
            x: abscissae, usually times.
            curves: values by label.
            more: xlabel, marks, is_logarithmic, is_plane.
        """
        xs = np.asarray(x, dtype=np.float64)
        return cls(title, ylabel, tuple(Series(label, xs, np.asarray(y)) for label, y in curves.items()), **more)

    def with_marks(self, marks: Sequence[float]) -> Panel:
        """Copy of the panel with marks on its x axis."""
        return replace(self, marks=tuple(marks))


Maker = Callable[[Any], list[Panel]]
PANELS: dict[str, Maker] = {}  # functions of a motion, by name of the panel


def panel(name: str) -> Callable[[Maker], Maker]:
    """Register the function that creates the panels of a name."""

    def register(maker: Maker) -> Maker:
        PANELS[name] = maker
        return maker

    return register


def panels_of(motion: Any, names: Sequence[str | Panel]) -> list[Panel]:
    """Create panels of a motion by name; given panels are kept.

    Args:
        motion: a `Log`, or a motion with model, t, q, v (a, tau, ...).
        names: names of `panel_names()`, "signal:NAME" or "signal:NAME [UNIT]" for a controller signal,
            "link_position:NAME" and "link_velocity:NAME" for a link, or panels.

    Raises:
        InputError: a panel is unknown, or the motion lacks its data.
    """
    known = _registered()
    found: list[Panel] = []
    for name in names:
        if isinstance(name, Panel):
            found.append(name)
            continue
        if name.startswith(_SIGNAL):
            found.append(_signal_panel(motion, name.removeprefix(_SIGNAL)))
            continue
        if name.startswith(_LINK):
            found.append(import_module("ada_dynamics.drawing.body_panels").link_panel(motion, name))
            continue
        if name not in known:
            raise unknown_name("panel", name, known)
        made = known[name](motion)
        if not made:
            raise InputError(f"panel {name!r} has no data for model {motion.model.name!r}.", field="panels", value=name)
        found.extend(made)
    return found


def _signal_panel(motion: Any, name: str) -> Panel:
    """Panel of a controller signal "NAME" or "NAME [UNIT]"."""
    name, _, unit = name.partition(" ")
    signals = getattr(motion, "signals", {})
    if name not in signals:
        raise unknown_name("signal of the controller", name, signals)
    rows = signals[name].reshape(len(motion.signal_times), -1)
    curves = {"" if rows.shape[1] == 1 else str(i + 1): column for i, column in enumerate(rows.T)}
    return Panel.of(name.replace("_", " "), unit, motion.signal_times, curves)


def panel_names() -> list[str]:
    """Names accepted by `panels_of`."""
    return list(_registered())


def _registered() -> dict[str, Maker]:
    for module in _MAKERS:  # the modules register their panels
        import_module(f"ada_dynamics.drawing.{module}")
    return PANELS
