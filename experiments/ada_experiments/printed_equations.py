# SPDX-License-Identifier: Apache-2.0
"""E1: equations of the documents as printed, each compared with an independent computation.

The computations are definitions (sums over point masses, linear systems of all unknowns), finite differences and
matrix exponentials of random motions; a second value of a check is that of the corrected form. Spatial vectors are
[angular; linear] in Takahashi 2012, and [linear; angular] in the other documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import Dynamics
from ada_dynamics.robots.load import load
from ada_dynamics.spatial.orientation import pose_of
from ada_experiments.motion_simulation.frames import displaced
from ada_experiments.motion_simulation.motion_table import plate_mechanics
from ada_experiments.operation_counts import of_chain
from ada_hardware.hexa.kinematics import HexaKinematics
from ada_tools.scenario.registry import Outcome, Progress, Quantity, experiment
from ada_tools.scenario.scenario import Scenario

Check: TypeAlias = Callable[[np.random.Generator], Mapping[str, float]]
SMALL = 1e-5  # [s] of central differences
RATE = 1.7  # [rad/s]
AXIS = np.eye(6)[:, 1:2]  # S = T_a of a revolute joint about y (table 2.1)
HELD = np.delete(np.eye(6), 1, axis=1)  # its T


def cross(a: Array) -> Array:
    """[a×] (eq. A.4)."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def motion_cross(v: Array) -> Array:
    """V× of eq. A.43."""
    return np.block([[cross(v[:3]), np.zeros((3, 3))], [cross(v[3:]), cross(v[:3])]])


def rotation(a: Array) -> Array:
    """Rotation about the axis a by its length (eq. 3 of Awa 2009)."""
    from scipy.linalg import expm

    return np.asarray(expm(cross(a)))


def frame(turn: Array, place: Array) -> Array:
    """Pose with a rotation and a position, 4x4."""
    return np.block([[turn, place[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])


def off(one: ArrayLike, other: ArrayLike) -> float:
    """Largest difference."""
    return float(np.max(np.abs(np.asarray(one) - np.asarray(other))))


def symmetric(rng: np.random.Generator, size: int) -> Array:
    """A positive definite matrix."""
    root = rng.normal(size=(size, size))
    return np.asarray(root @ root.T + np.eye(size))


# --- Takahashi 2012 ---------------------------------------------------------------------------------------------------
def rates_of_a_joint(rng: np.random.Generator) -> dict[str, float]:
    """Ṡ q̇ of a joint axis that moves with a body (eq. 2.6 and sec. 5.1)."""
    from scipy.linalg import expm

    velocity, axis = rng.normal(size=(2, 6))
    moved = [expm(motion_cross(velocity) * t) @ axis for t in (SMALL, -SMALL)]
    rate = (moved[0] - moved[1]) / (2.0 * SMALL)
    child = velocity + axis * RATE
    return {
        "eq_2_6": off(motion_cross(velocity) @ axis, rate * RATE),
        "eq_2_6_mended": max(off(motion_cross(v) @ axis * RATE, rate * RATE) for v in (velocity, child)),
        "sec_5_1": off(motion_cross(velocity) @ rate * RATE, rate * RATE),
        "eq_5_4": off(motion_cross(velocity) @ axis, rate),
    }


def two_bodies(rng: np.random.Generator) -> dict[str, float]:
    """Bodies A (handles i, j) and B (j, k) on a joint: eqs. 2.18-2.22 and 2.41-2.45, against all unknowns at once."""
    phi_a, phi_b = symmetric(rng, 12), symmetric(rng, 12)
    bias_a, bias_b = rng.normal(size=(2, 12))
    force_i, force_k, drift = rng.normal(size=(3, 6))
    tau = 0.8
    i, j = slice(6), slice(6, 12)  # handles of A; those of B are j, k
    both = phi_a[j, j] + phi_b[i, i]
    known = phi_a[j, i] @ force_i + bias_a[j] - phi_b[i, j] @ force_k - bias_b[i] + drift
    system = np.block([[both, -AXIS], [AXIS.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(system, [*known, tau])
    force, acceleration = solved[:6], solved[6]
    handle_i, handle_j = np.split(phi_a @ [*force_i, *-force] + bias_a, 2)
    at_joint, handle_k = np.split(phi_b @ [*force, *force_k] + bias_b, 2)
    inner = np.linalg.inv(HELD.T @ both @ HELD)  # eq. 2.18
    held = AXIS[:, 0] * tau + HELD @ inner @ HELD.T @ (known - both @ AXIS[:, 0] * tau)
    inverse = np.linalg.inv(both)
    solid = inverse @ AXIS @ np.linalg.inv(AXIS.T @ inverse @ AXIS)
    weight = inverse - solid @ AXIS.T @ inverse  # eq. 2.42
    gamma = weight @ (bias_a[j] - bias_b[i] + drift) + solid[:, 0] * tau  # eq. 2.43
    printed_a = (phi_a[j, j] - phi_a[i, j] @ weight @ phi_a[j, i]) @ force_i
    printed_a += phi_a[i, j] @ weight @ phi_b[i, j] @ force + bias_a[j] - phi_a[i, j] @ gamma
    printed_b = phi_b[j, i] @ weight @ phi_a[j, i] @ force_i + bias_b[i] + phi_b[j, i] @ gamma
    printed_b += (phi_b[i, i] - phi_b[j, i] @ weight @ phi_b[i, j]) @ force
    mended_a = (phi_a[i, i] - phi_a[i, j] @ weight @ phi_a[j, i]) @ force_i
    mended_a += phi_a[i, j] @ weight @ phi_b[i, j] @ force_k + bias_a[i] - phi_a[i, j] @ gamma
    mended_b = phi_b[j, i] @ weight @ phi_a[j, i] @ force_i + bias_b[j] + phi_b[j, i] @ gamma
    mended_b += (phi_b[j, j] - phi_b[j, i] @ weight @ phi_b[i, j]) @ force_k
    return {
        "eq_2_22": max(off(held, force), abs(float(AXIS[:, 0] @ (at_joint - handle_j - drift)) - acceleration)),
        "eq_2_44": off(printed_a, handle_j),
        "eq_2_45": off(printed_b, at_joint),
        "eq_2_44_mended": max(off(mended_a, handle_i), off(mended_b, handle_k)),
    }


def two_joints(rng: np.random.Generator) -> dict[str, float]:
    """Eq. 3.17 with Φ for its undefined B_ij, for bodies on two joints at once, against all unknowns."""
    phi, other = symmetric(rng, 18), symmetric(rng, 18)  # handles i, j, k and l, j, k
    bias, other_bias = rng.normal(size=(2, 18))
    drift, tau = rng.normal(size=12), rng.normal(size=2)
    axes, held = np.kron(np.eye(2), AXIS), np.kron(np.eye(2), HELD)
    i, jk = slice(6), slice(6, 18)
    both, known = phi[jk, jk] + other[jk, jk], bias[jk] - other_bias[jk] + drift
    system = np.block([[both, -axes], [axes.T, np.zeros((2, 2))]])
    force = np.linalg.solve(system, [*known, *tau])[:12]  # without forces on i and l
    weight = held @ np.linalg.inv(held.T @ both @ held) @ held.T
    gamma = weight @ (known - both @ axes @ tau) + axes @ tau
    pairs = [
        (bias[i] - phi[i, jk] @ gamma, bias[i] - phi[i, jk] @ force),
        (other_bias[i] + other[i, jk] @ gamma, other_bias[i] + other[i, jk] @ force),
    ]
    return {"eq_3_17_mended": max(off(*pair) for pair in pairs)}


def inward(rng: np.random.Generator) -> dict[str, float]:
    """Eqs. 2.31 to 2.34 for a link and the articulated body beyond it."""
    own, beyond = symmetric(rng, 6), symmetric(rng, 6)
    bias, bias_beyond, drift, moved = rng.normal(size=(4, 6))
    tau, s = 0.8, AXIS[:, 0]
    weight = 1.0 / (s @ beyond @ s)
    rate = weight * (tau - s @ (beyond @ (moved + drift) + bias_beyond))  # eq. 2.30
    outer = beyond @ (moved + s * rate + drift) + bias_beyond
    force, link = own @ moved + bias + outer, own @ moved + bias
    joined = own + beyond - np.outer(beyond @ s, s @ beyond) * weight
    joined_bias = bias + bias_beyond + beyond @ drift + beyond @ s * weight * (tau - s @ (beyond @ drift + bias_beyond))
    return {"eq_2_31": off(force, link), "eq_2_33": off(joined @ moved + joined_bias, force)}


def appendix_a(rng: np.random.Generator) -> dict[str, float]:
    """Eqs. A.3-A.44: point masses and their momentum, frames turned and displaced, and finite differences."""
    turn, d = rotation(rng.normal(size=3)), rng.normal(size=3)
    velocity, force = rng.normal(size=(2, 6))
    D, none = cross(d), np.zeros((3, 3))
    to_b, force_to_b = np.block([[turn, none], [-turn @ D, turn]]), np.block([[turn, -turn @ D], [none, turn]])
    to_a, force_to_a = (
        np.block([[turn.T, none], [D @ turn.T, turn.T]]),
        np.block([[turn.T, D @ turn.T], [none, turn.T]]),
    )
    masses, places = rng.uniform(0.5, 1.5, 8), rng.normal(size=(8, 3))
    m, com = masses.sum(), masses @ places / masses.sum()
    momenta = masses[:, None] * (velocity[3:] + np.cross(velocity[:3], places))
    momentum = np.concatenate([np.cross(places, momenta).sum(axis=0), momenta.sum(axis=0)])
    about = -sum(one * cross(r - com) @ cross(r - com) for one, r in zip(masses, places, strict=True))
    C = cross(com)
    inertia = np.block([[about + m * C @ C.T, m * C], [m * C.T, m * np.eye(3)]])
    inverse = np.linalg.inv(about)
    phi = np.block([[inverse, inverse @ C.T], [C @ inverse, np.eye(3) / m + C @ inverse @ C.T]])
    pairs = [
        (to_b @ velocity, [*turn @ velocity[:3], *turn @ (velocity[3:] + np.cross(velocity[:3], d))]),
        (force_to_b @ force, [*turn @ (force[:3] + np.cross(force[3:], d)), *turn @ force[3:]]),
        (to_a @ to_b, np.eye(6)),
        (force_to_a, to_b.T),
        (force_to_b, to_a.T),
        (inertia @ velocity, momentum),
        (phi @ inertia, np.eye(6)),
        (to_a.T @ inertia @ to_a, force_to_b @ inertia @ to_a),
        (to_b @ phi @ to_b.T, np.linalg.inv(force_to_b @ inertia @ to_a)),
    ]
    return {"appendix_a": max(off(*pair) for pair in pairs), "eq_a_17": off(force_to_a @ force_to_b, np.eye(6))}


def feedback(rng: np.random.Generator) -> dict[str, float]:
    """Largest real part of the errors of eqs. 7.9 and 7.15 on a unit inertia, ë + sign K_d ė + K_p e = 0."""
    gains = {"eq_7_9": 5.0, "eq_7_15": 10.0}  # K_p = K_d
    roots = {name: (np.roots([1.0, -k, k]).real.max(), np.roots([1.0, k, k]).real.max()) for name, k in gains.items()}
    return {name: one[0] for name, one in roots.items()} | {f"{name}_mended": one[1] for name, one in roots.items()}


def postures(rng: np.random.Generator) -> dict[str, float]:
    """Heights of joints 3 and 4 in sec. 7.2.3, the flat linkage of sec. 3.3, and the share of ADA's inverse."""
    directions = np.cumsum(np.radians([30.0, 85.7, 0.0]))
    heights = np.cumsum(np.cos(directions))
    flat = [
        np.array([np.cos(x), -np.sin(x)]) for x in (np.radians([s * 90.0, 90.0, s * 90.0 + 180.0]) for s in (1, -1))
    ]
    per_joint = (of_chain("ada", 9).flops - of_chain("ada", 6).flops) / 3.0
    inverse = sum((5 - k) + (5 - k) * (6 - k) for k in range(1, 6))  # L D Lᵀ of the 5 x 5 matrix of a revolute joint
    return {
        "joint_3": abs(float(heights[1])),
        "joint_4": abs(float(heights[2])),
        "flat": max(float(np.linalg.svd(one, compute_uv=False)[-1]) for one in flat),
        "share_of_inverse": inverse / per_joint,
    }


def slider_crank(rng: np.random.Generator) -> dict[str, float]:
    """Sec. 7.3 at θ2 = 0 and 180 deg: rank of the constraints, and the slider's motion per motion of the mechanism."""
    least, slider = np.inf, 0.0
    for second in (0.0, np.pi):
        directions = np.cumsum([0.5 * np.pi, second, 0.0])  # crank, and both links of the rod
        beyond = np.tri(3).T  # links moved by each joint
        height = [*-beyond @ np.sin(directions), 0.0]
        constraints = np.array([height, [0.0, 0.0, 1.0, 0.0], np.ones(4)])  # height of joint 4, rod, slider
        values, motions = np.linalg.svd(constraints)[1:]
        least = min(least, float(values[-1]))
        slider = max(slider, abs(float(motions[-1] @ [*beyond @ np.cos(directions), 0.0])))
    return {"slider_crank_rank": least, "slider_crank_slider": slider}


# --- Yamada -----------------------------------------------------------------------------------------------------------
def pa10_arm(rng: np.random.Generator) -> dict[str, float]:
    """Eqs. 29-46 for wrists within reach: A_2, the right ones of eight sign combinations, and where solutions exist."""
    upper, lower = 0.45, 0.5  # [m]
    found, right, wrong = {"eq_39": 0.0, "eq_39_mended": 0.0}, set(), 0
    turns = np.linspace(-np.pi, np.pi, 2001)
    for _ in range(200):
        p, first = rng.normal(size=3), rng.uniform(-np.pi, np.pi)
        p *= rng.uniform(0.1, upper + lower) / np.linalg.norm(p)
        c4 = (p @ p - upper**2 - lower**2) / (2.0 * upper * lower)
        alpha, beta, gamma = p[0] * np.cos(first) + p[1] * np.sin(first), p[2], upper + lower * c4
        area = alpha**2 + beta**2 - gamma**2  # A_2
        sides = alpha * np.sin(turns) + beta * np.cos(turns) - gamma  # eq. 28
        wrong += bool(np.any(sides >= 0.0) and np.any(sides <= 0.0)) != (area >= 0.0) and abs(area) > 1e-4
        if area < 1e-4:
            continue
        count, b3 = 0, p[0] * np.sin(first) - p[1] * np.cos(first)
        for signs in np.array(np.meshgrid(*[(1, -1)] * 3)).reshape(3, 8).T:
            s4 = signs[2] * np.sqrt(1.0 - c4**2)
            second = np.arctan2(alpha, beta) - np.arctan2(signs[0] * np.sqrt(area), gamma)
            a3 = alpha * np.cos(second) - beta * np.sin(second)
            third = np.arctan2(signs[1] * b3, -signs[1] * a3)
            rows = (a3 - lower * np.cos(third) * s4, -b3 - lower * np.sin(third) * s4)  # eqs. 18.a, 18.b
            count += max(map(abs, rows)) < 1e-9
            for key, power in (("eq_39", 2), ("eq_39_mended", 1)):
                found[key] = max(found[key], abs(a3**2 - area**power))
        right.add(count)
    return found | {"right_of_eight": float(right.pop()) if len(right) == 1 else np.nan, "eq_46": float(wrong)}


def log_of(pose: Array) -> Array:
    """{T}^∨ of sec. 3: [v; ω] of the screw motion from the identity to a pose."""
    from scipy.linalg import logm

    screw = logm(pose).real
    return np.array([*screw[:3, 3], screw[2, 1], screw[0, 2], screw[1, 0]])


def screw_motion(twist: Array) -> Array:
    """Pose after a motion with a constant twist [v; ω] for unit time; the inverse of `log_of`."""
    from scipy.linalg import expm

    return np.asarray(expm(np.block([[cross(twist[3:]), twist[:3, None]], [np.zeros((1, 4))]])))


def pose_feedback(rng: np.random.Generator) -> dict[str, float]:
    """Secs. 4.2.1-4.2.3: velocity P {T⁻¹ T_d}^∨ of the wrist, goals from a pose at t_0, and goals of the hand."""
    start, goal, base, hand = (screw_motion(0.4 * rng.normal(size=6)) for _ in range(4))
    gain, step, pose, count = 10.0, 2e-3, start, 100
    error = log_of(np.linalg.inv(start) @ goal)
    for _ in range(count):
        pose = pose @ screw_motion(step * gain * log_of(np.linalg.inv(pose) @ goal))
    left = log_of(np.linalg.inv(pose) @ goal)
    wanted = np.linalg.inv(base) @ goal @ np.linalg.inv(hand)
    return {
        "sec_4_2_1": off(left, (1.0 - gain * step) ** count * error),
        "sec_4_2_2": off(start @ screw_motion(error), goal),
        "sec_4_2_3": off(base @ wanted @ hand, goal),
    }


def wrench_of_sensor(rng: np.random.Generator) -> dict[str, float]:
    """w_h = H w_fs of the force control: power of a sensor wrench in both frames; and the motion of sec. 4.2.4."""
    turn, p = rotation(rng.normal(size=3)), rng.normal(size=3)
    wrench, twist, goal = rng.normal(size=(3, 6))
    H = np.block([[turn, cross(p) @ turn], [np.zeros((3, 3)), turn]])
    dual = np.block([[turn, np.zeros((3, 3))], [cross(p) @ turn, turn]])
    power = wrench @ twist
    pose = frame(turn, p)
    moved = log_of(pose @ screw_motion(0.3 * goal) @ np.linalg.inv(pose))
    return {
        "w_h": abs((H @ wrench) @ (H @ twist) - power),
        "w_h_mended": abs((dual @ wrench) @ (H @ twist) - power),
        "sec_4_2_4": off(moved, H @ (0.3 * goal)),
    }


# --- CRB note ---------------------------------------------------------------------------------------------------------
def composite(rng: np.random.Generator) -> dict[str, float]:
    """Last formula: inertia of three bodies of point masses about their common centre of mass."""
    bodies = [(rng.uniform(0.5, 1.5, 6), rng.normal(size=(6, 3)) + rng.normal(size=3)) for _ in range(3)]

    def tensor(masses: Array, places: Array) -> tuple[float, Array, Array]:
        com = masses @ places / masses.sum()
        about = sum(m * cross(r - com) @ cross(r - com).T for m, r in zip(masses, places, strict=True))
        return float(masses.sum()), com, np.asarray(about)

    (m, own, inertia), *children = (tensor(*body) for body in bodies)
    _, com, whole = tensor(*(np.concatenate(parts) for parts in zip(*bodies, strict=True)))
    base = inertia - m * cross(own - com) @ cross(own - com)
    sums = [sum(i + sign * n * cross(g - com) @ cross(g - com) for n, g, i in children) for sign in (1.0, -1.0)]
    printed, mended = (off(base + one, whole) / float(np.max(np.abs(whole))) for one in sums)
    return {"last_formula": printed, "last_formula_mended": mended}


# --- Awa 2009 ---------------------------------------------------------------------------------------------------------
def centre_of_mass(rng: np.random.Generator) -> dict[str, float]:
    """Eqs. 12, 24, 25 and 36 for the centre of mass of the second link of two, against finite differences."""
    axes, arms = rng.normal(size=(2, 2, 3))
    com = rng.normal(size=3)
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    rates, accelerations = (0.9, -1.3), (0.4, 0.7)

    def pose(n: int, t: float) -> Array:
        turn = rotation(axes[n] * (0.3 + rates[n] * t + 0.5 * accelerations[n] * t * t))
        return frame(turn, turn @ arms[n])

    def place(t: float) -> Array:
        return np.asarray((pose(0, t) @ pose(1, t) @ [*com, 1.0])[:3])

    def matrix(angular: Array, linear: Array) -> Array:
        return np.block([[cross(angular), linear[:, None]], [np.zeros((1, 4))]])

    h, zero, first = 1e-4, np.zeros(3), pose(0, 0.0)
    back = np.linalg.inv(first)
    speed, change = (place(h) - place(-h)) / (2 * h), (place(h) - 2 * place(0.0) + place(-h)) / h**2
    v = [matrix(axes[n] * rates[n], zero) for n in (0, 1)]
    a = [matrix(axes[n] * accelerations[n], zero) for n in (0, 1)]
    local = pose(1, 0.0) @ [*com, 1.0]
    g_rate, g_change = (v[1] @ local)[:3], ((a[1] + v[1] @ v[1]) @ local)[:3]
    printed_v = v[0] + first @ matrix(zero, g_rate) @ back
    printed_a = a[0] + first @ matrix(zero, g_change) @ back + v[0] @ printed_v - printed_v @ v[0]
    whole_v = v[0] + first @ v[1] @ back
    whole_a = a[0] + first @ a[1] @ back + v[0] @ whole_v - whole_v @ v[0]
    at = np.array([*place(0.0), 1.0])
    return {
        "eq_12": off((first @ frame(np.eye(3), local[:3]))[:3, :3], np.eye(3)),
        "eq_12_position": off((first @ local)[:3], at[:3]),
        "eq_24": off(printed_v[:3, 3], speed),
        "eq_24_mended": off((whole_v @ at)[:3], speed),
        "eq_25": off(printed_v @ frame(np.eye(3), at[:3]), printed_v),
        "eq_36": off(printed_a[:3, 3], change),
        "eq_36_mended": off(((whole_a + whole_v @ whole_v) @ at)[:3], change),
    }


def newton_euler(rng: np.random.Generator) -> dict[str, float]:
    """Eqs. 37, 38, 46: rate of the momentum of a body about the origin, against finite differences."""
    mass, com, tensor = 0.7, rng.normal(size=3), symmetric(rng, 3)
    twist, change, h = *rng.normal(size=(2, 6)), SMALL

    def moved(t: float) -> tuple[Array, Array]:
        """Spatial inertia, and the tensor in axes of the body, after a motion with twist + change t."""
        pose = screw_motion(twist * t + 0.5 * change * t * t)
        turn, C = pose[:3, :3], cross((pose @ [*com, 1.0])[:3])
        blocks = [
            np.block([[mass * np.eye(3), mass * C.T], [mass * C, mass * C @ C.T + own]])
            for own in (turn @ tensor @ turn.T, tensor)
        ]
        return blocks[0], blocks[1]

    (after, after_fixed), (before, before_fixed) = moved(h), moved(-h)
    inertia = moved(0.0)[0]
    P, L = np.split(inertia @ twist, 2)
    v, w = twist[:3], twist[3:]
    rate = inertia @ change + np.concatenate([np.cross(w, P), np.cross(v, P) + np.cross(w, L)])
    ends = twist + change * h, twist - change * h
    return {
        "eq_37": off((after @ ends[0] - before @ ends[1]) / (2.0 * h), rate),
        "eq_38": off((after_fixed @ ends[0] - before_fixed @ ends[1]) / (2.0 * h), rate),
    }


# --- Tarao et al. -----------------------------------------------------------------------------------------------------
def kane(rng: np.random.Generator) -> dict[str, float]:
    """Eqs. 3-7 with the accelerations of ADA: constraint forces M_k S_k + X_k do no work in any partial velocity."""
    model = load("space_robot_a")
    q, v = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    dynamics = Dynamics(model, "ada")
    a, left = dynamics.forward(q, v, tau), -tau
    for name, link in model.links.items():
        turn, jacobian = dynamics.pose(name, q)[:3, :3], dynamics.jacobian(name, q)
        arm, rate = turn @ link.com, dynamics.velocity(name, q, v)[3:]
        change = dynamics.acceleration(name, q, v, a)
        moved = change[:3] + np.cross(change[3:], arm) + np.cross(rate, np.cross(rate, arm))
        tensor = turn @ link.inertia @ turn.T
        left = left + (jacobian[:3] - cross(arm) @ jacobian[3:]).T @ (link.mass * (moved - model.gravity))
        left = left + jacobian[3:].T @ (tensor @ change[3:] + np.cross(rate, tensor @ rate))
    by_order_n = Dynamics(model, "order_n").forward(q, v, tau)
    return {"kane": off(left, np.zeros(model.nv)), "order_n": off(by_order_n, a)}


def table_statics(rng: np.random.Generator) -> dict[str, float]:
    """Eqs. 11-15 on the HEXA: J by finite differences of the inverse kinematics, work, and energy of the motors."""
    kinematics, pose, kp = HexaKinematics(), pose_of((0.02, -0.03, -0.5), (0.05, -0.1, 0.2)), 200.0
    mechanics = plate_mechanics(pose)
    J, K = mechanics.jacobian, mechanics.stiffness(kp)
    way, force = 1e-4 * rng.normal(size=6), rng.normal(size=6)
    there, back = (kinematics.inverse(displaced(pose, sign * way)) for sign in (1.0, -1.0))
    turned = 0.5 * (there - back)
    energy = 0.5 * kp * turned @ turned
    return {
        "tarao_eq_12": off(J @ turned, way) / float(np.max(np.abs(way))),
        "tarao_eq_13": abs(float((J.T @ force) @ turned / (force @ way)) - 1.0),
        "tarao_eq_15": abs(float(0.5 * way @ K @ way / energy) - 1.0),
    }


CHECKS: tuple[Check, ...] = (
    *(rates_of_a_joint, two_bodies, two_joints, inward, appendix_a, feedback, postures),
    *(pa10_arm, wrench_of_sensor, composite, centre_of_mass, kane),
    *(slider_crank, pose_feedback, newton_euler, table_statics),
)


@experiment("printed_equations")
def printed_equations(scenario: Scenario, output: Path, progress: Progress) -> Outcome:
    """Evaluate all checks, each with random numbers of its own."""
    quantities: dict[str, Quantity] = {}
    for i, check in enumerate(CHECKS):
        progress(i / len(CHECKS), check.__name__)
        found = check(np.random.default_rng(i))
        quantities |= {name: Quantity(float(value)) for name, value in found.items()}
    return Outcome(quantities=quantities)
