# SPDX-License-Identifier: Apache-2.0
"""Coordinate transforms of the hybrid motion simulation, against poses made by hand and differences of poses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ada_dynamics.dynamics.poses import inverse
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.motion_simulation import frames
from ada_experiments.motion_simulation.frames import Motion, Mounting, carried, seen_from

Array = NDArray[np.float64]

PLACES = st.tuples(*[st.floats(-2.0, 2.0)] * 3)
TURNS = st.tuples(*[st.floats(-1.5, 1.5)] * 3)
SIX = st.tuples(*[st.floats(-3.0, 3.0)] * 6).map(np.array)
EXACT = 1e-12  # a dozen products of numbers of order one


def test_a_turned_sensor_measures_in_its_own_axes() -> None:
    turned = Mounting(sensor_in_lab=pose_of((0.0, 0.0, -0.61), (0.0, 0.0, 0.5 * np.pi)))
    felt = turned.at_sensor(np.array([3.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert np.allclose(felt, (0.0, -3.0, 0.0, 0.3, 0.0, 0.0), atol=EXACT)


@given(SIX, SIX, PLACES, TURNS)
def test_a_wrench_does_the_same_work_wherever_it_is_given(
    wrench: Array, twist: Array, place: tuple[float, ...], turn: tuple[float, ...]
) -> None:
    pose = pose_of(place, turn)
    body = carried(Motion(np.eye(4), twist, np.zeros(6)), pose)  # of the frame, in the axes that its pose is given in
    local = np.concatenate([pose[:3, :3].T @ body.twist[:3], pose[:3, :3].T @ body.twist[3:]])
    assert float(frames.wrench_in(pose, wrench) @ twist) == pytest.approx(float(wrench @ local), abs=1e-10)


def moving(seed: int) -> tuple[Motion, Motion]:
    rng = np.random.default_rng(seed)
    one, two = (
        Motion(pose_of(rng.normal(size=3), rng.normal(size=3)), rng.normal(size=6), rng.normal(size=6))
        for _ in range(2)
    )
    return one, two


def later(motion: Motion, t: float) -> Array:
    """Its pose after a time: with its velocity and acceleration at the start, exact to t²."""
    return frames.displaced(motion.pose, t * motion.twist + 0.5 * t * t * motion.acceleration)


def rates(pose: Array, before: Array, after: Array, h: float) -> tuple[Array, Array]:
    """Twist and acceleration of a frame from its poses a little before and after, in the axes they are given in."""
    ahead, back = frames.displacement(pose, after), frames.displacement(pose, before)
    return (ahead - back) / (2.0 * h), (ahead + back) / h**2


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_relative_motion_is_that_of_the_relative_pose(seed: int) -> None:
    one, two = moving(seed)
    found, h = seen_from(one, two), 1e-4
    pose, before, after = (inverse(later(one, t)) @ later(two, t) for t in (0.0, -h, h))
    twist, bend = rates(pose, before, after, h)
    assert np.allclose(found.pose, pose, atol=EXACT)
    # second differences: h² times third and fourth derivatives of some hundred, and rounding 1e-16/h² = 1e-8
    assert np.allclose(found.twist, twist, atol=1e-5)
    assert np.allclose(found.acceleration, bend, atol=1e-4)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_a_frame_on_a_body_moves_with_it(seed: int) -> None:
    body, other = moving(seed)
    fixed, h = other.pose, 1e-4
    found = carried(body, fixed)
    pose, before, after = (later(body, t) @ fixed for t in (0.0, -h, h))
    twist, bend = rates(pose, before, after, h)
    assert np.allclose(found.pose, pose, atol=EXACT)
    assert np.allclose(found.twist, twist, atol=1e-5)
    assert np.allclose(found.acceleration, bend, atol=1e-4)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_the_plates_twist_is_that_of_its_poses(seed: int) -> None:
    face, _ = moving(seed)
    mounting, h = Mounting(), 1e-5
    pose, before, after = (mounting.plate_pose(later(face, t)) for t in (0.0, -h, h))
    twist, _ = rates(pose, before, after, h)
    assert np.allclose(mounting.plate_twist(face.pose, face.twist), twist, atol=1e-6)
