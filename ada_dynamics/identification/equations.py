# SPDX-License-Identifier: Apache-2.0
"""Rows that parameters must satisfy in the states of a motion, and states that show all that a robot could show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.identification.smoothing import Samples
from ada_dynamics.loops.assemble import assemble
from ada_dynamics.loops.choices import ACTUATED, INDEPENDENT, TREE, By

_TOGETHER = 512  # states whose regressors of the whole tree are kept at the same time
_REFERENCE_POSES = 40
_SHARE_OF_LIMIT = 0.3  # of a joint's greatest speed, in the reference states
_PER_SECOND = 3.0  # so many times these speeds are the accelerations there
_NEARBY = 0.3  # [rad, lengths] a mechanism with loops is moved from a known pose


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
    def by(self) -> By:
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
        chosen = range(model.nv) if self.by == TREE else self.dynamics.velocity_indices(self.by)
        return tuple(names[k] for k in chosen)

    def of(self, samples: Samples) -> tuple[Array, Array]:
        """Columns of the free parameters (N, m, F), and what they must give (N, m)."""
        values = np.array(list(self.dynamics.parameters.values()))
        values[self.free] = 0.0
        columns, wanted = [], []
        for i in range(0, len(samples.t), _TOGETHER):
            part = Samples(*(x[i : i + _TOGETHER] for x in samples))
            Y = self.dynamics.regressor(part.q, part.v, part.a, by=self.by)
            columns.append(Y[..., self.free])
            wanted.append(self.efforts(part) - Y @ values)
        return np.concatenate(columns), np.concatenate(wanted)

    def efforts(self, samples: Samples) -> Array:
        """Tᵀ τ, (N, m)."""
        if self.by == TREE:
            return samples.tau
        T = self.dynamics.velocity_map(samples.q, self.by)
        return np.asarray((T.swapaxes(-1, -2) @ samples.tau[..., None])[..., 0])

    def reference(self, known: Array) -> Samples:
        """States in all poses and motions of the robot: what no effort of theirs shows, none ever will.

        Args:
            known: poses of the robot, (N, nq); with loops, others are found from there.
        """
        model, rng = self.dynamics.model, np.random.default_rng(0)
        poses = np.array([self._pose(known[i % len(known)], rng) for i in range(_REFERENCE_POSES)])
        speeds = np.where(np.isfinite(model.velocity_limit), _SHARE_OF_LIMIT * model.velocity_limit, 1.0)
        v, a = (scale * speeds * rng.uniform(-1.0, 1.0, (len(poses), model.nv)) for scale in (1.0, _PER_SECOND))
        if model.loops:
            chosen = list(self.dynamics.velocity_indices(self.by))
            v = self.dynamics.complete_velocity(poses, v[:, chosen], by=self.by)
            a = self.dynamics.complete_acceleration(poses, v, a[:, chosen], by=self.by)
        return Samples(np.arange(float(len(poses))), poses, v, a, np.zeros_like(v))

    def _pose(self, near: Array, rng: np.random.Generator) -> Array:
        model = self.dynamics.model
        if not model.loops:
            return model.random_state(rng)[0]
        for _ in range(20):
            step = _NEARBY * rng.normal(size=model.nv) * self.dynamics.choices.units
            try:
                return np.asarray(assemble(model, model.integrate(near, step)))
            except ModelError:  # its loops do not close from there
                continue
        return near
