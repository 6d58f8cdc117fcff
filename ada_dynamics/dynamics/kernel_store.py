# SPDX-License-Identifier: Apache-2.0
"""Kernels of a model by the name of their quantity, made on first use."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities import Order, Quantity, quantity
from ada_dynamics.jit import Kernel, Signature, Target
from ada_dynamics.jit.estimate import instructions
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree

K = TypeVar("K")  # key of a function


class KernelStore:
    """Kernels of one model, by name of the quantity."""

    def __init__(self, model: Model, order: Order = None) -> None:
        self.model = model
        self.order = order
        self._kernels: dict[str, Kernel] = {}

    @property
    def tree(self) -> Tree:
        """The mechanism."""
        return self.model.tree

    @staticmethod
    def costs(functions: Mapping[K, expr.Function]) -> dict[K, float]:
        """Approximate number of instructions of each function on this processor."""
        bits = Target.host().vector_bits if reason_for_fallback() is None else 256
        return {name: instructions(function, bits) for name, function in functions.items()}

    @cached_property
    def fingerprint(self) -> str:
        """Text that differs for any two models whose kernels differ."""
        return tree_fingerprint(self.tree)

    def get(self, name: str, make: Callable[[], Quantity], of_links: bool = False, quick: bool = False) -> Kernel:
        """The kernel of a quantity of the bodies, or of the single links where some are fixed to each other.

        Quick compilation is for quantities that are computed rarely.
        """
        kernel = self._kernels.get(name)
        if kernel is None:
            quantity = make()
            signature = Signature(quantity.name, tuple(quantity.inputs.items()), tuple(quantity.shapes.items()))
            fingerprint = tree_fingerprint(self.model.full_tree) if of_links else self.fingerprint
            key = f"{fingerprint}|{quantity.name}"
            made = Kernel(signature, quantity.trace, key, quick=quick)
            kernel = self._kernels.setdefault(name, made)  # all threads use the same one
        return kernel

    @cached_property
    def positions(self) -> Kernel | None:
        """Kernel without results, whose status reports invalid positions; None if all finite positions are valid."""
        if not self.model.has_manifold_coordinates:
            return None
        return self.get("positions", lambda: quantity("positions", self.tree, ("q",), {}, lambda **_: {}))


def run(kernel: Kernel, *inputs: Array) -> tuple[Any, int]:
    """Results and status of a kernel for one state or for a batch."""
    if inputs[0].ndim == 1:
        return kernel.single_status(*map(np.ascontiguousarray, inputs))
    return kernel.batch_status(*inputs)


def tree_fingerprint(tree: Tree) -> str:
    """A text that differs for any two trees of bodies whose kernels differ."""
    total = hashlib.sha256()
    total.update(repr((tree.gravity, tree.nq, tree.nv)).encode())
    for body in tree.bodies:
        placement = (body.placement.rotation.matrix(), body.placement.position)
        joint = (body.joint.kind, sorted(vars(body.joint).items()), body.q, body.v, body.multiplier, body.offset)
        loads = (body.armature, body.damping, body.friction)
        loads += (body.stiffness, body.rest) if body.stiffness else ()
        total.update(repr((body.parent, joint, placement, tuple(body.inertia), loads)).encode())
    for loop in tree.loops:
        ends = [(pose.rotation.matrix(), pose.position) for pose in (loop.parent_pose, loop.child_pose)]
        kind = (loop.joint.kind, sorted(vars(loop.joint).items()))
        total.update(repr((loop.name, kind, loop.parent, loop.child, ends)).encode())
    for name, frame in tree.frames.items():
        total.update(repr((name, frame.body, frame.pose.rotation.matrix(), frame.pose.position)).encode())
    return total.hexdigest()
