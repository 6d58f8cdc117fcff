# SPDX-License-Identifier: Apache-2.0
"""Inertia between two bodies as a dense 6x6 matrix, and the constant zero, which leaves no trace in a sum."""

import numpy as np
import pytest

from ada_dynamics.spatial import rotation as rot
from ada_dynamics.spatial.inertia import NO_CROSS_INERTIA, CrossInertia, RigidInertia
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import ZERO, Mat3, Vec3

ScipyRotation = pytest.importorskip("scipy.spatial.transform").Rotation

rng = np.random.default_rng(5)
K, L = rng.normal(size=(2, 6, 6))
# Sums of some dozen products of numbers up to 3.
ABSOLUTE = 1e-13


def blocks(matrix):
    return CrossInertia(*(Mat3.of(matrix[i : i + 3, j : j + 3].tolist()) for i in (0, 3) for j in (0, 3)))


def vectors(values):
    return Vec3(*values[:3].tolist()), Vec3(*values[3:].tolist())


def dense(operator):
    """Of a map of motions to forces: its columns, one unit motion each."""
    found = [operator @ Motion(*vectors(column)) for column in np.eye(6)]
    return np.array([[*force.moment, *force.force] for force in found], dtype=float).T


def near(ours, wanted):
    return np.abs(ours - wanted).max() < ABSOLUTE


def test_it_maps_adds_and_turns_round_as_its_matrix():
    assert near(dense(blocks(K)), K)
    assert near(dense(blocks(K) + blocks(L)), K + L)
    assert near(dense(blocks(K) + NO_CROSS_INERTIA), K)
    assert near(dense(blocks(K).T), K.T)
    assert near(dense(blocks(K).with_transposed()), K + K.T)


def test_an_outer_product_is_taken_off():
    here, there = rng.normal(size=(2, 6))
    less = blocks(K).less_outer(Force(*vectors(here)), Force(*vectors(there)))
    assert near(dense(less), K - np.outer(here, there))


def test_from_the_parent_it_takes_the_parents_acceleration():
    turn, (x, y, z) = ScipyRotation.random(random_state=2), rng.normal(size=3)
    R, D = turn.as_matrix().T, np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    X = np.block([[R, np.zeros((3, 3))], [-R @ D, R]])
    frame = Transform(rot.MatrixRotation(rot.from_quaternion(*turn.as_quat().tolist())), Vec3(x, y, z))
    assert near(dense(blocks(K).from_parent(frame)), K @ X)


@pytest.mark.parametrize("x", [2.5, np.longdouble(2.5), np.array([1.0, -2.0])], ids=repr)
def test_the_constant_zero_leaves_no_term_whatever_it_meets(x):
    assert ZERO + x is x
    assert x + ZERO is x
    assert x - ZERO is x
    assert np.array_equal(ZERO - x, -x)
    for product in (ZERO * x, x * ZERO, ZERO / x, -ZERO):
        assert product is ZERO


A = np.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])


def test_public_vectors_have_the_linear_part_first():
    motion, force = Motion.linear_first(A.tolist()), Force.force_first(A.tolist())
    assert motion == (Vec3(7.0, 11.0, 13.0), Vec3(2.0, 3.0, 5.0)) == (motion.angular, motion.linear)
    assert force == (Vec3(7.0, 11.0, 13.0), Vec3(2.0, 3.0, 5.0)) == (force.moment, force.force)


def test_rigid_inertias_subtract_and_scale_as_their_matrices():
    def inertia(x):
        rows = np.array([[x[4], x[0], x[1]], [x[0], x[5], x[2]], [x[1], x[2], x[3]]])
        return RigidInertia(float(x[3]), Vec3(*x[:3].tolist()), Mat3.of(rows.tolist()))

    a, b = inertia(A), inertia(A[::-1])
    M, N = np.array(a.matrix(), dtype=float), np.array(b.matrix(), dtype=float)
    assert np.array_equal(np.array((a - b).matrix(), dtype=float), M - N)
    assert np.array_equal(np.array((3.0 * a).matrix(), dtype=float), 3.0 * M)
