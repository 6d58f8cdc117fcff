# SPDX-License-Identifier: Apache-2.0
"""States of motions with efforts, and zero-phase smoothing of recordings by local polynomials of degree 4.

The polynomials of Savitzky and Golay (1964) are weighted as those of Cleveland (1979). Symmetric windows shift no
phase; rows without a complete window, at the ends and at time gaps, are dropped. Efforts pass the same filter. The
filter uses the actual times, so sampling may be uneven. Quaternions are smoothed as four numbers and normalized at
three close points, whose `difference` yields velocity and acceleration.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, WrongTypeError, check_name, invalid
from ada_dynamics.model.joints.base import QUATERNION
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.log import Log

WINDOW = 0.1  # [s]
DEGREE = 4
MAX_ROWS = 4000  # largest number of samples; neighbours have almost the same window
_GAP = 3.0  # factor of the median time step
_TOGETHER = 256  # windows that are processed together
_FEWEST = 4  # rows on each side of a window
_QUATERNION_STEP = 0.05  # of half a window: distance of the points for velocities of quaternions


class MotionSamples(NamedTuple):
    """States of a motion and the efforts at them, one row each."""

    t: Array  # [s]
    q: Array
    v: Array
    a: Array
    tau: Array
    reach: Array  # half width of the window of each row [s]


def smooth(model: Model, t: Array, q: Array, tau: Array, window: float, max_rows: int = MAX_ROWS) -> MotionSamples:
    """Smooth a recording at the rows with a complete window.

    Args:
        model: model of the recorded robot.
        t: increasing times [s], (N,).
        q: measured configurations, (N, nq).
        tau: measured efforts, (N, nv); rows with NaN or Inf are time gaps.
        window: width of the window [s].
        max_rows: largest number of rows of the result, evenly selected.

    Raises:
        InputError: times do not increase, or no part of the recording is as long as the window.
    """
    if len(t) > 1 and not np.all(np.diff(t) > 0.0):
        row = int(np.argmin(np.diff(t) > 0.0)) + 1
        text = f"the times of the recording do not increase: row {row} is at {t[row]:.9g} s, after {t[row - 1]:.9g} s."
        raise InputError(text, field="t", value=int(row), allowed="increasing times")
    good = np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1)
    t, q, tau = t[good], _continuous(model, q[good]), tau[good]
    step = float(np.median(np.diff(t))) if len(t) > 1 else np.inf
    half = max(round(0.5 * window / step), _FEWEST) if np.isfinite(step) else _FEWEST
    rows = _complete_rows(t, step, half)
    if not len(rows):
        parts = np.split(t, np.flatnonzero(np.diff(t) > _GAP * step) + 1)
        longest = max((float(part[-1] - part[0]) for part in parts if len(part)), default=0.0)
        text = (
            f"no part of the recording is long enough: of {len(t)} usable rows, the longest part without a gap lasts "
            f"{longest:.3g} s, and a window {2 * half * step:.3g} s. Record longer, or give a shorter window."
        )
        raise InputError(text, field="window", value=2 * half * step, allowed=longest)
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(max_rows, len(rows))).round().astype(int))]
    found = [_smooth_rows(model, t, q, tau, rows[i : i + _TOGETHER], half) for i in range(0, len(rows), _TOGETHER)]
    return MotionSamples(*(np.concatenate(column) for column in zip(*found, strict=True)))


def time_gaps(t: Array) -> list[tuple[float, float]]:
    """Start and end of each gap in the times [s]."""
    steps = np.diff(t)
    at = np.flatnonzero(steps > _GAP * np.median(steps)) if len(steps) else np.zeros(0, dtype=np.intp)
    return [(float(t[i]), float(t[i + 1])) for i in at]


def _complete_rows(t: Array, step: float, half: int) -> NDArray[np.intp]:
    """Rows with `half` neighbours on each side and no gap among them."""
    found = [np.zeros(0, dtype=np.intp)]
    ends = [0, *(np.flatnonzero(np.diff(t) > _GAP * step) + 1).tolist(), len(t)]
    for first, last in pairwise(ends):
        found.append(np.arange(first + half, last - half, dtype=np.intp))
    return np.concatenate(found)


def _smooth_rows(model: Model, t: Array, q: Array, tau: Array, rows: NDArray[np.intp], half: int) -> MotionSamples:
    window = rows[:, None] + np.arange(-half, half + 1)
    span = (t[window[:, -1]] - t[window[:, 0]]) / 2.0
    s = (t[window] - t[rows, None]) / span[:, None]
    weights = np.maximum(1.0 - (s * half / (half + 1)) ** 2, 0.0) ** 2
    powers = s[..., None] ** np.arange(DEGREE + 1)
    weighted = (weights[..., None] * powers).swapaxes(-1, -2)
    kernels = np.linalg.solve(weighted @ powers, weighted)  # maps values in the window to coefficients
    shape = kernels @ (q[window] - q[rows, None])
    if model.has_manifold_coordinates:
        points = [q[rows] + (x ** np.arange(DEGREE + 1)) @ shape for x in (-_QUATERNION_STEP, 0.0, _QUATERNION_STEP)]
        before, at, after = (_normalized(model, x) for x in points)
        back, on = model.difference(at, before), model.difference(at, after)
        rate, bend = (on - back) / (2.0 * _QUATERNION_STEP), (on + back) / _QUATERNION_STEP**2
    else:
        at, rate, bend = q[rows] + shape[:, 0], shape[:, 1], 2.0 * shape[:, 2]
    return MotionSamples(
        t[rows], at, rate / span[:, None], bend / span[:, None] ** 2, (kernels @ tau[window])[:, 0], span
    )


def _normalized(model: Model, q: Array) -> Array:
    """Configurations with unit quaternions."""
    found = q.copy()
    for body in model.tree.bodies:
        if body.is_independent:
            found[:, body.q] = np.transpose(body.joint.nearest([*q[:, body.q].T]))
    return found


def _continuous(model: Model, q: Array) -> Array:
    """Configurations whose quaternions have continuous signs."""
    found = q.copy()
    for name in model.joint_names:
        own = model.q_index(name)
        if len(QUATERNION) in (model.joints[name].nq, model.joints[name].nq - 3) and not model.joints[name].type.axes:
            part = found[:, own.stop - len(QUATERNION) : own.stop]
            signs = np.where(np.sum(part[1:] * part[:-1], axis=1) < 0.0, -1.0, 1.0)
            part[1:] *= np.cumprod(signs)[:, None]
    return found


# --- motions given by callers --------------------------------------------------------------------------------------
def motion_samples(
    model: Model,
    motion: Log | ArrayLike,
    v: ArrayLike | None,
    a: ArrayLike | None,
    tau: ArrayLike | None,
    window: float,
) -> MotionSamples:
    """States of a motion as accepted by `identify`."""
    if isinstance(motion, Log):
        return _log_samples(model, motion, window)
    rows = [_rows("q", motion, model.nq)]
    for name, given in (("v", v), ("a", a), ("tau", tau)):
        if given is None:
            raise WrongTypeError(f"{name} is missing: give q, v, a and tau of all states, or a Log.", field=name)
        rows.append(_rows(name, given, model.nv))
        if len(rows[-1]) != len(rows[0]):
            raise invalid(name, len(rows[-1]), f"{len(rows[0])}, as that of q", "number of rows of ")
    for name, values in zip(("q", "v", "a", "tau"), rows, strict=True):
        if not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise InputError(f"{name} is not finite in row {row}.", field=name, value=row, allowed="finite numbers")
    motor_efforts(model, rows[3])
    times = np.arange(float(len(rows[0])))
    return MotionSamples(times, rows[0], rows[1], rows[2], rows[3], np.zeros_like(times))


def _log_samples(model: Model, log: Log, window: float) -> MotionSamples:
    """States of a log; velocities and accelerations come from its positions, efforts pass the same filter."""
    if not window > 0.0:
        raise invalid("window", window, "a positive number of seconds")
    touched = [*log.external, *log.contact_wrenches]
    if any(np.any(w) for w in (*log.external.values(), *log.contact_wrenches.values())):
        text = f"wrenches act on {', '.join(touched)} in the recording, which must be driven by motors only."
        raise InputError(text, link=touched[0], field="external")
    for name in model.joint_names:
        check_name("joint of the recording", name, log.model.joint_names)
    q = np.concatenate([log.q[:, log.model.q_index(name)] for name in model.joint_names], axis=1)
    held = _centred_efforts(log)
    tau = np.concatenate([held[:, log.model.v_index(name)] for name in model.joint_names], axis=1)
    return smooth(model, log.t, q, motor_efforts(model, tau), window)


def _centred_efforts(log: Log) -> Array:
    """Efforts at the times of the rows.

    A controller of a simulation holds its efforts from a row on: the acceleration at a row, from positions on both
    sides, is that of the mean effort. Semi-implicit steps of trees are an exception, because the second difference of
    their positions is the acceleration that follows the row.
    """
    period = float(log.info.get("control_period", 0.0))
    is_aligned = log.info.get("integrator") == "semi_implicit" and not log.model.loops
    if is_aligned or len(log) < 2 or period < 0.999 * float(np.min(np.diff(log.t))):
        return log.tau
    before = np.concatenate([log.tau[:1], log.tau[:-1]])
    return np.asarray(0.5 * (before + log.tau))


def motor_efforts(model: Model, tau: Array) -> Array:
    """Efforts with zeros for unactuated joints.

    Raises:
        InputError: efforts of an actuated joint are missing, or all efforts are zero.
    """
    found = np.zeros_like(tau)
    for name in model.actuated:
        own = tau[:, model.v_index(name)]
        if not np.isfinite(own).any():
            raise InputError(f"the efforts of joint {name!r}, a motor, are missing.", joint=name, field="tau")
        found[:, model.v_index(name)] = own
    if not np.any(found):
        raise InputError("the efforts are all zero and determine no parameters.", field="tau", value=0.0)
    return found


def _rows(name: str, values: ArrayLike, width: int) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != width or not len(found):
        raise invalid(name, found.shape, f"(N, {width})", "shape of ")
    return found
