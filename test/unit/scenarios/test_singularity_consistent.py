# SPDX-License-Identifier: Apache-2.0
"""Euler joints pass their singular pose by the singularity-consistent method, as a quaternion does."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.model.joints import SphericalEuler
from ada_experiments.singularity_consistent import (
    angles_of,
    consistent_rates,
    integrate_singularity_consistent,
    quaternion_of,
)


def arm(kind, inertia=(0.09, 0.08, 0.03)):
    """A rod on a ball joint, with a second one on a hinge."""
    builder = ada.Builder("arm").link("base").link("rod", 1.0, (0.05, 0.02, 0.4), inertia)
    builder.link("tip", 0.5, (0.0, 0.0, 0.2), (0.01, 0.01, 0.001))
    builder.joint("ball", kind, "base", "rod").joint("hinge", "revolute", "rod", "tip", (0, 0, 0.5), axis=(1, 0, 0))
    return builder.build()


def passage(distance):
    """A state of the arm on a quaternion 0.2 s before its second angle is least, by running back from there."""
    model = arm("spherical")
    w = np.array([2.0 * math.cos(0.2), -2.0 * math.sin(0.2), 1.0, 0.5])
    q = model.neutral()
    q[model.q_index("ball")], q[model.q_index("hinge")] = quaternion_of(np.array([0.3, distance, 0.2])), 0.4
    back = ada.Simulation(model, q, -w, integrator="dop853", tolerance=1e-13, step=0.2).run(0.2)
    return model, back.q[-1], -back.v[-1]


def test_the_rates_are_those_of_the_inverse_times_the_determinant_and_finite_in_the_lock():
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, w = rng.uniform(-4.0, 4.0, 3), rng.normal(size=3)
        S = np.array([column.angular for column in SphericalEuler().subspace(q.tolist())]).T
        rates, time = consistent_rates(q.tolist(), w.tolist())
        assert time == pytest.approx(abs(np.linalg.det(S)), abs=1e-15)
        assert np.abs(rates - time * np.linalg.solve(S, w)).max() < 1e-13
    rates, time = consistent_rates([0.3, 0.0, 0.2], [1.0, 2.0, 3.0])
    assert time == 0.0 and np.isfinite(rates).all()


@pytest.mark.parametrize("middle", [0.7, -0.7, 2.0, 1e-3, 0.0])
def test_consistent_rates_turn_the_body_as_fast_as_their_time_goes_by(middle):
    angles, w = np.array([0.4, middle, -1.1]), np.array([0.3, -0.5, 0.8])
    rates, time = consistent_rates(angles.tolist(), w.tolist())
    assert time == pytest.approx(abs(math.sin(middle)))
    e = 1e-6
    ends = [Rotation.from_euler("ZYZ", angles + s * e * rates) for s in (-1.0, 1.0)]
    turned = (ends[0].inv() * ends[1]).as_rotvec() / (2.0 * e)
    np.testing.assert_allclose(turned, time * w, atol=1e-9)
    if middle == 0.0:
        assert np.abs(rates).max() > 0.1, "in the lock time stands, and the angles go on"


@pytest.mark.parametrize("distance", [0.1, 1e-6])
def test_a_passage_is_that_of_a_quaternion_however_near_the_lock(distance):
    model, q, w = passage(distance)
    true = ada.Simulation(model, q, w, integrator="dop853", tolerance=1e-13, step=0.4).run(0.4)
    euler = arm("spherical_euler")
    start = euler.neutral()
    start[euler.q_index("ball")], start[euler.q_index("hinge")] = angles_of(q[model.q_index("ball")]), q[-1]
    off = {}
    for step in (0.02, 0.01):
        motion = integrate_singularity_consistent(euler, start, w, 0.4, step)
        assert motion.reached and motion.t[-1] == pytest.approx(0.4, abs=1e-12)
        off[step] = np.linalg.norm(model.difference(true.q[-1], motion.twin_positions()[-1]))
        # as many more steps as ln(1 / distance) says: s = 2/ω asinh(ω t / δ), in angles that are small
        assert (len(motion.t) - 1) * step < 2.0 + 2.0 / 2.0 * math.log(1.0 / distance)
        assert motion.q[:, euler.q_index("ball")][:, 1].min() < 1.01 * distance
    assert off[0.01] < 1e-6 and off[0.01] < off[0.02] / 10.0  # of fourth order


def test_in_the_lock_itself_time_stands_and_it_is_said():
    builder = ada.Builder("top").link("base").link("top", 1.0, inertia=(0.1, 0.1, 0.1))
    model = builder.joint("ball", "spherical_euler", "base", "top").build(gravity=(0, 0, 0))
    motion = integrate_singularity_consistent(model, [0.3, 0.5, 0.0], [0.0, -1.0, 0.0], 1.0, 0.05, most_steps=400)
    assert not motion.reached
    # θ2 = 2 atan(tan(θ2(0)/2) exp(-s)), t = θ2(0) - θ2
    s = 0.05 * np.arange(len(motion.t))
    second = 2.0 * np.arctan(np.tan(0.25) * np.exp(-s))
    assert np.abs(motion.q[:, 1] - second).max() < 1e-7 and np.abs(motion.t - (0.5 - second)).max() < 1e-7
