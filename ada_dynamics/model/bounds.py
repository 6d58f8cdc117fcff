# SPDX-License-Identifier: Apache-2.0
"""Position limits of joints and the quantities that they limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ada_dynamics import expr
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.joints import Spherical
from ada_dynamics.model.joints.base import NO_LIMIT
from ada_dynamics.model.turns import TurnAngle, WholeTurn
from ada_dynamics.spatial.vector import Scalar


class Bound(NamedTuple):
    """Lower and upper limit of one quantity of a joint; None: unlimited."""

    lower: float | None  # [rad] or [m]
    upper: float | None
    angle: TurnAngle | WholeTurn | None = None  # of a spherical joint; None: the joint's one position

    @property
    def ends(self) -> tuple[float, float]:
        """Both limits; infinite where unlimited."""
        return -math.inf if self.lower is None else self.lower, math.inf if self.upper is None else self.upper

    def __str__(self) -> str:
        lower, upper = self.ends
        if self.angle is None:
            return f"[{lower:g}, {upper:g}]"
        if isinstance(self.angle, WholeTurn):
            return f"total rotation up to {upper:g}"
        return f"turn {self.angle.number + 1}: [{lower:g}, {upper:g}]"

    def value(self, q: Sequence[Scalar]) -> Scalar:
        """The quantity at the position of the joint."""
        return q[0] if self.angle is None else self.angle.value(q)

    def excess(self, q: Sequence[Scalar]) -> Scalar:
        """Excess of the quantity over a limit; at most zero within the limits."""
        at = self.value(q)
        below = -math.inf if self.lower is None else self.lower - at
        return expr.maximum(below, -math.inf if self.upper is None else at - self.upper)

    def directions(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Derivative with respect to each velocity of the joint."""
        return (1.0,) if self.angle is None else tuple(self.angle.direction(q))


def bounds_of(joint: Joint) -> tuple[Bound, ...]:
    """Limits of a joint: of its position, or of the angles of a spherical joint."""
    limits = joint.limits
    if joint.type.has_limits():
        return _finite(Bound(_end(limits.lower), _end(limits.upper)))
    if joint.kind != Spherical.kind:
        return ()
    found = _finite(Bound(None, _end(limits.upper), WholeTurn()))
    if joint.turns is None:
        return found
    ends = zip(joint.turns.lower, joint.turns.upper, joint.turns.angles, strict=True)
    return (*found, *_finite(*(Bound(_end(lower), _end(upper), angle) for lower, upper, angle in ends)))


def position_limits(joint: Joint) -> tuple[float, float]:
    """Limits of a joint with one position; infinite for other joints."""
    return next((bound.ends for bound in bounds_of(joint) if bound.angle is None), (-math.inf, math.inf))


def _end(limit: float) -> float | None:
    return float(limit) if abs(limit) < NO_LIMIT else None


def _finite(*bounds: Bound) -> tuple[Bound, ...]:
    return tuple(bound for bound in bounds if (bound.lower, bound.upper) != (None, None))
