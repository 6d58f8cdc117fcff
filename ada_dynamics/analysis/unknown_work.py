# SPDX-License-Identifier: Apache-2.0
"""Intervals between the rows of a log in which the work of a load is unknown."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.analysis.sampled_signals import cumulative_integral
from ada_dynamics.arrays import Array
from ada_dynamics.errors import UnknownWorkWarning

Intervals = NDArray[np.bool_]  # from each row to the next, (N - 1,)

_SAME_CALL = 1e-6  # relative to a control period
_SAME_STEP = 1e-6  # relative to a step
_SAME_TIME = 1e-9  # [s]
_JUMP = 0.05  # change of a velocity between rows, relative to the largest velocity of the joint
_MIN_SPEED = 1e-4  # [rad/s, m/s], lower bound of the velocity scale


def velocity_scale(v: Array) -> Array:
    """Largest absolute velocity of each joint, at least 1e-3 of that of the fastest joint, (nv,)."""
    each = np.max(np.abs(v), axis=0, initial=0.0)
    return np.asarray(np.maximum(each, max(1e-3 * np.max(each, initial=0.0), _MIN_SPEED)))


class UnknownWork(NamedTuple):
    """Intervals in which the work of a load is unknown.

    Attributes:
        work: name of the load in `PowerBalance.work`.
        intervals: True for each unknown interval, (N - 1,).
        why: reason.
    """

    work: str
    intervals: Intervals
    why: str


class LogIntervals:
    """Information about the intervals between the rows of a log."""

    def __init__(self, t: Array, info: Mapping[str, Any]) -> None:
        """Initialize with the times of the rows and the `info` of a `Log`, which is empty for other motions."""
        self.t, self.info = t, info
        self._apart = np.diff(t)

    @property
    def are_held(self) -> bool:
        """True if efforts are held constant between rows."""
        return bool(self.info.get("efforts", "held") == "held")

    @property
    def skips_steps(self) -> Intervals:
        """Intervals with integration steps that have no row, except those of adaptive methods."""
        return np.asarray(self._apart > float(self.info.get("step", np.inf)) * (1.0 + _SAME_STEP))

    def held_efforts(self, tau: Array) -> UnknownWork:
        """Intervals in which a controller was called and held efforts changed."""
        changes = bool(np.any(tau[1:] != tau[:-1]))
        period = float(self.info.get("control_period", self.info.get("step", np.inf) if changes else np.inf))
        start = float(self.info.get("control_start", self.t[0] if len(self.t) else 0.0))
        calls = (self.t - start) / period
        until = np.maximum(np.floor(calls[:-1] + _SAME_CALL) + 1.0, 0.0)
        before = np.ceil(calls[1:] - _SAME_CALL)
        return UnknownWork("input", before > until, f"the controller was called between rows, each {period:g} s")

    def external(self) -> UnknownWork:
        """Intervals in which external wrenches started and ended, or changed twice."""
        times = np.asarray(self.info.get("wrench_breaks", ()), dtype=np.float64)
        inside = np.searchsorted(times, self.t[1:] - _SAME_TIME) - np.searchsorted(times, self.t[:-1] + _SAME_TIME)
        return UnknownWork("external", inside > 1, "external wrenches started and ended between rows")

    def velocity_jumps(self, works: Sequence[str], v: Array, a: Array | None) -> list[UnknownWork]:
        """Intervals in which velocities changed inconsistently with the accelerations of the rows."""
        if a is None or not np.isfinite(a).all():
            return []
        jumps = np.any(np.abs(np.diff(v - cumulative_integral(self.t, a), axis=0)) > _JUMP * velocity_scale(v), axis=1)
        why = "velocities changed in steps without rows inconsistently with the accelerations of the rows"
        adaptive = "tolerance" in self.info  # contacts need steps between the rows of adaptive methods
        return [UnknownWork(work, jumps & (self.skips_steps | (adaptive and work == "contact")), why) for work in works]


WORDS = {
    "input": "motors",
    "external": "external wrenches",
    "contact": "contacts",
    "stops": "joint stops",
    "dissipated": "damping and friction",
}


def mask_unknown_work(work: dict[str, Array], hidden: list[UnknownWork], t: Array) -> None:
    """Set unknown work to NaN from the first unknown interval on, and warn."""
    found = [one for one in hidden if one.intervals.any()]
    if not found:
        return
    first = {one.work: len(t) for one in found}
    for one in found:
        first[one.work] = min(first[one.work], int(np.argmax(one.intervals)) + 1)
    for name, row in first.items():
        work[name] = np.where(np.arange(len(t)) < row, work[name], np.nan)
    names = ", ".join(WORDS[name] for name in first)
    reasons = "; ".join(dict.fromkeys(one.why for one in found))
    warnings.warn(
        f"the work of {names} is unknown from t = {t[min(first.values()) - 1]:g} s on, and so is the residual (NaN): "
        f"{reasons}. Log each step of a fixed length (log_every=1), use a control_period that is a multiple of the "
        "step, and omit no rows.",
        UnknownWorkWarning,
        stacklevel=3,
    )
