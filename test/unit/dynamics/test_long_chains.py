# SPDX-License-Identifier: Apache-2.0
"""Long chains are as accurate as short ones.

The reference is not a recursion over joints: it writes Newton's and Euler's laws for every link at its centre of mass,
in the world's axes, with the joint wrenches as unknowns, and solves the whole banded system in 80-bit floats by
Gaussian elimination with pivoting. It shares no formula with the library, and its own error is estimated by solving it
in 64-bit floats too: what that loses is 2048 times what the 80-bit solution loses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms import dca
from ada_dynamics.algorithms.assembly_order import ORDERS

Array = NDArray[Any]
UNKNOWNS = 13  # per link: joint acceleration, α, acceleration of the CoM, joint force, joint moment
RATE, ALPHA, LINEAR, FORCE, MOMENT = 0, slice(1, 4), slice(4, 7), slice(7, 10), slice(10, 13)


def skew(a: Array) -> Array:
    zero = a.dtype.type(0)
    return np.array([[zero, -a[2], a[1]], [a[2], zero, -a[0]], [-a[1], a[0], zero]])


def reference(model: ada.Model, q: Array, v: Array, tau: Array, kind: Any) -> Array:
    """Joint accelerations of a chain from the laws of each link."""
    n = model.nv
    q, v, tau, g = (np.asarray(x, dtype=kind) for x in (q, v, tau, model.gravity))
    rows: list[tuple[Array, int]] = []  # equations of a link: coefficients of links i-1, i, i+1
    right: list[Array] = []
    R, w = np.eye(3, dtype=kind), np.zeros(3, kind)
    com_before = np.zeros(3, kind)  # from the joint of link i-1 to its CoM
    frames = []
    for i, joint in enumerate(model.joints.values()):
        k = int(np.argmax(joint.axis))
        a, b = (k + 1) % 3, (k + 2) % 3
        arm = R @ joint.xyz.astype(kind)  # from the joint before to this one
        axis = R[:, k].copy()
        turn = np.eye(3, dtype=kind)
        c, s = np.cos(q[i]), np.sin(q[i])
        turn[a, a] = turn[b, b] = c
        turn[a, b], turn[b, a] = -s, s
        R = R @ turn
        before, w = w, w + axis * v[i]
        link = model.links[joint.child]
        com = R @ link.com.astype(kind)
        frames.append((arm, axis, before, w, com, R @ link.inertia.astype(kind) @ R.T, kind(link.mass)))
    for i, (arm, axis, before, w, com, inertia, mass) in enumerate(frames):
        E = np.zeros((UNKNOWNS, 3 * UNKNOWNS), dtype=kind)
        r = np.zeros(UNKNOWNS, dtype=kind)
        low, own, high = (slice(o * UNKNOWNS, (o + 1) * UNKNOWNS) for o in range(3))
        below, here, above = E[:, low], E[:, own], E[:, high]
        one = np.eye(3, dtype=kind)
        # angular: α_i - α_{i-1} - axis q̈ = ω_{i-1} x axis q̇
        here[0:3, ALPHA], here[0:3, RATE] = one, -axis
        r[0:3] = np.cross(before, axis) * v[i]
        # the joint's point has one acceleration: that of link i there, less that of link i-1 there
        here[3:6, LINEAR], here[3:6, ALPHA] = one, skew(com)
        r[3:6] = np.cross(w, np.cross(w, com))
        if i:
            reach = arm - com_before
            below[0:3, ALPHA] = -one
            below[3:6, LINEAR], below[3:6, ALPHA] = -one, skew(reach)
            r[3:6] += np.cross(before, np.cross(before, reach))
        # Newton: m a - F_i + F_{i+1} = m g;  Euler about the CoM
        here[6:9, LINEAR], here[6:9, FORCE] = mass * one, -one
        r[6:9] = mass * g
        here[9:12, ALPHA], here[9:12, MOMENT], here[9:12, FORCE] = inertia, -one, skew(com)
        r[9:12] = -np.cross(w, inertia @ w)
        if i + 1 < n:
            above[6:9, FORCE] = one
            above[9:12, MOMENT], above[9:12, FORCE] = one, skew(frames[i + 1][0] - com)
        # the motor: axis . N_i = τ_i
        here[12, MOMENT] = axis
        r[12] = tau[i]
        rows.append((E, i))
        right.append(r)
        com_before = com
    return solve_banded(rows, np.concatenate(right), n)[RATE::UNKNOWNS]


def solve_banded(rows: list[tuple[Array, int]], b: Array, n: int) -> Array:
    """Gaussian elimination with row pivoting of a block tridiagonal system, on numbers of any precision."""
    size, width = n * UNKNOWNS, 6 * UNKNOWNS
    # Row r is stored from column start[r] on.
    start = np.array([max(0, (r // UNKNOWNS - 1) * UNKNOWNS) for r in range(size)])
    A = np.zeros((size, width), dtype=b.dtype)
    for E, i in rows:
        cut = 0 if i else UNKNOWNS
        for j in range(UNKNOWNS):
            line = E[j, cut : 3 * UNKNOWNS if i + 1 < n else 2 * UNKNOWNS]
            A[i * UNKNOWNS + j, : len(line)] = line
    for k in range(size):
        last = min(size, (k // UNKNOWNS + 2) * UNKNOWNS)
        # bring all candidate rows to start at column k (what is left of it has been eliminated)
        for r in range(k, last):
            shift = k - start[r]
            if shift:
                A[r, : width - shift] = A[r, shift:].copy()
                A[r, width - shift :] = 0
                start[r] = k
        pivot = k + int(np.argmax(np.abs(A[k:last, 0])))
        if pivot != k:
            A[[k, pivot]], b[[k, pivot]] = A[[pivot, k]], b[[pivot, k]]
        f = A[k + 1 : last, 0] / A[k, 0]
        A[k + 1 : last] -= f[:, None] * A[k]
        b[k + 1 : last] -= f * b[k]
    x = np.zeros(size + width, dtype=b.dtype)
    for k in range(size - 1, -1, -1):
        x[k] = (b[k] - A[k, 1:] @ x[k + 1 : k + width]) / A[k, 0]
    return x[:size]


def state(n: int, seed: int) -> tuple[ada.Model, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return ada.chain_3d(n), rng.uniform(-3.0, 3.0, n), rng.normal(size=n), rng.normal(size=n)


@pytest.mark.parametrize(
    ("n", "kernel", "algorithm"),
    [(7, "specialised", "auto"), (32, "specialised", "auto"), (32, "generic", "auto"), (128, "generic", "auto")]
    + [pytest.param(n, "generic", name, marks=pytest.mark.fuzz) for n, name in ((1024, "auto"), (256, "ada"))],
)
def test_chains_are_right_to_the_last_digits(n: int, kernel: Any, algorithm: str) -> None:
    model, q, v, tau = state(n, 0)
    exact = reference(model, q, v, tau, np.longdouble)
    size = float(np.max(np.abs(exact)))
    # The reference is good enough to judge by: 64 bits lose at most 1e-14 on it, 80 bits so 1e-17.
    assert float(np.max(np.abs(reference(model, q, v, tau, np.float64) - exact))) < 2e-14 * size
    ours = ada.Dynamics(model, algorithm, kernel=kernel).forward(q, v, tau)
    assert float(np.max(np.abs(ours - exact))) < 1e-13 * size


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("solve", [assembly_disassembly, dca], ids=["ada", "dca"])
def test_assembling_a_chain_loses_no_digits_in_any_order(solve: Any, order: str) -> None:
    model, q, v, tau = state(64, 2)
    exact = reference(model, q, v, tau, np.longdouble)
    found = solve.forward_dynamics(model.tree, q.tolist(), v.tolist(), tau.tolist(), order=order)
    assert np.max(np.abs(found - exact.astype(float))) < 1e-12 * float(np.max(np.abs(exact)))
