# SPDX-License-Identifier: Apache-2.0
"""Wrenches on links over time: impacts (half-sine, rectangle), tables, constants.

A profile is cut into pieces at its `breaks`; inside a piece it is w(t) = c0 + c1 (t - t0) + c2 sin(ω (t - t0)), which
an integrator that steps from break to break follows without a jump in the middle of a step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.applied_wrench import AppliedWrench, profile_wrench
from ada_dynamics.arrays import Array
from ada_dynamics.errors import InputError, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.spatial.vector import Vec3

Six = tuple[float, ...]
Axes: TypeAlias = Literal["link", "world"]
FRAMES: tuple[Axes, ...] = get_args(Axes)
NOTHING: Six = (0.0,) * 6


@dataclass(frozen=True)
class Piece:
    """w(t) = c0 + c1 (t - t0) + c2 sin(ω (t - t0)) from t0 on, [fx, fy, fz, nx, ny, nz]."""

    t0: float  # [s]
    c0: Six = NOTHING
    c1: Six = NOTHING
    c2: Six = NOTHING
    omega: float = 0.0  # [rad/s]

    @property
    def parameters(self) -> tuple[float, ...]:
        """As `applied_wrench.profile_wrench` takes them."""
        return (self.t0, self.omega, *self.c0, *self.c1, *self.c2)


@dataclass(frozen=True)
class WrenchProfile:
    """A wrench on a link over time; made by `half_sine`, `rectangle`, `table` and `constant`.

    Attributes:
        link: it acts on.
        wrench: [fx, fy, fz, nx, ny, nz]: peak, or constant value.
        start: [s].
        duration: [s].
        shape: half_sine, rectangle, table or constant.
        frame: of its axes, "link" or "world".
        point: of the link at which it acts, in the link's frame [m].
        pieces: one from each break on; the last one is zero where the profile ends.
        before: the piece that holds before the first break.
    """

    link: str
    wrench: Six
    start: float
    duration: float
    shape: str
    frame: str = "link"
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    pieces: tuple[Piece, ...] = field(default=(), repr=False)
    before: Piece = field(default=Piece(0.0), repr=False)

    def breaks(self) -> tuple[float, ...]:
        """Times at which a piece begins, in rising order [s]."""
        return tuple(p.t0 for p in self.pieces)

    def piece(self, t: float) -> Piece:
        """The piece that holds at t, and from a break on the one that begins there."""
        i = bisect_right(self.breaks(), t) - 1
        return self.pieces[i] if i >= 0 else self.before

    def at(self, t: float) -> Array:
        """The wrench at a time, (6,)."""
        return np.array(profile_wrench(self.piece(t).parameters, float(t)), dtype=np.float64)

    def resolve(self, model: Model, tree: Tree | None = None) -> AppliedWrench:
        """Where it acts, as `algorithms.applied_wrench` takes it.

        Args:
            model: of the link.
            tree: of that model, in whose bodies' axes it is wanted; `model.tree` by default.

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
    """An impact: half a sine wave with `wrench` at its top.

    Args:
        link: it acts on.
        wrench: [fx, fy, fz, nx, ny, nz].
        start: [s].
        duration: [s].
        frame: of the wrench's axes, "link" or "world".
        at: point of the link, in its frame [m].

    Raises:
        InputError: a value is unusable.
    """
    w, t0, span = _six(link, wrench), _time(link, "start", start), _span(link, duration)
    pieces = (Piece(t0, c2=w, omega=float(np.pi) / span), Piece(t0 + span))
    return WrenchProfile(link, w, t0, span, "half_sine", _frame(link, frame), _point(link, at), pieces)


def rectangle(
    link: str,
    wrench: ArrayLike,
    start: float,
    duration: float,
    *,
    frame: str = "link",
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> WrenchProfile:
    """A constant wrench from start to start + duration; arguments and errors as of `half_sine`."""
    w, t0, span = _six(link, wrench), _time(link, "start", start), _span(link, duration)
    pieces = (Piece(t0, c0=w), Piece(t0 + span))
    return WrenchProfile(link, w, t0, span, "rectangle", _frame(link, frame), _point(link, at), pieces)


def constant(
    link: str, wrench: ArrayLike, *, frame: str = "link", at: Sequence[float] = (0.0, 0.0, 0.0)
) -> WrenchProfile:
    """A wrench that always acts; arguments and errors as of `half_sine`."""
    w = _six(link, wrench)
    always = Piece(0.0, c0=w)
    span = float("inf")
    return WrenchProfile(link, w, -span, span, "constant", _frame(link, frame), _point(link, at), before=always)


def table(
    link: str,
    times: ArrayLike,
    wrenches: ArrayLike,
    *,
    frame: str = "link",
    at: Sequence[float] = (0.0, 0.0, 0.0),
) -> WrenchProfile:
    """Straight lines between given values; zero before the first time and from the last one on.

    Args:
        link: it acts on.
        times: rising [s], two or more.
        wrenches: (N, 6).
        frame: of the wrench's axes, "link" or "world".
        at: point of the link, in its frame [m].

    Raises:
        InputError: a value is unusable.
    """
    t, w = _floats(times), _floats(wrenches)
    where = f"wrench profile of link {link!r}"
    if t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all() or not (np.diff(t) > 0.0).all():
        raise InputError(f"{where}: times is {times!r:.200}; it must be two or more finite numbers that rise.")
    if w.shape != (len(t), 6) or not np.isfinite(w).all():
        raise InputError(f"{where}: wrenches has shape {w.shape}; it must be ({len(t)}, 6), finite, as times has it.")
    slopes = np.diff(w, axis=0) / np.diff(t)[:, None]
    pieces = [
        Piece(float(a), tuple(c.tolist()), tuple(s.tolist())) for a, c, s in zip(t[:-1], w[:-1], slopes, strict=True)
    ]
    peak = tuple(w[int(np.argmax(np.abs(w).max(axis=1)))].tolist())
    last = (*pieces, Piece(float(t[-1])))
    span = float(t[-1] - t[0])
    return WrenchProfile(link, peak, float(t[0]), span, "table", _frame(link, frame), _point(link, at), last)


# --- checks -----------------------------------------------------------------------------------------------------------
def _floats(value: object) -> Array:
    try:
        return np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full(1, np.nan)


def _six(link: str, wrench: ArrayLike) -> Six:
    w = _floats(wrench)
    if w.shape != (6,) or not np.isfinite(w).all():
        raise InputError(
            f"wrench profile of link {link!r}: wrench is {wrench!r:.200}; it must be 6 finite numbers, "
            "[fx, fy, fz, nx, ny, nz]."
        )
    return tuple(w.tolist())


def _time(link: str, name: str, value: float) -> float:
    t = _floats(value)
    if t.shape != () or not np.isfinite(t):
        raise InputError(f"wrench profile of link {link!r}: {name} is {value!r}; it must be a finite time in seconds.")
    return float(t)


def _span(link: str, duration: float) -> float:
    span = _time(link, "duration", duration)
    if span <= 0.0:
        raise InputError(f"wrench profile of link {link!r}: duration is {duration!r}; it must be positive.")
    return span


def _frame(link: str, frame: str) -> str:
    if frame not in FRAMES:
        raise InputError(f"wrench profile of link {link!r}: {unknown_name('frame of axes', frame, FRAMES)}")
    return frame


def _point(link: str, at: Sequence[float]) -> tuple[float, float, float]:
    x = _floats(at)
    if x.shape != (3,) or not np.isfinite(x).all():
        raise InputError(f"wrench profile of link {link!r}: at is {at!r:.200}; it must be 3 finite numbers [m].")
    return (float(x[0]), float(x[1]), float(x[2]))
