# SPDX-License-Identifier: Apache-2.0
"""The simulated robot behind the dynamics node: its motors follow commands, step by step; no ROS.

It belongs to one thread. What others hand in has been checked before (`command_inputs`, `bounds`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ada_dynamics.arrays import Array
from ada_dynamics.errors import AdaError
from ada_dynamics.simulation import Simulation
from ada_dynamics.simulation.record.cdr import NANOSECONDS
from ada_robot.contract import Command, Mode, Refusal
from ada_robot.simulated.bounds import StateBounds
from ada_robot.trajectory.points import OfferedTrajectory
from ada_robot.trajectory.trajectory import TrajectoryFollower

_ALL = slice(None)
_MANY = 1_000_000  # steps
_LOOK = 50  # most steps between checks of the state: the last good one is no older
_LOG = logging.getLogger(__name__)
# modes of a motor; none: it holds its joint, or lets go. The first three come from commands, the last from points
_IDLE, _EFFORT, _POSITION, _VELOCITY, _TRAJECTORY = range(5)
_MODES = {_EFFORT: Mode.EFFORT, _POSITION: Mode.POSITION, _VELOCITY: Mode.VELOCITY, _TRAJECTORY: Mode.POSITION}
_TIMED = (_EFFORT, _VELOCITY)  # commands that end when no newer one comes


class Snapshot(NamedTuple):
    """A state, copied.

    Attributes:
        step: steps since the plant was made.
        t: simulated time [s].
        q: positions.
        v: velocities.
        tau: efforts of the motors.
        external: by link, wrench [f, n] from outside, at its origin in its axes.
        contact: by contact, wrench [f, n] on its body, world's axes, at its place.
        stamp: time of the state on the clock of the stamps [ns]; of the plant itself, simulated time.
    """

    step: int
    t: float
    q: Array
    v: Array
    tau: Array
    external: Mapping[str, Array]
    contact: Mapping[str, Array]
    stamp: int = 0


class Plant:
    """A simulation whose motors follow commands.

    Attributes:
        simulation: the motion.
        bounds: of its states, and of what may be given from outside.
        steps: done since the plant was made.
        idle: what motors without a command do: "hold" or "release".
        timeout: simulated time after which efforts and velocities end without a newer command [s]; 0: never.
        stale: commands that ended so.
        failure: why the motion cannot go on, or None; `reset` mends it.
    """

    def __init__(
        self, simulation: Simulation, *, idle: str = "hold", timeout: float = 0.5, bounds: StateBounds | None = None
    ) -> None:
        """Take a simulation with servos; its motors are idle."""
        self.simulation = simulation
        self.model, self.dynamics = simulation.model, simulation.dynamics
        self.bounds = bounds or StateBounds(
            self.model, simulation.step_length, keeps_limits=simulation.stops is not None
        )
        self.idle, self.timeout = idle, timeout
        self.steps = self.stale = 0
        self.failure: str | None = None
        self._bank = simulation.servos
        self.trajectory = TrajectoryFollower(self.bounds.limits(self._bank.names))
        self._step = simulation.step_length
        self._expires, self._is_moving = np.inf, False
        self._good = simulation.q, simulation.v
        self._forget_commands()

    @property
    def t(self) -> float:
        """Simulated time [s]."""
        return self.simulation.t

    @property
    def motors(self) -> list[str]:
        """Joints that can be commanded."""
        return self._bank.names

    def modes(self) -> dict[str, Mode | None]:
        """The mode in which each motor follows a command or trajectory; None where it follows none."""
        return {name: _MODES.get(mode) for name, mode in zip(self.motors, self._mode.tolist(), strict=True)}

    # --- commands -----------------------------------------------------------------------------------------------
    def command(self, command: Command) -> None:
        """Take a command that passed a `CommandGuard`, from the next step on.

        Positions are approached, with velocities and efforts on top; velocities without positions move the joint from
        where it is; efforts alone are given as they are.
        """
        rows = self._bank.rows(command.names)
        self.trajectory.cancel(command.names)
        given, nothing = command.given(), np.zeros(len(rows))
        position = given.get(Mode.POSITION)
        velocity, effort = given.get(Mode.VELOCITY, nothing), given.get(Mode.EFFORT, nothing)
        if position is not None:
            mode = _POSITION
        elif Mode.VELOCITY in given:
            mode = _VELOCITY
            # a joint that moves already goes on from where it was commanded to be, without a jump
            goes_on = self._mode[rows] == _VELOCITY
            position = np.where(goes_on, self._position[rows], self._present(rows))
        else:
            mode, position = _EFFORT, self._position[rows]
        self._mode[rows], self._commanded_at[rows] = mode, self.t
        self._position[rows], self._velocity[rows], self._effort[rows] = position, velocity, effort
        self._is_changed = True

    def follow(self, offered: OfferedTrajectory) -> Refusal | None:
        """Follow a trajectory from where the joints are, or are commanded to be; why not, where it breaks a rule.

        Its joints follow it alone from now on: until it starts they are held there.
        """
        refusal = self.trajectory.accept(offered, self.t, self.targets())
        if refusal is None:
            self._mode[self._bank.rows(offered.names)] = _TRAJECTORY
            self._is_changed = True
        return refusal

    def positions(self) -> dict[str, float]:
        """Where each motor's joint is."""
        return dict(zip(self.motors, self._present(_ALL).tolist(), strict=True))

    def targets(self) -> dict[str, float]:
        """Where each motor is commanded to be; where it is, if it has no such command."""
        present = self._present(_ALL)
        targets = np.where(np.isin(self._mode, (_POSITION, _VELOCITY, _TRAJECTORY)), self._position, present)
        return dict(zip(self.motors, targets.tolist(), strict=True))

    def release_commands(self) -> None:
        """End all commands: motors are idle from here."""
        self.trajectory.cancel()
        self._mode[:] = _IDLE
        self._position = self._present(_ALL)
        self._velocity[:] = self._effort[:] = 0.0
        self._is_changed = True

    def set_rules(self, *, idle: str, timeout: float) -> None:
        """Change what motors without a command do (hold where their joints are now, or let go), and the timeout."""
        self.timeout = timeout
        self._is_changed = True
        if idle == self.idle:
            return
        self.idle = idle
        free = self._mode == _IDLE
        self._position[free] = self._present(free)

    def push(self, link: str, wrench: ArrayLike, duration: float) -> None:
        """A wrench [f, n] on a link, at its origin in its axes, in place of an earlier one."""
        self.simulation.push(link, wrench, duration, "link", replaces=True)

    def _forget_commands(self) -> None:
        count = len(self._bank.names)
        self._mode = np.full(count, _IDLE, dtype=np.intp)
        self._velocity, self._effort, self._commanded_at = np.zeros(count), np.zeros(count), np.zeros(count)
        self.release_commands()

    def _present(self, rows: slice | NDArray[np.intp]) -> Array:
        return self.simulation.q[self._bank.q_index[rows]]

    # --- time ---------------------------------------------------------------------------------------------------
    def advance(self, steps: int) -> None:
        """Take steps, unless the motion has failed.

        A motion that cannot go on, or leaves its bounds, is reported by `failure`; the robot stays where it was last.
        """
        while steps > 0 and self.failure is None:
            if self.t >= self._expires:
                self._end_stale_commands()
            if self._is_moving:
                self._move_targets()
            if self._is_changed:
                self._command_servos()
            count = 1 if self._is_moving else min(steps, self._steps_to_timeout(), _LOOK)
            if not self._take(count):
                return
            self.steps += count
            steps -= count

    def _take(self, count: int) -> bool:
        """Take steps; true if the robot is in a state that may be published."""
        sim, before = self.simulation, self.t
        try:
            sim.step(count)
            problem = self.bounds.diverged(sim.q, sim.v)
            if problem:
                problem = f"the motion of model {self.model.name!r} diverged at t = {self.t:.9g} s: {problem}."
        except (AdaError, ArithmeticError) as failure:
            problem = str(failure)
        except Exception as failure:  # any numerical failure: the robot's node must outlive it
            _LOG.exception("%s: a step failed", self.model.name)
            problem = f"{type(failure).__name__}: {failure}"
        if not problem:
            self._good = sim.q, sim.v
            return True
        self.failure = problem
        with suppress(AdaError):
            sim.reset(*self._good, before)
        return False

    def _end_stale_commands(self) -> None:
        old = self.t >= self._commanded_at + self.timeout - 0.5 * self._step
        ended = old & np.isin(self._mode, _TIMED)
        self._mode[ended] = _IDLE
        self._position[ended] = self.simulation.q[self._bank.q_index[ended]]
        self.stale += int(np.count_nonzero(ended))
        # a position is held, without what came on top
        alone = ended | (old & (self._mode == _POSITION))
        self._velocity[alone] = self._effort[alone] = 0.0
        self._is_changed = True

    def _when_stale(self) -> float:
        """When the next command ends [s]."""
        loaded = (self._velocity != 0.0) | (self._effort != 0.0)
        timed = np.isin(self._mode, _TIMED) | ((self._mode == _POSITION) & loaded)
        if not self.timeout or not timed.any():
            return np.inf
        return float(np.min(self._commanded_at[timed])) + self.timeout - 0.5 * self._step

    def _steps_to_timeout(self) -> int:
        left = (self._expires - self.t) / self._step
        return max(1, int(left) + 1) if left < _MANY else _MANY

    def _move_targets(self) -> None:
        """Targets that change with each step."""
        turning = self._mode == _VELOCITY
        if turning.any():
            # no further from the joint than it takes to use its motor fully: it must not wind up behind an obstacle
            there = self._position[turning] + self._velocity[turning] * self._step
            present = self.simulation.q[self._bank.q_index[turning]]
            reach = self._reach[turning]
            self._position[turning] = np.clip(there, present - reach, present + reach)
        following = self._mode == _TRAJECTORY
        point = self.trajectory.sample(self.t + self._step) if following.any() else None
        if point is not None:
            rows = self._bank.rows(point.names)
            here = following[rows]  # others have arrived, and left this mode
            targets = np.array([point.position, point.velocity, point.effort])[:, here]
            self._position[rows[here]], self._velocity[rows[here]], self._effort[rows[here]] = targets
            if not self.trajectory.is_active(self.t):
                self._mode[following], self._commanded_at[following] = _POSITION, self.t
        self._is_changed = True

    @property
    def _reach(self) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = self._bank.limits / self._bank.stiffness
        return np.where(np.isfinite(reach), reach, np.inf)

    def _command_servos(self) -> None:
        bank, mode = self._bank, self._mode
        placed = np.flatnonzero(mode >= _POSITION)
        bank.hold(self._position[placed], self._velocity[placed], self._effort[placed], placed)
        driven = np.flatnonzero(mode == _EFFORT)
        bank.drive(self._effort[driven], driven)
        free = np.flatnonzero(mode == _IDLE)
        if self.idle == "hold":
            bank.hold(self._position[free], rows=free)
        else:
            bank.release(free)
        self._is_changed = False
        self._is_moving = bool(np.any((mode == _VELOCITY) | (mode == _TRAJECTORY)))
        self._expires = self._when_stale()

    # --- state --------------------------------------------------------------------------------------------------
    def warm_up(self) -> None:
        """Compile what the first step needs, and be back at the start."""
        with suppress(AdaError, ArithmeticError):  # the first step itself will raise it
            self.simulation.step()
        self.simulation.reset()
        self.snapshot()

    def reset(self, q: ArrayLike, v: ArrayLike | None = None, *, restarts_time: bool = False) -> None:
        """Put the robot into a state; all commands end.

        Args:
            q: positions.
            v: velocities; zero by default.
            restarts_time: whether simulated time begins at zero again; else it goes on.
        """
        self.simulation.reset(q, v, 0.0 if restarts_time else self.t)
        self._good = self.simulation.q, self.simulation.v
        self.failure = None
        self._forget_commands()

    def snapshot(self, *, loads: bool = True) -> Snapshot:
        """The present state.

        Args:
            loads: whether wrenches of contacts and from outside are wanted, too.
        """
        sim = self.simulation
        external = sim.external_wrenches() if loads else {}
        contact = sim.contact_wrenches() if loads else {}
        return Snapshot(self.steps, sim.t, sim.q, sim.v, sim.tau, external, contact, round(sim.t * NANOSECONDS))
