# SPDX-License-Identifier: Apache-2.0
"""External wrenches on links over time: impacts (half-sine, rectangle), tables, constants.

A profile is a sequence of pieces. Within a piece the wrench is w(t) = c0 + c1 (t - t0) + c2 sin(ω (t - t0)); the
integrator steps from one break to the next, so that no step contains a discontinuity.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.applied_wrench import AppliedWrench, profile_wrench
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, invalid, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation.options import finite_array, is_positive
from ada_dynamics.spatial.vector import Vec3

Six = tuple[float, ...]
Axes: TypeAlias = Literal["link", "world"]
FRAMES: tuple[Axes, ...] = get_args(Axes)
NOTHING: Six = (0.0,) * 6
_WHERE = "wrench profile of link {!r}: "


@dataclass(frozen=True)
class Piece:
    """w(t) = c0 + c1 (t - t0) + c2 sin(ω (t - t0)) for t ≥ t0, [fx, fy, fz, nx, ny, nz]."""

    t0: float  # [s]
    c0: Six = NOTHING
    c1: Six = NOTHING
    c2: Six = NOTHING
    omega: float = 0.0  # [rad/s]

    @property
    def parameters(self) -> tuple[float, ...]:
        """Parameters of `applied_wrench.profile_wrench`."""
        return (self.t0, self.omega, *self.c0, *self.c1, *self.c2)


@dataclass(frozen=True)
class WrenchProfile:
    """Wrench on a link over time, created by `half_sine`, `rectangle`, `table` or `constant`.

    Attributes:
        link: name of the link.
        frame: axes of the wrench, "link" or "world".
        point: point of application in the link frame [m].
        pieces: pieces that start at the breaks; the last one is zero if the profile ends.
        before: piece before the first break.

    Raises:
        InputError: a frame or point is invalid.
    """

    link: str
    frame: str
    point: Sequence[float]
    pieces: tuple[Piece, ...] = ()
    before: Piece = Piece(0.0)

    def __post_init__(self) -> None:
        """Check frame and point."""
        if self.frame not in FRAMES:
            raise _invalid(self.link, "frame", self.frame, f"one of {', '.join(FRAMES)}", allowed=FRAMES)
        object.__setattr__(self, "point", tuple(_finite(self.link, "at", self.point, 3).tolist()))

    @property
    def start(self) -> float:
        """Time from which the wrench acts [s]."""
        return self.pieces[0].t0 if self.pieces else -np.inf

    def breaks(self) -> tuple[float, ...]:
        """Times at which pieces start, ascending [s]."""
        return tuple(p.t0 for p in self.pieces)

    def piece(self, t: float) -> Piece:
        """Return the piece at time t; at a break the one that starts there."""
        i = bisect_right(self.breaks(), t) - 1
        return self.pieces[i] if i >= 0 else self.before

    def at(self, t: float) -> Array:
        """Return the wrench at a time, (6,)."""
        return np.array(profile_wrench(self.piece(t).parameters, float(t)), dtype=np.float64)

    def resolve(self, model: Model, tree: Tree | None = None) -> AppliedWrench:
        """Return the point of application for `algorithms.applied_wrench`.

        Args:
            model: model that contains the link.
            tree: tree in whose body axes the result is expressed; `model.tree` by default.

        Raises:
            InputError: the link is unknown.
        """
        tree = tree or model.tree
        if self.link not in model.links:
            raise unknown_name("link", self.link, model.links)
        frame = tree.frames[self.link]
        axes, point = frame.pose.rotation.matrix(), frame.pose.point(Vec3(*self.point))
        return AppliedWrench(frame.body, axes, point, self.frame == "world")


def half_sine(
    link: str,
    wrench: ArrayLike,
    start: float,
    duration: float,
    *,
    frame: str = "link",
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> WrenchProfile:
    """Return an impact: half a sine wave with the peak `wrench`.

    Args:
        link: name of the link.
        wrench: [fx, fy, fz, nx, ny, nz].
        start: start time [s].
        duration: duration [s].
        frame: axes of the wrench, "link" or "world".
        at: point of application in the link frame [m].

    Raises:
        InputError: an argument is invalid.
    """
    w, (t0, span) = _wrench(link, wrench), _span(link, start, duration)
    return WrenchProfile(link, frame, at, (Piece(t0, c2=w, omega=float(np.pi) / span), Piece(t0 + span)))


def rectangle(
    link: str,
    wrench: ArrayLike,
    start: float,
    duration: float,
    *,
    frame: str = "link",
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> WrenchProfile:
    """Return a constant wrench from start to start + duration; arguments and errors as for `half_sine`."""
    w, (t0, span) = _wrench(link, wrench), _span(link, start, duration)
    return WrenchProfile(link, frame, at, (Piece(t0, c0=w), Piece(t0 + span)))


def constant(
    link: str, wrench: ArrayLike, *, frame: str = "link", at: Sequence[float] = (0.0, 0.0, 0.0)
) -> WrenchProfile:
    """Return a constant wrench; arguments and errors as for `half_sine`."""
    return WrenchProfile(link, frame, at, before=Piece(0.0, c0=_wrench(link, wrench)))


def table(
    link: str,
    times: ArrayLike,
    wrenches: ArrayLike,
    *,
    frame: str = "link",
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> WrenchProfile:
    """Return a piecewise linear wrench; zero before the first time and from the last time on.

    Args:
        link: name of the link.
        times: two or more ascending times [s].
        wrenches: wrenches at these times, (N, 6).
        frame: axes of the wrench, "link" or "world".
        at: point of application in the link frame [m].

    Raises:
        InputError: an argument is invalid.
    """
    t = _finite(link, "times", times, "N")
    if len(t) < 2 or not (np.diff(t) > 0.0).all():
        raise _invalid(link, "times", times, "two or more ascending numbers")
    w = _finite(link, "wrenches", wrenches, len(t), 6)
    slopes = np.diff(w, axis=0) / np.diff(t)[:, None]
    starts = zip(t[:-1].tolist(), w[:-1].tolist(), slopes.tolist(), strict=True)
    pieces = [Piece(a, tuple(c), tuple(slope)) for a, c, slope in starts]
    return WrenchProfile(link, frame, at, (*pieces, Piece(float(t[-1]))))


# --- checks -----------------------------------------------------------------------------------------------------------
def _invalid(link: str, field: str, value: object, requirement: str, **facts: Any) -> InputError:
    return invalid(field, value, requirement, _WHERE.format(link), link=link, **facts)


def _finite(link: str, field: str, value: object, *shape: int | str) -> Array:
    return finite_array(field, value, shape, where=_WHERE.format(link), link=link)


def _wrench(link: str, wrench: ArrayLike) -> Six:
    return tuple(_finite(link, "wrench", wrench, 6).tolist())


def _span(link: str, start: float, duration: float) -> tuple[float, float]:
    """Return start and duration [s]."""
    t0 = _finite(link, "start", start)
    if not is_positive(duration):
        raise _invalid(link, "duration", duration, "positive, in seconds")
    return float(t0), float(duration)
