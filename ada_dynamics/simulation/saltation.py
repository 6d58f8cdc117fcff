# SPDX-License-Identifier: Apache-2.0
"""How an event changes with the motion that leads to it, and how the motion after it does: the saltation matrix.

An event happens where g(t, q, v) = 0. A change d of the state at a fixed time, such as step derivatives give, moves its
time by -gᵀd / ġ, and the state at it by Q d with Q = 1 - f gᵀ / ġ, where f = [v; a] is the rate of the state. Where a
reset R makes another state of it, which moves on with f⁺, the change after it is S d at a fixed time (Aizerman and
Gantmacher 1958):

    S = R' Q + f⁺ gᵀ / ġ
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics.quantities.base import substitute
from ada_dynamics.errors import EventError
from ada_dynamics.expr import Function, directional, gradient, trace
from ada_dynamics.simulation.events import Event
from ada_dynamics.simulation.linearization import StateTangents
from ada_dynamics.spatial.vector import Scalar

Vector = Sequence[Scalar]
Reset = Callable[[Vector, Vector], tuple[Vector, Vector]]  # q and v after an event, of those before it
Rate = Callable[[Array], Array]  # ẋ of a state

GRAZING = 1e-9  # of the event's rate, had all that it depends on gone the same way


class Saltation(NamedTuple):
    """At an event: the state after it, and what becomes of changes d = [d_q; d_v] of the state at a fixed time."""

    q: Array
    v: Array
    time: Array  # (2 nv,): change of its time is time · d [s]
    at_event: Array  # Q, (2 nv, 2 nv): of the state at the event
    S: Array  # (2 nv, 2 nv): of the state after it, at a fixed time


def saltation(
    event: Event, t: float, x: Array, nq: int, rate: Rate, tangents: StateTangents, reset: Reset | None = None
) -> Saltation:
    """See above.

    Args:
        event: that happens in the state x.
        t: its time [s].
        x: [q; v].
        nq: positions in it.
        rate: ẋ of a state.
        tangents: of the states.
        reset: what the event makes of the state; by default nothing.

    Raises:
        EventError: the event cannot be differentiated, or is touched rather than crossed.
    """
    E, own_rate = tangents.basis(x[None])[0], rate(x)
    by_t, by_x = _slopes(event, t, x, nq)
    parts = np.array([by_t, *(by_x * own_rate)])
    speed = float(parts.sum())
    if abs(speed) <= GRAZING * float(np.abs(parts).sum()):
        raise EventError(
            f"event {event.name!r} is touched at t = {t:g} s, not crossed: its function stands still there (its rate "
            f"is {speed:.3g}), and with a small change it happens at quite another time, or not at all. It has no "
            "derivatives."
        )
    g = by_x @ E
    at_event = np.eye(len(g)) - np.outer(tangents.inverse(x[None])[0] @ own_rate, g) / speed
    if reset is None:  # the motion goes on as it was
        return Saltation(x[:nq], x[nq:], -g / speed, at_event, np.eye(len(g)))
    after, slopes = _through(event, reset, x, nq, E)
    back = tangents.inverse(after[None])[0]
    S = back @ slopes @ at_event + np.outer(back @ rate(after), g) / speed
    return Saltation(after[:nq], after[nq:], -g / speed, at_event, S)


def _slopes(event: Event, t: float, x: Array, nq: int) -> tuple[float, Array]:
    """Slopes of the event's function by t, and by the numbers of x."""

    def body(t: Vector, x: Vector) -> dict[str, Any]:
        value = event.function(t[0], x[:nq], x[nq:])  # type: ignore[arg-type]
        return {"slopes": gradient(value, [*t, *x])}

    by_t, *by_x = _evaluated(event, _traced(event, {"t": 1, "x": len(x)}, body), t=[t], x=x.tolist())["slopes"]
    return float(by_t), np.array(by_x, dtype=np.float64)


def _through(event: Event, reset: Reset, x: Array, nq: int, E: Array) -> tuple[Array, Array]:
    """The state after a reset, and its changes with each direction of the state before it."""
    count = E.shape[1]

    def body(x: Vector, d: Vector) -> dict[str, Any]:
        after = [*(value for part in reset(x[:nq], x[nq:]) for value in part)]
        return {"after": after, "changes": directional(after, dict(zip(x, d, strict=True)))}

    function = _traced(event, {"x": len(x), "d": len(x)}, body)
    found = [_evaluated(event, function, x=x.tolist(), d=E[:, j].tolist()) for j in range(count)]
    after = np.array(found[0]["after"], dtype=np.float64)
    if after.shape != x.shape:
        raise EventError(f"event {event.name!r}: reset gives {len(after)} numbers; it must give q and v, {len(x)}.")
    return after, np.array([one["changes"] for one in found], dtype=np.float64).T


def _traced(event: Event, inputs: dict[str, int], body: Callable[..., dict[str, Any]]) -> Function:
    try:
        return trace("event", inputs, body)
    except Exception as problem:
        raise EventError(
            f"event {event.name!r} cannot be differentiated: its function and its reset must be made of t, q and v by "
            f"+ - * / and functions of ada_dynamics.expr alone ({type(problem).__name__}: {problem})."
        ) from problem


def _evaluated(event: Event, function: Function, **given: Sequence[float]) -> dict[str, list[Scalar]]:
    try:
        return substitute(function, given)
    except ArithmeticError as problem:
        raise EventError(f"event {event.name!r} has no derivatives in this state: {problem}.") from problem
