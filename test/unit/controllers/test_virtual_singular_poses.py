# SPDX-License-Identifier: Apache-2.0
"""Virtual closed chains at singular poses and dead points (Takahashi 2012, sec. 7.3)."""

from __future__ import annotations

import numpy as np
import pytest
from virtual_motion import angle, moved, off_parallel

import ada_dynamics as ada
from ada_controllers import PoseReference, State, make
from ada_controllers.virtual.motions import Manifold

FOUR_BAR = {
    "loops": "loops/parallel_four_bar.yaml",
    "joint_stiffness": [5.0, 0, 0, 0],
    "joint_damping": [5.0, 0, 0, 0],
    "hold": 1e-3,
}
SLIDER = {
    "loops": "loops/slider_crank.yaml",
    "link": "tip",
    "joint_stiffness": [0.0],
    "joint_damping": [0.0],
    "pose_stiffness": [10.0, 0, 0, 0, 0, 0],
    "pose_damping": [10.0, 0, 0, 0, 0, 0],
    "hold": 1e-3,
}
NEAR = np.radians([85.0, 5.0, 175.0, -85.0])  # sec. 7.3.1
FLAT = np.radians([90.0, 0.0, 180.0, -90.0])
DEAD_POINT = PoseReference(np.array([[-1.0, 0, 0, 3.0], [0, 1, 0, 0], [0, 0, -1, -0.5], [0, 0, 0, 1]]))


def test_the_flat_pose_is_passed_without_a_jump_as_the_closed_form_says(planar_4r: ada.Model) -> None:
    """5/3 θ̈ = 5 (95 deg - θ) - 5 θ̇, as everywhere else on this branch."""
    log, loop = moved(make("virtual_closed_chain", planar_4r, FOUR_BAR), NEAR, angle(95.0), 3.0)
    assert loop.signals["singular"].sum() > 50
    assert off_parallel(log.q) < 1e-6
    a, w = 1.5, np.sqrt(3.0) / 2.0
    left = np.radians(10.0) * np.exp(-a * log.t) * (np.cos(w * log.t) + a / w * np.sin(w * log.t))
    np.testing.assert_allclose(log.q[:, 0], np.radians(95.0) - left, atol=1e-6)
    # 2 m of arm at the shoulder: what carries the weight is all there is
    weight = np.abs(ada.Dynamics(planar_4r).gravity(log.q)).max()
    assert np.abs(loop.signals["effort"]).max() < 1.02 * weight
    assert np.abs(np.diff(loop.signals["acceleration"], axis=0)).max() < 5e-3


@pytest.mark.fuzz
@pytest.mark.parametrize(("feedback", "left"), [("force", 5e-4), ("path", 1e-7)])
def test_it_comes_to_rest_in_the_flat_pose(planar_4r: ada.Model, feedback: str, left: float) -> None:
    """By force e^-1.5t of 5 deg is left, along the loops (1 + 5t) e^-5t."""
    controller = make("virtual_closed_chain", planar_4r, {**FOUR_BAR, "feedback": feedback})
    log, loop = moved(controller, NEAR, angle(90.0), 4.0)
    np.testing.assert_allclose(log.q[-1], FLAT, atol=left)
    assert off_parallel(log.q) < 1e-6
    assert np.abs(loop.signals["effort"]).max() < 1.05 * np.abs(ada.Dynamics(planar_4r).gravity(log.q)).max()


@pytest.mark.fuzz
def test_from_rest_in_the_flat_pose_it_leaves_on_the_branch_that_the_reference_asks_for(planar_4r: ada.Model) -> None:
    log, _ = moved(make("virtual_closed_chain", planar_4r, FOUR_BAR), FLAT, angle(95.0), 3.0)
    assert np.degrees(log.q[-1, 0]) > 94.5
    assert off_parallel(log.q) < 1e-6


def test_in_the_flat_pose_nothing_is_asked_and_nothing_moves(planar_4r: ada.Model) -> None:
    controller = make("virtual_closed_chain", planar_4r, FOUR_BAR)
    state = State(FLAT, np.zeros(4))
    controller.reset(state, 0.0)
    np.testing.assert_allclose(
        controller.update(state, None, 0.0).effort, ada.Dynamics(planar_4r).gravity(FLAT), atol=1e-10
    )
    assert controller.signals()["singular"][0] == 1.0


# --- the slider's dead point ----------------------------------------------------------------------------------------
@pytest.mark.fuzz
def test_along_the_loops_the_crank_comes_to_rest_in_its_dead_point(planar_4r: ada.Model) -> None:
    gains = {"feedback": "path", "path_stiffness": 16.0, "path_damping": 8.0}
    start = np.radians([80.0, 15.0, 0.0, 85.0])
    log, loop = moved(make("virtual_closed_chain", planar_4r, {**SLIDER, **gains}), start, DEAD_POINT, 6.0)
    np.testing.assert_allclose(np.degrees(log.q[-1]), [90.0, 0.0, 0.0, 90.0], atol=1e-5)
    assert np.abs(log.v[-1]).max() < 1e-8
    assert np.degrees(log.q[:, 1].min()) > -1e-5
    assert np.abs(loop.signals["effort"]).max() < 1.05 * np.abs(ada.Dynamics(planar_4r).gravity(log.q)).max()


# --- motions along the loops ----------------------------------------------------------------------------------------
def test_a_pose_that_is_a_little_off_is_closed_by_the_smallest_step(planar_4r: ada.Model) -> None:
    """By kinetic energy: the step has no part along the motion that is allowed."""
    controller = make("virtual_closed_chain", planar_4r, FOUR_BAR)
    manifold = Manifold(controller.mechanism)
    q = np.radians([60.0, 30.0, 150.0, -60.0]) + 1e-4 * np.array([1.0, 2.0, -1.0, 0.5])
    near = manifold.closed(q)
    assert np.abs(manifold.at(near).gap).max() < 1e-12
    motions = manifold.motions(near)
    assert np.abs(motions.columns.T @ motions.M @ (near - q)) < 1e-7
