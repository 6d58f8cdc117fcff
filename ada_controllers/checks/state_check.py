# SPDX-License-Identifier: Apache-2.0
"""Checks of measured states: shapes, finite numbers, time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ada_controllers.errors import StateRefused
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities import position_guards
from ada_dynamics.expr import Traced
from ada_dynamics.jit.compiled import Vector, compiled
from ada_dynamics.model.model import Model

LATEST = math.inf  # upper bound of times [s]
# Maximum plausible magnitudes: norms of position, velocity and wrench vectors, and single values of references. Larger
# values mean wrong units, a faulty sensor or a diverging simulation.
MOST_POSITION, MOST_VELOCITY, MOST_ACCELERATION = 1e6, 1e4, 1e6  # [rad, m], [rad/s, m/s], [rad/s^2, m/s^2]
MOST_WRENCH = 1e5  # [N, N m]


class StateCheck:
    """Refuses implausible states of a robot.

    Attributes:
        numbers: raises StateRefused for implausible positions and velocities.
    """

    def __init__(self, law: str, model: Model) -> None:
        """Args: name of the controller for messages; robot model."""
        self._law, self._model = law, model
        self.numbers: Callable[[Array, Array], Any] = compiled(
            "state", {"q": model.nq, "v": model.nv}, self._rules, self._look
        )

    def _rules(self, q: Vector, v: Vector) -> Traced:
        lengths = [sum((x * x for x in values[1:]), values[0] * values[0]) for values in (q, v)]
        most = (MOST_POSITION, MOST_VELOCITY)
        guards = [bound * bound - length for bound, length in zip(most, lengths, strict=True)]
        return Traced({"lengths": lengths}, [*guards, *position_guards(self._model.tree, q)])

    def _look(self, q: Any, v: Any) -> None:
        """Repeat the check value by value, for the message."""
        model = self._model
        for what, values, count in (("positions", q, model.nq), ("velocities", v, model.nv)):
            if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.shape != (count,):
                raise StateRefused(
                    f"{self._law}: the {what} of the state are {_kind(values)}; robot {model.name!r} has {count}, as a "
                    "float64 vector.",
                    field=what,
                    value=values,
                    allowed=(count,),
                )
        for what, values, where, most in (
            ("position", q, model.q_index, MOST_POSITION),
            ("velocity", v, model.v_index, MOST_VELOCITY),
        ):
            for name in model.joint_names:
                part = values[where(name)]
                if not np.isfinite(part).all():
                    raise StateRefused(
                        f"{self._law}: the {what} of joint {name!r} is {part.tolist()}; it must be finite. The last "
                        "command remains in force.",
                        joint=name,
                        field=what,
                        value=part,
                        allowed="finite numbers",
                    )
            size = math.hypot(*values.tolist())
            if not size <= most:
                raise StateRefused(
                    f"{self._law}: the norm {size:.3g} of the {what} vector is too large for a robot; it must be in "
                    f"SI units, below {most:g}.",
                    field=what,
                    value=size,
                    allowed=most,
                )
        problems = model.position_problems(q) if model.has_manifold_coordinates else []
        if problems:
            raise StateRefused(f"{self._law}: {'; '.join(problems)}.", field="q", value=q)

    def wrench(self, wrench: Any) -> None:
        """Refuse an invalid measured wrench."""
        is_plain = isinstance(wrench, np.ndarray) and wrench.dtype == np.float64 and wrench.shape == (6,)
        if not is_plain or not math.hypot(*wrench.tolist()) <= MOST_WRENCH:
            shown = wrench.tolist() if isinstance(wrench, np.ndarray) else wrench
            raise StateRefused(
                f"{self._law}: the measured wrench is {shown!r:.80}; it must be six finite numbers [fx, fy, fz, nx, "
                f"ny, nz] [N, N m], below {MOST_WRENCH:g}.",
                field="wrench",
                value=wrench,
                allowed="six finite numbers",
            )

    def wrong_time(self, time: float, last: float) -> StateRefused:
        """Return the error for an invalid time, to be raised by the caller."""
        if math.isfinite(time) and math.isnan(last):
            return StateRefused(
                f"{self._law}: call reset(state, time) before the first update.",
                field="time",
                value=time,
                allowed="reset first",
            )
        if math.isfinite(time):
            return StateRefused(
                f"{self._law}: the time is {time!r} s, before the last one, {last!r} s. After a clock was set back, "
                "call reset(state, time).",
                field="time",
                value=time,
                allowed=f"at least {last!r}",
            )
        return StateRefused(
            f"{self._law}: the time is {time!r} s; it must be finite.",
            field="time",
            value=time,
            allowed="a finite number",
        )


def _kind(values: Any) -> str:
    if isinstance(values, np.ndarray):
        return f"an array of {values.dtype} and shape {values.shape}"
    return f"{values!r:.80}"
