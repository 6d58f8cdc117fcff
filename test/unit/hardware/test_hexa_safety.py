# SPDX-License-Identifier: Apache-2.0
"""The emulated HEXA: faults of its own, of wires and of hosts, and its mechanism against closed-chain dynamics."""

import math
import struct
import zlib

import numpy as np
import pytest
from hexa_world import World, circle, joint_path
from refused import refused
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms.parallel_robots import HexaGeometry
from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.hexa.driver import HexaDriver, HexaSettings
from ada_hardware.hexa.emulator import DAMPING, servo_torques
from ada_hardware.hexa.kinematics import HOME, HexaKinematics
from ada_hardware.hexa.packets import CommandPacket, TableRequest, TableState, encode_command
from ada_hardware.hexa.plant import LOWER, PERIOD, RATE_LIMIT, UPPER, WATCHDOG, HexaPlant, Probe
from ada_robot.contract import Demand, Mode
from ada_robot.errors import DeviceAlarm, TransportError
from ada_robot.safety.phases import Phase
from ada_robot.safety.safe_cycle import SafeCycle
from ada_robot.safety.settings import SafetySettings


def test_a_silent_host_makes_the_table_brake_within_its_watchdog():
    world = World().started()
    world.follow(joint_path(circle, 0.3))
    world.clock.sleep(WATCHDOG + 2 * PERIOD)
    world.wire.run()
    assert world.table.state_now is TableState.ALARM
    feedback = world.driver.idle()
    assert [alarm.code for alarm in feedback.alarms] == [2]
    assert "no command received in time" in feedback.alarms[0].text
    world.clock.sleep(0.1)
    world.wire.run()
    assert np.max(np.abs(world.table.plant.rates)) < 0.01


def test_a_reset_clears_an_alarm_and_the_table_starts_again():
    world = World().started()
    world.clock.sleep(0.05)
    with refused(DeviceAlarm, field="alarm", value=2):
        world.driver.start()
    world.driver.reset()
    world.driver.start()
    assert world.table.state_now is TableState.POSITION
    assert not world.table.violations


def test_the_emergency_stop_stays_until_it_is_released():
    world = World().started()
    world.wire.fault("emergency_stop", 1)
    feedback = world.driver.idle()
    assert feedback.alarms[0].is_stop
    with refused(DeviceAlarm, field="alarm", value=1):
        world.driver.reset()
    world.wire.fault("emergency_stop", 0)
    world.driver.reset()
    assert not world.driver.idle().alarms
    assert world.table.state_now is TableState.BRAKED


@pytest.mark.parametrize("fault", ["over_current", "resolver"])
def test_a_broken_axis_brakes_the_table_and_is_named(fault):
    world = World().started()
    world.wire.fault(fault, 3)
    feedback = world.driver.idle()
    assert [alarm.joint for alarm in feedback.alarms] == ["leg_3_crank"]
    assert not feedback.is_driven


def test_a_mute_table_is_missed_and_brakes_by_itself_only_when_it_hears_nothing():
    world = World().started()
    world.wire.fault("mute", 1)
    feedback = world.hold(5)
    assert not feedback.is_fresh
    assert world.driver.counts.missed == 5
    assert world.table.state_now is TableState.POSITION


def test_commanded_angles_without_a_pose_are_not_followed():
    world = World().started()
    pose = world.table.plant.pose
    start = world.table.plant.angles
    for i in range(200):
        values = start + 0.01 * i * np.array([1.0, -1.0, -1.0, 1.0, 0.5, -0.5])
        feedback = world.driver.cycle(Demand(Mode.POSITION, np.clip(values, LOWER, UPPER)))
        world.wait()
        if feedback.alarms:
            break
    assert "no pose of the plate" in feedback.alarms[0].text
    assert np.linalg.norm(world.table.plant.pose[:3, 3] - pose[:3, 3]) < 0.3


def judged(world, request, values, number=None, session=7):
    number = world.number + 1 if number is None else number
    world.tap.sent.append(encode_command(CommandPacket(request, number, session, tuple(values))))
    return world.table.receive(world.tap.sent[-1], world.clock())


@pytest.mark.parametrize(("request_", "values", "text"), [
    (TableRequest.POSITION, [UPPER + 0.01] + [0.6664] * 5, "outside of [-0.35, 1.75]"),
    (TableRequest.POSITION, [0.8] + [0.6664] * 5, "a step of 0.13"),
    (TableRequest.EFFORT, [20.5] + [0.0] * 5, "outside of [-20, 20]"),
])  # fmt: skip
def test_commands_beyond_the_motors_are_violations_and_stop_the_table(request_, values, text):
    world = World().started()
    judged(world, request_, values)
    assert text in world.violations[0]
    assert world.table.state_now is TableState.ALARM


def test_a_step_may_be_longer_by_the_commands_that_were_lost():
    world = World().started()
    angles = world.table.plant.angles
    step = 0.9 * RATE_LIMIT * PERIOD
    judged(world, TableRequest.POSITION, angles + 3 * step, number=world.number + 3)
    assert not world.table.violations


def test_numbers_that_are_not_finite_are_violations_even_in_a_whole_packet():
    world = World().started()
    packet = bytearray(encode_command(CommandPacket(TableRequest.POSITION, world.number + 1, 7)))
    struct.pack_into(">d", packet, 12, math.nan)
    struct.pack_into(">I", packet, 60, zlib.crc32(packet[:60]))
    world.table.receive(bytes(packet), world.clock())
    assert "not finite" in world.table.violations[0].text
    assert world.table.state_now is TableState.ALARM


def test_motion_with_brakes_on_is_a_violation_and_nothing_moves():
    world = World()
    world.driver.open()
    before = world.table.plant.angles
    judged(world, TableRequest.POSITION, before + 0.01)
    world.clock.sleep(0.1)
    world.wire.run()
    assert "with the brakes on" in world.table.violations[0].text
    np.testing.assert_allclose(world.table.plant.angles, before, rtol=0, atol=1e-9)


def test_motion_long_after_an_alarm_is_a_violation():
    world = World().started()
    world.wire.fault("emergency_stop", 1)
    judged(world, TableRequest.POSITION, world.table.plant.angles)
    assert not world.table.violations  # the host cannot have heard of it yet
    world.clock.sleep(0.15)
    judged(world, TableRequest.POSITION, world.table.plant.angles)
    assert "after an alarm" in world.table.violations[0].text


def test_a_second_host_is_not_followed_and_told_so():
    world = World().started()
    other = HexaDriver(HexaSettings(), wire=world.plugged(), clock=world.clock, session=8)
    with refused(TransportError, field="state", value="in use"):
        other.open()
    judged(world, TableRequest.POSITION, world.table.plant.angles, number=1, session=8)
    assert "a second host" in world.table.violations[0].text
    assert world.table.state_now is TableState.POSITION


def driven(world):
    """An active safe cycle, and its step with a command."""
    cycle = SafeCycle(world.driver, SafetySettings(record_seconds=0.0), clock=world.clock)
    cycle.open(world.clock())
    world.next = world.clock()

    def step(mode, values):
        cycle.step(world.clock(), [Demand(mode, values, world.clock())])
        world.wait()

    for _ in range(5):
        step(Mode.POSITION, cycle.feedback.position)
    cycle.activate(world.clock())
    world.next = world.clock()
    for _ in range(50):
        step(Mode.POSITION, cycle.feedback.position)
    assert cycle.phase is Phase.ACTIVE
    return cycle, step


def test_a_table_that_another_host_took_is_told_at_once_and_nothing_moves_it_before_a_reset():
    world = World()
    cycle, step = driven(world)
    other = world.plugged()
    other.send(encode_command(CommandPacket(TableRequest.STOP, 1, 8)))
    other.send(encode_command(CommandPacket(TableRequest.START, 2, 8)))
    step(Mode.POSITION, cycle.feedback.position + 1e-4)
    assert cycle.phase is Phase.STOPPED
    assert "another host (session 00000008)" in cycle.latched
    world.tap.sent.clear()
    for _ in range(50):
        step(Mode.POSITION, cycle.feedback.position + 1e-4)
    assert {packet[3] for packet in world.tap.sent} <= {TableRequest.READ, TableRequest.STOP}


@pytest.mark.parametrize("is_mute", [False, True])
def test_torques_are_held_for_five_packets_of_a_late_cycle_and_then_the_pose_of_a_table_that_is_not_heard(is_mute):
    world = World()
    cycle, step = driven(world)
    plant, sent = world.table.plant, world.tap.sent
    for _ in range(50):
        step(Mode.EFFORT, plant.weight_torques - 2.0 * plant.rates)
    before = plant.angles
    sent.clear()
    if is_mute:
        world.wire.fault("mute", 1.0)
    else:
        world.clock.sleep(0.013)
        world.next = world.clock()
    for _ in range(60):
        step(Mode.EFFORT, plant.weight_torques - 2.0 * plant.rates)
    requests = [packet[3] for packet in sent]
    held = requests.index(TableRequest.POSITION)
    assert held <= 3 + 5 if is_mute else held == 5  # docs/hardware_safety.md
    assert is_mute or len({packet[12:60] for packet in sent[:held]}) == 1
    assert (TableRequest.EFFORT in requests[held:]) is not is_mute
    assert (TableRequest.STOP in requests) is is_mute
    assert cycle.phase is (Phase.STOPPED if is_mute else Phase.ACTIVE)
    assert np.abs(plant.angles - before).max() < 0.02
    assert world.violations == []


def test_commands_that_come_twice_or_late_are_not_followed():
    world = World().started()
    angles = world.table.plant.angles
    judged(world, TableRequest.POSITION, angles + 0.01)
    number = world.number
    assert judged(world, TableRequest.POSITION, angles, number=number) == []
    assert judged(world, TableRequest.START, [0.0] * 6, number=number - 1) == []
    np.testing.assert_array_equal(world.table.target, angles + 0.01)
    assert world.table.ignored == 2


@pytest.mark.parametrize("fault", ["drop", "corrupt", "half", "duplicate", "reorder"])
def test_the_table_follows_over_a_bad_wire_without_a_violation(fault):
    world = World(faults={fault: 0.001 if fault == "corrupt" else 0.1})
    world.started()
    path = joint_path(circle, 1.0)
    world.follow(path)
    world.hold(100)
    assert not world.table.violations
    if world.table.state_now is TableState.POSITION:  # ten losses in a row would brake it, rightly
        assert np.linalg.norm(world.table.plant.pose[:3, 3] - circle(1.0)[:3, 3]) < 1e-4


def test_an_answer_that_comes_late_is_not_taken_for_the_next_one():
    world = World().started()
    world.wire.fault("delay_answers", 0.0015)
    feedback = world.hold(3)
    assert not feedback.is_fresh
    assert world.driver.counts.refused >= 1
    assert world.driver.counts.last_problem in ("late answer", "no answer to POSITION")


def test_a_gone_cable_is_an_error():
    world = World().started()
    world.wire.fault("disconnect", 1)
    with pytest.raises(TransportError):
        world.hold(1)
    world.driver.stop()  # raises nothing
    assert "stop:" in world.driver.counts.last_problem


def test_a_weak_motor_is_noticed_by_its_following():
    world = World(stiffness=200.0).started()
    world.wire.fault("weak", 1.0)
    world.hold(200)
    assert world.table.state_now is TableState.ALARM
    assert any("does not follow" in alarm.text for alarm in world.driver.idle().alarms)


TABLE = HexaKinematics()
POSE, POSITION, RPY = pose_of((0.02, -0.01, -0.52), (0.05, -0.03, 0.04)), (0.02, -0.01, -0.52), (0.05, -0.03, 0.04)


def hold(plant, angles, periods, kp=400.0, on_period=lambda: None):
    for _ in range(periods):
        state = angles, np.zeros(6), plant.angles, plant.rates, plant.weight_torques
        plant.drive(servo_torques(kp, DAMPING, *state))
        plant.run()
        on_period()


@pytest.mark.parametrize("mass", [nightly(0.5), 1.7])
def test_the_weight_is_carried_as_virtual_work_says(mass):
    # half of a rod's weight acts at either end: its centre of mass is in its middle (0.1 kg; cranks 0.5 kg)
    plant, geometry, g = HexaPlant(POSE, plate_mass=mass), HexaGeometry(), np.array([0.0, 0.0, -9.81])
    crank = plant.simulation.model.links["leg_1_crank"]
    wrench, expected = np.zeros(6), np.zeros(6)
    wrench[:3] = mass * g
    for i, q in enumerate(plant.angles):
        half, arm = 0.5 * 0.1 * g, POSE[:3, :3] @ geometry.ball(i)
        wrench += [*half, *np.cross(arm, half)]
        azimuth = geometry.azimuth(i)
        tangent = -np.array([math.sin(q) * math.cos(azimuth), math.sin(q) * math.sin(azimuth), math.cos(q)])
        expected[i] = -(crank.mass * crank.com[0] + 0.05 * geometry.crank) * (tangent @ g)
    expected -= TABLE.jacobians(POSE).forward.T @ wrench
    np.testing.assert_allclose(plant.weight_torques, expected, rtol=0, atol=1e-9)


def test_brakes_stop_a_table_in_motion_and_hold_it_there():
    plant = HexaPlant()
    for _ in range(25):
        plant.drive([-6.0] * 6)
        plant.run()
    assert np.min(np.abs(plant.rates)) > 1.0
    speed = plant.rates.copy()
    plant.brake()
    plant.run(100)
    assert np.max(np.abs(plant.rates)) < 1e-2 * np.min(np.abs(speed))
    where = plant.angles
    plant.run(200)
    np.testing.assert_allclose(plant.angles, where, rtol=0, atol=2e-4)


def test_the_servo_holds_the_pose_to_what_assemble_says():
    plant = HexaPlant(POSE)
    wanted = TABLE.inverse(pose_of((0.03, 0.0, -0.53), (0.0, 0.05, 0.1)))
    hold(plant, wanted, 300)
    np.testing.assert_allclose(plant.angles, wanted, rtol=0, atol=1e-6)
    model = plant.simulation.model
    guess = plant.simulation.q
    closed = ada.close_loops(model, guess)
    np.testing.assert_allclose(plant.pose, ada.Dynamics(model).pose("platform", closed), rtol=0, atol=1e-9)
    np.testing.assert_allclose(plant.pose, TABLE.forward(plant.angles).pose, rtol=0, atol=1e-9)


def test_the_motors_carry_the_wrench_on_the_plate_which_is_that_on_the_probe_turned_round():
    tip = np.array([0.04, -0.03, -0.5602])
    plant = HexaPlant(HOME, Probe(tip=tuple(tip), stiffness=1e5, dissipation=1.0, friction=0.3))
    hold(plant, TABLE.inverse(pose_of((0.001, 0.0, -0.551), (0.02, 0.01, 0.0))), 300)
    on_probe, on_plate = plant.probe_wrench, plant.plate_wrench
    assert on_probe[2] < -0.1
    np.testing.assert_allclose(on_plate[:3], -on_probe[:3], rtol=0, atol=1e-12)
    # at rest the motors carry it: J^T F + weight = -tau
    J = TABLE.jacobians(plant.pose, plant.angles).forward
    np.testing.assert_allclose(J.T @ on_plate, plant.weight_torques - plant.torques, rtol=0, atol=5e-3)
