# SPDX-License-Identifier: Apache-2.0
"""Kernels of a model: selection of the algorithm, and creation on first use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import derivative_quantities, joint_programs, quantities
from ada_dynamics.dynamics.arguments import needs_mass_matrix
from ada_dynamics.dynamics.closed import ROBUST, ClosedDynamics
from ada_dynamics.dynamics.closed_quantities import joint_wrenches
from ada_dynamics.dynamics.kernel_store import KernelStore
from ada_dynamics.dynamics.quantities import Order, Quantity
from ada_dynamics.execution import pause_garbage_collection
from ada_dynamics.hybrid.lane_tree import lane_tree
from ada_dynamics.jit import Kernel
from ada_dynamics.jit.generic import GenericKernel
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree, depth

# Beyond this number of velocities in a row, specialised code takes more time to compile and to fetch than it saves.
# Trees with short branches, which have fewer pairs of a body and a velocity that moves it, may have twice as many.
SPECIALISE_UP_TO = 60
# Composite inertias and joint-space elimination need fewer operations than articulated bodies on shallow trees only;
# deeper ones are not worth tracing twice.
COMPARE_UP_TO_DEPTH = 16
# Algorithms of mechanisms with loops, and the plan of elimination that each follows.
CLOSED_ALGORITHMS = {"aba": "aba early", "crba": "kkt sparse", **{name: name for name in ("lagrange", "ada", "dca")}}


def is_long(model: Model) -> bool:
    """Return True if a tree is too large for specialised code."""
    if model.nv <= SPECIALISE_UP_TO or model.nv > 2 * SPECIALISE_UP_TO:
        return model.nv > SPECIALISE_UP_TO
    return derivative_quantities.moving_pairs(model.tree) > SPECIALISE_UP_TO * (SPECIALISE_UP_TO + 1) // 2


class Kernels(KernelStore):
    """Kernels of one model, its algorithm of forward dynamics, and its loop constraints."""

    def __init__(
        self,
        model: Model,
        algorithm: str,
        generic: bool,
        q0: Array | None = None,
        order: Order = None,
        solver: str = "auto",
    ) -> None:
        super().__init__(model, order)
        self.generic = generic
        self._algorithm = algorithm
        self._generic_kernels: dict[tuple[str, bool], GenericKernel] = {}
        self._traced: dict[str, expr.Function] = {}  # by algorithm: the cheapest, until it is compiled
        self.closed = ClosedDynamics(self, q0, solver) if model.loops else None

    @property
    def large(self) -> bool:
        """True if the code of the model is long, so that it is compiled in parts and for few quantities only."""
        if self.closed is not None:
            return self.model.nv > SPECIALISE_UP_TO
        return self.generic and is_long(self.model)

    @cached_property
    def algorithm(self) -> str:
        """The algorithm of forward dynamics; "auto" is decided here, by counting operations."""
        if self._algorithm != "auto":
            return self._algorithm
        return self._cheapest() if self.closed is None else self.candidate.split()[0].replace("kkt", "crba")

    @cached_property
    def candidate(self) -> str:
        """The plan of elimination that forward dynamics with loops follows."""
        closed = self.closed
        if closed is None or closed.plans.is_dense_only:
            return "late"
        if closed.solver == ROBUST:
            return closed.robust("") or "late"
        wanted = CLOSED_ALGORITHMS.get(self._algorithm, closed.cheapest)
        return wanted if wanted in closed.plans.candidates or " " not in wanted else closed.cheapest

    def _cheapest(self) -> str:
        if self.generic:
            return "aba"
        if needs_mass_matrix(self.tree):
            return "crba"
        names = ["aba"] if depth(self.tree) > COMPARE_UP_TO_DEPTH else ["aba", "crba"]
        if lane_tree(self.tree).has_lanes:
            names.append("lanes")
        if len(names) == 1:
            return names[0]
        traced = {name: quantities.forward(self.tree, name, external=False).trace() for name in names}
        costs = self.costs(traced)
        best = min(costs, key=costs.__getitem__)
        self._traced[best] = traced[best]
        return best

    # --- specialised --------------------------------------------------------------------------------------------
    def forward(self, external: bool) -> Kernel:
        """Forward dynamics."""
        if self.closed is not None:
            return self.closed.kernel(self.candidate, external, multipliers=False)
        name = self._algorithm
        if name == "auto":
            return self.get(f"forward auto {external}", lambda: self._forward_auto(external))
        make = lambda: quantities.forward(self.tree, name, external, self.order)  # noqa: E731
        return self.get(f"forward {name} {external}", make)

    def inverse(self, external: bool) -> Kernel:
        """Inverse dynamics of the tree, without its loops."""
        return self.get(f"inverse {external}", lambda: quantities.of_tree(self.tree, "inverse", external=external))

    def _forward_auto(self, external: bool) -> Quantity:
        """Forward dynamics by the cheapest algorithm, determined only if the kernel is not in the cache."""

        def traced() -> expr.Function:
            algorithm = self.algorithm
            known = None if external else self._traced.pop(algorithm, None)
            return known or quantities.forward(self.tree, algorithm, external).trace()

        any_algorithm = quantities.forward(self.tree, "crba", external)
        return replace(any_algorithm, name=any_algorithm.name.replace("crba", "auto"), trace=traced)

    def joint_wrenches(self, tree: Tree, rows: Mapping[str, tuple[int, ...]], external: bool) -> Kernel:
        """Wrenches of all joints from q, v, a and the multipliers of the constraints."""
        links = [self.model.joints[body.name].child for body in tree.bodies]
        make = lambda: joint_wrenches(tree, links, rows, external)  # noqa: E731
        return self.get(f"joint wrenches {external}", make, of_links=True)

    # --- generic ------------------------------------------------------------------------------------------------
    @pause_garbage_collection()
    def generic_kernel(self, name: str, external: bool) -> GenericKernel:
        """Generic kernel of "forward" or "inverse", for any tree."""
        if (name, external) not in self._generic_kernels:
            made = joint_programs.kernel(self.model.uniform_tree, name, external)
            self._generic_kernels.setdefault((name, external), made)
        return self._generic_kernels[name, external]
