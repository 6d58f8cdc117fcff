# SPDX-License-Identifier: Apache-2.0
"""How joint wrenches are computed: accelerations and multipliers first, then all wrenches from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.solver import FAST
from ada_dynamics.dynamics.arguments import common_batch, flat_wrenches, refusal
from ada_dynamics.dynamics.joint_wrenches import JointWrenches, everything_unique
from ada_dynamics.dynamics.kernels import Kernels
from ada_dynamics.model.model import Model


def joint_wrenches(
    model: Model,
    kernels: Kernels,
    forward: Callable[..., Array],
    arrays: Mapping[str, Array],
    external: Mapping[str, ArrayLike] | None,
) -> JointWrenches:
    """Wrenches of all joints.

    Args:
        model: the mechanism.
        kernels: its kernels.
        forward: `Dynamics.forward`.
        arrays: q, v and tau, checked.
        external: wrenches on links, as given.
    """
    trees = (model.tree, model.full_tree) if external else ()
    flat = {str(i): flat_wrenches(model, tree, external or {}) for i, tree in enumerate(trees)}
    inputs, is_batch = common_batch({**arrays, **flat})
    inputs = inputs if is_batch else [np.ascontiguousarray(x) for x in inputs]
    q, v = inputs[:2]
    closed = kernels.closed
    multipliers: list[Array] = []
    by_loop: Mapping[str, Array] = {}
    if closed is None:
        a, flags, tier, length = forward(*inputs[:3], external), everything_unique(model), FAST, 1.0
        kernel = kernels.joint_wrenches(model.full_tree, {}, bool(external))
    else:
        a, held_by, flags, tier = closed.wrenches.held(kernels.candidate, inputs[:4], is_batch)
        by_loop = closed.wrenches.by_loop(held_by)
        length = closed.analysis.constraints.length
        kernel = closed.wrenches.kernel(bool(external))
        multipliers = [held_by] if closed.plans.nontrivial else []
    given = [np.ascontiguousarray(x) for x in (q, v, a, *inputs[4:], *multipliers)]
    stacked, status = (kernel.batch_status if is_batch else kernel.single_status)(*given)
    if status:
        raise refusal(model, arrays)
    return JointWrenches(model, q, stacked, by_loop, flags, tier, length)
