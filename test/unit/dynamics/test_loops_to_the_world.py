# SPDX-License-Identifier: Apache-2.0
"""Floating robots that loops join to the world: feet on the ground, a hand on a wall, a box that hangs on rods."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.edit.poses import link_poses
from ada_dynamics.model.joints import LOOP_KINDS

Array = NDArray[np.float64]

# Two eliminations of one mechanism, with condition numbers of some 1e2.
SAME = 1e-11
G = 9.81
# One axis, a ball, a pitch: it takes seconds to compile what each needs.
FEW = ("spherical",)
COMPILED = [kind if kind in FEW else pytest.param(kind, marks=pytest.mark.fuzz) for kind in LOOP_KINDS]


# --- a base that a loop carries is one that a joint carries -----------------------------------------------------------
class Twins(NamedTuple):
    """One arm twice: carried by a joint on a stand, and floating with a loop of that type to the world."""

    by_joint: ada.Model
    by_loop: ada.Model
    joint_state: tuple[Array, Array, Array]
    loop_state: tuple[Array, Array, Array]
    motion: Array  # velocities of the floating one by those of the other


def _add_arm(builder: Builder) -> Builder:
    rng = np.random.default_rng(7)
    for i, kind in enumerate(("", "revolute", "prismatic", "spherical", "revolute")):
        A = 0.2 * rng.normal(size=(3, 3))
        spread, mass = A @ A.T + 0.02 * np.eye(3), rng.uniform(0.5, 2.0)
        builder.link(f"link_{i}", mass, rng.uniform(-0.2, 0.2, 3), mass * (np.trace(spread) * np.eye(3) - spread))
        if kind:
            place, turn = rng.uniform(-0.4, 0.4, 3), rng.normal(size=3)
            builder.joint(f"joint_{i}", kind, f"link_{i - 1}", f"link_{i}", place, turn, axis=rng.normal(size=3))
    return builder


@cache
def twins(kind: str) -> Twins:
    rng = np.random.default_rng(3)
    first, second, _ = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    axes = {} if kind in ("spherical", "fixed") else {"axis": first}
    more = {"universal": {"axis2": second}, "helical": {"pitch": 0.1}}.get(kind, {})
    place, turn = rng.uniform(-0.4, 0.4, 3), rng.normal(size=3)
    R = Rotation.from_euler("xyz", turn).as_matrix()
    one = _add_arm(Builder("by_joint").link("stand"))
    one.joint("ground", kind, "stand", "link_0", place, turn, **axes, **more)
    other = _add_arm(Builder("by_loop"))
    other.loop("ground", kind, "world", "link_0", place, parent_rotation=R, **axes, **more)
    by_joint, by_loop = one.build(), other.build(base="floating")
    q, v = by_joint.random_state(rng)
    tau = rng.normal(size=by_joint.nv)
    tau[: by_joint.nv - 6] = 0.0  # the loop has no motor
    motion = np.zeros((by_loop.nv, by_joint.nv))
    motion[:6] = ada.Dynamics(by_joint).jacobian("link_0", q, frame="local")
    motion[6:, -6:] = np.eye(6)
    turned, at = link_poses(by_joint, q)["link_0"]
    whole = np.concatenate([at, Rotation.from_matrix(turned).as_quat(), q[-7:]])
    efforts = np.concatenate([np.zeros(6), tau[-6:]])
    return Twins(by_joint, by_loop, (q, v, tau), (whole, motion @ v, efforts), motion)


@pytest.mark.parametrize("kind", COMPILED)
def test_a_base_that_a_loop_carries_moves_and_pulls_as_one_that_a_joint_carries(kind: str) -> None:
    pair = twins(kind)
    one, other = ada.Dynamics(pair.by_joint), ada.Dynamics(pair.by_loop)
    a = one.forward(*pair.joint_state)
    np.testing.assert_allclose(other.forward(*pair.loop_state)[6:], a[-6:], rtol=0, atol=SAME)
    kinetic = [d.energy(*s[:2]).kinetic for d, s in ((one, pair.joint_state), (other, pair.loop_state))]
    assert kinetic[0] == pytest.approx(kinetic[1], rel=1e-13)
    wrenches, wanted = other.joint_wrenches(*pair.loop_state), one.joint_wrenches(*pair.joint_state)
    for name in ("ground", "joint_1", "joint_2", "joint_3", "joint_4"):
        if name in wanted:
            np.testing.assert_allclose(wrenches[name], wanted[name], rtol=0, atol=10.0 * SAME)
        assert wrenches.unique[name].all()
    np.testing.assert_allclose(wrenches["root_joint"], 0.0, atol=10.0 * SAME)  # nothing holds it but the loop


def test_two_spherical_loops_are_a_hinge() -> None:
    """Of a door: φ̈ = -m g' s sin φ / I about the axis, and one condition along it is redundant."""
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
    pose = ada.assemble(model)
    assert pose.mobility == 1
    assert len(pose.redundant) == 1


# --- a free box on three rods -----------------------------------------------------------------------------------------
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
    """(M + m n/3) L² φ̈ = -(M + m n/2) g L sin φ whatever the box's inertia, and the trifilar pendulum's twist."""
    model = hung_box()
    dynamics, rest = ada.Dynamics(model), np.zeros(model.nv)
    phi = 0.4
    q = model.neutral()
    q[:3] = LENGTH * np.array([np.sin(phi), 0.0, -np.cos(phi)])
    for i in range(3):
        q[model.q_index(f"corner_{i}")] = [0.0, -phi]
    q = ada.assemble(model, q)
    assert q.moved < 1e-12  # closed already
    assert q.mobility == 3
    a = dynamics.forward(q, rest, rest)
    swing = -(BOX + 1.5 * ROD) / (BOX + ROD) * G / LENGTH * np.sin(phi)
    np.testing.assert_allclose(a[:6], LENGTH * swing * np.array([np.cos(phi), 0, np.sin(phi), 0, 0, 0]), atol=1e-11)
    down = model.neutral()
    down[2] = -LENGTH
    T = dynamics.velocity_map(down, "independent")
    twist = T @ np.linalg.lstsq(T[:6], np.eye(6)[5], rcond=None)[0]
    assert twist[:6] == pytest.approx([0, 0, 0, 0, 0, 1], abs=1e-12)
    slope = dynamics.forward_derivatives(down, rest, rest).dq @ twist
    square = (BOX / 3 + ROD / 2) * 3 * G * RADIUS**2 / LENGTH / (TURN + 3 * ROD / 3 * RADIUS**2)
    assert slope[5] == pytest.approx(-square, rel=1e-9)


# --- efforts ----------------------------------------------------------------------------------------------------------
def test_a_floating_base_is_given_the_least_that_motors_leave_undone() -> None:
    """On a ball joint: the moment about it that weight has, and no force, as a stand with a motor there would exert."""
    pair = twins("spherical")
    dynamics = ada.Dynamics(pair.by_loop)
    q, rest = pair.loop_state[0], np.zeros(pair.by_loop.nv)
    efforts = dynamics.inverse(q, rest, rest)
    np.testing.assert_allclose(dynamics.forward(q, rest, efforts), 0.0, atol=1e-10)
    on_a_stand = ada.Dynamics(pair.by_joint).gravity(pair.joint_state[0])
    joints = efforts[6:] - on_a_stand[3:]
    np.testing.assert_allclose(joints, 0.0, atol=1e-10)
    centre = np.cross(pair.by_loop.loops["ground"].child_xyz, efforts[:3])
    np.testing.assert_allclose(efforts[3:6] - centre, on_a_stand[:3], atol=1e-10)
