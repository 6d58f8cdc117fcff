# SPDX-License-Identifier: Apache-2.0
"""Jacobians and all velocities by independent or by the motors' velocities, along the loops."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from loop_robots import mechanism
from mechanism_oracle import Oracle
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada
from ada_dynamics.analysis.singularity import point_jacobian
from ada_dynamics.robots import mechanisms
from trials.random_mechanism import random_mechanism

Array = NDArray[np.float64]
# Motors determine the motion of these.
DRIVEN = ("five_bar", "slider_crank", "delta", "hexa", "stewart", "parallel_gripper")
# Redundant conditions, a floating base, quaternions, fewer or more motors than motions.
OTHERS = ("four_bar", "watt_six_bar", "bennett", "cassie_leg", "two_feet")
FLOATING = ("cassie_leg floating", "random 1", "random 11", "random 5", "random plane 3")
EVERY = [(name, "independent") for name in (*DRIVEN, *OTHERS, *FLOATING)] + [(name, "actuated") for name in DRIVEN]
# One of each kind; it takes seconds to compile what a robot needs.
FEW = ("five_bar", "slider_crank", "four_bar", "bennett", "random 11")
CASES = [case if case[0] in FEW else pytest.param(*case, marks=pytest.mark.fuzz) for case in EVERY]
FRAMES = ("local_world_aligned", "local", "world")
EXACT = 1e-12  # a few dozen products, in poses in which no conditions are nearly lost


class Case(NamedTuple):
    """A mechanism in a pose that closes its loops, with a velocity that they allow."""

    model: ada.Model
    q: Array
    v: Array
    dynamics: ada.Dynamics
    oracle: Oracle


@cache
def case(name: str) -> Case:
    if name.startswith("random"):
        seed = int(name.split()[-1])
        made = random_mechanism(np.random.default_rng(seed), floating="plane" not in name, spatial="plane" not in name)
    else:
        made = mechanism(name.split()[0], "floating" if name.endswith("floating") else None)
    model, oracle, rng = made.model, Oracle(made.model), np.random.default_rng(7)
    q = np.asarray(oracle.nearby(made.q, rng, 0.2), dtype=np.float64)
    v = np.asarray(oracle.admissible(q, rng.normal(size=model.nv)), dtype=np.float64)
    return Case(model, q, v, ada.Dynamics(model, q0=q), oracle)


def beside(at: Case, step: float) -> Array:
    return at.dynamics.project_to_constraints(at.model.integrate(at.q, step * at.v), at.v)[0]


@pytest.mark.parametrize(("name", "by"), CASES)
def test_velocities_and_accelerations_from_chosen_ones_are_those_of_the_reference(name: str, by: str) -> None:
    at = case(name)
    chosen = list(at.dynamics.constraints.indices(by))
    T, J = at.dynamics.constraints.tangent_map(at.q, by), at.oracle.jacobian(at.q)
    assert T.shape == (at.model.nv, at.oracle.mobility(at.q))
    np.testing.assert_array_equal(T[chosen], np.eye(len(chosen)))
    np.testing.assert_allclose(J @ T, 0.0, atol=EXACT * np.max(np.abs(J)) * np.max(np.abs(T)))
    np.testing.assert_allclose(at.dynamics.constraints.complete_velocity(at.q, at.v[chosen], by), at.v, atol=1e-10)

    wanted = at.oracle.forward(at.q, at.v, np.ones(at.model.nv)).acceleration
    found = at.dynamics.constraints.complete_acceleration(at.q, at.v, wanted[chosen], by)
    np.testing.assert_allclose(found, wanted, atol=1e-10 * max(1.0, float(np.max(np.abs(wanted)))))


@pytest.mark.parametrize(("name", "by"), CASES)
def test_the_jacobian_is_the_rate_of_the_poses_along_projected_motions(name: str, by: str) -> None:
    at, h = case(name), 1e-5
    link = at.model.link_names[-1]
    before, now, after = (at.dynamics.pose(link, beside(at, s * h) if s else at.q) for s in (-1, 0, 1))
    moved = (after - before) / (2.0 * h)
    spin = moved[:3, :3] @ now[:3, :3].T
    rates = at.dynamics.jacobian(link, at.q, coordinates=by) @ at.v[list(at.dynamics.constraints.indices(by))]
    size = max(1.0, float(np.max(np.abs(at.v)))) ** 3
    np.testing.assert_allclose(rates, [*moved[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-7 * size)


@pytest.mark.parametrize(("name", "by"), CASES)
def test_the_rate_of_the_jacobian_is_that_along_projected_motions(name: str, by: str) -> None:
    at, h = case(name), 1e-5
    links, frame = at.model.link_names[-2:], FRAMES[EVERY.index((name, by)) % 3]
    rate = at.dynamics.jacobian_rate(links, at.q, at.v, frame, by)
    before, after = (at.dynamics.jacobian(links, beside(at, s * h), frame, by) for s in (-1, 1))
    size = max(1.0, float(np.max(np.abs(rate)))) * max(1.0, float(np.max(np.abs(at.v)))) ** 2
    np.testing.assert_allclose(rate, (after - before) / (2.0 * h), atol=1e-7 * size)


@pytest.mark.parametrize("name", ["five_bar", "bennett"])
def test_many_links_and_states_at_once_are_each_one_by_itself(name: str) -> None:
    at = case(name)
    links = at.model.link_names[-3:]
    q = np.array([beside(at, s) for s in np.linspace(0.0, 0.05, 4)])
    v = np.array([at.dynamics.project_to_constraints(x, at.v)[1] for x in q])
    J, rate = (
        at.dynamics.jacobian(links, q, coordinates="independent"),
        at.dynamics.jacobian_rate(links, q, v, coordinates="independent"),
    )
    assert J.shape == rate.shape == (4, 3, 6, len(at.dynamics.constraints.indices()))
    for i in range(4):
        for k, link in enumerate(links):
            np.testing.assert_allclose(J[i, k], at.dynamics.jacobian(link, q[i], coordinates="independent"), atol=1e-13)
            alone = at.dynamics.jacobian_rate(link, q[i], v[i], coordinates="independent")
            np.testing.assert_allclose(rate[i, k], alone, atol=1e-12 * np.max(np.abs(rate)))
    np.testing.assert_array_equal(at.dynamics.jacobian(links, q)[:, 1], at.dynamics.jacobian(links[1], q))
    assert at.dynamics.jacobian(links, np.zeros((0, at.model.nq)), coordinates="independent").shape == (0, *J.shape[1:])
    given, more = np.random.default_rng(2).normal(size=(2, 4, J.shape[-1]))
    v = at.dynamics.constraints.complete_velocity(q, given, "independent")
    a = at.dynamics.constraints.complete_acceleration(q, v, more, "independent")
    for i in range(4):
        np.testing.assert_allclose(
            v[i], at.dynamics.constraints.complete_velocity(q[i], given[i], "independent"), atol=1e-13
        )
        np.testing.assert_allclose(
            a[i], at.dynamics.constraints.complete_acceleration(q[i], v[i], more[i], "independent"), atol=1e-11
        )


def test_the_tip_of_a_five_bar_moves_as_gosselin_and_angeles_write_it() -> None:
    at = case("five_bar")
    poses = at.dynamics.forward_kinematics(at.q)
    tip = (poses["left_rod"] @ [0.0, 0.0, 0.5, 1.0])[:3]
    A, B = np.zeros((2, 2)), np.zeros((2, 2))
    for i, side in enumerate(("left", "right")):
        pivot, elbow = poses[f"{side}_crank"][:3, 3], poses[f"{side}_rod"][:3, 3]
        A[i] = (tip - elbow)[[0, 2]]
        B[i, i] = (tip - elbow) @ np.cross((0.0, 1.0, 0.0), elbow - pivot)
    J = point_jacobian(at.dynamics, "left_rod", at.q, (0.0, 0.0, 0.5), coordinates="actuated")
    np.testing.assert_allclose(J[[0, 2]], np.linalg.solve(A, B), atol=1e-13)


def test_the_inverse_jacobian_of_a_stewart_platform_has_the_rods_lines_as_its_rows() -> None:
    at = case("stewart")
    poses, rows = at.dynamics.forward_kinematics(at.q), []
    for i in range(1, 7):
        ball = (poses["platform"] @ [*at.model.loops[f"leg_{i}_ball"].child_xyz, 1.0])[:3]
        along = ball - poses[f"leg_{i}_sleeve"][:3, 3]
        along /= np.linalg.norm(along)
        rows.append([*along, *np.cross(ball - poses["platform"][:3, 3], along)])
    J = at.dynamics.jacobian("platform", at.q, coordinates="actuated")
    np.testing.assert_allclose(np.linalg.inv(J), rows, atol=1e-13)


def test_without_loops_the_tree_s_velocities_are_independent() -> None:
    model = ada.planar_chain(3)
    dynamics, q = ada.Dynamics(model), np.array([0.3, -0.4, 0.7])
    tree = dynamics.jacobian("link_3", q)
    for by in ("independent", "actuated"):
        np.testing.assert_array_equal(dynamics.jacobian("link_3", q, coordinates=by), tree)
    turned = dynamics.jacobian("link_3", q, coordinates=["joint_3", "joint_1", "joint_2"])
    np.testing.assert_array_equal(turned, tree[:, [2, 0, 1]])
    v = np.array([1.0, 2.0, -1.0])
    np.testing.assert_array_equal(
        dynamics.jacobian_rate("link_3", q, v, coordinates="independent"), dynamics.jacobian_rate("link_3", q, v)
    )
    np.testing.assert_array_equal(dynamics.constraints.complete_acceleration(q, v, [1.0, 2.0, 3.0]), [1.0, 2.0, 3.0])


def test_a_structure_has_no_columns_and_motors_too_many() -> None:
    builder = ada.Builder("truss").link("base")
    for name in "ab":
        builder.link(name, 1.0, inertia=(0.1, 0.1, 0.1))
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0))
    builder.joint("second", "revolute", "a", "b", (0.0, 0.0, 1.0), axis=(0, 1, 0))
    builder.loop("pin", "revolute", "b", "base", (0.0, 0.0, 1.0), child_xyz=(1.0, 0.0, 1.0), axis=(0, 1, 0))
    model = builder.build()
    q = np.asarray(ada.close_loops(model, [0.1, 1.3]))
    dynamics = ada.Dynamics(model, q0=q)
    assert dynamics.jacobian("b", q, coordinates="independent").shape == (6, 0)
    with refused(ada.InputError, field="coordinates", value=2, allowed=0):
        dynamics.jacobian("b", q, coordinates="actuated")


@pytest.mark.parametrize(
    ("name", "by", "facts"),
    [
        ("cassie_leg", "actuated", (5, 7, "shin, tarsus, heel_spring")),
        ("bennett", "actuated", (3, 1, None)),
        ("five_bar", ["left_crank"], (1, 2, "left_elbow, right_crank, right_elbow")),
        ("stewart", ["platform", "leg_1_slide"], (7, 6, None)),
    ],
)
def test_velocities_that_do_not_determine_the_motion_are_refused(name: str, by: str, facts: tuple[object, ...]) -> None:
    at = case(name)
    with pytest.raises(ada.InputError) as caught:
        at.dynamics.jacobian(at.model.link_names[-1], at.q, coordinates=by)
    error = caught.value
    assert (error.field, error.value, error.allowed) == ("coordinates", *facts[:2])
    assert (error.joint is None) == (facts[2] is None)


@pytest.mark.parametrize(
    ("link", "by", "facts"),
    [
        ("left_rod", "actuatd", {"value": "actuatd"}),
        ("left_rod", ["left_cank", "right_crank"], {"joint": "left_cank"}),
        ("left_rod", [1, 2], {"field": "coordinates"}),
        ([], "tree", {"field": "link", "link": None}),
        (["left_rod", "rihgt_rod"], "tree", {"field": "link", "link": "rihgt_rod"}),
    ],
)
def test_links_and_velocities_that_are_none_are_refused(link: Any, by: Any, facts: dict[str, Any]) -> None:
    at = case("five_bar")
    with refused(ada.InputError, **facts):
        at.dynamics.jacobian(link, at.q, coordinates=by)


def rhombus(crank: float) -> Array:
    return np.array([crank, 0.5 * np.pi - crank, crank + 0.5 * np.pi])


def test_poses_in_which_the_loops_lose_rank_are_refused_and_named_in_a_batch() -> None:
    model, q = mechanisms.four_bar()
    dynamics = ada.Dynamics(model, q0=q)
    flat = rhombus(0.5 * np.pi)
    with refused(ada.SingularConfigurationError, loop="closing", field="q"):
        dynamics.jacobian("link_2", flat, coordinates="independent")
    batch = np.tile(rhombus(0.7), (1100, 1))
    batch[1050] = flat
    with refused(ada.SingularConfigurationError, loop="closing", field="q[1050]"):
        dynamics.constraints.tangent_map(batch)
    # close to the pose the branch is determined, and its motion is that of a parallelogram
    near = dynamics.constraints.tangent_map(rhombus(0.5 * np.pi - 1e-3), ["joint_1"])
    np.testing.assert_allclose(near[:, 0], [1.0, -1.0, 1.0], atol=1e-12)


def test_poses_in_which_motors_lose_the_motion_are_refused_for_them_alone() -> None:
    model, q = mechanisms.stewart()
    guess, place = q.copy(), model.q_index("platform")
    guess[place] = [0.0, 0.0, q[place][2], 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
    turned = np.asarray(ada.close_loops(model, guess, hold=["platform"]))
    dynamics = ada.Dynamics(model, q0=turned)
    with refused(ada.SingularConfigurationError, loop=None) as caught:
        dynamics.jacobian("platform", turned, coordinates="actuated")
    assert "platform" in caught.value.joint
    np.testing.assert_allclose(
        dynamics.jacobian("platform", turned, coordinates=["platform"], frame="local"), np.eye(6)
    )


@pytest.mark.fuzz
def test_loops_that_do_not_close_from_the_home_configuration_are_refused_with_the_argument_that_helps() -> None:
    model, q = random_mechanism(np.random.default_rng(201), floating=True, losses=False)
    with refused(ada.ModelError, field="q0"):
        ada.Dynamics(model).constraints.tangent_map(q)
    dynamics = ada.Dynamics(model, q0=q)
    assert np.max(np.abs(dynamics.constraints.jacobian(q) @ dynamics.constraints.tangent_map(q))) < 1e-9
