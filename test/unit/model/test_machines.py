# SPDX-License-Identifier: Apache-2.0
"""Machines of planar linkages against reduced models: closed forms of all link poses in the coordinates of the motors.

Points are complex numbers x + iz; a rotation by an angle about +y multiplies them by exp(-i angle).
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from loop_robots import mechanism

import ada_dynamics as ada
from ada_dynamics.robots.mechanisms.parts import turned_y, turned_z

# Pins of the right finger of the opened gripper [m], and the inertia of the motor at each knuckle [kg m²].
PINS = ((0.031, 0.055), (0.0625, 0.051), (0.013, 0.061), (0.0685, 0.098), (0.0505, 0.104))
ROTOR = 1e-3
Planar = dict[str, tuple[complex, complex]]  # origin and rotation by link
H = 4e-4  # of differences of fourth order, on scales of 0.1: relative errors of 1e-10 of truncation and rounding


def meet(A: complex, a: float, B: complex, b: float, near: complex) -> complex:
    """The point at distance a from A and b from B, on the side of the line AB where `near` is of the drawn A and B."""
    d = abs(B - A)
    along = (a * a - b * b + d * d) / (2.0 * d)
    assert abs(along) <= a, "the circles do not meet"
    return A + (B - A) / d * (along + 1j * np.sign(near.imag) * np.sqrt(a * a - along * along))


def triangle(A: complex, B: complex, C: complex, a: float, drawn: tuple[complex, complex, complex]) -> complex:
    """Where C is, at a distance a from A and as far from B as drawn."""
    return meet(A, a, B, abs(drawn[2] - drawn[1]), (drawn[2] - drawn[0]) / (drawn[1] - drawn[0]))


def moved(frame: tuple[complex, complex], origin: complex, point: complex) -> complex:
    """A drawn point of a link whose origin is drawn at `origin`."""
    return frame[0] + frame[1] * (point - origin)


def unit(z: complex) -> complex:
    return z / abs(z)


def excavator(strokes: np.ndarray) -> Planar:
    base = (0j, 1 + 0j)
    foot, shoulder, wrist = 1.8j, 5.4 + 4.8j, 6.3 + 2.05j
    lever, rocker, corner, ear = 5.05 + 5.55j, 6.156 + 2.49j, 6.756 + 2.69j, 6.72 + 2.17j
    rows = (("boom", 0.6 + 1.35j, foot, 2.35 + 3.9j), ("stick", 2.75 + 5.05j, shoulder, lever))
    frames: Planar = {}
    carrier, origin = base, 0j
    for (name, end, pivot, rod_pin), stroke in zip(
        (*rows, ("bucket", 5.95 + 4.6j, rocker, corner)), strokes, strict=True
    ):
        length = abs(rod_pin - end) + stroke
        A, B = (moved(carrier, origin, point) for point in (end, pivot))
        C = triangle(A, B, rod_pin, length, (end, pivot, rod_pin))
        turn = unit((C - A) / (rod_pin - end))
        frames[f"{name}_sleeve"], frames[f"{name}_cylinder"] = (A, turn), (C, turn)
        link = name if name != "bucket" else "rocker"
        frames[link] = (B, unit((C - B) / (rod_pin - pivot)))
        if name != "bucket":
            carrier, origin = frames[link], pivot
    stick = frames["stick"]
    V, E = moved(frames["rocker"], rocker, corner), moved(stick, shoulder, wrist)
    W = triangle(V, E, ear, abs(ear - corner), (corner, wrist, ear))
    frames["rocker_rod"] = (V, unit((W - V) / (ear - corner)))
    frames["bucket"] = (E, unit((W - E) / (ear - wrist)))
    return frames


def palletiser(u: np.ndarray) -> Planar:
    """In the plane of the arm, without turret and flange."""
    lower, upper = np.exp(-1j * u[1]), np.exp(-1j * u[2])
    shoulder, level, tool = 0.2 + 0.75j, -0.2 + 0.1j, 0.03 + 0.2j
    elbow = shoulder + 0.95j * lower
    wrist = elbow + 1.02 * upper
    return {
        "turret": (0.3j, 1.0 + 0j),
        "lower_arm": (shoulder, lower),
        "crank": (shoulder, upper),
        "upper_arm": (elbow, upper),
        "rod": (shoulder - 0.35 * upper, lower),
        "elbow_plate": (elbow, 1.0 + 0j),
        "lower_level": (shoulder + level, lower),
        "upper_level": (elbow + tool, upper),
        "wrist": (wrist, 1.0 + 0j),
        "flange": (wrist + 0.12 - 0.12j, 1.0 + 0j),
    }


def jansen(u: np.ndarray) -> Planar:
    fixed = -0.38 - 0.078j

    def pins(angle: float) -> list[complex]:
        tip = 0.15 * np.exp(-1j * angle)
        top = meet(tip, 0.5, fixed, 0.415, -1j)
        knee = meet(tip, 0.619, fixed, 0.393, 1j)
        rear = meet(fixed, 0.401, top, 0.558, 1j)
        heel = meet(rear, 0.394, knee, 0.367, -1j)
        return [tip, top, knee, rear, heel]

    (tip, top, knee, rear, heel), drawn = pins(u[0]), pins(0.0)
    ends = {
        "hip": (fixed, top, fixed, drawn[1]),
        "rocker": (fixed, knee, fixed, drawn[2]),
        "upper_rod": (tip, top, drawn[0], drawn[1]),
        "lower_rod": (tip, knee, drawn[0], drawn[2]),
        "shin": (rear, heel, drawn[3], drawn[4]),
        "foot": (knee, heel, drawn[2], drawn[4]),
    }
    frames = {name: (a, unit((b - a) / (d - c))) for name, (a, b, c, d) in ends.items()}
    return frames | {"crank": (0j, np.exp(-1j * u[0]))}


def lift(u: np.ndarray) -> Planar:
    wide = 1.2 * np.cos(0.5) + u[0]
    angle = np.arccos(wide / 1.2)
    tall, rise = 1.2j * np.sin(angle), np.exp(1j * (angle - 0.5))
    frames = {"drive": (wide + 0j, 1 + 0j), "platform": (3 * tall, 1 + 0j), "roller": (wide + 3 * tall, 1 + 0j)}
    for i in range(3):
        frames |= {f"rising_{i + 1}": (i * tall, rise), f"falling_{i + 1}": (wide + i * tall, 1.0 / rise)}
    return frames


def gripper(u: np.ndarray) -> Planar:
    frames: Planar = {}
    for name, sign, bend in (("left", -1.0, u[1]), ("right", 1.0, u[2])):
        drive, elbow, inner, outer_tip, inner_tip = (sign * x + 1j * z for x, z in PINS)
        turn = np.exp(1j * sign * u[0])
        A = drive + turn * (elbow - drive)
        finger = turn * np.exp(-1j * bend)
        C = A + finger * (outer_tip - elbow)
        D = triangle(C, inner, inner_tip, abs(inner_tip - outer_tip), (outer_tip, inner, inner_tip))
        frames[f"{name}_outer_knuckle"], frames[f"{name}_outer_finger"] = (drive, turn), (A, finger)
        frames[f"{name}_inner_knuckle"] = (inner, unit((D - inner) / (inner_tip - inner)))
        frames[f"{name}_inner_finger"] = (D, unit((D - C) / (inner_tip - outer_tip)))
    return frames


# Reduced model, coordinates, and their least and largest values.
CASES: dict[str, tuple[Callable[[np.ndarray], Planar], str, Any, Any]] = {
    "excavator_arm": (excavator, "boom_cylinder stick_cylinder bucket_cylinder", (-0.5, -0.4, -0.22), (0.6, 0.7, 0.3)),
    "palletiser": (palletiser, "turret lower_arm crank flange", (-2.0, -0.5, -0.5, -2.0), (2.0, 0.9, 0.9, 2.0)),
    "jansen_leg": (jansen, "crank", (-np.pi,), (np.pi,)),
    "scissor_lift": (lift, "drive", (-0.5,), (0.13,)),
    "robotiq_gripper": (
        *(gripper, "left_outer_knuckle left_outer_finger right_outer_finger"),
        *((0.2, -0.3, 0.0), (0.7, 0.0, 0.3)),
    ),
}


def poses(name: str, u: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Poses of all moving links in space."""
    planar = CASES[name][0](u)
    found = {link: (turned_y(-np.angle(r)), np.array([p.real, 0.0, p.imag])) for link, (p, r) in planar.items()}
    if name == "palletiser":
        found["flange"] = (turned_z(u[3]), found["flange"][1])
        found = {link: (turned_z(u[0]) @ R, turned_z(u[0]) @ p) for link, (R, p) in found.items()}
    return found


def slopes(f: Callable[[np.ndarray], Any], u: np.ndarray) -> list[Any]:
    """Derivatives by each coordinate, of fourth order."""
    steps = H * np.eye(len(u))
    return [(8.0 * (f(u + e) - f(u - e)) - f(u + 2 * e) + f(u - 2 * e)) / (12.0 * H) for e in steps]


def arrays(model: ada.Model, name: str, u: np.ndarray) -> np.ndarray:
    """Rotation and centre of mass of each moving link, (links, 3, 4)."""
    at = poses(name, u)
    moving = [(link, *at[link.name]) for link in model.links.values() if link.name != model.root]
    return np.array([np.column_stack([R, p + R @ link.com]) for link, R, p in moving])


def reduced_inertia(model: ada.Model, name: str, u: np.ndarray) -> np.ndarray:
    X, rates = arrays(model, name, u), np.array(slopes(lambda x: arrays(model, name, x), u))
    total = np.zeros((len(u), len(u)))
    total[0, 0] = 2.0 * ROTOR * (name == "robotiq_gripper")
    for k, link in enumerate(link for link in model.links.values() if link.name != model.root):
        R, linear = X[k, :, :3], rates[:, k, :, 3]
        S = rates[:, k, :, :3] @ R.T  # angular velocities as skew matrices
        angular = np.stack([S[:, 2, 1], S[:, 0, 2], S[:, 1, 0]], axis=-1)
        total += link.mass * linear @ linear.T + angular @ (R @ link.inertia @ R.T) @ angular.T
    return total


def potential(model: ada.Model, name: str, u: np.ndarray) -> float:
    masses = np.array([link.mass for link in model.links.values() if link.name != model.root])
    springs = 0.05 * ((u[1] - 0.6) ** 2 + (u[2] + 0.6) ** 2) if name == "robotiq_gripper" else 0.0
    return 9.81 * float(masses @ arrays(model, name, u)[:, 2, 3]) + springs


@pytest.mark.parametrize("name", CASES)
def test_a_machine_moves_as_its_reduced_model(name: str) -> None:
    names, (lower, upper) = CASES[name][1].split(), np.array(CASES[name][2:])
    model, q = mechanism(name)
    dynamics, rng = ada.Dynamics(model, q0=q), np.random.default_rng(2)
    at, columns = (np.array([index(n).start for n in names]) for index in (model.q_index, model.v_index))
    for corner in product(*zip(lower, upper, strict=True)):
        assert set(poses(name, np.array(corner))) == set(model.links) - {model.root}  # it closes in the whole range
    for _ in range(4):
        u, w = rng.uniform(lower, upper), rng.uniform(-1.0, 1.0, len(names)) * (upper - lower)
        for share in np.linspace(0.0, 1.0, 9):  # from the drawing, as far as one step of the loop closure is sure
            q = q.copy()
            q[at] += share * (u - q[at])
            q = np.asarray(ada.close_loops(model, q, hold=names))
        for link, (R, p) in poses(name, u).items():
            pose = dynamics.pose(link, q)
            assert np.max(np.abs(pose[:3, :3] - R)) < 1e-10
            assert np.max(np.abs(pose[:3, 3] - p)) < 1e-10
        v = dynamics.constraints.tangent_map(q, names) @ w
        tau = np.zeros(model.nv)
        tau[columns] = rng.normal(size=len(names)) * np.abs(dynamics.gravity(q)).max()
        M = reduced_inertia(model, name, u)
        rates = slopes(lambda x: reduced_inertia(model, name, x), u)
        forces = tau[columns] - np.array(slopes(lambda x: potential(model, name, x), u))
        forces += 0.5 * np.array([w @ rate @ w for rate in rates])
        forces -= sum(rate * speed for rate, speed in zip(rates, w, strict=True)) @ w
        expected = np.linalg.solve(M, forces)
        found = dynamics.forward(q, v, tau)[columns]
        assert np.max(np.abs(found - expected)) < 1e-8 * np.max(np.abs(expected))
