# SPDX-License-Identifier: Apache-2.0
"""The HEXA's packets byte by byte, with damage and wraps; driver and emulated table through them, open to close."""

import math
import struct
import zlib

import numpy as np
import pytest
from hexa_world import LEVEL, World, circle, joint_path, stiffness_at
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import refused

from ada_dynamics.spatial.orientation import pose_of
from ada_hardware.hexa.alarms import AxisAlarm, TableAlarm, alarms_of
from ada_hardware.hexa.emulator import HexaEmulator, HexaEmulatorSettings
from ada_hardware.hexa.kinematics import HOME, JOINTS, HexaKinematics
from ada_hardware.hexa.packets import (
    COMMAND_SIZE,
    NUMBERS,
    STATUS_SIZE,
    CommandPacket,
    TableRequest,
    TableState,
    TableStatus,
    decode_command,
    decode_status,
    encode_command,
    encode_status,
    is_newer,
)
from ada_hardware.hexa.plant import LIMITS, LOWER, PERIOD, UPPER
from ada_robot.contract import Demand, Mode
from ada_robot.errors import NoAnswer, Refused

finite = st.floats(allow_nan=False, allow_infinity=False)
words, numbers = st.integers(0, 0xFFFF), st.integers(0, NUMBERS - 1)
commands = st.builds(CommandPacket, st.sampled_from(TableRequest), numbers, numbers, st.tuples(*[finite] * 6))
six = st.tuples(*[finite] * 6)
statuses = st.builds(
    TableStatus, st.sampled_from(TableState), numbers, numbers, words, st.tuples(*[words] * 6), finite, six, six, six
)
A_COMMAND = CommandPacket(TableRequest.POSITION, 0x01020304, 0xA1B2C3D4, (1.0, -1.0, 0.5, 0.0, 2.0, -0.25))
A_STATUS = TableStatus(
    TableState.EFFORT, 7, 9, 0x0003, (0, 1, 2, 4, 8, 16), 1.5, (1.0,) * 6, (-2.0,) * 6, (0.5, 0.0, 0.0, 0.0, 0.0, -0.5)
)


def test_a_command_has_the_bytes_that_the_page_says():
    body = bytes.fromhex(
        "4858 01 02 01020304 a1b2c3d4"
        "3ff0000000000000 bff0000000000000 3fe0000000000000 0000000000000000 4000000000000000 bfd0000000000000"
    )
    packet = encode_command(A_COMMAND)
    assert packet[:60] == body
    assert packet[60:] == struct.pack(">I", zlib.crc32(body))
    assert len(packet) == COMMAND_SIZE == 64


def test_a_status_has_the_bytes_that_the_page_says():
    packet = encode_status(A_STATUS)
    assert packet[:28] == bytes.fromhex("4853 01 02 00000007 00000009 0003 0000 0001 0002 0004 0008 0010 0000")
    assert packet[28:36] == bytes.fromhex("3ff8000000000000")
    assert packet[36:84] == bytes.fromhex("3ff0000000000000") * 6
    assert packet[84:132] == bytes.fromhex("c000000000000000") * 6
    assert packet[132:140] == bytes.fromhex("3fe0000000000000")
    assert packet[180:] == struct.pack(">I", zlib.crc32(packet[:180]))
    assert len(packet) == STATUS_SIZE == 184


CODECS = {"command": (commands, encode_command, decode_command), "status": (statuses, encode_status, decode_status)}


@pytest.mark.parametrize("kind", CODECS)
@given(data=st.data())
def test_packets_come_back_as_they_were_and_with_one_bit_changed_are_none(kind, data):
    made, encode, decode = CODECS[kind]
    value = data.draw(made)
    packet = bytearray(encode(value))
    assert decode(bytes(packet)) == value
    bit = data.draw(st.integers(0, 8 * len(packet) - 1))
    packet[bit // 8] ^= 1 << bit % 8
    assert decode(bytes(packet)) is None


@pytest.mark.parametrize(("at", "value"), [(2, 2), (3, 77)])
def test_another_version_or_an_unknown_request_is_none_even_when_it_is_whole(at, value):
    for packet, decode in ((encode_command(A_COMMAND), decode_command), (encode_status(A_STATUS), decode_status)):
        body = bytearray(packet[:-4])
        body[at] = value
        assert decode(bytes(body) + struct.pack(">I", zlib.crc32(body))) is None


def test_a_status_that_is_not_finite_is_none():
    for bad in (math.nan, math.inf):
        assert decode_status(encode_status(A_STATUS._replace(rates=(bad, 0.0, 0.0, 0.0, 0.0, 0.0)))) is None
        assert decode_status(encode_status(A_STATUS._replace(time=bad))) is None


@pytest.mark.parametrize("values", [(math.nan,) + (0.0,) * 5, (math.inf,) + (0.0,) * 5, (0.0,) * 5, (0.0,) * 7])
def test_values_that_are_none_never_become_bytes(values):
    with refused(Refused, field="values"):
        encode_command(A_COMMAND._replace(values=values))


@given(numbers, st.integers(1, NUMBERS // 2 - 1))
@settings(max_examples=50)
def test_numbers_are_newer_across_the_wrap(number, ahead):
    later = (number + ahead) % NUMBERS
    assert is_newer(later, number)
    assert not is_newer(number, later)
    assert not is_newer(number, number)


def test_alarms_are_told_in_words_by_joint_and_unknown_bits_by_number():
    status = A_STATUS._replace(
        alarms=int(TableAlarm.EMERGENCY_STOP) | 0x8000, axis_alarms=(0, int(AxisAlarm.RESOLVER), 0, 0, 0, 0)
    )
    stop, unknown, resolver = alarms_of(status, JOINTS)
    assert stop.is_stop
    assert "release it, then reset" in stop.text
    assert not unknown.is_stop
    assert "unknown alarm bit 0x8000" in unknown.text
    assert resolver.joint == "leg_2_crank"
    assert "resolver signal lost" in resolver.text


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
