# SPDX-License-Identifier: Apache-2.0
"""Wrenches of tree joints and loop joints, and their unique components."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import UniqueComponents, joints_with_wrenches, unique_at, unique_in_all
from ada_dynamics.dynamics.closed import ClosedDynamics
from ada_dynamics.dynamics.kernel_store import run
from ada_dynamics.errors import NameDict
from ada_dynamics.model.model import Model


class JointWrenches(NameDict[Array]):
    """Wrenches by joint, [fx, fy, fz, nx, ny, nz] on its child; (N, 6) for a batch.

    The wrench of a tree joint is about the origin of its child link, in the axes of that link; that of a loop joint is
    in its child-side frame. For redundant constraints the wrenches are those of minimum norm, with moments divided by
    `moment_length`.

    Attributes:
        unique: by joint, which of the six components are uniquely determined by the motion; the others depend on the
            stiffness and the tolerances of the parts.
        tier: how the accelerations were found: "fast", "robust" or "rank-revealing" (the slowest one of a batch).
        moment_length: [m].
    """

    def __init__(self, model: Model, stacked: Array, unique: UniqueComponents, tier: str, moment_length: float) -> None:
        """Args are those of `Dynamics.joint_wrenches`, without checks."""
        super().__init__("joint", ((name, stacked[..., i, :]) for i, name in enumerate(joints_with_wrenches(model))))
        self.unique: UniqueComponents = NameDict("joint", unique)
        self.tier = tier
        self.moment_length = moment_length

    def __repr__(self) -> str:
        shape = next(iter(self.values())).shape
        states = f" in {shape[0]} states" if len(shape) == 2 else ""
        unique = sum(bool(flags.all()) for flags in self.unique.values())
        return f"<JointWrenches of {len(self)} joints{states}: {unique} of them unique, tier {self.tier!r}>"


def least_norm(J: Array, multipliers: Array, weights: Array, rank: int) -> Array:
    """Minimum-norm multipliers with the same constraint forces Jᵀ λ, state by state.

    Args:
        J: weighted constraint Jacobian, (..., m, nv).
        multipliers: of the constraints, (..., m).
        weights: of the constraints; multipliers times weights are forces.
        rank: of J.
    """
    U = np.linalg.svd(J, full_matrices=True)[0][..., :, :rank]
    scaled = multipliers * weights
    along = np.einsum("...cr,...c->...r", U, scaled)
    return np.asarray(np.einsum("...cr,...r->...c", U, along) / weights, dtype=np.float64)


def everything_unique(model: Model) -> UniqueComponents:
    """UniqueComponents of a model without loops."""
    return {body.name: np.ones(6, dtype=bool) for body in model.full_tree.bodies}


# --- computation ------------------------------------------------------------------------------------------------------
def with_multipliers(
    closed: ClosedDynamics, name: str, inputs: Sequence[Array]
) -> tuple[Array, Array, UniqueComponents, str]:
    """Accelerations, minimum-norm multipliers, unique components of the wrenches, and the slowest tier."""
    found, flags = closed.solve(name, *inputs), closed.unique
    for i, at in found.decompositions.items():
        if at.is_singular:
            q, rank = np.atleast_2d(inputs[0])[i], closed.analysis.rank - at.lost_rank
            flags = unique_in_all([flags, unique_at(closed.analysis.constraints, q, rank)])
    multipliers, w = found.multipliers, closed.weights
    if closed.analysis.is_redundant:
        (J, _), _ = run(closed.constraint_kernel("constraint_terms"), *inputs[:2])
        multipliers = least_norm(J / w[:, None], multipliers, w, closed.analysis.rank)
    return found.acceleration, multipliers, flags, found.tier
