# SPDX-License-Identifier: Apache-2.0
"""ADA and DCA on trees: any joints, any order of assembly; wrenches of all joints.

The reference is pinocchio's mass matrix and bias, solved densely. Accelerations are compared as efforts, M (a - a'),
which takes the condition of the mass matrix out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_constants import constants
from numpy.typing import NDArray
from pin_tree import PinTree, pin

import ada_dynamics as ada
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms import crba, dca, rnea
from ada_dynamics.algorithms.assembly_order import ORDERS, in_turn
from ada_dynamics.expr import evaluate, trace
from ada_dynamics.model.elements import Mimic
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vec3 import Vec3

Array = NDArray[np.float64]
ALGORITHMS = {"ada": assembly_disassembly, "dca": dca}
KINDS = [kind for kind in JOINT_TYPES if not kind.startswith("floating")]

# Some thousand products in double precision.
RELATIVE = 1e-11


# --- random trees ---------------------------------------------------------------------------------------------------
def solid(rng: np.random.Generator) -> tuple[float, Array, Array]:
    """Mass, CoM and an inertia that a body can have."""
    A = rng.normal(size=(3, 3)) * 0.3
    spread = A @ A.T + 0.02 * np.eye(3)
    mass = float(rng.uniform(0.5, 2.0))
    return mass, rng.uniform(-0.3, 0.3, 3), mass * (np.trace(spread) * np.eye(3) - spread)


def random_tree(seed: int, joints: int, base: str, kinds: list[str] = KINDS) -> ada.Model:
    """Any topology, oblique axes, rotors and losses on every other joint."""
    rng = np.random.default_rng(seed)
    builder = ada.Builder("random").link("link_0", *solid(rng))
    for i in range(1, joints + 1):
        kind = str(rng.choice(kinds))
        axis, second = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2] if i % 3 else np.eye(3)[[i % 2, 2]]
        options: dict[str, Any] = {} if kind == "fixed" else {"axis": axis, **constants(kind)}
        if kind == "universal":
            options["axis2"] = second
        if i % 2 and kind != "fixed":
            options.update(zip(("armature", "damping", "friction"), rng.uniform(0.05, 0.5, 3), strict=True))
        builder.link(f"link_{i}", *solid(rng))
        parent = f"link_{rng.integers(0, i)}"
        builder.joint(
            f"joint_{i}", kind, parent, f"link_{i}", rng.uniform(-0.5, 0.5, 3), rng.uniform(-3, 3, 3), **options
        )
    return builder.build(base, (0.3, -0.5, -9.81))


def random_state(model: ada.Model, seed: int = 1) -> tuple[Array, Array, Array]:
    """q, v, τ, clear of the singularities of Euler angles."""
    rng = np.random.default_rng(seed)
    q, v = model.random_state(rng)
    for name in model.joint_names:
        at = model.q_index(name)
        if model.joints[name].kind == "spherical_euler":
            q[at] = [rng.uniform(-3, 3), rng.uniform(0.6, 2.5), rng.uniform(-3, 3)]
    return q, v, rng.normal(size=model.nv)


def floats(*vectors: Array) -> list[list[float]]:
    return [np.asarray(x, dtype=float).tolist() for x in vectors]


def by_pinocchio(model: ada.Model, q: Array, v: Array, tau: Array) -> Array:
    tree = PinTree(model)
    return np.linalg.solve(tree.mass_matrix(q), tau - tree.bias(q, v))


def assert_same(model: ada.Model, q: Array, v: Array, tau: Array, found: Any, expected: Array) -> None:
    tree = PinTree(model)
    M, h = tree.mass_matrix(q), tree.bias(q, v)
    size = np.max(np.abs(M) @ np.abs(expected)) + np.max(np.abs(tau)) + np.max(np.abs(h))
    assert np.max(np.abs(M @ (np.asarray(found, dtype=float) - expected))) < RELATIVE * size


def six(force: Force) -> Array:
    return np.array([*force.moment, *force.force], dtype=float)


def random_order(model: ada.Model, seed: int) -> Any:
    """All joints in a random order, in groups of one to three."""
    rng = np.random.default_rng(seed)
    names = list(rng.permutation([body.name for body in model.tree.bodies]))
    groups = []
    while names:
        size = int(rng.integers(1, 4))
        groups.append([str(name) for name in names[:size]])
        names = names[size:]
    return in_turn(model.tree, groups)


trees = st.tuples(
    st.integers(0, 10**6), st.integers(1, 8), st.sampled_from(["fixed", "floating", "floating_euler"])
).map(lambda drawn: random_tree(*drawn))


# --- accelerations --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=20)
@given(model=trees, order=st.integers(0, 1000))
def test_every_order_of_assembly_gives_the_accelerations_of_pinocchio(
    algorithm: str, model: ada.Model, order: int
) -> None:
    if not model.nv:
        return
    q, v, tau = random_state(model)
    expected = by_pinocchio(model, q, v, tau)
    for steps in [*ORDERS, random_order(model, order)]:
        found = ALGORITHMS[algorithm].forward_dynamics(model.tree, *floats(q, v, tau), order=steps)
        assert_same(model, q, v, tau, found, expected)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_pa10_accelerates_as_in_pinocchio(algorithm: str, order: str) -> None:
    model = ada.load("pa10")
    tree = PinTree(model)
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, v, tau = rng.uniform(-2, 2, 7), rng.normal(size=7), 10.0 * rng.normal(size=7)
        expected = pin.aba(tree.model, tree.data, q, v, tau - tree.damping * v - tree.friction * np.sign(v))
        found = ALGORITHMS[algorithm].forward_dynamics(model.tree, *floats(q, v, tau), order=order)
        assert np.max(np.abs(found - expected)) < 1e-10 * np.max(np.abs(expected))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_floating_tree_of_thirty_velocities_accelerates_as_in_pinocchio(algorithm: str) -> None:
    model = random_tree(7, 24, "floating", ["revolute"])
    assert model.nv == 30
    q, v, tau = random_state(model)
    expected = by_pinocchio(model, q, v, tau)
    for order in ORDERS:
        found = ALGORITHMS[algorithm].forward_dynamics(model.tree, *floats(q, v, tau), order=order)
        assert_same(model, q, v, tau, found, expected)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("order", ORDERS)
def test_expressions_give_what_floats_give(algorithm: str, order: str) -> None:
    model = random_tree(3, 4, "floating", ["revolute", "universal", "spherical", "prismatic"])
    q, v, tau = random_state(model)
    solve: Callable[..., Any] = ALGORITHMS[algorithm].forward_dynamics
    sizes = {"q": model.nq, "v": model.nv, "tau": model.nv}
    traced = trace("forward", sizes, lambda q, v, tau: {"a": solve(model.tree, q, v, tau, order=order)})
    found = evaluate(traced, q=q.tolist(), v=v.tolist(), tau=tau.tolist())["a"]
    assert_same(model, q, v, tau, found, by_pinocchio(model, q, v, tau))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_long_chains_lose_no_digits(algorithm: str) -> None:
    builder = ada.Builder("chain").link("link_0")
    rng = np.random.default_rng(2)
    for i in range(1, 65):
        builder.link(f"link_{i}", *solid(rng))
        builder.joint(f"joint_{i}", "revolute", f"link_{i - 1}", f"link_{i}", (0, 0, 0.4), axis=rng.normal(size=3))
    model = builder.build()
    q, v, tau = random_state(model)
    # Tᵀ Φ T is as well conditioned as single links are, whatever the length: 1e-12 of the largest acceleration.
    expected = np.array(crba.forward_dynamics(model.tree, *(x.astype(np.longdouble) for x in (q, 0.1 * v, tau))))
    for order in ORDERS:
        found = ALGORITHMS[algorithm].forward_dynamics(model.tree, *floats(q, 0.1 * v, tau), order=order)
        assert np.max(np.abs(found - expected.astype(float))) < 1e-12 * float(np.max(np.abs(expected)))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=10)
@given(model=trees)
def test_an_external_wrench_acts_as_in_the_joint_space_equations(algorithm: str, model: ada.Model) -> None:
    if not model.nv:
        return
    q, v, tau = random_state(model)
    rng = np.random.default_rng(4)
    external = {
        b.index: Force(Vec3(*rng.normal(size=3).tolist()), Vec3(*rng.normal(size=3).tolist()))
        for b in model.tree.bodies
        if b.index % 2 == 0
    }
    expected = np.array(crba.forward_dynamics(model.tree, *floats(q, v, tau), external))
    found = ALGORITHMS[algorithm].forward_dynamics(model.tree, *floats(q, v, tau), external)
    assert_same(model, q, v, tau, found, expected)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("armature", [1e-12, 1e-6, 1.0, 1e6])
def test_rotors_of_any_size_are_exact(algorithm: str, armature: float) -> None:
    builder = ada.Builder("geared").link("base").link("arm", 1.0, (0, 0, 0.3), (0.1, 0.1, 0.01))
    builder.link("hand", 0.5, (0.1, 0, 0.2), (0.02, 0.03, 0.01))
    builder.joint("shoulder", "revolute", "base", "arm", axis=(0, 1, 0), armature=armature)
    builder.joint("wrist", "universal", "arm", "hand", (0, 0, 0.6), axis=(1, 0, 0), axis2=(0, 1, 0), armature=armature)
    model = builder.build()
    q, v, tau = np.array([0.3, -0.4, 0.5]), np.array([1.0, 2.0, -1.0]), np.array([1.0, -2.0, 3.0])
    expected = by_pinocchio(model, q, v, tau)
    for order in ORDERS:
        found = ALGORITHMS[algorithm].forward_dynamics(model.tree, *floats(q, v, tau), order=order)
        assert np.allclose(found, expected, rtol=1e-11, atol=0.0)


# --- wrenches -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=15)
@given(model=trees)
def test_the_wrench_of_each_joint_is_what_all_that_it_carries_needs(algorithm: str, model: ada.Model) -> None:
    if not model.nv:
        return
    q, v, tau = random_state(model)
    for order in ORDERS:
        solution = ALGORITHMS[algorithm].solve(model.tree, *floats(q, v, tau), order=order)
        expected = rnea.joint_wrenches(model.tree, *floats(q, v, np.array(solution.accelerations)))
        size = max(np.max(np.abs(six(w))) for w in expected)
        for ours, theirs in zip(solution.wrenches, expected, strict=True):
            assert np.max(np.abs(six(ours) - six(theirs))) < RELATIVE * size


def test_motors_pass_their_effort_on_less_what_the_rotor_takes() -> None:
    model = random_tree(11, 5, "fixed", ["revolute", "prismatic", "cylindrical"])
    q, v, tau = random_state(model)
    solution = assembly_disassembly.solve(model.tree, *floats(q, v, tau))
    for body, wrench in zip(model.tree.bodies, solution.wrenches, strict=True):
        for i, axis in zip(range(body.v.start, body.v.stop), body.joint.subspace(q[body.q].tolist()), strict=True):
            losses = body.damping * v[i] + body.friction * np.sign(v[i])
            passed = tau[i] - losses - body.armature * solution.accelerations[i]
            assert axis @ wrench == pytest.approx(passed, rel=1e-10, abs=1e-10)


# --- refusals -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_mimic_joints_are_refused_by_name(algorithm: str) -> None:
    builder = ada.Builder("gripper").link("palm").link("left", 0.1, (0, 0.02, 0), (1e-4,) * 3)
    builder.link("right", 0.1, (0, -0.02, 0), (1e-4,) * 3)
    builder.joint("left_finger", "prismatic", "palm", "left", axis=(0, 1, 0))
    builder.joint("right_finger", "prismatic", "palm", "right", axis=(0, 1, 0), mimic=Mimic("left_finger", -1.0))
    with pytest.raises(ada.ModelError, match=r"'right_finger' mimics.*'crba'.*mimic='free'"):
        ALGORITHMS[algorithm].forward_dynamics(builder.build().tree, [0.0], [0.0], [1.0])


def test_an_unknown_order_is_refused_with_the_known_ones() -> None:
    model = random_tree(0, 2, "fixed", ["revolute"])
    with pytest.raises(ada.InputError, match=r"assembly order.*'balance'.*balanced"):
        assembly_disassembly.forward_dynamics(model.tree, [0.0] * 2, [0.0] * 2, [0.0] * 2, order="balance")
