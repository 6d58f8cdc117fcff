# SPDX-License-Identifier: Apache-2.0
"""Motions of the KHR-1: uploaded, verified, played by the boards, and played from the host."""

from itertools import pairwise

import numpy as np
import pytest

from ada_dynamics import resources
from ada_dynamics.errors import InputError
from ada_hardware.emulation.in_process import FakeClock, InProcessStream
from ada_hardware.emulation.process import EmulatorProcess
from ada_hardware.kondo.angle_map import AngleMap
from ada_hardware.kondo.errors import MotionError
from ada_hardware.kondo.motion_file import read_motion
from ada_hardware.kondo.rcb1.commands import LOW, Code
from ada_hardware.kondo.rcb1.driver import Rcb1Driver
from ada_hardware.kondo.rcb1.emulator import Rcb1Emulator, Rcb1EmulatorSettings
from ada_hardware.kondo.rcb1.motions import StoredMotion, VerifyError, sampled
from ada_hardware.kondo.rcb1.settings import Rcb1Settings
from ada_robot.contract import Demand, Mode
from ada_robot.errors import NoAnswer, Refused

MAP = AngleMap.read(resources.find("config", "khr1_angle_map.yaml"))
WALK = resources.find("config", "khr1_walk.csv")


def made(**settings):
    clock = FakeClock()
    device = Rcb1Emulator(Rcb1EmulatorSettings(**settings))
    wire = InProcessStream(device, clock=clock.now, sleep=clock.sleep)
    driver = Rcb1Driver(Rcb1Settings(), wire=wire, clock=clock.now)
    driver.open()
    return clock, device, wire, driver


@pytest.fixture
def world():
    return made()


def rows_at_start(angles):
    return np.array([angles[joint][0] for joint in MAP.joints])


def servo_angles(device):
    return [device.state()["angles"][joint] for joint in MAP.joints]


def test_the_walk_becomes_frames_of_bytes():
    walk = StoredMotion.read(WALK, MAP)
    assert len(walk.frames) == 16
    stance = walk.frames[0]
    assert stance[0] == 7
    # relative to table 5: channel 14 is home 115 - 1, channel 22 home 90 - 29
    assert (stance[14], stance[22], stance[4], stance[24]) == (114, 61, LOW, LOW)
    assert walk.of_board(1)[0] == (7, *stance[13:25])


def test_a_motion_is_uploaded_to_both_boards_and_verified(world):
    _, device, _, driver = world
    told = []
    walk = StoredMotion.read(WALK, MAP)
    driver.memory().upload(39, walk, progress=lambda done, total: told.append((done, total)))
    assert told == [(i, 64) for i in range(1, 65)]
    for i, board in enumerate(device.boards):
        assert [board.frame(39, index) for index in range(16)] == walk.of_board(i)
    assert device.violations == []


def test_the_boards_play_the_walk_as_its_file_says(world):
    clock, device, wire, driver = world
    driver.memory().upload(0, StoredMotion.read(WALK, MAP))
    begin = clock.now()
    driver.memory().play(0)
    times, angles = read_motion(WALK, MAP)
    # the way from home to the first frame comes first: 29 deg at speed 7
    wanted = np.column_stack([angles[joint] for joint in MAP.joints])
    home = np.array([MAP.home()[joint] for joint in MAP.joints])
    approach = float(np.degrees(np.abs(wanted[0] - home).max())) * 0.0178
    for time, row in zip(times, wanted, strict=True):
        clock.sleep(begin + approach + time - clock.now())
        wire.run()
        # both boards were started 2 ms apart, 20 ms ago at most; servos turn 56 deg/s
        np.testing.assert_allclose(servo_angles(device), MAP.angles(row), atol=1.0)
    assert device.state()["playing"] == [False, False] or clock.now() - begin < approach + times[-1] + 0.01
    assert device.violations == []


def test_boards_that_did_not_wait_would_come_out_of_step():
    clock, device, wire, driver = made(boards_wait=False)
    driver.memory().upload(0, StoredMotion.read(WALK, MAP))
    driver.memory().play(0)
    clock.sleep(5.3)
    wire.run()
    assert device.state()["playing"] == [True, False]  # the legs, which the neck paces, are through long before it


def test_the_host_plays_the_walk_as_well(world):
    clock, device, wire, driver = world
    driver.start()
    times, angles = read_motion(WALK, MAP)
    start = driver.idle().position
    rows = sampled(times, angles, driver.period, driver.joints, start)
    approach = np.degrees(np.abs(rows_at_start(angles) - start).max()) * 0.0178  # at the slowest speed
    assert len(rows) == int(np.ceil((approach + times[-1]) / driver.period)) + 1
    for row in rows:
        begin = clock.now()
        assert driver.cycle(Demand(Mode.POSITION, row)).is_fresh
        clock.sleep(driver.period - (clock.now() - begin))
        wire.run()
        # one degree of rounding, and what is still on its way when a step takes more than a period
        np.testing.assert_allclose(servo_angles(device), MAP.angles(row), atol=1.5)
    assert device.violations == []


def test_what_reads_back_differently_is_told_by_board_frame_and_channel(world):
    _, device, _, driver = world
    lower, kept = device.boards[1], device.boards[1].obey

    def forgetful(command, now):
        values = list(command.values)
        if command.code is Code.SET_FRAME and values[1] == 5:
            values[4] = 91  # channel 2
        return kept(command._replace(values=tuple(values)), now)

    lower.obey = forgetful
    with pytest.raises(VerifyError, match="board 1 holds 91 as channel 2 of frame 5 of motion 4"):
        driver.memory().upload(4, StoredMotion.read(WALK, MAP))
    lower.obey = kept
    assert lower.obey(driver_command(Code.GET_FRAME_COUNT, 1, 4), 0.0) == (0,)  # it cannot be played


def driver_command(code, board, *values):
    from ada_hardware.kondo.rcb1.codec import CommandFrame

    return CommandFrame(code, board, values)


def test_an_upload_survives_a_bad_line_and_a_silent_board_ends_it(world):
    _, device, wire, driver = world
    wire.fault("drop_answers", 0.2)
    wire.fault("drop_commands", 0.2)
    walk = StoredMotion.read(WALK, MAP)
    driver.memory().upload(1, StoredMotion(walk.frames[:4]))
    assert driver.counts.retries > 0
    device.fault("silent_board", 2)
    with pytest.raises(NoAnswer, match=r"to SET_FRAME_COUNT \(0xf7\) of board 1"):
        driver.memory().upload(2, walk)


def test_motions_of_the_boards_and_commands_do_not_mix(world):
    driver = world[3]
    driver.start()
    with pytest.raises(Refused, match=r"stop\(\) first"):
        driver.memory()


def motion(tmp_path, count, **channels):
    row = ",".join(str(channels.get(f"c{i}", 0)) for i in range(1, 25))
    path = tmp_path / "motion.csv"
    path.write_text("\n".join(["No.,Name,Speed", *[f"{i},name,4,{row}" for i in range(count)]]))
    return path


def test_a_motion_beyond_the_boards_capacity_or_the_servos_limits_is_refused(tmp_path, world):
    assert len(StoredMotion.read(motion(tmp_path, 100), MAP).frames) == 100
    with pytest.raises(MotionError, match="it has 101 key frames; a board holds 1 to 100 per motion"):
        StoredMotion.read(motion(tmp_path, 101), MAP)
    with pytest.raises(MotionError, match="it has 0 key frames"):
        StoredMotion.read(motion(tmp_path, 0), MAP)
    with pytest.raises(MotionError, match=r"line 2, column 17: channel 14 \(left_hip_pitch\) .* allowed are -95 to 65"):
        StoredMotion.read(motion(tmp_path, 2, c14=66), MAP)
    with pytest.raises(InputError, match="motion 40: a board has numbers 0 to 39"):
        world[3].memory().upload(40, StoredMotion.read(WALK, MAP))


def test_a_joint_that_the_motion_does_not_name_is_refused():
    times, angles = read_motion(WALK, MAP)
    with pytest.raises(InputError, match="does not name tail; it has left_shoulder_pitch"):
        sampled(times, angles, 0.05, ["tail"])
    rows = sampled(times, angles, 0.05, ["neck_yaw"])
    assert max(abs(float(b[0] - a[0])) for a, b in pairwise(rows)) <= np.radians(0.05 / 0.0178) + 1e-9


def test_a_motion_goes_through_a_pseudo_terminal():
    with EmulatorProcess("khr1") as device:
        driver = Rcb1Driver(Rcb1Settings(url=device.url))
        driver.open()
        walk = StoredMotion.read(WALK, MAP)
        short = StoredMotion(walk.frames[:2])
        driver.memory().upload(7, short)
        driver.memory().play(7)
        assert device.state()["played"][0][0] == [7, 0]
        assert device.violations() == []
        driver.close()
