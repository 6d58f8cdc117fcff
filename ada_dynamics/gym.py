# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops as Gymnasium environments, vectorized in the SIMD lanes of a processor.

    import gymnasium, ada_dynamics.gym

    many = gymnasium.make_vec("ada/FiveBarReach-v0", num_envs=1024)
    one = gymnasium.make("ada/FiveBarReach-v0")

Environments are bitwise reproducible: number i of a vector with seed s equals a single environment with seed s + i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.coordinates import velocities_of
from ada_dynamics.dynamics.dynamics import stacked_poses
from ada_dynamics.model import Model
from ada_dynamics.resources import how_to_install
from ada_dynamics.robots.mechanisms import five_bar
from ada_dynamics.simulation import Simulation

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError:
    raise ImportError(f"Gymnasium is not installed: {how_to_install('gym')}") from None

Flags = NDArray[np.bool_]


class MechanismVectorEnv(VectorEnv, ABC):  # type: ignore[misc]
    """Vector environment of a mechanism. The effort of a motor is `bias_effort` plus the action times `effort_limit`.

    Subclasses define the class variables and the abstract methods.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}
    effort_limit: ClassVar[float]  # of each motor [N m, N]
    observation_size: ClassVar[int]  # length of an observation
    step_length: ClassVar[float] = 2e-3  # [s]
    steps: ClassVar[int] = 10  # integration steps per action
    max_episode_steps: ClassVar[int] = 200  # actions per episode

    def __init__(self, num_envs: int = 1, **_: Any) -> None:
        """Initialize with the number of environments."""
        self.num_envs = num_envs
        self.model, self.home = self.build_model()
        self.sim = Simulation(self.model, self.home, integrator="semi_implicit", step=self.step_length)
        self.dynamics = self.sim.dynamics
        self.motors = np.array(velocities_of(self.model, self.model.actuated))
        self.single_action_space = spaces.Box(-1.0, 1.0, (len(self.motors),), np.float64)
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (self.observation_size,), np.float64)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._rngs = [np.random.default_rng(i) for i in range(num_envs)]
        self.batch = self.sim.batch(np.tile(self.home, (num_envs, 1)))
        self._episode_steps, self._ended = np.zeros(num_envs, dtype=int), np.zeros(num_envs, dtype=bool)
        self._tau = np.zeros((num_envs, self.model.nv))
        self.setup()

    # --- task ---------------------------------------------------------------------------------------------------------
    @abstractmethod
    def build_model(self) -> tuple[Model, Array]:
        """Mechanism, and its home configuration with closed loops."""

    def setup(self) -> None:
        """Set up task data after the initialization."""

    @abstractmethod
    def initial_configuration(self, i: int, rng: np.random.Generator) -> Array:
        """Initial configuration of an episode of environment i, at rest."""

    def update(self) -> None:
        """Compute the quantities that both `observe` and `evaluate` need, after each change of the states."""

    @abstractmethod
    def observe(self) -> Array:
        """Observations, (N, observation_size)."""

    @abstractmethod
    def evaluate(self, action: Array) -> tuple[Array, Flags]:
        """Rewards (N,), and True for each failed environment."""

    bias_effort: Array | float = 0.0  # motor efforts at zero action

    # --- Gymnasium interface ------------------------------------------------------------------------------------------
    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Restart all environments; number i is seeded with seed + i, or with seed[i]."""
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
            self._rngs = [np.random.default_rng(one) for one in seeds]
        self._restart(np.arange(self.num_envs))
        return self.observe(), {}

    def step(self, actions: Array) -> tuple[Array, Array, Flags, Flags, dict[str, Any]]:
        """Apply an action to each environment; finished episodes restart instead, with reward 0."""
        given = np.asarray(actions, dtype=np.float64).reshape(self.num_envs, len(self.motors))
        given = np.minimum(np.maximum(given, -1.0), 1.0)  # np.clip takes three times as long
        begun = self._ended.nonzero()[0]
        self._tau[:, self.motors] = self.bias_effort + self.effort_limit * given
        self.batch.run(self.steps, self._tau)
        self._episode_steps += 1
        lost = self.batch.has_failed.nonzero()[0]
        if len(lost):
            self.batch.reset(lost, np.tile(self.home, (len(lost), 1)))
        self.update()
        rewards, failed = self.evaluate(given)
        rewards[lost], failed[lost] = -1.0, True
        truncated = (self._episode_steps >= self.max_episode_steps) & ~failed
        if len(begun):
            self._restart(begun)
            rewards[begun], failed[begun], truncated[begun] = 0.0, False, False
        self._ended = failed | truncated
        return self.observe(), rewards, failed, truncated, {}

    def _restart(self, which: NDArray[np.intp]) -> None:
        self.batch.reset(which, np.array([self.initial_configuration(int(i), self._rngs[i]) for i in which]))
        self._episode_steps[which], self._ended[which] = 0, False
        self.update()


class FiveBarReach(MechanismVectorEnv):
    """Move the tip of a five-bar linkage in a vertical plane to a random goal."""

    effort_limit, observation_size = 8.0, 8

    def build_model(self) -> tuple[Model, Array]:
        """Links of 0.3 and 0.5 m, pivots 0.2 m apart."""
        model, q = five_bar()
        return model, np.asarray(q)

    def setup(self) -> None:
        """Find the frame of the tip and allocate the goals."""
        self.goals = np.zeros((self.num_envs, 2))
        self.rod = list(self.model.tree.frames).index("left_rod")
        self._length = float(self.model.loops["tip"].parent_xyz[2])

    def initial_configuration(self, i: int, rng: np.random.Generator) -> Array:
        """Home configuration; the goal is in the workspace of both arms."""
        self.goals[i] = rng.uniform((-0.15, 0.45), (0.35, 0.65))
        return self.home

    def update(self) -> None:
        """Update the positions of the tips, x and z, (N, 2) [m], and their distances to the goals."""
        rods = stacked_poses(self.dynamics, self.batch.q)[:, self.rod, ::2]
        self.tips = np.asarray(rods[..., 3] + self._length * rods[..., 2])
        self._error = self.goals - self.tips

    def observe(self) -> Array:
        """Angles and velocities of the motors, position of the tip, and vector to the goal."""
        batch, motors = self.batch, self.motors
        return np.concatenate([batch.q[:, motors], 0.1 * batch.v[:, motors], self.tips, self._error], axis=1)

    def evaluate(self, action: Array) -> tuple[Array, Flags]:
        """Negative distance [m] minus an effort penalty; no failures."""
        away = np.sqrt((self._error * self._error).sum(axis=1))
        return -away - 1e-3 * (action * action).sum(axis=1), np.zeros(self.num_envs, dtype=bool)


class SingleMechanismEnv(gymnasium.Env):  # type: ignore[misc]
    """A single environment of a vector environment, such as `SingleMechanismEnv(FiveBarReach)`."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, many: type[MechanismVectorEnv] = FiveBarReach, **_: Any) -> None:
        """Initialize with the class of the vector environment."""
        self.vector_env = many(1)
        self.observation_space = self.vector_env.single_observation_space
        self.action_space = self.vector_env.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Restart the episode."""
        super().reset(seed=seed)
        found, info = self.vector_env.reset(seed=seed)
        return found[0], info

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Apply an action."""
        found, rewards, failed, truncated, info = self.vector_env.step(np.asarray(action)[None])
        return found[0], float(rewards[0]), bool(failed[0]), bool(truncated[0]), info


gymnasium.register(
    "ada/FiveBarReach-v0",
    entry_point="ada_dynamics.gym:SingleMechanismEnv",
    vector_entry_point="ada_dynamics.gym:FiveBarReach",
)
