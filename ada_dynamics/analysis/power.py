# SPDX-License-Identifier: Apache-2.0
"""Energy balance of a motion: dE/dt = input + external + contact + stops - dissipated."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms.joint_loads import Stop, joint_loads, without_friction
from ada_dynamics.algorithms.kinematics import position_rates
from ada_dynamics.algorithms.passive import lost_efforts
from ada_dynamics.analysis.motion import StateTrajectory, dynamics_of, energy_of
from ada_dynamics.analysis.sampled_signals import cumulative_integral, hermite
from ada_dynamics.arrays import Array
from ada_dynamics.contact.contact import link_wrenches
from ada_dynamics.contact.stops import FRICTION_SPEED, JointStops
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import UnknownWorkWarning, invalid
from ada_dynamics.model.model import Model

_SAME_CALL = 1e-6  # relative to a control period
_SAME_STEP = 1e-6  # relative to a step
_SAME_TIME = 1e-9  # [s]
_JUMP = 0.05  # change of a velocity between rows, relative to the largest velocity of the joint
_MIN_SPEED = 1e-4  # [rad/s, m/s], lower bound of the velocity scale
MIN_VARIATION = 1e-9  # relative to the energies: smaller variations are rounding errors
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)  # quadrature between two rows


@dataclass(frozen=True, eq=False)
class PowerBalance:
    """Energies, powers and work along a motion, (N,) each.

    Attributes:
        t: times [s].
        kinetic: kinetic energy of links and rotors [J].
        potential: potential energy of gravity, zero at the world origin, and of joint springs [J].
        input: power of the motors [W].
        external: power of external wrenches on links [W].
        contact: power of the ground and of other contacts on the bodies [W], partly elastic.
        stops: power of joint stops on the joints [W], partly elastic.
        dissipated: power of damping and friction of the joints, never negative [W].
        work: integral of each of these five powers from the first row, by name; NaN once it is unknown [J].
        friction_work: part of work["dissipated"] due to Coulomb friction [J]; the remainder is viscous.
    """

    t: Array
    kinetic: Array
    potential: Array
    input: Array
    external: Array
    contact: Array
    stops: Array
    dissipated: Array
    work: Mapping[str, Array]
    friction_work: Array

    @property
    def total(self) -> Array:
        """Kinetic plus potential energy [J]."""
        return self.kinetic + self.potential

    @property
    def residual(self) -> Array:
        """Change of energy minus work [J], caused by errors of the simulation and of the integrals over its log."""
        done = self.work
        explained = done["input"] + done["external"] + done["contact"] + done["stops"] - done["dissipated"]
        return self.total - self.total[:1] - explained

    @property
    def worst(self) -> float:
        """Largest residual relative to the largest kinetic energy, change of potential energy, or work.

        NaN if some work is unknown. The reference is at least 1e-9 of the energies, to exclude rounding errors.
        """
        kinetic, potential = _largest(self.kinetic), _largest(self.potential)
        moved = (_largest(x - x[:1]) for x in (self.potential, *self.work.values()))
        scale = np.max([MIN_VARIATION * max(kinetic, potential), kinetic, *moved])
        return float(_largest(self.residual) / (scale if scale > 0.0 else 1.0))

    @property
    def account(self) -> dict[str, float]:
        """Energy over the whole motion by name: input ("motors", "external"), losses, and the unexplained part [J]."""
        if not len(self.t):
            return dict.fromkeys(("motors", "external", "damping", "friction", "stops", "contact", "unexplained"), 0.0)
        done = {name: float(work[-1]) for name, work in self.work.items()}
        friction = float(self.friction_work[-1])
        return {
            "motors": done["input"],
            "external": done["external"],
            "damping": done["dissipated"] - friction,
            "friction": friction,
            "stops": -done["stops"],
            "contact": -done["contact"],
            "unexplained": float(self.residual[-1]),
        }

    def summary(self) -> str:
        """Describe the energy balance in one line.

        Terms that are unknown or below 1e-6 of the largest are omitted.
        """
        account = self.account
        least = 1e-6 * max((abs(value) for value in account.values() if np.isfinite(value)), default=0.0)
        drift = f"{self.worst:.1e} of its swing" if np.isfinite(self.worst) else "unknown"
        words = {
            "motors": "done by motors",
            "external": "done by external wrenches",
            "damping": "lost to damping",
            "friction": "lost to friction",
            "stops": "lost to joint stops",
            "contact": "lost to contact",
        }
        parts = [f"{account[name]:.3g} J {text}" for name, text in words.items() if abs(account[name]) > least]
        return "; ".join([f"energy drift {drift}", *([", ".join(parts)] if parts else [])])


def _largest(rows: Array) -> float:
    return float(np.max(np.abs(rows), initial=0.0))


def power_balance(motion: StateTrajectory) -> PowerBalance:
    """Energies and powers along a motion.

    The work of damping, friction and stops is integrated over a cubic interpolation between the rows, which uses the
    accelerations of a log, so reversals of friction and stop contacts between rows are included. Other work is
    integrated over the rows.

    Work is NaN from the first interval in which the rows of a log do not determine it: efforts changed by the
    controller between rows, short external wrenches, and velocity changes in steps without rows that are inconsistent
    with the accelerations of the rows.

    Args:
        motion: a `Log`, or a motion with model, t, q, v and optionally tau, external and contact wrenches with
            `contact_frames`. `info` contains `stops`, the settings of `JointStops`; `friction_speed`, below which
            Coulomb friction is viscous (see `joint_loads`), else it is f sign(v); and `efforts`, "continuous" for
            samples of a smooth signal instead of efforts that are held from each row to the next. Efforts that are
            unknown in all rows count as zero.

    Raises:
        InputError: a contact wrench has no frame, or efforts are unknown in some rows.

    Warns:
        UnknownWorkWarning: some work is NaN; the message states which, from when on, the reason and the remedy.
    """
    dynamics, t = dynamics_of(motion), np.asarray(motion.t, dtype=np.float64)
    zeros = np.zeros(len(t))
    kinetic, potential = energy_of(motion)
    tau, info = _efforts(motion, getattr(motion, "tau", None)), _info_of(motion)
    friction_speed = info.get("friction_speed", FRICTION_SPEED if "integrator" in info else None)
    stops = JointStops(**info["stops"]) if "stops" in info else None
    holds = info.get("efforts", "held") == "held"

    def by_joints(q: Array, v: Array) -> Array:
        viscous, friction = _dissipated(motion.model, v, friction_speed)
        stopped = stop_power(motion.model, stops, q, v) if stops else 0.0 * friction
        return np.stack(np.broadcast_arrays(viscous + friction, friction, stopped), axis=-1)

    lost, _, stopping = (zeros[:, None] + by_joints(motion.q, motion.v)).T
    step = _implicit_step(motion)
    if step is None:
        lost_work, friction_work, stop_work = _work_between(motion, by_joints).T
    else:
        lost_work, friction_work, stop_work = _work_of_steps(motion, stops, friction_speed, step).T
    external = zeros + external_power(dynamics, motion.q, motion.v, getattr(motion, "external", None) or {})
    contact = zeros + _contact_power(dynamics, motion)
    given = _per_row(tau, motion.v)
    work = {
        "input": _held_work(motion, tau) if holds else cumulative_integral(t, given),
        "external": cumulative_integral(t, external),
        "contact": cumulative_integral(t, contact) if step is None else _contact_work(dynamics, motion),
        "stops": stop_work,
        "dissipated": lost_work,
    }
    acting = {
        "input": not holds and bool(tau.any()),
        "external": bool(getattr(motion, "external", None)),
        "contact": bool(getattr(motion, "contact_wrenches", None)),
        "stops": stops is not None,
        "dissipated": bool(np.any(_dissipated(motion.model, np.ones(motion.model.nv), FRICTION_SPEED))),
    }
    unknown = _unknown_work(motion, t, [name for name, acts in acting.items() if acts])
    if holds:
        unknown.append(_unknown_held_work(motion, t, tau))
    _mask_unknown_work(work, unknown, t)
    friction_work = np.where(np.isnan(work["dissipated"]), np.nan, friction_work)
    return PowerBalance(t, kinetic, potential, given, external, contact, stopping, lost, work, friction_work)


def _info_of(motion: Any) -> Mapping[str, Any]:
    """`info` of a log, empty for other motions."""
    return getattr(motion, "info", None) or {}


def _implicit_step(motion: Any) -> float | None:
    """Step length of a log with one row per semi-implicit step; None for other motions."""
    info = _info_of(motion)
    if info.get("integrator") != "semi_implicit" or len(motion.t) < 2:
        return None
    if _skips_steps(motion.t, info).any() or not np.isfinite(motion.a).all():
        return None
    return float(info["step"])


def _work_of_steps(motion: Any, stops: JointStops | None, friction_speed: float | None, h: float) -> Array:
    """Work in linearly implicit steps (see `_work_between`): efforts are constant, v varies linearly to v + h a."""
    tree, q, v, a = motion.model.tree, motion.q[:-1], motion.v[:-1], motion.a[:-1]
    after, passed = v + h * a, np.diff(motion.t)[:, None]
    mean = 0.5 * (v + after)

    def effort_power(stopped: Sequence[Stop], friction_speed: float) -> Array:
        efforts, armature = joint_loads(tree, stopped, friction_speed, _columns(q), _columns(v), h)
        net = [e - m * x for e, m, x in zip(efforts, armature, _columns(a), strict=True)]
        return np.broadcast_to(_power(net, _columns(mean)), len(q))

    # All terms include the armature of viscous damping, the first two almost no friction.
    damped = effort_power((), np.inf)
    rubbed = damped - effort_power((), friction_speed) if friction_speed else np.zeros(len(q))
    stopped = effort_power(stops.resolve(motion.model), np.inf) - damped if stops else np.zeros(len(q))
    viscous = _power(lost_efforts(without_friction(tree), _columns(after)), _columns(mean))
    rows = np.stack(np.broadcast_arrays(viscous + rubbed, rubbed, stopped), axis=-1)
    return np.vstack([np.zeros((1, 3)), np.cumsum(passed * rows, axis=0)])


def _contact_work(dynamics: Dynamics, motion: StateTrajectory) -> Array:
    """Work of wrenches that are held from row to row, (N,)."""
    mean = motion.v.copy()
    mean[:-1] = 0.5 * (motion.v[:-1] + motion.v[1:])
    power = np.zeros(len(motion.t)) + _contact_power(dynamics, motion, mean)
    return np.concatenate([[0.0], np.cumsum(np.diff(motion.t) * power[:-1])])


def _work_between(motion: StateTrajectory, powers: Callable[[Array, Array], Array]) -> Array:
    """Integrals from the first row of powers that depend on q and v, (N, k)."""
    t, q, v, model = np.asarray(motion.t, dtype=np.float64), motion.q, motion.v, motion.model
    a = getattr(motion, "a", None)
    if a is None or len(t) < 2 or not np.isfinite(a).all():
        return cumulative_integral(t, powers(q, v))
    h = np.diff(t)[:, None]
    rates = np.stack(np.broadcast_arrays(*position_rates(model.tree, _columns(q), _columns(v))), axis=-1)
    work: Any = 0.0
    for s, weight in zip(0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS, strict=True):
        between = (hermite(s, x[:-1], x[1:], h * slope[:-1], h * slope[1:]) for x, slope in ((q, rates), (v, a)))
        work = work + weight * h * powers(*between)
    return np.vstack([np.zeros((1, work.shape[1])), np.cumsum(work, axis=0)])


def _efforts(motion: StateTrajectory, tau: ArrayLike | None) -> Array:
    rows = np.zeros_like(motion.v) if tau is None else np.asarray(tau, dtype=np.float64)
    if np.isnan(rows).all():
        return np.zeros_like(motion.v)
    if rows.shape != motion.v.shape or not np.isfinite(rows).all():
        raise invalid("tau", rows.shape, f"{motion.v.shape}, all finite", "shape of ")
    return rows


def _dissipated(model: Model, v: ArrayLike, friction_speed: float | None) -> tuple[Array, Array]:
    """Power of viscous damping and of Coulomb friction [W]."""
    rates = _columns(v)
    damped = _power(lost_efforts(without_friction(model.tree), rates), rates)
    if friction_speed is None:
        return damped, _power(lost_efforts(model.tree, rates), rates) - damped
    rubbing, _ = joint_loads(model.tree, (), friction_speed, [0.0] * model.nq, rates)
    return damped, -_power(rubbing, rates)


def stop_power(model: Model, stops: JointStops, q: ArrayLike, v: ArrayLike) -> Array:
    """Power of joint stops on the joints [W]: negative during compression, positive during rebound."""
    rates = _columns(v)
    efforts, _ = joint_loads(without_friction(model.tree), stops.resolve(model), 1.0, _columns(q), rates)
    return _power(efforts, rates)


def _columns(rows: ArrayLike) -> list[Any]:
    """One array per coordinate."""
    array = np.asarray(rows, dtype=np.float64)
    return [array[..., i] for i in range(array.shape[-1])]


def _power(efforts: Sequence[Any], rates: Sequence[Any]) -> Array:
    return np.asarray(sum(effort * rate for effort, rate in zip(efforts, rates, strict=True)), dtype=np.float64)


def external_power(dynamics: Dynamics, q: ArrayLike, v: ArrayLike, external: Mapping[str, ArrayLike]) -> Any:
    """Power of wrenches [force, moment] at link origins in link axes [W]."""
    total: Any = 0.0
    for link, wrench in external.items():
        w, R = np.asarray(wrench, dtype=np.float64), dynamics.pose(link, q)[..., :3, :3]
        V = dynamics.velocity(link, q, v)
        total = total + _per_row(np.einsum("...ij,...j", R, w[..., :3]), V[..., :3])
        total = total + _per_row(np.einsum("...ij,...j", R, w[..., 3:]), V[..., 3:])
    return total


def _contact_power(dynamics: Dynamics, motion: StateTrajectory, v: Array | None = None) -> Any:
    """Power of the contact wrenches of each row, with the velocities of the row or with given ones [W]."""
    wrenches, frames = getattr(motion, "contact_wrenches", None) or {}, getattr(motion, "contact_frames", None) or {}
    on_links = link_wrenches(dynamics, motion.q, wrenches, frames)
    return external_power(dynamics, motion.q, motion.v if v is None else v, on_links)


def _held_work(motion: StateTrajectory, efforts: Array) -> Array:
    """Work of efforts that are held from row to row: Σ τ Δq, exact if v is the rate of q."""
    model, displacement = motion.model, cumulative_integral(motion.t, motion.v)
    for name in model.joint_names:
        if model.joints[name].type.has_rates_of_coordinates():
            displacement[:, model.v_index(name)] = motion.q[:, model.q_index(name)]
    work = np.zeros(len(motion.t))
    work[1:] = np.cumsum(_per_row(efforts[:-1], np.diff(displacement, axis=0)))
    return work


def _per_row(a: Array, b: Array) -> Array:
    """Sum of the products along each row."""
    return np.asarray(np.sum(a * b, axis=-1), dtype=np.float64)


# --- unknown work ---------------------------------------------------------------------------------------------------
class _UnknownWork(NamedTuple):
    """Intervals between rows, (N - 1,), in which the work of a load (see `PowerBalance.work`) is unknown, and why."""

    work: str
    intervals: NDArray[np.bool_]
    why: str


def velocity_scale(v: Array) -> Array:
    """Largest absolute velocity of each joint, at least 1e-3 of that of the fastest joint, (nv,)."""
    each = np.max(np.abs(v), axis=0, initial=0.0)
    return np.asarray(np.maximum(each, max(1e-3 * np.max(each, initial=0.0), _MIN_SPEED)))


def _skips_steps(t: Array, info: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Intervals with integration steps that have no row, except those of adaptive methods."""
    return np.asarray(np.diff(t) > float(info.get("step", np.inf)) * (1.0 + _SAME_STEP))


def _unknown_work(motion: Any, t: Array, acting: Sequence[str]) -> list[_UnknownWork]:
    """Work of external wrenches that change twice between rows, and of loads where velocities jump between rows."""
    info, a = _info_of(motion), getattr(motion, "a", None)
    breaks = np.asarray(info.get("wrench_breaks", ()), dtype=np.float64)
    inside = np.searchsorted(breaks, t[1:] - _SAME_TIME) - np.searchsorted(breaks, t[:-1] + _SAME_TIME)
    found = [_UnknownWork("external", inside > 1, "external wrenches started and ended between rows")]
    if a is None or not np.isfinite(a).all():
        return found
    change = np.abs(np.diff(motion.v - cumulative_integral(t, a), axis=0))
    jumps, skips = np.any(change > _JUMP * velocity_scale(motion.v), axis=1), _skips_steps(t, info)
    why = "velocities changed in steps without rows inconsistently with the accelerations of the rows"
    adaptive = "tolerance" in info  # contacts need steps between the rows of adaptive methods
    return found + [_UnknownWork(work, jumps & (skips | (adaptive and work == "contact")), why) for work in acting]


def _unknown_held_work(motion: Any, t: Array, tau: Array) -> _UnknownWork:
    """Work of held efforts that a controller changed between rows."""
    info = _info_of(motion)
    steps = info.get("step", np.inf) if np.any(tau[1:] != tau[:-1]) else np.inf
    period = float(info.get("control_period", steps))
    calls = (t - float(info.get("control_start", t[0] if len(t) else 0.0))) / period
    until = np.maximum(np.floor(calls[:-1] + _SAME_CALL) + 1.0, 0.0)
    before = np.ceil(calls[1:] - _SAME_CALL)
    return _UnknownWork("input", before > until, f"the controller was called between rows, each {period:g} s")


def _mask_unknown_work(work: dict[str, Array], unknown: Sequence[_UnknownWork], t: Array) -> None:
    """Set unknown work to NaN from the first unknown interval on, and warn."""
    found = [one for one in unknown if one.intervals.any()]
    if not found:
        return
    first = {one.work: len(t) for one in found}
    for one in found:
        first[one.work] = min(first[one.work], int(np.argmax(one.intervals)) + 1)
    for name, row in first.items():
        work[name] = np.where(np.arange(len(t)) < row, work[name], np.nan)
    reasons = "; ".join(dict.fromkeys(one.why for one in found))
    warnings.warn(
        f"PowerBalance.work of {', '.join(map(repr, first))} is unknown (NaN) from t = "
        f"{t[min(first.values()) - 1]:g} s on, and so is the residual: {reasons}. Log each step of a fixed length "
        "(log_every=1), use a control_period that is a multiple of the step, and omit no rows.",
        UnknownWorkWarning,
        stacklevel=3,
    )
