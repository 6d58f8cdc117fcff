# SPDX-License-Identifier: Apache-2.0
"""Rows that parameters must satisfy in the states of a motion, and states that show all that a robot could show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import close_loops
from ada_dynamics.constraints.coordinates import ACTUATED, INDEPENDENT, TREE, Coordinates
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.identification.smoothing import Samples

_TOGETHER = 512  # states whose regressors of the whole tree are kept at the same time
_REFERENCE_POSES = 40
_STANDS = 1e-2  # of the fastest joint's speed
_PER_SECOND = 3.0  # accelerations by speeds where nothing moves
_SLOW = 0.03  # of a joint's greatest speed: below, the sign of its friction is uncertain
_NEARBY = 0.1  # [rad, lengths] a mechanism with loops is moved from a known pose


@dataclass(frozen=True)
class Equations:
    """Tᵀ τ = Tᵀ Y π of one robot, with T the velocities of all joints by those that determine the motion.

    Attributes:
        dynamics: of the robot.
        free: places of the parameters that are asked for; the others have their values of the model.
    """

    dynamics: Dynamics
    free: NDArray[np.intp]

    @cached_property
    def by(self) -> Coordinates:
        """How loops are projected out: by the motors where these determine the motion, else by independent joints."""
        if not self.dynamics.model.loops:
            return TREE
        try:
            self.dynamics.velocity_indices(ACTUATED)
        except InputError:
            return INDEPENDENT
        return ACTUATED

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The joint whose effort each row is."""
        model = self.dynamics.model
        names = [name for name in model.joint_names for _ in range(model.joints[name].nv)]
        return tuple(names[k] for k in self.places)

    @property
    def places(self) -> tuple[int, ...]:
        """Where the velocities are in v that the rows belong to."""
        return tuple(range(self.dynamics.model.nv)) if self.by == TREE else self.dynamics.velocity_indices(self.by)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the free parameters."""
        every = list(self.dynamics.parameters)
        return tuple(every[k] for k in self.free)

    def of(self, samples: Samples) -> tuple[Array, Array]:
        """Columns of the free parameters (N, m, F), and what they must give (N, m)."""
        values = np.array(list(self.dynamics.parameters.values()))
        values[self.free] = 0.0
        columns, wanted = [], []
        for i in range(0, len(samples.t), _TOGETHER):
            part = Samples(*(x[i : i + _TOGETHER] for x in samples))
            Y = self.dynamics.regressor(part.q, part.v, part.a, coordinates=self.by)
            columns.append(Y[..., self.free])
            wanted.append(self.efforts(part) - Y @ values)
        return np.concatenate(columns), np.concatenate(wanted)

    def efforts(self, samples: Samples) -> Array:
        """Tᵀ τ, (N, m)."""
        if self.by == TREE:
            return samples.tau
        T = self.dynamics.tangent_map(samples.q, self.by)
        return np.asarray((T.swapaxes(-1, -2) @ samples.tau[..., None])[..., 0])

    def certain(self, samples: Samples) -> Array:
        """1 for rows whose friction has a clear sign, 0 for others; (N, m)."""
        model = self.dynamics.model
        names = set(self.names)
        rubs = [name for name in model.joint_names if f"{name}.friction" in names or model.joints[name].friction]
        is_slow = np.zeros((len(samples.t), model.nv), dtype=bool)
        for name in rubs:
            for k in range(*model.v_index(name).indices(model.nv)):
                is_slow[:, k] = _near_rest(samples.t, samples.v[:, k], samples.reach)
        if self.by != TREE:
            is_slow = np.repeat(np.any(is_slow, axis=1, keepdims=True), len(self.rows), axis=1)
        return np.where(is_slow, 0.0, 1.0)

    def reference(self, known: Samples) -> Samples:
        """States in many poses and motions of the robot: what no effort of theirs shows, none ever will.

        They are as fast as those that are known, in all directions at once.

        Args:
            known: states of the robot; with loops, other poses are found from there.
        """
        model, rng, count = self.dynamics.model, np.random.default_rng(0), _REFERENCE_POSES
        poses = np.array([self._pose(known.q[i % len(known.q)], rng) for i in range(count)])
        chosen = list(self.places)
        v, a = (
            _of_size(own[:, chosen], usual) * rng.uniform(-1.0, 1.0, (count, len(chosen)))
            for own, usual in ((known.v, 1.0), (known.a, _PER_SECOND))
        )
        if model.loops:
            v = self.dynamics.complete_velocity(poses, v, coordinates=self.by)
            a = self.dynamics.complete_acceleration(poses, v, a, coordinates=self.by)
        return Samples(np.arange(float(count)), poses, v, a, np.zeros_like(v), np.zeros(count))

    def _pose(self, near: Array, rng: np.random.Generator) -> Array:
        model = self.dynamics.model
        if not model.loops:
            return model.random_state(rng)[0]
        for _ in range(20):
            step = _NEARBY * rng.normal(size=model.nv) * self.dynamics.choices.units
            try:
                return np.asarray(close_loops(model, model.integrate(near, step)))
            except ModelError:  # its loops do not close from there
                continue
        return near


def _of_size(own: Array, usual: float) -> Array:
    """The largest values of each column; those of joints that stand are as large as the others'."""
    largest = np.max(np.abs(own), axis=0)
    whole = float(np.max(largest, initial=0.0)) or usual
    return np.where(largest > _STANDS * whole, largest, whole)


def _near_rest(t: Array, v: Array, reach: Array) -> NDArray[np.bool_]:
    """True for rows of a joint that is slow, or turns back within reach."""
    turns = np.flatnonzero(v[1:] * v[:-1] < 0.0)
    back = np.concatenate([[-np.inf], 0.5 * (t[turns] + t[turns + 1]), [np.inf]])
    after = np.searchsorted(back, t)
    nearest = np.minimum(back[after] - t, t - back[after - 1])
    return np.asarray((np.abs(v) < _SLOW * np.max(np.abs(v))) | (nearest < reach))
