# SPDX-License-Identifier: Apache-2.0
"""Positions of all joints from the positions of some coordinates, by a compiled Newton iteration.

The constraints r(q) = 0 are solved for the dependent velocities p, with the chosen coordinates y fixed:

    J_p dp = -r,  q <- q ⊕ dp,

by elimination with the pivots of the tangent map. The sign of det J_p is constant in an assembly mode: it changes in
singular configurations only, in which the chosen coordinates do not determine the motion.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.algorithms import closure, jacobians
from ada_dynamics.algorithms.kinematics import position_rates, transforms
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.constraints.closure import BEYOND, reversed_loops
from ada_dynamics.constraints.constraint_set import ConstraintSet, loop_equations
from ada_dynamics.constraints.coordinates import Coordinates, CoordinateSets, MapOrder, units_of_rates
from ada_dynamics.dynamics.arguments import as_array
from ada_dynamics.dynamics.closed_quantities import scaled_product
from ada_dynamics.dynamics.kernel_store import run
from ada_dynamics.dynamics.kernels import Kernels
from ada_dynamics.dynamics.quantities import Quantity, Vector, quantity, tag_of
from ada_dynamics.errors import (
    AdaError,
    BeyondLimitsWarning,
    InputError,
    ModelError,
    SingularConfigurationError,
    unknown_name,
)
from ada_dynamics.expr import Traced, absolute, maximum
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.model import Model, link_poses
from ada_dynamics.spatial.vector import ZERO, Scalar

CLOSED, BEYOND_LIMITS, NOT_CLOSED, SINGULAR = range(4)  # status of a state
# Square of the closure error, relative to the characteristic length, from which the next step closes to rounding.
ACCEPTED = 1e-18
STEPS, _FIRST_STEPS = 12, 6  # of Newton's method: for one state, and for all of a batch at first
_LONGEST_STEP = 0.6  # [rad], or in characteristic lengths
_CLOSED = np.array(CLOSED)
_JUMPED = 4  # closed, but so far from the start that the assembly mode is not certain
FAR = 0.6  # [rad], or in characteristic lengths
PARTS = (4, 32)  # into which the path from the reference is divided where one step does not close the loops
_DISTINCT = 1e-4  # [m]: configurations whose joints are closer to each other are the same
LEAST_DETERMINANT = 1e-6  # relative to typical pivots; a smaller one has no sign


class ClosedPositions(NamedTuple):
    """Positions of all joints, (nq,) or (N, nq), and a status for each state.

    The status is `CLOSED`, `BEYOND_LIMITS` (closed, but a joint exceeds its limits), `NOT_CLOSED` (the coordinates
    cannot be reached) or `SINGULAR` (the path from the reference crosses a singular configuration, beyond
    which the assembly mode is not defined). Positions of the last two are NaN.
    """

    q: Array
    status: NDArray[np.intp]


def newton_step(constraints: ConstraintSet, order: MapOrder, units: Sequence[float]) -> Quantity:
    """One step of Newton's method for the dependent velocities: q after it.

    The state before it are the square of the closure error, the relative determinant of J_p, the largest distance of a
    position beyond its limits, and the largest distance of a position from another configuration `near`. Velocities
    are divided by their units for the longest step.
    """
    tree, model, length = constraints.tree, constraints.model, constraints.length
    residual = tree.nv  # column of the right-hand side
    kinds = [JOINT_TYPES[model.joints[name].kind] for name in model.joint_names]
    slides = [one.unit == "m" for kind in kinds for one in kind.coordinates]  # quaternions count as angles

    def body(q: Vector, near: Vector) -> Traced:
        X = transforms(tree, q)
        errors = [g for loop in tree.loops for g in closure.closure_error(tree, X, loop, order.rows[loop.name])]
        rows = [
            {k: x for k, x in row.columns.items() if k not in order.chosen} | {residual: g}
            for row, g in zip(loop_equations(tree, q, chosen=order.rows), errors, strict=True)
        ]
        steps, pivots = jacobians.tangent_map(rows, order.pivots, [residual])
        largest: Scalar = ZERO
        for k, row in steps.items():
            if k != residual:
                largest = maximum(largest, absolute(row.get(0, ZERO) * (1.0 / units[k])))
        share = _LONGEST_STEP / maximum(largest, _LONGEST_STEP)
        v = [share * steps[k].get(0, ZERO) if k in steps else ZERO for k in range(tree.nv)]
        moved = [a + b for a, b in zip(q, position_rates(tree, q, v), strict=True)]
        for part in tree.bodies:
            if part.is_independent:
                moved[part.q] = part.joint.nearest(moved[part.q])
        determinant = scaled_product(pivots, order.typical)
        size = sum((g * g * (1.0 / length**2) for g in errors), ZERO)
        excess: Scalar = ZERO
        for x, lower, upper in zip(q, model.lower.tolist(), model.upper.tolist(), strict=True):
            excess = maximum(excess, lower - x) if lower > -inf else excess
            excess = maximum(excess, x - upper) if upper < inf else excess
        distance: Scalar = ZERO
        for x, start, is_slide in zip(q, near, slides, strict=True):
            distance = maximum(distance, absolute(x - start) * (1.0 / (length if is_slide else 1.0)))
        return Traced({"next": moved, "state": [size, determinant, excess, distance]})

    name = f"newton_step_{tag_of(order, tuple(units), model.lower.tolist(), model.upper.tolist())}"
    shapes: dict[str, tuple[int, ...]] = {"next": (tree.nq,), "state": (4,)}
    return quantity(name, tree, ("q",), shapes, body, extra={"near": tree.nq})


class LoopClosure:
    """Computes all positions from those of some coordinates in one assembly mode; `dynamics.constraints.loop_closure`.

    Example::

        closure = dyn.constraints.loop_closure("actuated")
        q = closure.solve({"motor_1": 0.3, "motor_2": -0.3}).q

    Attributes:
        reference: closed configuration of the assembly mode, from which all paths start.
        chosen: indices of the coordinates in v.
        places: indices of the coordinates in q, in the order of the given positions.
        sign: of det J_p in the assembly mode; 0 if the reference is singular for the coordinates.
        step: one step of Newton's method; None without loops.
    """

    def __init__(
        self, kernels: Kernels, sets: CoordinateSets, coordinates: Coordinates, reference: ArrayLike | None
    ) -> None:
        """Close the loops near the reference, by default the home configuration; see `ConstraintQueries.loop_closure`.

        Raises:
            InputError: the coordinates do not determine the motion.
            ModelError: the loops cannot be closed near the reference.
        """
        self.model, self._sets = kernels.model, sets
        self.chosen = sets.indices(coordinates)
        self.places = position_places(self.model, self.chosen)
        self.reference = np.array(closed_configuration(self.model, reference))
        order, analysis = sets.map_order(self.chosen), sets.analysis
        self._call: Callable[[Array, Array], Any] = self._without_loops
        self.sign = 1.0
        self.step: Quantity | None = None
        if order is not None and analysis is not None:
            name, units = f"newton step {self.chosen}", sets.units.tolist()
            self.step = step = newton_step(analysis.constraints, order, units)
            kernel = kernels.get(name, lambda: step)
            self._call = kernel.python_call(lambda q, near: run(kernel, q, near)[0])
            determinant = float(self._call(self.reference, self.reference)[1][1])
            self.sign = float(np.sign(determinant)) if abs(determinant) > LEAST_DETERMINANT else 0.0

    @property
    def is_singular(self) -> bool:
        """True if the coordinates do not determine the motion in the reference."""
        return self.sign == 0.0

    def solve(self, given: ArrayLike | Mapping[str, float], near: ArrayLike | None = None) -> ClosedPositions:
        """Positions of all joints.

        Args:
            given: positions of the coordinates, (m,) or (N, m) in the order of `places`, or by the name of the joint;
                joints that are not named keep their position in the reference.
            near: closed configuration of the same assembly mode to start from, (nq,) or (N, nq), such as the last
                solution of a servo loop; the reference by default.
        """
        start = self.reference if near is None else as_array("near", near, self.model.nq, self.model)
        values = self._values(given)
        one = values.ndim == start.ndim == 1
        if one:
            q = start.copy()
            q[self.places] = values
            q, state = self._newton(q, start)
            if self._is_closed(state):
                return ClosedPositions(q, _CLOSED)
        if not np.isfinite(values).all():
            raise InputError("given has values that are not finite.", field="given", value=values, allowed="finite")
        count = len(values) if values.ndim == 2 else len(np.atleast_2d(start))
        starts = np.array(np.broadcast_to(start, (count, self.model.nq)))
        rows = self._rows(starts, np.broadcast_to(values, (count, len(self.places))))
        return ClosedPositions(rows.q[0], rows.status[0]) if one else rows

    def solutions(self, given: ArrayLike | Mapping[str, float], starts: int = 256) -> list[Array]:
        """Distinct configurations of all assembly modes with given coordinates, (m,), found from random starts.

        Angles are within half a turn of the reference. Rare modes need more starts.
        """
        rng, model = np.random.default_rng(0), self.model
        reach = np.where(self._is_angle, np.pi, self._sets.length)
        near = model.integrate(np.tile(self.reference, (starts, 1)), rng.uniform(-1.0, 1.0, (starts, model.nv)) * reach)
        near[:, self.places] = self._values(given)
        q, states = self._newton(near, near, 2 * STEPS)
        found: dict[bytes, Array] = {}
        for row in q[states[:, 0] < ACCEPTED]:
            if not reversed_loops(model.tree, row):
                key = np.round(joint_points(model, row) / _DISTINCT) + 0.0
                found.setdefault(key.tobytes(), self._near_reference(row))
        return list(found.values())

    @cached_property
    def _is_angle(self) -> NDArray[np.bool_]:
        """Velocities that turn a joint, (nv,)."""
        return np.array([unit == "rad" for unit in units_of_rates(self.model)])

    def _near_reference(self, q: Array) -> Array:
        """The same configuration with angles of single axes within half a turn of the reference."""
        step = self.model.difference(self.reference, q)
        sizes = [own.stop - own.start for own in map(self.model.v_index, self.model.joint_names)]
        is_single = np.repeat(np.equal(sizes, 1), sizes)  # of a joint that has no other velocity
        turns = np.where(self._is_angle & is_single, np.round(step / (2.0 * np.pi)), 0.0)
        return np.asarray(self.model.integrate(q, -2.0 * np.pi * turns)) if turns.any() else q

    def _values(self, given: ArrayLike | Mapping[str, float]) -> Array:
        """The given positions as an array, (m,) or (N, m)."""
        if isinstance(given, Mapping):
            values = self.reference[self.places]
            names = [self.model.joint_of_position(k) for k in self.places]
            for name, value in given.items():
                if name not in names:
                    raise unknown_name("coordinate", name, names)
                values[[own == name for own in names]] = value
            given = values
        return as_array("given", given, len(self.places), self.model)

    def _without_loops(self, q: Array, _near: Array) -> tuple[Array, Array]:
        """A `newton_step` of a model without loops: all positions are given."""
        excess = np.max(np.maximum(self.model.lower - q, q - self.model.upper), axis=-1, initial=0.0)
        zero = np.zeros_like(excess)
        return q, np.stack([zero, np.ones_like(excess), excess, zero], axis=-1)

    def _newton(self, q: Array, near: Array, steps: int = STEPS) -> tuple[Array, Array]:
        """Newton's method from one state or from a batch: positions, and their states (see `newton_step`)."""
        for _ in range(steps):
            q, state = self._call(q, near)
            if state[0] < ACCEPTED if state.ndim == 1 else (state[:, 0] < ACCEPTED).all():
                break
        return q, state

    def _is_closed(self, state: Array) -> bool:
        """Return True if one state is certainly CLOSED; faster than `_status`."""
        size, determinant, excess, distance = state.tolist()
        return bool(
            size < ACCEPTED and distance <= FAR and excess <= BEYOND and determinant * self.sign > LEAST_DETERMINANT
        )

    def _status(self, states: Array) -> NDArray[np.intp]:
        """Status of a batch."""
        size, determinant, excess, distance = states.T
        left = np.zeros(len(states), dtype=bool) if self.is_singular else ~(determinant * self.sign > LEAST_DETERMINANT)
        status = np.where(left, SINGULAR, np.where(excess > BEYOND, BEYOND_LIMITS, CLOSED))
        return np.where(size < ACCEPTED, np.where(distance > FAR, _JUMPED, status), NOT_CLOSED)

    def _rows(self, starts: Array, values: Array) -> ClosedPositions:
        """Solve a batch; rows that a few steps do not solve follow the path from their start."""
        ends = starts.copy()
        ends[:, self.places] = values
        q, states = self._newton(ends, starts, _FIRST_STEPS)
        status = self._status(states)
        for parts in PARTS:
            left = np.flatnonzero(status >= NOT_CLOSED)
            if not len(left):
                break
            q[left], status[left] = self._path(starts[left], ends[left], parts)
        status[status == _JUMPED] = SINGULAR  # near a singular configuration, where positions change without limit
        q[status >= NOT_CLOSED] = np.nan
        return ClosedPositions(q, status)

    def _path(self, starts: Array, ends: Array, parts: int) -> tuple[Array, NDArray[np.intp]]:
        """Newton's method at equal distances of the given coordinates between start and end."""
        q, status = starts.copy(), np.full(len(starts), CLOSED)
        for part in range(1, parts + 1):
            on = np.flatnonzero(status < NOT_CLOSED)
            if not len(on):
                break
            rows = q[on]
            rows[:, self.places] = self._between(starts[on], ends[on], part / parts)
            q[on], states = self._newton(rows, q[on])
            status[on] = self._status(states)
        return q, status

    def _between(self, starts: Array, ends: Array, t: float) -> Array:
        """Positions of the coordinates, interpolated from start (t = 0) to end (t = 1)."""
        if len(self.places) == len(self.chosen):
            return np.asarray((1.0 - t) * starts[:, self.places] + t * ends[:, self.places])
        return self.model.interpolate(starts, ends, t)[:, self.places]

    def complete(self, given: ArrayLike | Mapping[str, float], near: ArrayLike | None = None) -> Array:
        """`solve`, with an error where a state has no solution, and a warning where joints exceed their limits.

        Raises:
            SingularConfigurationError: the path to the given positions crosses a singular configuration.
            ModelError: the loops cannot be closed with the given positions.
        """
        q, status = self.solve(given, near)
        if status is _CLOSED:  # of one state, in microseconds
            return q
        for worst in (SINGULAR, NOT_CLOSED):
            bad = np.flatnonzero(status == worst)
            if len(bad):
                raise self._refusal(worst, bad if np.ndim(status) else None, given)
        if (status == BEYOND_LIMITS).any():
            self._warn_of_limits(np.atleast_2d(q))
        return q

    def _warn_of_limits(self, q: Array) -> None:
        model = self.model
        excess = np.maximum(model.lower - q, q - model.upper).max(axis=0)
        joints = {model.joint_of_position(k): float(excess[k]) for k in np.flatnonzero(excess > BEYOND).tolist()}
        shown = ", ".join(map(repr, joints))  # without amounts: Python displays equal warnings of a servo loop once
        text = f"model {model.name!r}: joints exceed their position limits where the loops close: {shown}."
        warnings.warn(BeyondLimitsWarning(text, loops=tuple(model.loop_names), joints=joints), stacklevel=4)

    def _refusal(self, status: int, rows: NDArray[np.intp] | None, given: Any) -> AdaError:
        names = ", ".join(dict.fromkeys(self.model.joint_of_position(k) for k in self.places))
        where = "" if rows is None else f"state {rows[0]}{f' and {len(rows) - 1} more' if len(rows) > 1 else ''}: "
        value = given if rows is None or isinstance(given, Mapping) else np.asarray(given)[rows[0]]
        reason = "the loops cannot be closed with these positions; they are outside of the workspace"
        if status == SINGULAR:
            reason = (
                "the path from the reference crosses a singular configuration, where they do not determine the motion"
            )
        return (SingularConfigurationError if status == SINGULAR else ModelError)(
            f"{where}model {self.model.name!r} with {names} at {value}: {reason}. Choose positions nearer to the "
            "reference, or another reference=q or near=q.",
            loop=", ".join(self.model.loop_names),
            field="given" if rows is None else f"given[{rows[0]}]",
            value=value,
        )


def joint_points(model: Model, q: Array) -> Array:
    """Positions of all links and loop joints in the world [m], (n, 3)."""
    poses = link_poses(model, q)
    ends = [(poses[loop.parent], loop.parent_xyz) for loop in model.loops.values()]
    return np.array([*(p for _, p in poses.values()), *(p + R @ xyz for (R, p), xyz in ends)])


def position_places(model: Model, chosen: Sequence[int]) -> list[int]:
    """Indices in q of velocity coordinates; joints with a rotation matrix or quaternion must be chosen whole."""
    places: list[int] = []
    for k in chosen:
        name = model.joint_of_velocity(k)
        q, v = model.q_index(name), model.v_index(name)
        if q.stop - q.start == v.stop - v.start:
            places.append(q.start + k - v.start)
        elif k == v.start:
            if not set(range(v.start, v.stop)) <= set(chosen):
                message = f"joint {name!r} has a quaternion; name the whole joint, not single velocities."
                raise InputError(message, joint=name, field="coordinates")
            places += range(q.start, q.stop)
    return places
