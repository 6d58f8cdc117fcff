# SPDX-License-Identifier: Apache-2.0
"""Plans for mechanisms with hundreds of joints: found by one elimination along the tree, in linear time and memory.

Ranks by singular values and joint-space matrices would take the cube and the square of the number of joints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.errors import ModelError
from ada_dynamics.loops.assembly import CLOSED, assembled
from ada_dynamics.loops.long_orders import long_order
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.plans import Plans
from ada_dynamics.loops.study import IDLE, Study
from ada_dynamics.model.model import Model

Array = NDArray[np.float64]

LONG = 60  # velocities beyond which a mechanism is treated so
SEARCHED = 300  # velocities up to which a pose is searched for, and redundancy resolved, at cubic cost
_REACH = 0.3  # [rad, m] how far other poses are away
_POSES = 3  # in which conditions that never act are looked for; they need not close the loops


class RedundantError(ModelError):
    """Conditions that act depend on each other."""


def study_long(model: Model, pose: Array | None) -> tuple[Study, Plans]:
    """Study and plans.

    Args:
        model: a model with loops.
        pose: one that closes all loops; the neutral one by default.

    Raises:
        ModelError: the pose does not close the loops, or conditions that act depend on each other.
    """
    numbers = LoopNumbers(model)
    q = model.neutral() if pose is None else pose
    if model.nv <= SEARCHED:
        q = assembled(model, numbers, q)
    gap = float(np.max(np.abs(numbers.gap(q)), initial=0.0))
    if gap > CLOSED * max(1.0, numbers.length):
        raise ModelError(
            f"model {model.name!r} has {model.nv} velocities, too many to search for a pose that closes its loops: "
            f"give one as pose=... (this one leaves a gap of {gap:.3g})."
        )
    acting = _acting(numbers, q)
    idle = tuple(c for c in range(len(numbers.conditions)) if c not in set(acting))
    found = Study(numbers, (q,), len(acting), tuple(acting), idle, ())
    rows = found.rows(found.used)
    order, typical = _along_the_tree(Plan(rows, ()), numbers, q, acting)
    plan = Plan(rows, order)
    chosen = tuple(range(len(found.used)))
    return found, Plans(dict(rows), found.used, chosen, {"aba long": plan}, plan, typical, (), 0.0, {}, ())


def _acting(numbers: LoopNumbers, q: Array) -> list[int]:
    """Conditions that some motion of the tree feels, in this pose or in others."""
    rng = np.random.default_rng(20120304)
    largest = np.zeros(len(numbers.conditions))
    for i in range(_POSES):
        at = q if i == 0 else numbers.model.integrate(q, _REACH * rng.normal(size=numbers.model.nv))
        sizes = [max((abs(x) for x in row.columns.values()), default=0.0) for row in numbers.rows(at)]
        largest = np.maximum(largest, sizes)
    return [int(c) for c in np.flatnonzero(largest > IDLE * np.max(largest, initial=0.0))]


def _along_the_tree(
    plan: Plan, numbers: LoopNumbers, q: Array, acting: list[int]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The order, and the conditions' typical pivots."""
    rng = np.random.default_rng(20120304)
    somewhere = numbers.model.integrate(q, _REACH * rng.normal(size=numbers.model.nv))
    found = long_order(numbers, (q, somewhere), plan, acting)
    if found.cancelled:
        loop, _, kind = numbers.conditions[acting[found.cancelled[0]]]
        raise RedundantError(
            f"model {numbers.model.name!r}: in loop {loop!r}, the {kind} follows from other conditions in the pose "
            f"given. Redundant loops that act on each other are not supported beyond {SEARCHED} velocities; leave one "
            "out."
        )
    return tuple(found.order), tuple(found.typical.tolist())
