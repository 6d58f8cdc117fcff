# SPDX-License-Identifier: Apache-2.0
"""Efforts of motors, projections and what multipliers reach, on numbers: against pseudo-inverses and paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.loops import projection, singular
from ada_dynamics.loops.actuation import motor_efforts
from ada_dynamics.loops.numbers import LoopNumbers
from ada_dynamics.loops.uniqueness import REACHED, at_pose, common

Array = Any


def chain(motors: list[str], base: str = "fixed") -> ada.Model:
    builder, parent = ada.Builder("chain").link("base", 1.0, inertia=(1, 1, 1)), "base"
    for i in range(4):
        builder.link(f"link_{i}", 1.0, inertia=(1, 1, 1))
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", (0, 0, 1), axis=(0, 1, 0))
        parent = f"link_{i}"
    return builder.actuated(motors).build(base=base)


def motions(n: int, m: int, seed: int = 0) -> Array:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(n, m)))[0]


@pytest.mark.parametrize("m", [1, 2, 3])
def test_motors_do_what_all_joints_would_with_the_least_efforts(m: int) -> None:
    model, N, wanted = chain(["joint_3", "joint_0", "joint_1"]), motions(4, m), np.array([1.0, -2.0, 0.5, 3.0])
    found = motor_efforts(model, N, wanted)
    expected = np.zeros(4)
    expected[[0, 1, 3]] = np.linalg.pinv(N[[0, 1, 3]].T) @ (N.T @ wanted)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_allclose(N.T @ found, N.T @ wanted, atol=1e-13)


def test_a_motor_beside_a_motion_that_it_cannot_drive_does_nothing() -> None:
    model = chain(["joint_0"])
    N = np.array([[0.0, 1.0], [0.6, 0.0], [0.8, 0.0], [0.0, 0.0]])
    found = motor_efforts(model, N, np.array([2.0, 4.0, -3.0, 7.0]))
    np.testing.assert_allclose(found, [2.0, 0.0, 0.0, 0.0], atol=1e-15)
    with pytest.raises(InputError) as caught:
        motor_efforts(model, N, np.array([2.0, 4.0, 3.0, 0.0]))
    said = str(caught.value)
    assert "model 'chain' is under-actuated: no effort of its motors (joint_0)" in said
    assert "Nothing drives the motion of joint_1, joint_2;" in said
    # what is left undone by rounding is none
    motor_efforts(model, N, np.array([2.0, 4.0, -3.0 + 4e-8, 0.0]))
    with pytest.raises(InputError):
        motor_efforts(model, N, np.array([2.0, 4.0, -3.0 + 8e-8, 0.0]))


def test_a_floating_base_gets_what_its_motors_leave_undone_and_nothing_else() -> None:
    model, rng = chain(["root_joint", "joint_1", "joint_2"], base="floating"), np.random.default_rng(5)
    own = [model.v_index(name).start for name in ("joint_1", "joint_2")]
    free = model.v_index("root_joint")
    wanted = rng.normal(size=model.nv)
    # the motors tell both motions apart
    N = motions(model.nv, 2)
    found = motor_efforts(model, N, wanted)
    assert not found[free].any()
    np.testing.assert_allclose(found[own], np.linalg.solve(N[own].T, N.T @ wanted), atol=1e-12)
    # of five motions they drive two
    N = motions(model.nv, 5)
    found = motor_efforts(model, N, wanted)
    np.testing.assert_allclose(N.T @ found, N.T @ wanted, atol=1e-12)
    across = np.linalg.svd(N[own])[2][2:].T  # combinations of the motions that the motors do not feel
    least = np.linalg.pinv(across.T @ N[free].T) @ (across.T @ N.T @ wanted)
    np.testing.assert_allclose(found[free], least, atol=1e-12)
    assert not np.delete(found, [*range(free.start, free.stop), *own]).any()


def test_what_a_wrench_of_no_motion_reaches_is_not_unique() -> None:
    """Three rods in a plane: what acts across it only presses the pins against each other."""
    builder, parent = ada.Builder("rods").link("base"), "base"
    for i in range(3):
        builder.link(f"rod_{i}", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.01))
        builder.joint(f"pin_{i}", "revolute", parent, f"rod_{i}", (0, 0, float(i > 0)), axis=(0, 1, 0))
        parent = f"rod_{i}"
    builder.loop("closing", "revolute", parent, "base", (0, 0, 1), child_xyz=(1, 0, 0), axis=(0, 1, 0))
    numbers = LoopNumbers(builder.build())
    upright = np.array([0.4, np.pi / 2 - 0.4, np.pi / 2 + 0.4])
    found = at_pose(numbers, upright, 2)
    assert list(found) == ["pin_0", "pin_1", "pin_2", "closing"]
    assert all(flags.tolist() == [True, False, True, False, True, False] for flags in found.values())
    # were both conditions in the plane dependent, nothing would be unique but the moment about the pin without a motor
    fewer = at_pose(numbers, upright, 0)
    assert fewer["closing"].tolist() == [False, False, False, False, True, False]
    both = common([found, fewer])
    assert both["pin_0"].tolist() == (found["pin_0"] & fewer["pin_0"]).tolist()
    assert 0.0 < REACHED < 1e-6


@pytest.mark.parametrize("repeated", [0, 1])
def test_projections_are_those_of_kinetic_energy(repeated: int) -> None:
    rng = np.random.default_rng(9)
    A, J = rng.normal(size=(5, 5)), rng.normal(size=(2, 5))
    M, gap, v = A @ A.T + np.eye(5), rng.normal(size=2), rng.normal(size=5)
    J, gap = (np.concatenate([x, x[:repeated]]) for x in (J, gap))
    at = projection.metric(M, J, 2)
    inverse = np.linalg.inv(M)
    closing = np.linalg.pinv(J @ inverse @ J.T) @ gap
    np.testing.assert_allclose(projection.correction(at, gap), -inverse @ J.T @ closing, atol=1e-12)
    kept = v - inverse @ J.T @ np.linalg.pinv(J @ inverse @ J.T) @ (J @ v)
    np.testing.assert_allclose(projection.allowed(at, v), kept, atol=1e-12)
    assert at.kept.sum() == 2
    # a link without inertia that a condition holds is no obstacle; a motion that nothing resists is one
    M[0], M[:, 0] = 0.0, 0.0
    held = projection.allowed(projection.metric(M, J, 2), v)
    np.testing.assert_allclose(J @ held, 0.0, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        projection.metric(np.zeros((5, 5)), J, 2)


@pytest.mark.parametrize("far", [1.0, 1.1e-4, 0.9e-4])
def test_states_that_may_be_singular_are_picked_out_of_a_batch(far: float) -> None:
    """By the smallest singular value that the conditions have in general; where nothing can be said, all of them."""
    M = np.array([np.eye(3)] * 4)
    J = np.zeros((4, 3, 3))
    J[:, 0, 0], J[:, 1, 1], J[:, 2, 1] = 1.0, [1.0, far, 2.0, 1.0], [0.0, 0.0, 0.0, 1.0]
    systems = singular.System(M, np.zeros((4, 3)), J, np.zeros((4, 3)))
    assert singular.suspects(systems, 2).tolist() == ([] if far > singular.SINGULAR else [1])
    assert singular.suspects(systems, 0).tolist() == []
    M[3, 2, 2] = 0.0
    assert singular.suspects(systems, 2).tolist() == [0, 1, 2, 3]
    M[3, 2, 2], J[2, 0, 0] = 1.0, np.nan
    assert 2 in singular.suspects(systems, 2)
