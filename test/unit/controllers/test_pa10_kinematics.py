# SPDX-License-Identifier: Apache-2.0
"""The PA-10: its hand by products of transforms and descriptions; every solution for a pose, or why there is none."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import refused

import ada_dynamics as ada
from ada_controllers import pa10_kinematics as pa10
from ada_dynamics.errors import AdaError, InputError

ROBOTS = {lengths: ada.Dynamics(ada.load(name)) for lengths, name in (("CE", "pa10"), ("7C", "pa10_7c"))}
COLUMN = {"s1": 0, "s3": 2}
HAND = [0.01, -0.02, 0.12]
# What the purpose asks for; with nothing singular errors are 1e-15, at worst those of an angle taken for zero, 1e-12.
POSE_ERROR = 1e-10

redundant_joints = pytest.mark.parametrize("redundant", ["s1", "s3"])
length_sets = pytest.mark.parametrize("lengths", ["CE", "7C"])


def _random(count, seed=1):
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 7))


def _apart(q, other):
    """Largest difference of angles, whole turns aside."""
    return np.abs(np.remainder(q - other + np.pi, 2.0 * np.pi) - np.pi).max(axis=-1)


def _pose_errors(solutions, poses, *arguments):
    back = pa10.forward(solutions.reshape(-1, 7), *arguments).reshape(*solutions.shape[:-1], 4, 4)
    return np.abs(back - poses[:, np.newaxis]).max()


@redundant_joints
@length_sets
def test_every_random_reachable_pose_is_solved_and_each_solution_has_the_hand_there(redundant, lengths):
    angles = _random(5_000)
    poses = pa10.forward(angles, lengths, HAND)
    found = pa10.inverse_batch(poses, angles[:, COLUMN[redundant]], lengths, redundant, HAND)
    assert found.valid.all()
    assert _pose_errors(found.q, poses, lengths, HAND) < 1e-13
    # Near singular poses angles are worse determined than poses are: the root of that.
    assert _apart(found.q, angles[:, np.newaxis]).min(axis=1).max() < 1e-6
    assert np.abs(found.q).max() <= np.pi


@redundant_joints
def test_no_solution_is_missing(redundant):
    q = np.array([0.4, 0.6, -0.5, 1.1, 0.8, 0.9, -0.3])
    pose, column = pa10.forward(q), COLUMN[redundant]
    found = pa10.inverse(pose, redundant=redundant, value=q[column])
    free = [i for i in range(7) if i != column]
    jacobian = ROBOTS["CE"].jacobian
    rng, seen = np.random.default_rng(3), set()
    for _ in range(120):
        x = rng.uniform(-np.pi, np.pi, 7)
        x[column] = q[column]
        for _ in range(60):
            error = np.linalg.inv(pose) @ pa10.forward(x)
            twist = np.array([*error[:3, 3], *(error[[2, 0, 1], [1, 2, 0]] - error[[1, 2, 0], [2, 0, 1]]) / 2.0])
            if np.abs(error - np.eye(4)).max() < 1e-10:
                seen.add(int(_apart(found, x).argmin()))
                assert _apart(found, x).min() < 1e-6
                break
            step = np.linalg.lstsq(jacobian("flange", x, frame="local")[:, free], twist, rcond=None)[0]
            x[free] -= step * min(1.0, 1.0 / np.abs(step).max())
    assert seen == set(range(8))


_SPECIAL = st.one_of(
    st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi, 1e-3, 1e-5, 1e-7, 1e-9, 1e-12, 0.7]), st.floats(-np.pi, np.pi)
)


@redundant_joints
@given(q=st.lists(_SPECIAL, min_size=7, max_size=7), lengths=st.sampled_from(["CE", "7C"]))
def test_any_angles_are_among_the_solutions_of_their_pose_or_as_good_as_one(redundant, q, lengths):
    pose = pa10.forward(q, lengths)
    found = pa10.inverse(pose, lengths, redundant, q[COLUMN[redundant]])
    assert _pose_errors(found[np.newaxis], pose[np.newaxis], lengths) < POSE_ERROR
    assert found[:, COLUMN[redundant]].tolist() == [q[COLUMN[redundant]]] * 8
    sizes = np.linalg.svd(ROBOTS[lengths].jacobian("flange", q), compute_uv=False)
    if sizes.prod() > 1e-3 and np.hypot(*_wrist(pose, lengths)[:2]) > 1e-3 and _regular(q):
        assert _apart(found, np.array(q)).min() < 1e-6


def _wrist(pose, lengths):
    arm = pa10.LENGTHS[lengths]
    return pose[:3, 3] - arm.hand * pose[:3, 2] - [0.0, 0.0, arm.base]


def _regular(q):
    """Whether the other joints are determined by the redundant one."""
    sines = np.abs(np.sin(np.array(q)[[1, 3, 5]]))
    return sines.min() > 1e-3 and abs(np.cos(q[2])) > 1e-3


@redundant_joints
@pytest.mark.parametrize("w1", [0.0, np.pi])
def test_where_the_wrist_is_straight_e2_is_what_is_asked_for(redundant, w1):
    q = np.array([0.3, 0.6, -0.4, 1.0, 0.5, w1, 0.2])
    pose = pa10.forward(q)
    found = pa10.inverse(pose, redundant=redundant, value=q[COLUMN[redundant]], e2=0.9)
    assert _pose_errors(found[np.newaxis], pose[np.newaxis]) < POSE_ERROR
    straight = found[np.abs(np.sin(found[:, 5])) < 1e-9]  # with the elbow elsewhere it is not
    assert len(straight) >= 4
    assert (straight[:, 4] == 0.9).any()
    half_turns = (straight[:, 4] - 0.9) / np.pi
    assert half_turns == pytest.approx(np.round(half_turns), abs=1e-12)


def test_limits_are_those_of_the_robot_description_and_leave_some_solutions():
    lower, upper = pa10.joint_limits("CE")
    assert np.rad2deg(upper) == pytest.approx([177.0, 94.0, 174.0, 137.0, 255.0, 165.0, 255.0])
    angles = np.random.default_rng(6).uniform(lower, upper, (500, 7))
    angles[:, [4, 6]] = np.remainder(angles[:, [4, 6]] + np.pi, 2.0 * np.pi) - np.pi
    poses = pa10.forward(angles)
    found = pa10.inverse_batch(poses, angles[:, 0], within_limits=True)
    assert found.valid.shape == (500, 8)
    assert found.valid.any(axis=1).all()
    kept = found.q[found.valid]
    assert ((kept >= lower) & (kept <= upper)).all()
    rows = pa10.inverse(poses[0], value=angles[0, 0], within_limits=True)
    assert np.array_equal(rows, found.q[0][found.valid[0]])


def _pose_with_wrist(direction, distance, rotation, lengths):
    arm = pa10.LENGTHS[lengths]
    pose = np.eye(4)
    pose[:3, :3] = rotation
    pose[:3, 3] = np.array([0.0, 0.0, arm.base]) + distance * direction + arm.hand * rotation[:, 2]
    return pose


@given(
    q=st.lists(st.floats(-3.0, 3.0), min_size=7, max_size=7),
    beyond=st.floats(1e-9, 5.0),
    far=st.booleans(),
    lengths=st.sampled_from(["CE", "7C"]),
    redundant=st.sampled_from(["s1", "s3"]),
)
def test_a_pose_out_of_reach_is_refused_with_its_distance(q, beyond, far, lengths, redundant):
    arm = pa10.LENGTHS[lengths]
    near_end = abs(arm.upper - arm.fore)
    beyond = beyond if far else min(beyond, near_end)
    rotation = pa10.forward(q)[:3, :3]
    direction = rotation[:, 0]
    distance = arm.upper + arm.fore + beyond if far else near_end - beyond
    pose = _pose_with_wrist(direction, distance, rotation, lengths)
    with refused(pa10.Unreachable, field="reach") as caught:
        pa10.inverse(pose, lengths, redundant)
    assert caught.value.distance == pytest.approx(beyond, rel=1e-9, abs=2e-15)
    assert isinstance(caught.value, AdaError)
    batch = pa10.inverse_batch(pose, 0.0, lengths, redundant)
    assert not batch.valid[0]
    assert batch.distance[0] == pytest.approx(beyond, rel=1e-9, abs=2e-15)
    assert np.isnan(batch.q).all()


@redundant_joints
def test_an_angle_that_does_not_go_with_a_pose_is_refused_with_those_that_do(redundant):
    q = np.array([0.3, 0.9, 0.2, 0.8, 0.5, 0.4, 0.2])
    pose = pa10.forward(q)
    intervals = pa10.feasible(pose, redundant=redundant)
    assert any(low <= q[COLUMN[redundant]] <= high for low, high in intervals)
    ends = np.ravel(intervals)
    for end, inwards in itertools.product(ends, (1e-6, -1e-6)):
        inside = any(low <= end + inwards <= high for low, high in intervals)
        if abs(end) > np.pi - 1e-9:
            continue  # not an end of what is feasible, but of the turn
        if inside:
            found = pa10.inverse(pose, redundant=redundant, value=end + inwards)
            assert _pose_errors(found[np.newaxis], pose[np.newaxis]) < POSE_ERROR
        else:
            with refused(pa10.Unreachable, field="redundant", value=0.0) as caught:
                pa10.inverse(pose, redundant=redundant, value=end + inwards)
            assert caught.value.condition == "redundant"
            assert caught.value.distance == 0.0
            assert caught.value.intervals == intervals


GOOD = pa10.forward([0.3, 0.8, 0.0, 1.2, 0.0, 0.5, 0.0])
BAD_POSES = {
    "shape": (np.eye(3), "T"),
    "not finite": (np.where(np.eye(4, k=3) > 0, np.nan, GOOD), "pose"),
    "not a rotation": (GOOD * np.diag([1.0, 1.0, 1.0, 1.0]) + 1e-6 * np.eye(4, k=1), "T"),
    "mirrored": (GOOD @ np.diag([1.0, 1.0, -1.0, 1.0]), "T"),
    "last row": (GOOD + np.diag([0.0, 0.0, 0.0, 1.0]), "T"),
    "too large": (GOOD * np.array([1.0, 1.0, 1.0, 1e200]), None),
}


@pytest.mark.parametrize("name", BAD_POSES)
def test_what_is_no_pose_is_refused(name):
    pose, field = BAD_POSES[name]
    with refused(InputError, field=field):
        pa10.inverse(pose)
    if np.shape(pose) == (4, 4):
        with refused(InputError, field="T[1]" if field == "T" else field):
            pa10.inverse_batch(np.stack([GOOD, pose]))


@pytest.mark.parametrize(
    ("keywords", "field"),
    [
        ({"lengths": "XX"}, "set of lengths of the PA-10"),
        ({"redundant": "s2"}, "redundant"),
        ({"value": np.nan}, "given"),
        ({"lengths": pa10.Lengths(0.3, 0.4, 0.5, 0.1), "within_limits": True}, "limits"),
    ],
)
def test_bad_arguments_are_refused(keywords, field):
    with refused(InputError, field=field):
        pa10.inverse(GOOD, **keywords)
    with refused(InputError, field=field):
        pa10.inverse_batch(GOOD[np.newaxis], **keywords)


TOOL = np.array([[0.0, 0.0, 1.0, 0.02], [1.0, 0.0, 0.0, -0.03], [0.0, 1.0, 0.0, 0.15], [0.0, 0.0, 0.0, 1.0]])


def _turn(axis, angle):
    pose, c, s = np.eye(4), np.cos(angle), np.sin(angle)
    i, j = {"y": (2, 0), "z": (0, 1)}[axis]
    pose[i, i] = pose[j, j] = c
    pose[i, j], pose[j, i] = -s, s
    return pose


def _up(length):
    pose = np.eye(4)
    pose[2, 3] = length
    return pose


@pytest.mark.parametrize(("lengths", "arm"), [("CE", (0.317, 0.45, 0.48, 0.07)), ("7C", (0.315, 0.45, 0.5, 0.08))])
def test_the_pose_is_the_product_of_the_transforms_of_each_joint(lengths, arm):
    for q in _random(20):
        expected = _up(arm[0])
        for axis, angle, above in zip("zyzyzyz", q, (0.0, 0.0, arm[1], 0.0, arm[2], 0.0, arm[3]), strict=True):
            expected = expected @ _turn(axis, angle) @ _up(above)
        assert pa10.forward(q, lengths) == pytest.approx(expected, abs=1e-15)
        assert pa10.forward(q, lengths, TOOL) == pytest.approx(expected @ TOOL, abs=1e-15)


@length_sets
def test_the_robot_description_has_the_same_pose_in_a_batch_or_alone(lengths):
    angles = _random(13)
    for q, found in zip(angles, pa10.forward(angles, lengths), strict=True):
        assert found == pytest.approx(pa10.forward(q, lengths), abs=1e-15)
        assert found == pytest.approx(ROBOTS[lengths].forward_kinematics(q)["flange"], abs=1e-14)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (([0.0] * 6,), "q"),
        ((np.zeros((2, 3, 7)),), "q"),
        (([0.0, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0],), "q"),
        (([0.0] * 7, pa10.Lengths(0.3, 0.0, 0.5, 0.1)), "lengths"),
        (([0.0] * 7, "CE", [0.0, 1.0]), "hand"),
        (([0.0] * 7, "CE", 1.1 * np.eye(4)), "hand"),
        (([0.0] * 7, "CE", np.diag([1.0, 1.0, -1.0, 1.0])), "hand"),
    ],
)
def test_what_is_no_arm_is_refused(arguments, field):
    with refused(InputError, field=field):
        pa10.forward(*arguments)
