# SPDX-License-Identifier: Apache-2.0
"""Exponentials, logarithms, turns and alignments against series and scipy, on both sides of where they change form."""

from __future__ import annotations

import numpy as np
import pytest

from ada_dynamics.model import Builder, manifold, planar_chain, rigid
from ada_dynamics.model.align import align, clean_relative, clean_rotation
from ada_dynamics.model.degenerate import has_degenerate_bodies
from ada_dynamics.model.motors import motor_joints
from ada_dynamics.model.names import free_name
from ada_dynamics.model.reach import reach_of
from ada_dynamics.model.regroup import MAX_DEPTH, depth, for_efforts
from ada_dynamics.model.spread import is_thin, spread
from ada_dynamics.robots import mechanisms

ScipyRotation = pytest.importorskip("scipy.spatial.transform").Rotation

# Below 3.16e-3 rad, and at 0, series take the place of sines.
ANGLES = (0.0, 1e-9, 1e-4, 3e-3, 3.2e-3, 0.1, 1.0, 2.5, 3.1)
DIRECTION = np.array([0.48, -0.6, 0.64])
LONG = np.longdouble


def cross_matrix(w):
    x, y, z = w
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], dtype=LONG)


def mean_turn(w):
    """Σ [w]^k / (k + 1)!, the mean of the rotations from none to that of w, in 80 bits."""
    term = total = np.eye(3, dtype=LONG)
    for k in range(1, 40):
        term = term @ cross_matrix(w) / LONG(k + 1)
        total = total + term
    return total


def is_rotation(R):
    return np.abs(R @ R.T - np.eye(3)).max() < 1e-15 and np.linalg.det(R) > 0.0


def angle_of(R):
    return ScipyRotation.from_matrix(R).magnitude()


# --- on the manifolds -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("angle", ANGLES)
def test_the_quaternion_of_a_rotation_vector_is_right_to_the_last_digits(angle):
    w = angle * DIRECTION
    half = LONG(0.5) * np.linalg.norm(w.astype(LONG))
    wanted = np.sin(half) / (2 * half) * w.astype(LONG) if angle else 0.0 * w
    found = manifold.quaternion_exp(w)
    assert found[:3] == pytest.approx(wanted.astype(float), rel=5e-16, abs=0.0)
    assert found[3] == pytest.approx(float(np.cos(half)), rel=2e-16)
    assert manifold.quaternion_log(found) == pytest.approx(w, rel=2e-15, abs=0.0)
    assert manifold.quaternion_log(-found) == pytest.approx(w, rel=2e-15, abs=0.0)


@pytest.mark.parametrize("angle", ANGLES)
def test_a_pose_moves_along_the_screw_of_its_velocity_and_the_difference_is_that_velocity(angle):
    v, w = np.array([0.3, -1.2, 0.7]), angle * DIRECTION
    q = np.array([0.5, -0.25, 2.0, *ScipyRotation.from_rotvec([0.4, -0.9, 1.3]).as_quat()])
    moved = manifold.pose_integrate(q, np.array([*v, *w]))
    turn = ScipyRotation.from_quat(q[3:])
    wanted = q[:3] + turn.apply((mean_turn(w) @ v).astype(float))
    assert moved[:3] == pytest.approx(wanted, abs=2e-15)
    assert np.abs((turn.inv() * ScipyRotation.from_quat(moved[3:])).as_rotvec() - w).max() < 2e-15
    assert manifold.pose_difference(q, moved) == pytest.approx(np.array([*v, *w]), abs=5e-15)


@pytest.mark.parametrize("angle", [0.0, 3e-3])
def test_small_screws_keep_their_digits(angle):
    """From the origin, along y for a turn about z: the path is off the straight line by θ / 2 and θ² / 6 of it."""
    start = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    moved = manifold.pose_integrate(start, np.array([0.0, 1.0, 0.0, 0.0, 0.0, angle]))
    wanted = mean_turn(np.array([0.0, 0.0, angle])) @ np.array([0.0, 1.0, 0.0])
    assert moved[:3] == pytest.approx(wanted.astype(float), rel=2e-16, abs=0.0)
    flat = manifold.plane_integrate(np.zeros(3), np.array([0.0, 1.0, angle]))
    assert flat == pytest.approx([*wanted[:2].astype(float), angle], rel=2e-16, abs=0.0)


@pytest.mark.parametrize("angle", [*ANGLES, *(-x for x in ANGLES)])
def test_a_body_in_the_plane_moves_as_the_same_body_in_space(angle):
    q, v = np.array([0.5, -0.25, 0.8]), np.array([0.3, -1.2, angle])
    moved = manifold.plane_integrate(q, v)
    c, s = np.cos(q[2]), np.sin(q[2])
    along = (mean_turn(np.array([0.0, 0.0, angle])) @ np.array([0.3, -1.2, 0.0])).astype(float)
    wanted = [q[0] + c * along[0] - s * along[1], q[1] + s * along[0] + c * along[1], q[2] + angle]
    assert moved == pytest.approx(wanted, abs=1e-15)
    assert manifold.plane_difference(q, moved) == pytest.approx(v, abs=3e-15)


def test_quaternions_turn_and_multiply_as_rotations():
    a, b = ScipyRotation.from_rotvec([0.4, -0.9, 1.3]), ScipyRotation.from_rotvec([-1.0, 0.2, 0.5])
    x = np.array([0.3, -1.2, 0.7])
    product = manifold.quaternion_product(a.as_quat(), b.as_quat())
    assert np.abs(ScipyRotation.from_quat(product).as_matrix() - (a * b).as_matrix()).max() < 1e-15
    assert manifold.rotate(a.as_quat(), x) == pytest.approx(a.apply(x), abs=1e-15)
    assert manifold.rotate(manifold.conjugate(a.as_quat()), x) == pytest.approx(a.inv().apply(x), abs=1e-15)
    assert manifold.normalized(3.0 * a.as_quat()) == pytest.approx(a.as_quat(), abs=1e-15)


# --- turns and alignments -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("angle", [-2.0, 0.0, 1e-8, 0.5, np.pi])
def test_a_turn_about_an_axis_is_scipys(angle):
    axis = np.array([1.0, -2.0, 3.0])
    wanted = ScipyRotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    assert np.abs(rigid.about(axis, angle) - wanted).max() < 1e-15
    assert rigid.is_unit(rigid.about(axis, angle)) == (angle == 0.0)
    assert rigid.is_unit(np.eye(3)) and rigid.is_unit(rigid.UNIT)


def test_poses_compose_and_invert_as_matrices():
    def dense(pose):
        whole = np.eye(4)
        whole[:3, :3], whole[:3, 3] = pose
        return whole

    a = ScipyRotation.from_rotvec([0.4, -0.9, 1.3]).as_matrix(), np.array([1.0, 2.0, 3.0])
    b = ScipyRotation.from_rotvec([-1.0, 0.2, 0.5]).as_matrix(), np.array([-4.0, 5.0, 6.0])
    moved = rigid.UNIT, np.array([7.0, 8.0, -9.0])
    for outer in (a, moved):
        assert dense(rigid.inverse(outer)) == pytest.approx(np.linalg.inv(dense(outer)), abs=1e-14)
        for inner in (b, moved):
            assert dense(rigid.compose(outer, inner)) == pytest.approx(dense(outer) @ dense(inner), abs=1e-14)


_WAYS = [
    ([1.0, 2.0, 3.0], [3.0, -1.0, 0.5]),
    ([0.0, 0.0, 2.0], [0.0, 0.0, 5.0]),
    ([0.0, 0.0, 2.0], [0.0, 0.0, -5.0]),
    ([1.0, -2.0, 0.5], [-1.0, 2.0, -0.5]),
    *(
        ([0.48, -0.6, 0.64], [-0.48 + 0.8 * x, 0.6 + 0.64 * x, -0.64])
        for x in (0.9, 0.5, 1e-1, 1e-3, 1e-6, 1e-9, 1e-13)
    ),
]


@pytest.mark.parametrize(("start", "end"), _WAYS)
def test_the_shortest_turn_brings_one_direction_onto_another_and_no_turn_is_shorter(start, end):
    a, b = (np.array(x) / np.linalg.norm(x) for x in (start, end))
    R = rigid.shortest_turn(np.array(start), np.array(end))
    assert is_rotation(R)
    assert pytest.approx(b, abs=1e-15) == R @ a
    assert angle_of(R) == pytest.approx(2.0 * np.arctan2(np.linalg.norm(b - a), np.linalg.norm(b + a)), abs=1e-15)


def test_half_a_turn_of_z_is_about_x():
    R = rigid.shortest_turn(np.array([0.0, 0.0, 2.0]), np.array([0.0, 0.0, -1.0]))
    assert R.tolist() == [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]


_AXES = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.48, 0.6, 0.64], [-0.8, 0.36, 0.48], [0.1, -0.7, -0.3]]


@pytest.mark.parametrize("axis", _AXES)
def test_an_axis_is_brought_onto_the_nearest_coordinate_axis_by_a_small_turn(axis):
    axis = np.array(axis) / np.linalg.norm(axis)
    Q, k = align(axis)
    assert k == np.argmax(np.abs(axis))
    assert is_rotation(Q)
    assert Q[:, k] == pytest.approx(axis, abs=1e-15)
    if axis[k] > 0.0:
        assert angle_of(Q) == pytest.approx(np.arccos(min(axis[k], 1.0)), abs=1e-12)
    for onto in range(3):
        other, chosen = align(axis, onto)
        assert chosen == onto and is_rotation(other)
        assert other[:, onto] == pytest.approx(axis, abs=1e-15)


def test_an_axis_that_is_nearly_a_coordinate_axis_is_not_taken_for_it():
    tilt = 4e-8
    Q, k = align(np.array([0.0, tilt, 1.0]))
    assert k == 2 and Q[1, 2] == pytest.approx(tilt, rel=1e-9)
    assert align(np.array([0.0, 1e-16, 1.0]))[0].tolist() == np.eye(3).tolist()


def test_rounding_is_taken_off_rotations_and_off_what_is_small_beside_the_rest():
    noisy = np.array([[1.0 - 2e-16, 9e-16, 0.0], [-9e-16, -1.0 + 2e-16, 2e-15], [0.0, 2e-15, -1.0 - 2e-16]])
    assert clean_rotation(noisy).tolist() == [[1.0, 0.0, 0.0], [0.0, -1.0, 2e-15], [0.0, 2e-15, -1.0]]
    assert clean_relative(np.array([100.0, 3e-13, 5e-13, -3e-13])).tolist() == [100.0, 0.0, 5e-13, 0.0]
    stack = np.array([[100.0, 3e-13], [1.0, 3e-13]])
    assert clean_relative(stack, axes=1).tolist() == [[100.0, 0.0], [1.0, 3e-13]]
    assert clean_relative(np.zeros(2)).tolist() == [0.0, 0.0]


# --- of whole models ------------------------------------------------------------------------------------------------
def test_a_free_name_has_the_first_number_that_is_free():
    assert free_name("a", ()) == "a"
    assert free_name("a", {"a"}) == "a_2"
    assert free_name("a", {"a", "a_2", "a_3"}) == "a_4"


def test_the_reach_of_a_chain_is_its_length_and_as_much_behind_the_last_centre_of_mass():
    model = planar_chain(3)
    lengths = [np.linalg.norm(joint.xyz) for joint in model.joints.values()]
    last = list(model.links.values())[-1]
    assert reach_of(model) == pytest.approx(sum(lengths) + 2.0 * np.linalg.norm(last.com), rel=1e-15)
    assert reach_of(planar_chain(3)) > reach_of(planar_chain(2)) > 0.0


def test_short_chains_are_regrouped_and_long_ones_stay_as_they_are():
    for n, is_kept in ((MAX_DEPTH, False), (MAX_DEPTH + 1, True)):
        tree = planar_chain(n).tree
        assert depth(tree) == n
        assert (for_efforts(tree) is tree) is is_kept


def test_motors_turn_joints_of_one_position_and_no_others():
    model = mechanisms.stewart().model
    assert set(motor_joints(model)) == {n for n in model.actuated if (model.joints[n].nq, model.joints[n].nv) == (1, 1)}
    assert motor_joints(planar_chain(2)) == list(planar_chain(2).joints)


@pytest.mark.parametrize(
    ("mass", "com", "inertia", "is_degenerate"),
    [
        (1.0, (0.0, 0.0, -0.5), (1.0, 1.0, 0.0), True),
        (1.0, (0.0, 0.0, -0.5), (1.0, 1.0, 1e-10), True),
        (1.0, (0.0, 0.0, -0.5), (1.0, 1.0, 1e-8), False),
        (2.0, (3.0, 4.0, 5.0), (0.0, 0.0, 0.0), True),
        (0.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), True),
        (2.0, (0.1, 0.2, 0.3), (1.0, 1.0, 1.5), False),
    ],
)
def test_a_body_is_degenerate_without_mass_or_where_a_moment_about_its_centre_is_none(
    mass, com, inertia, is_degenerate
):
    builder = Builder("one").link("base").link("body", mass, com, inertia)
    tree = builder.joint("joint", "revolute", "base", "body").build().tree
    assert has_degenerate_bodies(tree) is is_degenerate


def test_inertia_is_moved_to_a_thin_link_and_none_through_a_joint_that_feels_all_of_it():
    builder = Builder("body with a rod").link("body", 2.0, (0.1, 0.0, 0.0), (0.3, 0.2, 0.4))
    builder.link("rod", 1.0, (0.0, 0.0, -0.5), (1 / 12, 1 / 12, 0.0))
    builder.joint("hinge", "revolute", "body", "rod", (0.0, 0.5, 0.0), (0.2, 0.3, 0.4), axis=(0.0, 1.0, 0.0))
    tree = builder.build(base="floating").tree
    found = spread(tree)
    through_base, through_hinge = found.moved
    assert through_base is None and through_hinge is not None and not found.is_unchanged
    body, rod = found.tree.bodies
    whole = [
        np.array((b.inertia + r.placement.to_parent(r.inertia)).matrix(), dtype=float)
        for b, r in (tree.bodies, found.tree.bodies)
    ]
    assert whole[1] == pytest.approx(whole[0], abs=1e-15)
    given = np.array((tree.bodies[1].inertia + through_hinge).matrix(), dtype=float)
    assert np.array(rod.inertia.matrix(), dtype=float) == pytest.approx(given, abs=1e-15)
    assert not is_thin(rod.inertia) and not is_thin(body.inertia) and is_thin(tree.bodies[1].inertia)
