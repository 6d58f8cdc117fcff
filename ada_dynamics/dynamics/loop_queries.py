# SPDX-License-Identifier: Apache-2.0
"""Questions about joints and loops: wrenches, gaps, singular poses, the way back onto the loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import ConstraintState, constraint_state
from ada_dynamics.dynamics.arguments import common_batch
from ada_dynamics.dynamics.computation import Computation
from ada_dynamics.dynamics.joint_wrenches import JointWrenches
from ada_dynamics.dynamics.off_loops import warn_if_off_loops
from ada_dynamics.dynamics.wrench_call import joint_wrenches
from ada_dynamics.errors import InputError


class LoopQueries(Computation):
    """Wrenches of the joints, and how well the loops hold."""

    forward: Callable[..., Array]

    def joint_wrenches(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: Mapping[str, ArrayLike] | None = None
    ) -> JointWrenches:
        """Wrench at every joint, tree joint or loop joint, while the mechanism moves as `forward` says.

        Arguments as in `forward`; see `JointWrenches` for axes and for what redundant loops leave open.
        """
        arrays = self._arguments({"q": q, "v": v, "tau": tau})
        self._check_state(arrays)
        self._look_once("joint_wrenches", *common_batch(arrays)[0][:2])
        return joint_wrenches(self.model, self._kernels, self.forward, arrays, external)

    def project_to_constraints(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """The state nearest to (q, v), by kinetic energy, in which all loops are closed and stay so.

        Warned of: loops that do not close from there, and singular poses, where not every velocity that the loops
        allow for the moment belongs to a motion.
        """
        arrays = self._arguments({"q": q, "v": v})
        self._check_state(arrays)
        closed = self._kernels.closed
        (positions, speeds), _ = common_batch(arrays)
        given = np.ascontiguousarray(positions), np.ascontiguousarray(speeds)
        if closed is None:
            return given
        found = closed.project_to_constraints(*given)
        warn_if_off_loops(closed.analysis.constraints, *found)
        closed.warn_if_singular(*found)
        return found

    def loop_state(self, q: ArrayLike, v: ArrayLike | None = None) -> ConstraintState:
        """Gaps of the loops, velocities across them, and how near the pose is to a singular one; of one state."""
        arrays = self._arguments({"q": q} if v is None else {"q": q, "v": v})
        self._check_state(arrays)
        if any(x.ndim == 2 for x in arrays.values()):
            raise InputError(
                "loop_state looks at one state; call it row by row, or closure_error(q) for the gaps of a batch.",
                field=next(name for name, x in arrays.items() if x.ndim == 2),
                allowed=(self.model.nq,),
            )
        if self._kernels.closed is None:
            return ConstraintState({}, {}, 1.0, self.model.nv)
        return constraint_state(self._kernels.closed.analysis, arrays["q"], arrays.get("v"))

    def closure_error(self, q: ArrayLike) -> Array:
        """Largest gap of all loops [m, rad]; one per state of a batch, zero without loops."""
        closed = self._kernels.closed
        positions = np.ascontiguousarray(self._arguments({"q": q})["q"])
        if closed is None or not positions.size:
            return np.zeros(positions.shape[:-1])
        return np.asarray(np.max(np.abs(closed.gaps(positions)), axis=-1), dtype=np.float64)

    def tangents(self, q: ArrayLike) -> list[Array]:
        """Directions in which the mechanism can start to move from a singular pose: where two branches cross, both."""
        arrays = self._arguments({"q": q})
        self._check_state(arrays)
        closed = self._kernels.closed
        return [] if closed is None else closed.tangents(np.ascontiguousarray(arrays["q"]))
