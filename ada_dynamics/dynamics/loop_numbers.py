# SPDX-License-Identifier: Apache-2.0
"""Constraint violation and Jacobian from compiled kernels, for interactive display of mechanisms.

They need no elimination plan, so that a mechanism can be displayed without an analysis of its dynamics.
"""

from __future__ import annotations

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.kernels import Kernels
from ada_dynamics.dynamics.quantities import closed


class CompiledConstraintSet(ConstraintSet):
    """`ConstraintSet` with violation, J and M from kernels."""

    def __init__(self, kernels: Kernels) -> None:
        """Args: kernels of a model with loops."""
        super().__init__(kernels.model)
        self._kernels = kernels
        self._violation = kernels.get("loop gap as described", lambda: closed.gap(self.tree))
        self._closing = kernels.get("loop closing", lambda: closed.closing(self.tree))

    def violation(self, q: Array) -> Array:
        """Closure error of each constraint [m, rad]."""
        return np.asarray(self._violation.single(q), dtype=np.float64)

    def jacobian(self, q: Array) -> Array:
        """Constraint Jacobian J."""
        return np.asarray(self._closing.single(q)[1], dtype=np.float64)

    def mass_matrix(self, q: Array) -> Array:
        """Joint-space mass matrix M."""
        kernel = self._kernels.get("mass_matrix_crba", lambda: quantities.mass_matrix(self.tree, "crba"))
        return np.asarray(kernel.single(q), dtype=np.float64)

    def is_reversed(self, q: Array) -> bool:
        """True if a loop closes with an axis, or a frame, in the opposite direction (see `closure.reversed_loops`)."""
        return bool(np.any(self._closing.single(q)[2] < 0.0))
