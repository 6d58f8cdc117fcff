# SPDX-License-Identifier: Apache-2.0
"""Simulated robot of the dynamics node, whose motors follow commands step by step; no ROS.

It is used by one thread. Inputs must have been checked before (`command_inputs`, `bounds`).
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
from ada_dynamics.simulation.record.messages import NANOSECONDS
from ada_robot.contract import Command, Mode, Refusal
from ada_robot.simulated.bounds import StateBounds
from ada_robot.trajectory.trajectory import OfferedTrajectory, TrajectoryFollower

_ALL = slice(None)
_LOOK = 50  # maximum number of steps between checks of the state
_LOG = logging.getLogger(__name__)
# motor modes; without a command: hold or release. The first three come from commands, the last from trajectories
_IDLE, _EFFORT, _POSITION, _VELOCITY, _TRAJECTORY = range(5)
_MODES = {_EFFORT: Mode.EFFORT, _POSITION: Mode.POSITION, _VELOCITY: Mode.VELOCITY, _TRAJECTORY: Mode.POSITION}
_TIMED = (_EFFORT, _VELOCITY)  # modes that end without a newer command


class Snapshot(NamedTuple):
    """Copy of a state."""

    step: int  # number of steps since creation
    t: float  # simulated time [s]
    q: Array  # configuration
    v: Array  # velocities
    tau: Array  # motor efforts
    external: Mapping[str, Array]  # external wrenches [f, n] by link, at its origin in its axes
    contact: Mapping[str, Array]  # contact wrenches [f, n] by contact, on its body, at the contact point in world axes
    stamp: int = 0  # time on the clock of the stamps [ns]; simulated time if made by the plant


class Plant:
    """Simulation whose motors follow commands.

    Attributes:
        simulation: simulation with servos.
        motors: actuated joints.
        bounds: bounds of its states and inputs.
        steps: number of steps since creation.
        idle: behaviour of motors without a command: "hold" or "release".
        timeout: command timeout of efforts and velocities in simulated time [s]; 0 for none.
        stale: number of commands ended by the timeout.
        failure: reason why the simulation has stopped, or None; cleared by `reset`.
    """

    def __init__(
        self, simulation: Simulation, *, idle: str = "hold", timeout: float = 0.5, bounds: StateBounds | None = None
    ) -> None:
        """Take a simulation with servos; its motors start without commands."""
        self.simulation = simulation
        self.model, self.dynamics = simulation.model, simulation.dynamics
        keeps_limits = simulation.stops is not None
        self.bounds = bounds or StateBounds(self.model, simulation.step_length, keeps_limits=keeps_limits)
        self.idle, self.timeout = idle, timeout
        self.steps = self.stale = 0
        self.failure: str | None = None
        self._bank, self.motors = simulation.servos, simulation.servos.names
        self.trajectory = TrajectoryFollower(self.bounds.limits(self._bank.names))
        self._step = simulation.step_length
        self._expires, self._is_moving = np.inf, False
        self._good = simulation.q, simulation.v
        self._forget_commands()

    @property
    def t(self) -> float:
        """Simulated time [s]."""
        return self.simulation.t

    def modes(self) -> dict[str, Mode | None]:
        """Return the mode of each motor; None if it has no command."""
        return {name: _MODES.get(mode) for name, mode in zip(self.motors, self._mode.tolist(), strict=True)}

    # --- commands -----------------------------------------------------------------------------------------------
    def command(self, command: Command) -> None:
        """Follow a command that passed a `CommandGuard`, from the next step on.

        Positions are servo setpoints, with velocities and efforts as feedforward. Velocities without positions move the
        setpoint from the present position. Efforts alone are applied directly.
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
            # a joint in velocity mode continues from its setpoint, without a jump
            goes_on = self._mode[rows] == _VELOCITY
            position = np.where(goes_on, self._position[rows], self._present(rows))
        else:
            mode, position = _EFFORT, self._position[rows]
        self._mode[rows], self._commanded_at[rows] = mode, self.t
        self._position[rows], self._velocity[rows], self._effort[rows] = position, velocity, effort
        self._is_changed = True

    def follow(self, offered: OfferedTrajectory) -> Refusal | None:
        """Follow a trajectory from the present setpoints or positions; return the refusal if it violates a rule.

        Its joints leave their other commands, and hold their position until the trajectory starts.
        """
        refusal = self.trajectory.accept(offered, self.t, self.targets())
        if refusal is None:
            self._mode[self._bank.rows(offered.names)] = _TRAJECTORY
            self._is_changed = True
        return refusal

    def positions(self) -> dict[str, float]:
        """Return the position of each actuated joint."""
        return dict(zip(self.motors, self._present(_ALL).tolist(), strict=True))

    def targets(self) -> dict[str, float]:
        """Return the position setpoint of each motor, or the position of its joint if it has none."""
        present = self._present(_ALL)
        targets = np.where(np.isin(self._mode, (_POSITION, _VELOCITY, _TRAJECTORY)), self._position, present)
        return dict(zip(self.motors, targets.tolist(), strict=True))

    def release_commands(self) -> None:
        """End all commands."""
        self.trajectory.cancel()
        self._mode[:] = _IDLE
        self._position = self._present(_ALL)
        self._velocity[:] = self._effort[:] = 0.0
        self._is_changed = True

    def set_rules(self, *, idle: str, timeout: float) -> None:
        """Set the behaviour of motors without a command (hold the present position, or release), and the timeout."""
        self.timeout = timeout
        self._is_changed = True
        if idle == self.idle:
            return
        self.idle = idle
        free = self._mode == _IDLE
        self._position[free] = self._present(free)

    def push(self, link: str, wrench: ArrayLike, duration: float) -> None:
        """Apply a wrench [f, n] to a link, at its origin in its axes, replacing an earlier one."""
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
        """Advance the simulation, unless it has failed.

        If it cannot continue or diverges, `failure` is set, and the robot keeps its last valid state.
        """
        while steps > 0 and self.failure is None:
            if self.t >= self._expires:
                self._end_stale_commands()
            if self._is_moving:
                self._move_targets()
            if self._is_changed:
                self._command_servos()
            left = 1 + max(0.0, self._expires - self.t) / self._step  # steps to the timeout
            count = 1 if self._is_moving else int(min(steps, _LOOK, left))
            if not self._take(count):
                return
            self.steps += count
            steps -= count

    def _take(self, count: int) -> bool:
        """Advance the simulation; return False if it fails."""
        sim, before = self.simulation, self.t
        try:
            sim.step(count)
            problem = self.bounds.diverged(sim.q, sim.v)
            if problem:
                problem = f"the motion of model {self.model.name!r} diverged at t = {self.t:.9g} s: {problem}."
        except (AdaError, ArithmeticError) as failure:
            problem = str(failure)
        except Exception as failure:  # the robot's node must survive any numerical failure
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
        # a position is held, without its feedforward
        alone = ended | (old & (self._mode == _POSITION))
        self._velocity[alone] = self._effort[alone] = 0.0
        self._is_changed = True

    def _when_stale(self) -> float:
        """Return the time of the next command timeout [s]."""
        loaded = (self._velocity != 0.0) | (self._effort != 0.0)
        timed = np.isin(self._mode, _TIMED) | ((self._mode == _POSITION) & loaded)
        if not self.timeout or not timed.any():
            return np.inf
        return float(np.min(self._commanded_at[timed])) + self.timeout - 0.5 * self._step

    def _move_targets(self) -> None:
        """Advance the setpoints that change with each step."""
        turning = self._mode == _VELOCITY
        if turning.any():
            # at most as far as the motor's effort limit allows, to prevent windup behind an obstacle
            there = self._position[turning] + self._velocity[turning] * self._step
            present = self.simulation.q[self._bank.q_index[turning]]
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = self._bank.limits[turning] / self._bank.stiffness[turning]
            reach = np.where(np.isfinite(reach), reach, np.inf)
            self._position[turning] = np.clip(there, present - reach, present + reach)
        following = self._mode == _TRAJECTORY
        point = self.trajectory.sample(self.t + self._step) if following.any() else None
        if point is not None:
            rows = self._bank.rows(point.names)
            here = following[rows]  # the others have reached their end and left this mode
            targets = np.array([point.position, point.velocity, point.effort])[:, here]
            self._position[rows[here]], self._velocity[rows[here]], self._effort[rows[here]] = targets
            if not self.trajectory.is_active(self.t):
                self._mode[following], self._commanded_at[following] = _POSITION, self.t
        self._is_changed = True

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
        """Compile the first step, and return to the start."""
        with suppress(AdaError, ArithmeticError):  # raised again by the first step itself
            self.simulation.step()
        self.simulation.reset()
        self.snapshot()

    def reset(self, q: ArrayLike, v: ArrayLike | None = None, *, restarts_time: bool = False) -> None:
        """Set the state and end all commands.

        Args:
            q: configuration.
            v: velocities; zero by default.
            restarts_time: whether simulated time restarts at zero.
        """
        self.simulation.reset(q, v, 0.0 if restarts_time else self.t)
        self._good = self.simulation.q, self.simulation.v
        self.failure = None
        self._forget_commands()

    def snapshot(self) -> Snapshot:
        """Return a copy of the present state."""
        sim = self.simulation
        external, contact = sim.external_wrenches(), sim.contact_wrenches()
        return Snapshot(self.steps, sim.t, sim.q, sim.v, sim.tau, external, contact, round(sim.t * NANOSECONDS))
