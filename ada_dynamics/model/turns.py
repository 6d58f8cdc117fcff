# SPDX-License-Identifier: Apache-2.0
"""Position limits of joints, and three successive rotations of a spherical joint whose angles can be limited.

In axes x, y = a₂, z = a₁ the rotation R = exp(a₁ θ₁) exp(a₂ θ₂) exp(a₃ θ₃), with a₂ perpendicular to both others, is
the z-y-z rotation of Takahashi 2012, table 2.1, by θ₁, θ₂ + β, θ₃. β is the angle from a₁ to a₃ about a₂: 0 for z-y-z,
±90 deg for the six orders of three different axes.

A rotation has two sets of such angles, and infinitely many in gimbal lock, sin(θ₂ + β) = 0. The limits of the second
angle select one set, so they must lie between two locks. The angles are then smooth functions of the rotation, except
for θ₁ and θ₃ half a turn from the middle of their limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics import expr
from ada_dynamics.arrays import Array
from ada_dynamics.model.joints.euler import SphericalEuler
from ada_dynamics.model.rotations import clean_rotation, conjugate, quaternion_product, to_mat3
from ada_dynamics.spatial.orientation import upper_quaternion
from ada_dynamics.spatial.vector import Mat3, Scalar, Vec3

CLEAR = 1e-3  # [rad], smallest distance of the limits of the second angle from gimbal lock
_SQUARE = 1e-9  # largest cosine between perpendicular axes
_TINY = 1e-300  # under the square root, against division by zero
_ZYZ = SphericalEuler()


class TurnAngle(NamedTuple):
    """One of the three angles of a spherical joint, over generic scalars."""

    number: int  # 0, 1, 2
    last_frame: Mat3  # of the z-y-z rotation, in the child frame
    product: tuple[tuple[float, ...], ...]  # maps the quaternion of the joint to that of the z-y-z rotation
    beta: float
    lock: int  # the second angle plus β lies between lock π and (lock + 1) π
    centres: tuple[float, float]  # of the first and third angle, which lie within half a turn of these

    def value(self, q: Sequence[Scalar]) -> Scalar:
        """The angle [rad]."""
        angle = self._angles(q)[self.number]
        return angle - self.beta if self.number == 1 else angle

    def direction(self, q: Sequence[Scalar]) -> Vec3:
        """Gradient: θ̇ = direction · ω in the child frame. Within `CLEAR` of gimbal lock it is that at the boundary."""
        first, second, third = self._angles(q)
        low = self.lock * math.pi
        second = expr.minimum(expr.maximum(second, low + CLEAR), low + math.pi - CLEAR)
        moment = _ZYZ.active((first, second, third))[self.number].moment
        return self.last_frame @ moment

    def _angles(self, q: Sequence[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Angles of the z-y-z rotation."""
        x, y, z, w = (sum((a * b for a, b in zip(row, q, strict=True) if a), 0.0) for row in self.product)
        half = expr.atan2(expr.sqrt(x * x + y * y), expr.sqrt(z * z + w * w))
        is_odd = self.lock % 2 == 1
        second = (self.lock + 1) * math.pi - 2.0 * half if is_odd else self.lock * math.pi + 2.0 * half
        # (w + i z)(y ∓ i x) has the angles θ₁ and θ₃, each relative to the middle of its limits
        flip = math.pi if is_odd else 0.0
        first = _about(z * y - w * x, w * y + z * x, self.centres[0], flip)
        third = _about(z * y + w * x, w * y - z * x, self.centres[1], flip)
        return first, second, third


class WholeTurn(NamedTuple):
    """Total rotation angle of a spherical joint; its limit is a cone."""

    def value(self, q: Sequence[Scalar]) -> Scalar:
        """The angle, from 0 to π [rad]."""
        x, y, z, w = q
        return 2.0 * expr.atan2(expr.sqrt(x * x + y * y + z * z), expr.absolute(w))

    def direction(self, q: Sequence[Scalar]) -> Vec3:
        """Gradient: the rotation axis; zero at the zero position."""
        x, y, z, w = q
        scale = expr.select(w, 0.0, -1.0, 1.0) / expr.sqrt(x * x + y * y + z * z + _TINY)
        return Vec3(scale * x, scale * y, scale * z)


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


@dataclass(frozen=True)
class Turns:
    """Three successive rotations that describe a spherical joint, and limits of their angles.

    Example::

        Turns("zyx", (-1.0, -0.5, -2.0), (1.0, 0.5, 2.0))      # yaw, pitch, roll
        Turns(((0, 0, 1), (1, 0, 0), (0, 1, 0)))               # no limits, only to read angles

    Attributes:
        axes: the three axes at the zero position in the joint frame, from parent to child; or letters.
        lower: lower limits [rad]; -inf: unlimited.
        upper: upper limits [rad].
    """

    axes: ArrayLike | str
    lower: Sequence[float] = (-math.inf,) * 3
    upper: Sequence[float] = (math.inf,) * 3

    def __post_init__(self) -> None:
        """Convert the values to tuples of floats; `problem` checks them."""
        given = ["xyz".find(letter) for letter in self.axes] if isinstance(self.axes, str) else None
        axes = np.eye(4)[given, :3] if given is not None else np.array(self.axes, dtype=np.float64)
        object.__setattr__(self, "axes", tuple(tuple(axis) for axis in axes.tolist()))
        for name in ("lower", "upper"):
            object.__setattr__(self, name, tuple(float(x) for x in getattr(self, name)))

    @property
    def directions(self) -> Array:
        """Unit vectors of the axes, (3, 3), one per row."""
        axes = np.array(self.axes, dtype=np.float64)
        return np.asarray(axes / np.linalg.norm(axes, axis=1)[:, None])

    def problem(self) -> str | None:
        """Problem that makes the angles or their limits undefined; None if there is none."""
        axes = np.array(self.axes, dtype=np.float64)
        if axes.shape != (3, 3) or len(self.lower) != 3 or len(self.upper) != 3:
            return "its turns need three axes, three lower and three upper limits"
        if not np.isfinite(axes).all() or (np.linalg.norm(axes, axis=1) < _SQUARE).any():
            return f"its turns have the axes {axes.tolist()}; they must be directions, or three of the letters x, y, z"
        a, b, c = self.directions
        if max(abs(float(a @ b)), abs(float(b @ c))) > _SQUARE:
            return "the second axis of its turns must be perpendicular to the first and the third"
        for k, (least, most) in enumerate(zip(self.lower, self.upper, strict=True), 1):
            if not least <= most:
                return f"the limits of its turn {k} are [{least:g}, {most:g}]; lower must not be above upper"
        for k in (1, 3):
            least, most = self.lower[k - 1], self.upper[k - 1]
            if math.isinf(least) != math.isinf(most):
                return (
                    f"its turn {k} is limited on one side, which is undefined for a rotation: give both limits or none"
                )
            if math.isfinite(least) and most - least >= 2.0 * math.pi:
                return (
                    f"the limits of its turn {k}, [{least:g}, {most:g}], are a whole turn or more apart, which is "
                    "undefined for a rotation: remove them, or keep the three joints"
                )
        return self._lock_problem()

    def _lock_problem(self) -> str | None:
        if not self.are_limited:
            return None
        ends = np.array([self.lower[1], self.upper[1]]) + self._beta
        below = self._lock * math.pi
        if np.isfinite(ends).all() and below + CLEAR <= ends[0] and ends[1] <= below + math.pi - CLEAR:
            return None
        locks = ", ".join(f"{k * math.pi - self._beta:.4g}" for k in range(-1, 3))
        return (
            f"the limits of its second turn are [{self.lower[1]:g}, {self.upper[1]:g}]; between them the first and the "
            f"third axis coincide (at {locks} rad), where limits are undefined. Keep them at least {CLEAR:g} "
            "rad away from these angles, or keep the three joints"
        )

    @property
    def are_limited(self) -> bool:
        """Return True if any angle is limited."""
        return bool(np.isfinite([*self.lower, *self.upper]).any())

    @cached_property
    def angles(self) -> tuple[TurnAngle, TurnAngle, TurnAngle]:
        """The three angles."""
        own = [0.5 * (a + b) if math.isfinite(a) else 0.0 for a, b in zip(self.lower, self.upper, strict=True)]
        product = tuple(map(tuple, clean_rotation(self._product).tolist()))
        frame = to_mat3(clean_rotation(self._last_frame))
        first, second, third = (
            TurnAngle(i, frame, product, self._beta, self._lock, (own[0], own[2])) for i in range(3)
        )
        return first, second, third

    def read(self, q: ArrayLike) -> Array:
        """Return the three angles [rad] of a joint position, a quaternion (x, y, z, w)."""
        own = np.asarray(q, dtype=np.float64).tolist()
        return np.array([angle.value(own) for angle in self.angles])

    def rates(self, q: ArrayLike, w: ArrayLike) -> Array:
        """Return the rates of the angles for an angular velocity in the child frame [rad/s]."""
        own = np.asarray(q, dtype=np.float64).tolist()
        return np.array([angle.direction(own) for angle in self.angles]) @ np.asarray(w, dtype=np.float64)

    def position(self, angles: ArrayLike) -> Array:
        """Return the joint position, a quaternion (x, y, z, w), for three angles."""
        first, second, third = np.asarray(angles, dtype=np.float64).tolist()
        half, plus, minus = 0.5 * (second + self._beta), 0.5 * (first + third), 0.5 * (first - third)
        turned = np.array([-math.sin(minus), math.cos(minus), math.sin(plus), math.cos(plus)])
        return np.asarray(self._product.T @ (turned * np.repeat([math.sin(half), math.cos(half)], 2)))

    def clipped(self, q: ArrayLike) -> Array:
        """Return the position with its angles clipped to their limits."""
        return self.position(np.clip(self.read(q), self.lower, self.upper))

    # --- constants of the axes ----------------------------------------------------------------------------------
    @cached_property
    def _frame(self) -> Array:
        """Rotation with the columns x, y = a₂, z = a₁."""
        a, b, _ = self.directions
        return np.column_stack([np.cross(b, a), b, a])

    @cached_property
    def _beta(self) -> float:
        x, _, z = self.directions[2] @ self._frame
        return float(np.arctan2(x, z))

    @property
    def _lock(self) -> int:
        middle = 0.5 * (self.lower[1] + self.upper[1])
        return math.floor(((middle if math.isfinite(middle) else 0.0) + self._beta) / math.pi)

    @cached_property
    def _last_frame(self) -> Array:
        cosine, sine = math.cos(self._beta), math.sin(self._beta)
        return np.asarray(self._frame @ np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]]))

    @cached_property
    def _product(self) -> Array:
        """n = frame* ∘ q ∘ last frame, a 4 x 4 matrix on q."""
        before, after = conjugate(upper_quaternion(self._frame)), upper_quaternion(self._last_frame)
        return np.column_stack([quaternion_product(quaternion_product(before, one), after) for one in np.eye(4)])


def _about(y: Scalar, x: Scalar, centre: float, flip: float) -> Scalar:
    """Polar angle of the point (x, y) plus flip, within half a turn of the centre."""
    c, s = math.cos(centre - flip), math.sin(centre - flip)
    if abs(s) < 1e-15:
        c, s = math.copysign(1.0, c), 0.0
    return centre + expr.atan2(c * y - s * x, c * x + s * y)
