# SPDX-License-Identifier: Apache-2.0
"""Floating robots that loops join to the world: feet on the ground, a hand on a wall, a box that hangs on rods."""

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.model.builder import Builder

G = 9.81


def test_two_spherical_loops_are_a_hinge() -> None:
    m, s, I, tilt = 3.0, 0.4, 0.3, 0.2  # the axis leans by that angle, so that weight acts on the door
    builder = Builder("door").link("door", m, (s, 0, 0), (0.05, 0.1, I))
    for name, z in (("lower", -0.5), ("upper", 0.5)):
        builder.loop(name, "spherical", "world", "door", (0, 0, z), child_xyz=(0, 0, z))
    model = builder.build(base="floating", gravity=(G * np.sin(tilt), 0.0, -G * np.cos(tilt)))
    dynamics, phi = ada.Dynamics(model), 0.7
    q = np.array([0, 0, 0, 0, 0, np.sin(phi / 2), np.cos(phi / 2)])
    a = dynamics.forward(q, np.array([0, 0, 0, 0, 0, 2.0]), np.zeros(6))
    swing = -m * G * np.sin(tilt) * s * np.sin(phi) / (I + m * s**2)
    np.testing.assert_allclose(a, [0, 0, 0, 0, 0, swing], atol=1e-12)
    pose = ada.close_loops(model)
    assert pose.mobility == 1
    assert len(pose.redundant) == 1


BOX, ROD, LENGTH, RADIUS, TURN = 4.0, 0.6, 0.8, 0.25, 0.09


def hung_box() -> ada.Model:
    """A box below three upright rods: universal joints on the box, balls at the ceiling."""
    builder = Builder("hung_box").link("box", BOX, inertia=(0.05, 0.07, TURN))
    thin = ROD * LENGTH**2 / 12.0
    for i, angle in enumerate(2.0 * np.pi / 3.0 * np.arange(3)):
        corner = RADIUS * np.array([np.cos(angle), np.sin(angle), 0.0])
        builder.link(f"rod_{i}", ROD, (0, 0, LENGTH / 2), (thin, thin, 0.0))
        builder.joint(f"corner_{i}", "universal", "box", f"rod_{i}", corner, axis=(1, 0, 0), axis2=(0, 1, 0))
        builder.loop(f"ceiling_{i}", "spherical", "world", f"rod_{i}", corner, child_xyz=(0, 0, LENGTH))
    return builder.build(base="floating")


def test_a_box_on_three_rods_swings_and_twists_as_its_closed_forms_say() -> None:
    model = hung_box()
    dynamics, rest = ada.Dynamics(model), np.zeros(model.nv)
    phi = 0.4
    q = model.neutral()
    q[:3] = LENGTH * np.array([np.sin(phi), 0.0, -np.cos(phi)])
    for i in range(3):
        q[model.q_index(f"corner_{i}")] = [0.0, -phi]
    q = ada.close_loops(model, q)
    assert q.moved < 1e-12  # closed already
    assert q.mobility == 3
    a = dynamics.forward(q, rest, rest)
    swing = -(BOX + 1.5 * ROD) / (BOX + ROD) * G / LENGTH * np.sin(phi)
    np.testing.assert_allclose(a[:6], LENGTH * swing * np.array([np.cos(phi), 0, np.sin(phi), 0, 0, 0]), atol=1e-11)
    down = model.neutral()
    down[2] = -LENGTH
    T = dynamics.constraints.tangent_map(down, "independent")
    twist = T @ np.linalg.lstsq(T[:6], np.eye(6)[5], rcond=None)[0]
    assert twist[:6] == pytest.approx([0, 0, 0, 0, 0, 1], abs=1e-12)
    slope = dynamics.forward_derivatives(down, rest, rest).dq @ twist
    square = (BOX / 3 + ROD / 2) * 3 * G * RADIUS**2 / LENGTH / (TURN + 3 * ROD / 3 * RADIUS**2)
    assert slope[5] == pytest.approx(-square, rel=1e-9)
