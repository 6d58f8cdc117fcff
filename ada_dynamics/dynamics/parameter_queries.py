# SPDX-License-Identifier: Apache-2.0
"""Parameters of a model, and derivatives of accelerations, poses and closed configurations by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms import regressor as algorithm
from ada_dynamics.algorithms.kkt import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints import singular
from ada_dynamics.constraints.coordinates import INDEPENDENT, TREE, Coordinates
from ada_dynamics.dynamics import closed_derivatives
from ada_dynamics.dynamics.arguments import common_batch
from ada_dynamics.dynamics.computation import QueryGroup
from ada_dynamics.dynamics.derivative_quantities import residual_derivatives
from ada_dynamics.dynamics.derivatives import ForwardInverseDerivatives, carried_links
from ada_dynamics.errors import InputError, NameDict, unknown_name
from ada_dynamics.model.edit.adjustable import adjustable, geometry


class ParameterQueries(QueryGroup, Mapping[str, float]):
    """Parameters of a model, and derivatives by them, as `dynamics.parameters`.

    A mapping of the parameters that efforts depend on linearly, in the order of the columns of `Dynamics.regressor`.
    For each moving body "link.mass", "link.mx" to "link.mz" (mass times centre of mass) and "link.Ixx" to "link.Izz"
    (about the origin and in the axes of the link that the joint carries, with all links fixed to it); for its joint
    "joint.damping", "joint.friction", "joint.armature" and "joint.stiffness".
    """

    _dynamics: ForwardInverseDerivatives

    @cached_property
    def _values(self) -> Mapping[str, float]:
        tree = self._dynamics.model.tree
        return NameDict("parameter", algorithm.parameters(tree, carried_links(self._dynamics.model)).items())

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def geometry(self) -> Mapping[str, float]:
        """Lengths [m] and small rotations of the frames of joints and loops, by name; rotations are zero.

        "joint.x" to "joint.z": position of a joint in its parent link; "joint.rx" to "joint.rz": rotation about
        the axes of the parent link. "loop.parent_x" to "loop.child_rz": the same for both frames of a loop joint.
        """
        return NameDict("length or turn", geometry(self._dynamics.model).items())

    def derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        parameters: Sequence[str] | None = None,
        coordinates: Coordinates = TREE,
    ) -> Array:
        """Derivatives of the accelerations by parameters, (nv, P).

        For parameters of the efforts ∂a/∂π = -∂a/∂τ Y. Derivatives by lengths and rotations are at constant q, v and τ:
        the loops open as the lengths change.

        Args:
            q: positions.
            v: velocities.
            tau: efforts.
            parameters: names from this mapping and from `geometry`; all of this mapping by default.
            coordinates: "independent", "actuated" or names of joints: their positions and velocities are constant,
                and the others follow so that loops stay closed; the result has their accelerations, (m, P).

        Raises:
            InputError: a parameter is unknown, or the loops cannot close with another value.
        """
        names = list(self if parameters is None else parameters)
        for name in names:
            if name not in self and name not in self.geometry:
                raise unknown_name("parameter, length or turn", name, [*self, *self.geometry])
        lengths = [name for name in names if name in self.geometry]
        a, du = self._dynamics.forward(q, v, tau), self._dynamics.forward_derivatives(q, v, tau).du
        columns = dict.fromkeys(names)
        if len(lengths) < len(names):
            places = {name: k for k, name in enumerate(self)}
            of_efforts = -du @ self._dynamics.regressor(q, v, a)
            columns |= {name: of_efforts[..., places[name]] for name in names if name in places}
        if lengths:
            of_lengths = self._by_lengths(lengths, q, v, tau, coordinates)
            columns |= {name: of_lengths[..., k] for k, name in enumerate(lengths)}
        found = np.stack([np.asarray(columns[name]) for name in names], axis=-1)
        return found if coordinates == TREE else found[..., list(self._dynamics.constraints.indices(coordinates)), :]

    def closure_derivatives(
        self, q: ArrayLike, parameters: Sequence[str], coordinates: Coordinates = INDEPENDENT
    ) -> Array:
        """Derivatives of the closed configuration by lengths and rotations, as velocities, (nv, P).

        The positions of `coordinates` are constant. Without loops the result is zero.

        Raises:
            InputError: a length or rotation is unknown, or the loops cannot close with another value.
        """
        adjusted = self._adjusted(parameters)
        return self._of_states(lambda at: adjusted.closing(at, coordinates), q)

    def pose_derivatives(
        self, link: str, q: ArrayLike, parameters: Sequence[str], coordinates: Coordinates = TREE
    ) -> Array:
        """Derivatives of a link's pose by lengths and rotations, (6, P): [linear; angular] in world axes.

        Args:
            link: its name.
            q: positions.
            parameters: names from `geometry`.
            coordinates: "tree": all positions are constant, without the loops; "independent", "actuated" (for
                calibration) or names of joints: these are constant, and the others follow so that loops stay closed.
        """
        self._dynamics._require_link(link)
        adjusted = self._adjusted(parameters)
        return self._of_states(lambda at: adjusted.pose(link, at, coordinates), q)

    def _by_lengths(
        self, names: Sequence[str], q: ArrayLike, v: ArrayLike, tau: ArrayLike, coordinates: Coordinates
    ) -> Array:
        adjusted = self._adjusted(names)
        arrays = self._dynamics._arguments({"q": q, "v": v, "tau": tau})

        def of_state(q: Array, v: Array, tau: Array) -> Array:
            found = self._dynamics.forward_derivatives(q, v, tau)
            held = adjusted.accelerations(q, v, tau, self._dynamics.forward(q, v, tau), found.du)
            if coordinates == TREE:
                return held
            d_q, d_v = adjusted.state(q, v, coordinates)
            return np.asarray(held + found.dq @ d_q + found.dv @ d_v)

        return self._of_states(of_state, *arrays.values())

    def _adjusted(self, names: Sequence[str]) -> Adjusted:
        key = tuple(names)
        if key not in self._mechanisms:
            self._mechanisms[key] = Adjusted(self._dynamics, key)
        return self._mechanisms[key]

    @cached_property
    def _mechanisms(self) -> dict[tuple[str, ...], Adjusted]:
        return {}

    def _of_states(self, of_state: Callable[..., Array], *values: ArrayLike) -> Array:
        """Evaluate state by state."""
        inputs, is_batch = common_batch(self._dynamics._arguments(dict(zip(("q", "v", "tau"), values, strict=False))))
        if not is_batch:
            return of_state(*map(np.ascontiguousarray, inputs))
        return np.array([of_state(*map(np.ascontiguousarray, state)) for state in zip(*inputs, strict=True)])


class Adjusted:
    """A mechanism with a joint at zero for each of some lengths and rotations (`model.edit.adjustable`).

    It has one residual r(q, s, v, a, λ); the derivative by the positions s of these joints is that by the lengths.
    """

    def __init__(self, dynamics: ForwardInverseDerivatives, names: Sequence[str]) -> None:
        """Args: dynamics of the mechanism; names of lengths and turns."""
        self.names, self.model = tuple(names), adjustable(dynamics.model, names)
        q0 = dynamics._options["q0"]
        own = dynamics.model.joint_names
        self.own = np.concatenate([np.arange(self.model.nv)[self.model.v_index(name)] for name in own])
        self.added = np.array([self.model.v_index(name).start for name in names], dtype=int)
        self._positions = np.concatenate([np.arange(self.model.nq)[self.model.q_index(name)] for name in own])
        self._choices = dynamics.constraints.coordinates
        self.dynamics = type(dynamics)(self.model, q0=None if q0 is None else self.at(np.asarray(q0, dtype=np.float64)))
        self._refuse_what_loops_hold(dynamics)

    def _refuse_what_loops_hold(self, dynamics: ForwardInverseDerivatives) -> None:
        own = self.dynamics.constraints.coordinates
        missing = dynamics.constraints.coordinates.mobility + len(self.names) - own.mobility
        if missing:
            motions = own.samples[0]
            held = [name for name, k in zip(self.names, self.added, strict=True) if np.allclose(motions[k], 0.0)]
            shown = f" ({', '.join(held)})" if held else ""
            raise InputError(
                f"loops of model {self.model.name!r} determine {missing} of the parameters {', '.join(self.names)}: "
                f"if they change alone, the loops cannot be closed{shown}. Name parameters for which the loops "
                "stay closed.",
                field="parameters",
                value=tuple(held),
                allowed=len(self.names) - missing,
            )

    def at(self, q: Array) -> Array:
        """Positions of all joints, those of lengths and turns at zero."""
        full = self.model.neutral()
        full[self._positions] = q
        return full

    def velocities(self, v: Array) -> Array:
        """Velocities, accelerations or efforts of all joints."""
        full = np.zeros(self.model.nv)
        full[self.own] = v
        return full

    def by(self, coordinates: Coordinates) -> list[str]:
        """Names of the selected coordinates, then of the lengths and rotations."""
        return [*(self._choices.label(k) for k in self._choices.indices(coordinates)), *self.names]

    def accelerations(self, q: Array, v: Array, tau: Array, a: Array, du: Array) -> Array:
        """Derivatives of the accelerations at constant q, v and τ, (nv, P).

        Args:
            q: positions.
            v: velocities.
            tau: efforts.
            a: accelerations.
            du: derivatives of the accelerations by the efforts.
        """
        full, speed, own, n = self.at(q), self.velocities(v), self.own, self.model.nv
        kernels, closed = self.dynamics._kernels, self.dynamics._kernels.closed
        if closed is None:
            make = partial(residual_derivatives, self.model.tree, Plan({}, ()))
            by_q, _ = kernels.get("residual derivatives", make).single(full, speed, self.velocities(a))
            return np.asarray(-du @ by_q[np.ix_(own, self.added)])
        whole = closed.system(full, speed, self.velocities(tau))
        system = singular.System(whole.M[np.ix_(own, own)], whole.r[own], whole.J[:, own], whole.rate)

        def rates() -> singular.Rates:
            found = closed.rates(full, speed)
            return singular.Rates(found.J[:, own], found.rate_by_q, found.rate_by_v[:, own])

        a, multipliers = closed_derivatives.regular(closed, system, v, rates)
        by_q, _ = closed_derivatives.residual(closed).single(full, speed, self.velocities(a), multipliers)
        rows = [*own, *range(n, n + len(system.J))]
        return closed_derivatives.accelerated(closed, system, by_q[np.ix_(rows, self.added)])

    def state(self, q: Array, v: Array, coordinates: Coordinates) -> tuple[Array, Array]:
        """Derivatives of q and v on the constraint manifold at constant selected coordinates, (nv, P) each."""
        if not self.model.loops:
            return np.zeros((len(self.own), len(self.added))), np.zeros((len(self.own), len(self.added)))
        n, chosen = self.model.nv, self.by(coordinates)
        of_all = self.dynamics.constraints.state_map(self.at(q), self.velocities(v), chosen)
        count = of_all.shape[1] // 2
        columns = slice(count - len(self.added), count)
        return of_all[self.own, columns], of_all[n + self.own, columns]

    def closing(self, q: Array, coordinates: Coordinates) -> Array:
        """Derivative of q on the constraint manifold at constant selected coordinates, (nv, P)."""
        if not self.model.loops:
            return np.zeros((len(self.own), len(self.added)))
        T = self.dynamics.constraints.tangent_map(self.at(q), self.by(coordinates))
        return np.asarray(T[self.own][:, -len(self.added) :])

    def pose(self, link: str, q: Array, coordinates: Coordinates) -> Array:
        """Derivative of the pose of a link, (6, P)."""
        if coordinates == TREE or not self.model.loops:
            return np.asarray(self.dynamics.jacobian(link, self.at(q))[:, self.added])
        J = self.dynamics.jacobian(link, self.at(q), coordinates=self.by(coordinates))
        return np.asarray(J[:, -len(self.added) :])
