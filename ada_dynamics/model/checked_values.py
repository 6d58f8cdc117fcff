# SPDX-License-Identifier: Apache-2.0
"""Single values of a description, checked: numbers, vectors, orientations, inertias, axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.errors import ModelError
from ada_dynamics.model.elements import Shape
from ada_dynamics.model.joints import JOINT_TYPES, SPRUNG
from ada_dynamics.spatial.rotation import from_rpy


class CheckedValues:
    """Turns what a user gives into arrays; what is unusable becomes an error that says where it stands."""

    def __init__(self, where: str) -> None:
        """Args: where the values come from (a file), for messages."""
        self.where = where

    def finite(self, value: float, what: str) -> float:
        """A finite number."""
        if not np.isfinite(value):
            raise ModelError(f"{self.where}: {what} is {value}; it must be a finite number.")
        return float(value)

    def vector(self, value: ArrayLike, size: int, what: str) -> Array:
        """Finite numbers."""
        try:
            x = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ModelError(f"{self.where}: {what} is {value!r}; it must be {size} numbers.") from None
        if x.shape != (size,) or not np.isfinite(x).all():
            raise ModelError(f"{self.where}: {what} is {value!r}; it must be {size} finite numbers.")
        return x

    def orientation(self, rpy: ArrayLike, rotation: ArrayLike | None, where: str) -> Array:
        """A rotation matrix, from itself or from roll-pitch-yaw angles."""
        angles = self.vector(rpy, 3, f"rpy of {where}")
        if rotation is None:
            return np.array(from_rpy(*angles.tolist()))
        R = np.asarray(rotation, dtype=float)
        proper = R.shape == (3, 3) and float(np.max(np.abs(R @ R.T - np.eye(3)))) < 1e-9 and np.linalg.det(R) > 0.0
        if not proper or np.any(angles):
            raise ModelError(f"{self.where}: rotation of {where} must be a 3x3 rotation matrix, given without rpy.")
        return R

    def inertia(self, value: ArrayLike, what: str) -> Array:
        """A symmetric 3x3 matrix, from all of its entries, 6 of them or its diagonal."""
        x = np.asarray(value, dtype=float)
        if x.shape == (3,):
            x = np.diag(x)
        elif x.shape == (6,):
            x = np.array([[x[0], x[3], x[4]], [x[3], x[1], x[5]], [x[4], x[5], x[2]]])
        if x.shape != (3, 3) or not np.isfinite(x).all():
            raise ModelError(f"{self.where}: {what} must be 3x3, 3 or 6 finite numbers, not {value!r}.")
        if (np.abs(x - x.T) > 1e-9 * np.abs(x)).any():
            raise ModelError(f"{self.where}: {what} is not symmetric: {x.tolist()}.")
        return x

    def shapes(self, value: Iterable[Shape], what: str) -> tuple[Shape, ...]:
        """Shapes, which have checked themselves."""
        given: object = value
        found = tuple(given) if isinstance(given, Iterable) else (given,)
        for one in found:
            if not isinstance(one, Shape):
                raise ModelError(f"{self.where}: {what} have {one!r}; they must be a sequence of `Shape`s.")
        return found

    def axes(
        self, kind: str, axis: ArrayLike | None, axis2: ArrayLike | None, where: str
    ) -> tuple[Array, Array | None]:
        """The axes that a joint type needs, of unit length; a universal joint has two."""
        count = JOINT_TYPES[kind].axes
        if count == 0:
            return np.array([1.0, 0.0, 0.0]), None
        default = (0.0, 0.0, 1.0) if count == 2 else (1.0, 0.0, 0.0)
        first = self.direction(default if axis is None else axis, f"axis of {where}")
        if count == 1:
            return first, None
        second = self.direction((0.0, 1.0, 0.0) if axis2 is None else axis2, f"axis2 of {where}")
        if abs(float(first @ second)) > 1e-9:
            raise ModelError(f"{self.where}: the two axes of {kind} {where} must be perpendicular.")
        return first, second

    def spring(self, kind: str, stiffness: float, rest: float, where: str) -> None:
        """A joint's spring: of kinds that can have one, and at rest where they can."""
        self.finite(rest, f"rest of {where}")
        if stiffness and kind not in SPRUNG:
            raise ModelError(
                f"{self.where}: {where} is {kind} and has a spring; joints that can have one are {', '.join(SPRUNG)}. "
                "Write it as several joints, or give its effort as tau."
            )
        if rest and JOINT_TYPES[kind].nq > 1:
            raise ModelError(
                f"{self.where}: rest of {kind} {where} is {rest}; its spring rests at the zero position: turn the "
                "joint's frame instead."
            )

    def constants(self, kind: str, given: Mapping[str, float], where: str) -> dict[str, float]:
        """The numbers that a joint type has beside its axes: all of them, and no others."""
        names = JOINT_TYPES[kind].constants
        if set(given) != set(names):
            needs = f"needs {', '.join(names)}" if names else "has no numbers of its own"
            raise ModelError(f"{self.where}: {where} is {kind}, which {needs}; given: {', '.join(given) or 'none'}.")
        values = {name: self.finite(float(given[name]), f"{name} of {where}") for name in names}
        problem = JOINT_TYPES[kind].constants_problem(**values)
        if problem:
            raise ModelError(f"{self.where}: {where}: {problem}")
        return values

    def direction(self, value: ArrayLike, what: str) -> Array:
        """A vector made unit length."""
        x = self.vector(value, 3, what)
        length = float(np.linalg.norm(x))
        if length < 1e-9:
            raise ModelError(f"{self.where}: {what} has length zero; give a direction such as 0 0 1.")
        # Unit vectors as printed in files stay exactly as they are.
        return x if abs(length - 1.0) < 1e-15 else x / length
