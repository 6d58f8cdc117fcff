# SPDX-License-Identifier: Apache-2.0
"""Wrench profiles: values, pieces, where they act, and what is refused."""

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.algorithms import aba
from ada_dynamics.algorithms.applied_wrench import applied_loads
from ada_dynamics.model.builder import chain_3d
from ada_dynamics.simulation.profiles import constant, half_sine, rectangle, table

W = [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]


def test_a_half_sine_has_its_peak_in_the_middle_and_the_impulse_of_its_integral():
    hit = half_sine("hand", W, 1.0, 0.1)
    np.testing.assert_allclose(hit.at(1.05), W)
    assert not hit.at(0.999).any() and not hit.at(1.1).any() and not hit.at(1.2).any()
    t = np.linspace(1.0, 1.1, 20001)[:-1]
    impulse = sum(hit.at(x) for x in t) * (t[1] - t[0])
    np.testing.assert_allclose(impulse, 2 / np.pi * 0.1 * np.array(W), rtol=1e-7)


def test_a_rectangle_begins_with_its_start_and_ends_before_its_end():
    push = rectangle("hand", W, 0.5, 0.25)
    assert push.breaks() == (0.5, 0.75)
    assert not push.at(0.49).any() and not push.at(0.75).any()
    np.testing.assert_array_equal(push.at(0.5), W)
    np.testing.assert_array_equal(push.at(0.7499), W)


def test_a_table_is_straight_between_its_values_and_zero_outside():
    times, values = [0.0, 1.0, 3.0], np.array([[0.0] * 6, W, [4.0] * 6])
    given = table("hand", times, values)
    for t in np.linspace(0, 2.999, 50):
        expected = [np.interp(t, times, values[:, k]) for k in range(6)]
        np.testing.assert_allclose(given.at(t), expected, rtol=1e-14, atol=1e-15)
    assert not given.at(-0.1).any() and not given.at(3.0).any()
    assert given.breaks() == (0.0, 1.0, 3.0)


@pytest.mark.parametrize("frame", ["link", "world"])
def test_a_wrench_at_a_point_accelerates_like_its_sum_at_the_links_origin(frame):
    model = chain_3d(4)
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(2)
    q, v = model.random_state(rng)
    link, at = model.link_names[2], np.array([0.1, -0.2, 0.3])
    profile = constant(link, W, frame=frame, at=at)
    R = np.eye(3) if frame == "link" else dynamics.pose(link, q)[:3, :3].T
    force, moment = R @ W[:3], R @ W[3:] + np.cross(at, R @ W[:3])
    expected = dynamics.forward(q, v, np.zeros(model.nv), {link: [*force, *moment]})
    for tree in (model.tree, model.uniform_tree, model.full_tree):
        where = profile.resolve(model, tree)
        external = applied_loads(tree, [where, where], [0.25 * profile.at(0.0), 0.75 * profile.at(0.0)], q.tolist())
        found = aba.forward_dynamics(tree, q.tolist(), v.tolist(), [0.0] * model.nv, external)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
