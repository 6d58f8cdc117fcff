# SPDX-License-Identifier: Apache-2.0
"""Robots for the benchmarks that the catalogue lacks."""

from __future__ import annotations

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.robots.mechanisms import Mechanism

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def _full_inertia(rng: np.random.Generator, mass: float, size: float) -> Array:
    """A random inertia that a body can have."""
    root = rng.normal(size=(3, 3))
    second = root @ root.T * size * 0.15 + np.eye(3) * size * 0.5
    inertia: Array = mass * (np.trace(second) * np.eye(3) - second)
    return inertia


def pa10(full: bool = False) -> ada.Model:
    """A 7R arm like the PA-10, axes z y z y z y z.

    Args:
        full: every inertial parameter and offset is non-zero, so that nothing folds away; else diagonal inertias and
            offsets along z, as the data of the real arm.
    """
    rng = np.random.default_rng(0)
    builder = ada.Builder("pa10full" if full else "pa10").link("base")
    heights = (0.2, 0.115, 0.25, 0.2, 0.25, 0.25, 0.08)
    masses = (9.29, 5.0, 4.5, 3.45, 3.46, 1.9, 1.2)
    com_y = (0.0, -0.03, 0.0, -0.02, 0.0, 0.01, 0.0)
    com_z = (-0.05, 0.07, 0.10, 0.06, 0.12, 0.02, 0.03)
    for i, axis in enumerate("zyzyzyz"):
        com, xyz = np.array([0.0, com_y[i], com_z[i]]), np.array([0.0, 0.0, heights[i]])
        inertia = masses[i] * np.diag([0.010, 0.009, 0.004])
        if full:
            com = rng.normal(size=3) * 0.05 + np.array([0.0, 0.0, com_z[i]])
            inertia = _full_inertia(rng, masses[i], 0.01)
            xyz[:2] = rng.normal(size=2) * 0.03
        builder.link(f"link_{i}", masses[i], com, inertia)
        parent = f"link_{i - 1}" if i else "base"
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", xyz, axis=AXES[axis])
    return builder.build()


def humanoid() -> ada.Model:
    """A free trunk of two joints, two legs of six, two arms of five; nv = 30, full inertias."""
    rng, builder, count = np.random.default_rng(1), ada.Builder("humanoid"), iter(range(100))

    def add(parent: str, axis: str, xyz: tuple[float, float, float], mass: float, length: float) -> str:
        """Add a link, and the joint that moves it if it has an axis."""
        com = np.array([0.01, 0.0, -length / 2.0]) + rng.normal(size=3) * 0.01
        number = next(count)
        link = f"link_{number}"
        builder.link(link, mass, com, _full_inertia(rng, mass, length**2 / 12.0 + 1e-3))
        if axis:
            builder.joint(f"joint_{number}", "revolute", parent, link, xyz, axis=AXES[axis])
        return link

    pelvis = add("", "", (0.0, 0.0, 0.0), 10.0, 0.2)
    trunk = add(add(pelvis, "z", (0.0, 0.0, 0.1), 6.0, -0.3), "y", (0.0, 0.0, 0.1), 8.0, -0.3)
    for side in (1.0, -1.0):
        part = add(pelvis, "z", (0.0, 0.09 * side, -0.05), 1.5, 0.05)
        for axis, height, mass, length in (
            ("x", 0.0, 1.5, 0.05),
            ("y", 0.0, 5.0, 0.3),
            ("y", -0.3, 4.0, 0.3),
            ("y", -0.3, 1.0, 0.05),
            ("x", 0.0, 1.2, 0.05),
        ):
            part = add(part, axis, (0.0, 0.0, height), mass, length)
        part = add(trunk, "y", (0.0, 0.2 * side, 0.25), 1.0, 0.05)
        for axis, height, mass, length in (
            ("x", 0.0, 1.0, 0.05),
            ("z", -0.1, 1.5, 0.2),
            ("y", -0.15, 1.2, 0.2),
            ("z", -0.2, 0.6, 0.1),
        ):
            part = add(part, axis, (0.0, 0.0, height), mass, length)
    return builder.build("floating")


def of_catalogue(name: str) -> Mechanism:
    """A robot of the catalogue at its start."""
    model = ada.load(name)
    start = start_of(name, model)
    assert start is not None
    return Mechanism(model, start)


def random_states(model: ada.Model, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Positions, velocities and efforts of `count` states, a row each."""
    rng = np.random.default_rng(seed)
    q = np.array([model.random_state(rng)[0] for _ in range(count)])
    return q, rng.normal(size=(count, model.nv)), rng.normal(size=(count, model.nv)) * 3.0


def rus6() -> Mechanism:
    """A platform on six legs of a crank, two crossed hinges and a ball (6-RUS), with inertias that are all diagonal.

    Unlike that of `mechanisms.hexa`, the cross of each universal joint is a link of its own.
    """
    builder = ada.Builder("rus6").link("world").link("platform", 3.0, (0.0, 0.0, 0.02), (0.05, 0.05, 0.09))
    builder.joint("platform", "floating", "world", "platform")
    at = {"platform": [0.01, 0.02, 0.62, *_quaternion(0.05, -0.03, 0.04)]}
    shoulders, balls = np.radians([-15, 15, 105, 135, 225, 255]), np.radians([-45, 45, 75, 165, 195, 285])
    for i, (azimuth, ball) in enumerate(zip(shoulders, balls, strict=True)):
        crank, cross, rod = (f"{part}_{i}" for part in ("crank", "cross", "rod"))
        builder.link(crank, 0.5, (0.1, 0.0, 0.0), (2e-4, 2e-3, 2e-3)).link(cross, 0.05, inertia=(1e-5, 1e-5, 1e-5))
        builder.link(rod, 0.4, (0.0, 0.0, 0.3), (0.012, 0.012, 2e-4))
        shoulder = 0.35 * np.array([np.cos(azimuth), np.sin(azimuth), 0.0])
        builder.joint(crank, "revolute", "world", crank, shoulder, (0.0, 0.0, azimuth), axis=(0, 1, 0))
        builder.joint(cross, "revolute", crank, cross, (0.2, 0.0, 0.0), axis=(0, 1, 0))
        builder.joint(rod, "revolute", cross, rod, axis=(1, 0, 0))
        end = 0.2 * np.array([np.cos(ball), np.sin(ball), 0.0])
        builder.loop(f"ball_{i}", "spherical", "platform", rod, end, child_xyz=(0.0, 0.0, 0.6))
        at |= {crank: [-0.3], cross: [0.3], rod: [0.0]}
    model = builder.build()
    guess = np.concatenate([at[name] for name in model.joint_names])
    return Mechanism(model, np.array(ada.close_loops(model, guess, hold=["platform"])))


def _quaternion(x: float, y: float, z: float) -> Array:
    """Quaternion of a rotation vector; the real part last."""
    angle = float(np.linalg.norm((x, y, z)))
    return np.array([*(np.sin(angle / 2.0) / angle * np.array([x, y, z])), np.cos(angle / 2.0)])


def four_bar_2_1() -> Mechanism:
    """The four-bar linkage cut between coupler and rocker, not at the ground: two rods on one side, one on the other.

    Which joint is cut is the user's choice of coordinates; this one takes the fewest operations.
    """
    builder = ada.Builder("four_bar_2_1").link("base")
    for name, carrier, place in (
        ("crank", "base", (0.0, 0.0, 0.0)),
        ("coupler", "crank", (0.0, 0.0, 1.0)),
        ("rocker", "base", (1.0, 0.0, 0.0)),
    ):
        builder.link(name, 1.0, (0.0, 0.0, 0.5), (1 / 12, 1 / 12, 0.0))
        builder.joint(f"{name}_joint", "revolute", carrier, name, place, axis=(0.0, 1.0, 0.0))
    tip = (0.0, 0.0, 1.0)
    builder.loop("closing", "revolute", "coupler", "rocker", tip, child_xyz=tip, axis=(0.0, 1.0, 0.0))
    crank = 0.75 * np.pi
    return Mechanism(builder.build(), np.array([crank, 0.5 * np.pi - crank, crank]))
