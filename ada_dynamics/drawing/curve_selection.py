# SPDX-License-Identifier: Apache-2.0
"""Selection of the curves of a panel: at most `CURVES`, those with the largest range unless joints are given."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.drawing.panels import Panel, Series
from ada_dynamics.errors import InputError, unknown_name

CURVES = 8  # the palette has seven colours, and a longer legend would not fit


def check_joints(model: Any, joints: Sequence[str] | None) -> None:
    """Raise an InputError for names that are not joints of the model, or for more than `CURVES` names."""
    if joints is None:
        return
    if isinstance(joints, str):
        raise InputError(
            f"joints is {joints!r}: give a list of names, such as [{joints!r}].", field="joints", value=joints
        )
    for name in joints:
        if name not in model.joint_names:
            raise unknown_name("joint", name, model.joint_names)
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
        own = list(dict.fromkeys(series.joint for series in panel.series if series.joint))
        if not own or (joints is None and len(panel.series) <= CURVES):
            found.append(panel)
            continue
        chosen = _most(panel.series, sorted(own, key=lambda name: -travel.get(name, 0.0))) if joints is None else joints
        kept = tuple(series for series in panel.series if not series.joint or series.joint in chosen)
        if not kept:
            continue  # none of the chosen joints has a curve in this panel
        count = sum(name in chosen for name in own)
        words = "joints with the largest range" if joints is None else "joints"
        found.append(replace(panel, series=kept, note=f"{count} of {len(own)} {words}" if count < len(own) else ""))
    return found


def limit_curves(panel: Panel) -> Panel:
    """Restrict a panel to the `CURVES` curves with the largest range, in their original order."""
    if len(panel.series) <= CURVES:
        return panel
    ranges = [max(_range(series.y), _range(series.x) if panel.is_plane else 0.0) for series in panel.series]
    kept = sorted(np.argsort([-width for width in ranges], kind="stable")[:CURVES])
    note = f"{CURVES} of {len(panel.series)} curves with the largest range"
    return replace(panel, series=tuple(panel.series[i] for i in kept), note=panel.note or note)


def _travel(motion: Any) -> dict[str, float]:
    """Range of motion by joint: the largest range of its coordinates."""
    model = motion.model
    if not len(motion.t):
        return dict.fromkeys(model.joint_names, 0.0)
    ranges = np.ptp(np.where(np.isfinite(motion.q), motion.q, 0.0), axis=0)
    return {name: float(ranges[model.q_index(name)].max(initial=0.0)) for name in model.joint_names}


def _most(series: Sequence[Series], ranked: Sequence[str]) -> Collection[str]:
    """First joints whose curves fit into a panel, at least one."""
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
