# SPDX-License-Identifier: Apache-2.0
"""Coordinate transforms of the hybrid motion simulation, against poses made by hand and differences of poses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ada_dynamics.dynamics.poses import inverse
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.motion_simulation import frames
from ada_experiments.motion_simulation.frames import Motion, Mounting, seen_from

Array = NDArray[np.float64]

PLACES = st.tuples(*[st.floats(-2.0, 2.0)] * 3)
TURNS = st.tuples(*[st.floats(-1.5, 1.5)] * 3)
SIX = st.tuples(*[st.floats(-3.0, 3.0)] * 6).map(np.array)
EXACT = 1e-12  # a dozen products of numbers of order one


def test_a_turned_sensor_measures_in_its_own_axes() -> None:
    turned = Mounting(sensor_in_lab=pose_of((0.0, 0.0, -0.61), (0.0, 0.0, 0.5 * np.pi)))
    on_tip = turned.on_tip(np.array([0.0, -3.0, 0.0, 0.3, 0.0, 0.0]))
    assert np.allclose(on_tip, (3.0, 0.0, 0.0, 0.0, 0.0, 0.0), atol=EXACT)


@given(SIX, SIX, PLACES, TURNS)
def test_a_wrench_does_the_same_work_wherever_it_is_given(
    wrench: Array, twist: Array, place: tuple[float, ...], turn: tuple[float, ...]
) -> None:
    pose = pose_of(place, turn)
    R, at_the_frame = pose[:3, :3], twist[:3] + np.cross(twist[3:], pose[:3, 3])
    local = np.concatenate([R.T @ at_the_frame, R.T @ twist[3:]])
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


def rates(pose_at: Callable[[float], Array], h: float = 1e-4) -> Motion:
    """Motion of a frame by its poses a little before and after, in the axes they are given in."""
    pose = pose_at(0.0)
    ahead, back = (frames.displacement(pose, pose_at(t)) for t in (h, -h))
    return Motion(pose, (ahead - back) / (2.0 * h), (ahead + back) / h**2)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_motions_are_those_of_the_poses(seed: int) -> None:
    one, two = moving(seed)
    found, wanted = seen_from(one, two), rates(lambda t: inverse(later(one, t)) @ later(two, t))
    assert np.allclose(found.pose, wanted.pose, atol=EXACT)
    # second differences: h² times third and fourth derivatives of some hundred, and rounding 1e-16/h² = 1e-8
    assert np.allclose(found.twist, wanted.twist, atol=1e-5)
    assert np.allclose(found.acceleration, wanted.acceleration, atol=1e-4)
    mounting = Mounting()
    wanted = rates(lambda t: mounting.plate_pose(later(one, t)), 1e-5)
    assert np.allclose(mounting.plate_twist(one.pose, one.twist), wanted.twist, atol=1e-6)
