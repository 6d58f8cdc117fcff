# SPDX-License-Identifier: Apache-2.0
"""Interface of all joint types.

Pose, motion subspace S, force subspaces T_a and T, and the rate of S, in the child frame, over generic scalars
(Takahashi 2012, eqs. 2.5-2.10, tables 2.1 and 2.2); constraint rows of loop joints; names and units of coordinates;
attributes in descriptions. Joint axes are coordinate axes; other axes are rotated onto them by a constant rotation when
the tree is built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.rotations import align, to_mat3
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import NO_MOTION, Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import UNIT3, ZERO3, ZERO33, Scalar, Vec3, cross

NO_LIMIT = 1e6  # [rad, m]; descriptions use 1e16 and the like for unlimited joints


NORMAL = 3  # instead of an axis: normal of both axes of a universal joint
SECOND = 4  # y of frame B, its second axis


class RowKind(NamedTuple):
    """A force along, or a moment about, axis k of frame A; or the moment about a universal joint's normal."""

    is_force: bool
    axis: int  # of frame A, or NORMAL, or SECOND
    pitch: float = 0.0  # of a helical joint [m/rad]

    def __str__(self) -> str:
        if self.axis == NORMAL:
            return "moment about the normal of both axes"
        if self.axis == SECOND:
            return "moment about the second axis"
        thread = f" on a thread of {self.pitch:g} m/rad" if self.pitch else ""
        return f"{'force along' if self.is_force else 'moment about'} {'xyz'[self.axis]}{thread}"

    @classmethod
    def of(cls, column: Force) -> RowKind:
        """Kind of a column of T or T_a: unit force, moment or screw on a coordinate axis."""
        if not any(column.force):
            return cls(False, UNIT3.index(column.moment))
        axis = UNIT3.index(column.force)
        return cls(True, axis, -float(column.moment[axis]) or 0.0)


class Coordinate(NamedTuple):
    """One entry of the position or velocity of a joint."""

    name: str  # in tables; empty for joints with one coordinate
    unit: str  # "rad", "m", or "1" for a quaternion; for velocities without "per second"
    label: str  # in panels and sliders


ALONE = {"rad": Coordinate("", "rad", ""), "m": Coordinate("", "m", "")}
POSITION = tuple(Coordinate(x, "m", x) for x in "xyz")
ANGULAR = tuple(Coordinate(f"w{x}", "rad", x) for x in "xyz")
QUATERNION = tuple(Coordinate(f"q{x}", "1", x) for x in "xyzw")


def angles(*labels: str) -> tuple[Coordinate, ...]:
    """Coordinates for successive angles."""
    return tuple(Coordinate(f"angle_{i}", "rad", label) for i, label in enumerate(labels, 1))


class JointType(ABC):
    """A kind of joint with `nq` position variables and `nv` velocities; S has `nv` columns."""

    kind: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    coordinates: ClassVar[tuple[Coordinate, ...]]  # of q
    rates: ClassVar[tuple[Coordinate, ...]]  # of v

    # --- in a description ---------------------------------------------------------------------------------------
    other_names: ClassVar[tuple[str, ...]] = ()  # in other formats
    axes: ClassVar[int]  # number of axes in a description
    moves_as: ClassVar[str]  # kind with the same motion, ignoring limits
    closes_as: ClassVar[str | None]  # kind of loop joint with the same motion; None: it closes no loop
    constants: ClassVar[tuple[str, ...]] = ()  # names of its parameters other than axes
    can_have_spring: ClassVar[bool] = False
    is_endless: ClassVar[bool] = False  # position is unlimited

    @classmethod
    def aligned(cls, axis: Array, axis2: Array | None, onto: int | None, **own: Scalar) -> tuple[JointType, Array]:
        """Return the joint on coordinate axes and the rotation from these to the joint frame of the description.

        Args:
            axis: direction in the joint frame.
            axis2: second axis of a universal joint.
            onto: coordinate axis for the joint axis; by default the nearest one.
            own: constants of the joint type.
        """
        return cls(**own), np.eye(3)

    @classmethod
    def aligned_sides(
        cls, axis: Array, axis2: Array | None, onto: int | None, **own: Scalar
    ) -> tuple[JointType, Array, Array]:
        """Return a loop joint on coordinate axes and the rotations of its parent-side and child-side frames."""
        joint, turn = cls.aligned(axis, axis2, onto, **own)
        return joint, turn, turn

    @classmethod
    def constants_problem(cls, **own: float) -> str | None:
        """Problem of the constants, or None."""
        return None

    @classmethod
    def leaves_free(cls) -> bool:
        """Return True if the joint constrains nothing."""
        return cls.nv == 6

    @classmethod
    def has_limits(cls) -> bool:
        """Return True for joints with one coordinate that can be limited."""
        return cls.nq == cls.nv == 1 and not cls.is_endless

    @classmethod
    def turns(cls) -> bool:
        """Return True if the only coordinate is an angle."""
        return [c.unit for c in cls.coordinates] == ["rad"]

    @classmethod
    def slides(cls) -> bool:
        """Return True if the only coordinate is a distance."""
        return [c.unit for c in cls.coordinates] == ["m"]

    @classmethod
    def has_rates_of_coordinates(cls) -> bool:
        """Return True if v is the time derivative of q."""
        return cls.position_rate is JointType.position_rate

    @classmethod
    def quaternion_at(cls) -> int | None:
        """Index of the quaternion in q, or None."""
        return next((i for i, c in enumerate(cls.coordinates) if c.unit == "1"), None)

    # --- kinematics over generic scalars ------------------------------------------------------------------------
    @abstractmethod
    def pose(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the child frame in the parent-side joint frame."""

    @abstractmethod
    def subspace(self, q: Sequence[Scalar]) -> tuple[Motion, ...]:
        """Columns of S: relative velocity = S v (eq. 2.5)."""

    def bias(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
        """Ṡ v in the child frame; zero where S is constant there."""
        return NO_MOTION

    def active(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Columns of T_a, with T_aᵀ S = U (eqs. 2.7, 2.8). The default holds for S with orthonormal columns."""
        return tuple(Force(s.angular, s.linear) for s in self.subspace(q))

    @abstractmethod
    def constraint(self, q: Sequence[Scalar]) -> tuple[Force, ...]:
        """Columns of T, with Tᵀ S = 0 (eqs. 2.7, 2.8)."""

    def position_rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """q̇ as a function of v; equal for most joints."""
        return tuple(v)

    def nearest(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Nearest valid position: quaternions are normalised."""
        return tuple(q)

    def commutator(self, v: Sequence[Scalar], momentum: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Commutator term of the Euler-Poincaré equation; zero where v = q̇."""
        return (0.0,) * self.nv

    def guards(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Quantities that are non-negative for valid q."""
        return ()

    def relative_velocity(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> Motion:
        """Relative velocity S v."""
        total = NO_MOTION
        for column, rate in zip(self.subspace(q), v, strict=True):
            total = total + rate * column
        return total

    def deflection(self, q: Sequence[Scalar], rest: Scalar) -> list[Scalar]:
        """Deflection of a spring from rest, one number per velocity."""
        return [q[0] - rest]

    # --- as a loop joint ----------------------------------------------------------------------------------------
    is_even: ClassVar[bool] = False  # [T T_a] is the same in the parent-side joint frame

    def rows(self) -> tuple[RowKind, ...]:
        """Constraint rows: the columns of T, forces first."""
        return _forces_first(self.constraint(self.neutral().tolist()))

    def free_rows(self) -> tuple[RowKind, ...]:
        """The columns of T_a, forces first."""
        return _forces_first(self.active(self.neutral().tolist()))

    def moves_origin(self) -> bool:
        """Return True if the joint allows relative translation of its two origins."""
        return any(any(column.linear) for column in self.subspace(self.neutral().tolist()))

    def kept_axes(self) -> tuple[int, ...]:
        """Coordinate axes with the same direction in both frames at any position."""
        turns = [column.angular for column in self.subspace(self.neutral().tolist())]
        return tuple(k for k in range(3) if not any(any(cross(w, UNIT3[k])) for w in turns))

    def movable_inertias(self) -> list[RigidInertia]:
        """Basis of inertias in the child frame that do not act on the joint, so that the parent may carry them."""
        return []

    def split_inertia(self, inertia: RigidInertia) -> tuple[RigidInertia, RigidInertia] | None:
        """Split an inertia into the part that acts on the joint and the rest; None if there is no rest."""
        return None

    # --- configuration space, on numbers ------------------------------------------------------------------------
    def neutral(self) -> Array:
        """The zero position."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator, lower: Array, upper: Array) -> Array:
        """Random position within finite limits."""
        low = np.where(np.abs(lower) < NO_LIMIT, lower, -np.pi)
        high = np.where(np.abs(upper) < NO_LIMIT, upper, np.pi)
        return np.asarray(rng.uniform(np.minimum(low, high), np.maximum(low, high)))

    def integrate(self, q: Array, step: Array) -> Array:
        """q ⊕ step for a step = velocity times time."""
        return q + step

    def difference(self, q0: Array, q1: Array) -> Array:
        """Step with q0 ⊕ step = q1."""
        return q1 - q0

    def problem(self, q: Array) -> str | None:
        """Problem of q, or None."""
        return None


class AxisJoint(JointType):
    """A joint about or along coordinate axis k."""

    axes = 1
    is_even = True

    def __init__(self, k: int) -> None:
        self.k = k

    @property
    def across(self) -> tuple[int, int]:
        """The two other axes."""
        return (self.k + 1) % 3, (self.k + 2) % 3

    @classmethod
    def aligned(cls, axis: Array, axis2: Array | None, onto: int | None, **own: Scalar) -> tuple[JointType, Array]:
        """Return the joint on the coordinate axis nearest to its axis."""
        Q, k = align(axis, onto)
        return cls(k, **own), Q


def _forces_first(columns: Sequence[Force]) -> tuple[RowKind, ...]:
    kinds = [RowKind.of(column) for column in columns]
    return tuple(sorted(kinds, key=lambda kind: not kind.is_force))


# --- along and about the coordinate axes ---
TURNS = tuple(Motion(axis, ZERO3) for axis in UNIT3)  # unit rotations
SLIDES = tuple(Motion(ZERO3, axis) for axis in UNIT3)  # unit translations
MOMENTS = tuple(Force(axis, ZERO3) for axis in UNIT3)
FORCES = tuple(Force(ZERO3, axis) for axis in UNIT3)


def _rotational(*entries: tuple[int, int]) -> RigidInertia:
    """Rotational inertia with unit entries."""
    about = np.zeros((3, 3))
    for i, j in entries:
        about[i, j] = about[j, i] = 1.0
    return RigidInertia(0.0, ZERO3, to_mat3(about))


# --- inertias that can be moved across joints ---
MASS = RigidInertia(1.0, ZERO3, ZERO33)  # at the origin
FIRST_MOMENTS = tuple(RigidInertia(0.0, axis, ZERO33) for axis in UNIT3)
ROTATIONAL = tuple(_rotational((i, j)) for i in range(3) for j in range(i, 3))
AXISYMMETRIC = (_rotational((1, 1), (2, 2)), _rotational((0, 0), (2, 2)), _rotational((0, 0), (1, 1)))  # about an axis


def successive_turns_bias(axes: Sequence[Vec3], rates: Sequence[Scalar]) -> Vec3:
    """Rate of ω = Σ aᵢ θ̇ᵢ in the last frame, for turns about successive axes aᵢ given in that frame.

    An axis is fixed in the previous frame, so it rotates relative to the last frame: ȧᵢ = -(Σ_{j>i} aⱼ θ̇ⱼ) x aᵢ.
    """
    later: Vec3 = ZERO3
    result: Vec3 = ZERO3
    for axis, rate in zip(reversed(axes), reversed(rates), strict=True):
        own = rate * axis
        result = result - cross(later, own)
        later = later + own
    return result
