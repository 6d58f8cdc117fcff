# SPDX-License-Identifier: Apache-2.0
"""Each mechanism of the library closes at its start pose, moves as it says, and refuses sizes that do not close."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_robots import mechanism, slider_crank
from mechanism_oracle import Oracle, pin

import ada_dynamics as ada
from ada_dynamics.algorithms import crba, rnea
from ada_dynamics.model.elements import Mimic
from ada_dynamics.model.joints import LOOP_KINDS
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.mechanisms import Mechanism
from trials.random_mechanism import random_mechanism

seeds = st.integers(0, 10**6)
CLOSED = 1e-12  # [m, rad]; poses are closed forms of some ten operations on lengths of metres


def closed(model: ada.Model, q: np.ndarray) -> Oracle:
    """The reference of a mechanism, which is closed at q."""
    oracle = Oracle(model)
    assert oracle.gap(q) < CLOSED
    return oracle


# Maker, motions, independent constraints.
ALL: list[tuple[str, Callable[[], Mechanism], int, int]] = [
    ("four_bar", mechanisms.four_bar, 1, 2),
    ("four_bar_change_point", lambda: mechanisms.four_bar((0.4, 0.9, 0.5, 1.0), (1, 2, 0.5), offset=0.1), 1, 2),
    ("four_bar_crossed", lambda: mechanisms.four_bar((0.5, 1.0, 0.5, 1.0), crossed=True), 1, 2),
    ("slider_crank", slider_crank, 1, 2),
    ("five_bar", mechanisms.five_bar, 2, 2),
    ("bennett", lambda: mechanism("bennett"), 1, 2),
    ("stewart", mechanisms.stewart, 6, 18),
    ("hexa", mechanisms.hexa, 6, 18),
    ("delta", mechanisms.delta, 3, 18),
    ("ladder_1", lambda: mechanisms.ladder(1), 1, 2),
    ("ladder_10", mechanisms.ladder, 10, 20),
    ("two_feet", lambda: mechanism("two_feet"), 18, 12),
    ("cassie_leg_floating", lambda: mechanism("cassie_leg", "floating"), 13, 6),
    *(
        (name, partial(mechanism, name), motions, rank)
        for name, motions, rank in (
            ("watt_six_bar", 1, 4),
            ("stephenson_six_bar", 1, 4),
            ("robotiq_gripper", 3, 4),
            ("excavator_arm", 3, 8),
            ("palletiser", 4, 6),
            ("jansen_leg", 1, 6),
            ("scissor_lift", 1, 8),
            ("parallel_gripper", 1, 4),
            ("cassie_leg", 7, 6),
        )
    ),
]


@pytest.mark.parametrize(("make", "motions", "rank"), [row[1:] for row in ALL], ids=[row[0] for row in ALL])
def test_a_mechanism_closes_at_its_start_and_has_the_motions_it_says(make: Any, motions: int, rank: int) -> None:
    model, q = make()
    oracle, rng = Oracle(model), np.random.default_rng(1)
    assert q.shape == (model.nq,)
    assert not model.position_problems(q)
    assert oracle.gap(q) < CLOSED
    assert (oracle.mobility(q), oracle.rank(q)) == (motions, rank)
    assert np.all(np.linalg.eigvalsh(oracle.tree.mass_matrix(q)) > 0.0)
    assert set(model.actuated) <= set(model.joint_names)
    if motions:
        elsewhere = oracle.nearby(q, rng)
        assert np.max(np.abs(model.difference(q, elsewhere))) > 1e-3
        assert oracle.mobility(elsewhere) == motions  # it goes on as it starts: the motions are no coincidence


def test_bennetts_linkage_closes_all_the_way_round_with_its_redundant_constraints() -> None:
    model = mechanism("bennett").model
    twist = np.radians(50.0)  # of the links of 0.5 m; a/sin(twist) is the same for the links of 0.4 m
    other = np.arcsin(0.4 * np.sin(twist) / 0.5)
    for angle in np.linspace(-np.pi, np.pi, 15)[1:-1]:
        ratio = np.sin(0.5 * (other + twist)) / np.sin(0.5 * (other - twist))  # tan(first/2) tan(second/2)
        q = np.array([angle, 2.0 * np.arctan2(ratio * np.cos(0.5 * angle), np.sin(0.5 * angle)), -angle])
        oracle = closed(model, q)
        assert (oracle.rank(q), len(oracle.rows)) == (2, 5)
        assert oracle.rank(oracle.nearby(q, np.random.default_rng(0), 0.05)) == 2


@settings(max_examples=60)
@given(lengths=st.tuples(*[st.floats(0.2, 2.0)] * 4), crank=st.floats(-10.0, 10.0), crossed=st.booleans())
def test_any_four_bar_closes_or_is_refused_rightly(lengths, crank, crossed) -> None:
    l1, l2, l3, d = lengths
    diagonal = np.hypot(l1 * np.sin(crank) - d, l1 * np.cos(crank))
    margin = min(diagonal - abs(l2 - l3), l2 + l3 - diagonal)
    if margin < -1e-9:
        with pytest.raises(ada.InputError):
            mechanisms.four_bar(lengths, crank=crank, crossed=crossed)
    elif margin > 1e-6:  # nearer, the height of the triangle is the root of a rounding error
        model, q = mechanisms.four_bar(lengths, crank=crank, crossed=crossed)
        closed(model, q)
        pin, meeting = l1 * np.array([np.sin(crank), np.cos(crank)]), np.array([d, 0.0])
        meeting = meeting - l3 * np.array([np.sin(np.sum(q)), np.cos(np.sum(q))])
        area = lambda a, b: a[0] * b[1] - a[1] * b[0]  # noqa: E731
        sides = [area(meeting - pin, np.array([d, 0.0]) - pin), area(-pin, np.array([d, 0.0]) - pin)]
        if abs(sides[1]) > 1e-9 and abs(sides[0]) > 1e-9:
            assert (sides[0] * sides[1] > 0.0) == crossed


@settings(max_examples=30)
@given(angle=st.floats(-7.0, 7.0), height=st.floats(-0.3, 0.3))
def test_the_slider_of_a_slider_crank_stands_where_the_triangle_says(angle: float, height: float) -> None:
    model, q = slider_crank(0.3, 0.7, angle=angle, height=height)
    oracle = closed(model, q)
    R, p = oracle.link_pose("slider", q)
    x = 0.3 * np.sin(angle) + np.sqrt(0.7**2 - (height - 0.3 * np.cos(angle)) ** 2)
    assert p == pytest.approx([x, 0.0, height], abs=1e-14)
    assert pytest.approx(np.eye(3), abs=1e-14) == R


def test_the_tip_of_a_five_bar_is_where_it_is_wanted() -> None:
    for tip in ([0.15, 0.6], [0.4, 0.5], [-0.2, 0.55]):
        model, q = mechanisms.five_bar(tip=tip)
        oracle = closed(model, q)
        R, p = oracle.link_pose("left_rod", q)
        assert p + 0.5 * R[:, 2] == pytest.approx([tip[0], 0.0, tip[1]], abs=1e-14)


@settings(max_examples=8)
@given(seed=seeds)
def test_platforms_close_wherever_their_legs_reach(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shift, turn = rng.uniform(-0.04, 0.04, 3), rng.uniform(-0.15, 0.15, 3)
    for make, home in ((mechanisms.stewart, (0, 0, 0.7)), (mechanisms.hexa, (0, 0, -0.52))):
        model, q = make(np.add(home, shift), turn)
        oracle = closed(model, q)
        _, p = oracle.link_pose("platform", q)
        assert p == pytest.approx(np.add(home, shift), abs=1e-15)
    model, q = mechanisms.delta(shift + np.array([0, 0, -0.55]))
    closed(model, q)


def test_the_pads_of_a_gripper_stay_parallel_and_opposite() -> None:
    for opening in (-0.5, 0.0, 0.8):
        model, q = mechanism("parallel_gripper")
        for joint in ("left_drive", "left_link", "right_pad", "left_pad", "right_link"):
            q[model.q_index(joint)] = opening if joint in ("left_pad", "right_link") else -opening
        oracle = closed(model, q)
        (Rl, pl), (Rr, pr) = (oracle.link_pose(f"{side}_pad", q) for side in ("left", "right"))
        assert np.max(np.abs(Rl - np.eye(3))) < 1e-15
        assert np.max(np.abs(Rr - np.eye(3))) < 1e-15
        assert pl == pytest.approx([-pr[0], pr[1], pr[2]], abs=1e-15)
        assert pr[0] == pytest.approx(0.01 + 0.06 * np.sin(opening), abs=1e-15)


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
    model, q = mechanism(name)
    oracle, rng = Oracle(model), np.random.default_rng(3)
    for _ in range(3):
        q = oracle.nearby(q, rng, 0.1)
        v, tau = oracle.admissible(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
        answer = oracle.forward(q, v, tau)
        error = np.max(np.abs(answer.acceleration - theirs(oracle, q, v, tau)))
        assert error < 1e-10 * np.max(np.abs(answer.acceleration))  # theirs iterates to 1e-13 of the constraint
        assert answer.inconsistency < 1e-12
        assert all(flags.all() for flags in answer.unique.values())


def differences(f, h: float) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative at 0, from seven points (errors of order h⁶)."""
    y = [f(k * h) for k in range(-3, 4)]
    first = (y[6] - 9 * y[5] + 45 * y[4] - 45 * y[2] + 9 * y[1] - y[0]) / (60 * h)
    second = (2 * (y[0] + y[6]) - 27 * (y[1] + y[5]) + 270 * (y[2] + y[4]) - 490 * y[3]) / (180 * h * h)
    return first, second


@pytest.mark.parametrize("kind", LOOP_KINDS)
@pytest.mark.parametrize("is_closed", [True, False])
def test_constraint_rates_are_differences_of_the_constraints(kind: str, is_closed: bool) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        model, q = random_mechanism(rng, 2, floating=seed % 2 == 1, loop_kinds=[kind])
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
    return builder.build(base, gravity=(0.3, -0.5, -9.81))


@pytest.mark.parametrize("base", ["fixed", "floating", "floating_euler"])
def test_pinocchios_tree_is_ours_for_every_joint_type(base: str) -> None:
    model = a_tree_of_every_joint(base)
    oracle, rng = Oracle(model), np.random.default_rng(4)
    for _ in range(3):
        q, v = model.random_state(rng)
        ours = np.array(crba.mass_matrix(model.tree, q.tolist()).dense(), dtype=float)
        bias = np.array(rnea.inverse_dynamics(model.tree, q.tolist(), v.tolist(), None), dtype=float)
        assert np.max(np.abs(oracle.tree.mass_matrix(q) - ours)) < 1e-11 * np.max(np.abs(ours))
        assert np.max(np.abs(oracle.tree.bias(q, v) - bias)) < 1e-11 * np.max(np.abs(bias))
