# SPDX-License-Identifier: Apache-2.0
"""Soft stops at the position limits of joints, and rates of stops, springs and friction of joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.joint_loads import Stop
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.constraints.singular import metric
from ada_dynamics.contact.geometry import GRAVITY, finite_number
from ada_dynamics.errors import InputError, ModelError, check_name, invalid
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree

FRICTION_SPEED = 0.01  # [rad/s] or [m/s], below which the Coulomb friction of a joint is approximately viscous
SHARE_OF_STEP = 0.2  # time step times frequency of a joint in its stop
TINY = 1e-300
SINK = 0.02  # deflection of a stop under the weight of the robot [rad], or as a fraction of its size


@dataclass(frozen=True)
class JointStops:
    """Soft stops with the effort k δ (1 + d δ̇) ≥ 0 at the depth δ beyond a joint limit.

    Joints with one position and one velocity have stops at their finite limits, spherical joints at their angle limits.

    Attributes:
        stiffness: k [N m/rad] or [N/m].
        damping: d [s/rad] or [s/m]; a bounce at a small speed v loses about the fraction d v of it.
        joints: (stiffness, damping) of individual joints.
        without: joints with limits but without stops.
    """

    stiffness: float = 100.0
    damping: float = 1.0
    joints: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    without: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "stiffness", finite_number(self.stiffness, "stops: stiffness", positive=True))
        object.__setattr__(self, "damping", finite_number(self.damping, "stops: damping"))
        if not isinstance(self.joints, Mapping):
            raise invalid("joints", self.joints, "a dict of joint: (stiffness, damping)", "stops: ")
        own = {name: _checked_pair(name, pair) for name, pair in self.joints.items()}
        object.__setattr__(self, "joints", own)
        object.__setattr__(self, "without", tuple(self.without))

    @classmethod
    def for_model(
        cls,
        model: Model,
        step: float = 1e-3,
        *,
        q: Array | None = None,
        is_implicit: bool = False,
    ) -> JointStops:
        """Stops whose stiffness suits the time step: the frequency of each joint in its stop is 0.2 / step.

        The effective inertia is 1 / (M⁻¹)_jj, with all other joints free. Integrators that are implicit in the stops
        are stable for any stiffness; for them the inertia is M_jj, and a stop of a floating robot deflects by at most
        0.02 rad under its weight. For the others, the damping k d δ of a joint that is beyond its limit by δ at q suits
        the step as well.

        Args:
            model: model whose joints have limits.
            step: time step of the integrator [s].
            q: configuration at which inertias are computed; neutral by default.
            is_implicit: True for the integrator semi_implicit.

        Raises:
            ModelError: a motion that the loop constraints allow has no inertia.
        """
        step = finite_number(step, "step", positive=True)
        M = _mass_matrix(model, q)
        inertia = free_inertias(model, q)
        if is_implicit:  # a joint without inertia moves the links that its loops connect to it
            inertia = np.where(np.diag(M) > 0.0, np.diag(M), inertia)
        turning, sliding = _weight_stiffness(model, M) if is_implicit else (0.0, 0.0)
        beyond = {} if is_implicit else limit_violations(model, _pose(model, q))
        joints: dict[str, tuple[float, float]] = {}
        for body in model.tree.bodies:
            if not model.joints[body.name].bounds:
                continue
            # a mimic joint contributes multiplier² times its stiffness
            squared = min((SHARE_OF_STEP / step) ** 2, 1.0 / max(step * beyond.get(body.name, 0.0), TINY))
            followed = float(inertia[body.v].min()) * squared / (body.multiplier**2 or 1.0)
            least = sliding if body.joint.slides() else turning
            joints[body.name] = (max(followed, least), 1.0)
        return cls(joints=joints)

    def resolve(self, model: Model, tree: Tree | None = None) -> tuple[Stop, ...]:
        """Stops in the form of `algorithms.joint_loads`.

        Args:
            model: model with the limits.
            tree: tree of the model; `model.tree` by default.

        Raises:
            InputError: a joint is unknown or has no position limits.
        """
        limited = limited_joints(model)
        for name in (*self.joints, *self.without):
            check_name("joint", name, model.joints)
            if name not in limited:
                text = (
                    f"stops: joint {name!r} is {model.joints[name].kind} and has no finite position limits to stop at. "
                    f"Joints with limits: {', '.join(limited) or 'none'}."
                )
                raise InputError(text, joint=name, field="joints", value=name, allowed=tuple(limited))
        return tuple(
            Stop(body.index, bound, *self.joints.get(body.name, (self.stiffness, self.damping)))
            for body in (tree or model.tree).bodies
            if body.name not in self.without
            for bound in model.joints[body.name].bounds
        )


def _checked_pair(joint: str, pair: object) -> tuple[float, float]:
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise invalid(f"joint {joint!r}", pair, "(stiffness, damping)", "stops: ", joint=joint)
    stiffness = finite_number(pair[0], f"stops: stiffness of joint {joint!r}", positive=True)
    return stiffness, finite_number(pair[1], f"stops: damping of joint {joint!r}")


def stop_rate(
    model: Model, stops: JointStops | None, friction_speed: float = FRICTION_SPEED, q: Array | None = None
) -> float:
    """Largest eigenvalue of the linearized stops, springs and friction of joints [1/s]; see `contact.contact_rate`.

    Args:
        model: model with the joints.
        stops: stops, or None.
        friction_speed: see `joint_loads.joint_loads`.
        q: configuration; neutral by default.
    """
    if not model.nv:
        return 0.0
    inertia = free_inertias(model, q)
    rates = [0.0]
    for stop in stops.resolve(model) if stops else ():
        body = model.tree.bodies[stop.body]
        rates.append(float(np.sqrt(stop.stiffness * body.multiplier**2 / inertia[body.v].min())))
    for body in model.tree.bodies:
        viscous = body.multiplier**2 * (body.friction / friction_speed + body.damping)
        elastic = body.multiplier**2 * body.stiffness
        own = inertia[body.v]
        rates += [*(viscous / own).tolist(), *np.sqrt(elastic / own).tolist()]
    return max(rates)


def free_inertias(model: Model, q: Array | None) -> Array:
    """Inertias 1 / (∂a_j/∂τ_j) with all other joints free, limited by the loops if links lack inertia, (nv,)."""
    M = _mass_matrix(model, q)
    if not model.loops or np.linalg.matrix_rank(M, hermitian=True) == len(M):
        return np.asarray(1.0 / np.diag(np.linalg.inv(M)), dtype=np.float64)
    mobility = np.diag(mobility_matrix(model, q))
    # Joints locked by the loops get the inertia of the whole mechanism.
    return np.asarray(1.0 / np.maximum(mobility, 1.0 / np.trace(M)), dtype=np.float64)


def mobility_matrix(model: Model, q: Array | None) -> Array:
    """Accelerations per effort ∂a/∂τ with the loops closed, (nv, nv)."""
    M = _mass_matrix(model, q)
    loops = ConstraintSet(model)
    J = loops.weights[:, None] * loops.jacobian(_pose(model, q))
    try:
        at = metric(M, J, len(J))
    except np.linalg.LinAlgError:
        text = (
            f"model {model.name!r}: a motion that its loops allow has no inertia at this configuration, so no "
            "stiffness of a stop or servo is suitable. Give the links that move inertia, or their joints an armature."
        )
        raise ModelError(text, field="inertia", value=model.name) from None
    free = np.linalg.solve(at.L, np.eye(len(M)))
    return np.asarray(free.T @ (free - at.U @ (at.U.T @ free)), dtype=np.float64)


def _pose(model: Model, q: Array | None) -> Array:
    return model.neutral() if q is None else np.asarray(q, dtype=float)


def _mass_matrix(model: Model, q: Array | None) -> Array:
    return np.array(mass_matrix(model.tree, _pose(model, q).tolist()).dense(), dtype=float)


def _weight_stiffness(model: Model, M: Array) -> tuple[float, float]:
    """Stiffness [N m/rad] and [N/m] at which the weight of a floating robot deflects a stop by SINK, else zero."""
    if not model.tree.bodies or model.tree.bodies[0].v != slice(0, 6):
        return 0.0, 0.0
    weight = model.total_mass * GRAVITY
    arm = float(np.sqrt(max(0.0, np.trace(M[:6, :6]) - 3.0 * M[0, 0]) / (2.0 * model.total_mass)))
    return weight * arm / SINK, weight / (SINK * max(arm, SINK))


def limited_joints(model: Model) -> list[str]:
    """Names of the joints with a finite position limit, including mimic joints."""
    return [body.name for body in model.tree.bodies if model.joints[body.name].bounds]


def limit_violations(model: Model, q: Array) -> dict[str, float]:
    """Largest violation of the position limits by joint; joints within their limits are omitted [rad, m].

    Args:
        model: model with the limits.
        q: configuration (nq,), or configurations (N, nq).
    """
    poses, found = np.atleast_2d(q), {}
    for body in model.tree.bodies:
        own = body.positions(list(poses.T))
        over = [bound.excess(own) for bound in model.joints[body.name].bounds]
        worst = float(np.max(over, initial=0.0))
        if worst > 0.0:
            found[body.name] = worst
    return found
