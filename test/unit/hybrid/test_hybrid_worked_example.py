# SPDX-License-Identifier: Apache-2.0
"""The worked example of Takahashi 2012, eqs. 4.12-4.33: the planar 7R chain as four links on the ground and three free.

Φ and B of both pieces are compared with a dense solution in maximal coordinates: Newton and Euler for each rod about
its centre of mass in the world's axes, and the hinges' five conditions each with multipliers, all in one matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pin_tree import PinTree

import ada_dynamics as ada
from ada_dynamics.algorithms.articulated import Operator
from ada_dynamics.algorithms.joint_space import sub_tree
from ada_dynamics.hybrid.cuts import METHODS
from ada_dynamics.hybrid.elimination import Method
from ada_dynamics.hybrid.forward import forward_dynamics
from ada_dynamics.hybrid.operator import SubChain
from ada_dynamics.model.tree import WORLD
from ada_dynamics.spatial.motion import Force, Motion
from ada_dynamics.spatial.vec3 import Vec3

Array = NDArray[np.float64]
HALF, GRAVITY, INERTIA = 0.5, 9.81, 1.0 / 12.0  # of rods of 1 m and 1 kg (sec. 4.4.1)
ROOT, HAND = (0, 1, 2, 3), (4, 5, 6)  # links, numbered from 0; joint 5 of the thesis joins 3 and 4
E_Y = np.array([0.0, 1.0, 0.0])


def skew(r: Array) -> Array:
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0.0]])


def turned(angle: float) -> Array:
    """About +y."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


@dataclass
class Rods:
    """Rods one behind the other, hinged about y, with the first one on the ground or free."""

    angles: Array  # of each rod against +z
    speeds: Array  # about +y
    efforts: Array  # of the hinge before each rod; that before the first rod of a free piece does not act
    on_ground: bool

    def accelerations(self, forces: dict[int, Array]) -> Array:
        """[α, a - g] of the near end of every rod, in its own axes.

        Args:
            forces: [moment, force] about the near end of a rod, in its axes.
        """
        n = len(self.angles)
        hinges = range(0 if self.on_ground else 1, n)
        # unknown: [α, a] of each rod's centre of mass, then [force, moments about x and z] of each hinge on its rod
        size, rows = 6 * n + 5 * len(hinges), 6 * n
        K, b = np.zeros((size, size)), np.zeros(size)
        for i in range(n):
            R = turned(self.angles[i])
            inertia = R @ np.diag([INERTIA, INERTIA, 0.0]) @ R.T
            w = self.speeds[i] * E_Y
            K[6 * i : 6 * i + 3, 6 * i : 6 * i + 3] = inertia
            K[6 * i + 3 : 6 * i + 6, 6 * i + 3 : 6 * i + 6] = np.eye(3)
            b[6 * i : 6 * i + 3] = -np.cross(w, inertia @ w)
            if i in forces:
                moment, force = R @ forces[i][:3], R @ forces[i][3:]
                b[6 * i : 6 * i + 3] += moment + np.cross(R @ [0, 0, -HALF], force)
                b[6 * i + 3 : 6 * i + 6] += force
        for k, i in enumerate(hinges):
            at = 6 * n + 5 * k
            for rod, sign, arm in ((i, 1.0, -HALF), (i - 1, -1.0, HALF)):
                if rod < 0:
                    continue
                r = turned(self.angles[rod]) @ [0.0, 0.0, arm]
                J = sign * np.vstack(
                    [np.hstack([-skew(r), np.eye(3)]), np.hstack([np.eye(3)[[0, 2]], np.zeros((2, 3))])]
                )
                K[rows + 5 * k : rows + 5 * k + 5, 6 * rod : 6 * rod + 6] = J
                K[6 * rod : 6 * rod + 6, at : at + 5] = -J.T
                w = self.speeds[rod] * E_Y
                b[rows + 5 * k : rows + 5 * k + 3] -= sign * np.cross(w, np.cross(w, r))
                b[6 * rod : 6 * rod + 3] += sign * self.efforts[i] * E_Y
            if i == 0:  # seen from a world that accelerates upward, weight is no force
                b[rows + 5 * k + 2] += GRAVITY
        x = np.linalg.solve(K, b)
        result = []
        for i in range(n):
            R, w = turned(self.angles[i]), self.speeds[i] * E_Y
            alpha, a = x[6 * i : 6 * i + 3], x[6 * i + 3 : 6 * i + 6]
            r = R @ [0.0, 0.0, -HALF]
            near = a + np.cross(alpha, r) + np.cross(w, np.cross(w, r))
            result.append(np.concatenate([R.T @ alpha, R.T @ near]))
        return np.array(result)


@dataclass
class Example:
    """The chain in a state, and both pieces twice over."""

    model: ada.Model
    state: list[list[float]]
    rods: dict[tuple[int, ...], Rods]

    def piece(self, links: tuple[int, ...], method: Method) -> SubChain:
        """A piece as the library has it."""
        w = {i: (0.0, float(np.sum(self.state[1][: i + 1])), 0.0) for i in range(7)}
        joints = links if links == ROOT else links[1:]
        return SubChain(sub_tree(self.model.tree, joints), *self.state, {**w, WORLD: (0.0, 0.0, 0.0)}, {}, method)


@pytest.fixture(params=range(3))
def example(request: pytest.FixtureRequest) -> Example:
    model = ada.planar_chain(7)
    rng = np.random.default_rng(request.param)
    q, v, tau = rng.uniform(-2.0, 2.0, 7), rng.normal(size=7), rng.normal(size=7)
    angles, speeds = np.cumsum(q), np.cumsum(v)

    def rods(links: Sequence[int], on_ground: bool) -> Rods:
        at = list(links)
        return Rods(angles[at], speeds[at], tau[at], on_ground)

    pieces = {ROOT: rods(ROOT, True), HAND: rods(HAND, False)}
    return Example(model, [x.tolist() for x in (q, v, tau)], pieces)


def matrix(operator: Operator) -> Array:
    return np.block(
        [
            [np.array(operator.aa, float), np.array(operator.al, float)],
            [np.array(operator.la, float), np.array(operator.ll, float)],
        ]
    )


def six(motion: Motion | Force) -> Array:
    return np.array([*motion[0], *motion[1]], dtype=float)


def assert_near(found: Any, expected: Array) -> None:
    # free thin rods resist turning about their lines only by how bent the piece is: condition numbers of some thousand
    assert np.max(np.abs(found - expected)) < 1e-11 * max(1.0, float(np.max(np.abs(expected))))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("links", "handles"), [(ROOT, (3,)), (HAND, (4,)), (HAND, (4, 6)), (ROOT, (1, 3))])
def test_operators_of_both_pieces_are_those_of_maximal_coordinates(
    example: Example, method: Method, links: tuple[int, ...], handles: tuple[int, ...]
) -> None:
    """Eqs. 4.19 and 4.20 for the four links on the ground, eqs. 4.27 and 4.28 for the three free ones."""
    body = example.piece(links, method).body(handles)
    rods, first = example.rods[links], links[0]
    alone = rods.accelerations({})
    for i in handles:
        assert_near(six(body.bias[i]), alone[i - first])
        for j in handles:
            columns = [rods.accelerations({j - first: unit})[i - first] - alone[i - first] for unit in np.eye(6)]
            assert_near(matrix(body.operator(i, j)), np.array(columns).T)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("links", "handles"), [(ROOT, (3,)), (HAND, (4,)), (HAND, (4, 6))])
def test_forces_on_the_handles_accelerate_the_joints_inside_as_in_maximal_coordinates(
    example: Example, method: Method, links: tuple[int, ...], handles: tuple[int, ...]
) -> None:
    """Eq. 4.9: eqs. 4.32 and 4.33, with a load on the hand as well."""
    piece, rods, first = example.piece(links, method), example.rods[links], links[0]
    piece.body(handles)
    rng = np.random.default_rng(9)
    loads = {i: rng.normal(size=6) for i in handles}
    found = piece.released({i: Force(Vec3(*x[:3]), Vec3(*x[3:])) for i, x in loads.items()})
    turning = rods.accelerations({i - first: x for i, x in loads.items()})[:, 1]
    relative = np.diff(turning, prepend=0.0)
    for joint, rates in found.items():
        assert_near(rates[0], relative[joint - first])


def test_the_chain_cut_at_joint_5_falls_as_in_pinocchio(example: Example) -> None:
    """Eqs. 4.29-4.33."""
    q, v, tau = (np.array(x) for x in example.state)
    tree = PinTree(example.model)
    M, h = tree.mass_matrix(q), tree.bias(q, v)
    found = forward_dynamics(example.model.tree, *example.state, cuts=["joint_5"])
    assert np.max(np.abs(M @ found - (tau - h))) < 1e-11 * np.max(np.abs(M) @ np.abs(found) + np.abs(h))
