# SPDX-License-Identifier: Apache-2.0
"""Where the hand of the PA-10 is and how it moves: against the robot descriptions, pinocchio and differences."""

from __future__ import annotations

import numpy as np
import pytest
from refused import refused

from ada_controllers import pa10_kinematics as pa10
from ada_dynamics import resources
from ada_dynamics.errors import InputError

TOOL = np.array([[0.0, 0.0, 1.0, 0.02], [1.0, 0.0, 0.0, -0.03], [0.0, 1.0, 0.0, 0.15], [0.0, 0.0, 0.0, 1.0]])


def _angles(count, seed=0):
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (count, 7))


def _turn(axis, angle):
    pose, c, s = np.eye(4), np.cos(angle), np.sin(angle)
    i, j = {"y": (2, 0), "z": (0, 1)}[axis]
    pose[i, i] = pose[j, j] = c
    pose[i, j], pose[j, i] = -s, s
    return pose


def _up(length):
    pose = np.eye(4)
    pose[2, 3] = length
    return pose


@pytest.mark.parametrize(("lengths", "arm"), [("CE", (0.317, 0.45, 0.48, 0.07)), ("7C", (0.315, 0.45, 0.5, 0.08))])
def test_the_pose_is_the_product_of_the_transforms_of_each_joint(lengths, arm):
    for q in _angles(20):
        expected = _up(arm[0])
        for axis, angle, above in zip("zyzyzyz", q, (0.0, 0.0, arm[1], 0.0, arm[2], 0.0, arm[3]), strict=True):
            expected = expected @ _turn(axis, angle) @ _up(above)
        assert pa10.forward(q, lengths) == pytest.approx(expected, abs=1e-15)
        assert pa10.forward(q, lengths, TOOL) == pytest.approx(expected @ TOOL, abs=1e-15)


@pytest.mark.parametrize("function", [pa10.forward, pa10.body_jacobian, pa10.spatial_jacobian])
def test_a_batch_gives_what_each_of_it_gives(function):
    angles = _angles(13)
    many = function(angles, "7C", TOOL)
    for q, found in zip(angles, many, strict=True):
        assert found == pytest.approx(function(q, "7C", TOOL), abs=1e-15)
    assert pa10.manipulability(angles) == pytest.approx([pa10.manipulability(q) for q in angles])


def test_pinocchio_has_the_same_jacobians():
    pinocchio = pytest.importorskip("pinocchio")
    model = pinocchio.buildModelFromUrdf(str(resources.find("urdf", "pa10.urdf")))
    data = model.createData()
    frame = model.getFrameId("flange")
    for q in _angles(10):
        pinocchio.computeJointJacobians(model, data, q)
        pinocchio.updateFramePlacements(model, data)
        for function, axes in (
            (pa10.body_jacobian, pinocchio.ReferenceFrame.LOCAL),
            (pa10.spatial_jacobian, pinocchio.ReferenceFrame.WORLD),
        ):
            assert function(q) == pytest.approx(pinocchio.getFrameJacobian(model, data, frame, axes), abs=1e-14)


def test_manipulability_is_the_product_of_the_singular_values_whatever_the_hand():
    for q in _angles(10):
        for jacobian in (pa10.body_jacobian(q, hand=TOOL), pa10.spatial_jacobian(q)):
            expected = np.prod(np.linalg.svd(jacobian, compute_uv=False))
            assert pa10.manipulability(q) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("q", [[0.1, 0.7, 0.3, 0.0, 0.5, 0.9, 0.2], [0.3, 0.0, 0.0, 1.0, 0.0, 0.0, 0.4], [0.0] * 7])
def test_manipulability_vanishes_where_the_arm_is_straight_or_all_in_one_plane_of_axes(q):
    # the determinant is zero to 1e-16, of which this is the root
    assert pa10.manipulability(q) < 1e-7


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([0.0] * 6,), "q"),
        ((np.zeros((2, 3, 7)),), "q"),
        (([0.0, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0],), "q"),
        (([0.0] * 7, "CF"), "set of lengths of the PA-10"),
        (([0.0] * 7, pa10.Lengths(0.3, 0.0, 0.5, 0.1)), "lengths"),
        (([0.0] * 7, "CE", [0.0, 1.0]), "hand"),
        (([0.0] * 7, "CE", 1.1 * np.eye(4)), "hand"),
        (([0.0] * 7, "CE", np.diag([1.0, 1.0, -1.0, 1.0])), "hand"),
    ],
)
def test_what_is_no_arm_is_refused(arguments, field):
    with refused(InputError, field=field):
        pa10.forward(*arguments)
