# SPDX-License-Identifier: Apache-2.0
"""Motions along the loops: all velocities and accelerations from independent ones, or from those of the motors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.arguments import as_array, common_batch
from ada_dynamics.dynamics.computation import Computation
from ada_dynamics.dynamics.quantities import closed as closed_quantities
from ada_dynamics.loops.choices import ACTUATED, INDEPENDENT, By, Choices
from ada_dynamics.loops.velocities import Completion, completion, motions

_TOGETHER = 1024  # states whose matrices are kept at the same time


class LoopConditions(NamedTuple):
    """J and γ of the conditions that act, in lengths [m/s, m/s²]; J by velocities in units of an angle's."""

    J: Array
    gamma: Array


class AlongLoops(Computation):
    """All velocities from those that determine the motion."""

    @cached_property
    def choices(self) -> Choices:
        """Sets of velocities that determine the motion."""
        closed = self._kernels.closed
        return Choices(self.model, None if closed is None else closed.study)

    def velocity_indices(self, by: By = INDEPENDENT) -> tuple[int, ...]:
        """Places in v of the velocities that the columns of `jacobian(..., by=by)` belong to, in their order.

        Args:
            by: "independent": as many velocities as the loops leave motions, in the order of v, always the same ones:
                those that tell all motions apart best in sample poses; "actuated": those of the motors, in the order
                of `model.actuated`; or names of joints.

        Raises:
            InputError: they are too few or too many to determine the motion.
        """
        return self.choices.of(by)

    def velocity_map(self, q: ArrayLike, by: By = INDEPENDENT) -> Array:
        """T of v = T y: velocities of all joints per unit of those meant by `by`, (nv, m) or (N, nv, m).

        Raises:
            SingularPoseError: they do not determine the motion in this pose (unchecked `Dynamics` gives nan).
        """
        chosen = self.choices.of(by)
        arrays = self._arguments({"q": q})
        return self._by_parts(arrays, lambda own, first: self._along(own, chosen, first)[0].T * self._scale(chosen))

    def velocity_map_rate(self, q: ArrayLike, v: ArrayLike, by: By = INDEPENDENT) -> tuple[Array, Array]:
        """`velocity_map` and its time derivative along v, which the loops must allow."""
        chosen = self.choices.of(by)
        arrays = self._arguments({"q": q, "v": v})
        self._look_once("velocity_map_rate", *common_batch(arrays)[0])

        def rates(own: dict[str, Array], first: int) -> Array:
            found, _ = self._along(own, chosen, first)
            rate = found.rate(self._condition_rates(own)) if self._kernels.closed else np.zeros_like(found.T)
            return np.stack([found.T, rate], axis=-3) * self._scale(chosen)

        both = self._by_parts(arrays, rates)
        return both[..., 0, :, :], both[..., 1, :, :]

    def complete_velocity(self, q: ArrayLike, given: ArrayLike, by: By = ACTUATED) -> Array:
        """Velocities of all joints from some of them, along the loops.

        Args:
            q: positions.
            given: velocities of the motors, in the order of `model.actuated`, or of others; (m,) or (N, m).
            by: which, see `velocity_indices`.
        """
        T = self.velocity_map(q, by)
        y = as_array("given", given, T.shape[-1], self.model)
        return np.asarray((T @ y[..., None])[..., 0])

    def complete_acceleration(self, q: ArrayLike, v: ArrayLike, given: ArrayLike, by: By = ACTUATED) -> Array:
        """Accelerations of all joints from some of them, along the loops, while they move with v.

        Args:
            q: positions.
            v: velocities of all joints, such as `complete_velocity` gives.
            given: accelerations of the motors, or of others; (m,) or (N, m).
            by: which, see `velocity_indices`.
        """
        chosen = self.choices.of(by)
        arrays = self._arguments({"q": q, "v": v})
        arrays["given"] = as_array("given", given, len(chosen), self.model)
        self._look_once("complete_acceleration", *common_batch(arrays)[0][:2])

        def accelerations(own: dict[str, Array], first: int) -> Array:
            y = own.pop("given")
            found, gamma = self._along(own, chosen, first)
            driven = ((found.T * self._scale(chosen)) @ y[..., None])[..., 0]
            return np.asarray(driven + self.choices.units * found.drift(gamma))

        return self._by_parts(arrays, accelerations)

    # --- how it is done -----------------------------------------------------------------------------------------
    def loop_conditions(self, q: ArrayLike) -> LoopConditions:
        """Conditions of the loops at rest, of moments times the mechanism's length; none of a model without loops."""
        return self._conditions(self._arguments({"q": q}))

    def loop_gaps(self, q: ArrayLike) -> Array:
        """How far these conditions are from holding [m], row by row for a batch."""
        closed, positions = self._kernels.closed, np.ascontiguousarray(self._arguments({"q": q})["q"])
        if closed is None:
            return np.zeros((*positions.shape[:-1], 0))
        return np.asarray(closed.gaps(positions)[..., list(closed.plans.conditions)] / self._condition_units)

    def _conditions(self, arrays: dict[str, Array]) -> LoopConditions:
        closed = self._kernels.closed
        q = arrays["q"]
        if closed is None:
            return LoopConditions(np.zeros((*q.shape[:-1], 0, self.model.nv)), np.zeros((*q.shape[:-1], 0)))
        make = lambda: closed_quantities.conditions(closed.tree, closed.plans)  # noqa: E731
        kernel = self._kernels.get("loop conditions", make)
        J, gamma = self._run(kernel, {"q": q, "v": arrays.get("v", np.zeros(self.model.nv))})
        w = self._condition_units
        return LoopConditions(J / w[:, None] * self.choices.units, gamma / w)

    def _condition_rates(self, arrays: dict[str, Array]) -> Array:
        closed = self._kernels.closed
        assert closed is not None
        make = lambda: closed_quantities.condition_rates(closed.tree, closed.plans)  # noqa: E731
        J, _ = self._run(self._kernels.get("loop condition rates", make), arrays)
        return np.asarray(J / self._condition_units[:, None] * self.choices.units)

    @cached_property
    def _condition_units(self) -> Array:
        closed = self._kernels.closed
        assert closed is not None
        return np.asarray(closed.study.numbers.weights[list(closed.plans.conditions)])

    def _scale(self, chosen: tuple[int, ...]) -> Array:
        """From units of the mechanism's length to those of the joints."""
        units = self.choices.units
        return np.asarray(units[:, None] / units[list(chosen)])

    def _along(self, arrays: dict[str, Array], chosen: tuple[int, ...], first: int) -> tuple[Completion, Array]:
        """The map from the chosen velocities, and γ; refused, or nan, where they do not determine the motion."""
        J, gamma = self._conditions(arrays)
        found = completion(J, chosen)
        for i in map(tuple, np.argwhere(found.is_suspicious)):
            here = motions(J[i], self.choices.mobility)
            if self.checked:
                self.choices.refuse_singular(here, chosen, f"state {first + i[0]}: " if i else "")
            elif self.choices.is_singular(here, chosen):
                found.T[i], found.inverse[i] = np.nan, np.nan
        return found, gamma

    def _by_parts(self, arrays: dict[str, Array], compute: Callable[[dict[str, Array], int], Array]) -> Array:
        """The result for all states, some at a time; `compute` gets these and the number of the first one."""
        inputs, is_batch = common_batch(arrays)
        named = dict(zip(arrays, inputs, strict=True))
        if not is_batch:
            return compute(named, 0)
        parts = [
            compute({name: np.ascontiguousarray(x[i : i + _TOGETHER]) for name, x in named.items()}, i)
            for i in range(0, max(len(inputs[0]), 1), _TOGETHER)
        ]
        return np.concatenate(parts)
