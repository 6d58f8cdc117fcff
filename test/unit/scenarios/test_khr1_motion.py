# SPDX-License-Identifier: Apache-2.0
"""Motions of the KHR-1 are read as its format says; the walk that comes with the library can be walked."""

from itertools import pairwise

import numpy as np
import pytest
from refused import refused

from ada_dynamics import Dynamics, InputError, resources
from ada_dynamics.model.model import link_poses
from ada_dynamics.robots.load import load
from ada_hardware.kondo.angle_map import AngleMap, MotionError
from ada_hardware.kondo.motion_file import SECONDS_PER_DEGREE, read_motion, sampled

pytest.importorskip("yaml")

MAP = resources.find("config", "khr1_angle_map.yaml")
WALK = resources.find("config", "khr1_walk.csv")


def row(speed=7, **channels):
    angles = [str(channels.get(f"c{i}", 0)) for i in range(1, 25)]
    return ",".join(["1", "name", str(speed), *angles])


def motion(tmp_path, *rows, encoding="utf-8"):
    path = tmp_path / "motion.csv"
    path.write_bytes("\n".join(["No.,Name,Speed", *rows]).encode(encoding))
    return path


def test_every_joint_has_a_servo_and_its_limits_follow_from_the_map():
    servos, model = AngleMap.read(MAP).servos, load("khr1")
    assert {servo.joint for servo in servos.values()} == set(model.joint_names[1:])
    for servo in servos.values():
        limits = model.joints[servo.joint].limits
        ends = sorted((servo.position(servo.lowest), servo.position(servo.highest)))
        np.testing.assert_allclose([limits.lower, limits.upper], ends, atol=1e-15)
        assert servo.angle(servo.position(37.0)) == pytest.approx(37.0, abs=1e-12)


def test_channels_and_home_are_those_of_table_5():
    servos = AngleMap.read(MAP).servos
    table = {1: 5, 2: 0, 3: 90, 6: 90, 7: 175, 8: 180, 9: 90}
    table |= {13: 88, 14: 115, 15: 115, 16: 90, 17: 92, 19: 92, 20: 65, 21: 65, 22: 90, 23: 88}
    assert {channel: servo.home for channel, servo in servos.items()} == table


@pytest.mark.parametrize(
    ("old", "new", "line", "field"),
    [
        ("channel: 1,", "channel: 25,", 19, "map.servos.0.channel"),
        ("channel: 2,", "channel: 1,", 20, "map.servos.1.channel"),
        ("sign: -1", "sign: 2", 19, "map.servos.0.sign"),
        ("left_elbow", "neck_yaw", 22, "map.servos.3.joint"),
    ],
)
def test_a_bad_map_is_refused_by_line_and_key(tmp_path, old, new, line, field):
    path = tmp_path / "map.yaml"
    text = MAP.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with refused(MotionError, file=str(path), line=line, field=field):
        AngleMap.read(path)


def test_angles_are_relative_to_home_and_turn_with_the_sign(tmp_path):
    times, angles = read_motion(motion(tmp_path, row(), row(c14=10, c20=-10, c6=90)), MAP)
    np.testing.assert_allclose(np.degrees(angles["left_hip_pitch"]), [-25.0, -35.0])
    np.testing.assert_allclose(np.degrees(angles["right_hip_pitch"]), [-25.0, -35.0])
    np.testing.assert_allclose(np.degrees(angles["neck_yaw"]), [0.0, -90.0])
    assert times.tolist() == [0.0, pytest.approx(90 * 0.0178)]


@pytest.mark.parametrize("speed", range(8))
def test_a_frame_takes_as_long_as_its_largest_change_at_its_speed(tmp_path, speed):
    times, _ = read_motion(motion(tmp_path, row(), row(speed, c6=-40, c14=30)), MAP)
    assert times[1] == pytest.approx(40 * SECONDS_PER_DEGREE[speed])


@pytest.mark.parametrize(
    ("rows", "line", "field", "value"),
    [
        ([row()], None, "frames", 1),
        ([row(), row()], None, "frames", None),  # nothing moves
        ([row(), "1,name,7,0"], 3, "columns", 4),
        ([row(), row(8)], 3, "speed", 8),
        ([row(c14="x"), row()], 2, "column 17", "x"),
        ([row(), row(c14=70)], 3, "column 17", 70.0),  # beyond the servo's range
    ],
)
def test_a_bad_motion_is_refused_by_line_and_column(tmp_path, rows, line, field, value):
    with refused(MotionError, line=line, field=field, value=value):
        read_motion(motion(tmp_path, *rows), MAP)


def test_a_motion_is_sampled_from_the_present_configuration_at_the_slowest_speed():
    times, angles = read_motion(WALK, MAP)
    joints = ["left_knee", "neck_yaw"]
    frames = np.column_stack([angles[joint] for joint in joints])
    rows = sampled(times, angles, 0.02, joints, frames[0] + [np.radians(10.0), 0.0])
    assert rows[0] == pytest.approx(frames[0] + [np.radians(10.0), 0.0])
    approach = 10.0 * SECONDS_PER_DEGREE[-1]
    assert len(rows) == np.ceil((approach + times[-1]) / 0.02) + 1
    assert rows[-1] == pytest.approx(frames[-1])
    at = np.interp(0.02 * np.arange(len(rows)) - approach, times, frames[:, 0])[10:]
    np.testing.assert_allclose(rows[10:, 0], at, atol=1e-12)
    with refused(InputError, joint="tail", allowed=tuple(angles)):
        sampled(times, angles, 0.05, ["tail"])


@pytest.fixture(scope="module")
def walk():
    """Model, times, configurations with the trunk at the origin, poses of the links."""
    model = load("khr1")
    times, angles = read_motion(WALK, MAP)
    q = np.tile(model.neutral(), (len(times), 1))
    for joint, values in angles.items():
        q[:, model.q_index(joint)] = values[:, None]
    return model, times, q, [link_poses(model, one) for one in q]


def test_the_walk_lasts_some_seconds_within_the_limits_of_joints_and_servos(walk):
    model, times, q, _ = walk
    assert 8.0 < times[-1] < 12.0
    assert (q[:, 7:] >= model.lower[-17:]).all()
    assert (q[:, 7:] <= model.upper[-17:]).all()
    assert np.abs(np.diff(q[:, 7:], axis=0) / np.diff(times)[:, None]).max() < 6.16


def test_soles_stay_flat_and_the_feet_that_stand_do_not_slip(walk):
    _, _, _, poses = walk
    gaps = []
    for pose in poses:
        for sole in ("left_sole", "right_sole"):
            np.testing.assert_allclose(pose[sole][0], np.eye(3), atol=1e-15)
        gaps.append(pose["left_sole"][1] - pose["right_sole"][1])
    heights = np.abs([gap[2] for gap in gaps])
    assert ((heights < 5e-5) | (heights > 0.011)).all()  # on the ground to rounding of degrees, or 11 mm above it
    for before, after in pairwise(gaps):
        if max(abs(before[2]), abs(after[2])) < 5e-5:  # both feet on the ground from frame to frame
            assert np.abs(after - before).max() < 5e-4


def test_the_centre_of_mass_is_over_the_sole_that_stands(walk):
    model, _, q, poses = walk
    coms = Dynamics(model).com(q)
    lifted = 0
    for com, pose in zip(coms, poses, strict=True):
        difference = (pose["left_sole"][1] - pose["right_sole"][1])[2]
        if abs(difference) < 0.005:
            continue
        lifted += 1
        stands = pose["left_sole" if difference < 0.0 else "right_sole"][1]
        off = np.abs(com - stands)[:2]
        assert off[0] < 0.040 - 0.030
        assert off[1] < 0.0225 - 0.012
    assert lifted == 7
