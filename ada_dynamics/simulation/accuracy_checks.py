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
from ada_dynamics.errors import IntegrationAccuracyWarning, UnknownWorkWarning

if TYPE_CHECKING:
    from ada_dynamics.simulation.log import Log


from ada_dynamics.constraints.constraint_set import characteristic_length
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model
from ada_dynamics.simulation.context import SimulationContext
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
class AccelerationMismatch:
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


def acceleration_mismatch(log: Log) -> AccelerationMismatch | None:
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
    return AccelerationMismatch(joint, step, float(t[step]), float(off[step - 2, worst]), float(share[worst]))


def warn_if_inconsistent(log: Log) -> None:
    """Say which step and joint no acceleration explains."""
    found = acceleration_mismatch(log)
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
        IntegrationAccuracyWarning,
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


NOTICED = 0.05  # of the energy that moves: more than the bounded error of a semi-implicit step
EVERY = 1000  # steps between two looks
ROWS = 256  # of a log that are looked at
_TINY = 1e-300  # [J], for 0/0 where nothing has moved


class EnergyMonitor:
    """Watches motions side by side under constant efforts; warns once.

    Attributes:
        is_on: whether it watches: all that gives energy is known, and no motion has gained any so far.
    """

    def __init__(self, context: SimulationContext, x: Array) -> None:
        """Args: what moves, and rows of states in which it begins."""
        self._context, self._steps = context, 0
        self._start, self._potential, self._work, self._most = np.zeros((4, len(x)))
        self._places = _positions(context.system.model)
        self._scale = _scale(context.system.model)
        self._others = np.flatnonzero(self._places < 0)  # velocities whose work is unknown
        self.is_on = _is_known(context) and not context.inputs.changes
        self.begin(np.arange(len(x)), x)

    def begin(self, which: NDArray[np.intp], x: Array) -> None:
        """Some of them go on from other states."""
        if not self.is_on:
            return
        kinetic, potential = _energy(self._context, x[which])
        self._start[which], self._potential[which] = kinetic + potential, potential
        self._work[which], self._most[which] = 0.0, kinetic + self._scale

    def moved(self, before: Array, after: Array, tau: Array, steps: int) -> None:
        """Take note of steps under constant efforts, (N, nv)."""
        if not self.is_on:
            return
        if len(self._others) and tau[:, self._others].any():
            self.is_on = False
            return
        self._work += np.einsum("ij,ij->i", (after - before)[:, self._places], tau)
        self._steps += steps
        if self._steps >= EVERY:
            self._steps = 0
            self.look(after)

    def look(self, x: Array) -> None:
        """Warn if one of them has gained energy; those that are lost have none."""
        if not self.is_on:
            return
        good = np.flatnonzero(np.isfinite(x).all(axis=1))
        kinetic, potential = _energy(self._context, x[good])
        gain = kinetic + potential - self._start[good] - self._work[good]
        moves = kinetic + np.abs(potential - self._potential[good]) + np.abs(self._work[good])
        self._most[good] = np.fmax(self._most[good], moves)
        share = np.nan_to_num(gain / np.maximum(self._most[good], _TINY))  # nan: lost in this very step
        if share.max(initial=0.0) > NOTICED:
            worst = int(np.argmax(share))
            _warn(self._context, float(gain[worst]), float(share[worst]), self._context.t)
            self.is_on = False


def warn_if_energy_rises(context: SimulationContext, log: Log) -> None:
    """Look at a log, of whose efforts rows must show the work: none act, or there is a row for each step."""
    if not _is_known(context) or not np.isfinite(log.q).all() or (context.log_every > 1 and log.tau.any()):
        return
    work = np.zeros(len(log.t))
    mean = 0.5 * (log.v[1:] + log.v[:-1])
    work[1:] = np.cumsum(np.diff(log.t) * (log.tau[:-1] * mean).sum(axis=1))
    rows = np.unique(np.linspace(0, len(log.t) - 1, ROWS).astype(int))
    kinetic, potential = _energy(context, np.hstack([log.q[rows], log.v[rows]]))
    gain = kinetic + potential - (kinetic + potential)[0] - work[rows]
    most = kinetic.max() + np.ptp(potential) + np.abs(work).max() + _scale(context.system.model)
    worst = int(np.argmax(gain))
    if gain[worst] > NOTICED * most:
        _warn(context, float(gain[worst]), float(gain[worst] / most), float(log.t[rows[worst]]))


def _is_known(context: SimulationContext) -> bool:
    """True if all that gives energy are efforts of the motors."""
    loads = context.system.equations.loads
    return not (loads.applied or loads.pushes or loads.servos or loads.law)


def _energy(context: SimulationContext, x: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy of rows of states [J]; nan where numbers overflow."""
    nq = context.system.model.nq
    try:
        found = context.system.dynamics.energy(np.ascontiguousarray(x[:, :nq]), np.ascontiguousarray(x[:, nq:]))
    except InputError:
        return np.full(len(x), np.nan), np.full(len(x), np.nan)
    return np.asarray(found.kinetic), np.asarray(found.potential)


def _scale(model: Model) -> float:
    """Weight times length of the mechanism [J]: near a turning point or at rest less than that moves."""
    return float(model.total_mass * np.linalg.norm(model.gravity) * characteristic_length(model))


def _positions(model: Model) -> NDArray[np.intp]:
    """Place in q of each velocity that is the rate of a position; -1 for others."""
    places = np.full(model.nv, -1, dtype=np.intp)
    for name in model.joint_names:
        if model.joints[name].nq == model.joints[name].nv == 1:
            places[model.v_index(name)] = model.q_index(name).start
    return places


def _warn(context: SimulationContext, gain: float, share: float, t: float) -> None:
    """Say what happened, and what helps."""
    warnings.warn(
        f"the motion of model {context.system.model.name!r} has gained {gain:.3g} J until t = {t:.6g} s, "
        f"{share:.0%} of the energy that moves, which no motor gave: the step of {context.step:g} s is too long "
        "for it. Take a shorter step, or another integrator.",
        IntegrationAccuracyWarning,
        stacklevel=4,
    )
