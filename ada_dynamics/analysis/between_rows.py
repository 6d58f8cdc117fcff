# SPDX-License-Identifier: Apache-2.0
"""What the rows of a log do not show: work of what changed, or acted, between two of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.analysis.quadrature import cumulative
from ada_dynamics.arrays import Array
from ada_dynamics.errors import UnknownWorkWarning

Intervals = NDArray[np.bool_]  # from each row to the next, (N - 1,)

_SAME_CALL = 1e-6  # of a control period
_SAME_STEP = 1e-6  # of a step
_SAME_TIME = 1e-9  # [s]
_JUMP = 0.05  # of a joint's fastest velocity, from one row to the next
_STANDS = 1e-4  # [rad/s, m/s]; slower motions are taken for as fast


def fastest(v: Array) -> Array:
    """Fastest velocity of each joint in all rows, no less than a thousandth of the fastest one's."""
    each = np.max(np.abs(v), axis=0, initial=0.0)
    return np.asarray(np.maximum(each, max(1e-3 * np.max(each, initial=0.0), _STANDS)))


class Hidden(NamedTuple):
    """Work that is not known over some intervals, and why."""

    work: str  # name in `PowerBalance.work`
    intervals: Intervals
    why: str


class BetweenRows:
    """Where a log, or what is left of it, tells too little; `info` is that of a `Log`, empty for other motions."""

    def __init__(self, t: Array, info: Mapping[str, Any]) -> None:
        """Args: times of the rows, and how a simulation made them."""
        self.t, self.info = t, info
        self._apart = np.diff(t)

    @property
    def are_held(self) -> bool:
        """True if efforts hold from row to row, unless something changes them between."""
        return bool(self.info.get("efforts", "held") == "held")

    @property
    def skips_steps(self) -> Intervals:
        """Intervals in which a simulation took steps that have no row, but for those of adaptive methods."""
        return np.asarray(self._apart > float(self.info.get("step", np.inf)) * (1.0 + _SAME_STEP))

    def held_efforts(self, tau: Array) -> Hidden:
        """Efforts that hold from call to call of a controller, where it was called between two rows."""
        changes = bool(np.any(tau[1:] != tau[:-1]))
        period = float(self.info.get("control_period", self.info.get("step", np.inf) if changes else np.inf))
        start = float(self.info.get("control_start", self.t[0] if len(self.t) else 0.0))
        calls = (self.t - start) / period
        until = np.maximum(np.floor(calls[:-1] + _SAME_CALL) + 1.0, 0.0)
        before = np.ceil(calls[1:] - _SAME_CALL)
        return Hidden("input", before > until, f"the controller was called between rows, each {period:g} s")

    def external(self) -> Hidden:
        """External wrenches that began and ended, or changed twice, from one row to the next."""
        times = np.asarray(self.info.get("wrench_breaks", ()), dtype=np.float64)
        inside = np.searchsorted(times, self.t[1:] - _SAME_TIME) - np.searchsorted(times, self.t[:-1] + _SAME_TIME)
        return Hidden("external", inside > 1, "external wrenches began and ended between rows")

    def fast(self, works: Sequence[str], v: Array, a: Array | None) -> list[Hidden]:
        """Whatever acts in steps without rows, where velocities change otherwise than by the accelerations of rows."""
        if a is None or not np.isfinite(a).all():
            return []
        jumps = np.any(np.abs(np.diff(v - cumulative(self.t, a), axis=0)) > _JUMP * fastest(v), axis=1)
        why = "velocities changed in steps that have no rows otherwise than the accelerations of the rows tell"
        adaptive = "tolerance" in self.info  # between whose rows are steps, too, which contacts need
        return [Hidden(work, jumps & (self.skips_steps | (adaptive and work == "contact")), why) for work in works]


WORDS = {
    "input": "motors",
    "external": "external wrenches",
    "contact": "contacts",
    "stops": "joint stops",
    "dissipated": "damping and friction",
}


def hide(work: dict[str, Array], hidden: list[Hidden], t: Array) -> None:
    """Make work unknown, nan, from where on it is, and say so."""
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
        f"the work of {names} is not known from t = {t[min(first.values()) - 1]:g} s on, nor what no work explains "
        f"(nan): {reasons}. Log each step of a fixed length (log_every=1), take a control_period that is a multiple of "
        "the step, and leave no rows out.",
        UnknownWorkWarning,
        stacklevel=3,
    )
