# SPDX-License-Identifier: Apache-2.0
"""Plans for mechanisms with hundreds of joints: found by one elimination along the tree, in linear time and memory.

Ranks by singular values and joint-space matrices would take the cube and the square of the number of joints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.algorithms.closed_aba import Sweep
from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.algorithms.kinematics import transforms
from ada_dynamics.errors import ModelError
from ada_dynamics.loops.assembly import CLOSED, assembled
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.orders import EARLY_PIVOT
from ada_dynamics.loops.plans import Plans
from ada_dynamics.loops.study import IDLE, Study
from ada_dynamics.model.model import Model

Array = NDArray[np.float64]

LONG = 60  # velocities beyond which a mechanism is treated so
SEARCHED = 300  # velocities up to which a pose is searched for, and redundancy resolved, at cubic cost
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
    order, typical = _along_the_tree(model, Plan(rows, ()), numbers, q, acting)
    plan = Plan(rows, order)
    chosen = tuple(range(len(found.used)))
    return found, Plans(dict(rows), found.used, chosen, {"aba long": plan}, plan, typical, (), 0.0, {}, ())


def _acting(numbers: LoopNumbers, q: Array) -> list[int]:
    """Conditions that some motion of the tree feels, in this pose or in others."""
    rng = np.random.default_rng(20120304)
    largest = np.zeros(len(numbers.conditions))
    for i in range(_POSES):
        at = q if i == 0 else numbers.model.integrate(q, 0.3 * rng.normal(size=numbers.model.nv))
        sizes = [max((abs(x) for x in row.columns.values()), default=0.0) for row in numbers.rows(at)]
        largest = np.maximum(largest, sizes)
    return [int(c) for c in np.flatnonzero(largest > IDLE * np.max(largest, initial=0.0))]


def _along_the_tree(
    model: Model, plan: Plan, numbers: LoopNumbers, q: Array, acting: list[int]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Last joints first; each multiplier as soon as it touches one body alone and its pivot has not cancelled."""
    tree = model.tree
    positions = q.tolist()
    sweep = Sweep(tree, transforms(tree, positions), positions, plan)
    rows = numbers.rows(q)
    for c, condition in enumerate(acting):
        sweep.right[c] = 0.0
        for i, column in rows[condition].wrenches.items():
            sweep.add_column(i, c, column)
    order: list[int] = []
    typical = [0.0] * len(acting)
    waiting = set(range(len(acting)))
    for body in reversed(tree.bodies):
        felt = list(sweep.columns[body.index])
        sweep.free_joint(body, [0.0] * body.joint.nv)
        order.extend(range(body.v.stop - 1, body.v.start - 1, -1))
        for c in felt:
            typical[c] = max(typical[c], -float(sweep.coupling.diagonal(c)))
        for c in sorted(c for c in felt if c in waiting and len(sweep.touched[c]) <= 1):
            if -float(sweep.coupling.diagonal(c)) > EARLY_PIVOT * typical[c]:
                sweep.solve_condition(c)
                waiting.discard(c)
                order.append(tree.nv + c)
    for c in sorted(waiting):
        if not -float(sweep.coupling.diagonal(c)) > EARLY_PIVOT * max(typical[c], 1e-300):
            loop, _, kind = numbers.conditions[acting[c]]
            raise RedundantError(
                f"model {model.name!r}: in loop {loop!r}, the {kind} follows from other conditions in the pose given. "
                f"Redundant loops that act on each other are not supported beyond {SEARCHED} velocities; leave one out."
            )
        sweep.solve_condition(c)
        order.append(tree.nv + c)
    return tuple(order), tuple(typical)
