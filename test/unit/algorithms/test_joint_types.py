# SPDX-License-Identifier: Apache-2.0
"""Every joint type is consistent with its own pose, and with tables 2.1 and 2.2 of Takahashi 2012."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada
from ada_dynamics.algorithms import kinematics
from ada_dynamics.model.joints import (
    Continuous,
    Cylindrical,
    Fixed,
    Floating,
    FloatingEuler,
    Helical,
    JointType,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    SphericalEuler,
    Universal,
)
from ada_experiments.joint_tables import mended_spherical, own, printed_spherical

ScipyRotation = pytest.importorskip("scipy.spatial.transform").Rotation

Array = NDArray[Any]
ALL: list[JointType] = [
    *(cls(k) for cls in (Revolute, Continuous, Prismatic, Cylindrical) for k in range(3)),
    *(Helical(k, pitch) for k, pitch in enumerate((0.2, -0.05, 1.5))),
    *(cls() for cls in (Fixed, Universal, Spherical, SphericalEuler, Planar, Floating, FloatingEuler)),
]
MOVING = [j for j in ALL if j.nv]
seeds = st.integers(0, 10**6)
few = settings(max_examples=10)  # each one is a random position with random velocities

# Central differences with this step in 80-bit floats: h² = 1e-10 of truncation, 1e-19/h = 1e-14 of rounding.
STEP = np.longdouble(1e-5)
DIFFERENCE = 1e-8


def names(joints: Sequence[JointType]) -> list[str]:
    return [j.kind + (f"_{'xyz'[j.k]}" if hasattr(j, "k") else "") for j in joints]


def random_position(joint: JointType, rng: np.random.Generator) -> Array:
    """Clear of the singularities, where the duals grow."""
    endless = np.full(joint.nq, np.inf)
    for _ in range(100):
        q = joint.random(rng, -endless, endless)
        if all(float(g) > 0.01 for g in joint.guards(q.tolist()) if "euler" in joint.kind):
            return q
    raise AssertionError("no usable position found")


def pose(joint: JointType, q: Any) -> tuple[Array, Array]:
    X = joint.pose(tuple(q))
    return np.array(X.rotation.matrix()), np.array(X.position)


def columns(vectors: Sequence[Any]) -> Array:
    return np.array([[*a, *b] for a, b in vectors], dtype=float).reshape(-1, 6).T


def body_velocity(joint: JointType, q: Array, rate: Array) -> Array:
    """Velocity of the child in its own axes, from differences of its pose along q̇."""
    q, rate = q.astype(np.longdouble), rate.astype(np.longdouble)
    R, _ = pose(joint, q)
    (R0, p0), (R1, p1) = pose(joint, q - STEP * rate), pose(joint, q + STEP * rate)
    spin = R.T @ ((R1 - R0) / (2 * STEP))
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0], *(R.T @ ((p1 - p0) / (2 * STEP)))], dtype=float)


@pytest.mark.parametrize("joint", ALL, ids=names(ALL))
@few
@given(seed=seeds)
def test_force_subspaces_are_dual_to_the_motion_subspace(joint: JointType, seed: int) -> None:
    q = random_position(joint, np.random.default_rng(seed)).tolist()
    S, active, T = columns(joint.subspace(q)), columns(joint.active(q)), columns(joint.constraint(q))
    assert S.shape == active.shape == (6, joint.nv)
    assert T.shape == (6, 6 - joint.nv)
    assert np.max(np.abs(active.T @ S - np.eye(joint.nv)), initial=0.0) < 1e-13
    assert np.max(np.abs(T.T @ S), initial=0.0) < 1e-15
    assert np.linalg.matrix_rank(np.hstack([active, T])) == 6


@pytest.mark.parametrize("joint", MOVING, ids=names(MOVING))
@few
@given(seed=seeds)
def test_the_motion_subspace_is_the_rate_of_the_pose_and_the_bias_is_its_own_rate(joint: JointType, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = random_position(joint, rng), rng.normal(size=joint.nv)
    rate = np.array(joint.position_rate(q.tolist(), v.tolist()))
    assert rate.shape == (joint.nq,)
    ours = joint.relative_velocity(q.tolist(), v.tolist())
    assert np.max(np.abs([*ours.angular, *ours.linear] - body_velocity(joint, q, rate))) < DIFFERENCE
    assert np.max(np.abs(columns(joint.subspace(q.tolist())) @ v - [*ours.angular, *ours.linear])) < 1e-14
    h = 1e-5  # 64 bits: h² = 1e-10 and 1e-16/h = 1e-11
    ahead, behind = (columns(joint.subspace((q + s * rate).tolist())) @ v for s in (h, -h))
    ours = joint.bias(q.tolist(), v.tolist())
    error = np.abs([*ours.angular, *ours.linear] - (ahead - behind) / (2.0 * h))
    # the third derivative grows with the velocities
    assert np.max(error) < 1e-8 * (1.0 + np.max(np.abs(v)) ** 4)


@pytest.mark.parametrize("joint", MOVING, ids=names(MOVING))
@few
@given(seed=seeds)
def test_integrating_starts_along_the_position_rate(joint: JointType, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, v = random_position(joint, rng), rng.normal(size=joint.nv)
    h = 1e-5
    slope = (joint.integrate(q, h * v) - joint.integrate(q, -h * v)) / (2.0 * h)
    error = np.abs(slope - joint.position_rate(q.tolist(), v.tolist()))
    assert np.max(error) < 1e-8 * (1.0 + np.max(np.abs(v)) ** 3)


@pytest.mark.parametrize("joint", MOVING, ids=names(MOVING))
@pytest.mark.parametrize("size", [0.0, 1e-300, 3.1e-3, 3.2e-3, 1.0, np.pi - 1e-6, np.pi - 1e-9])
def test_difference_undoes_integrate(joint: JointType, size: float) -> None:
    rng = np.random.default_rng(11)
    for _ in range(5):
        q, step = random_position(joint, rng), rng.normal(size=joint.nv)
        turn = step[-3:] if joint.nv in (3, 6) and not isinstance(joint, Planar) else step
        step = step * (size / np.linalg.norm(turn))
        moved = joint.integrate(q, step)
        assert joint.problem(moved) is None or "Euler" in str(joint.problem(moved))
        # Near π the rotation's direction is known to 1e-16 of the quaternion, so the step is too. For tiny steps the
        # error is that of the coordinates, of the order of 1e-16 absolute.
        assert np.max(np.abs(joint.difference(q, moved) - step)) < 1e-14 + 1e-14 * np.max(np.abs(step))
        back = joint.integrate(q, joint.difference(q, moved))
        assert np.max(np.abs(back - moved)) < 1e-14 * (1.0 + np.max(np.abs(moved)))


def test_the_printed_spherical_row_is_wrong_in_two_places_and_ours_mends_them() -> None:
    q = [0.3, 0.8, -0.5]
    ours, printed, mended = own(SphericalEuler(), q), printed_spherical(q), mended_spherical(q)
    assert np.max(np.abs(ours.motion - mended.motion)) < 1e-15
    assert np.max(np.abs(ours.active - mended.active)) < 1e-15
    assert mended.off < 1e-15
    # either one alone does not do
    for row in (printed, printed._replace(motion=mended.motion), printed._replace(active=mended.active)):
        assert row.off > 0.1


@few
@given(seed=seeds)
def test_orientations_are_the_documented_sequences_of_turns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.uniform(-3.0, 3.0, 6)
    cases = [
        (SphericalEuler(), a[:3], ScipyRotation.from_euler("ZYZ", a[:3])),
        (FloatingEuler(), a, ScipyRotation.from_euler("ZYX", a[3:])),
        (Universal(), a[:2], ScipyRotation.from_euler("ZY", a[:2])),
        (Planar(), a[:3], ScipyRotation.from_euler("Z", a[2])),
        (Spherical(), a[:4] / np.linalg.norm(a[:4]), ScipyRotation.from_quat(a[:4])),
    ]
    for joint, q, expected in cases:
        assert np.max(np.abs(pose(joint, q.tolist())[0] - np.reshape(expected.as_matrix(), (3, 3)))) < 1e-14


def ball(kind: str) -> ada.Model:
    builder = ada.Builder("ball").link("base").link("ball", 2.0, (0.1, 0.2, 0.3), (0.3, 0.4, 0.5))
    return builder.joint("hip", kind, "base", "ball").build()


@pytest.mark.parametrize("off", [0.0, np.pi, -np.pi, 5e-9])
def test_euler_angles_report_their_singularity(off: float) -> None:
    box = ada.Builder("box").link("box", 1.0, (0, 0, 0), (0.1, 0.2, 0.25)).build("floating_euler")
    for model, joint, at in ((ball("spherical_euler"), "hip", 0.0), (box, "root_joint", np.pi / 2)):
        dynamics, zero, q = ada.Dynamics(model), np.zeros(model.nv), np.full(model.nv, 0.2)
        for angle in (at + off, at + 1e-3):
            q[-2] = angle
            if angle == at + off:
                with refused(ada.InputError, joint=joint):
                    dynamics.forward(q, zero, zero)
            else:
                assert np.isfinite(dynamics.forward(q, zero, zero)).all()


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("kernel", ["specialised", "generic"])
def test_quaternions_off_by_rounding_are_normalised_and_others_refused(base: str, kernel: str) -> None:
    if base == "floating":
        model = ada.Builder("box").link("box", 1.0, (0.1, 0, 0), (0.1, 0.2, 0.25)).build("floating")
    else:
        model = ball("spherical")
    dynamics, zero = ada.Dynamics(model, kernel=kernel), np.ones(model.nv)
    q = model.random_state(np.random.default_rng(0))[0]
    exact = dynamics.forward(q, zero, zero)
    for factor in (1.0 + 0.9e-6, 1.0 - 0.9e-6):
        off = q.copy()
        off[-4:] *= factor
        assert np.max(np.abs(dynamics.forward(off, zero, zero) - exact)) < 1e-13
    for factor in (1.0 + 1.1e-6, 1.0 - 1.1e-6, 0.0, 2.0):
        off = q.copy()
        off[-4:] *= factor
        with refused(ada.InputError, joint=model.joint_names[0]):
            dynamics.forward(off, zero, zero)


@pytest.mark.parametrize("tilt", [1e-12, 4e-8, 1e-7])
def test_an_axis_that_is_slightly_tilted_stays_so(tilt: float) -> None:
    for sign in (1.0, -1.0):
        axis = np.array([0.0, sign * np.cos(tilt), np.sin(tilt)])
        builder = ada.Builder("one").link("base").link("tip", 1.0)
        model = builder.joint("j", "revolute", "base", "tip", axis=axis).build()
        wanted = ScipyRotation.from_rotvec(2.0 * axis).as_matrix()
        for tree in (model.tree, model.uniform_tree):
            ours = np.array(kinematics.link_pose(tree, [2.0], "tip").rotation.matrix())
            # two constant rotations, each with its ones and zeros rounded within 1e-15
            assert np.max(np.abs(ours - wanted)) < 3e-15
