# SPDX-License-Identifier: Apache-2.0
"""Kinematics of the HEXA against the catalogue's mechanism, its loops' Jacobians, differences, and geometry by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused
from scipy.optimize import brentq

import ada_dynamics as ada
from ada_dynamics.dynamics.poses import moved
from ada_dynamics.errors import InputError
from ada_dynamics.robots.mechanisms.parallel_robots import HexaGeometry, hexa
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.motion_simulation.motion_table import plate_mechanics
from ada_hardware.hexa.kinematics import HOME, JOINTS, HexaKinematics, NoPose, SingularConfiguration, Unreachable

TABLE = HexaKinematics()
GEOMETRY = HexaGeometry()
TILT = math.radians(15.0)

places = st.tuples(
    st.floats(0.0, 0.15), st.floats(-math.pi, math.pi), st.floats(-0.6, -0.5), *[st.floats(-TILT, TILT)] * 3
)


def pose_in(place):
    r, azimuth, z, *rpy = place
    return pose_of((r * math.cos(azimuth), r * math.sin(azimuth), z), rpy)


def rod_lengths(pose, q):
    found = []
    for i in range(6):
        u = np.array([math.cos(GEOMETRY.azimuth(i)), math.sin(GEOMETRY.azimuth(i)), 0.0])
        crank = math.cos(q[i]) * u - math.sin(q[i]) * np.array([0.0, 0.0, 1.0])
        end = GEOMETRY.shoulder(i) + GEOMETRY.crank * crank
        found.append(np.linalg.norm(pose[:3, :3] @ GEOMETRY.ball(i) + pose[:3, 3] - end))
    return np.array(found)


@given(places)
@settings(max_examples=200, deadline=None)
def test_rods_have_their_length_at_the_angles_of_a_pose(place):
    pose = pose_in(place)
    # a length of 0.5 m, computed in a few roundings of 1e-16
    np.testing.assert_allclose(rod_lengths(pose, TABLE.inverse(pose)), GEOMETRY.rod, rtol=0, atol=2e-15)


@given(places)
@settings(max_examples=200, deadline=None)
def test_forward_finds_the_pose_that_inverse_came_from(place):
    pose = pose_in(place)
    found = TABLE.forward(TABLE.inverse(pose))
    # rods known to 1e-16 m fix the pose to the condition of J, under 7, and turns by another 10 1/m
    np.testing.assert_allclose(found.pose, pose, rtol=0, atol=1e-13)


def test_angles_are_those_of_the_catalogue_and_assemble_finds_their_pose():
    position, rpy = (0.02, -0.01, -0.52), (0.05, -0.03, 0.04)
    mechanism = hexa(position, rpy)
    model = mechanism.model
    q = np.array([mechanism.q[model.q_index(name)][0] for name in JOINTS])
    np.testing.assert_allclose(TABLE.inverse(pose_of(position, rpy)), q, rtol=0, atol=1e-14)
    assert model.actuated == JOINTS
    guess = hexa((0.0, 0.0, -0.55), (0.0, 0.0, 0.0)).q
    for name, angle in zip(JOINTS, q, strict=True):
        guess[model.q_index(name)] = angle
    closed = ada.close_loops(model, guess)
    angles = [closed[model.q_index(name)][0] for name in JOINTS]
    pose = ada.Dynamics(model).pose("platform", closed)
    np.testing.assert_allclose(
        TABLE.forward(np.array(angles)).pose, pose, rtol=0, atol=1e-9
    )  # assemble's own tolerance


def test_jacobians_are_the_differences_of_inverse():
    pose, h = pose_of((0.03, 0.05, -0.53), (0.1, -0.15, 0.08)), 1e-6
    at = TABLE.jacobians(pose)
    back = at.plate / at.motors[:, None]
    for k in range(6):
        twist = np.zeros(6)
        twist[k] = h
        ahead, behind = (TABLE.inverse(_by(pose, s * twist)) for s in (1.0, -1.0))
        np.testing.assert_allclose((ahead - behind) / (2 * h), back[:, k], rtol=1e-8, atol=1e-8)  # h² and eps / h


def test_the_jacobian_is_that_of_the_mechanism_s_loops():
    pose = pose_of((0.02, -0.01, -0.52), (0.05, -0.03, 0.04))
    np.testing.assert_allclose(TABLE.jacobians(pose).forward, plate_mechanics(pose).jacobian, rtol=0, atol=1e-12)


def _by(pose, twist):
    found = np.eye(4)
    found[:3, 3] = pose[:3, 3] + twist[:3]
    turn = moved(np.eye(4), np.concatenate([np.zeros(3), twist[3:]]))
    found[:3, :3] = turn[:3, :3] @ pose[:3, :3]
    return found


def test_rods_that_all_meet_the_axis_let_the_plate_turn():
    table = HexaKinematics(HexaGeometry(spacing=1e-12, spread=0.0))
    at = table.jacobians(HOME)
    assert at.hold < 1e-10
    np.testing.assert_allclose(at.plate @ [0, 0, 0, 0, 0, 1.0], 0.0, atol=1e-12)
    with refused(SingularConfiguration, field="hold"):
        at.forward  # noqa: B018


def test_a_level_plate_yawed_to_where_the_determinant_changes_sign_is_singular_of_the_second_kind():
    def at(yaw):
        return TABLE.jacobians(pose_of((0.0, 0.0, -0.5), (0.0, 0.0, yaw)))

    yaw = brentq(lambda yaw: np.linalg.det(at(yaw).plate), 0.0, 1.9, xtol=1e-15)
    assert at(yaw).hold < 1e-9
    with refused(SingularConfiguration, field="hold"):
        at(yaw).forward  # noqa: B018


def test_poses_out_of_reach_are_refused_by_leg_and_distance():
    with pytest.raises(Unreachable) as caught:
        TABLE.inverse(pose_of((0.0, 0.0, -0.9), (0.0, 0.0, 0.0)))
    # geometry by hand: the farthest point of all cranks' circles is in line with shoulder and ball
    of, leg = GEOMETRY, caught.value.leg - 1
    u = np.array([math.cos(of.azimuth(leg)), math.sin(of.azimuth(leg)), 0.0])
    d = of.ball(leg) - of.shoulder(leg) + np.array([0.0, 0.0, -0.9])
    plane = np.array([d @ u, d[2]])
    end = of.crank * plane / np.linalg.norm(plane)
    needed = np.linalg.norm(d - end[0] * u - [0, 0, end[1]])
    assert caught.value.distance == pytest.approx(needed - of.rod, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        *((lambda bad=bad: TABLE.inverse(bad), "pose") for bad in (np.diag([1.0, 1.0, -1.0, 1.0]), 1.001 * HOME)),
        *((lambda bad=bad: TABLE.inverse(bad), "pose") for bad in (np.full((4, 4), np.nan), np.eye(3), "up")),
        *((lambda bad=bad: TABLE.forward(bad), "q") for bad in ([0.0] * 5, [0.0] * 5 + [math.inf])),
        (lambda: TABLE.jacobians(HOME, np.zeros(6)), "q"),
    ],
)
def test_what_is_no_pose_and_no_angles_is_refused(call, field):
    with refused(InputError, field=field):
        call()


def test_a_pose_beyond_a_singular_one_is_refused():
    beyond = pose_of((0.0, 0.0, -0.5), (0.0, 0.0, 1.9))
    q = TABLE.inverse(beyond)
    with pytest.raises(NoPose):
        TABLE.forward(q, hexa((0.0, 0.0, -0.5), (0.0, 0.0, 1.9)).q)
    try:
        found = TABLE.forward(q)
    except NoPose:
        return
    dets = [np.linalg.det(TABLE.jacobians(pose, angles).plate) for pose, angles in ((found.pose, q), (HOME, None))]
    assert dets[0] * dets[1] > 0.0
