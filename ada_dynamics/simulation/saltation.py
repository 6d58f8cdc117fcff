# SPDX-License-Identifier: Apache-2.0
"""Saltation matrix: derivative of a trajectory across an event.

An event occurs where g(t, q, v) = 0. A differential d of the state at a fixed time, such as step derivatives return,
changes the time of the event by -gᵀd / ġ, and the state at the event by Q d with Q = 1 - f gᵀ / ġ and the rate f = [v;
a]. After a reset R, with the rate f⁺, the differential at a fixed time is S d (Aizerman and Gantmacher 1958):

    S = R' Q + f⁺ gᵀ / ġ
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities import substitute
from ada_dynamics.errors import EventError
from ada_dynamics.expr import Function, directional, gradient, trace
from ada_dynamics.simulation.events import Event
from ada_dynamics.simulation.linearization import StateTangents
from ada_dynamics.spatial.vector import Scalar

Vector = Sequence[Scalar]
Reset = Callable[[Vector, Vector], tuple[Vector, Vector]]  # from q and v before an event to those after it
Rate = Callable[[Array], Array]  # ẋ of a state

GRAZING = 1e-9  # bound of the rate of a tangential event, relative to the sum of the magnitudes of its terms


class Saltation(NamedTuple):
    """State after an event, and linear maps of differentials d = [d_q; d_v] of the state at a fixed time."""

    q: Array
    v: Array
    time: Array  # (2 nv,): change of its time is time · d [s]
    at_event: Array  # Q, (2 nv, 2 nv): of the state at the event
    S: Array  # (2 nv, 2 nv): of the state after it, at a fixed time


def saltation(
    event: Event, t: float, x: Array, nq: int, rate: Rate, tangents: StateTangents, reset: Reset | None = None
) -> Saltation:
    """Return the state after an event and the saltation matrix.

    Args:
        event: event that occurs in the state x.
        t: time of the event [s].
        x: state [q; v].
        nq: size of q.
        rate: ẋ of a state.
        tangents: tangent spaces of the states.
        reset: function from the state before the event to the state after it; the identity by default.

    Raises:
        EventError: the event is not differentiable, or its zero is not simple.
    """
    E, own_rate = tangents.basis(x[None])[0], rate(x)
    by_t, by_x = _slopes(event, t, x, nq)
    parts = np.array([by_t, *(by_x * own_rate)])
    speed = float(parts.sum())
    if abs(speed) <= GRAZING * float(np.abs(parts).sum()):
        raise EventError(
            f"event {event.name!r} at t = {t:g} s is tangential: the rate of its function is {speed:.3g}, and its time "
            "has no derivative."
        )
    g = by_x @ E
    at_event = np.eye(len(g)) - np.outer(tangents.inverse(x[None])[0] @ own_rate, g) / speed
    if reset is None:
        return Saltation(x[:nq], x[nq:], -g / speed, at_event, np.eye(len(g)))
    after, slopes = _through(event, reset, x, nq, E)
    back = tangents.inverse(after[None])[0]
    S = back @ slopes @ at_event + np.outer(back @ rate(after), g) / speed
    return Saltation(after[:nq], after[nq:], -g / speed, at_event, S)


def _slopes(event: Event, t: float, x: Array, nq: int) -> tuple[float, Array]:
    """Return the derivatives of the event function with respect to t and x."""

    def body(t: Vector, x: Vector) -> dict[str, Any]:
        value = event.function(t[0], x[:nq], x[nq:])  # type: ignore[arg-type]
        return {"slopes": gradient(value, [*t, *x])}

    by_t, *by_x = _evaluated(event, _traced(event, {"t": 1, "x": len(x)}, body), t=[t], x=x.tolist())["slopes"]
    return float(by_t), np.array(by_x, dtype=np.float64)


def _through(event: Event, reset: Reset, x: Array, nq: int, E: Array) -> tuple[Array, Array]:
    """Return the state after a reset and its directional derivatives."""
    count = E.shape[1]

    def body(x: Vector, d: Vector) -> dict[str, Any]:
        after = [*(value for part in reset(x[:nq], x[nq:]) for value in part)]
        return {"after": after, "changes": directional(after, dict(zip(x, d, strict=True)))}

    function = _traced(event, {"x": len(x), "d": len(x)}, body)
    found = [_evaluated(event, function, x=x.tolist(), d=E[:, j].tolist()) for j in range(count)]
    after = np.array(found[0]["after"], dtype=np.float64)
    if after.shape != x.shape:
        raise EventError(f"event {event.name!r}: reset returns {len(after)} numbers; it must return q and v, {len(x)}.")
    return after, np.array([one["changes"] for one in found], dtype=np.float64).T


def _traced(event: Event, inputs: dict[str, int], body: Callable[..., dict[str, Any]]) -> Function:
    try:
        return trace("event", inputs, body)
    except Exception as problem:
        raise EventError(
            f"event {event.name!r} is not differentiable: its function and its reset must use only + - * / and "
            f"functions of ada_dynamics.expr ({type(problem).__name__}: {problem})."
        ) from problem


def _evaluated(event: Event, function: Function, **given: Sequence[float]) -> dict[str, list[Scalar]]:
    try:
        return substitute(function, given)
    except ArithmeticError as problem:
        raise EventError(f"event {event.name!r} has no derivatives in this state: {problem}.") from problem
