# SPDX-License-Identifier: Apache-2.0
"""Three revolute joints in one point against one spherical joint: the same robots in three descriptions."""

from __future__ import annotations

import numpy as np

import ada_dynamics as ada
from ada_dynamics.arrays import Array
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.arguments import Algorithm
from ada_dynamics.dynamics.front import kernel_of
from ada_dynamics.expr import cost
from ada_dynamics.jit import Kernel
from ada_dynamics.model.joints import SphericalEuler
from benchmarks import peers
from benchmarks.native import batch_by_address, rows_in_turn
from benchmarks.report import Report
from benchmarks.timing import Contender, Plan, Timings, measure

DESCRIPTIONS = ("3 revolute", "spherical_euler", "spherical")
ARM = "BRB"  # ball, revolute (about y), ball: 7 velocities
CHAIN = "BBBB"  # 12 velocities
AXES = {"z": (0.0, 0.0, 1.0), "y": (0.0, 1.0, 0.0)}
BATCH = 512
LENGTH = 0.3  # [m]
EULER = SphericalEuler()


def robot(joints: str, description: str) -> ada.Model:
    """A serial robot of rods; B: turns in all directions about z, y, z; R: about y."""
    builder = ada.Builder(f"{joints}_{description.replace(' ', '_')}").link("base")
    parent = "base"
    for i, kind in enumerate(joints):
        link, at = f"link_{i}", (0.0, 0.0, LENGTH if i else 0.0)
        builder.link(link, 2.0, (0.01, -0.02, 0.5 * LENGTH), (0.02, 0.018, 0.004))
        if kind == "R":
            builder.joint(f"joint_{i}", "revolute", parent, link, at, axis=AXES["y"])
        elif description == "3 revolute":
            for turn, axis in enumerate("zyz"):
                child = link if turn == 2 else f"{link}_{turn}"
                if turn < 2:
                    builder.link(child)  # without mass
                where = (0.0, 0.0, 0.0) if turn else at
                builder.joint(f"joint_{i}_{turn}", "revolute", parent, child, where, axis=AXES[axis])
                parent = child
        else:
            builder.joint(f"joint_{i}", description, parent, link, at)
        parent = link
    return builder.build()


def states(joints: str, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Angles, their rates and efforts for the description with revolute joints, away from gimbal lock."""
    rng = np.random.default_rng(seed)
    size = sum(3 if kind == "B" else 1 for kind in joints)
    q = rng.uniform(0.4, 1.2, size=(count, size))
    return q, rng.normal(size=(count, size)), rng.normal(size=(count, size))


def as_quaternions(joints: str, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
    """The same state with quaternions and angular velocities: ω = S q̇, τ = S⁻ᵀ τ of the angles."""
    positions: list[float] = []
    rates, efforts, start = np.array(v), np.array(tau), 0
    for kind in joints:
        if kind == "R":
            positions.append(q[start])
            start += 1
            continue
        own = slice(start, start + 3)
        S = subspace(q[own])
        positions += quaternion(q[own])
        rates[own], efforts[own] = S @ v[own], np.linalg.solve(S.T, tau[own])
        start += 3
    return np.array(positions), rates, efforts


def as_angular(joints: str, q: Array, v: Array, a: Array) -> Array:
    """Angular accelerations in the child's axes from those of the angles: S q̈ + Ṡ q̇."""
    result, start = np.array(a), 0
    for kind in joints:
        if kind == "B":
            own = slice(start, start + 3)
            bias = EULER.bias(q[own].tolist(), v[own].tolist()).angular
            result[own] = subspace(q[own]) @ a[own] + np.array(bias)
        start += 3 if kind == "B" else 1
    return result


def subspace(q: Array) -> Array:
    """S: angular velocity in the child's axes from the rates of the angles."""
    return np.array([column.angular for column in EULER.subspace(q.tolist())]).T


def quaternion(q: Array) -> list[float]:
    """Of Rz(q1) Ry(q2) Rz(q3), as x, y, z, w."""
    half, plus, minus = 0.5 * q[1], 0.5 * (q[0] + q[2]), 0.5 * (q[0] - q[2])
    sine, cosine = np.sin(half), np.cos(half)
    return [-sine * np.sin(minus), sine * np.cos(minus), cosine * np.sin(plus), cosine * np.cos(plus)]


def inputs(joints: str, description: str, count: int) -> tuple[Array, Array, Array]:
    """The same states for any description."""
    given = states(joints, count)
    if description != "spherical":
        return given
    rows = [as_quaternions(joints, *row) for row in zip(*given, strict=True)]
    q, v, tau = (np.array(x) for x in zip(*rows, strict=True))
    return q, v, tau


def descriptions(algorithm: Algorithm) -> tuple[str, ...]:
    """Assembly has no articulated bodies for the links without mass between revolute joints."""
    return DESCRIPTIONS[1:] if algorithm in ("ada", "dca") else DESCRIPTIONS


def insist(joints: str, algorithm: Algorithm) -> None:
    """Stop where the accelerations differ from those of three revolute joints by articulated bodies."""
    q, v, _ = states(joints, 4)
    wanted = ada.Dynamics(robot(joints, "3 revolute"), "aba").forward(*inputs(joints, "3 revolute", 4))
    turned = np.array([as_angular(joints, *row) for row in zip(q, v, wanted, strict=True)])
    for description in descriptions(algorithm):
        a = ada.Dynamics(robot(joints, description), algorithm).forward(*inputs(joints, description, 4))
        # rounding, times the condition of the angles
        expected = turned if description == "spherical" else wanted
        peers.insist(f"{joints} by {algorithm}, {description}", a, expected, 1e-9)


def run(report: Report, plan: Plan, quick: bool) -> None:
    """A table for each robot."""
    report.begin("spherical", "three revolute joints in one point against one spherical joint")
    algorithms: tuple[Algorithm, ...] = ("aba", "ada") if quick else ("aba", "crba", "ada", "dca")
    for joints in (ARM,) if quick else (ARM, CHAIN):
        for algorithm in algorithms:
            insist(joints, algorithm)
        cases = [(algorithm, description) for algorithm in algorithms for description in descriptions(algorithm)]
        timings = measure([c for case in cases for c in _contenders(joints, *case)], plan)
        rows = [_row(joints, *case, timings) for case in cases]
        columns = ["algorithm", "description", "flops", "sincos", "divisions", "critical path", "ns", "ns in batch"]
        nv = sum(3 if kind == "B" else 1 for kind in joints)
        report.table(f"{joints}: {joints.count('B')} balls, {nv} velocities; forward dynamics", columns, rows)


def _contenders(joints: str, algorithm: Algorithm, description: str) -> list[Contender]:
    kernel = kernel_of(ada.Dynamics(robot(joints, description), algorithm), "forward")
    assert isinstance(kernel, Kernel)
    states = inputs(joints, description, BATCH)
    label = f"{algorithm} {description}"
    return [
        rows_in_turn(label, kernel, [x[:64] for x in states], 20),
        batch_by_address(f"{label} batch", kernel, states),
    ]


def _row(joints: str, algorithm: str, description: str, timings: Timings) -> list[object]:
    of = cost(quantities.forward(robot(joints, description).tree, algorithm, False).trace())
    label = f"{algorithm} {description}"
    times = [timings.median(name) * 1e9 for name in (label, f"{label} batch")]
    return [algorithm, description, of.flops, of.sincos_pairs, of.divisions, of.critical_path, *times]
