# SPDX-License-Identifier: Apache-2.0
"""NullSpace along the loops: all velocities and accelerations from independent ones, or from those of the motors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import ACTUATED, INDEPENDENT, Coordinates, CoordinateSets
from ada_dynamics.constraints.tangent_map import TangentMap, null_space, solve_tangent_map
from ada_dynamics.dynamics import lost_digits, quantities
from ada_dynamics.dynamics.arguments import as_array, common_batch
from ada_dynamics.dynamics.computation import Computation
from ada_dynamics.dynamics.quantities import closed as closed_quantities

_TOGETHER = 1024  # states whose matrices are kept at the same time


class AlongLoops(Computation):
    """All velocities from those that determine the motion."""

    @cached_property
    def choices(self) -> CoordinateSets:
        """Sets of velocities that determine the motion."""
        closed = self._kernels.closed
        return CoordinateSets(self.model, None if closed is None else closed.analysis)

    def velocity_indices(self, coordinates: Coordinates = INDEPENDENT) -> tuple[int, ...]:
        """Places in v of the velocities that the columns of `jacobian(..., coordinates=...)` belong to, in their order.

        Args:
            coordinates: "independent": as many velocities as the mechanism has degrees of freedom, in the order of v,
                the same ones in all configurations (the best conditioned ones in samples); "actuated": those
                of the motors, in the order of `model.actuated`; or names of joints.

        Raises:
            InputError: they are too few or too many to determine the motion.
        """
        return self.choices.indices(coordinates)

    def tangent_map(self, q: ArrayLike, coordinates: Coordinates = INDEPENDENT) -> Array:
        """T of v = T y: velocities of all joints per unit of those meant by `coordinates`, (nv, m) or (N, nv, m).

        Raises:
            SingularConfigurationError: they do not determine the motion in this pose (unchecked `Dynamics` gives nan).
        """
        name = f"tangent map {coordinates}"
        call = self._calls.get(name) or self._map_call(name, self.choices.indices(coordinates))
        return np.asarray(call(q))

    def tangent_map_rate(
        self, q: ArrayLike, v: ArrayLike, coordinates: Coordinates = INDEPENDENT
    ) -> tuple[Array, Array]:
        """`tangent_map` and its time derivative along v, which the loops must allow."""
        T, rate, _ = self._map_rate_least(q, v, coordinates)
        return T, rate

    def _map_rate_least(self, q: ArrayLike, v: ArrayLike, coordinates: Coordinates) -> tuple[Array, Array, Array]:
        """T, its rate, and what `lost_digits.NEAR_BY_PIVOTS` is compared with, (1,) or (N, 1)."""
        if "tangent_map_rate" not in self._seen:
            self._look_once("tangent_map_rate", *common_batch(self._arguments({"q": q, "v": v}))[0])
        name = f"tangent map rate {coordinates}"
        call = self._calls.get(name) or self._rate_call(name, self.choices.indices(coordinates))
        T, rate, least = call(q, v)
        return T, rate, least

    def complete_velocity(self, q: ArrayLike, given: ArrayLike, coordinates: Coordinates = ACTUATED) -> Array:
        """Velocities of all joints from some of them, along the loops.

        Args:
            q: positions.
            given: velocities of the motors, in the order of `model.actuated`, or of others; (m,) or (N, m).
            coordinates: which, see `velocity_indices`.
        """
        T = self.tangent_map(q, coordinates)
        y = as_array("given", given, T.shape[-1], self.model)
        return np.asarray((T @ y[..., None])[..., 0])

    def complete_acceleration(
        self, q: ArrayLike, v: ArrayLike, given: ArrayLike, coordinates: Coordinates = ACTUATED
    ) -> Array:
        """Accelerations of all joints from some of them, along the loops, while they move with v.

        Args:
            q: positions.
            v: velocities of all joints, such as `complete_velocity` gives.
            given: accelerations of the motors, or of others; (m,) or (N, m).
            coordinates: which, see `velocity_indices`.
        """
        T, rate = self.tangent_map_rate(q, v, coordinates)
        y = as_array("given", given, T.shape[-1], self.model)
        own = as_array("v", v, self.model.nv, self.model)[..., list(self.choices.indices(coordinates))]
        return np.asarray((T @ y[..., None] + rate @ own[..., None])[..., 0])

    def changes(self, q: ArrayLike, v: ArrayLike, coordinates: Coordinates = INDEPENDENT) -> Array:
        """C of [d_q; d_v] = C [d_x; d_y]: Jacobian of the full state with respect to that of `coordinates`.

        v = T(q) y, so that C = [T 0; Ṫ[T] y  T], (2 nv, 2 m) or (N, 2 nv, 2 m); Ṫ[T] is the rate of
        T along its columns.
        """
        return self.changes_and_nearness(q, v, coordinates)[0]

    def changes_and_nearness(
        self, q: ArrayLike, v: ArrayLike, coordinates: Coordinates = INDEPENDENT
    ) -> tuple[Array, NDArray[np.bool_]]:
        """`changes`, and which states may be so near to a singular configuration that digits are lost."""
        T = self.tangent_map(q, coordinates)
        arrays = self._arguments({"q": q, "v": v})
        rates, least = self._turning(arrays["q"], T, coordinates)
        turning = (rates @ arrays["v"][..., None, list(self.choices.indices(coordinates)), None])[..., 0]
        nv, m = T.shape[-2:]
        C = np.zeros((*T.shape[:-2], 2 * nv, 2 * m))
        C[..., :nv, :m] = C[..., nv:, m:] = T
        C[..., nv:, :m] = turning.swapaxes(-1, -2)
        nearest = least.reshape(*T.shape[:-2], m).min(axis=-1, initial=1.0)
        return C, np.asarray(~(nearest >= lost_digits.NEAR_BY_PIVOTS))

    def warn_if_digits_are_lost(
        self, what: str, q: Array, is_near: NDArray[np.bool_], result: Callable[[int, Array], Sequence[Array]]
    ) -> None:
        """Warn where results are next to a singular configuration; see `lost_digits`, also for the arguments.

        Args:
            what: the result, in words.
            q: configurations, one or rows of them.
            is_near: those that are looked at.
            result: of one state, by its number, in a configuration that may be another one.
        """
        analysis, states = self.choices.analysis, np.flatnonzero(is_near)
        if analysis is None or not analysis.rank or not len(states):
            return
        rows = np.ascontiguousarray(np.atleast_2d(q)[states], dtype=np.float64)
        constraints = self._conditions(rows), self.constraint_violation, self.choices.units
        names = states.tolist() if q.ndim > 1 else None
        lost_digits.warn_if_digits_are_lost(
            self.model, what, (rows, names), constraints, analysis.rank, lambda i, at: result(int(states[i]), at)
        )

    def _turning(self, q: Array, T: Array, coordinates: Coordinates) -> tuple[Array, Array]:
        """Rates of T while q moves along each of its columns, (..., m, nv, m), and what `_map_rate_least` has."""
        nv, m = T.shape[-2:]
        poses = np.broadcast_to(q[..., None, :], (*T.shape[:-2], m, q.shape[-1])).reshape(-1, q.shape[-1])
        _, rates, least = self._map_rate_least(poses, T.swapaxes(-1, -2).reshape(-1, nv), coordinates)
        return rates.reshape(*T.shape[:-2], m, nv, m), least

    # --- how it is done -----------------------------------------------------------------------------------------
    def constraint_jacobian(self, q: ArrayLike) -> Array:
        """J of the loops' conditions that act, one row each, by velocities in units of an angle's [m].

        Moments count times the mechanism's length; a model without loops has no rows.
        """
        return self._conditions(self._arguments({"q": q})["q"])

    def constraint_violation(self, q: ArrayLike) -> Array:
        """How far these conditions are from holding [m], row by row for a batch."""
        closed, positions = self._kernels.closed, np.ascontiguousarray(self._arguments({"q": q})["q"])
        if closed is None:
            return np.zeros((*positions.shape[:-1], 0))
        return np.asarray(closed.gaps(positions)[..., list(closed.plans.nontrivial)] / closed.weights)

    def tangent_map_quantity(self, coordinates: Coordinates = INDEPENDENT) -> quantities.Quantity | None:
        """The function behind `tangent_map`, to write it down; None where only numbers can find it."""
        return self._map_quantity(self.choices.indices(coordinates))

    def _map_quantity(self, chosen: tuple[int, ...]) -> quantities.Quantity | None:
        """T as a function; None where only numbers can find it: unchecked kernels do not tell what they refuse."""
        closed = self._kernels.closed
        if closed is None or self._kernels.large or not self.checked:
            return None
        order = self.choices.map_order(chosen)
        if order is None:
            return None
        return quantities.tangent_map(closed.tree, order, self.choices.units.tolist())

    def _map_call(self, name: str, chosen: tuple[int, ...]) -> Callable[..., Any]:
        """The way to T: its kernel, and numbers where that refuses a state."""

        def rescue(inputs: Sequence[Array], is_batch: bool) -> Array:
            return _in_parts(
                inputs, is_batch, lambda first, q: (self._on_units(self._along(q, chosen, first).T, chosen),)
            )[0]

        of_position = self._map_quantity(chosen)
        if of_position is None:
            return self._on_numbers(name, rescue, ("q",))
        return self._quantity_call(name, lambda: of_position, ("q",), rescue)

    def _rate_call(self, name: str, chosen: tuple[int, ...]) -> Callable[..., Any]:
        """T and its rate from those."""

        def compute(first: int, q: Array, v: Array) -> tuple[Array, ...]:
            found = self._along(q, chosen, first)
            rate = found.rate(self._condition_rates(q, v)) if self.model.loops else np.zeros_like(found.T)
            least = lost_digits.NEAR_BY_PIVOTS * (np.asarray(found.share)[..., None] / lost_digits.NEAR) ** 2
            return self._on_units(found.T, chosen), self._on_units(rate, chosen), least

        def rescue(inputs: Sequence[Array], is_batch: bool) -> tuple[Array, ...]:
            return _in_parts(inputs, is_batch, compute)

        of_position = self._map_quantity(chosen)
        if of_position is None:
            return self._on_numbers(name, rescue, ("q", "v"))
        make = lambda: quantities.tangent_map_rate(of_position, self._tree)  # noqa: E731
        return self._quantity_call(name, make, ("q", "v"), rescue)

    # --- on numbers ---------------------------------------------------------------------------------------------
    def _along(self, q: Array, chosen: tuple[int, ...], first: int) -> TangentMap:
        """The map from the chosen velocities; refused, or nan, where they do not determine the motion."""
        J = self._conditions(q)
        found = solve_tangent_map(J, chosen)
        for i in map(tuple, np.argwhere(found.is_suspicious)):
            here = null_space(J[i], self.choices.mobility)
            if self.checked:
                self.choices.refuse_singular(here, chosen, first + int(i[0]) if i else None)
            elif self.choices.is_singular(here, chosen):
                found.T[i], found.inverse[i] = np.nan, np.nan
        return found

    def _conditions(self, q: Array) -> Array:
        closed = self._kernels.closed
        if closed is None:
            return np.zeros((*q.shape[:-1], 0, self.model.nv))
        J, _ = self._run(closed.conditions, {"q": q, "v": np.zeros(self.model.nv)})
        return np.asarray(J / closed.weights[:, None] * self.choices.units)

    def _condition_rates(self, q: Array, v: Array) -> Array:
        closed = self._kernels.closed
        assert closed is not None
        make = lambda: closed_quantities.condition_rates(closed.tree, closed.plans)  # noqa: E731
        J, _ = self._run(self._kernels.get("loop condition rates", make), {"q": q, "v": v})
        return np.asarray(J / closed.weights[:, None] * self.choices.units)

    def _on_units(self, T: Array, chosen: tuple[int, ...]) -> Array:
        """From units of the mechanism's length to those of the joints."""
        units = self.choices.units
        return np.asarray(T * (units[:, None] / units[list(chosen)]))


def _in_parts(inputs: Sequence[Array], is_batch: bool, compute: Callable[..., tuple[Array, ...]]) -> tuple[Array, ...]:
    """The results for all states, some at a time; `compute` gets the number of the first one, and their arguments."""
    if not is_batch:
        return compute(0, *inputs)
    starts = range(0, max(len(inputs[0]), 1), _TOGETHER)
    parts = [compute(i, *(np.ascontiguousarray(x[i : i + _TOGETHER]) for x in inputs)) for i in starts]
    return tuple(map(np.concatenate, zip(*parts, strict=True)))
