# SPDX-License-Identifier: Apache-2.0
"""Static stiffness of a link that is driven through loops.

With the null-space basis N of the constraint Jacobian and the joint stiffness k, the displacement under a wrench w is

    x = C w,  C = J_x N (Nᵀ diag(k) N)⁻¹ Nᵀ J_xᵀ,

to first order about an unloaded configuration. The stiffness K = C⁻¹ is defined in the directions in which the link can
move; in the other directions bodies and loops are rigid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.analysis.singularity import point_jacobian, row_indices
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import least_share, null_space, velocities_of
from ada_dynamics.constraints.singular import SINGULAR
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.dynamics.computation import require_link
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model


class LinkStiffness(NamedTuple):
    """Stiffness at a point of a link in world axes, rows [linear; angular] and [force; moment], for one or N states.

    Attributes:
        compliance: C, displacement [m, rad] by wrench [N, N m], (6, 6) or (N, 6, 6), or with fewer rows.
        stiffness: K, wrench by displacement, in the directions in which the link can move.
        rigid: number of directions in which the link cannot move.
    """

    compliance: Array
    stiffness: Array
    rigid: NDArray[np.intp]


def link_stiffness(
    dynamics: Dynamics,
    link: str,
    q: ArrayLike,
    joints: Mapping[str, float] | float,
    *,
    rows: str | Sequence[int] = "all",
    point: ArrayLike = (0.0, 0.0, 0.0),
) -> LinkStiffness:
    """Stiffness at a link due to its motors and to the springs of the joints of the model.

    Args:
        dynamics: dynamics of the robot, with or without loops.
        link: name of the link.
        q: configuration(s) with closed loops.
        joints: stiffness of each motor [N m/rad, N/m] by name of the joint, or one for all; other joints, such as
            flexures, may be included.
        rows: relevant rows: "linear", "angular", "all", or indices of rows of the Jacobian. For "linear", K is the
            stiffness against forces at the point with free orientation.
        point: point of the link in its frame [m].

    Raises:
        InputError: a stiffness is missing or not positive, or the joints with stiffness leave motions free.
        SingularConfigurationError: they do so at one of the configurations.
    """
    require_link(dynamics, link)
    choices = dynamics.constraints.coordinates
    k = _stiffness(dynamics.model, joints)
    holding = np.flatnonzero(k).tolist()
    choices.refuse_missing(holding, "joints with stiffness")
    poses = np.asarray(q, dtype=np.float64)
    found = null_space(dynamics.constraints.jacobian(poses), choices.mobility)
    held = (least_share(found.basis(), holding) >= SINGULAR) & (found.sigma >= SINGULAR)
    for i in map(tuple, np.argwhere(~held)):
        at = null_space(dynamics.constraints.jacobian(poses[i]), choices.mobility)
        choices.refuse_singular(at, holding, int(i[0]) if i else None)
    N = choices.units[:, None] * found.basis()
    chosen = row_indices(rows)
    moved = (point_jacobian(dynamics, link, poses, point) @ N)[..., chosen, :]
    compliance = moved @ np.linalg.solve(N.swapaxes(-1, -2) @ (k[:, None] * N), moved.swapaxes(-1, -2))
    units = np.where(np.arange(6) < 3, choices.length, 1.0)[chosen]
    return LinkStiffness(compliance, *_inverse(compliance, moved, units))


def _inverse(compliance: Array, moved: Array, units: Array) -> tuple[Array, NDArray[np.intp]]:
    """Stiffness in the directions in which the link can move, and the number of the other directions."""
    U, s, _ = np.linalg.svd(moved / units[:, None])
    count = np.asarray(np.sum(s > SINGULAR, axis=-1))
    stiffness = np.zeros(compliance.shape)
    for m in np.unique(count):
        own = count == m
        free = U[own][..., :m] / units[:, None]  # covectors of displacements
        inner = free.swapaxes(-1, -2) @ compliance[own] @ free
        stiffness[own] = free @ np.linalg.solve(inner, free.swapaxes(-1, -2))
    return stiffness, len(units) - count


def _stiffness(model: Model, joints: Mapping[str, float] | float) -> Array:
    """Joint stiffness, (nv,)."""
    given = dict(joints) if isinstance(joints, Mapping) else dict.fromkeys(model.actuated, joints)
    missing = [name for name in model.actuated if name not in given]
    if missing:
        text = f"the stiffness of motors of model {model.name!r} is missing: {', '.join(missing)}."
        raise InputError(text, joint=missing[0], field="stiffness")
    k = np.array(model.stiffness)
    for name, value in given.items():
        if name not in model.joint_names:
            raise unknown_name("joint", name, model.joint_names)
        if not 0.0 < value < np.inf:
            text = f"the stiffness of joint {name!r} is {value!r}; it must be a positive number."
            raise InputError(text, joint=name, field="stiffness", value=value, allowed="a positive number")
        k[list(velocities_of(model, [name]))] += float(value)
    return k
