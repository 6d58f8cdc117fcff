# SPDX-License-Identifier: Apache-2.0
"""Coupler curves, transmission angles and dead points of a six-bar linkage against triangles."""

from __future__ import annotations

import numpy as np
import pytest
from loop_robots import mechanism
from refused import refused

import ada_dynamics as ada
from ada_dynamics.analysis.linkages import coupler_curve, dead_points, point_path, transmission_angle
from ada_dynamics.errors import InputError

# Lengths of the inner four-bar of `stephenson_six_bar` [m], and the point of the coupler with the outer rods.
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.7, 0.9
POINT = (-0.3, 0.0, 0.5)
ANGLES = 0.6 + np.linspace(0.0, 2.0 * np.pi, 361)


@pytest.fixture(scope="module")
def dynamics() -> ada.Dynamics:
    model, q = mechanism("stephenson_six_bar")
    return ada.Dynamics(model, q0=q)


def knee(angles: np.ndarray) -> np.ndarray:
    """Pin of coupler and rocker, as x + iz, by the triangle over the line from the crank's pin to the pivot."""
    pin = CRANK * (np.sin(angles) + 1j * np.cos(angles))
    line = GROUND - pin
    cosine = (COUPLER**2 + np.abs(line) ** 2 - ROCKER**2) / (2.0 * COUPLER * np.abs(line))
    return pin + COUPLER * line / np.abs(line) * np.exp(1j * np.arccos(cosine))


def test_the_coupler_curve_is_the_circles_one(dynamics: ada.Dynamics) -> None:
    q, points = coupler_curve(dynamics, "coupler", "crank", ANGLES, POINT)
    pin = CRANK * (np.sin(ANGLES) + 1j * np.cos(ANGLES))
    up = (knee(ANGLES) - pin) / COUPLER  # z of the coupler; its x is -i times that
    expected = pin + up * (-1j * POINT[0] + POINT[2])
    assert np.max(np.abs(points[:, 0] + 1j * points[:, 2] - expected)) < 1e-10
    assert not points[:, 1].any()
    assert np.max(dynamics.constraints.closure_error(q)) < 1e-10


def test_transmission_angle_and_dead_points_are_those_of_triangles(dynamics: ada.Dynamics) -> None:
    q = coupler_curve(dynamics, "coupler", "crank", ANGLES)[0]
    pin = (0.0, 0.0, ROCKER)
    found = transmission_angle(dynamics, q, ("coupler", (0, 0, 0)), ("rocker", pin), ("rocker", (0, 0, 0)))
    diagonal = np.abs(GROUND - CRANK * (np.sin(ANGLES) + 1j * np.cos(ANGLES)))
    angle = np.arccos((COUPLER**2 + ROCKER**2 - diagonal**2) / (2.0 * COUPLER * ROCKER))
    assert found == pytest.approx(np.minimum(angle, np.pi - angle), abs=1e-10)
    assert not len(dead_points(dynamics, ANGLES, q))  # by its crank
    # By its rocker it is dead where crank and coupler are on one line: a triangle of sides 0.9, 0.7 and 0.8 ± 0.3.
    dead = []
    for reach, behind in ((COUPLER + CRANK, 0.0), (COUPLER - CRANK, np.pi)):
        above = np.arccos((reach**2 + GROUND**2 - ROCKER**2) / (2.0 * reach * GROUND))
        dead.append((0.5 * np.pi - above + behind - 0.6) % (2.0 * np.pi) + 0.6)
    assert dead_points(dynamics, ANGLES, q, ["rocker"]) == pytest.approx(sorted(dead), abs=1e-4)  # of a parabola


def test_the_path_of_a_point_over_a_log_is_that_of_its_poses(dynamics: ada.Dynamics) -> None:
    log = ada.Simulation(dynamics.model, q=mechanism("stephenson_six_bar").q).run(0.05)
    poses = dynamics.pose("coupler", log.q)
    expected = poses[:, :3, 3] + poses[:, :3, 0] * POINT[0] + poses[:, :3, 2] * POINT[2]
    assert np.max(np.abs(log.path("coupler", POINT) - expected)) < 1e-14
    with refused(InputError, value="nowhere"):
        point_path(dynamics, "nowhere", log.q)
