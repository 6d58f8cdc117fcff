# SPDX-License-Identifier: Apache-2.0
"""What the benchmark of single steps counts and times is assembly indeed, and its model adds up."""

from __future__ import annotations

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.expr import evaluate
from ada_dynamics.spatial.rotation import IDENTITY
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vec3 import ZERO3
from benchmarks import assembly_steps, parallel_model
from benchmarks.assembly_steps import BOTH, PAIR, Kind

T = np.delete(np.eye(6), 2, axis=1)  # of a joint about z, for [moment; force]


@pytest.mark.parametrize("algorithm", ["ada", "dca"])
def test_a_step_gives_the_operators_of_eq_2_21(algorithm: str) -> None:
    here = Transform(IDENTITY, ZERO3)
    function = assembly_steps.step(BOTH, algorithm, here)
    rng = np.random.default_rng(0)
    A, B = (assembly_steps.dense_operator(2, rng) for _ in range(2))
    rows = {"own": assembly_steps.operator_row(B, rng), "other": assembly_steps.operator_row(A, rng)}
    given = {name: rows.get(name, np.zeros(size)) for name, size in function.inputs.items()}  # no angle: z is z
    joined = np.array(evaluate(function, **{name: x.tolist() for name, x in given.items()})["joined"])
    # handles of A: far end, joint; of B: joint, far end
    W = T @ np.linalg.inv(T.T @ (A[6:, 6:] + B[:6, :6]) @ T) @ T.T
    far = A[:6, :6] - A[:6, 6:] @ W @ A[6:, :6]
    across = A[:6, 6:] @ W @ B[:6, 6:]
    expected = np.block([[far, across], [across.T, B[6:, 6:] - B[6:, :6] @ W @ B[:6, 6:]]])
    wanted = assembly_steps.operator_row(expected, rng)[:-12]
    assert np.max(np.abs(joined[:-12] - wanted)) < 1e-10 * np.max(np.abs(wanted))


def one_second(kinds: list[Kind]) -> parallel_model.Worker:
    speed = parallel_model.Speed(dict.fromkeys(kinds, 1.0), 0.0, 0.0)
    return parallel_model.Worker(speed, speed, 1, 0.0)


@pytest.mark.parametrize("n", [8, 64, 256])
def test_steps_of_one_second_take_n_seconds_alone_and_the_depth_with_enough_workers(n: int) -> None:
    levels = parallel_model.balanced(n)
    worker = one_second([kind for level in levels for kind, _ in level])
    assert parallel_model.by_levels(n, 1, worker) == n
    assert parallel_model.by_levels(n, n, worker) == len(levels) <= np.ceil(np.log2(n)) + 1
    assert n / 4 <= parallel_model.by_levels(n, 4, worker) <= n / 4 + len(levels)


def test_blocks_hold_every_joint_once() -> None:
    for n, count in ((64, 1), (64, 8), (64, 32)):
        assert sum(c for level in parallel_model.blocks(n, count) for _, c in level) == n
    assert parallel_model.blocks(2, 1)[0] == ((PAIR, 1),)


def test_an_order_of_a_chain_is_told_by_its_handles() -> None:
    tree = ada.chain_3d(16).tree
    kinds = [kind for level in parallel_model.balanced(16) for kind, _ in level]
    assert BOTH in kinds
    assert all(kind.kept == "" or set(kind.kept) <= set(kind.parent + kind.child) for kind in kinds)
    assert len(tree.bodies) == sum(c for level in parallel_model.balanced(16) for _, c in level)
