# SPDX-License-Identifier: Apache-2.0
"""Joint types beside their kinematics: what they say of themselves, loops, unfelt inertia."""

import numpy as np
import pytest
from joint_constants import constants

from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, JointType
from ada_dynamics.model.joints.base import NORMAL, SECOND

E = np.eye(3)
UNLIMITED = np.full(7, np.inf)


def made(kind: str, k: int) -> JointType:
    """On coordinate axis k, where it has an axis; its second axis across."""
    cls = JOINT_TYPES[kind]
    return cls.aligned(E[k], E[(k + 1) % 3], None, **constants(kind))[0]


JOINTS = [pytest.param(made(kind, k), id=f"{kind}-{'xyz'[k]}") for kind in JOINT_TYPES for k in range(3)]


def positions(joint, count=5):
    rng = np.random.default_rng(3)
    return [joint.random(rng, -UNLIMITED[: joint.nq], UNLIMITED[: joint.nq]) for _ in range(count)]


@pytest.mark.parametrize("joint", JOINTS)
def test_the_commutator_is_what_two_small_motions_do_in_one_order_and_not_in_the_other(joint):
    rng, h = np.random.default_rng(5), 1e-3
    for q in positions(joint, 3):
        v, w, p = rng.normal(size=(3, joint.nv))
        found = np.zeros(joint.nv)
        for sign in (1.0, -1.0):  # terms of third order cancel
            there = q
            for step in (v, w, -v, -w):
                there = joint.integrate(there, sign * h * step)
            found += 0.5 * joint.difference(q, there) / h**2
        assert np.dot(joint.commutator(v.tolist(), p.tolist()), w) == pytest.approx(-p @ found, abs=2e-5)


def wrench(row):
    """[moment, force] of a row, at the zero position of a universal joint: axes z and y, normal x."""
    axis = {NORMAL: E[0], SECOND: E[1]}.get(row.axis)
    axis = E[row.axis] if axis is None else axis
    return [*(-row.pitch * axis), *axis] if row.is_force else [*axis, *(row.pitch * axis)]


@pytest.mark.parametrize("joint", [one for one in JOINTS if one.values[0].kind in LOOP_KINDS])
def test_a_loop_joint_carries_all_that_it_does_not_leave_free(joint):
    columns = joint.subspace(joint.neutral().tolist())
    S = np.array([[*m.angular, *m.linear] for m in columns], dtype=float).reshape(-1, 6)
    rows, free = joint.rows(), joint.free_rows()
    carried = np.array([wrench(row) for row in rows]).reshape(-1, 6)
    assert len(rows) == 6 - joint.nv == np.linalg.matrix_rank(carried)
    assert np.abs(carried @ S.T).max(initial=0.0) < 1e-15
    assert len(free) == joint.nv
    # The turn of a screw is given as a motion, all others are wrenches that work on one velocity each.
    work = np.array([wrench(row) for row in free]).reshape(-1, 6) @ S.T
    assert np.linalg.matrix_rank(work) == joint.nv
    for found in (rows, free):
        assert [row.is_force for row in found] == sorted((row.is_force for row in found), reverse=True)
    assert len({*rows, *free}) == 6
    assert len({str(row) for row in (*rows, *free)}) == 6, "each has words of its own"


@pytest.mark.parametrize("joint", JOINTS)
def test_inertia_that_a_joint_does_not_feel_is_the_same_to_the_parent_in_every_position(joint):
    for inertia in joint.unfelt():
        seen = [
            np.array(joint.pose(q.tolist()).to_parent(inertia).matrix(), dtype=float)
            for q in [joint.neutral(), *positions(joint)]
        ]
        assert np.ptp(np.array(seen), axis=0).max() < 1e-13 * max(1.0, np.abs(seen[0]).max())
        assert np.abs(seen[0]).max() > 0.5
