# SPDX-License-Identifier: Apache-2.0
"""Panels of a figure as data: curves with a title and units; and the panels that a motion offers by name.

panels_of(log, ["position", "velocity", "energy"])

Angles are in degrees, everything else in SI units, as in the figures of Takahashi 2012.
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
_SIGNAL = "signal:"  # before the name of a controller's signal
_LINK = ("link_position:", "link_velocity:")  # before the name of a link
_MAKERS = ("joint_panels", "body_panels", "fixed_feet_panels")


@dataclass(frozen=True, eq=False)
class Series:
    """One curve.

    Attributes:
        label: in the legend; empty for a lone curve that the title names.
        x: usually times.
        y: as many values.
        style: dashes ("-", "--", ":"), or a marker such as "o"; the palette's own where empty.
        joint: name of the joint that it is of; empty for what is of no joint.
    """

    label: str
    x: Array
    y: Array
    style: str = ""
    joint: str = ""

    def __post_init__(self) -> None:
        """Take anything that numpy takes, as long as x and y fit."""
        for name in ("x", "y"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        if self.x.ndim != 1 or self.x.shape != self.y.shape:
            raise InputError(
                f"curve {self.label!r} has x of shape {self.x.shape} and y of shape {self.y.shape}; "
                "both must be one row of equally many numbers."
            )


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    Attributes:
        title: "Joint angle"; a figure puts "(a)" and so on before it.
        ylabel: with its unit: "[deg]".
        series: the curves.
        xlabel: with its unit.
        marks: values of x at which something happened, such as passings of singular poses.
        is_logarithmic: whether the y axis is; values that are not positive are left out there.
        is_plane: whether x and y are lengths of one plane, drawn at one scale.
        note: a remark beside the title, such as how many curves are left out.
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
        """A panel of curves over a common x.

        Args:
            title: as above.
            ylabel: as above.
            x: usually times.
            curves: label -> values.
            more: xlabel, marks, is_logarithmic, is_plane.
        """
        xs = np.asarray(x, dtype=np.float64)
        return cls(title, ylabel, tuple(Series(label, xs, np.asarray(y)) for label, y in curves.items()), **more)

    def with_marks(self, marks: Sequence[float]) -> Panel:
        """The same panel with marks on its x axis."""
        return replace(self, marks=tuple(marks))


Maker = Callable[[Any], list[Panel]]
PANELS: dict[str, Maker] = {}  # name -> what draws it from a motion


def panel(name: str) -> Callable[[Maker], Maker]:
    """Register what makes the panels of a name."""

    def register(maker: Maker) -> Maker:
        PANELS[name] = maker
        return maker

    return register


def panels_of(motion: Any, names: Sequence[str | Panel]) -> list[Panel]:
    """Panels of a motion by name, among panels that are given as they are.

    Args:
        motion: a `Log`, or anything with its model, t, q, v (a, tau, ...).
        names: names of `panel_names()`, "signal:NAME" or "signal:NAME [UNIT]" for a signal of a controller,
            "link_position:NAME" and "link_velocity:NAME" of a link, or panels.

    Raises:
        InputError: there is no such panel, or the motion lacks what it shows; the message says what there is.
    """
    known = _known()
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
            raise InputError(f"panel {name!r} has nothing to show for model {motion.model.name!r}.")
        found.extend(made)
    return found


def _signal_panel(motion: Any, name: str) -> Panel:
    """A signal of the controller; "NAME [UNIT]" where its unit is known."""
    name, _, unit = name.partition(" ")
    signals = getattr(motion, "signals", {})
    if name not in signals:
        raise unknown_name("signal of the controller", name, signals)
    rows = signals[name].reshape(len(motion.signal_times), -1)
    curves = {"" if rows.shape[1] == 1 else str(i + 1): column for i, column in enumerate(rows.T)}
    return Panel.of(name.replace("_", " "), unit, motion.signal_times, curves)


def panel_names() -> list[str]:
    """Names that `panels_of` knows."""
    return list(_known())


def _known() -> dict[str, Maker]:
    for module in _MAKERS:  # they register themselves
        import_module(f"ada_dynamics.drawing.{module}")
    return PANELS
