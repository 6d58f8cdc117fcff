# SPDX-License-Identifier: Apache-2.0
"""Robots for the benchmarks, each as one table of numbers that is written as our model, as URDF and as MJCF."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.robots.mechanisms import Mechanism

AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}


@dataclass(frozen=True)
class Part:
    """One body and the joint that carries it; its frame is the joint's, with the axes of its parent."""

    parent: int  # -1: the base
    axis: str  # x, y or z; "" for the floating base
    xyz: tuple[float, ...]  # [m]
    mass: float  # [kg]
    com: tuple[float, ...]  # [m]
    inertia: Array  # about the centre of mass [kg m²]


@dataclass
class Robot:
    """A tree of revolute joints on a fixed or floating base."""

    name: str
    parts: list[Part] = field(default_factory=list)

    def add(self, parent: int, axis: str, xyz: ArrayLike, mass: float, com: ArrayLike, inertia: ArrayLike) -> int:
        """Add a part (parents first); the inertia is 3x3 or its diagonal. Returns its number."""
        moments = np.asarray(inertia, dtype=float)
        full = np.diag(moments) if moments.ndim == 1 else moments
        self.parts.append(Part(parent, axis, _floats(xyz), float(mass), _floats(com), full))
        return len(self.parts) - 1

    @property
    def floats(self) -> bool:
        """True if the base is free."""
        return not self.parts[0].axis

    def model(self) -> ada.Model:
        """As our model."""
        builder = ada.Builder(self.name)
        if not self.floats:
            builder.link("base")
        for i, part in enumerate(self.parts):
            builder.link(link(i), part.mass, part.com, part.inertia)
            if part.axis:
                axis = [float(x) for x in AXES[part.axis].split()]
                builder.joint(joint(i), "revolute", link(part.parent), link(i), part.xyz, axis=axis)
        return builder.build("floating" if self.floats else "fixed")

    def urdf(self) -> str:
        """As URDF; the order of the joints' names is the order of the joints, which pinocchio goes by."""
        lines = [f'<robot name="{self.name}">']
        if not self.floats:
            lines.append('<link name="base"/>')
        for i, part in enumerate(self.parts):
            I = part.inertia
            moments = " ".join(f'i{a}{b}="{I["xyz".index(a), "xyz".index(b)]!s}"' for a, b in _PAIRS)
            lines.append(
                f'<link name="{link(i)}"><inertial><origin xyz="{_text(part.com)}"/><mass value="{part.mass!r}"/>'
                f"<inertia {moments}/></inertial></link>"
            )
            if part.axis:
                lines.append(
                    f'<joint name="{joint(i)}" type="revolute"><parent link="{link(part.parent)}"/>'
                    f'<child link="{link(i)}"/><origin xyz="{_text(part.xyz)}"/><axis xyz="{AXES[part.axis]}"/>'
                    '<limit lower="-10" upper="10" effort="1000" velocity="1000"/></joint>'
                )
        return "\n".join([*lines, "</robot>"])

    def mjcf(self) -> str:
        """As MJCF, with nothing but gravity and the bodies."""
        children: dict[int, list[int]] = {i: [] for i in range(-1, len(self.parts))}
        for i, part in enumerate(self.parts):
            children[part.parent].append(i)

        def body(i: int) -> str:
            part, I = self.parts[i], self.parts[i].inertia
            pivot = f'<joint name="{joint(i)}" type="hinge" axis="{AXES[part.axis]}"/>' if part.axis else "<freejoint/>"
            moments = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
            return (
                f'<body name="{link(i)}" pos="{_text(part.xyz)}">{pivot}<inertial pos="{_text(part.com)}" '
                f'mass="{part.mass!r}" fullinertia="{_text(moments)}"/>{"".join(map(body, children[i]))}</body>'
            )

        options = '<option gravity="0 0 -9.81" timestep="0.001"><flag contact="disable"/></option>'
        return f"<mujoco>{options}<worldbody>{''.join(map(body, children[-1]))}</worldbody></mujoco>"


_PAIRS = (("x", "x"), ("x", "y"), ("x", "z"), ("y", "y"), ("y", "z"), ("z", "z"))


def joint(i: int) -> str:
    """Name of a joint; names sort as the numbers do."""
    return f"joint_{i:06d}"


def link(i: int) -> str:
    """Name of a link."""
    return "base" if i < 0 else f"link_{i:06d}"


def _floats(values: ArrayLike) -> tuple[float, ...]:
    return tuple(float(x) for x in np.asarray(values, dtype=float))


def _text(values: Sequence[float]) -> str:
    return " ".join(repr(float(x)) for x in values)


# --- the robots -----------------------------------------------------------------------------------------------------
def _full_inertia(rng: np.random.Generator, mass: float, size: float) -> Array:
    """A random inertia that a body can have."""
    root = rng.normal(size=(3, 3))
    second = root @ root.T * size * 0.15 + np.eye(3) * size * 0.5
    inertia: Array = mass * (np.trace(second) * np.eye(3) - second)
    return inertia


def pa10(full: bool = False) -> Robot:
    """A 7R arm like the PA-10, axes z y z y z y z.

    Args:
        full: every inertial parameter and offset is non-zero, so that nothing folds away; else diagonal inertias and
            offsets along z, as the data of the real arm.
    """
    robot, rng = Robot("pa10full" if full else "pa10"), np.random.default_rng(0)
    heights = (0.2, 0.115, 0.25, 0.2, 0.25, 0.25, 0.08)
    masses = (9.29, 5.0, 4.5, 3.45, 3.46, 1.9, 1.2)
    com_y = (0.0, -0.03, 0.0, -0.02, 0.0, 0.01, 0.0)
    com_z = (-0.05, 0.07, 0.10, 0.06, 0.12, 0.02, 0.03)
    for i, axis in enumerate("zyzyzyz"):
        if full:
            com = rng.normal(size=3) * 0.05 + np.array([0.0, 0.0, com_z[i]])
            inertia = _full_inertia(rng, masses[i], 0.01)
            xyz = (rng.normal() * 0.03, rng.normal() * 0.03, heights[i])
            robot.add(i - 1, axis, xyz, masses[i], com, inertia)
        else:
            moments = masses[i] * np.array([0.010, 0.009, 0.004])
            robot.add(i - 1, axis, (0.0, 0.0, heights[i]), masses[i], (0.0, com_y[i], com_z[i]), moments)
    return robot


def humanoid() -> Robot:
    """A free trunk of two joints, two legs of six, two arms of five; nv = 30, full inertias."""
    robot, rng = Robot("humanoid"), np.random.default_rng(1)

    def add(parent: int, axis: str, xyz: tuple[float, float, float], mass: float, length: float) -> int:
        com = np.array([0.01, 0.0, -length / 2.0]) + rng.normal(size=3) * 0.01
        return robot.add(parent, axis, xyz, mass, com, _full_inertia(rng, mass, length**2 / 12.0 + 1e-3))

    pelvis = add(-1, "", (0.0, 0.0, 0.0), 10.0, 0.2)
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
    return robot


def chain(n: int) -> Robot:
    """The chain of `ada_dynamics.chain_3d`, for the other engines."""
    robot = Robot(f"chain_{n}")
    length, mass = 0.1, 1.0
    inertia = mass * length**2 * np.array([[1.0, 0.05, 0.02], [0.05, 1.1, -0.04], [0.02, -0.04, 0.3]])
    for i in range(n):
        xyz = (0.0, 0.0, length if i else 0.0)
        robot.add(i - 1, "xyz"[i % 3], xyz, mass, length * np.array([0.1, 0.2, 0.5]), inertia)
    return robot


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
    """Of a rotation vector; the real part last."""
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
