# SPDX-License-Identifier: Apache-2.0
"""A motion as the analysis and the plots need it: states over time, of a `Log` or any object like it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.errors import InputError
from ada_dynamics.model.model import Model


class Motion(Protocol):
    """States of a model over time, one row each."""

    @property
    def model(self) -> Model:
        """The model that moves."""

    @property
    def t(self) -> Array:
        """Times, (N,) [s]."""

    @property
    def q(self) -> Array:
        """Positions, (N, nq)."""

    @property
    def v(self) -> Array:
        """Velocities, (N, nv)."""


def dynamics_of(motion: Motion) -> Dynamics:
    """The motion's own `Dynamics` where it carries one, else one made for its model, in its way of assembly."""
    own = getattr(motion, "dynamics", None)
    if isinstance(own, Dynamics):
        return own
    start = tuple(float(x) for x in motion.q[0]) if motion.model.loops and len(motion.q) else None
    return _made(motion.model, start)


@lru_cache(maxsize=8)
def _made(model: Model, start: tuple[float, ...] | None) -> Dynamics:
    return Dynamics(model) if start is None else Dynamics(model, q0=np.array(start))


def rows_of(motion: Any, name: str, what: str) -> Array:
    """One of the motion's arrays that not every motion has, such as its accelerations.

    Args:
        motion: the motion.
        name: attribute: "a" or "tau".
        what: the same in words, for the message.

    Raises:
        InputError: the motion has none.
    """
    rows = getattr(motion, name, None)
    if rows is None:
        raise InputError(
            f"this motion of {motion.model.name!r} has no {what} (attribute {name!r}); a Log of a simulation has them.",
            field=name,
            value=motion.model.name,
        )
    return np.asarray(rows, dtype=np.float64)


def energy_of(motion: Motion) -> tuple[Array, Array]:
    """Kinetic and potential energy, (N,) each [J]; the motion's own where it has worked them out."""
    own = getattr(motion, "energy", None)
    if own is None:
        own = dynamics_of(motion).energy(motion.q, motion.v)
    kinetic, potential = own
    return np.asarray(kinetic, dtype=np.float64), np.asarray(potential, dtype=np.float64)
