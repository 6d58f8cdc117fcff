# SPDX-License-Identifier: Apache-2.0
"""Vectors, motions, forces and inertias are vector spaces: + - and scaling work entry by entry, on primes here."""

from __future__ import annotations

import numpy as np
import pytest

from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.motion import NO_FORCE, NO_MOTION, Force, Motion
from ada_dynamics.spatial.vec3 import Mat3, Vec3, diagonal, matrix

A = np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])
B = np.array([17.0, -19.0, 23.0, -29.0, 31.0, -37.0])


def of(kind, x):
    return kind(Vec3(*x[:3].tolist()), Vec3(*x[3:].tolist()))


def flat(x):
    return [*x[0], *x[1]]


@pytest.mark.parametrize("kind", [Motion, Force])
def test_motions_and_forces_add_and_scale_entry_by_entry(kind):
    a, b = of(kind, A), of(kind, B)
    for ours, wanted in ((a + b, A + B), (a - b, A - B), (-a, -A), (3.0 * a, 3.0 * A)):
        assert type(ours) is kind
        assert flat(ours) == wanted.tolist()


def test_public_vectors_have_the_linear_part_first():
    motion, force = Motion.linear_first(A.tolist()), Force.force_first(A.tolist())
    assert motion == (Vec3(7.0, 11.0, 13.0), Vec3(2.0, 3.0, 5.0)) == (motion.angular, motion.linear)
    assert force == (Vec3(7.0, 11.0, 13.0), Vec3(2.0, 3.0, 5.0)) == (force.moment, force.force)


def test_nothing_is_added_by_no_motion_and_no_force():
    assert flat(of(Motion, A) + NO_MOTION) == flat(of(Force, A) + NO_FORCE) == A.tolist()


def test_a_vector_is_divided_by_a_number():
    assert Vec3(2.0, 3.0, -5.0) / 4.0 == (0.5, 0.75, -1.25)


def test_a_matrix_has_its_entries_by_row_and_column():
    assert matrix(lambda i, j: 10 * i + j) == ((0, 1, 2), (10, 11, 12), (20, 21, 22))
    assert diagonal(2.0, 3.0, 5.0) == ((2.0, 0.0, 0.0), (0.0, 3.0, 0.0), (0.0, 0.0, 5.0))


def test_rigid_inertias_subtract_and_scale_as_their_matrices():
    def inertia(x):
        rows = np.array([[x[4], x[0], x[1]], [x[0], x[5], x[2]], [x[1], x[2], x[3]]])
        return RigidInertia(float(x[3]), Vec3(*x[:3].tolist()), Mat3.of(rows.tolist()))

    a, b = inertia(A), inertia(B)
    M, N = np.array(a.matrix(), dtype=float), np.array(b.matrix(), dtype=float)
    assert np.array_equal(np.array((a - b).matrix(), dtype=float), M - N)
    assert np.array_equal(np.array((3.0 * a).matrix(), dtype=float), 3.0 * M)
