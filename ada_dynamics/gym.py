# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops as Gymnasium environments: many at once on one processor, side by side in its lanes.

    import gymnasium, ada_dynamics.gym

    many = gymnasium.make_vec("ada/FiveBarReach-v0", num_envs=1024)
    one = gymnasium.make("ada/StewartBalance-v0")

An environment is the same, bit for bit, alone and among others: number i of many with seed s is one with seed s + i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.constraints.closed_configuration import close_loops
from ada_dynamics.constraints.coordinates import velocities_of
from ada_dynamics.extras import how_to_install
from ada_dynamics.model import Builder, Model
from ada_dynamics.model.edit import merge
from ada_dynamics.model.edit.parts import Parts
from ada_dynamics.robots.mechanisms import five_bar, stewart
from ada_dynamics.simulation import Simulation

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ModuleNotFoundError:
    raise ImportError(f"Gymnasium is not installed: {how_to_install('gym')}") from None

Flags = NDArray[np.bool_]


class Mechanisms(VectorEnv, ABC):  # type: ignore[misc]
    """One mechanism, many times. A motor gives `strongest` at an action of 1, beside what `resting` says."""

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}
    strongest: ClassVar[float]  # of each motor [N m] or [N]
    observed: ClassVar[int]  # numbers
    step_length: ClassVar[float] = 2e-3  # [s]
    steps: ClassVar[int] = 10  # of the simulation, for which an action holds
    longest: ClassVar[int] = 200  # actions in an episode

    def __init__(self, num_envs: int = 1, **_: Any) -> None:
        """Args: how many."""
        self.num_envs = num_envs
        self.model, self.home = self.made()
        self.sim = Simulation(self.model, self.home, integrator="semi_implicit", step=self.step_length)
        self.dynamics = self.sim.dynamics
        self.motors = np.array(velocities_of(self.model, self.model.actuated))
        self.single_action_space = spaces.Box(-1.0, 1.0, (len(self.motors),), np.float64)
        self.single_observation_space = spaces.Box(-np.inf, np.inf, (self.observed,), np.float64)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._rngs = [np.random.default_rng(i) for i in range(num_envs)]
        self.motions = self.sim.motions(np.tile(self.home, (num_envs, 1)))
        self._taken, self._ended = np.zeros(num_envs, dtype=int), np.zeros(num_envs, dtype=bool)
        self._tau = np.zeros((num_envs, self.model.nv))
        self.prepare()

    # --- a task ---------------------------------------------------------------------------------------------------
    @abstractmethod
    def made(self) -> tuple[Model, Array]:
        """The mechanism, and a pose with its loops closed."""

    def prepare(self) -> None:
        """Further preparations of a task, once everything else is there."""

    @abstractmethod
    def started(self, i: int, rng: np.random.Generator) -> Array:
        """A pose in which episode number i begins, at rest."""

    def moved(self) -> None:
        """Compute the quantities that both `observe` and `judge` need, after each change of the states."""

    @abstractmethod
    def observe(self) -> Array:
        """Observations, (N, observed)."""

    @abstractmethod
    def judge(self, action: Array) -> tuple[Array, Flags]:
        """Rewards, and which have failed."""

    resting: Array | float = 0.0  # efforts of the motors at an action of 0

    # --- Gymnasium's side -----------------------------------------------------------------------------------------
    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """All begin anew; number i draws from seed + i, or from seed[i]."""
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
            self._rngs = [np.random.default_rng(one) for one in seeds]
        self._begin(np.arange(self.num_envs))
        return self.observe(), {}

    def step(self, actions: Array) -> tuple[Array, Array, Flags, Flags, dict[str, Any]]:
        """An action for each; those whose episodes have ended begin anew instead, with reward 0."""
        given = np.asarray(actions, dtype=np.float64).reshape(self.num_envs, len(self.motors))
        given = np.minimum(np.maximum(given, -1.0), 1.0)  # np.clip takes three times as long
        begun = self._ended.nonzero()[0]
        self._tau[:, self.motors] = self.resting + self.strongest * given
        self.motions.run(self.steps, self._tau)
        self._taken += 1
        lost = self.motions.is_lost.nonzero()[0]
        if len(lost):
            self.motions.place(lost, np.tile(self.home, (len(lost), 1)))
        self.moved()
        rewards, failed = self.judge(given)
        rewards[lost], failed[lost] = -1.0, True
        truncated = (self._taken >= self.longest) & ~failed
        if len(begun):
            self._begin(begun)
            rewards[begun], failed[begun], truncated[begun] = 0.0, False, False
        self._ended = failed | truncated
        return self.observe(), rewards, failed, truncated, {}

    def _begin(self, which: NDArray[np.intp]) -> None:
        self.motions.place(which, np.array([self.started(int(i), self._rngs[i]) for i in which]))
        self._taken[which], self._ended[which] = 0, False
        self.moved()


class FiveBarReach(Mechanisms):
    """The tip of a five-bar linkage, in a vertical plane, to a place that is drawn anew for each episode."""

    strongest, observed = 8.0, 8

    def made(self) -> tuple[Model, Array]:
        """Links of .3 and .5 m, pivots .2 m apart."""
        model, q = five_bar()
        return model, np.asarray(q)

    def prepare(self) -> None:
        """Where the tip is on its rod, and room for the goals."""
        self.goals = np.zeros((self.num_envs, 2))
        self.rod = list(self.model.tree.frames).index("left_rod")
        self._length = float(self.model.loops["tip"].parent_xyz[2])

    def started(self, i: int, rng: np.random.Generator) -> Array:
        """At home; the goal is within reach of both arms."""
        self.goals[i] = rng.uniform((-0.15, 0.45), (0.35, 0.65))
        return self.home

    def tips(self) -> Array:
        """Where the tips are, x and z [m]."""
        rods = self.dynamics.stacked_poses(self.motions.q)[:, self.rod, ::2]
        return np.asarray(rods[..., 3] + self._length * rods[..., 2])

    def moved(self) -> None:
        """The tips and the ways to the goals."""
        self._tips = self.tips()
        self._way = self.goals - self._tips

    def observe(self) -> Array:
        """Motors' angles and speeds, the tip, the way to the goal."""
        motions, motors = self.motions, self.motors
        return np.concatenate([motions.q[:, motors], 0.1 * motions.v[:, motors], self._tips, self._way], axis=1)

    def judge(self, action: Array) -> tuple[Array, Flags]:
        """Less the distance [m] and a little effort; nothing fails."""
        away = np.sqrt((self._way * self._way).sum(axis=1))
        return -away - 1e-3 * (action * action).sum(axis=1), np.zeros(self.num_envs, dtype=bool)


class StewartBalance(Mechanisms):
    """A pole on a ball joint on a Stewart platform, which its six motors keep from falling."""

    strongest, observed, longest = 150.0, 16, 250
    falls: ClassVar[float] = 0.5  # rise of the pole's axis lost before it counts as fallen [rad]

    def made(self) -> tuple[Model, Array]:
        """A pole of .5 kg and .8 m on a platform of 10 kg."""
        model, q = stewart(position=(0.0, 0.0, 0.7), rpy=(0.0, 0.0, 0.0))
        pole = Builder("pole").link("pole", 0.5, (0.0, 0.0, 0.4), (0.027, 0.027, 1e-4)).build()
        joined = merge(model, pole, "platform", kind="universal", axis=(1, 0, 0), axis2=(0, 1, 0), joint="pole_joint")
        parts = Parts.of(joined)
        parts.actuated = list(model.actuated)
        joined = parts.build()
        start = joined.neutral()
        for name in model.joint_names:
            start[joined.q_index(name)] = q[model.q_index(name)]
        start = np.asarray(close_loops(joined, start, hold=model.actuated))
        return joined, start

    def prepare(self) -> None:
        """Without action the motors carry the platform and the upright pole."""
        rest, q_index = np.zeros(self.model.nv), self.model.q_index
        self._pole, self._pole_speed = q_index("pole_joint"), self.model.v_index("pole_joint")
        self._legs = np.array([q_index(leg).start for leg in self.model.actuated])
        self.resting = self.dynamics.inverse(self.home, rest, rest)[self.motors]

    def started(self, i: int, rng: np.random.Generator) -> Array:
        """The pole leans a little to some side."""
        q = self.home.copy()
        q[self._pole] = rng.uniform(-0.1, 0.1, 2)
        return q

    def observe(self) -> Array:
        """Legs' lengths from home and speeds, tilt of the pole and its rate."""
        q, v = self.motions.q, self.motions.v
        lengths = 10.0 * (q[:, self._legs] - self.home[self._legs])
        return np.concatenate([lengths, v[:, self.motors], q[:, self._pole], v[:, self._pole_speed]], axis=1)

    def judge(self, action: Array) -> tuple[Array, Flags]:
        """1 for each action that the pole stands, less a little effort; it has failed where it leans too far."""
        fallen = np.abs(self.motions.q[:, self._pole]).max(axis=1) > self.falls
        return 1.0 - 1e-3 * (action * action).sum(axis=1) - fallen, fallen


class Single(gymnasium.Env):  # type: ignore[misc]
    """One of these alone."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, many: str, **_: Any) -> None:
        """Args: name of the class of many."""
        self.many = {one.__name__: one for one in (FiveBarReach, StewartBalance)}[many](1)
        self.observation_space = self.many.single_observation_space
        self.action_space = self.many.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begin anew."""
        super().reset(seed=seed)
        found, info = self.many.reset(seed=seed)
        return found[0], info

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        found, rewards, failed, truncated, info = self.many.step(np.asarray(action)[None])
        return found[0], float(rewards[0]), bool(failed[0]), bool(truncated[0]), info


for _one in (FiveBarReach, StewartBalance):
    gymnasium.register(
        f"ada/{_one.__name__}-v0",
        entry_point="ada_dynamics.gym:Single",
        vector_entry_point=f"ada_dynamics.gym:{_one.__name__}",
        kwargs={"many": _one.__name__},
    )
