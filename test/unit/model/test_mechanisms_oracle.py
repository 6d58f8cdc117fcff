# SPDX-License-Identifier: Apache-2.0
"""The reference for mechanisms with loops is right: closed forms, pinocchio's own solver, differences of poses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanism_oracle import Oracle, pin

import ada_dynamics as ada
from ada_dynamics.algorithms import crba, rnea
from ada_dynamics.model.elements import Mimic
from ada_dynamics.model.joints import LOOP_KINDS
from ada_dynamics.robots import mechanisms

seeds = st.integers(0, 10**6)
g = 9.81

# Sums of some hundred products in double precision on both sides, over the condition of what they are solved with.
RELATIVE = 1e-11


# --- the mechanism's own equations ----------------------------------------------------------------------------------
def test_the_rods_of_a_hanging_slider_crank_are_pulled_by_their_weight() -> None:
    """At rest in the hanging pose nothing moves, and the pivot carries what hangs on it."""
    model, q = mechanisms.slider_crank(0.3, 0.3, (1.0, 2.0, 3.0), angle=np.pi, height=-0.6)
    answer = Oracle(model).forward(q, np.zeros(3), np.zeros(3), rank=1e-5)
    force = answer.tree_wrenches["crank"][:3]
    guide = answer.wrenches["guide"]
    assert np.max(np.abs(answer.acceleration)) < 1e-12
    # z of the crank points down; the guide (frame upright) holds up what the rods do not
    assert -force[2] + guide[2] == pytest.approx(6.0 * g, rel=1e-12)


# --- pinocchio's solver for what it can express ---------------------------------------------------------------------
POINT, BODY = "spherical", "fixed"


def theirs(oracle: Oracle, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    contacts, data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in oracle.model.loops.values():
        kind = {POINT: pin.ContactType.CONTACT_3D, BODY: pin.ContactType.CONTACT_6D}[loop.kind]
        (a, A), (b, B) = oracle.tree.frames[loop.parent], oracle.tree.frames[loop.child]
        A = A * pin.SE3(loop.parent_rotation, loop.parent_xyz)
        B = B * pin.SE3(loop.child_rotation, loop.child_xyz)
        contact = pin.RigidConstraintModel(kind, oracle.tree.model, a, A, b, B, pin.LOCAL)
        contacts.append(contact)
        data.append(contact.createData())
    pin.initConstraintDynamics(oracle.tree.model, oracle.tree.data, contacts, data)
    proximal = pin.ProximalSettings(1e-13, 1e-10, 10)
    x = oracle.tree.position(q)
    return pin.constraintDynamics(oracle.tree.model, oracle.tree.data, x, v, tau, contacts, data, proximal).copy()


@pytest.mark.parametrize("name", ["two_feet", "hexa", "stewart", "delta", "cassie_leg"])
def test_accelerations_are_those_of_pinocchios_constraint_dynamics(name: str) -> None:
    model, q = getattr(mechanisms, name)()
    oracle, rng = Oracle(model), np.random.default_rng(3)
    for _ in range(3):
        q = oracle.nearby(q, rng, 0.1)
        v, tau = oracle.admissible(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
        answer = oracle.forward(q, v, tau)
        error = np.max(np.abs(answer.acceleration - theirs(oracle, q, v, tau)))
        assert error < 1e-10 * np.max(np.abs(answer.acceleration))  # theirs iterates to 1e-13 of the constraint
        assert answer.inconsistency < 1e-12
        assert all(flags.all() for flags in answer.unique.values())


# --- constraints against differences of poses -----------------------------------------------------------------------
def differences(f, h: float) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative at 0, from seven points (errors of order h⁶)."""
    y = [f(k * h) for k in range(-3, 4)]
    first = (y[6] - 9 * y[5] + 45 * y[4] - 45 * y[2] + 9 * y[1] - y[0]) / (60 * h)
    second = (2 * (y[0] + y[6]) - 27 * (y[1] + y[5]) + 270 * (y[2] + y[4]) - 490 * y[3]) / (180 * h * h)
    return first, second


@pytest.mark.parametrize("kind", LOOP_KINDS)
@pytest.mark.parametrize("is_closed", [True, False])
def test_constraint_rates_are_differences_of_the_constraints(kind: str, is_closed: bool) -> None:
    """ġ = J v and g̈ = γ at v̇ = 0, also where the loop is open."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        model, q = mechanisms.random_mechanism(rng, 2, floating=seed % 2 == 1, loop_kinds=[kind])
        oracle = Oracle(model)
        if not is_closed:
            q, _ = model.random_state(rng)
        v = rng.normal(size=model.nv)
        v /= np.linalg.norm(v)
        turns = np.array([2.0 * np.pi * row.pitch or 1e9 for _, row in oracle.rows])  # of a screw

        def closing(t):
            change = oracle.closing(model.integrate(q, v, t)) - oracle.closing(q)  # noqa: B023
            return change - turns * np.round(change / turns)  # noqa: B023

        first, second = differences(closing, 0.01)
        # h⁶ = 1e-12 of truncation; 1e-15/h and 1e-15/h² of rounding; lever arms of some metres
        assert np.max(np.abs(first - oracle.jacobian(q) @ v)) < 1e-10
        assert np.max(np.abs(second - oracle.gamma(q, v))) < 1e-8


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_a_loop_joint_that_is_turned_or_shifted_along_what_it_forbids_is_open(kind: str) -> None:
    model, q = mechanisms.random_mechanism(np.random.default_rng(5), 1, loop_kinds=[kind], kinds=["floating"])
    oracle = Oracle(model)
    assert oracle.gap(q) < 1e-14
    J = oracle.jacobian(q)
    free, held = np.linalg.svd(J)[2][len(J) :], J
    assert len(held) == np.linalg.matrix_rank(J)
    for motion in free:
        assert oracle.gap(model.integrate(q, motion, 1e-4)) < 1e-7  # second order
    for row in held:
        assert oracle.gap(model.integrate(q, row / np.linalg.norm(row), 1e-4)) > 1e-5


def test_an_axis_the_wrong_way_round_is_a_gap_although_the_constraint_vanishes() -> None:
    builder = ada.Builder("flipped").link("base").link("arm", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    builder.joint("turn", "revolute", "base", "arm", axis=(0, 1, 0))
    builder.loop("closing", "revolute", "base", "arm", axis=(0, 0, 1))
    oracle = Oracle(builder.build())
    assert np.max(np.abs(oracle.closing(np.array([np.pi])))) < 1e-15
    assert oracle.gap(np.array([np.pi])) == pytest.approx(2.0)


# --- forces ---------------------------------------------------------------------------------------------------------
@settings(max_examples=8)
@given(seed=seeds, spatial=st.booleans(), floating=st.booleans(), length=st.sampled_from([1.0, 0.2]))
def test_the_answer_solves_the_equations_with_the_shortest_multipliers(seed, spatial, floating, length) -> None:
    rng = np.random.default_rng(seed)
    model, q = mechanisms.random_mechanism(rng, spatial=spatial, floating=floating, losses=True)
    oracle = Oracle(model, length)
    v, tau = oracle.admissible(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    external = {"link_1": rng.normal(size=6)}
    answer = oracle.forward(q, v, tau, external)
    M, J, h = oracle.tree.mass_matrix(q), oracle.jacobian(q), oracle.tree.bias(q, v)
    jac = oracle.link_jacobian("link_1", q)
    R, _ = oracle.link_pose("link_1", q)
    load = tau - h + jac[:3].T @ R @ external["link_1"][:3] + jac[3:].T @ R @ external["link_1"][3:]
    size = np.max(np.abs(load)) + np.max(np.abs(M) @ np.abs(answer.acceleration))
    assert np.max(np.abs(M @ answer.acceleration - J.T @ answer.multipliers - load)) < RELATIVE * size
    rates = np.abs(J) @ np.abs(answer.acceleration) + 1.0
    assert np.max(np.abs(J @ answer.acceleration + oracle.gamma(q, v)) / rates) < RELATIVE
    U, sizes, _ = np.linalg.svd(J)
    null = U[:, np.sum(sizes > 1e-9 * sizes[0]) :]
    # a step along the null space must not change |force|² + |moment/length|² to first order
    slope = answer.multipliers / np.array([1.0 if row.m is None else length**2 for _, row in oracle.rows])
    assert np.max(np.abs(null.T @ slope), initial=0.0) < 1e-9 * np.max(np.abs(slope))


@settings(max_examples=8)
@given(seed=seeds, floating=st.booleans())
def test_wrenches_at_revolute_and_prismatic_joints_contain_the_joints_effort(seed: int, floating: bool) -> None:
    """Along its axis a joint passes on its effort, less friction and what turns the rotor: whatever the loops do."""
    rng = np.random.default_rng(seed)
    model, q = mechanisms.random_mechanism(rng, floating=floating, losses=True)
    oracle = Oracle(model)
    v, tau = oracle.admissible(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    answer = oracle.forward(q, v, tau, {"link_2": rng.normal(size=6)})
    size = max(np.max(np.abs(w)) for w in answer.tree_wrenches.values())
    for name in model.joint_names:
        joint, i = model.joints[name], model.v_index(name).start
        if joint.kind in ("revolute", "continuous", "prismatic"):
            wrench = answer.tree_wrenches[name]
            passed = joint.axis @ (wrench[:3] if joint.kind == "prismatic" else wrench[3:])
            lost = joint.damping * v[i] + joint.friction * np.sign(v[i]) + joint.armature * answer.acceleration[i]
            assert abs(passed - (tau[i] - lost)) < RELATIVE * size


# --- the tree -------------------------------------------------------------------------------------------------------
def a_tree_of_every_joint(base: str) -> ada.Model:
    rng = np.random.default_rng(11)
    builder = ada.Builder("zoo").link("l0", 1.0, (0.1, 0.2, 0.3), (0.2, 0.3, 0.4))
    kinds = "revolute fixed planar universal prismatic spherical cylindrical spherical_euler continuous floating_euler"
    for i, kind in enumerate(kinds.split(), start=1):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        builder.link(f"l{i}", rng.uniform(1, 2), rng.uniform(-0.2, 0.2, 3), rng.uniform(0.2, 0.3, 3))
        builder.joint(
            *(f"j{i}", kind, f"l{max(i - 1 - i % 2, 0)}", f"l{i}", rng.uniform(-0.3, 0.3, 3), rng.uniform(-1, 1, 3)),
            axis=-Q[0] if i % 2 else Q[0],
            axis2=Q[1] if kind == "universal" else None,
            armature=0.0 if kind == "fixed" else 0.1,
        )
    builder.link("l20", 1.3, (0.1, 0, 0.2), (0.1, 0.2, 0.2))
    builder.joint("j20", "revolute", "l2", "l20", (0.1, 0.2, 0.3), axis=(0, 0.6, 0.8), mimic=Mimic("j1", -0.7, 0.4))
    return builder.build(base, gravity=(0.3, -0.5, -g))


@pytest.mark.parametrize("base", ["fixed", "floating", "floating_euler"])
def test_pinocchios_tree_is_ours_for_every_joint_type(base: str) -> None:
    """Else the reference would describe another robot. Both are written from the joint's definition, apart."""
    model = a_tree_of_every_joint(base)
    oracle, rng = Oracle(model), np.random.default_rng(4)
    for _ in range(3):
        q, v = model.random_state(rng)
        ours = np.array(crba.mass_matrix(model.tree, q.tolist()).dense(), dtype=float)
        bias = np.array(rnea.inverse_dynamics(model.tree, q.tolist(), v.tolist(), None), dtype=float)
        assert np.max(np.abs(oracle.tree.mass_matrix(q) - ours)) < RELATIVE * np.max(np.abs(ours))
        assert np.max(np.abs(oracle.tree.bias(q, v) - bias)) < RELATIVE * np.max(np.abs(bias))
