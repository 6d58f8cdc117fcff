# SPDX-License-Identifier: Apache-2.0
"""Driver and emulated table of the HEXA through the packets' bytes: from open to close, and what the plate does."""

import numpy as np
import pytest
from hexa_world import LEVEL, World, circle, joint_path, stiffness_at
from refused import refused

from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.hexa.emulator import HexaEmulator, HexaEmulatorSettings
from ada_hardware.hexa.kinematics import HOME, HexaKinematics
from ada_hardware.hexa.packets import TableState
from ada_hardware.hexa.plant import LIMITS, LOWER, PERIOD, UPPER
from ada_robot.contract import Demand, Mode
from ada_robot.errors import NoAnswer, Refused

TABLE = HexaKinematics()


def test_the_range_of_the_cranks_has_the_workspace_in_it():
    found = [
        TABLE.inverse(pose_of((0.15, 0.0, z), (s * 0.26, s * 0.26, s * 0.26))) for z in (-0.6, -0.5) for s in (-1, 1)
    ]
    assert np.min(found) > LOWER
    assert np.max(found) < UPPER
    assert all(limit.lower == LOWER and limit.upper == UPPER for limit in LIMITS)


def test_open_reads_and_nothing_moves():
    world = World()
    world.driver.open()
    for _ in range(20):
        feedback = world.driver.idle()
        world.wait()
    assert feedback.is_fresh
    assert not feedback.is_driven
    np.testing.assert_allclose(feedback.position, TABLE.inverse(HOME), rtol=0, atol=1e-9)
    assert world.table.state_now is TableState.BRAKED
    world.driver.close()
    world.driver.close()
    assert not world.table.violations


def test_start_holds_the_table_where_it_stands():
    world = World(position=(0.03, 0.02, -0.53), rpy=(0.1, 0.0, 0.05)).started()
    pose = world.table.plant.pose
    feedback = world.hold(100)
    assert feedback.is_driven
    np.testing.assert_allclose(world.table.plant.pose, pose, rtol=0, atol=1e-6)


def test_the_plate_follows_a_path_through_the_bytes():
    world = World(stiffness=800.0).started()
    path = joint_path(circle, 1.2)
    feedback = world.follow(path)
    np.testing.assert_allclose(world.table.plant.pose, circle(1.2), rtol=0, atol=2e-5)
    np.testing.assert_allclose(feedback.position, path[-1], rtol=0, atol=1e-3)
    assert not world.table.violations
    assert world.driver.counts.missed == 0
    assert world.driver.counts.sent == world.driver.counts.received


def test_torques_reach_the_motors():
    world = World().started()
    weight = world.table.plant.weight_torques
    feedback = world.follow([weight] * 50, Mode.EFFORT)
    np.testing.assert_allclose(feedback.effort, weight, rtol=0, atol=1e-12)
    np.testing.assert_allclose(feedback.position, TABLE.inverse(HOME), rtol=0, atol=1e-4)  # unstable, but slowly
    feedback = world.follow([weight + 0.5] * 20, Mode.EFFORT)
    assert np.all(feedback.velocity > 0.1)


def test_closing_the_driver_of_a_driven_table_brakes_it():
    world = World().started()
    world.driver.close()
    assert world.table.state_now is TableState.BRAKED


def test_a_table_whose_power_was_cut_is_not_driven_when_it_answers_again():
    world = World().started()
    world.wire.fault("power_cut", 1)
    assert not world.hold(2).is_fresh
    world.wire.fault("power_cut", 0)
    feedback = world.driver.idle()
    assert feedback.is_fresh and not feedback.is_driven


def test_stop_brakes_and_a_new_start_goes_on_from_there():
    world = World().started()
    world.follow(joint_path(circle, 0.5))
    world.driver.stop()
    assert world.table.state_now is TableState.BRAKED
    world.wait()
    assert not world.driver.idle().is_driven
    world.driver.start()
    before = world.table.plant.angles
    world.next = world.clock()
    world.hold(50)
    # the brakes took the rest of the motion; nothing jumped
    np.testing.assert_allclose(world.table.plant.angles, before, rtol=0, atol=2e-3)
    assert not world.table.violations


def test_the_force_on_the_probe_is_that_of_eq_15_for_each_kp():
    found = []
    for kp in (200.0, 400.0, 800.0):
        world = World(
            probe=(0.0, 0.0, -0.5602), probe_stiffness=1e6, probe_dissipation=1.0, stiffness=kp, substep=2.5e-4
        )
        world.started()
        path = joint_path(lambda t: pose_of((0.0, 0.0, -0.55 - 1e-3 * min(t, 0.5)), LEVEL), 0.7)
        world.follow(path)
        table = stiffness_at(world.table.plant.pose, kp)
        expected = 0.3e-3 / (1.0 / table + 1e-6)
        found.append(world.table.plant.plate_wrench[2])
        assert found[-1] == pytest.approx(expected, rel=3e-3)  # K changes with the pose within the press
        assert not world.table.violations
    assert found[0] < found[1] < found[2]


def test_velocities_are_refused():
    world = World().started()
    with refused(Refused, field="mode", value="velocity", allowed=("effort", "position")):
        world.driver.cycle(Demand(Mode.VELOCITY, np.zeros(6)))


def test_a_wire_without_a_table_is_no_answer():
    world = World(faults={"silence": 1})
    with refused(NoAnswer, field="packet", value="READ"):
        world.driver.open()


def test_a_table_that_falls_silent_does_not_start():
    world = World()
    world.driver.open()
    world.wire.fault("silence", 1)
    with refused(NoAnswer, field="packet", value="START"):
        world.driver.start()


def test_time_in_which_the_process_stood_still_is_not_made_up_for():
    table = HexaEmulator(HexaEmulatorSettings())
    table.advance(0.0)
    table.advance(1000.0)
    assert table.plant.time < 0.2
    table.advance(1000.0 + 5 * PERIOD)
    assert table.plant.time == pytest.approx(0.1 + 5 * PERIOD, abs=1e-9)
