# SPDX-License-Identifier: Apache-2.0
"""The loop program of ADA: any tree by one program, single states and batches, with external wrenches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.algorithms import aba, crba
from ada_dynamics.dynamics.loop_programs import assembly, loop_kernel
from ada_dynamics.jit.loop_kernel import LoopKernel
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vec3 import Vec3

pytestmark = pytest.mark.skipif(not LoopKernel.available(), reason="code cannot be compiled here")

Array = NDArray[np.float64]
# Some hundred products per joint in double precision, against a solution by another elimination.
RELATIVE = 1e-11


def solid(rng: np.random.Generator) -> tuple[float, Array, Array]:
    A = rng.normal(size=(3, 3)) * 0.3
    spread = A @ A.T + 0.02 * np.eye(3)
    return float(rng.uniform(0.5, 2.0)), rng.uniform(-0.3, 0.3, 3), np.trace(spread) * np.eye(3) - spread


def random_tree(
    seed: int, kinds: list[str], base: str = "fixed", loads: bool = False, serial: bool = False
) -> ada.Model:
    rng = np.random.default_rng(seed)
    builder = ada.Builder("random").link("link_0", *solid(rng))
    for i, kind in enumerate(kinds, start=1):
        builder.link(f"link_{i}", *solid(rng))
        axis, second = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
        options: dict[str, Any] = {"axis": axis, "axis2": second} if kind == "universal" else {"axis": axis}
        if loads and i % 2:
            options.update(armature=0.3, damping=0.2, friction=0.1)
        parent = f"link_{i - 1 if serial else rng.integers(0, i)}"
        place, turn = rng.uniform(-0.5, 0.5, 3), rng.uniform(-3, 3, 3)
        builder.joint(f"joint_{i}", kind, parent, f"link_{i}", place, turn, **options)
    return builder.build(base, (0.3, -0.5, -9.81))


def states_of(model: ada.Model, count: int, seed: int = 1) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    drawn = [model.random_state(rng) for _ in range(count)]
    q, v = (np.array(x) for x in zip(*drawn, strict=True))
    return q, v, rng.normal(size=(count, model.nv))


def expected_rows(model: ada.Model, q: Array, v: Array, tau: Array, external: Any = None) -> Array:
    rows = zip(q.tolist(), v.tolist(), tau.tolist(), strict=True)
    return np.array([crba.forward_dynamics(model.tree, *row, external) for row in rows])


def assert_same(model: ada.Model, q: Array, found: Array, expected: Array) -> None:
    for row, ours, theirs in zip(q.tolist(), found, expected, strict=True):
        M = np.array(crba.mass_matrix(model.tree, row).dense())
        assert np.max(np.abs(M @ (ours - theirs))) < RELATIVE * (np.max(np.abs(M) @ np.abs(theirs)) + 10.0)


MODELS = {
    "pa10": ada.load("pa10"),
    "serial": random_tree(1, ["prismatic", "revolute", "revolute", "prismatic"], serial=True),
    "branched": random_tree(2, ["revolute"] * 9),
    "floating": random_tree(3, ["revolute"] * 8, "floating"),
    "loaded": random_tree(4, ["revolute", "revolute", "revolute"], loads=True, serial=True),
    "other joints": random_tree(5, ["spherical", "cylindrical", "universal", "planar", "continuous"], serial=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_loop_program_accelerates_as_the_joint_space_equations_say(name: str) -> None:
    model = MODELS[name]
    kernel = loop_kernel(model.uniform_tree, "forward", False, "ada")
    q, v, tau = states_of(model, 11)  # not a multiple of the lanes
    expected = expected_rows(model, q, v, tau)
    assert_same(model, q, kernel.batch(q, v, tau), expected)
    assert_same(model, q, np.array([kernel.single(*row) for row in zip(q, v, tau, strict=True)]), expected)


def test_external_wrenches_act_on_every_body() -> None:
    model = MODELS["branched"]
    kernel = loop_kernel(model.uniform_tree, "forward", True, "ada")
    q, v, tau = states_of(model, 3)
    rng = np.random.default_rng(0)
    flat = rng.normal(size=6 * len(model.tree.bodies))  # [force, moment] in the axes of the uniform tree's bodies
    external = {
        i: Force(Vec3(*flat[6 * i + 3 : 6 * i + 6].tolist()), Vec3(*flat[6 * i : 6 * i + 3].tolist()))
        for i in range(len(model.tree.bodies))
    }
    rows = zip(q.tolist(), v.tolist(), tau.tolist(), strict=True)
    expected = np.array([crba.forward_dynamics(model.uniform_tree, *row, external) for row in rows])
    assert_same(model, q, kernel.batch(q, v, tau, np.tile(flat, (3, 1))), expected)


def test_thin_rods_lend_each_other_inertia() -> None:
    builder = ada.Builder("rods").link("base")
    for i in range(1, 8):
        builder.link(f"link_{i}", 1.0, (0, 0, 0.5), (1 / 12, 1 / 12, 0.0))
        parent, place = (f"link_{i - 1}", (0, 0, 1)) if i > 1 else ("base", (0, 0, 0))
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", place, axis=(0, 1, 0))
    model = builder.build()
    q, v, tau = states_of(model, 3)
    found = loop_kernel(model.uniform_tree, "forward", False, "ada").batch(q, v, tau)
    assert_same(model, q, found, expected_rows(model, q, v, tau))


def test_links_that_must_be_taken_in_groups_are_refused_by_name() -> None:
    builder = ada.Builder("pendulum").link("base").link("bob", 1.0, (0, 0, -1))
    model = builder.joint("hook", "universal", "base", "bob", axis=(1, 0, 0), axis2=(0, 1, 0)).build()
    with pytest.raises(ada.ModelError, match=r"link 'bob'.*'hook'.*'crba' or 'aba'"):
        loop_kernel(model.uniform_tree, "forward", False, "ada")


def test_robots_with_the_same_kinds_of_joints_share_one_program() -> None:
    one, other = (random_tree(seed, ["revolute"] * n, serial=True).uniform_tree for seed, n in ((1, 3), (2, 9)))
    kinds = {tuple(sorted(set(assembly.kinds_of(tree)))) for tree in (one, other)}
    assert len(kinds) == 1
    assert assembly.program(False, kinds.pop()) is assembly.program(False, tuple(sorted(set(assembly.kinds_of(one)))))


def test_long_chains_lose_no_digits() -> None:
    model = random_tree(6, ["revolute"] * 256, serial=True)
    q, v, tau = states_of(model, 1)
    v *= 0.1
    found = loop_kernel(model.uniform_tree, "forward", False, "ada").single(q[0], v[0], tau[0])
    wide = (x[0].astype(np.longdouble) for x in (q, v, tau))
    expected = np.array(aba.forward_dynamics(model.tree, *wide), dtype=float)
    # 3e-15 is usual: each step of assembly is as well conditioned as a link
    assert np.max(np.abs(found - expected)) < 1e-12 * np.max(np.abs(expected))


def test_an_unknown_algorithm_is_refused() -> None:
    with pytest.raises(ada.InputError, match=r"'aba' or 'ada', not 'dca'"):
        loop_kernel(MODELS["serial"].uniform_tree, "forward", False, "dca")
