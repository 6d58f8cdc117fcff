# SPDX-License-Identifier: Apache-2.0
"""Articulated bodies with any number of handles (Takahashi 2012, eqs. 2.3, 2.4): V̇ᵢ = Σⱼ Φᵢⱼ Fⱼ + Bᵢ.

All handles on one link move rigidly together, so one handle per link, at its origin, stands for all of them.
Accelerations are those of points as in `kinematics.Moving`, and weight is an acceleration of the world: a body on which
nothing acts but weight has a centre of mass at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ada_dynamics.algorithms.kinematics import spin_matrix
from ada_dynamics.spatial import vec3 as v3
from ada_dynamics.spatial.inertia import RigidInertia, inverse_symmetric
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.rotation import IDENTITY, AxisRotation, MatrixRotation, NoRotation, Product, Rotation
from ada_dynamics.spatial.scalar import ZERO, ZERO3, Mat3, Scalar, Vec3
from ada_dynamics.spatial.transform import Transform

ZERO33: Mat3 = (ZERO3, ZERO3, ZERO3)


class Operator(NamedTuple):
    """Φᵢⱼ in blocks: what a force at handle j does to handle i, α = aa n + al f and a = la n + ll f."""

    aa: Mat3
    al: Mat3
    la: Mat3
    ll: Mat3

    def times(self, force: Force) -> Motion:
        """Φ F."""
        n, f = force
        return Motion(
            v3.add(v3.mat_vec(self.aa, n), v3.mat_vec(self.al, f)),
            v3.add(v3.mat_vec(self.la, n), v3.mat_vec(self.ll, f)),
        )

    def __add__(self, other: object) -> Operator:
        if not isinstance(other, Operator):
            return NotImplemented
        return Operator(*(v3.mat_add(a, b) for a, b in zip(self, other, strict=True)))

    def transposed(self) -> Operator:
        """Φᵢⱼᵀ = Φⱼᵢ."""
        aa, al, la, ll = (v3.transpose(block) for block in self)
        return Operator(aa, la, al, ll)

    def force_at(self, X: Transform) -> Operator:
        """Φ X*: with the force given in a frame B of pose X in the frame of the handle (eq. A.17)."""
        rows = [X.motion_down(Motion(n, f)) for n, f in zip((*self.aa, *self.la), (*self.al, *self.ll), strict=True)]
        aa, al, la, ll = (
            (part[0], part[1], part[2])
            for part in (
                [r.angular for r in rows[:3]],
                [r.linear for r in rows[:3]],
                [r.angular for r in rows[3:]],
                [r.linear for r in rows[3:]],
            )
        )
        return Operator(aa, al, la, ll)

    def motion_at(self, X: Transform) -> Operator:
        """X Φ: with the acceleration seen in a frame B of pose X in the frame of the handle (eq. A.14)."""
        return self.transposed().force_at(X).transposed()

    def seen_from(self, X: Transform) -> Operator:
        """X Φ X* of a symmetric Φ, at lower cost than one side after the other."""
        R, P = reverse(X.rotation), v3.skew(X.position)
        # with p the position: n = n' + p x f', a' = a - p x α
        la = v3.mat_sub(self.la, v3.mat_mat(P, self.aa))
        left, right = v3.mat_mat(self.la, P), v3.mat_mat(P, v3.transpose(la))
        ll = symmetric(lambda i, j: self.ll[i][j] + (left[i][j] - right[i][j]))
        turned = R.up_matrix(la)
        return Operator(R.up_symmetric(self.aa), v3.transpose(turned), turned, R.up_symmetric(ll))

    def less_outer(self, y: Sequence[Motion], z: Sequence[Motion], is_symmetric: bool) -> Operator:
        """Φ - Σₖ yₖ zₖᵀ."""

        def less(block: Mat3, left: Sequence[Vec3], right: Sequence[Vec3], mirrored: bool) -> Mat3:
            def entry(i: int, j: int) -> Scalar:
                return block[i][j] - sum((a[i] * b[j] for a, b in zip(left, right, strict=True)), ZERO)

            return symmetric(entry) if mirrored else matrix(entry)

        ya, yl = [m.angular for m in y], [m.linear for m in y]
        za, zl = [m.angular for m in z], [m.linear for m in z]
        la = less(self.la, yl, za, False)
        al = v3.transpose(la) if is_symmetric else less(self.al, ya, zl, False)
        return Operator(less(self.aa, ya, za, is_symmetric), al, la, less(self.ll, yl, zl, is_symmetric))


NO_OPERATOR = Operator(ZERO33, ZERO33, ZERO33, ZERO33)


def matrix(entry: Callable[[int, int], Scalar]) -> Mat3:
    """The 3x3 matrix with these entries."""
    rows = [(entry(i, 0), entry(i, 1), entry(i, 2)) for i in range(3)]
    return (rows[0], rows[1], rows[2])


def symmetric(entry: Callable[[int, int], Scalar]) -> Mat3:
    """The symmetric 3x3 matrix with these entries on and above the diagonal; the others are not asked for."""
    return v3.mirror_upper(
        ((entry(0, 0), entry(0, 1), entry(0, 2)), (0.0, entry(1, 1), entry(1, 2)), (0.0, 0.0, entry(2, 2)))
    )


def reverse(R: Rotation) -> Rotation:
    """R⁻¹, as cheap to apply as R."""
    if isinstance(R, AxisRotation):
        return AxisRotation(R.k, R.c, -R.s)
    if isinstance(R, Product):
        return Product(reverse(R.inner), reverse(R.outer))
    return IDENTITY if isinstance(R, NoRotation) else MatrixRotation(v3.transpose(R.matrix()))


def inverse(X: Transform) -> Transform:
    """X⁻¹, as cheap to apply as X."""
    return Transform(reverse(X.rotation), v3.negate(X.rotation.down(X.position)))


@dataclass(frozen=True)
class FreeBody:
    """A rigid body that nothing holds, by what its acceleration depends on."""

    operator: Operator  # Φ = I⁻¹ (eq. A.34)
    com: Vec3
    about_com: Mat3
    inverse_about_com: Mat3

    @classmethod
    def of(cls, inertia: RigidInertia) -> FreeBody:
        """From a regular inertia."""
        m, h, about = inertia
        c = v3.scale(1.0 / m, h)
        D = v3.skew(c)
        DDt = v3.mat_mat(D, v3.transpose(D))
        J = symmetric(lambda i, j: about[i][j] - m * DDt[i][j])
        K = inverse_symmetric(J)
        DK = v3.mat_mat(D, K)
        corner = v3.mat_mat(DK, v3.transpose(D))
        ll = symmetric(lambda i, j: corner[i][j] + (1.0 / m if i == j else 0.0))
        return cls(Operator(K, v3.transpose(DK), DK, ll), c, J, K)

    def acceleration(self, w: Vec3) -> Motion:
        """Of its origin while it turns with w and no force acts: J ẇ = -w x J w about its centre of mass, at rest."""
        wd = v3.negate(v3.mat_vec(self.inverse_about_com, v3.cross(w, v3.mat_vec(self.about_com, w))))
        return Motion(wd, v3.negate(v3.mat_vec(spin_matrix(w, wd), self.com)))


@dataclass(frozen=True)
class ArticulatedBody:
    """Links held together by joints, as seen from its handles."""

    handles: tuple[int, ...]  # links
    operators: Mapping[tuple[int, int], Operator]  # Φᵢⱼ for i <= j
    bias: Mapping[int, Motion]  # Bᵢ

    @classmethod
    def of_rigid(cls, link: int, operator: Operator, bias: Motion) -> ArticulatedBody:
        """One link."""
        return cls((link,), {(link, link): operator}, {link: bias})

    def operator(self, i: int, j: int) -> Operator:
        """Φᵢⱼ."""
        return self.operators[i, j] if i <= j else self.operators[j, i].transposed()
