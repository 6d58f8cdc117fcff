# SPDX-License-Identifier: Apache-2.0
"""A simulated robot under the safety cycle, in lock step: bit for bit ada.Simulation with the demands that it got."""

from __future__ import annotations

from typing import Any

import numpy as np

from ada_dynamics.clock import ManualClock
from ada_robot.contract import Demand, Mode
from ada_robot.driver import Feedback
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings
from ada_robot.settings import checked
from ada_robot.simulated.driver import FAILED, SimulatedDriver
from ada_robot.simulated.settings import SimulatedSettings
from ada_robot.simulated.source import load_robot, simulation_of
from ada_robot.trajectory.trajectory import OfferedTrajectory, TrajectoryFollower

PERIOD, STEPS = 2e-3, 2


class Noted(SimulatedDriver):
    """Keeps its calls, and the state after each exchange."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.exchanges: list[Demand | str | None] = []
        self.states: list[tuple[Any, ...]] = []

    def _noted(self, call: Demand | None, feedback: Feedback) -> Feedback:
        simulation = self.plant.simulation
        self.exchanges.append(call)
        self.states.append((simulation.q, simulation.v, simulation.tau))
        return feedback

    def idle(self) -> Feedback:
        return self._noted(None, super().idle())

    def cycle(self, demand: Demand) -> Feedback:
        return self._noted(demand, super().cycle(demand))

    def stop(self) -> None:
        self.exchanges.append("stop")
        super().stop()


class LockStep:
    """A cycle that drives a simulated robot, on a clock that only its steps move."""

    def __init__(self, safety: SafetySettings | None = None, **settings: object) -> None:
        self.clock = ManualClock(100.0)
        self.settings = checked(SimulatedSettings, {"robot": "pa10", **settings})
        self.driver = Noted(self.settings, clock=self.clock)
        self.cycle = SafeCycle(self.driver, safety, clock=self.clock)
        self.cycle.open(self.now)
        self.step()

    @property
    def now(self) -> float:
        return self.clock.now()

    def step(self, mode: Mode | None = None, values: object = None) -> None:
        self.clock.advance(PERIOD)
        asked = [] if mode is None else [Demand(mode, np.array(values, dtype=float), self.now)]
        self.cycle.step(self.now, asked)


def recorded(world: LockStep) -> LockStep:
    """What a day holds: positions, a trajectory, velocities, efforts, bad commands, silence, a stop and a reset."""
    cycle, names = world.cycle, list(world.driver.joints)
    at = world.driver.plant.simulation.q.copy()
    cycle.activate(world.now)
    for i in range(100):
        world.step(Mode.POSITION, at + 0.05 * (1.0 - np.cos(0.03 * i)))
    path = TrajectoryFollower(world.driver.limits)
    told = dict(zip(names, cycle.demand.values.tolist(), strict=True))
    offered = OfferedTrajectory(names, [0.2, 0.4], [list(at), list(at - 0.05)])
    assert path.accept(offered, world.now, told) is None
    for _ in range(220):
        world.step(Mode.POSITION, path.sample(world.now + PERIOD).position)
    for i in range(100):
        world.step(Mode.VELOCITY, np.full(7, 0.2 * np.sin(0.1 * i)))
    for bad in (np.full(7, np.nan), np.full(7, 1e6), np.zeros(3)):
        world.step(Mode.VELOCITY, bad)
    gravity = world.driver.plant.dynamics.gravity
    for _ in range(50):
        world.step(Mode.EFFORT, gravity(world.driver.plant.simulation.q))
    for _ in range(80):  # nobody commands: it comes to rest, and holds
        world.step()
    for _ in range(20):
        world.step(Mode.VELOCITY, np.full(7, 0.1))
    cycle.stop(world.now, "a person")
    while cycle.phase is not Phase.STOPPED:
        world.step()
    world.step()
    cycle.reset(world.now)
    cycle.activate(world.now)
    for _ in range(20):
        world.step(Mode.POSITION, world.driver.plant.simulation.q)
    return world


def test_recorded_streams_move_it_as_they_move_the_same_simulation_bit_for_bit():
    world = LockStep()
    sim = simulation_of(load_robot(world.settings), world.settings)
    sim.step()  # compiled, and back at the start, as the driver begins
    sim.reset()
    bank = sim.servos
    bank.hold(sim.q)
    sim.step(world.driver.plant.steps)
    assert np.array_equal(sim.q, world.driver.plant.simulation.q)
    exchanges, told = world.driver.exchanges, world.driver.states
    exchanges.clear()
    told.clear()
    recorded(world)
    moving, before = sim.q, None
    states = iter(told)
    for exchange in exchanges:
        if exchange == "stop":
            bank.hold(sim.q)
            before = None
            continue
        mode = None if exchange is None else exchange.mode
        if mode is Mode.POSITION:
            bank.hold(exchange.values)
        elif mode is Mode.EFFORT:
            bank.drive(exchange.values)
        if mode is Mode.VELOCITY:
            for i in range(STEPS):
                begins = before is not Mode.VELOCITY and i == 0  # where the joint is; it moves on from there
                moving = sim.q if begins else moving + exchange.values * 1e-3
                bank.hold(moving, exchange.values)
                sim.step()
        else:
            sim.step(STEPS)
        before = mode
        for mine, its in zip((sim.q, sim.v, sim.tau), next(states), strict=True):
            assert np.array_equal(mine, its), f"at {sim.t:.3f} s, {mode}"
    assert len(told) > 500
    assert {one.mode for one in exchanges if isinstance(one, Demand)} == set(Mode)
    assert world.cycle.check.refused == {"not finite": 1, "over a limit": 1, "wrong length": 1}
    assert world.cycle.phase is Phase.ACTIVE


def test_a_motion_that_cannot_go_on_is_an_alarm_and_a_reset_mends_it():
    world = LockStep()
    world.cycle.activate(world.now)
    world.driver.plant.push("link_7", [0.0, 0.0, 1e18, 0.0, 0.0, 0.0], 1.0)
    for _ in range(20):
        world.step(Mode.VELOCITY, np.zeros(7))
    assert world.cycle.phase is Phase.STOPPED and world.cycle.feedback.alarms[0].code == FAILED
    world.cycle.reset(world.now)
    assert world.cycle.phase is Phase.INACTIVE and not world.cycle.feedback.alarms
