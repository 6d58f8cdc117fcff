# SPDX-License-Identifier: Apache-2.0
"""Which curves of a panel are drawn: no more than can be told apart, those that move most unless somebody chose."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.errors import InputError, unknown_name

CURVES = 8  # of a panel: the palette has seven colours, and a legend of more leaves no room for the curves


def check_joints(model: Any, joints: Sequence[str] | None) -> None:
    """Refuse names that are no joints of the model, and more than a panel has room for."""
    if joints is None:
        return
    if isinstance(joints, str):
        raise InputError(f"joints is {joints!r}: give a list of names, such as [{joints!r}].")
    for name in joints:
        if name not in model.joint_names:
            raise unknown_name("joint", name, model.joint_names)
    if not 1 <= len(set(joints)) <= CURVES:
        raise InputError(f"joints has {len(set(joints))} names; a panel shows 1 to {CURVES} of them.")


def of_joints(panels: Sequence[Panel], motion: Any, joints: Sequence[str] | None = None) -> list[Panel]:
    """The panels with curves of the same joints in all of them.

    Args:
        panels: curves that belong to no joint stay in them.
        motion: that they were made from.
        joints: names; by default those whose positions change most, where there are more than fit.

    Raises:
        InputError: a name is no joint of the model, or there are more than a panel shows.
    """
    check_joints(motion.model, joints)
    travel = _travel(motion)
    found = []
    for panel in panels:
        own = list(dict.fromkeys(series.joint for series in panel.series if series.joint))
        if not own or (joints is None and len(panel.series) <= CURVES):
            found.append(panel)
            continue
        chosen = _most(panel.series, sorted(own, key=lambda name: -travel[name])) if joints is None else joints
        kept = tuple(series for series in panel.series if not series.joint or series.joint in chosen)
        if not kept:
            continue  # all that was chosen moves in another way: turns, where this panel has slides
        count = sum(name in chosen for name in own)
        words = "joints, those that move most" if joints is None else "joints"
        found.append(replace(panel, series=kept, note=f"{count} of {len(own)} {words}" if count < len(own) else ""))
    return found


def limited(panel: Panel) -> Panel:
    """The panel with at most `CURVES` curves: those with the largest range, in the order in which they were."""
    if len(panel.series) <= CURVES:
        return panel
    ranges = [max(_range(series.y), _range(series.x) if panel.is_plane else 0.0) for series in panel.series]
    kept = sorted(np.argsort([-width for width in ranges], kind="stable")[:CURVES])
    note = f"{CURVES} of {len(panel.series)} curves, those that change most"
    return replace(panel, series=tuple(panel.series[i] for i in kept), note=panel.note or note)


def _travel(motion: Any) -> dict[str, float]:
    """How far each joint moves: the largest range of its coordinates."""
    model = motion.model
    if not len(motion.t):
        return dict.fromkeys(model.joint_names, 0.0)
    ranges = np.ptp(np.where(np.isfinite(motion.q), motion.q, 0.0), axis=0)
    return {name: float(ranges[model.q_index(name)].max(initial=0.0)) for name in model.joint_names}


def _most(series: Sequence[Series], ranked: Sequence[str]) -> Collection[str]:
    """The first joints of whose curves all fit; always one."""
    room = CURVES
    chosen: list[str] = []
    for name in ranked:
        room -= sum(one.joint == name for one in series)
        if room < 0 and chosen:
            break
        chosen.append(name)
    return chosen


def _range(values: NDArray[np.float64]) -> float:
    finite = values[np.isfinite(values)]
    return float(np.ptp(finite)) if len(finite) else 0.0
