# SPDX-License-Identifier: Apache-2.0
"""Linear equations of the parameters in the states of a motion, and reference states that excite all parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.algorithms.regressor import INERTIAL, OF_JOINT
from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import closed_configuration
from ada_dynamics.constraints.coordinates import ACTUATED, INDEPENDENT, TREE, Coordinates
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError, ModelError, invalid, unknown_name
from ada_dynamics.identification.samples import MotionSamples
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import WORLD

_TOGETHER = 512  # states for which regressors of the whole tree are held in memory
_REFERENCE_POSES = 40
_AT_REST = 1e-2  # fraction of the speed of the fastest joint
_ACCELERATION_RATIO = 3.0  # [1/s], accelerations by speeds if nothing moves
_SLOW = 0.03  # fraction of the largest speed of a joint, below which the sign of its friction is uncertain
_NEARBY = 0.1  # [rad, lengths], displacement of a mechanism with loops from a known configuration


@dataclass(frozen=True)
class RegressionEquations:
    """Equations Tᵀ τ = Tᵀ Y π of a robot, with the tangent map T of the loop constraints.

    Attributes:
        dynamics: dynamics of the robot.
        free: indices of the free parameters; the others have their values of the model.
    """

    dynamics: Dynamics
    free: NDArray[np.intp]

    @cached_property
    def coordinates(self) -> Coordinates:
        """Coordinates of the tangent map: actuated if they determine the motion, else independent joints."""
        if not self.dynamics.model.loops:
            return TREE
        try:
            self.dynamics.constraints.indices(ACTUATED)
        except InputError:
            return INDEPENDENT
        return ACTUATED

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """Name of the joint for the effort of each row."""
        model = self.dynamics.model
        names = [name for name in model.joint_names for _ in range(model.joints[name].nv)]
        return tuple(names[k] for k in self.velocity_indices)

    @property
    def velocity_indices(self) -> tuple[int, ...]:
        """Index in v of each row."""
        return (
            tuple(range(self.dynamics.model.nv))
            if self.coordinates == TREE
            else self.dynamics.constraints.indices(self.coordinates)
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        every = list(self.dynamics.parameters)
        return tuple(every[k] for k in self.free)

    def of(self, samples: MotionSamples) -> tuple[Array, Array]:
        """Columns of the free parameters (N, m, F), and the right-hand side (N, m)."""
        values = np.array(list(self.dynamics.parameters.values()))
        values[self.free] = 0.0
        columns, rhs = [], []
        for i in range(0, len(samples.t), _TOGETHER):
            part = MotionSamples(*(x[i : i + _TOGETHER] for x in samples))
            Y = self.dynamics.regressor(part.q, part.v, part.a, coordinates=self.coordinates)
            columns.append(Y[..., self.free])
            rhs.append(self.efforts(part) - Y @ values)
        return np.concatenate(columns), np.concatenate(rhs)

    def efforts(self, samples: MotionSamples) -> Array:
        """Projected efforts Tᵀ τ, (N, m)."""
        if self.coordinates == TREE:
            return samples.tau
        T = self.dynamics.constraints.tangent_map(samples.q, self.coordinates)
        return np.asarray((T.swapaxes(-1, -2) @ samples.tau[..., None])[..., 0])

    def certain(self, samples: MotionSamples) -> Array:
        """1 for rows in which the signs of friction are certain, else 0, (N, m)."""
        model = self.dynamics.model
        names = set(self.names)
        with_friction = [
            name for name in model.joint_names if f"{name}.friction" in names or model.joints[name].friction
        ]
        is_slow = np.zeros((len(samples.t), model.nv), dtype=bool)
        for name in with_friction:
            for k in range(*model.v_index(name).indices(model.nv)):
                is_slow[:, k] = _near_rest(samples.t, samples.v[:, k], samples.reach)
        if self.coordinates != TREE:
            is_slow = np.repeat(np.any(is_slow, axis=1, keepdims=True), len(self.rows), axis=1)
        return np.where(is_slow, 0.0, 1.0)

    def reference(self, known: MotionSamples) -> MotionSamples:
        """Random states that excite every identifiable parameter, with speeds as in the known states.

        Args:
            known: states of the robot; configurations of a mechanism with loops are generated near them.
        """
        model, rng, count = self.dynamics.model, np.random.default_rng(0), _REFERENCE_POSES
        poses = np.array([self._configuration(known.q[i % len(known.q)], rng) for i in range(count)])
        chosen = list(self.velocity_indices)
        v, a = (
            _amplitudes(own[:, chosen], default) * rng.uniform(-1.0, 1.0, (count, len(chosen)))
            for own, default in ((known.v, 1.0), (known.a, _ACCELERATION_RATIO))
        )
        if model.loops:
            v = self.dynamics.constraints.complete_velocity(poses, v, coordinates=self.coordinates)
            a = self.dynamics.constraints.complete_acceleration(poses, v, a, coordinates=self.coordinates)
        return MotionSamples(np.arange(float(count)), poses, v, a, np.zeros_like(v), np.zeros(count))

    def _configuration(self, near: Array, rng: np.random.Generator) -> Array:
        model = self.dynamics.model
        if not model.loops:
            return model.random_state(rng)[0]
        for _ in range(20):
            step = _NEARBY * rng.normal(size=model.nv) * self.dynamics.constraints.coordinates.units
            try:
                return np.asarray(closed_configuration(model, model.integrate(near, step)))
            except ModelError:  # the loops do not close
                continue
        return near


def _amplitudes(own: Array, default: float) -> Array:
    """Largest absolute value of each column; that of all columns for joints at rest."""
    largest = np.max(np.abs(own), axis=0)
    whole = float(np.max(largest, initial=0.0)) or default
    return np.where(largest > _AT_REST * whole, largest, whole)


def _near_rest(t: Array, v: Array, reach: Array) -> NDArray[np.bool_]:
    """True for rows in which a joint is slow or reverses within the window."""
    reversals = np.flatnonzero(v[1:] * v[:-1] < 0.0)
    times = np.concatenate([[-np.inf], 0.5 * (t[reversals] + t[reversals + 1]), [np.inf]])
    after = np.searchsorted(times, t)
    nearest = np.minimum(times[after] - t, t - times[after - 1])
    return np.asarray((np.abs(v) < _SLOW * np.max(np.abs(v))) | (nearest < reach))


def free_parameters(dynamics: Dynamics, wanted: str | Sequence[str] | None) -> NDArray[np.intp]:
    """Indices of the free parameters; see `identify`.

    Raises:
        UnknownNameError: a pattern matches no parameter.
        InputError: no parameter is selected.
    """
    names = list(dynamics.parameters)
    floating = dynamics.model.floating_joint  # it has no rotor and no friction
    available = [name for name in names if name.rpartition(".")[0] != floating]
    if wanted is None:
        chosen = {name for name in available if _is_default(dynamics, name)}
    else:
        patterns = [wanted] if isinstance(wanted, str) else list(wanted)
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in available):
                raise _unknown_parameter(dynamics, pattern, available)
        chosen = {name for name in available if any(fnmatchcase(name, pattern) for pattern in patterns)}
    if not chosen:
        raise invalid("parameters", wanted, "names of parameters, with * and ?, such as 'link_7.*', or None")
    return np.array([k for k, name in enumerate(names) if name in chosen], dtype=np.intp)


def _unknown_parameter(dynamics: Dynamics, pattern: str, available: Sequence[str]) -> InputError:
    """Error for a name without parameters: of a link on a fixed joint, or an unknown one."""
    model = dynamics.model
    link, _, kind = pattern.rpartition(".")
    body = model.tree.frames[link].body if link in model.links else WORLD
    owner = link if body == WORLD else model.joints[model.tree.bodies[body].name].child
    if owner == link:
        return unknown_name("parameter", pattern, available)
    text = f"link {link!r} is fixed to link {owner!r}, whose parameters include it: use {owner}.{kind}."
    return InputError(text, link=link, field="parameters", value=pattern, allowed=f"{owner}.{kind}")


def _is_default(dynamics: Dynamics, name: str) -> bool:
    owner, _, kind = name.rpartition(".")
    if dynamics.parameters[name]:
        return True
    if kind in INERTIAL:
        return dynamics.parameters[f"{owner}.mass"] > 0.0
    return kind in OF_JOINT and owner in dynamics.model.actuated


def shared_parameters(model: Model) -> set[str]:
    """Parameters that neighbouring bodies share, as a revolute joint is invariant to shifts along its axis."""
    found = set()
    for name in model.joint_names:
        joint = model.joints[name]
        k = int(np.argmax(np.abs(joint.axis)))
        across = "xyz"[(k + 2) % 3]
        found |= {f"{joint.child}.m{'xyz'[k]}", f"{joint.child}.I{across}{across}"}
    return found
