# SPDX-License-Identifier: Apache-2.0
"""Which components of the joint forces follow from the motion, and which depend on how stiff and exact the parts are.

Multipliers n with Jᵀ n = 0 hold the mechanism just as well as none: they only press its parts against each other. A
component of a joint's wrench is unique where no such n reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.study import Study

Flags = dict[str, NDArray[np.bool_]]  # six flags per joint, [force, moment]

REACHED = 1e-9  # share of a unit multiplier in a component


def in_general(study: Study) -> Flags:
    """Components that are unique in general poses."""
    return common([at_pose(study.numbers, q, study.rank) for q in study.poses])


def at_pose(numbers: LoopNumbers, q: Array, rank: int) -> Flags:
    """Components that are unique in a pose where the conditions have the given rank."""
    J = numbers.jacobian(q) / numbers.weights[:, None]
    U = np.linalg.svd(J, full_matrices=True)[0]
    reached: dict[str, Array] = {}
    for wrenches in numbers.wrenches(q, U[:, rank:].T / numbers.weights):
        for name, wrench in wrenches.items():
            reached[name] = np.maximum(reached.get(name, np.zeros(6)), np.abs(wrench) / numbers.moment_units)
    names = [body.name for body in numbers.model.full_tree.bodies] + numbers.model.loop_names
    return {name: reached.get(name, np.zeros(6)) < REACHED for name in names}


def common(several: Sequence[Flags]) -> Flags:
    """Components that are unique in all of several poses."""
    first, *others = several
    return {name: np.logical_and.reduce([flags, *(o[name] for o in others)]) for name, flags in first.items()}
