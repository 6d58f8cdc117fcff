# SPDX-License-Identifier: Apache-2.0
"""Interactive configuration changes of a robot, one coordinate at a time, with closed loops.

The selected coordinate moves in small steps. After each step the loops are closed with the independent coordinates
held fixed, so that the mechanism keeps its assembly mode and stops at the end of its range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.constraints.closure import CLOSED, gauss_newton, reversed_loops
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.model import Model
from ada_dynamics.spatial.orientation import to_quaternion, to_rpy
from ada_dynamics.spatial.rotation import from_quaternion, from_rpy

_TURNS = ("roll", "pitch", "yaw")  # coordinates shown for a quaternion
_STEP = 0.1  # [rad], or fraction of the characteristic length
_HALVINGS = 8  # bisections of the last step to find the end of the range
_TRIES = 10  # Newton iterations; 3 or 4 suffice after a small step, more near a dead centre
_JUMP = 8.0  # a joint that moves farther than this multiple of the step has changed the assembly mode
_RANK = 1e-6
_NO_LIMIT = 1.0  # [m] slider range of an unlimited prismatic joint, in both directions


class PoseCoordinate(NamedTuple):
    """One coordinate of one joint."""

    joint: str
    place: int  # index within the coordinates of the joint
    label: str
    is_angle: bool
    lower: float  # [rad] or [m]
    upper: float
    leads: bool  # independent coordinate, set by the user


class Posing:
    """Configuration, and the coordinates that change it."""

    def __init__(self, model: Model, q: Array | None = None) -> None:
        """Close the loops from q, by default from the configuration of the robot file.

        Raises:
            ModelError: the loops cannot be closed.
        """
        self.model = model
        self.q = np.array(closed_configuration(model, q))
        self._numbers = ConstraintSet(model) if model.loops else None
        if self._numbers is not None:
            self._numbers.trace()
        self._tolerance = CLOSED * (1.0 if self._numbers is None else max(1.0, self._numbers.length))
        self._leading = self._independent()
        self.coordinates = [coordinate for name in model.joint_names for coordinate in self._coordinates_of(name)]

    def value(self, coordinate: PoseCoordinate) -> float:
        """Value of a coordinate [rad, m]."""
        values = _values(self.model.joints[coordinate.joint], self.q[self.model.q_index(coordinate.joint)])
        return values[coordinate.place]

    def move(self, coordinate: PoseCoordinate, value: float) -> bool:
        """Move a coordinate to a value, or as close as the loops permit.

        Returns:
            True if the value was reached.
        """
        start = self.value(coordinate)
        if self._numbers is None:
            self.q = self._with(self.q, coordinate, value)
            return True
        steps = max(1, int(np.ceil(abs(value - start) / self._step_of(coordinate))))
        reached = start
        for target in np.linspace(start, value, steps + 1)[1:].tolist():
            if not self._try(coordinate, target):
                self._approach(coordinate, reached, target)
                return False
            reached = target
        return True

    def _approach(self, coordinate: PoseCoordinate, reached: float, out_of_reach: float) -> None:
        for _ in range(_HALVINGS):
            middle = 0.5 * (reached + out_of_reach)
            if self._try(coordinate, middle):
                reached = middle
            else:
                out_of_reach = middle

    def _try(self, coordinate: PoseCoordinate, value: float) -> bool:
        """Take one small step; if the loops do not close, keep the configuration and return False."""
        assert self._numbers is not None
        held = self._leading | {self._velocity(coordinate)} if coordinate.leads else {self._velocity(coordinate)}
        free = np.array([k for k in range(self.model.nv) if k not in held], dtype=np.intp)
        found = gauss_newton(self._numbers, self._with(self.q, coordinate, value), free, _TRIES, polish=0)
        jumped = float(np.max(np.abs(self.model.difference(self.q, found.q)), initial=0.0))
        if (
            found.error > self._tolerance
            or jumped > _JUMP * self._step_of(coordinate)
            or reversed_loops(self.model.tree, found.q)
        ):
            return False
        self.q = found.q
        return True

    def _step_of(self, coordinate: PoseCoordinate) -> float:
        return _STEP if coordinate.is_angle or self._numbers is None else _STEP * self._numbers.length

    def _velocity(self, coordinate: PoseCoordinate) -> int:
        return int(self.model.v_index(coordinate.joint).start) + coordinate.place

    def _with(self, q: Array, coordinate: PoseCoordinate, value: float) -> Array:
        """Configuration with one coordinate changed."""
        own, joint = self.model.q_index(coordinate.joint), self.model.joints[coordinate.joint]
        values = _values(joint, q[own])
        values[coordinate.place] = value
        changed = q.copy()
        changed[own] = _positions(joint, values)
        return changed

    def _coordinates_of(self, joint: str) -> list[PoseCoordinate]:
        own, first = self.model.q_index(joint), self.model.v_index(joint).start
        kind = self.model.joints[joint].type
        quaternion = kind.quaternion_at()
        lowest, highest = self.model.lower[own], self.model.upper[own]
        names = [(c.label, c.unit == "rad") for c in kind.coordinates[:quaternion]]
        names += [] if quaternion is None else [(turn, True) for turn in _TURNS]
        coordinates = []
        for i, (name, is_angle) in enumerate(names):
            bound = np.pi if is_angle else _NO_LIMIT
            # a quaternion has four unlimited numbers but three sliders
            lower, upper = float(lowest[i]), float(highest[i])
            if quaternion is not None and name == "pitch":
                bound = 0.5 * np.pi
            leads = self._numbers is None or first + i in self._leading
            low, high = (lower if np.isfinite(lower) else -bound), (upper if np.isfinite(upper) else bound)
            coordinates.append(
                PoseCoordinate(joint, i, f"{joint} {name}".strip(), is_angle, low, max(low, high), leads)
            )
        return coordinates

    def _independent(self) -> set[int]:
        """Independent velocity coordinates at this configuration; actuated joints are preferred."""
        if self._numbers is None:
            return set(range(self.model.nv))
        _, s, Vt = np.linalg.svd(self._numbers.jacobian(self.q) / self._numbers.weights[:, None])
        rank = int(np.sum(s > _RANK * np.max(s, initial=0.0)))
        motions = Vt[rank:].T  # one row per velocity
        chosen: list[int] = []
        for block in self._candidates():
            trial = motions[[*chosen, *block]]
            if np.linalg.matrix_rank(trial, tol=_RANK) == len(trial):
                chosen += block
        return set(chosen)

    def _candidates(self) -> list[Sequence[int]]:
        """Velocity indices in the order of preference, singly or as complete joints.

        Floating joints come after the motors: the platform of a parallel robot is one and follows the motors.
        """
        roots = [n for n in self.model.joint_names if self.model.joints[n].type.leaves_free()]
        motors = [n for n in self.model.actuated if n not in roots]
        rest = [n for n in self.model.joint_names if n not in roots and n not in motors]
        found: list[Sequence[int]] = []
        for name in (*motors, *roots, *rest):
            own = range(self.model.nv)[self.model.v_index(name)]
            is_simple = self.model.joints[name].type.has_rates_of_coordinates()
            found += [[k] for k in own] if is_simple else [list(own)]
        return found


def _values(joint: Joint, q: Array) -> list[float]:
    """Joint position as slider coordinates: a quaternion as roll, pitch, yaw."""
    first = joint.type.quaternion_at()
    if first is None:
        return [float(x) for x in q]
    R = np.array(from_quaternion(*q[first:].tolist()), dtype=np.float64)
    return [*(float(x) for x in q[:first]), *to_rpy(R)]


def _positions(joint: Joint, values: Sequence[float]) -> Array:
    """Joint position from slider coordinates; inverse of `_values`."""
    first = joint.type.quaternion_at()
    if first is None:
        return np.array(values, dtype=np.float64)
    w, x, y, z = to_quaternion(np.array(from_rpy(*values[first:]), dtype=np.float64))
    return np.array([*values[:first], x, y, z, w])
