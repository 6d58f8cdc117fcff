# SPDX-License-Identifier: Apache-2.0
"""The plant: motors follow commands, commands that go stale never move a joint, a failed motion stays where it is."""

import numpy as np
import pytest
from simulated_world import plant

import ada_dynamics as ada
from ada_dynamics.clock import ManualClock
from ada_dynamics.errors import InputError, ModelError
from ada_dynamics.robots.writers import write
from ada_dynamics.simulation import JointServos, JointStops, Simulation
from ada_robot.contract import Command, Mode
from ada_robot.node.plant_loop import PlantLoop
from ada_robot.trajectory.trajectory import OfferedTrajectory


def test_the_motion_is_that_of_the_same_simulation_bit_for_bit():
    arm = plant(idle="release", algorithm="auto")
    model, start = ada.load("pa10"), arm.simulation.q
    stops = JointStops.for_model(model, 1e-3, q=start)
    same = Simulation(model, start, pushable=True, servos=JointServos(), stops=stops)
    bare = Simulation(model, start, stops=stops)
    for steps in (1, 7, 500):
        for sim in (arm, same, bare):
            (sim.advance if sim is arm else sim.step)(steps)
    assert np.array_equal(arm.simulation.q, same.q)
    assert np.array_equal(arm.simulation.v, same.v)
    # limp servos add nothing but the rounding of another kernel, which 500 steps of a fall let grow
    assert np.allclose(arm.simulation.q, bare.q, rtol=0.0, atol=1e-10)
    assert not arm.snapshot().tau.any()


def test_a_robot_of_ones_own_moves_by_another_algorithm_where_the_default_one_does_not_apply(tmp_path, caplog):
    builder = ada.Builder("wrist").link("base")
    hand = (1.0, (0.02, 0.01, 0.2), (0.05, 0.05, 0.01))
    for name, inertia, parent, height, axis in (
        ("arm", hand, "base", 0.0, (0, 1, 0)),
        ("ring", (), "arm", 0.6, (1, 0, 0)),
        ("cross", (), "ring", 0.0, (0, 1, 0)),
        ("hand", hand, "cross", 0.0, (0, 0, 1)),
    ):
        builder.link(name, *inertia)
        builder.joint(f"{name}_joint", "revolute", parent, name, (0, 0, height), axis=axis)
    file, *_ = write(builder.build(), tmp_path / "wrist.urdf")
    with pytest.raises(ModelError):
        ada.Dynamics(ada.load(file), "ada").forward(np.zeros(4), np.zeros(4), np.zeros(4))
    found, same = (plant(robot=str(file), idle="release", **options) for options in ({}, {"algorithm": "auto"}))
    for arm in (found, same):
        arm.advance(100)
    assert np.array_equal(found.simulation.q, same.simulation.q)
    (line,) = caplog.messages
    assert "'ada' does not apply" in line and "'auto' is used" in line and ("'ring'" in line or "'cross'" in line)


def test_a_position_is_approached_and_held_when_it_goes_stale():
    arm = plant()
    start = arm.simulation.q
    target = start[1] + 0.3
    arm.command(Command(["s2"], position=[target]))
    arm.advance(2000)
    assert arm.simulation.q[1] == pytest.approx(target, abs=0.02)
    assert np.abs(arm.simulation.q - start)[2:].max() < 0.02, "motors without a command hold their joints"
    assert arm.modes()["s2"] is Mode.POSITION
    assert arm.stale == 0, "a held position has not ended"


def test_what_came_on_top_of_a_stale_position_ends():
    arm = plant()
    arm.command(Command(["s1"], position=[0.2], velocity=[0.0], effort=[40.0]))
    arm.advance(499)
    # the effort of 40 N m pushes the joint off its target against the servo's spring
    assert arm.simulation.q[0] == pytest.approx(0.2 + 40.0 / arm.simulation.servos.stiffness[0], abs=1e-6)
    arm.advance(1500)
    assert arm.simulation.q[0] == pytest.approx(0.2, abs=1e-9)


def test_efforts_act_until_they_are_stale_and_then_the_joint_is_held():
    arm = plant(timeout=0.1)
    arm.command(Command(["w2"], effort=[0.05]))
    arm.advance(100)
    assert arm.snapshot().tau[6] == 0.05
    speed = arm.simulation.v[6]
    assert speed > 0.01
    arm.advance(1)
    where = arm.simulation.q[6]
    arm.advance(2000)
    assert arm.stale == 1
    assert arm.modes()["w2"] is None
    assert arm.simulation.q[6] == pytest.approx(where, abs=0.05)
    assert abs(arm.simulation.v[6]) < 1e-6


def test_a_velocity_moves_the_joint_by_its_time_and_then_holds_it():
    arm = plant(timeout=0.2)
    start = arm.simulation.q[0]
    for _ in range(10):
        arm.command(Command(["s1"], velocity=[0.5]))
        arm.advance(100)
    assert arm.simulation.q[0] == pytest.approx(start + 0.5, abs=0.03)  # less what the servo lags behind
    arm.advance(3000)
    assert arm.stale == 1
    held = arm.simulation.q[0]
    assert held == pytest.approx(start + 0.5 * (0.9 + 0.2), abs=5e-3)  # the last one came at 0.9 s, and lived 0.2 s
    assert abs(arm.simulation.v[0]) < 1e-6


def test_a_target_does_not_wind_up_where_the_motor_is_too_weak():
    arm = plant(timeout=0.0)
    arm.command(Command(["s2"], velocity=[-2.0], effort=[0.0]))
    arm.push("link_7", [0, 0, -4000.0, 0, 0, 0], 30.0)  # heavier than the motor can lift
    arm.advance(600)
    bank = arm.simulation.servos
    reach = bank.limits[1] / bank.stiffness[1]
    assert abs(arm.targets()["s2"] - arm.simulation.q[1]) <= reach + 0.01


def test_a_trajectory_is_followed_to_its_end_and_held_but_for_joints_with_a_newer_command():
    arm = plant()
    present = arm.targets()
    goal = present["e1"] + 0.4
    assert arm.follow(OfferedTrajectory(["s1", "e1"], [1.0], [[0.5, goal]], [[0.0, 0.0]], [[]], [[]])) is None
    arm.advance(500)
    halfway = arm.targets()["e1"]
    assert halfway == pytest.approx(present["e1"] + 0.2, abs=1e-3)  # a cubic from rest to rest
    arm.command(Command(["s1"], position=[0.0]))
    arm.advance(1500)
    assert arm.targets()["e1"] == goal
    assert arm.simulation.q[3] == pytest.approx(goal, abs=0.02)
    assert arm.modes()["e1"] is Mode.POSITION
    assert arm.simulation.q[0] == pytest.approx(0.0, abs=0.01)


def test_a_reset_ends_all_commands_and_time_goes_on():
    arm = plant()
    start = arm.simulation.q
    arm.command(Command(["s1"], effort=[100.0]))
    arm.advance(300)
    arm.reset(start)
    assert np.array_equal(arm.simulation.q, start) and arm.t == pytest.approx(0.3)
    assert set(arm.modes().values()) == {None}
    arm.reset(start, restarts_time=True)
    assert arm.t == 0.0


class Jerky(ManualClock):
    """A clock whose sleeps end after so many periods of 1 ms, one after the other."""

    def __init__(self, *periods):
        super().__init__()
        self.periods = list(periods)

    def sleep(self, duration):
        self.advance(duration + 1e-3 * (self.periods.pop(0) - 1))


def test_states_are_told_at_their_steps_however_many_are_due_at_once():
    told = []
    loop = PlantLoop(plant(), told.append, every=4, clock=Jerky(1, 2, 1, 9, 3, 40))
    loop.run(56e-3)
    assert [s.step for s in told] == list(range(4, 57, 4))
    other = plant()
    for snapshot in told:  # and each is what a plant has that took the steps one by one
        while other.steps < snapshot.step:
            other.advance(1)
        assert np.array_equal(snapshot.q, other.simulation.q)


def test_steps_in_a_pause_are_those_asked_for():
    loop = PlantLoop(plant(), lambda snapshot: None, every=4, paused=True, clock=ManualClock())

    def answer(future):
        loop.run(1e-3)
        return future.result(0.0)

    before = loop.plant.steps
    assert answer(loop.step(3)).step == before + 3
    assert answer(loop.step(1)).step == before + 4
    answer(loop.pause(False))
    assert loop.plant.steps > before + 4
    with pytest.raises(InputError):
        answer(loop.step(1))
