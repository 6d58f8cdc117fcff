# SPDX-License-Identifier: Apache-2.0
"""Motions of the KHR-1: uploaded, verified, played by the boards, and played from the host."""

import numpy as np
import pytest
from kondo_world import KondoWorld
from refused import refused

from ada_dynamics import resources
from ada_dynamics.errors import InputError
from ada_hardware.kondo.angle_map import AngleMap
from ada_hardware.kondo.errors import MotionError
from ada_hardware.kondo.motion_file import read_motion
from ada_hardware.kondo.rcb1.codec import CommandFrame
from ada_hardware.kondo.rcb1.commands import LOW, Code
from ada_hardware.kondo.rcb1.motions import StoredMotion, VerifyError, sampled
from ada_robot.errors import NoAnswer, Refused

MAP = AngleMap.read(resources.find("config", "khr1_angle_map.yaml"))
WALK = resources.find("config", "khr1_walk.csv")


@pytest.fixture
def world():
    found = KondoWorld("khr1")
    found.driver.open()
    return found


def servo_angles(world):
    angles = world.angles
    return [angles[joint] for joint in MAP.joints]


def test_a_motion_is_uploaded_to_both_boards_and_verified(world):
    steps, walk = [], StoredMotion.read(WALK, MAP)
    stance = walk.frames[0]
    # speed 7; relative to table 5, channel 14 is home 115 - 1, channel 22 home 90 - 29
    assert (stance[0], stance[14], stance[22], stance[4], stance[24]) == (7, 114, 61, LOW, LOW)
    assert walk.of_board(1)[0] == (7, *stance[13:25])
    world.driver.memory().upload(39, walk, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(i, 64) for i in range(1, 65)]
    for i, board in enumerate(world.device.boards):
        assert [board.frame(39, index) for index in range(16)] == walk.of_board(i)
    assert world.device.violations == []


def test_the_boards_play_the_walk_as_its_file_says(world):
    world.driver.memory().upload(0, StoredMotion.read(WALK, MAP))
    begin = world.clock.now()
    world.driver.memory().play(0)
    times, angles = read_motion(WALK, MAP)
    # the way from home to the first frame comes first: 29 deg at speed 7
    wanted = np.column_stack([angles[joint] for joint in MAP.joints])
    home = np.array([MAP.home()[joint] for joint in MAP.joints])
    approach = float(np.degrees(np.abs(wanted[0] - home).max())) * 0.0178
    for time, row in zip(times, wanted, strict=True):
        world.clock.sleep(begin + approach + time - world.clock.now())
        # both boards were started 2 ms apart, 20 ms ago at most; servos turn 56 deg/s
        np.testing.assert_allclose(servo_angles(world), MAP.angles(row), atol=1.0)
    is_over = world.device.state()["playing"] == [False, False]
    assert is_over or world.clock.now() - begin < approach + times[-1] + 0.01
    assert world.device.violations == []


def test_what_reads_back_differently_is_told_by_board_frame_and_channel(world):
    lower = world.device.boards[1]
    kept = lower.execute

    def forgetful(command, now):
        values = list(command.values)
        if command.code is Code.SET_FRAME and values[1] == 5:
            values[4] = 91  # channel 2
        return kept(command._replace(values=tuple(values)), now)

    lower.execute = forgetful
    with refused(VerifyError, field="board 1, motion 4, frame 5, channel 2", value=91):
        world.driver.memory().upload(4, StoredMotion.read(WALK, MAP))
    assert kept(CommandFrame(Code.GET_FRAME_COUNT, 1, (4,)), 0.0) == (0,)  # it cannot be played


def test_an_upload_survives_a_bad_line_and_a_silent_board_ends_it(world):
    world.wire.fault("drop_answers", 0.2)
    world.wire.fault("drop_commands", 0.2)
    walk = StoredMotion.read(WALK, MAP)
    world.driver.memory().upload(1, StoredMotion(walk.frames[:4]))
    assert world.driver.counts.retries > 0
    world.device.fault("silent_board", 2)
    with refused(NoAnswer, field="command", value="SET_FRAME_COUNT (0xf7) of board 1"):
        world.driver.memory().upload(2, walk)


def motion(tmp_path, count, **channels):
    row = ",".join(str(channels.get(f"c{i}", 0)) for i in range(1, 25))
    path = tmp_path / "motion.csv"
    path.write_text("\n".join(["No.,Name,Speed", *[f"{i},name,4,{row}" for i in range(count)]]))
    return path


def test_a_motion_beyond_the_capacity_of_boards_or_limits_of_servos_is_refused(world, tmp_path):
    for count, channels, facts in (
        (101, {}, {"field": "frames", "value": 101, "allowed": "1 to 100"}),
        (0, {}, {"field": "frames", "value": 0}),
        (2, {"c14": 66}, {"line": 2, "field": "column 17", "joint": "left_hip_pitch", "allowed": (-95.0, 65.0)}),
    ):
        path = motion(tmp_path, count, **channels)
        with refused(MotionError, file=str(path), **facts):
            StoredMotion.read(path, MAP)
    walk = StoredMotion.read(motion(tmp_path, 100), MAP)
    with refused(InputError, field="motion", value=40, allowed="0 to 39"):
        world.driver.memory().upload(40, walk)
    world.driver.start()
    with refused(Refused, field="state", value="started"):
        world.driver.memory()
    times, angles = read_motion(WALK, MAP)
    with refused(InputError, joint="tail", allowed=tuple(angles)):
        sampled(times, angles, 0.05, ["tail"])
