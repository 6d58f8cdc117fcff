# SPDX-License-Identifier: Apache-2.0
"""The function that each thread computes, by name of the quantity, and the one that takes over what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ada_dynamics.dynamics import closed_derivatives, closed_efforts, quantities
from ada_dynamics.dynamics.closed import ALL, LATE
from ada_dynamics.dynamics.closed_derivatives import SPARSE
from ada_dynamics.dynamics.kernels import Kernels
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.dynamics.quantities import closed as closed_quantities
from ada_dynamics.dynamics.quantities.threads import wrenches_of_efforts
from ada_dynamics.errors import InputError
from ada_dynamics.expr import Function
from ada_dynamics.model.model import Model

# Of a typical pivot, in single precision: at 1e-2 four of seven digits are left.
SINGLE_THRESHOLD = 1e-2


class DeviceQuantities:
    """Quantities of a model that devices have kernels of their own for."""

    def __init__(self, model: Model, kernels: Kernels, algorithm: str) -> None:
        """Args: the model; its kernels on the processor at hand; the algorithm that the user chose."""
        self.model, self.kernels, self.algorithm = model, kernels, algorithm
        self._shared: dict[tuple[bool, bool, int], Quantity | None] = {}

    def fast(self, name: str, external: bool, bits: int) -> Quantity:
        """By the cheapest order of elimination, where there are loops; wrenches on links are an argument if wanted."""
        if name == "joint_wrenches" and self._is_redundant:
            if bits != 64:
                raise InputError(
                    f"joint wrenches of model {self.model.name!r}, whose loops are redundant, need double precision; "
                    "pass arrays of float64.",
                    field="dtype",
                    value="float32",
                    allowed="float64",
                )
            return _MAKE[name](self, external, bits, ALL)  # their multipliers are the least ones
        return _MAKE[name](self, external, bits, "")

    def robust(self, name: str, external: bool, bits: int) -> Quantity | None:
        """In double precision, by the robust order; None where that is no other function."""
        closed = self.kernels.closed
        if closed is None or (name == "joint_wrenches" and self._is_redundant):
            return None
        order = closed.robust(SPARSE if name == "forward_derivatives" else self.kernels.candidate)
        # derivatives are those of fixed conditions, and inverse dynamics has one order for all independent ones
        if (name, order == ALL) in (("forward_derivatives", True), ("inverse", False)):
            order = None
        if order is None and bits == 64:
            return None
        return _MAKE[name](self, external, 64, order or LATE)

    @property
    def _is_redundant(self) -> bool:
        return self.kernels.closed is not None and self.kernels.closed.study.is_redundant

    def shared_inverse(self, external: bool, bits: int, by_all: bool) -> Quantity | None:
        """Inverse dynamics with loops, found once; None where numbers alone can tell."""
        key = external, by_all, bits
        if key not in self._shared:
            assert self.kernels.closed is not None
            smallest = closed_efforts.SMALLEST if bits == 64 else SINGLE_THRESHOLD
            self._shared[key] = closed_efforts.inverse(self.kernels.closed, external, by_all, smallest)
        return self._shared[key]

    def _forward(self, external: bool, bits: int, order: str, multipliers: bool = False) -> Quantity:
        closed, kernels = self.kernels.closed, self.kernels
        if closed is None:
            return self._open_forward(external)
        if order or bits == 64 or kernels.candidate in closed_quantities.ASSEMBLIES:
            return closed.quantity(order or kernels.candidate, external, multipliers)
        solver = closed_quantities.elimination(closed.tree, closed.plans, kernels.candidate, SINGLE_THRESHOLD)
        return closed_quantities.forward(closed.tree, closed.plans, solver, external, multipliers)

    def _open_forward(self, external: bool) -> Quantity:
        tree, kernels = self.kernels.tree, self.kernels
        if self.algorithm != "auto":
            return quantities.forward(tree, kernels.algorithm, external, kernels.order)

        def traced() -> Function:
            # lanes of one state are for processors that have lanes; without them they are articulated bodies
            algorithm = "aba" if kernels.algorithm == "lanes" else kernels.algorithm
            return quantities.forward(tree, algorithm, external).trace()

        # which one is the cheapest need not be known where the code is found in the cache
        any_algorithm = quantities.forward(tree, "crba", external)
        return replace(any_algorithm, name=any_algorithm.name.replace("crba", "auto"), trace=traced)

    def _derivatives(self, external: bool, bits: int, order: str) -> Quantity:
        closed = self.kernels.closed
        if closed is None:
            return quantities.forward_derivatives(quantities.open_equations(self.kernels.tree))
        return quantities.forward_derivatives(closed_derivatives.equations(closed, order or SPARSE))

    def _inverse(self, external: bool, bits: int, order: str) -> Quantity:
        if self.kernels.closed is None:
            return quantities.inverse(self.kernels.tree, external)
        found = self.shared_inverse(external, bits, order == ALL)
        assert found is not None  # which is asked before
        return found

    def _wrenches(self, external: bool, bits: int, order: str) -> Quantity:
        closed = self.kernels.closed
        forward = self._forward(external, bits, order, multipliers=True)
        tree = self.model.full_tree if closed is None else closed.study.numbers.full_tree
        links = [self.model.joints[body.name].child for body in tree.bodies]
        rows = {} if closed is None else closed.plans.rows
        return wrenches_of_efforts(forward, closed_quantities.joint_wrenches(tree, links, rows, external))


# With external wrenches or without, in so many bits, by a robust order or by the fast one ("").
_MAKE: dict[str, Callable[[DeviceQuantities, bool, int, str], Quantity]] = {
    "forward": DeviceQuantities._forward,
    "inverse": DeviceQuantities._inverse,
    "forward_derivatives": DeviceQuantities._derivatives,
    "joint_wrenches": DeviceQuantities._wrenches,
}
