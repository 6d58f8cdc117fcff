# SPDX-License-Identifier: Apache-2.0
"""Derivatives of explicit steps by matrices: those of forward dynamics at the points of all stages, multiplied.

With dK_i = f_x(X_i) dX_i + f_u du and dX_i = dx + h Σ a_ij dK_j, a step needs one product per stage. The matrices
∂a/∂q, ∂a/∂v and ∂a/∂τ are those of `forward_derivatives`, of all stages of all states in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ada_dynamics.algorithms.ldl import SymmetricMatrix, factorise
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.derivative_quantities import moving_pairs
from ada_dynamics.dynamics.derivatives import WRITTEN_OUT_UP_TO
from ada_dynamics.dynamics.quantities import Quantity, unit_vectors
from ada_dynamics.expr import Traced, jacobian, trace
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.tree import Body, Tree
from ada_dynamics.simulation.integrator import KernelExecutor
from ada_dynamics.simulation.methods import Method
from ada_dynamics.simulation.state_equations import Loads
from ada_dynamics.simulation.system import System
from ada_dynamics.spatial.vector import ZERO, Scalar

Maps = Mapping[str, Array]


def is_plain(body: Body) -> bool:
    """Return True if the positions of a joint are any numbers, with q̇ = v."""
    joint = type(body.joint)
    return joint.position_rate is JointType.position_rate and joint.nearest is JointType.nearest


def position_rate_blocks(tree: Tree, X: Array) -> Iterator[tuple[slice, slice, Array | None]]:
    """Return q and v of independent joints, and q̇ for each unit velocity, (N, nq, nv); None where q̇ = v."""
    for body in tree.bodies:
        if not body.is_independent:
            continue
        block = None
        if not is_plain(body):
            q = list(X[:, body.q].T)
            block = np.zeros((len(X), body.joint.nq, body.joint.nv))
            for j, unit in enumerate(np.eye(body.joint.nv).tolist()):
                for i, rate in enumerate(body.joint.position_rate(q, unit)):
                    block[:, i, j] = rate
        yield body.q, body.v, block


def velocities_of(rates: Array) -> Array:
    """Return the matrices from q̇ to v, left inverses of those of `position_rate_blocks`."""
    turned = rates.swapaxes(-1, -2)
    return np.asarray(np.linalg.solve(turned @ rates, turned))


class StepMatrices:
    """Derivatives of explicit steps of a simulation without loops, and without loads besides the torques."""

    def __init__(self, system: System, method: Method, h: float) -> None:
        """Initialize the matrices of steps of the length h [s]."""
        self._system, self._method, self._h = system, method, h
        self._tree, self._nq, self._nv = system.equations.tree, system.model.nq, system.model.nv
        bodies = [body for body in self._tree.bodies if body.is_independent]
        self._turning = [body for body in bodies if not is_plain(body)]
        self._plain: list[tuple[slice, slice]] = []  # q and v of joints with q̇ = v, neighbours together
        for body in filter(is_plain, bodies):
            q, v = self._plain[-1] if self._plain else (body.q, body.v)
            if (q.stop, v.stop) == (body.q.start, body.v.start):
                self._plain[-1] = slice(q.start, body.q.stop), slice(v.start, body.v.stop)
            else:
                self._plain.append((body.q, body.v))

    @staticmethod
    def serve(system: System, method: Method) -> bool:
        """Return True if matrices are faster, which exclude loads and the projection onto loops."""
        own = system.equations
        is_plain = own.loads == Loads() and not own.tree.loops and not method.is_direct
        return is_plain and moving_pairs(own.tree) <= WRITTEN_OUT_UP_TO

    def advance(self, X: Array, U: Array, steps: int, changes: Array) -> tuple[Array, Array] | None:
        """Return the states after some steps and changes (N, n, m) of them; None if a kernel fails.

        Args:
            X: states, a row each.
            U: inputs, a row each.
            steps: number of steps.
            changes: of the states, (N, n, m), which are replaced; the last nv ones change the torques instead.
        """
        executor = KernelExecutor(lambda: self._system.step_kernels(False), self._method, X.T, U.T, self._h)
        points = executor.points(steps)
        executor.use_points(points)
        if executor.take_steps(0, steps) < steps:
            return None
        work = np.empty((self._method.stages + 2, *changes.shape))
        for own in points[..., : len(X)].swapaxes(-1, -2):
            self._step(own, U, changes, work)
        return executor.x.T, changes

    def _step(self, points: Array, U: Array, changes: Array, work: Array) -> None:
        """Replace changes by those after a step with these points of its stages and the state before its projection.

        `work` is memory for the changes of the rates of all stages, and for two more.
        """
        method, nv, (stages, N, n) = self._method, self._nv, points[:-1].shape
        q, maps = self._maps(points.reshape(-1, n))
        at = q[: stages * N], points[:-1, :, self._nq :].reshape(-1, nv), np.tile(U[:, :nv], (stages, 1))
        dq, dv, du = self._system.dynamics.forward_derivatives(*at)
        by_state = np.concatenate([dq, dv], axis=-1).reshape(stages, N, nv, 2 * nv)
        du, (*rates, here, scratch) = du.reshape(stages, N, nv, nv), work
        for i, rate in enumerate(rates):
            here[...] = changes
            _add(here, self._h * method.A[i], rates, scratch)
            self._rate({name: block[i] for name, block in maps.items()}, by_state[i], here, rate)
            rate[:, self._nq :, -nv:] += du[i]
        _add(changes, self._h * method.b, rates, scratch)
        for body in self._turning:
            changes[:, body.q] = maps[f"settled_{body.index}"][-1] @ changes[:, body.q]

    def _rate(self, maps: Maps, by_state: Array, changes: Array, found: Array) -> None:
        """Compute changes of ẋ = [q̇; a] with those of x."""
        nq, nv = self._nq, self._nv
        speeds, moved = changes[:, nq:], np.empty((len(changes), 2 * nv, changes.shape[-1]))
        moved[:, nv:] = speeds
        for q, v in self._plain:
            moved[:, v], found[:, q] = changes[:, q], speeds[:, v]
        for body in self._turning:
            own = changes[:, body.q]
            velocity, by_q, by_v = (maps[f"{name}_{body.index}"] for name in ("velocity", "by_q", "by_v"))
            moved[:, body.v], found[:, body.q] = velocity @ own, by_q @ own + by_v @ speeds[:, body.v]
        np.matmul(by_state, moved, out=found[:, nq:])

    def _maps(self, X: Array) -> tuple[Array, Maps]:
        """Return q on its manifold of rows of points, and the results of `_coordinate_maps` by stage."""
        q, maps = X[:, : self._nq].copy(), dict[str, Array]()
        if self._turning:
            quantity = _coordinate_maps(self._tree, self._turning)
            found = self._system.kernel_of(quantity).batch(q, np.ascontiguousarray(X[:, self._nq :]))
            maps = dict(zip(quantity.shapes, found, strict=True))
            for body in self._turning:
                q[:, body.q] = maps.pop(f"near_{body.index}")
        stages = self._method.stages + 1
        return q, {name: block.reshape(stages, -1, *block.shape[1:]) for name, block in maps.items()}


def _add(total: Array, weights: Array, rates: Sequence[Array], scratch: Array) -> None:
    """Add a weighted sum in place."""
    for weight, rate in zip(weights.tolist(), rates, strict=True):
        if weight:
            total += np.multiply(rate, weight, out=scratch)


def _coordinate_maps(tree: Tree, bodies: Sequence[Body]) -> Quantity:
    """Of joints with other rates than velocities: q on its manifold, and derivatives by the numbers in q and v.

    These are of q on its manifold, as numbers ("settled") and as a velocity ("velocity"), and of q̇ ("by_q", "by_v").
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for own in bodies:
        nq, nv = own.joint.nq, own.joint.nv
        sizes = {"near": (nq,), "settled": (nq, nq), "velocity": (nv, nq), "by_q": (nq, nq), "by_v": (nq, nv)}
        shapes |= {f"{name}_{own.index}": shape for name, shape in sizes.items()}

    def body(q: Sequence[Any], v: Sequence[Any]) -> Traced:
        values: list[Any] = []
        for own in bodies:
            joint, p, w = own.joint, q[own.q], v[own.v]
            near, rate = joint.nearest(p), joint.position_rate(p, w)
            settled = jacobian(near, p)
            rates = [joint.position_rate(near, unit) for unit in unit_vectors(joint.nv)]
            gram = SymmetricMatrix(joint.nv)
            for i, one in enumerate(rates):
                for j, other in enumerate(rates[: i + 1]):
                    gram.add(i, j, _dot(one, other))
            solve = factorise(gram).solve
            columns = [solve([_dot(one, column) for one in rates]) for column in zip(*settled, strict=True)]
            velocity = list(zip(*columns, strict=True))
            values += [near, settled, velocity, jacobian(rate, p), jacobian(rate, w)]
        return Traced(dict(zip(shapes, values, strict=True)))

    name, inputs = "coordinate_maps", {"q": tree.nq, "v": tree.nv}
    return Quantity(name, inputs, shapes, lambda: trace(name, inputs, body), body)


def _dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return sum((x * y for x, y in zip(a, b, strict=True)), ZERO)
