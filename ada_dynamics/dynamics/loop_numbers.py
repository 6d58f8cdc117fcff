# SPDX-License-Identifier: Apache-2.0
"""Gap and conditions of loops by compiled kernels, for what moves a mechanism by hand many times a second.

They need no plan of elimination, so that a mechanism can be shown before its dynamics are looked into.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import LoopNumbers
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.kernels import Kernels
from ada_dynamics.dynamics.quantities import closed


class CompiledLoopNumbers(LoopNumbers):
    """`LoopNumbers` whose gap, J and M come from kernels."""

    def __init__(self, kernels: Kernels) -> None:
        """Args: kernels of a model with loops."""
        super().__init__(kernels.model)
        self._kernels = kernels
        self._gap = kernels.get("loop gap as described", lambda: closed.gap(self.tree))
        self._closing = kernels.get("loop closing", lambda: closed.closing(self.tree))

    def gap(self, q: Array) -> Array:
        """How far each condition is from holding [m, rad]."""
        return np.asarray(self._gap.single(q), dtype=np.float64)

    def jacobian(self, q: Array) -> Array:
        """J: one row per condition."""
        return np.asarray(self._closing.single(q)[1], dtype=np.float64)

    def mass_matrix(self, q: Array) -> Array:
        """M."""
        kernel = self._kernels.get("mass_matrix_crba", lambda: quantities.mass_matrix(self.tree, "crba"))
        return np.asarray(kernel.single(q), dtype=np.float64)

    def is_flipped(self, q: Array) -> bool:
        """True if some gap vanishes because an axis, or a frame, is the wrong way round (see `constraints.closure`)."""
        return bool(np.any(self._closing.single(q)[2] < 0.0))
