# SPDX-License-Identifier: Apache-2.0
"""Report on the loops of a model: mobility, redundancy, actuation, immobile joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.kinematics import transforms, velocities
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import (
    RANK,
    ConstraintAnalysis,
    ConstraintState,
    UniqueComponents,
    analyse,
    constraint_state,
    unique_in_general,
)
from ada_dynamics.constraints.closure import CLOSED, closed_near, initial_configuration
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.constraints.coordinates import velocities_of
from ada_dynamics.constraints.singular import directions
from ada_dynamics.errors import ModelError
from ada_dynamics.model.joints import Fixed
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD

# Largest number of velocities; the ranks of so many take some 10 s, and grow with the cube of the number.
LARGEST = 60

_IMMOBILE = 1e-9  # velocity of a joint in motions of unit length: less is rounding
_NEGLIGIBLE = 1e-6  # mass of a body relative to all: less belongs to a frame or a cross
_SMALLEST_INERTIA = 1e-12  # eigenvalue of the reduced mass matrix, relative to its largest diagonal entry


@dataclass(frozen=True)
class Motors:
    """Actuated joints compared with the mobility of the mechanism.

    Attributes:
        joints: names of the actuated joints.
        are_named: whether the model names them; otherwise all joints count as actuated.
        velocities: number of actuated velocities.
        driven: number of degrees of freedom that they determine, by rank.
        mobility: number of degrees of freedom.
        undriven: a joint that can move while actuators and springs are at rest; "" if there is none, or if the base
            floats.
        idle_rotations: if all undriven motions are rotations of single links while all other links are at rest, such as
            those of a rod about the line through its two ball joints: by link, its joint with one velocity that moves
            most, or else a ball joint and the letters of its axes across the line, such as "YZ".
    """

    joints: tuple[str, ...]
    are_named: bool
    velocities: int
    driven: int
    mobility: int
    undriven: str = ""
    idle_rotations: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def surplus(self) -> int:
        """Degree of over-actuation."""
        return self.velocities - self.driven

    @property
    def missing(self) -> int:
        """Degree of under-actuation."""
        return self.mobility - self.driven


@dataclass(frozen=True)
class ConstraintReport:
    """Properties of the loops of a model.

    Attributes:
        analysis: of the constraints.
        start: the initial configuration.
        q: a configuration near it that closes the loops.
        motors: actuated joints compared with the mobility.
        held: joints that cannot move.
    """

    analysis: ConstraintAnalysis
    start: Array
    q: Array
    motors: Motors
    held: tuple[str, ...]

    @cached_property
    def state(self) -> ConstraintState:
        """Constraint violation and conditioning in q."""
        return constraint_state(self.analysis, self.q, None)

    @cached_property
    def start_violation(self) -> dict[str, float]:
        """Largest violation of each loop in the initial configuration [m, rad]."""
        violation = constraint_state(self.analysis, self.start, None).violation
        return {name: float(np.max(np.abs(x), initial=0.0)) for name, x in violation.items()}

    @property
    def start_is_closed(self) -> bool:
        """True if the initial configuration closes all loops."""
        return max(self.start_violation.values(), default=0.0) <= CLOSED * max(1.0, self.analysis.constraints.length)

    @property
    def moved(self) -> float:
        """Largest displacement from the initial configuration to q [m, rad]."""
        return float(np.max(np.abs(self.analysis.constraints.model.difference(self.start, self.q)), initial=0.0))

    @cached_property
    def unique(self) -> UniqueComponents:
        """Uniquely determined components of the joint wrenches, in general configurations."""
        return unique_in_general(self.analysis)

    @cached_property
    def resists_all_motions(self) -> bool:
        """True if the reduced mass matrix is regular in all samples."""
        return all(_is_regular(self.analysis.constraints, q, self.analysis.rank) for q in self.analysis.configurations)


def constraint_report(model: Model, guess: ArrayLike | None = None) -> ConstraintReport:
    """Report on the loops of a model near a guess, or near its home configuration.

    Raises:
        InputError: the guess is invalid.
        ModelError: the loops do not close, connect links that are fixed to each other, or the model is too large.
    """
    if model.nv > LARGEST:
        raise ModelError(
            f"model {model.name!r} has {model.nv} velocities; ranks of loops are computed up to {LARGEST}.",
            field="nv",
            value=model.nv,
            allowed=LARGEST,
        )
    start = initial_configuration(model, guess)
    found = analyse(model, start)
    motions = [_motions_left(found.constraints, q, found.rank) for q in found.configurations]
    # the analysis leaves out poses that are much nearer to a singular one than most; the start may be one of them
    closed = closed_near(model, found.constraints, start)
    return ConstraintReport(found, start, closed, _motors(model, found.configurations, motions), _held(model, motions))


def _motions_left(constraints: ConstraintSet, q: Array, rank: int) -> Array:
    """Orthonormal basis of the admissible velocities in q."""
    return directions(constraints.jacobian(q) / constraints.weights[:, None], rank)


def _motors(model: Model, configurations: Sequence[Array], motions: Sequence[Array]) -> Motors:
    are_named = tuple(model.actuated) != tuple(model.joint_names)
    joints = model.actuated if are_named else tuple(name for name in model.actuated if name != model.floating_joint)
    own = list(velocities_of(model, joints))
    driven = max(_rank(N[own]) for N in motions)
    undriven = [np.empty((model.nv, 0))] if model.floating_joint is not None else _undriven(model, motions, joints)
    name, idle = "", dict[str, tuple[str, str]]()
    if undriven[0].size:
        name = model.joint_of_velocity(int(np.argmax(np.abs(undriven[0][:, -1]))))
        idle = _idle_rotations(model, configurations, undriven)
    return Motors(tuple(joints), are_named, len(own), driven, motions[0].shape[1], name, idle)


def _undriven(model: Model, motions: Sequence[Array], motors: Sequence[str]) -> list[Array]:
    """Bases of the motions that are possible while actuators and springs are at rest, one for each configuration."""
    sprung = [name for name, joint in model.joints.items() if joint.stiffness]
    at_rest = list(velocities_of(model, (*motors, *sprung)))
    return [N @ directions(N[at_rest], _rank(N[at_rest])) for N in motions]


def _idle_rotations(
    model: Model, configurations: Sequence[Array], undriven: Sequence[Array]
) -> dict[str, tuple[str, str]]:
    """Joint to change for each link that can move alone (see `Motors`); empty if there are other motions."""
    tree, shares = model.tree, dict[int, Array]()
    groups = _rigid_groups(model, undriven[0])
    for q, motions in zip(configurations, undriven, strict=True):
        X, place = transforms(tree, q.tolist()), q.tolist()
        moving = [velocities(tree, X, place, motion) for motion in motions.T.tolist()]
        V = np.array([[(*body.angular, *body.linear) for body in bodies] for bodies in moving], dtype=np.float64)
        for group in set(groups.values()):
            others = V[:, [k for k in groups if groups[k] != group]].reshape(len(moving), -1).T
            alone = directions(others, _rank(others))
            if alone.shape[1] == 1:
                share = np.abs(motions @ alone[:, 0])
                shares[group] = np.minimum(shares.get(group, np.inf), share / np.max(share))
    if len(shares) != undriven[0].shape[1]:
        return {}
    found: dict[str, tuple[str, str]] = {}
    for group, share in shares.items():
        names = [model.joint_of_velocity(k) for k in np.argsort(-share) if share[k] > _IMMOBILE]
        single = [name for name in names if model.joints[name].nv == 1]
        across = np.sort(np.argsort(share[model.v_index(names[0])])[:2])
        chosen = (single[0], "") if single else (names[0], "".join("XYZ"[k] for k in across))
        found[model.joints[tree.bodies[group].name].child] = chosen
    return found


def _rigid_groups(model: Model, motions: Array) -> dict[int, int]:
    """For each body with mass, the first body of its group: bodies without relative motion in the given motions."""
    tree = model.tree
    total = sum(body.inertia.mass for body in tree.bodies)
    at_rest = np.max(np.abs(motions), axis=1) < _IMMOBILE
    together = [(body.parent, body.index) for body in tree.bodies if body.parent != WORLD and at_rest[body.v].all()]
    together += [(loop.parent, loop.child) for loop in tree.loops if isinstance(loop.joint, Fixed)]
    first = {body.index: body.index for body in tree.bodies if body.inertia.mass > _NEGLIGIBLE * total}
    for one, other in together:
        if one in first and other in first:
            new, old = first[one], first[other]
            first = {index: new if group == old else group for index, group in first.items()}
    return first


def _rank(columns: Array) -> int:
    return int(np.sum(np.linalg.svd(columns, compute_uv=False) > RANK)) if columns.size else 0


def _held(model: Model, motions: Sequence[Array]) -> tuple[str, ...]:
    largest = np.max([np.max(np.abs(N), axis=1, initial=0.0) for N in motions], axis=0)
    return tuple(name for name in model.joint_names if (largest[model.v_index(name)] < _IMMOBILE).all())


def _is_regular(constraints: ConstraintSet, q: Array, rank: int) -> bool:
    N = _motions_left(constraints, q, rank)
    reduced = N.T @ constraints.mass_matrices([q])[0] @ N
    return not reduced.size or bool(np.linalg.eigvalsh(reduced)[0] > _SMALLEST_INERTIA * np.max(np.diag(reduced)))
