# SPDX-License-Identifier: Apache-2.0
"""Loop constraints of a model: violation, Jacobian, tangent map, and the state completed from chosen coordinates."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.analysis import ConstraintState, constraint_state
from ada_dynamics.constraints.coordinates import (
    ACTUATED,
    INDEPENDENT,
    Coordinates,
    CoordinateSets,
    NullSpace,
    least_share,
    null_space,
    tangent_map,
    tangent_map_rate,
)
from ada_dynamics.dynamics import closed_quantities
from ada_dynamics.dynamics.arguments import as_array, common_batch
from ada_dynamics.dynamics.closed import AT_ONCE, ClosedDynamics
from ada_dynamics.dynamics.computation import QueryGroup
from ada_dynamics.dynamics.loop_closure import LoopClosure
from ada_dynamics.dynamics.loop_warnings import level_of_caller
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.errors import LostDigitsWarning, SingularConfigurationError, invalid


class ConstraintQueries(QueryGroup):
    """Violation, Jacobian and tangent map of the loop constraints, as `dynamics.constraints`."""

    @property
    def _closed(self) -> ClosedDynamics | None:
        return self._dynamics._kernels.closed

    @property
    def mobility(self) -> int:
        """Degrees of freedom in general configurations; nv without loops."""
        return self.coordinates.mobility

    @cached_property
    def coordinates(self) -> CoordinateSets:
        """Sets of velocity coordinates that determine the motion."""
        return CoordinateSets(self._dynamics.model, None if self._closed is None else self._closed.analysis)

    def indices(self, coordinates: Coordinates = INDEPENDENT) -> tuple[int, ...]:
        """Indices in v of the coordinates, in the order of the columns of `tangent_map`.

        Args:
            coordinates: "independent": as many velocities as the mechanism has degrees of freedom, in the order of v
                and the same in all configurations (the best conditioned ones in samples); "actuated": those of the
                actuators, in the order of `model.actuated`; or names of joints.

        Raises:
            InputError: the coordinates are too few or too many to determine the motion.
        """
        return self.coordinates.indices(coordinates)

    def tangent_map(self, q: ArrayLike, coordinates: Coordinates = INDEPENDENT) -> Array:
        """Tangent map T of v = T y, with y the velocities of `coordinates`, (nv, m) or (N, nv, m).

        Raises:
            SingularConfigurationError: y does not determine v in this configuration.
        """
        name = f"tangent map {coordinates}"
        call = self._calls.get(name) or self._map_call(name, coordinates)
        return np.asarray(call(q))

    def tangent_map_rate(
        self, q: ArrayLike, v: ArrayLike, coordinates: Coordinates = INDEPENDENT
    ) -> tuple[Array, Array]:
        """`tangent_map` and its time derivative along v, which must satisfy the constraints."""
        T, rate, _ = self._map_rate_least(q, v, coordinates)
        return T, rate

    def _map_rate_least(self, q: ArrayLike, v: ArrayLike, coordinates: Coordinates) -> tuple[Array, Array, Array]:
        """T, its rate, and the nearness to a singular configuration (see `NEAR_BY_PIVOTS`), (1,) or (N, 1)."""
        if "tangent_map_rate" not in self._dynamics._seen:
            self._dynamics._look_once("tangent_map_rate", *common_batch(self._dynamics._arguments({"q": q, "v": v}))[0])
        name = f"tangent map rate {coordinates}"
        call = self._calls.get(name) or self._rate_call(name, coordinates)
        T, rate, least = call(q, v)
        return T, rate, least

    def complete_velocity(self, q: ArrayLike, given: ArrayLike, coordinates: Coordinates = ACTUATED) -> Array:
        """Velocities of all joints from those of `coordinates`.

        Args:
            q: positions.
            given: velocities of the coordinates, (m,) or (N, m).
            coordinates: see `indices`.
        """
        T = self.tangent_map(q, coordinates)
        y = as_array("given", given, T.shape[-1], self._dynamics.model)
        return np.asarray((T @ y[..., None])[..., 0])

    def complete_acceleration(
        self, q: ArrayLike, v: ArrayLike, given: ArrayLike, coordinates: Coordinates = ACTUATED
    ) -> Array:
        """Accelerations of all joints from those of `coordinates`.

        Args:
            q: positions.
            v: velocities of all joints, such as from `complete_velocity`.
            given: accelerations of the coordinates, (m,) or (N, m).
            coordinates: see `indices`.
        """
        T, rate = self.tangent_map_rate(q, v, coordinates)
        model = self._dynamics.model
        y = as_array("given", given, T.shape[-1], model)
        own = as_array("v", v, model.nv, model)[..., list(self.indices(coordinates))]
        return np.asarray((T @ y[..., None] + rate @ own[..., None])[..., 0])

    def loop_closure(self, coordinates: Coordinates = ACTUATED, reference: ArrayLike | None = None) -> LoopClosure:
        """Completion of positions from those of `coordinates`, compiled, for one state and for batches.

        Args:
            coordinates: see `indices`.
            reference: a configuration in the assembly mode to be used; by default the q0 of the dynamics, else the home
                configuration of the model.
        """
        dynamics = self._dynamics
        start = dynamics._options["q0"] if reference is None else reference
        return LoopClosure(dynamics._kernels, self.coordinates, coordinates, start)

    def complete_position(
        self,
        given: ArrayLike | Mapping[str, float],
        coordinates: Coordinates = ACTUATED,
        near: ArrayLike | None = None,
    ) -> Array:
        """Positions of all joints from those of `coordinates`, in the assembly mode of the dynamics.

        Args:
            given: positions of the coordinates, (m,) or (N, m), or by the names of joints.
            coordinates: see `indices`.
            near: closed configurations of the same assembly mode to start from, such as the last solution.

        Raises:
            SingularConfigurationError: the path to the given positions crosses a singular configuration.
            ModelError: the loops cannot be closed with the given positions.
        """
        key = coordinates if isinstance(coordinates, str) else tuple(coordinates)
        if key not in self._closures:
            self._closures[key] = self.loop_closure(coordinates)
        return self._closures[key].complete(given, near)

    @cached_property
    def _closures(self) -> dict[str | tuple[str, ...], LoopClosure]:
        return {}

    def state_map(self, q: ArrayLike, v: ArrayLike, coordinates: Coordinates = INDEPENDENT) -> Array:
        """C of [d_q; d_v] = C [d_x; d_y]: Jacobian of the full state with respect to that of `coordinates`.

        v = T(q) y, so that C = [T 0; Ṫ[T] y  T], (2 nv, 2 m) or (N, 2 nv, 2 m); Ṫ[T] is the rate of
        T along its columns.
        """
        return state_map_and_nearness(self, q, v, coordinates)[0]

    def state(self, q: ArrayLike, v: ArrayLike | None = None) -> ConstraintState:
        """Constraint violation, its rate, and the distance from a singular configuration, of one state."""
        arrays = self._dynamics._arguments({"q": q} if v is None else {"q": q, "v": v})
        self._dynamics._check_state(arrays)
        for name, x in arrays.items():
            if x.ndim == 2:
                wanted = "one state; call state row by row, or use closure_error(q) for a batch"
                raise invalid(name, x.shape, wanted, "the shape of ", allowed=(self._dynamics.model.nq,))
        if self._closed is None:
            return ConstraintState({}, {}, 1.0, self._dynamics.model.nv)
        return constraint_state(self._closed.analysis, arrays["q"], arrays.get("v"))

    def closure_error(self, q: ArrayLike) -> Array:
        """Largest constraint violation [m, rad]; one per configuration of a batch, zero without loops."""
        closed, positions = self._closed, np.ascontiguousarray(self._dynamics._arguments({"q": q})["q"])
        if closed is None or not positions.size:
            return np.zeros(positions.shape[:-1])
        return np.asarray(np.max(np.abs(closed.violation(positions)), axis=-1), dtype=np.float64)

    def branch_directions(self, q: ArrayLike) -> list[Array]:
        """Tangents of the branches that cross in a singular configuration."""
        arrays = self._dynamics._arguments({"q": q})
        self._dynamics._check_state(arrays)
        return [] if self._closed is None else self._closed.tangents(np.ascontiguousarray(arrays["q"]))

    # --- Jacobian ------------------------------------------------------------------------------------------------
    def jacobian(self, q: ArrayLike) -> Array:
        """Jacobian J of the non-trivial constraints, (m, nv): J v is the rate of `violation`, 0 if loops stay closed.

        Rows of angles are multiplied by the characteristic length; a model without loops has no rows.
        """
        return self.scaled_jacobian(q) / self.coordinates.units

    def scaled_jacobian(self, q: ArrayLike) -> Array:
        """`jacobian` for velocities divided by `coordinates.units`, so that all columns are lengths [m]."""
        return self._jacobian(self._dynamics._arguments({"q": q})["q"])

    def violation(self, q: ArrayLike) -> Array:
        """Violation of the non-trivial constraints [m], (m,) or (N, m), in the units of `jacobian`."""
        closed, positions = self._closed, np.ascontiguousarray(self._dynamics._arguments({"q": q})["q"])
        if closed is None:
            return np.zeros((*positions.shape[:-1], 0))
        return np.asarray(closed.violation(positions)[..., list(closed.plans.nontrivial)] / closed.weights)

    def _map_call(self, name: str, coordinates: Coordinates) -> Callable[..., Any]:
        """Function that computes T: by its kernel, or by singular values for states that the kernel rejects."""
        chosen, of_position = self.indices(coordinates), tangent_map_quantity(self, coordinates)

        def rescue(inputs: Sequence[Array], is_batch: bool) -> Array:
            return _in_parts(inputs, is_batch, lambda first, q: self._by_singular_values(q, chosen, first)[:1])[0]

        if of_position is None:
            return self._dynamics._on_numbers(name, rescue, ("q",))
        return self._dynamics._quantity_call(name, lambda: of_position, ("q",), rescue)

    def _rate_call(self, name: str, coordinates: Coordinates) -> Callable[..., Any]:
        """Function that computes T, its rate and the nearness, in the same way."""
        chosen, of_position = self.indices(coordinates), tangent_map_quantity(self, coordinates)

        def compute(first: int, q: Array, v: Array) -> tuple[Array, ...]:
            T, J, found = self._by_singular_values(q, chosen, first)
            rate = np.zeros_like(T)
            if self._closed is not None:
                J_rate = self._in_units(self._closed, "constraint_rates", q, v)
                units = self._units_of(chosen)
                rate = tangent_map_rate(J, J_rate, T / units, chosen) * units
            share = np.minimum(found.sigma, least_share(found.basis(), chosen))
            return T, rate, NEAR_BY_PIVOTS * (share[..., None] / NEAR) ** 2

        def rescue(inputs: Sequence[Array], is_batch: bool) -> tuple[Array, ...]:
            return _in_parts(inputs, is_batch, compute)

        if of_position is None:
            return self._dynamics._on_numbers(name, rescue, ("q", "v"))
        make = lambda: closed_quantities.tangent_map_rate(of_position, self._dynamics._tree)  # noqa: E731
        return self._dynamics._quantity_call(name, make, ("q", "v"), rescue)

    # --- by singular values -----------------------------------------------------------------------------------------
    def _by_singular_values(self, q: Array, chosen: tuple[int, ...], first: int) -> tuple[Array, Array, NullSpace]:
        """T, J and its null space by singular values; SingularConfigurationError for the first singular state."""
        J = self._jacobian(q)
        found = null_space(J, self.mobility)
        for i in map(tuple, np.argwhere(self.coordinates.is_singular(found, chosen))):
            self.coordinates.refuse_singular(null_space(J[i], self.mobility), chosen, first + int(i[0]) if i else None)
        return tangent_map(found, chosen) * self._units_of(chosen), J, found

    def _jacobian(self, q: Array) -> Array:
        if self._closed is None:
            return np.zeros((*q.shape[:-1], 0, self._dynamics.model.nv))
        return self._in_units(self._closed, "constraint_terms", q, np.zeros(self._dynamics.model.nv))

    def _in_units(self, closed: ClosedDynamics, name: str, q: Array, v: Array) -> Array:
        """J or its rate, in units of the characteristic length."""
        J, _ = self._dynamics._run(closed.constraint_kernel(name), {"q": q, "v": v})
        return np.asarray(J / closed.weights[:, None] * self.coordinates.units)

    def _units_of(self, chosen: tuple[int, ...]) -> Array:
        """Factors of the entries of T in units of the joints, from T in units of the characteristic length."""
        units = self.coordinates.units
        return np.asarray(units[:, None] / units[list(chosen)])


def _in_parts(inputs: Sequence[Array], is_batch: bool, compute: Callable[..., tuple[Array, ...]]) -> tuple[Array, ...]:
    """The results for all states, some at a time; `compute` gets the number of the first one, and their arguments."""
    if not is_batch:
        return compute(0, *inputs)
    starts = range(0, max(len(inputs[0]), 1), AT_ONCE)
    parts = [compute(i, *(np.ascontiguousarray(x[i : i + AT_ONCE]) for x in inputs)) for i in starts]
    return tuple(map(np.concatenate, zip(*parts, strict=True)))


def state_map_and_nearness(
    constraints: ConstraintQueries, q: ArrayLike, v: ArrayLike, coordinates: Coordinates = INDEPENDENT
) -> tuple[Array, NDArray[np.bool_]]:
    """`ConstraintQueries.state_map`, and the states near a singular configuration, whose derivatives may be inexact."""
    T = constraints.tangent_map(q, coordinates)
    positions, speeds = constraints._dynamics._arguments({"q": q, "v": v}).values()
    (*states, nv, m), nq = T.shape, positions.shape[-1]
    # rates of T while q moves along each of its columns
    poses = np.broadcast_to(positions[..., None, :], (*states, m, nq)).reshape(-1, nq)
    _, rates, least = constraints._map_rate_least(poses, T.swapaxes(-1, -2).reshape(-1, nv), coordinates)
    y = speeds[..., None, list(constraints.indices(coordinates)), None]
    C = np.zeros((*states, 2 * nv, 2 * m))
    C[..., :nv, :m] = C[..., nv:, m:] = T
    C[..., nv:, :m] = (rates.reshape(*states, m, nv, m) @ y)[..., 0].swapaxes(-1, -2)
    nearest = least.reshape(*states, m).min(axis=-1, initial=1.0)
    return C, np.asarray(~(nearest >= NEAR_BY_PIVOTS))


# --- results next to a singular configuration -------------------------------------------------------------------------
NEAR = 1e-2  # smallest singular value of the constraint Jacobian by the largest, below which errors are estimated
# Below this square of the smallest pivot of a velocity map by its typical size singular values are looked at.
NEAR_BY_PIVOTS = 0.02
NOTICED = 1e-6  # relative error that is warned of
_ROUNDING = 2.0**-52


def warn_if_digits_are_lost(
    constraints: ConstraintQueries,
    what: str,
    q: Array,
    is_near: NDArray[np.bool_],
    found: Sequence[Array],
    result: Callable[[int, Array], Sequence[Array]],
) -> None:
    """Warn of results next to a singular configuration, with an estimate of the error.

    A configuration closes the loops to some gap, at best to rounding. Along the direction in which the constraint
    Jacobian is weakest it is then known to the gap divided by the singular value: what changes within that is lost.

    Args:
        constraints: of the model.
        what: name of the results.
        q: configurations, one or a batch.
        is_near: those that are checked.
        found: results, matrices of one state or of all.
        result: computes those of one state, by its index, in another configuration.
    """
    analysis, states = constraints.coordinates.analysis, np.flatnonzero(is_near)
    if analysis is None or not analysis.rank or not len(states):
        return
    rank, model = analysis.rank, constraints._dynamics.model
    rows = np.ascontiguousarray(np.atleast_2d(q)[states], dtype=np.float64)
    # the code for one state is faster
    J = constraints._jacobian(rows) if q.ndim > 1 else constraints._jacobian(rows[0])[None]
    squares = np.linalg.eigvalsh(J @ J.swapaxes(-1, -2))
    sigma = np.sqrt(np.maximum(squares[:, -rank] / squares[:, -1], 0.0))
    i = int(np.argmin(sigma))
    if not sigma[i] < NEAR:
        return
    number, (_, s, V) = int(states[i]), np.linalg.svd(J[i])
    known_to = max(_ROUNDING * s[0], float(np.max(np.abs(constraints.violation(rows[i]))))) / s[rank - 1]
    weakest = V[rank - 1] * constraints.coordinates.units
    own = [x.reshape(-1, *x.shape[-2:])[number] for x in found]
    try:
        pairs = list(zip(own, result(number, model.integrate(rows[i], known_to * weakest)), strict=True))
        size = max(np.finfo(float).tiny, *(float(np.max(np.abs(x), initial=0.0)) for x, _ in pairs))
        error = max(float(np.max(np.abs(x - y), initial=0.0)) for x, y in pairs) / size
    except SingularConfigurationError:
        error = 1.0
    if error < NOTICED:
        return
    where = f" in state {number}" if q.ndim > 1 else ""
    message = (
        f"model {model.name!r} is next to a singular configuration{where}: the smallest singular value of its loops is "
        f"{sigma[i]:.1e} of the largest, and {what} have a relative error of about {error:.0e}, as the loops determine "
        f"q to {known_to:.0e} only. Use a configuration farther away, or derivatives with "
        "respect to the coordinates of the tree."
    )
    noticed = tuple(states[sigma < NEAR].tolist()) if q.ndim > 1 else ()
    warning = LostDigitsWarning(message, loops=tuple(model.loop_names), states=noticed, error=error)
    warnings.warn(warning, stacklevel=level_of_caller())


def tangent_map_quantity(constraints: ConstraintQueries, coordinates: Coordinates = INDEPENDENT) -> Quantity | None:
    """The quantity behind `tangent_map`; None without loops, and for large models."""
    closed, sets = constraints._closed, constraints.coordinates
    order = None if constraints._dynamics._kernels.large else sets.map_order(sets.indices(coordinates))
    if closed is None or order is None:
        return None
    return closed_quantities.tangent_map(closed.tree, order, sets.units.tolist())
