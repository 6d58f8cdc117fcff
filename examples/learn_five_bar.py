# SPDX-License-Identifier: Apache-2.0
"""A five-bar linkage learns to bring its tip to any place: evolution strategies, on one processor, in minutes."""

import sys

import gymnasium
import numpy as np

import ada_dynamics.gym  # noqa: F401  registers the environments

PAIRS, EPISODES, HIDDEN = 32, 8, 16  # of perturbations; with each of them; neurons
SPREAD, RATE = 0.1, 0.05
generations = int(sys.argv[1]) if len(sys.argv) > 1 else 60
rng = np.random.default_rng(0)
many = gymnasium.make_vec("ada/FiveBarReach-v0", num_envs=2 * PAIRS * EPISODES)
many.max_episode_steps, SCALE = 60, np.array([1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 5.0, 5.0])
sizes = (8 * HIDDEN, HIDDEN, 2 * HIDDEN, 2)


def act(policies, seen):
    """Actions of many policies, each for its own episodes."""
    W, b, V, c = np.split(policies, np.cumsum(sizes)[:-1], axis=1)
    seen = (SCALE * seen).reshape(len(policies), -1, 8)
    inner = np.tanh(seen @ W.reshape(-1, 8, HIDDEN) + b[:, None])
    return np.tanh(inner @ V.reshape(-1, HIDDEN, 2) + c[:, None]).reshape(-1, 2)


def returns(policies, seed):
    """Mean reward of each policy, all on the same goals, and where the tips were at the end."""
    goals = [seed + i % (many.num_envs // len(policies)) for i in range(many.num_envs)]
    seen, _ = many.reset(seed=goals)
    total = np.zeros(many.num_envs)
    for _ in range(many.max_episode_steps - 1):
        seen, reward, *_ = many.step(act(policies, seen))
        total += reward
    away = np.linalg.norm(seen[:, 6:8], axis=1)
    return total.reshape(len(policies), -1).mean(axis=1) / many.max_episode_steps, away


policy, momentum, history = 0.1 * rng.normal(size=sum(sizes)), np.zeros(sum(sizes)), []
for generation in range(generations):
    noise = rng.normal(size=(PAIRS, policy.size))
    reward, _ = returns(policy + SPREAD * np.vstack([noise, -noise]), 1000 * generation)
    ranks = np.argsort(np.argsort(reward)) / (len(reward) - 1) - 0.5
    momentum = 0.8 * momentum + (ranks[:PAIRS] - ranks[PAIRS:]) @ noise / PAIRS / SPREAD
    policy = policy + RATE * momentum
    history.append(reward.mean())
    if generation % 10 == 9:
        print(f"generation {generation + 1}: mean reward {history[-1]:.3f}")
_, before = returns(0.0 * policy[None], 10**6)
_, after = returns(policy[None], 10**6)
far, near = 100.0 * np.median(before), 100.0 * np.median(after)
print(f"median distance of {many.num_envs} unseen goals: {far:.1f} cm without learning, {near:.1f} cm with it")
