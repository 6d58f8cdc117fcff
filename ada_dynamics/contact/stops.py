# SPDX-License-Identifier: Apache-2.0
"""Soft stops at the position limits of joints, and the friction of joints, as a user gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ada_dynamics.algorithms.crba import mass_matrix
from ada_dynamics.algorithms.joint_loads import Stop
from ada_dynamics.arrays import Array
from ada_dynamics.contact.material import GRAVITY, finite
from ada_dynamics.errors import InputError, ModelError, unknown_name
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.projection import metric
from ada_dynamics.model.bounds import bounds_of
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree

FRICTION_SPEED = 0.01  # [rad/s] or [m/s], under which a joint's Coulomb friction is as good as viscous
SHARE_OF_STEP = 0.2  # step times frequency of a joint in its stop
SINK = 0.02  # [rad], or share of a robot's size, by which its weight presses a joint into its stop


@dataclass(frozen=True)
class JointStops:
    """Stops that push back with k δ (1 + d δ̇), never less than zero, at the depth δ behind a limit of the model.

    Joints of one position and one velocity have them where they have finite limits, and spherical joints at the limits
    of their angles.

    Attributes:
        stiffness: k [N m/rad] or [N/m].
        damping: d, which takes about d v of a joint's speed v at each bounce (as far as d v is small) [s/rad] or [s/m].
        joints: (stiffness, damping) of joints that have their own.
        without: joints that have limits but no stops.
    """

    stiffness: float = 100.0
    damping: float = 1.0
    joints: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    without: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check the values."""
        object.__setattr__(self, "stiffness", finite(self.stiffness, "stops: stiffness", positive=True))
        object.__setattr__(self, "damping", finite(self.damping, "stops: damping"))
        if not isinstance(self.joints, Mapping):
            raise InputError(f"stops: joints is {self.joints!r:.80}; give a dict of joint: (stiffness, damping).")
        own = {name: _checked_pair(name, pair) for name, pair in self.joints.items()}
        object.__setattr__(self, "joints", own)
        object.__setattr__(self, "without", tuple(self.without))

    @classmethod
    def for_model(
        cls,
        model: Model,
        step: float = 1e-3,
        *,
        damping: float = 1.0,
        q: Array | None = None,
        without: Sequence[str] = (),
        is_implicit: bool = False,
    ) -> JointStops:
        """As stiff as the step follows well: each joint swings in its stop at 0.2 / step.

        The inertia that counts is that with all other joints free, 1 / (M⁻¹)_jj. Steps that are implicit in stops are
        stable whatever the stiffness, so that limits decide: the inertia is then what the joint carries, M_jj, and a
        floating robot that comes down on its limbs turns a joint by 0.02 rad at most under its weight.

        Args:
            model: whose joints have limits.
            step: of the integrator [s].
            damping: d of all joints.
            q: pose in which inertias are taken; neutral by default.
            without: joints that get none.
            is_implicit: whether the integrator is semi_implicit.

        Raises:
            ModelError: nothing resists some motion that the model's loops allow.
        """
        step = finite(step, "step", positive=True)
        M = _mass_matrix(model, q)
        inertia = _free_inertias(model, q)
        if is_implicit:  # a joint that carries nothing by itself moves what the loops hang on it
            inertia = np.where(np.diag(M) > 0.0, np.diag(M), inertia)
        turning, sliding = _held_weight(model, M) if is_implicit else (0.0, 0.0)
        joints: dict[str, tuple[float, float]] = {}
        for name in (one for one in limited_joints(model) if one not in without):
            body = model.tree.bodies[_body(model.tree, name)]
            # the coordinate feels multiplier² times the stiffness of a joint that mimics another
            followed = float(inertia[body.v].min()) * (SHARE_OF_STEP / step) ** 2 / (body.multiplier**2 or 1.0)
            least = sliding if model.joints[name].type.slides() else turning
            joints[name] = (max(followed, least), damping)
        return cls(damping=damping, joints=joints, without=without)

    def resolve(self, model: Model, tree: Tree | None = None) -> tuple[Stop, ...]:
        """The stops as `algorithms.joint_loads` takes them.

        Args:
            model: whose limits are meant.
            tree: of that model; `model.tree` by default.

        Raises:
            InputError: a joint is unknown, or has no limits to stop at.
        """
        tree = tree or model.tree
        limited = limited_joints(model)
        for name in (*self.joints, *self.without):
            if name not in model.joints:
                raise unknown_name("joint", name, model.joints)
            if name not in limited:
                raise InputError(
                    f"stops: joint {name!r} is {model.joints[name].kind} and has no finite position limits to stop at. "
                    f"Joints that have: {', '.join(limited) or 'none'}."
                )
        stops: list[Stop] = []
        for name in limited:
            if name in self.without:
                continue
            pair = self.joints.get(name, (self.stiffness, self.damping))
            stops += [Stop(_body(tree, name), bound, *pair) for bound in bounds_of(model.joints[name])]
        return tuple(stops)


def _checked_pair(joint: str, pair: object) -> tuple[float, float]:
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise InputError(f"stops: joint {joint!r} has {pair!r:.80}; give (stiffness, damping).")
    stiffness = finite(pair[0], f"stops: stiffness of joint {joint!r}", positive=True)
    return stiffness, finite(pair[1], f"stops: damping of joint {joint!r}")


def fastest_rate(
    model: Model, stops: JointStops | None, friction_speed: float = FRICTION_SPEED, q: Array | None = None
) -> float:
    """The fastest rate of joints in stops, springs and under friction [1/s]; see `contact.rates.fastest_rate`.

    Args:
        model: of the joints.
        stops: or None.
        friction_speed: see `joint_loads.joint_loads`.
        q: pose; neutral by default.
    """
    if not model.nv:
        return 0.0
    inertia = _free_inertias(model, q)
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


def _free_inertias(model: Model, q: Array | None) -> Array:
    """1 / (∂a_j/∂τ_j), all others free; where links without inertia are in the loops, as far as the loops let them."""
    M = _mass_matrix(model, q)
    if not model.loops or np.linalg.matrix_rank(M, hermitian=True) == len(M):
        return np.asarray(1.0 / np.diag(np.linalg.inv(M)), dtype=np.float64)
    loops = LoopNumbers(model)
    J = loops.weights[:, None] * loops.jacobian(_pose(model, q))
    try:
        at = metric(M, J, len(J))
    except np.linalg.LinAlgError:
        raise ModelError(
            f"model {model.name!r}: nothing resists some motion that its loops allow in this position, so that no stop "
            "can suit it. Give the links that move inertia, or their joints an armature."
        ) from None
    free = np.linalg.solve(at.L, np.eye(len(M)))
    mobility = np.sum((free - at.U @ (at.U.T @ free)) * free, axis=0)
    # What the loops lock weighs as much as anything: the whole mechanism.
    return np.asarray(1.0 / np.maximum(mobility, 1.0 / np.trace(M)), dtype=np.float64)


def _pose(model: Model, q: Array | None) -> Array:
    return model.neutral() if q is None else np.asarray(q, dtype=float)


def _mass_matrix(model: Model, q: Array | None) -> Array:
    return np.array(mass_matrix(model.tree, _pose(model, q).tolist()).dense(), dtype=float)


def _held_weight(model: Model, M: Array) -> tuple[float, float]:
    """Stiffness [N m/rad] and [N/m] in which the weight of a floating robot sinks by SINK; zero of others."""
    if not model.tree.bodies or model.tree.bodies[0].v != slice(0, 6):
        return 0.0, 0.0
    weight = model.total_mass * GRAVITY
    arm = float(np.sqrt(max(0.0, np.trace(M[:6, :6]) - 3.0 * M[0, 0]) / (2.0 * model.total_mass)))
    return weight * arm / SINK, weight / (SINK * max(arm, SINK))


def limited_joints(model: Model) -> list[str]:
    """Joints that have a finite position limit, those that mimic others among them."""
    return [body.name for body in model.tree.bodies if bounds_of(model.joints[body.name])]


def beyond_limits(model: Model, q: Array) -> dict[str, float]:
    """By joint, how far it is beyond its position limits in a pose, or in any of many, (N, nq) [rad, m].

    Args:
        model: whose limits are meant.
        q: positions.
    """
    poses, found = np.atleast_2d(q), {}
    for body in model.tree.bodies:
        own = body.positions(list(poses.T))
        over = [bound.excess(own) for bound in bounds_of(model.joints[body.name])]
        worst = float(np.max(over, initial=0.0))
        if worst > 0.0:
            found[body.name] = worst
    return found


def _body(tree: Tree, joint: str) -> int:
    return next(b.index for b in tree.bodies if b.name == joint)
