# SPDX-License-Identifier: Apache-2.0
"""Derivatives by lengths and frames of a mechanism: by the positions of joints that stay at zero.

The same mechanism with a joint for each length (`model.edit.adjustable`) has one residual r(q, s, v, a, λ). Its
derivative by s, where these joints rest, is that by the lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ada_dynamics.algorithms.elimination import Plan
from ada_dynamics.arrays import Array
from ada_dynamics.constraints import singular
from ada_dynamics.constraints.coordinates import TREE, Coordinates
from ada_dynamics.dynamics import closed_derivatives, quantities
from ada_dynamics.errors import InputError
from ada_dynamics.model.edit.adjustable import adjustable

if TYPE_CHECKING:
    from ada_dynamics.dynamics.derivatives import ForwardInverseDerivatives


class Adjusted:
    """A mechanism with a joint for each of some lengths and turns, which stand at zero."""

    def __init__(self, dynamics: ForwardInverseDerivatives, names: Sequence[str]) -> None:
        """Args: dynamics of the mechanism; names of lengths and turns."""
        self.names, self.model = tuple(names), adjustable(dynamics.model, names)
        q0 = dynamics._options["q0"]
        own = dynamics.model.joint_names
        self.own = np.array([k for name in own for k in _range(self.model.v_index(name))], dtype=int)
        self.added = np.array([self.model.v_index(name).start for name in names], dtype=int)
        self._positions = np.array([k for name in own for k in _range(self.model.q_index(name))], dtype=int)
        self._choices = dynamics.constraints.coordinates
        self.dynamics = type(dynamics)(self.model, q0=None if q0 is None else self.at(np.asarray(q0, dtype=np.float64)))
        self._refuse_what_loops_hold(dynamics)

    def _refuse_what_loops_hold(self, dynamics: ForwardInverseDerivatives) -> None:
        missing = (
            dynamics.constraints.coordinates.mobility + len(self.names) - self.dynamics.constraints.coordinates.mobility
        )
        if missing:
            motions = self.dynamics.constraints.coordinates.samples[0]
            held = [name for name, k in zip(self.names, self.added, strict=True) if np.allclose(motions[k], 0.0)]
            raise InputError(
                f"loops of model {self.model.name!r} determine {missing} of the parameters {', '.join(self.names)}: "
                f"if they change alone, the loops cannot be closed{_among(held)}. Name parameters for which the loops "
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
        """The coordinates meant by `coordinates`, and the lengths and turns."""
        return [*(self._choices.label(k) for k in self._choices.indices(coordinates)), *self.names]

    def accelerations(self, q: Array, v: Array, tau: Array, a: Array, du: Array) -> Array:
        """Derivatives of the accelerations while q, v and τ stay, (nv, P).

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
            by_q, _ = kernels.get("residual derivatives", self._residual).single(full, speed, self.velocities(a))
            return np.asarray(-du @ by_q[np.ix_(own, self.added)])
        whole = closed.system(full, speed, self.velocities(tau))
        system = singular.System(whole.M[np.ix_(own, own)], whole.r[own], whole.J[:, own], whole.rate)
        a, multipliers = closed_derivatives.regular(closed, system, v, lambda: self._rates(closed.rates(full, speed)))
        by_q, _ = closed_derivatives.residual(closed).single(full, speed, self.velocities(a), multipliers)
        rows = [*own, *range(n, n + len(system.J))]
        return closed_derivatives.accelerated(closed, system, by_q[np.ix_(rows, self.added)])

    def state(self, q: Array, v: Array, coordinates: Coordinates) -> tuple[Array, Array]:
        """Changes of q and of v with which loops stay closed, (nv, P) each, while those meant by `coordinates` stay."""
        if not self.model.loops:
            return np.zeros((len(self.own), len(self.added))), np.zeros((len(self.own), len(self.added)))
        n, chosen = self.model.nv, self.by(coordinates)
        of_all = self.dynamics.constraints.state_map(self.at(q), self.velocities(v), chosen)
        count = of_all.shape[1] // 2
        columns = slice(count - len(self.added), count)
        return of_all[self.own, columns], of_all[n + self.own, columns]

    def closing(self, q: Array, coordinates: Coordinates) -> Array:
        """The first of these."""
        if not self.model.loops:
            return np.zeros((len(self.own), len(self.added)))
        T = self.dynamics.constraints.tangent_map(self.at(q), self.by(coordinates))
        return np.asarray(T[self.own][:, -len(self.added) :])

    def pose(self, link: str, q: Array, coordinates: Coordinates) -> Array:
        """Changes of a link's pose, (6, P)."""
        J = self.dynamics.jacobian(link, self.at(q))
        if coordinates == TREE or not self.model.loops:
            return np.asarray(J[:, self.added])
        T = self.dynamics.constraints.tangent_map(self.at(q), self.by(coordinates))
        return np.asarray((J @ T)[:, -len(self.added) :])

    def _rates(self, rates: singular.Rates) -> singular.Rates:
        return singular.Rates(rates.J[:, self.own], rates.rate_by_q, rates.rate_by_v[:, self.own])

    def _residual(self) -> quantities.Quantity:
        return quantities.residual_derivatives(self.model.tree, Plan({}, ()))


def _range(part: slice) -> range:
    return range(part.start, part.stop)


def _among(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
