# SPDX-License-Identifier: Apache-2.0
"""Mechanisms as Gymnasium environments: its own check, one among many bit for bit, tasks that can be done."""

import numpy as np
import pytest

from ada_dynamics.dynamics.dynamics import stacked_poses

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed")
from gymnasium.utils.env_checker import check_env  # noqa: E402

import ada_dynamics as ada  # noqa: E402
import ada_dynamics.gym as adapter  # noqa: E402

NAME = "ada/FiveBarReach-v0"


def test_gymnasium_finds_nothing_wrong():
    check_env(gymnasium.make(NAME).unwrapped, skip_render_check=True)


def test_one_is_the_same_alone_and_among_others_through_ends_and_beginnings():
    many, rng = gymnasium.make_vec(NAME, num_envs=5), np.random.default_rng(0)
    alone = gymnasium.make_vec(NAME, num_envs=1)
    many.max_episode_steps = alone.max_episode_steps = 7
    first, _ = many.reset(seed=11)
    own, _ = alone.reset(seed=14)
    assert np.array_equal(first[3], own[0])
    ended = 0
    for _ in range(25):
        action = rng.uniform(-1.0, 1.0, many.action_space.shape)
        seen, mine = many.step(action), alone.step(action[3:4])
        for all_of_them, of_one in zip(seen[:4], mine[:4], strict=True):
            assert np.array_equal(all_of_them[3], of_one[0])
        ended += int(mine[2][0] or mine[3][0])
    assert ended == 3
    assert np.max(many.sim.dynamics.constraints.closure_error(many.batch.q)) < 1e-9


def test_the_linkage_reaches_goals_by_a_law_that_its_jacobian_gives():
    many = adapter.FiveBarReach(16)
    seen, _ = many.reset(seed=0)
    for _ in range(many.max_episode_steps - 1):
        way, speed = seen[:, 6:8], 10.0 * seen[:, 2:4]
        J = many.dynamics.jacobian("left_rod", many.batch.q, coordinates="actuated")
        lever = (many.tips - stacked_poses(many.dynamics, many.batch.q)[:, many.rod][:, [0, 2], 3])[:, None]
        across = np.stack([lever[:, 0, 1], -lever[:, 0, 0]], axis=1)[:, :, None] * J[:, 4:5, :]
        of_tip = J[:, [0, 2], :] + across
        push = np.einsum("nij,ni->nj", of_tip, 150.0 * way) - 1.5 * speed
        weight = (
            many.dynamics.constraints.tangent_map(many.batch.q, "actuated").swapaxes(1, 2)
            @ (many.dynamics.gravity(many.batch.q)[..., None])
        )
        seen, *_ = many.step((push + weight[..., 0]) / many.effort_limit)
    assert np.median(np.linalg.norm(seen[:, 6:8], axis=1)) < 0.01


class Chain(adapter.MechanismVectorEnv):
    """A passive chain of four links; its time step is so long that it gains energy."""

    effort_limit, observation_size, step_length, max_episode_steps = 0.0, 4, 2e-2, 1000

    def build_model(self):
        return ada.load("planar_4r"), np.array([1.0, 0.5, 0.3, 0.2])

    def initial_configuration(self, i, rng):
        return self.home

    def observe(self):
        return self.batch.q.copy()

    def evaluate(self, action):
        return np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=bool)


@pytest.mark.parametrize("number", [1, 3])
def test_an_environment_that_gains_energy_raises_a_warning(number):
    chains = Chain(number)
    chains.reset(seed=0)
    with pytest.warns(ada.IntegrationAccuracyWarning):
        for _ in range(200):
            chains.step(np.zeros(chains.action_space.shape))
