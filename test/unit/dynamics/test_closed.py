# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops, to the world too, through the front door: accelerations, wrenches, batches, tiers."""

import numpy as np
import pytest
from loop_robots import massless_rocker, on_two_legs, two_legs
from mechanism_oracle import Case, Oracle, case_of
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada
from ada_dynamics.model.builder import Builder
from ada_dynamics.robots import mechanisms

Array = NDArray[np.float64]

LARGER = ("watt_six_bar", "stephenson_six_bar", "cassie_leg", "stewart", "delta", "hexa", "two_feet")
NAMES = (
    *("four_bar", "slider_crank", "five_bar", "bennett", "parallel_gripper"),
    *(pytest.param(name, marks=pytest.mark.fuzz) for name in LARGER),
)
# Reference in extended precision; condition numbers of these mechanisms in their start poses are some 1e3.
SAME = 1e-11


def state(model: ada.Model, q: Array, seed: int = 3) -> tuple[Array, Array]:
    return Case(model, q, seed).state[1:]


@pytest.mark.parametrize("name", NAMES)
def test_accelerations_and_wrenches_are_those_of_the_reference(name: str) -> None:
    case = case_of(name)
    dynamics, answer = ada.Dynamics(case.model), case.answer
    case.assert_same(dynamics.forward(*case.state), SAME)
    wrenches = dynamics.joint_wrenches(*case.state)
    assert wrenches.tier == "fast"
    size = max(float(np.max(np.abs(w))) for w in wrenches.values())
    for joint, wanted in {**answer.wrenches, **answer.tree_wrenches}.items():
        if joint in wrenches:
            unique = wrenches.unique[joint]
            assert np.allclose(wrenches[joint][unique], wanted[unique], rtol=0.0, atol=SAME * size)
    for joint, flags in answer.unique.items():
        assert np.array_equal(wrenches.unique[joint], flags)


@pytest.mark.parametrize("algorithm", ["aba", "ada", "crba", "dca", "lagrange"])
@pytest.mark.parametrize("name", ["four_bar", "bennett", pytest.param("stewart", marks=pytest.mark.fuzz)])
def test_every_algorithm_that_closes_loops_gives_the_accelerations_of_the_reference(name: str, algorithm: str) -> None:
    case = case_of(name)
    case.assert_same(ada.Dynamics(case.model, algorithm).forward(*case.state), SAME)


def test_the_unit_rhombus_swings_as_its_closed_form_says() -> None:
    model, _ = mechanisms.four_bar()
    dynamics = ada.Dynamics(model)
    for crank in np.linspace(-3.0, 3.0, 13):
        phi = np.pi / 2 - crank  # of the rods, from the horizontal
        q = np.array([crank, np.pi / 2 - crank, crank + np.pi - np.pi / 2])
        v = 1.7 * np.array([1.0, -1.0, 1.0])
        wanted = 6 / 5 * 9.81 * np.cos(phi)  # crank'' = -phi''
        assert np.allclose(dynamics.forward(q, v, np.zeros(3)), wanted * np.array([1.0, -1.0, 1.0]), atol=1e-12)


@pytest.mark.filterwarnings("ignore::ada_dynamics.errors.SingularConfigurationWarning")
@pytest.mark.parametrize(("crank", "tolerance"), [(0.4, 1e-12), (np.pi / 2, 1e-9)])
def test_a_massless_link_that_only_its_loop_holds_moves_as_a_pendulum(crank: float, tolerance: float) -> None:
    q, v = np.array([crank, np.pi / 2 - crank, crank]), np.array([1.0, -1.0, 1.0])
    a = ada.Dynamics(massless_rocker()).forward(q, v, np.zeros(3))
    # crank: inertia 1/3 about its pivot; coupler, always level: 1 kg that moves with the crank's tip
    wanted = (0.5 + 1.0) * 9.81 * np.sin(crank) / (1 / 3 + 1.0)
    assert np.allclose(a, wanted * np.array([1.0, -1.0, 1.0]), atol=tolerance)


def test_a_locked_mechanism_is_refused_by_name() -> None:
    builder = ada.Builder("truss").link("ground")
    for i, place in enumerate((0.0, 1.0)):
        builder.link(f"rod_{i}", 1.0, (0, 0, 0.5), (1 / 12, 1 / 12, 0.0))
        builder.joint(f"joint_{i}", "revolute", "ground", f"rod_{i}", (place, 0, 0), axis=(0, 1, 0))
    builder.loop("apex", "revolute", "rod_0", "rod_1", (0, 0, 1), child_xyz=(0, 0, 1), axis=(0, 1, 0))
    model = builder.build()
    q = np.array([np.pi / 6, -np.pi / 6])
    dynamics = ada.Dynamics(model, q0=q)
    with refused(ada.ModelError, loop="apex", field="mobility", value=0):
        dynamics.forward(q, np.zeros(2), np.zeros(2))
    rods = dynamics.joint_wrenches(q, np.zeros(2), np.zeros(2))
    # each rod hangs half its weight on the apex; from the other rod comes H = weight/2 / 2 * tan(30 deg)
    assert np.hypot(*rods["apex"][[0, 2]]) == pytest.approx(9.81 / 4 * np.tan(np.pi / 6) * 2, rel=1e-9)


def test_what_cannot_close_loops_says_so() -> None:
    model = mechanisms.four_bar().model
    for algorithm in ("order_n", "lanes", "hybrid"):
        with refused(ada.InputError, field="algorithm", value=algorithm) as caught:
            ada.Dynamics(model, algorithm)
        assert "aba" in caught.value.allowed
    with refused(ada.InputError, field="kernel", value="generic"):
        ada.Dynamics(model, kernel="generic")


@pytest.mark.parametrize("short_of", [0.0, *(pytest.param(x, marks=pytest.mark.fuzz) for x in (1e-8, 1e-5, 1e-3))])
def test_a_stretched_leg_is_no_singularity_of_the_mechanism(short_of: float) -> None:
    model = two_legs()
    q = on_two_legs(model, short_of)
    v, tau = state(model, q)
    answer = Oracle(model).forward(q, v, tau)
    assert answer.singular_values[answer.rank - 1] > 1e-3
    a = ada.Dynamics(model, q0=q).forward(q, v, tau)
    assert np.max(np.abs(a - answer.acceleration)) < 1e-12 * max(1.0, float(np.max(np.abs(a))))
    other = ada.close_loops(model, model.integrate(q, 0.2 * np.random.default_rng(0).normal(size=model.nv)))
    assert np.max(np.abs(ada.Dynamics(model, q0=other).forward(q, v, tau) - answer.acceleration)) < 1e-11 * max(
        1.0, float(np.max(np.abs(a)))
    )


G = 9.81


def test_two_spherical_loops_are_a_hinge() -> None:
    m, s, I, tilt = 3.0, 0.4, 0.3, 0.2  # the axis leans by that angle, so that weight acts on the door
    builder = Builder("door").link("door", m, (s, 0, 0), (0.05, 0.1, I))
    for name, z in (("lower", -0.5), ("upper", 0.5)):
        builder.loop(name, "spherical", "world", "door", (0, 0, z), child_xyz=(0, 0, z))
    model = builder.build(base="floating", gravity=(G * np.sin(tilt), 0.0, -G * np.cos(tilt)))
    dynamics, phi = ada.Dynamics(model), 0.7
    q = np.array([0, 0, 0, 0, 0, np.sin(phi / 2), np.cos(phi / 2)])
    a = dynamics.forward(q, np.array([0, 0, 0, 0, 0, 2.0]), np.zeros(6))
    swing = -m * G * np.sin(tilt) * s * np.sin(phi) / (I + m * s**2)
    np.testing.assert_allclose(a, [0, 0, 0, 0, 0, swing], atol=1e-12)
    pose = ada.close_loops(model)
    assert pose.mobility == 1
    assert len(pose.redundant) == 1


BOX, ROD, LENGTH, RADIUS, TURN = 4.0, 0.6, 0.8, 0.25, 0.09


def hung_box() -> ada.Model:
    """A box below three upright rods: universal joints on the box, balls at the ceiling."""
    builder = Builder("hung_box").link("box", BOX, inertia=(0.05, 0.07, TURN))
    thin = ROD * LENGTH**2 / 12.0
    for i, angle in enumerate(2.0 * np.pi / 3.0 * np.arange(3)):
        corner = RADIUS * np.array([np.cos(angle), np.sin(angle), 0.0])
        builder.link(f"rod_{i}", ROD, (0, 0, LENGTH / 2), (thin, thin, 0.0))
        builder.joint(f"corner_{i}", "universal", "box", f"rod_{i}", corner, axis=(1, 0, 0), axis2=(0, 1, 0))
        builder.loop(f"ceiling_{i}", "spherical", "world", f"rod_{i}", corner, child_xyz=(0, 0, LENGTH))
    return builder.build(base="floating")


def test_a_box_on_three_rods_swings_and_twists_as_its_closed_forms_say() -> None:
    model = hung_box()
    dynamics, rest = ada.Dynamics(model), np.zeros(model.nv)
    phi = 0.4
    q = model.neutral()
    q[:3] = LENGTH * np.array([np.sin(phi), 0.0, -np.cos(phi)])
    for i in range(3):
        q[model.q_index(f"corner_{i}")] = [0.0, -phi]
    q = ada.close_loops(model, q)
    assert q.moved < 1e-12  # closed already
    assert q.mobility == 3
    a = dynamics.forward(q, rest, rest)
    swing = -(BOX + 1.5 * ROD) / (BOX + ROD) * G / LENGTH * np.sin(phi)
    np.testing.assert_allclose(a[:6], LENGTH * swing * np.array([np.cos(phi), 0, np.sin(phi), 0, 0, 0]), atol=1e-11)
    down = model.neutral()
    down[2] = -LENGTH
    T = dynamics.constraints.tangent_map(down, "independent")
    twist = T @ np.linalg.lstsq(T[:6], np.eye(6)[5], rcond=None)[0]
    assert twist[:6] == pytest.approx([0, 0, 0, 0, 0, 1], abs=1e-12)
    slope = dynamics.forward_derivatives(down, rest, rest).dq @ twist
    square = (BOX / 3 + ROD / 2) * 3 * G * RADIUS**2 / LENGTH / (TURN + 3 * ROD / 3 * RADIUS**2)
    assert slope[5] == pytest.approx(-square, rel=1e-9)
