# SPDX-License-Identifier: Apache-2.0
"""External wrenches on links over time: impacts (half-sine, rectangle) and constants.

Between two breaks the wrench is w(t) = c0 + c1 sin(ω (t - t0)); the integrator steps from one break to the next, so
that no step contains a discontinuity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.algorithms.applied_wrench import PARAMETERS, AppliedWrench, profile_wrench
from ada_dynamics.arrays import Array
from ada_dynamics.errors import invalid, unknown_name
from ada_dynamics.model.model import Model
from ada_dynamics.model.tree import Tree
from ada_dynamics.simulation.options import finite_array, is_positive
from ada_dynamics.spatial.vector import Vec3

Axes: TypeAlias = Literal["link", "world"]
FRAMES: tuple[Axes, ...] = get_args(Axes)


@dataclass(frozen=True)
class WrenchProfile:
    """Wrench on a link over time, created by `half_sine`, `rectangle` or `constant`.

    Attributes:
        link: name of the link.
        wrench: [fx, fy, fz, nx, ny, nz], the peak of a half-sine.
        start: time from which the wrench acts [s].
        duration: duration [s]; infinite for a constant wrench.
        is_half_sine: whether the wrench is half a sine wave over time; it is constant otherwise.
        frame: axes of the wrench, "link" or "world".
        point: point of application in the link frame [m].

    Raises:
        InputError: a value is invalid.
    """

    link: str
    wrench: Sequence[float]
    start: float = -np.inf
    duration: float = np.inf
    is_half_sine: bool = False
    frame: str = "link"
    point: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Check the values."""
        facts: dict[str, Any] = {"where": f"wrench profile of link {self.link!r}: ", "link": self.link}
        if self.frame not in FRAMES:
            raise invalid("frame", self.frame, f"one of {', '.join(FRAMES)}", allowed=FRAMES, **facts)
        for field, name, count in (("wrench", "wrench", 6), ("point", "at", 3)):
            values = finite_array(name, getattr(self, field), (count,), **facts)
            object.__setattr__(self, field, tuple(values.tolist()))
        if self.breaks():
            object.__setattr__(self, "start", float(finite_array("start", self.start, (), **facts)))
            if not is_positive(self.duration):
                raise invalid("duration", self.duration, "positive, in seconds", **facts)

    @property
    def end(self) -> float:
        """Time at which the wrench ends [s]."""
        return self.start + self.duration

    def breaks(self) -> tuple[float, ...]:
        """Times at which the wrench starts and ends [s]."""
        return () if self.start == -np.inf else (self.start, self.end)

    def parameters(self, t: float) -> tuple[float, ...]:
        """Return the parameters of `applied_wrench.profile_wrench` at a time; at a break those from there on."""
        zero = (0.0,) * 6
        if not self.breaks():
            return (0.0, 0.0, *self.wrench, *zero)
        if not self.start <= t < self.end:
            return (0.0,) * PARAMETERS
        if self.is_half_sine:
            return (self.start, float(np.pi) / self.duration, *zero, *self.wrench)
        return (self.start, 0.0, *self.wrench, *zero)

    def at(self, t: float) -> Array:
        """Return the wrench at a time, (6,)."""
        return np.array(profile_wrench(self.parameters(t), float(t)), dtype=np.float64)

    def resolve(self, model: Model, tree: Tree | None = None) -> AppliedWrench:
        """Return the point of application for `algorithms.applied_wrench`.

        Args:
            model: model that contains the link.
            tree: tree in whose body axes the result is expressed; `model.tree` by default.

        Raises:
            InputError: the link is unknown.
        """
        if self.link not in model.links:
            raise unknown_name("link", self.link, model.links)
        frame = (tree or model.tree).frames[self.link]
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
    return WrenchProfile(link, wrench, start, duration, True, frame, at)  # type: ignore[arg-type]


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
    return WrenchProfile(link, wrench, start, duration, False, frame, at)  # type: ignore[arg-type]


def constant(
    link: str, wrench: ArrayLike, *, frame: str = "link", at: Sequence[float] = (0.0, 0.0, 0.0)
) -> WrenchProfile:
    """Return a constant wrench; arguments and errors as for `half_sine`."""
    return WrenchProfile(link, wrench, frame=frame, point=at)  # type: ignore[arg-type]
