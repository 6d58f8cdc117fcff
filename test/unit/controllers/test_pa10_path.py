# SPDX-License-Identifier: Apache-2.0
"""A continuous motion of the PA-10 along a path of poses."""

from __future__ import annotations

import numpy as np
import pytest
from refused import refused
from tiers import nightly

from ada_controllers import pa10_kinematics as pa10
from ada_dynamics.errors import InputError

FORWARD = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # the hand points along x


def _poses(places, rotation=FORWARD):
    poses = np.tile(np.eye(4), (len(places), 1, 1))
    poses[:, :3, :3] = rotation
    poses[:, :3, 3] = places
    return poses


def _circle(count, radius=0.15):
    s = np.linspace(0.0, 2.0 * np.pi, count)
    return _poses(np.stack([np.full(count, 0.5), radius * np.cos(s), 0.6 + radius * np.sin(s)], axis=1))


def _line(count, start, end):
    s = np.linspace(0.0, 1.0, count)[:, np.newaxis]
    return _poses((1.0 - s) * np.array(start) + s * np.array(end))


@pytest.mark.parametrize(
    ("redundant", "count", "smooth"), [("s1", 20, 0.06), nightly("s3", 20, 0.06), nightly("s3", 120, 0.004)]
)
def test_a_circle_is_followed_smoothly_within_limits(redundant, count, smooth):
    poses = _circle(count)
    found = pa10.resolve_path(poses, redundant=redundant)
    assert np.abs(pa10.forward(found.q) - poses).max() < 1e-10
    lower, upper = pa10.joint_limits()
    assert ((found.q >= lower) & (found.q <= upper)).all()
    # What a circle in n poses asks for: 2 π / n of 0.15 m at an arm of about 0.4 m; second differences: its square.
    assert np.abs(np.diff(found.q, axis=0)).max() < 4.0 / count
    assert np.abs(np.diff(found.q, n=2, axis=0)).max() < smooth
    assert found.value == pytest.approx(found.q[:, 0 if redundant == "s1" else 2])
    assert found.manipulability == pytest.approx(pa10.manipulability(found.q))
    assert found.manipulability.min() > 0.05  # of 0.23 at most


def test_random_lines_that_the_elbow_allows_are_followed():
    rng = np.random.default_rng(2)
    followed = 0
    for _ in range(2):
        start, end = rng.uniform([0.3, -0.4, 0.2], [0.6, 0.4, 0.9], (2, 3))
        poses = _line(20, start, end)
        elbow = np.abs(pa10.inverse_batch(poses, 0.0, "7C", "s3").q[:, 0, 3])
        if not (elbow < pa10.joint_limits("7C")[1][3] - 0.01).all():
            with refused(pa10.PathUnresolved, joint="e1", field="limits"):
                pa10.resolve_path(poses, "7C")
            continue
        found = pa10.resolve_path(poses, "7C")
        assert np.abs(pa10.forward(found.q, "7C") - poses).max() < 1e-10
        assert np.abs(np.diff(found.q, axis=0)).max() < 0.3
        followed += 1
    assert followed >= 1


@pytest.mark.fuzz
def test_preferences_change_what_is_chosen():
    poses = _circle(20)
    agile = pa10.resolve_path(poses, preferences=pa10.Preferences(singular=1e3))
    calm = pa10.resolve_path(poses, preferences=pa10.Preferences(singular=0.0, limits=0.0))
    assert np.mean(agile.manipulability**-2.0) < np.mean(calm.manipulability**-2.0)
    assert np.sum(np.diff(calm.q, axis=0) ** 2) < np.sum(np.diff(agile.q, axis=0) ** 2)


# --- where it ends --------------------------------------------------------------------------------------------------
def test_a_path_that_leaves_reach_tells_where_and_by_how_much():
    poses = _line(30, [0.5, 0.0, 0.6], [1.2, 0.0, 0.6])
    with refused(pa10.PathUnresolved, field="reach") as caught:
        pa10.resolve_path(poses)
    distance = pa10.inverse_batch(poses, 0.0).distance
    assert caught.value.index == np.argmax(distance > 0.0)
    assert caught.value.value == pytest.approx(distance[caught.value.index])


def test_a_path_beyond_the_limits_tells_where():
    poses = _line(20, [0.5, 0.0, 0.6], [0.5, 0.3, 0.6])
    lower, upper = (end.copy() for end in pa10.joint_limits())
    upper[3] = 1.9
    lower[3] = -1.9
    with refused(pa10.PathUnresolved, joint="e1", field="limits") as caught:
        pa10.resolve_path(poses, limits=(lower, upper))
    elbow = np.abs(pa10.inverse_batch(poses, 0.0, redundant="s3").q[:, 0, 3])
    assert caught.value.index == np.argmax(elbow > 1.9)


def test_a_jump_in_the_path_is_told():
    poses = np.concatenate([_circle(10), _poses([[-0.5, 0.1, 0.6]], np.diag([1.0, -1.0, -1.0]))])
    with refused(pa10.PathUnresolved, field="largest_step", allowed=0.5) as caught:
        pa10.resolve_path(poses)
    assert caught.value.index == 10


def test_a_hand_that_turns_on_and_on_winds_up():
    turns = np.linspace(0.0, 6.0 * np.pi, 60)
    poses = _poses(np.tile([0.5, 0.0, 0.6], (60, 1)))
    c, s, zero, one = np.cos(turns), np.sin(turns), np.zeros(60), np.ones(60)
    spin = np.stack([c, -s, zero, s, c, zero, zero, zero, one], axis=1).reshape(-1, 3, 3)
    poses[:, :3, :3] = FORWARD @ spin
    with refused(pa10.PathUnresolved, joint="w2", field="limits"):
        pa10.resolve_path(poses)


@pytest.mark.parametrize(
    ("poses", "keywords", "field"),
    [
        (np.eye(4), {}, "poses"),
        (np.zeros((0, 4, 4)), {}, "poses"),
        (np.zeros((3, 4, 4)), {}, "T[0]"),
        (_circle(5), {"start": np.zeros(7)}, "start"),
        (_circle(5), {"lengths": "XY"}, "set of lengths of the PA-10"),
        (_circle(5), {"redundant": "e2"}, "redundant"),
        (_circle(5), {"limits": (np.zeros(7), np.zeros(7))}, "limits"),
        (_circle(5), {"lengths": pa10.LENGTHS["CE"]}, "limits"),
        (np.where(np.arange(5)[:, None, None] == 2, np.nan, _circle(5)), {}, "pose"),
    ],
)
def test_bad_arguments_are_refused(poses, keywords, field):
    with refused(InputError, field=field):
        pa10.resolve_path(poses, **keywords)
