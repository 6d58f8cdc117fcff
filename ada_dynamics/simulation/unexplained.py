# SPDX-License-Identifier: Apache-2.0
"""Steps that no acceleration explains: a net under all integration, cheap enough to be under every run.

Velocities must change by the integral of the accelerations, and positions by that of the velocities. Both are known in
all rows of a log, where they hold to rounding, whatever happened in the stages between: quadrature over six rows tells
what a step should have done, quadrature over four how well that is known. Where rates jump (contact, stops,
controllers) the two differ, and little is asked for; where a motion is smooth, no loss of energy can hide.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.analysis.unknown_work import velocity_scale
from ada_dynamics.arrays import Array
from ada_dynamics.errors import UnexplainedMotionWarning, UnknownWorkWarning

if TYPE_CHECKING:
    from ada_dynamics.simulation.log import Log


# Differences of both quadratures, of a step or of those beside it, that a step may be off. A rate that jumps within a
# step takes 33 of them: half a jump is not known, and beside it the two rules differ by 11/720 of it.
TRUSTED = 300.0
ROUNDING = 1e-13  # of the largest rate or change
# Of the largest velocity that steps of a joint may be off in all, beyond that. Errors of the methods on offer at usable
# step lengths are as large as the differences of the quadratures, which have the same order.
NOTICED = 1e-5
# Where there are steps between the rows, neither quadrature sees a peak that falls between two of them. An energy that
# is kept to this share shows that it was the rows, not the steps, which were too far apart.
ENERGY_KEPT = 1e-7
# Likewise of the gap of loops that rounded numbers keep from closing: each step settles it a little elsewhere.
BY_GAP = 1e4


@dataclass(frozen=True)
class Unexplained:
    """The worst step of the joint whose motion is explained worst.

    Attributes:
        joint: its name.
        step: number of the row before it.
        t: when it began [s].
        off: how much its velocity or position changed beside what its rates make of it.
        total: the sum of that over all steps, as a share of the largest velocity.
    """

    joint: str
    step: int
    t: float
    off: float
    total: float


def unexplained(log: Log) -> Unexplained | None:
    """The worst step, if it is worth a word."""
    rows = _even_rows(log.t)
    if rows < 6 or not np.isfinite(log.a[:rows]).all():
        return None
    model, t, v = log.model, log.t[:rows], log.v[:rows]
    h = float(t[1] - t[0])
    off = _beyond(v, log.a[:rows], h)
    for name in model.joint_names:
        if model.joints[name].type.has_rates_of_coordinates():
            own, q = model.v_index(name), log.q[:rows, model.q_index(name)]
            off[:, own] = np.maximum(off[:, own], _beyond(q, v[:, own], h) / h)
    if log.info.get("efforts") != "continuous":
        off[_of_changing_efforts(log.tau[:rows])] = 0.0
    total = off.sum(axis=0)
    share = total / velocity_scale(v)
    worst = int(np.argmax(share))
    if not share[worst] > NOTICED or not share[worst] > BY_GAP * float(np.max(log.loop_gap, initial=0.0)):
        return None
    step = int(np.argmax(off[:, worst])) + 2
    joint = model.joint_of_velocity(worst)
    return Unexplained(joint, step, float(t[step]), float(off[step - 2, worst]), float(share[worst]))


def warn_if_unexplained(log: Log) -> None:
    """Say which step and joint no acceleration explains."""
    found = unexplained(log)
    if found is None:
        return
    steps = int(log.info.get("log_every", 1))
    if (steps > 1 or "tolerance" in log.info) and _keeps_energy(log):
        return
    if steps == 1:
        more = (
            f"; energy drift {log.energy_drift:.1e}. The step is too long for this motion, or something in it is "
            "wrong: take a shorter step and see whether the result stays."
        )
    else:
        more = (
            f". There are {steps} steps from row to row, in which an impact or a stop may have acted: log each step "
            "(log_every=1), and if this warning stays, take a shorter one and see whether the result does."
        )
    warnings.warn(
        f"the motion of model {log.model.name!r} is not what its accelerations make of it: at t = {found.t:.6g} s (row "
        f"{found.step}) the velocity of joint {found.joint!r} is off by {found.off:.2g}, over the whole run by "
        f"{found.total:.1e} of the fastest{more}",
        UnexplainedMotionWarning,
        stacklevel=3,
    )


def _keeps_energy(log: Log) -> bool:
    """True if powers explain all changes of energy; false where the rows do not show what was done between them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownWorkWarning)
        drift = log.energy_drift
    vars(log).pop("balance", None)  # who asks for it is to see its warning
    return bool(drift < ENERGY_KEPT)


def _even_rows(t: Array) -> int:
    """Number of first rows that have the same distance; the last one may be nearer."""
    steps = np.diff(t)
    if not len(steps):
        return len(t)
    uneven = np.abs(steps - steps[0]) > 1e-6 * abs(steps[0])
    return int(np.argmax(uneven)) + 1 if uneven.any() else len(t)


def _beyond(x: Array, rate: Array, h: float) -> Array:
    """How much x changes beside the integral of its rate, beyond what is known of that; for steps 2 to n - 4."""
    r = [rate[k : len(rate) - 5 + k] for k in range(6)]
    ends, near, middle = r[0] + r[5], r[1] + r[4], r[2] + r[3]
    by_six = h / 1440.0 * (11.0 * ends - 93.0 * near + 802.0 * middle)
    by_four = h / 24.0 * (13.0 * middle - near)
    changed = x[3 : len(x) - 2] - x[2 : len(x) - 3]
    apart = np.pad(np.abs(by_six - by_four), ((2, 2), (0, 0)))  # a jump is seen from the steps beside it
    nearby = np.max([apart[k : len(by_six) + k] for k in range(5)], axis=0)
    known = TRUSTED * nearby + ROUNDING * np.max(np.abs(x), axis=0, initial=0.0)
    return np.asarray(np.maximum(np.abs(changed - by_six) - known, 0.0))


def _of_changing_efforts(tau: Array) -> NDArray[np.bool_]:
    """Steps, as above, beside which efforts that are held changed: rows have the new ones, steps end under the old."""
    changes = np.any(tau[1:] != tau[:-1], axis=1)
    return np.asarray(np.any([changes[k : len(changes) - 4 + k] for k in range(5)], axis=0))
