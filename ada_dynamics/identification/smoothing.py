# SPDX-License-Identifier: Apache-2.0
"""Velocities and accelerations from measured positions, without delay: polynomials of degree 4 around each row.

(Savitzky and Golay 1964, with weights that fade to the ends of the window as those of Cleveland 1979.) A window that is
symmetric shifts no phase; rows at the ends of a recording, and at gaps, have no whole window and are dropped. Efforts
pass the same filter. It looks at the times of the neighbours, so that a recording need not be even. Quaternions are
smoothed as four numbers and brought to unit length, in three points close together, whose `difference` tells velocity
and acceleration.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError
from ada_dynamics.model.joints.base import QUATERNION
from ada_dynamics.model.model import Model

DEGREE = 4
MOST_ROWS = 4000  # that are kept: neighbours share a window and tell nothing new
_GAP = 3.0  # usual steps
_TOGETHER = 256  # windows that are worked on at the same time
_FEWEST = 4  # rows on each side
_BESIDE = 0.05  # of half a window: points between which velocities of quaternions are computed


class Samples(NamedTuple):
    """Rows of a motion, each a state with the efforts in it."""

    t: Array  # [s]
    q: Array
    v: Array
    a: Array
    tau: Array
    reach: Array  # of the rows that each was made from, to each side [s]


def smoothed(model: Model, t: Array, q: Array, tau: Array, window: float, most: int = MOST_ROWS) -> Samples:
    """States and efforts in rows that have a whole window of neighbours.

    Args:
        model: whose positions they are.
        t: increasing times [s].
        q: measured positions, (N, nq).
        tau: measured efforts, (N, nv); rows that are not finite count as gaps.
        window: [s].
        most: rows that are kept, evenly.

    Raises:
        InputError: times do not increase, or no part of the recording is as long as the window.
    """
    if len(t) > 1 and not np.all(np.diff(t) > 0.0):
        row = int(np.argmin(np.diff(t) > 0.0)) + 1
        raise InputError(
            f"the times of the recording do not increase: row {row} is at {t[row]:.9g} s, after {t[row - 1]:.9g} s.",
            field="t",
            value=int(row),
            allowed="rising times",
        )
    good = np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1)
    t, q, tau = t[good], _continuous(model, q[good]), tau[good]
    usual = float(np.median(np.diff(t))) if len(t) > 1 else np.inf
    half = max(round(0.5 * window / usual), _FEWEST) if np.isfinite(usual) else _FEWEST
    rows = _whole(t, usual, half)
    if not len(rows):
        parts = np.split(t, np.flatnonzero(np.diff(t) > _GAP * usual) + 1)
        longest = max((float(part[-1] - part[0]) for part in parts if len(part)), default=0.0)
        raise InputError(
            f"no part of the recording is long enough: {len(t)} usable rows, the longest stretch without a gap takes "
            f"{longest:.3g} s, and a window {2 * half * usual:.3g} s. Record longer, or give a shorter window.",
            field="window",
            value=2 * half * usual,
            allowed=longest,
        )
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(int))]
    found = [_around(model, t, q, tau, rows[i : i + _TOGETHER], half) for i in range(0, len(rows), _TOGETHER)]
    return Samples(*(np.concatenate(column) for column in zip(*found, strict=True)))


def gaps(t: Array) -> list[tuple[float, float]]:
    """Begin and end of what is missing [s]."""
    steps = np.diff(t)
    at = np.flatnonzero(steps > _GAP * np.median(steps)) if len(steps) else np.zeros(0, dtype=np.intp)
    return [(float(t[i]), float(t[i + 1])) for i in at]


def _whole(t: Array, usual: float, half: int) -> NDArray[np.intp]:
    """Rows with so many neighbours on each side and no gap among them."""
    found = [np.zeros(0, dtype=np.intp)]
    ends = [0, *(np.flatnonzero(np.diff(t) > _GAP * usual) + 1).tolist(), len(t)]
    for first, last in pairwise(ends):
        found.append(np.arange(first + half, last - half, dtype=np.intp))
    return np.concatenate(found)


def _around(model: Model, t: Array, q: Array, tau: Array, rows: NDArray[np.intp], half: int) -> Samples:
    near = rows[:, None] + np.arange(-half, half + 1)
    span = (t[near[:, -1]] - t[near[:, 0]]) / 2.0
    s = (t[near] - t[rows, None]) / span[:, None]
    weights = np.maximum(1.0 - (s * half / (half + 1)) ** 2, 0.0) ** 2
    powers = s[..., None] ** np.arange(DEGREE + 1)
    weighted = (weights[..., None] * powers).swapaxes(-1, -2)
    kernels = np.linalg.solve(weighted @ powers, weighted)  # from values in the window to coefficients
    shape = kernels @ (q[near] - q[rows, None])
    if model.has_manifold_coordinates:
        beside = [q[rows] + (x ** np.arange(DEGREE + 1)) @ shape for x in (-_BESIDE, 0.0, _BESIDE)]
        before, at, after = (_nearest(model, x) for x in beside)
        back, on = model.difference(at, before), model.difference(at, after)
        rate, bend = (on - back) / (2.0 * _BESIDE), (on + back) / _BESIDE**2
    else:
        at, rate, bend = q[rows] + shape[:, 0], shape[:, 1], 2.0 * shape[:, 2]
    return Samples(t[rows], at, rate / span[:, None], bend / span[:, None] ** 2, (kernels @ tau[near])[:, 0], span)


def _nearest(model: Model, q: Array) -> Array:
    """Positions in rows, with unit quaternions."""
    found = q.copy()
    for body in model.tree.bodies:
        if body.is_independent:
            found[:, body.q] = np.transpose(body.joint.nearest([*q[:, body.q].T]))
    return found


def _continuous(model: Model, q: Array) -> Array:
    """The same poses with quaternions that change signs nowhere."""
    found = q.copy()
    for name in model.joint_names:
        own = model.q_index(name)
        if len(QUATERNION) in (model.joints[name].nq, model.joints[name].nq - 3) and not model.joints[name].type.axes:
            part = found[:, own.stop - len(QUATERNION) : own.stop]
            turns = np.where(np.sum(part[1:] * part[:-1], axis=1) < 0.0, -1.0, 1.0)
            part[1:] *= np.cumprod(turns)[:, None]
    return found
