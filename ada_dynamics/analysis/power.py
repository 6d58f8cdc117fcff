# SPDX-License-Identifier: Apache-2.0
"""Where the mechanical energy of a motion comes from and goes to: dE/dt = input + external + contact + stops - lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.joint_loads import Stop, joint_loads, without_friction
from ada_dynamics.algorithms.passive import lost_efforts
from ada_dynamics.analysis.balance import Places
from ada_dynamics.analysis.between_rows import BetweenRows, Hidden, hide
from ada_dynamics.analysis.motion import Motion, dynamics_of, energy_of
from ada_dynamics.analysis.quadrature import cumulative, hermite
from ada_dynamics.arrays import Array
from ada_dynamics.contact.stops import FRICTION_SPEED, JointStops
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.quantities.base import position_rates
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model

NO_SWING = 1e-9  # of the energies: less is rounding
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)  # between two rows


@dataclass(frozen=True, eq=False)
class PowerBalance:
    """Energies, powers and work over a motion, (N,) each.

    Attributes:
        t: times [s].
        kinetic: energy of links and rotors [J].
        potential: energy of weight, zero at the world's origin, and of the joints' springs [J].
        input: power of the motors [W].
        external: power of wrenches put on links [W].
        contact: power of the ground and of other contacts on the bodies [W]; they give back a part of what they take.
        stops: power of joint stops and other efforts of the joints' surroundings [W]; likewise.
        dissipated: power that damping and friction of the joints take, never negative [W].
        work: the integral of each of these five from the start, by name; nan from where on it is not known [J].
        friction_work: the part of work["dissipated"] that Coulomb friction took; viscous damping took the rest [J].
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
        """Kinetic and potential energy [J]."""
        return self.kinetic + self.potential

    @property
    def residual(self) -> Array:
        """Gain of energy that no work explains [J]: errors of the simulation, and of the integrals over its log."""
        done = self.work
        explained = done["input"] + done["external"] + done["contact"] + done["stops"] - done["dissipated"]
        return self.total - self.total[:1] - explained

    @property
    def worst(self) -> float:
        """Largest residual, as a share of the largest kinetic energy, change of the potential one, or work of one kind.

        Nan where some work is not known. Where nothing of that is more than 1e-9 of the energies, as a share of that
        much: less is rounding.
        """
        return float(worst_share(self.residual, self.kinetic, self.potential, *self.work.values()))

    @property
    def account(self) -> dict[str, float]:
        """Over the whole motion, by name: energy that came in ("motors", "external"), was lost, is unexplained [J]."""
        if not len(self.t):
            return dict.fromkeys(("motors", "external", "damping", "friction", "stops", "contact", "unexplained"), 0.0)
        done = {name: float(work[-1]) for name, work in self.work.items()}
        rubbed = float(self.friction_work[-1])
        return {
            "motors": done["input"],
            "external": done["external"],
            "damping": done["dissipated"] - rubbed,
            "friction": rubbed,
            "stops": -done["stops"],
            "contact": -done["contact"],
            "unexplained": float(self.residual[-1]),
        }

    def in_words(self) -> str:
        """Where the energy came from and went to, in one line.

        What is under a millionth of the largest is left out, and what is not known.
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
        parts = [f"{account[name]:.3g} J {what}" for name, what in words.items() if abs(account[name]) > least]
        return "; ".join([f"energy drift {drift}", *([", ".join(parts)] if parts else [])])


def worst_share(residual: Array, kinetic: Array, potential: Array, *works: Array) -> Array:
    """`PowerBalance.worst` of one motion, (R,), or of each of many, (N, R)."""
    moved = [kinetic, *(x - x[..., :1] for x in (potential, *works))]
    floor = NO_SWING * np.maximum(_largest(kinetic), _largest(potential))
    scale = np.max([floor, *map(_largest, moved)], axis=0)
    return np.asarray(_largest(residual) / np.where(scale > 0.0, scale, 1.0))


def _largest(rows: Array) -> Array:
    return np.asarray(np.max(np.abs(rows), axis=-1, initial=0.0))


def loses_energy(model: Model) -> bool:
    """True if damping or friction of joints takes energy from a motion."""
    return bool(np.any(np.asarray(_dissipated(model, np.ones(model.nv), FRICTION_SPEED)) != 0.0))


def power_balance(
    motion: Motion,
    *,
    stops: JointStops | None = None,
    friction_speed: float | None = None,
    places: Places | None = None,
    is_held: bool | None = None,
    efforts: ArrayLike | None = None,
) -> PowerBalance:
    """Energies and powers along a motion.

    Work of damping, friction and stops is integrated over the motion between the rows, a cubic by the accelerations of
    a log, so that friction which turns round and stops that are touched between two rows count; other work is
    integrated over the rows.

    Where the rows of a log do not show what was done between them, the work is nan from there on: of efforts that its
    controller changed there, of external wrenches that came and went, and, in steps that have no rows, of all that
    changed velocities otherwise than the accelerations of the rows tell.

    Args:
        motion: a `Log`: model, t, q, v; its tau, external wrenches and contact wrenches where it has them.
        stops: the joint stops that acted; by default those of the simulation that made a log.
        friction_speed: speed under which Coulomb friction was as good as viscous (`joint_loads`); by default that of
            simulations for their logs, and f sign(v) for other motions.
        places: where the contacts are (see `balance`); the log's own by default.
        is_held: whether the efforts of each row held until the next one, as those of a controller do; else they are
            taken as samples of something smooth. By default as a log says, else held.
        efforts: of the motors, (N, nv); by default the motion's own, its `tau`.

    Raises:
        InputError: there are contact wrenches without places, or efforts that are not known.

    Warns:
        UnknownWorkWarning: some work is nan; the message says whose, from when on, why, and what would show it.
    """
    dynamics, t = dynamics_of(motion), np.asarray(motion.t, dtype=np.float64)
    zeros = np.zeros(len(t))
    kinetic, potential = energy_of(motion)
    tau = _efforts(motion, getattr(motion, "tau", None) if efforts is None else efforts)
    friction_speed = _friction_speed(motion, friction_speed)
    stops = stops or _stops(motion)
    rows = BetweenRows(t, _info_of(motion))
    holds = rows.are_held if is_held is None else is_held

    def by_joints(q: Array, v: Array) -> Array:
        damped, rubbed = _dissipated(motion.model, v, friction_speed)
        stopped = stop_power(motion.model, stops, q, v) if stops else 0.0 * rubbed
        return np.stack(np.broadcast_arrays(damped + rubbed, rubbed, stopped), axis=-1)

    lost, _, stopping = (zeros[:, None] + by_joints(motion.q, motion.v)).T
    step = _implicit_step(motion)
    if step is None:
        lost_work, friction_work, stop_work = _work_between(motion, by_joints).T
    else:
        lost_work, friction_work, stop_work = _work_of_steps(motion, stops, friction_speed, step).T
    external = zeros + external_power(dynamics, motion.q, motion.v, getattr(motion, "external", None) or {})
    contact = zeros + _contact_power(dynamics, motion, places)
    given = _per_row(tau, motion.v)
    work = {
        "input": _held_work(motion, tau) if holds else cumulative(t, given),
        "external": cumulative(t, external),
        "contact": cumulative(t, contact) if step is None else _contact_work(dynamics, motion, places),
        "stops": stop_work,
        "dissipated": lost_work,
    }
    hidden = _hidden(motion, rows, stops, continuous=not holds and bool(tau.any()))
    hide(work, hidden + ([rows.held_efforts(tau)] if holds and is_held is None else []), t)
    friction_work = np.where(np.isnan(work["dissipated"]), np.nan, friction_work)
    return PowerBalance(t, kinetic, potential, given, external, contact, stopping, lost, work, friction_work)


def _hidden(motion: Any, rows: BetweenRows, stops: JointStops | None, continuous: bool) -> list[Hidden]:
    """What the rows do not show of all that acts, but for efforts that are held."""
    acting = {
        "input": continuous,
        "external": bool(getattr(motion, "external", None)),
        "contact": bool(getattr(motion, "contact_wrenches", None)),
        "stops": stops is not None,
        "dissipated": loses_energy(motion.model),
    }
    hidden = rows.fast([name for name, acts in acting.items() if acts], motion.v, getattr(motion, "a", None))
    return [rows.external(), *hidden]


def _info_of(motion: Any) -> Mapping[str, Any]:
    """How a simulation made the motion; nothing where none did."""
    return getattr(motion, "info", None) or {}


def _implicit_step(motion: Any) -> float | None:
    """Length of the steps of a log whose rows are all steps of a semi-implicit integrator; None of other motions."""
    info = _info_of(motion)
    if info.get("integrator") != "semi_implicit" or len(motion.t) < 2:
        return None
    if BetweenRows(motion.t, info).skips_steps.any() or not np.isfinite(motion.a).all():
        return None
    return float(info["step"])


def _work_of_steps(motion: Any, stops: JointStops | None, friction_speed: float | None, h: float) -> Array:
    """As `_work_between`, of linearly implicit steps: efforts hold for a step, in which v goes evenly to v + h a."""
    tree, q, v, a = motion.model.tree, motion.q[:-1], motion.v[:-1], motion.a[:-1]
    after, passed = v + h * a, np.diff(motion.t)[:, None]
    mean = 0.5 * (v + after)

    def effort_power(stopped: Sequence[Stop], friction_speed: float) -> Array:
        efforts, armature = joint_loads(tree, stopped, friction_speed, _columns(q), _columns(v), h)
        kept = [e - m * x for e, m, x in zip(efforts, armature, _columns(a), strict=True)]
        return np.broadcast_to(_power(kept, _columns(mean)), len(q))

    # the armature of viscous damping is in all of these, next to no friction in the first two
    damped = effort_power((), np.inf)
    rubbed = damped - effort_power((), friction_speed) if friction_speed else np.zeros(len(q))
    stopped = effort_power(stops.resolve(motion.model), np.inf) - damped if stops else np.zeros(len(q))
    viscous = _power(lost_efforts(without_friction(tree), _columns(after)), _columns(mean))
    rows = np.stack(np.broadcast_arrays(viscous + rubbed, rubbed, stopped), axis=-1)
    return np.vstack([np.zeros((1, 3)), np.cumsum(passed * rows, axis=0)])


def _contact_work(dynamics: Dynamics, motion: Motion, places: Places | None) -> Array:
    """Work of wrenches that each hold from their row to the next."""
    mean = motion.v.copy()
    mean[:-1] = 0.5 * (motion.v[:-1] + motion.v[1:])
    power = np.zeros(len(motion.t)) + _contact_power(dynamics, motion, places, mean)
    return np.concatenate([[0.0], np.cumsum(np.diff(motion.t) * power[:-1])])


def _work_between(motion: Motion, powers: Callable[[Array, Array], Array]) -> Array:
    """Integrals from the first row of powers that follow from the joints' positions and velocities, (N, k)."""
    t, q, v, model = np.asarray(motion.t, dtype=np.float64), motion.q, motion.v, motion.model
    a = getattr(motion, "a", None)
    if a is None or len(t) < 2 or not np.isfinite(a).all():
        return cumulative(t, powers(q, v))
    h = np.diff(t)[:, None]
    rates = np.stack(np.broadcast_arrays(*position_rates(model.tree, _columns(q), _columns(v))), axis=-1)
    work: Any = 0.0
    for s, weight in zip(0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS, strict=True):
        between = (hermite(s, x[:-1], x[1:], h * slope[:-1], h * slope[1:]) for x, slope in ((q, rates), (v, a)))
        work = work + weight * h * powers(*between)
    return np.vstack([np.zeros((1, work.shape[1])), np.cumsum(work, axis=0)])


def _efforts(motion: Motion, tau: ArrayLike | None) -> Array:
    if tau is None:
        return np.zeros_like(motion.v)
    rows = np.asarray(tau, dtype=np.float64)
    if rows.shape != motion.v.shape or not np.isfinite(rows).all():
        raise InputError(
            f"tau has shape {rows.shape} (needed: {motion.v.shape}), or values that are not finite: without efforts "
            "nobody knows the power of the motors.",
            field="tau",
            value=rows.shape,
            allowed=motion.v.shape,
        )
    return rows


def _stops(motion: Any) -> JointStops | None:
    own = _info_of(motion).get("stops")
    return None if own is None else JointStops(**own)


def _friction_speed(motion: Any, given: float | None) -> float | None:
    if given is not None and not 0.0 < given < np.inf:
        raise InputError(
            f"friction_speed is {given}; it must be a positive speed [rad/s, m/s].",
            field="friction_speed",
            value=given,
            allowed="a positive number",
        )
    if given is not None:
        return given
    info = _info_of(motion)
    own = info.get("friction_speed", FRICTION_SPEED if "integrator" in info else None)
    return None if own is None else float(own)


def _dissipated(model: Model, v: ArrayLike, friction_speed: float | None) -> tuple[Array, Array]:
    """Power lost to viscous damping, and to Coulomb friction [W]."""
    rates = _columns(v)
    damped = _power(lost_efforts(without_friction(model.tree), rates), rates)
    if friction_speed is None:
        return damped, _power(lost_efforts(model.tree, rates), rates) - damped
    rubbing, _ = joint_loads(model.tree, (), friction_speed, [0.0] * model.nq, rates)
    return damped, -_power(rubbing, rates)


def stop_power(model: Model, stops: JointStops, q: ArrayLike, v: ArrayLike) -> Array:
    """Power of joint stops on the joints [W]: negative while they are pressed, positive while they push back."""
    rates = _columns(v)
    efforts, _ = joint_loads(without_friction(model.tree), stops.resolve(model), 1.0, _columns(q), rates)
    return _power(efforts, rates)


def _columns(rows: ArrayLike) -> list[Any]:
    """One array per coordinate, as the algorithms take many states."""
    array = np.asarray(rows, dtype=np.float64)
    return [array[..., i] for i in range(array.shape[-1])]


def _power(efforts: Sequence[Any], rates: Sequence[Any]) -> Array:
    return np.asarray(sum(effort * rate for effort, rate in zip(efforts, rates, strict=True)), dtype=np.float64)


def external_power(dynamics: Dynamics, q: ArrayLike, v: ArrayLike, external: Mapping[str, ArrayLike]) -> Any:
    """Power of wrenches on links [force, moment], about their origins, in their axes [W]."""
    total: Any = 0.0
    for link, wrench in external.items():
        w, R = np.asarray(wrench, dtype=np.float64), dynamics.pose(link, q)[..., :3, :3]
        V = dynamics.velocity(link, q, v)
        total = total + _per_row(np.einsum("...ij,...j", R, w[..., :3]), V[..., :3])
        total = total + _per_row(np.einsum("...ij,...j", R, w[..., 3:]), V[..., 3:])
    return total


def _contact_power(dynamics: Dynamics, motion: Motion, places: Places | None, v: Array | None = None) -> Any:
    """Of the wrenches of each row with the velocities of that row, or with others in its pose."""
    v = motion.v if v is None else v
    wrenches = getattr(motion, "contact_wrenches", None) or {}
    known = places if places is not None else getattr(motion, "contact_frames", None) or {}
    missing = [name for name in wrenches if name not in known]
    if missing:
        raise InputError(
            f"the motion has a wrench of contact {missing[0]!r}, but it is not said where that acts. "
            "Give power_balance(..., places={name: (link, point in its frame)}).",
            field="places",
            value=missing[0],
        )
    total: Any = 0.0
    for name, wrench in wrenches.items():
        link, xyz, *other = known[name]
        w, pose = np.asarray(wrench, dtype=np.float64), dynamics.pose(link, motion.q)
        at = pose[..., :3, 3] + pose[..., :3, :3] @ np.asarray(xyz, dtype=np.float64)
        for body, sign in ((link, 1.0), *((partner, -1.0) for partner in other if partner in dynamics.model.links)):
            V = dynamics.velocity(body, motion.q, v)
            moving = V[..., :3] + np.cross(V[..., 3:], at - dynamics.pose(body, motion.q)[..., :3, 3])
            total = total + sign * (_per_row(w[..., :3], moving) + _per_row(w[..., 3:], V[..., 3:]))
    return total


def _held_work(motion: Motion, efforts: Array) -> Array:
    """Work of efforts that each hold from their row to the next: Σ τ Δq, exact where v is the rate of q."""
    model, way = motion.model, cumulative(motion.t, motion.v)
    for name in model.joint_names:
        if model.joints[name].type.has_rates_of_coordinates():
            way[:, model.v_index(name)] = motion.q[:, model.q_index(name)]
    work = np.zeros(len(motion.t))
    work[1:] = np.cumsum(_per_row(efforts[:-1], np.diff(way, axis=0)))
    return work


def _per_row(a: Array, b: Array) -> Array:
    """Sum of the products along each row."""
    return np.asarray(np.sum(a * b, axis=-1), dtype=np.float64)
