# SPDX-License-Identifier: Apache-2.0
"""All there is to say about a model's loops before it moves: mobility, redundancy, motors, what stays where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import RANK, Flags, LoopState, Study, in_general, loop_state, study
from ada_dynamics.constraints.closure import CLOSED, assembled, start_of
from ada_dynamics.constraints.constraint_set import LoopNumbers
from ada_dynamics.errors import ModelError
from ada_dynamics.model.model import Model

# Velocities up to which ranks are looked at; saying all of them takes some 10 s, and grows with the cube of the size.
LARGEST = 60

_HELD = 1e-9  # share of a joint in the motions of unit length: less is rounding
_SMALLEST_INERTIA = 1e-12  # of a motion that the loops allow, by the diagonal of the reduced mass matrix


@dataclass(frozen=True)
class Motors:
    """The joints with motors, beside the motions that the loops leave.

    Attributes:
        joints: their names.
        are_named: whether the description says which they are; else all joints count.
        velocities: how many velocities they have.
        driven: of the mechanism's motions, how many they determine, by rank.
        mobility: how many motions there are.
        undriven: a joint that can move while the motors are at rest and no spring gives; "" where none can, or where
            the base is free.
    """

    joints: tuple[str, ...]
    are_named: bool
    velocities: int
    driven: int
    mobility: int
    undriven: str = ""

    @property
    def surplus(self) -> int:
        """Motors beyond those that determine the motion: over-actuation."""
        return self.velocities - self.driven

    @property
    def missing(self) -> int:
        """Motions that no motor determines: under-actuation."""
        return self.mobility - self.driven


@dataclass(frozen=True)
class Overview:
    """Findings about the loops of a model.

    Attributes:
        study: ranks, in poses that close the loops.
        start: the rough pose that was given; the neutral one by default.
        pose: the closed one that was found next to it.
        motors: beside the mobility.
        held: joints that the loops never let move.
    """

    study: Study
    start: Array
    pose: Array
    motors: Motors
    held: tuple[str, ...]

    @cached_property
    def state(self) -> LoopState:
        """The loops in the pose that was found."""
        return loop_state(self.study, self.pose, None)

    @cached_property
    def start_gaps(self) -> dict[str, float]:
        """The largest gap of each loop in the rough pose [m, rad]."""
        gaps = loop_state(self.study, self.start, None).gap
        return {name: float(np.max(np.abs(gap), initial=0.0)) for name, gap in gaps.items()}

    @property
    def start_is_closed(self) -> bool:
        """True if the rough pose closes all loops already."""
        return max(self.start_gaps.values(), default=0.0) <= CLOSED * max(1.0, self.study.numbers.length)

    @property
    def moved(self) -> float:
        """Largest change from the rough pose to the closed one [m, rad]."""
        step = self.study.numbers.model.difference(self.start, self.pose)
        return float(np.max(np.abs(step), initial=0.0))

    @property
    def idle(self) -> dict[str, list[str]]:
        """Conditions that never act on anything that moves, in words, by loop."""
        found: dict[str, list[str]] = {}
        for c in self.study.idle:
            loop, _, kind = self.study.numbers.conditions[c]
            found.setdefault(loop, []).append(str(kind))
        return found

    @cached_property
    def unique(self) -> Flags:
        """Components of the joint wrenches that follow from the motion alone, in general poses."""
        return in_general(self.study)

    @cached_property
    def resists_all_motions(self) -> bool:
        """True if every motion that the loops leave moves some inertia, in the poses looked at."""
        return all(_is_regular(self.study.numbers, q, self.study.rank) for q in self.study.poses)


def overview(model: Model, guess: ArrayLike | None = None) -> Overview:
    """Look at the loops of a model.

    Args:
        model: with loops.
        guess: rough pose to close the loops from; the neutral one by default.

    Raises:
        InputError: the guess is unusable.
        ModelError: the loops do not close, join what cannot move anyway, or are too many to look at.
    """
    if model.nv > LARGEST:
        raise ModelError(
            f"model {model.name!r} has {model.nv} velocities; ranks of loops are looked at up to {LARGEST} of them.",
            field="nv",
            value=model.nv,
            allowed=LARGEST,
        )
    start = start_of(model, guess)
    found = study(model, start)
    motions = [motions_left(found.numbers, q, found.rank) for q in found.poses]
    # the study leaves out poses that are much nearer to a singular one than most; the start may be one of them
    closed = assembled(model, found.numbers, start)
    return Overview(found, start, closed, _motors(model, motions), _held(model, motions))


def motions_left(numbers: LoopNumbers, q: Array, rank: int) -> Array:
    """Velocities that the loops allow in a pose, as orthonormal columns."""
    J = numbers.jacobian(q) / numbers.weights[:, None]
    return np.asarray(np.linalg.svd(J, full_matrices=True)[2][rank:].T, dtype=np.float64)


def _motors(model: Model, motions: Sequence[Array]) -> Motors:
    are_named = tuple(model.actuated) != tuple(model.joint_names)
    joints = model.actuated if are_named else tuple(name for name in model.actuated if name != model.floating_joint)
    own = np.array([i for name in joints for i in range(model.nv)[model.v_index(name)]], dtype=np.intp)
    driven = max((_rank(N[own]) for N in motions), default=0)
    undriven = "" if model.floating_joint is not None else _undriven(model, motions[0], joints)
    return Motors(tuple(joints), are_named, len(own), driven, motions[0].shape[1], undriven)


def _undriven(model: Model, motions: Array, motors: Sequence[str]) -> str:
    """The joint that moves most while motors and springs are at rest; "" where that holds all joints."""
    sprung = [name for name, joint in model.joints.items() if joint.stiffness]
    at_rest = [i for name in (*motors, *sprung) for i in range(model.nv)[model.v_index(name)]]
    if _rank(motions[at_rest]) == motions.shape[1]:
        return ""
    motion = motions @ np.linalg.svd(motions[at_rest])[2][-1]
    return model.joint_of_velocity(int(np.argmax(np.abs(motion))))


def _rank(columns: Array) -> int:
    if columns.size == 0:
        return 0
    return int(np.sum(np.linalg.svd(columns, compute_uv=False) > RANK))


def _held(model: Model, motions: Sequence[Array]) -> tuple[str, ...]:
    largest = np.max([np.max(np.abs(N), axis=1, initial=0.0) for N in motions], axis=0)
    return tuple(name for name in model.joint_names if (largest[model.v_index(name)] < _HELD).all())


def _is_regular(numbers: LoopNumbers, q: Array, rank: int) -> bool:
    N = motions_left(numbers, q, rank)
    reduced = N.T @ numbers.mass_matrix(q) @ N
    largest = float(np.max(np.diag(reduced), initial=0.0))
    if N.shape[1] == 0:
        return True
    return largest > 0.0 and bool(np.linalg.eigvalsh(reduced)[0] > _SMALLEST_INERTIA * largest)
