# SPDX-License-Identifier: Apache-2.0
"""Joint wrenches of a mechanism with loops: multipliers of the fast tier that can, and which of them are unique."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import UniqueComponents, unique_at, unique_in_all, unique_in_general
from ada_dynamics.constraints.solver import FAST, ROBUST, TIERS, ConstraintSolution
from ada_dynamics.constraints.tree_elimination import SEARCHED
from ada_dynamics.dynamics.joint_wrenches import least_norm, names_of_joints
from ada_dynamics.jit import Kernel

if TYPE_CHECKING:
    from ada_dynamics.dynamics.closed import ClosedDynamics


class LoopWrenches:
    """Wrenches of joints and loops, of the accelerations that a tier found."""

    def __init__(self, closed: ClosedDynamics) -> None:
        """Args: the mechanism."""
        self._closed = closed

    def held(self, name: str, inputs: Sequence[Array], is_batch: bool) -> tuple[Array, Array, UniqueComponents, str]:
        """Accelerations, multipliers of least norm, which components of wrenches are unique, and the slowest tier."""
        flags, tier = self.unique, FAST
        solved = self._fast(name, inputs, is_batch)
        if solved is None:
            states = zip(*inputs, strict=True) if is_batch else iter([tuple(inputs)])
            motions = [self._closed.solve(name, *map(np.ascontiguousarray, state)) for state in states]
            tier = max((m.tier for m in motions), key=TIERS.index)
            poses = inputs[0] if is_batch else inputs[0][None, :]
            flags = unique_in_all([flags, *(self._unique_at(m, q) for m, q in zip(motions, poses, strict=True))])
            a = np.array([m.acceleration for m in motions])
            multipliers = np.array([m.multipliers for m in motions])
            solved = (a, multipliers) if is_batch else (a[0], multipliers[0])
        return solved[0], self._least_norm(inputs, solved[1], is_batch), flags, tier

    def _fast(self, name: str, inputs: Sequence[Array], is_batch: bool) -> tuple[Array, Array] | None:
        """Accelerations and multipliers by the fast kernel, where it can."""
        if self._closed.plans.is_dense_only or self._closed.solver == ROBUST:
            return None
        kernel = self._closed.kernel(name, len(inputs) > 3, multipliers=True)
        result, status = (kernel.batch_status if is_batch else kernel.single_status)(*inputs)
        if status:
            return None
        if not self._closed.plans.nontrivial:
            return result, np.zeros((*result.shape[:-1], 0))
        return result[0], self._closed.of_all(result[1])

    @cached_property
    def unique(self) -> UniqueComponents:
        """Components of the joint wrenches that are unique in general; of very large models none is known to be."""
        if self._closed.model.nv > SEARCHED:
            return {name: np.zeros(6, dtype=bool) for name in names_of_joints(self._closed.model)}
        return unique_in_general(self._closed.analysis)

    def _unique_at(self, motion: ConstraintSolution, q: Array) -> UniqueComponents:
        if motion.decomposition is None or not motion.decomposition.is_singular:
            return self.unique
        return unique_at(
            self._closed.analysis.constraints, q, self._closed.analysis.rank - motion.decomposition.lost_rank
        )

    def _least_norm(self, inputs: Sequence[Array], multipliers: Array, is_batch: bool) -> Array:
        if not self._closed.analysis.is_redundant:
            return multipliers
        closed = self._closed
        kernel = closed.conditions
        (J, _), _ = (kernel.batch_status if is_batch else kernel.single_status)(*inputs[:2])
        return least_norm(J / closed.weights[:, None], multipliers, closed.weights, closed.analysis.rank)

    def by_loop(self, multipliers: Array) -> dict[str, Array]:
        """Multipliers of all conditions of each loop; those not in use are zero."""
        conditions = self._closed.analysis.constraints.rows
        whole = np.zeros((*multipliers.shape[:-1], len(conditions)))
        whole[..., list(self._closed.plans.nontrivial)] = multipliers
        turned = {loop.name for loop in self._closed.tree.loops if loop.is_turned}
        whole[..., [loop in turned for loop, _, _ in conditions]] *= -1.0
        loops = np.array([loop for loop, _, _ in conditions])
        return {name: whole[..., loops == name] for name in self._closed.model.loop_names}

    def kernel(self, external: bool, along: bool = False) -> Kernel:
        """From q, v, a and multipliers to all joint wrenches; or, from changes of each as well, to theirs."""
        closed = self._closed
        return closed.kernels.joint_wrenches(closed.analysis.constraints.full_tree, closed.plans.rows, external, along)
