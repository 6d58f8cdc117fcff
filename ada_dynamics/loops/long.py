# SPDX-License-Identifier: Apache-2.0
"""Plans for mechanisms with hundreds of joints: found by one elimination along the tree, in linear time and memory.

Ranks by singular values and joint-space matrices would take the cube and the square of the number of joints.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.loops.assembly import CLOSED, assembled
from ada_dynamics.loops.long_orders import long_order
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.plans import Plans
from ada_dynamics.loops.study import AWAY, Study, acting_somewhere
from ada_dynamics.model.model import Model

LONG = 60  # velocities beyond which a mechanism is treated so
SEARCHED = 300  # velocities up to which a pose is searched for, and redundancy resolved, at cubic cost


class RedundantError(ModelError):
    """Conditions that act depend on each other."""


@pause_garbage_collection()
def study_long(model: Model, pose: Array | None) -> tuple[Study, Plans]:
    """Study and plans.

    Args:
        model: a model with loops.
        pose: one that closes all loops; near that of the model's file by default.

    Raises:
        ModelError: the pose does not close the loops, or conditions that act depend on each other.
    """
    numbers = LoopNumbers(model)
    q = model.home() if pose is None else pose
    is_searched = model.nv <= SEARCHED
    q = assembled(model, numbers, q) if is_searched else q
    gap = float(np.max(np.abs(numbers.gap(q)), initial=0.0))
    if not is_searched and gap > CLOSED * max(1.0, numbers.length):
        raise ModelError(
            f"model {model.name!r} has {model.nv} velocities, too many to search for a pose that closes its loops: "
            f"give one as q0=... (this one leaves a gap of {gap:.3g}).",
            field="q0",
            value=gap,
            allowed=CLOSED * max(1.0, numbers.length),
        )
    acting = acting_somewhere(numbers, q)
    idle = tuple(sorted(set(range(len(numbers.conditions))) - set(acting)))
    found = Study(numbers, (q,), len(acting), tuple(acting), idle, ())
    rows = found.rows(found.used)
    order, typical = _along_the_tree(Plan(rows, ()), numbers, q, acting)
    plan = Plan(rows, order)
    chosen = tuple(range(len(found.used)))
    return found, Plans(dict(rows), found.used, chosen, {"aba long": plan}, plan, typical, (), 0.0, {}, ())


def _along_the_tree(
    plan: Plan, numbers: LoopNumbers, q: Array, acting: list[int]
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The order, and the conditions' typical pivots."""
    rng = np.random.default_rng(20120304)
    somewhere = numbers.model.integrate(q, AWAY * rng.normal(size=numbers.model.nv))
    found = long_order(numbers, (q, somewhere), plan, acting)
    if found.cancelled:
        loop, _, kind = numbers.conditions[acting[found.cancelled[0]]]
        raise RedundantError(
            f"model {numbers.model.name!r}: in loop {loop!r}, the {kind} follows from other conditions in the pose "
            f"given. Redundant loops that act on each other are not supported beyond {SEARCHED} velocities; leave one "
            "out.",
            loop=loop,
            field=str(kind),
        )
    return tuple(found.order), tuple(found.typical.tolist())
