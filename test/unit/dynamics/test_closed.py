# SPDX-License-Identifier: Apache-2.0
"""Mechanisms with loops through the front door: accelerations, wrenches at every joint, batches, tiers."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from loop_robots import massless_rocker, on_two_legs, two_legs
from mechanism_oracle import Case, Oracle, case_of
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms

Array = NDArray[np.float64]

LARGER = ("watt_six_bar", "stephenson_six_bar", "cassie_leg", "stewart", "delta", "hexa", "ring", "two_feet")
NAMES = (
    *("four_bar", "slider_crank", "five_bar", "bennett", "parallel_gripper"),
    *(pytest.param(name, marks=pytest.mark.fuzz) for name in LARGER),
)
# Reference in extended precision; condition numbers of these mechanisms in their start poses are some 1e3.
SAME = 1e-11


def state(model: ada.Model, q: Array, seed: int = 3) -> tuple[Array, Array]:
    """Velocities that the loops allow, and efforts."""
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
    """Takahashi 2012, table 2.3, "closed chains"."""
    case = case_of(name)
    case.assert_same(ada.Dynamics(case.model, algorithm).forward(*case.state), SAME)


@pytest.mark.parametrize("name", ["four_bar", "bennett"])
def test_a_batch_gives_what_single_states_give(name: str) -> None:
    model, q = getattr(mechanisms, name)()
    oracle, rng = Oracle(model), np.random.default_rng(5)
    poses = np.array([oracle.nearby(q, rng) for _ in range(9)], dtype=np.float64)
    states = [state(model, pose, i) for i, pose in enumerate(poses)]
    v, tau = (np.array(x) for x in zip(*states, strict=True))
    dynamics = ada.Dynamics(model)
    each = np.array([dynamics.forward(*row) for row in zip(poses, v, tau, strict=True)])
    assert np.allclose(dynamics.forward(poses, v, tau), each, rtol=1e-11, atol=1e-11)
    wrenches = dynamics.joint_wrenches(poses, v, tau)
    alone = dynamics.joint_wrenches(poses[4], v[4], tau[4])
    for joint in alone:
        assert np.allclose(wrenches[joint][4], alone[joint], rtol=1e-9, atol=1e-9)


def test_the_unit_rhombus_swings_as_its_closed_form_says() -> None:
    model, _ = mechanisms.four_bar()
    dynamics = ada.Dynamics(model)
    for crank in np.linspace(-3.0, 3.0, 13):
        phi = np.pi / 2 - crank  # of the rods, from the horizontal
        q = np.array([crank, np.pi / 2 - crank, crank + np.pi - np.pi / 2])
        v = 1.7 * np.array([1.0, -1.0, 1.0])
        wanted = 6 / 5 * 9.81 * np.cos(phi)  # crank'' = -phi''
        assert np.allclose(dynamics.forward(q, v, np.zeros(3)), wanted * np.array([1.0, -1.0, 1.0]), atol=1e-12)


def test_external_wrenches_act_as_the_efforts_that_they_are() -> None:
    model, q = mechanisms.stewart()
    v, tau = state(model, q)
    dynamics = ada.Dynamics(model)
    link = model.link_names[-1]
    wrench = np.array([3.0, -1.0, 2.0, 0.3, 0.2, -0.1])
    as_efforts = tau + dynamics.jacobian(link, q, frame="local").T @ wrench
    assert np.allclose(dynamics.forward(q, v, tau, {link: wrench}), dynamics.forward(q, v, as_efforts), atol=1e-10)


def test_power_balances_and_loop_forces_do_no_work() -> None:
    model, q = mechanisms.five_bar()
    v, tau = state(model, q)
    dynamics = ada.Dynamics(model)
    a = dynamics.forward(q, v, tau)
    h = 1e-5  # central difference of the energy along the motion: error h² times its third derivative
    ahead, behind = (
        sum(dynamics.energy(model.integrate(q, s * h * v + 0.5 * h * h * a), v + s * h * a)) for s in (1.0, -1.0)
    )
    assert (ahead - behind) / (2 * h) == pytest.approx(float(tau @ v), rel=1e-6, abs=1e-5)


@pytest.mark.fuzz
def test_every_joint_passes_on_what_it_takes() -> None:
    """The wrench at the feet carries the weight of a humanoid at rest on two feet."""
    model, q = mechanisms.two_feet()
    dynamics = ada.Dynamics(model)
    rest = np.zeros(model.nv)
    tau = dynamics.gravity(q)
    tau[:6] = 0.0  # the floating base has no motors
    wrenches = dynamics.joint_wrenches(q, rest, tau)
    a = dynamics.forward(q, rest, tau)
    momentum = dynamics.momentum_matrix(q) @ a  # its rate, at rest
    poses = dynamics.poses(q)
    total = np.zeros(3)
    for name in model.loop_names:
        loop = model.loops[name]
        world_is_parent = loop.parent == "world"
        link = loop.child
        R = np.eye(3) if link == "world" else poses[link][:3, :3]
        force = R @ loop.child_rotation @ wrenches[name][:3]
        total += force if world_is_parent else -force
    assert np.allclose(total, momentum[:3] - model.total_mass * np.array(model.gravity), atol=1e-8)


def test_states_of_a_batch_in_singular_poses_are_handed_on_alone() -> None:
    model, q = mechanisms.four_bar()
    flat = np.array([np.pi / 2, 0.0, np.pi])
    poses = np.array([q, flat, q, q, q, q, q, q, q])
    v = np.array([1.0, -1.0, 1.0])
    dynamics = ada.Dynamics(model)
    with pytest.warns(ada.SingularPoseWarning):
        together = dynamics.forward(poses, v, np.zeros(3))
    # thrown level: phi = 0, so the crank falls with 6/5 g
    assert np.allclose(together[1], 6 / 5 * 9.81 * np.array([1.0, -1.0, 1.0]), atol=1e-12)
    assert np.array_equal(together[0], together[2])


def test_at_rest_on_a_bifurcation_both_ways_out_are_told() -> None:
    model, _ = mechanisms.four_bar()
    dynamics = ada.Dynamics(model)
    flat = np.array([np.pi / 2, 0.0, np.pi])
    with pytest.warns(ada.BifurcationWarning):
        dynamics.forward(flat, np.zeros(3), np.zeros(3))
    ways = dynamics.tangents(flat)
    level = np.array([1.0, -1.0, 1.0]) / np.sqrt(3.0)
    assert any(np.allclose(np.abs(w @ level), 1.0, atol=1e-9) for w in ways)


def test_forces_lose_their_uniqueness_in_a_singular_pose() -> None:
    model, q = mechanisms.four_bar()
    dynamics = ada.Dynamics(model)
    v = np.array([1.0, -1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ada.SingularPoseWarning)
        flat = dynamics.joint_wrenches(np.array([np.pi / 2, 0.0, np.pi]), v, np.zeros(3))
    usual = dynamics.joint_wrenches(q, v, np.zeros(3))
    assert flat.tier == "rank-revealing"
    assert usual.unique["joint_2"].tolist() == [True, False, True, False, True, False]
    assert not flat.unique["joint_2"][2]  # along the rods, which all lie in one line


def test_a_massless_link_that_only_its_loop_holds_is_right() -> None:
    """A four-bar with a massless rocker moves as the double pendulum whose tip runs on a circle."""
    crank = 0.4
    q, v = np.array([crank, np.pi / 2 - crank, crank]), np.array([1.0, -1.0, 1.0])
    a = ada.Dynamics(massless_rocker()).forward(q, v, np.zeros(3))
    # crank: inertia 1/3 about its pivot; coupler, always level: 1 kg that moves with the crank's tip
    wanted = (0.5 + 1.0) * 9.81 * np.sin(crank) / (1 / 3 + 1.0)
    assert np.allclose(a, wanted * np.array([1.0, -1.0, 1.0]), atol=1e-12)


def test_a_massless_link_that_only_its_loop_holds_passes_a_singular_pose() -> None:
    """Where all bars lie in one line, as the motion goes on."""
    q, v = np.array([np.pi / 2, 0.0, np.pi / 2]), np.array([1.0, -1.0, 1.0])
    with pytest.warns(ada.SingularPoseWarning) as caught:
        a = ada.Dynamics(massless_rocker()).forward(q, v, np.zeros(3))
    assert np.allclose(a, 1.5 * 9.81 / (4 / 3) * v, atol=1e-9)
    assert caught[0].message.loops == ("closing",)


def test_dynamics_with_loops_can_be_copied_and_pickled() -> None:
    model, q = mechanisms.four_bar()
    dynamics = ada.Dynamics(model, pose=q)
    v, tau = state(model, q)
    wanted = dynamics.forward(q, v, tau)
    for other in (copy.deepcopy(dynamics), pickle.loads(pickle.dumps(dynamics))):
        assert np.array_equal(other.forward(q, v, tau), wanted)


@pytest.mark.parametrize(
    "name", ["four_bar", *(pytest.param(name, marks=pytest.mark.fuzz) for name in ("stewart", "two_feet"))]
)
def test_inverse_dynamics_gives_efforts_that_do_what_is_wanted(name: str) -> None:
    model, q = getattr(mechanisms, name)()
    v, tau = state(model, q)
    dynamics = ada.Dynamics(model)
    a = dynamics.forward(q, v, tau)
    efforts = dynamics.inverse(q, v, a)
    assert np.allclose(dynamics.forward(q, v, efforts), a, rtol=0.0, atol=1e-8)
    passive = np.ones(model.nv, dtype=bool)
    for joint in model.actuated:
        passive[model.v_index(joint)] = False
    assert not np.any(efforts[passive])
    together = dynamics.inverse(np.array([q, q]), v, a)
    assert np.allclose(together[1], efforts)


def test_a_mechanism_without_the_motors_it_needs_is_refused_by_name() -> None:
    model, q = mechanisms.five_bar()
    few = ada.Model(
        model.name,
        model.root,
        list(model.links.values()),
        list(model.joints.values()),
        loops=list(model.loops.values()),
        actuated=["left_crank"],
    )
    with pytest.raises(ada.InputError) as caught:
        ada.Dynamics(few).inverse(q, np.zeros(model.nv), np.zeros(model.nv))
    assert (caught.value.field, caught.value.allowed) == ("actuated", ("left_crank",)) and caught.value.joint


def test_a_locked_mechanism_is_refused_by_name() -> None:
    builder = ada.Builder("truss").link("ground")
    for i, place in enumerate((0.0, 1.0)):
        builder.link(f"rod_{i}", 1.0, (0, 0, 0.5), (1 / 12, 1 / 12, 0.0))
        builder.joint(f"joint_{i}", "revolute", "ground", f"rod_{i}", (place, 0, 0), axis=(0, 1, 0))
    builder.loop("apex", "revolute", "rod_0", "rod_1", (0, 0, 1), child_xyz=(0, 0, 1), axis=(0, 1, 0))
    model = builder.build()
    q = np.array([np.pi / 6, -np.pi / 6])
    dynamics = ada.Dynamics(model, pose=q)
    with pytest.raises(ada.ModelError) as caught:
        dynamics.forward(q, np.zeros(2), np.zeros(2))
    assert (caught.value.loop, caught.value.field, caught.value.value) == ("apex", "mobility", 0)
    rods = dynamics.joint_wrenches(q, np.zeros(2), np.zeros(2))
    # each rod hangs half its weight on the apex; from the other rod comes H = weight/2 / 2 * tan(30 deg)
    assert np.hypot(*rods["apex"][[0, 2]]) == pytest.approx(9.81 / 4 * np.tan(np.pi / 6) * 2, rel=1e-9)


def test_what_cannot_close_loops_says_so() -> None:
    model = mechanisms.four_bar().model
    for algorithm in ("order_n", "lanes", "hybrid"):
        with pytest.raises(ada.InputError) as caught:
            ada.Dynamics(model, algorithm)
        assert (caught.value.field, caught.value.value) == ("algorithm", algorithm) and "aba" in caught.value.allowed
    with pytest.raises(ada.InputError) as refused:
        ada.Dynamics(model, kernel="generic")
    assert (refused.value.field, refused.value.value) == ("kernel", "generic")


@pytest.mark.fuzz
def test_work_along_a_ladder_grows_with_its_length() -> None:
    sizes = {}
    for cells in (100, 200):
        model, q = mechanisms.ladder(cells)
        kernel = ada.Dynamics(model, pose=q).kernel("forward")
        sizes[cells] = kernel.info().flops
    assert sizes[200] < 2.1 * sizes[100]


def test_the_state_of_the_loops_is_reported() -> None:
    model, q = mechanisms.four_bar()
    dynamics = ada.Dynamics(model)
    off = q + np.array([0.0, 1e-3, 0.0])
    state_off = dynamics.loop_state(off, np.array([1.0, 0.0, 0.0]))
    assert state_off.worst_gap == pytest.approx(1e-3, rel=0.5)
    assert np.max(np.abs(state_off.drift["closing"])) > 0.1
    assert dynamics.loop_state(q).mobility == 1
    back, v = dynamics.project(off, np.array([1.0, 0.0, 0.0]))
    assert dynamics.loop_state(back, v).worst_gap < 1e-14
    assert np.max(np.abs(dynamics.loop_state(back, v).drift["closing"])) < 1e-13


@pytest.mark.parametrize("short_of", [0.0, *(pytest.param(x, marks=pytest.mark.fuzz) for x in (1e-8, 1e-5, 1e-3))])
def test_a_stretched_leg_is_no_singularity_of_the_mechanism(short_of: float) -> None:
    """A planar platform on a stretched leg and two others: one leg's own conditions are singular, the whole is not."""
    model = two_legs()
    q = on_two_legs(model, short_of)
    v, tau = state(model, q)
    answer = Oracle(model).forward(q, v, tau)
    assert answer.singular_values[answer.rank - 1] > 1e-3
    a = ada.Dynamics(model, pose=q).forward(q, v, tau)
    assert np.max(np.abs(a - answer.acceleration)) < 1e-12 * max(1.0, float(np.max(np.abs(a))))
    other = ada.assemble(model, model.integrate(q, 0.2 * np.random.default_rng(0).normal(size=model.nv)))
    assert np.max(np.abs(ada.Dynamics(model, pose=other).forward(q, v, tau) - answer.acceleration)) < 1e-11 * max(
        1.0, float(np.max(np.abs(a)))
    )


def _off(q: Array, v: Array, how: str) -> dict[str, Array]:
    """One state, or a batch whose last state alone is off."""
    rest = np.zeros_like(v)
    if how == "one state":
        return {"q": q, "v": v, "u": rest}
    return {"q": np.tile(q, (5, 1)), "v": np.stack([rest, rest, rest, rest, v]), "u": rest}


@pytest.mark.parametrize("how", ["one state", "batch"])
@pytest.mark.parametrize("method", ["forward", "inverse", "joint_wrenches"])
@pytest.mark.parametrize("make", [mechanisms.four_bar, pytest.param(mechanisms.stewart, marks=pytest.mark.fuzz)])
def test_velocities_that_open_loops_are_warned_of(
    make: Callable[[], mechanisms.Mechanism], method: str, how: str
) -> None:
    model, q = make()
    dynamics = ada.Dynamics(model)
    wrong = 0.1 * np.random.default_rng(0).normal(size=model.nv)
    right = dynamics.project(q, wrong)[1]
    given = _off(q, wrong, how)
    with pytest.warns(ada.LoopVelocityWarning) as w:
        getattr(dynamics, method)(given["q"], given["v"], given["u"])
    assert w[0].message.states == ((4,) if how == "batch" else ()) and w[0].message.loops
    assert w[0].filename == __file__, "the warning names the line of the caller"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = _off(q, right * (1.0 + 1e-7), how)
        getattr(ada.Dynamics(model), method)(given["q"], given["v"], given["u"])


def stewart_turned(yaw: float) -> tuple[ada.Model, Array]:
    model, q = mechanisms.stewart()
    guess, place = q.copy(), model.q_index("platform")
    guess[place] = [0, 0, q[place][2], 0, 0, np.sin(yaw / 2), np.cos(yaw / 2)]
    return model, np.asarray(ada.assemble(model, guess, hold=["platform"]))


def test_the_legs_of_a_stewart_platform_cannot_hold_it_in_its_type_2_pose() -> None:
    """Turned by 90 deg, all legs meet a vertical line: they do not resist a turn (Fichter 1986)."""
    rest = np.zeros(24)
    efforts = []
    for yaw in np.radians([60.0, 80.0, 89.0]):
        model, q = stewart_turned(yaw)
        efforts.append(float(np.max(np.abs(ada.Dynamics(model).inverse(q, rest, spinning(model, q))))))
    assert efforts[0] < efforts[1] / 2 < efforts[2] / 20  # they grow like 1 / cos(yaw)
    model, q = stewart_turned(np.pi / 2)
    with pytest.raises(ada.InputError) as caught:
        ada.Dynamics(model).inverse(q, rest, spinning(model, q))
    assert (caught.value.joint, caught.value.field) == ("platform", "actuated")
    # forward dynamics has nothing against the pose: the loops themselves are regular
    assert not ada.Dynamics(model).loop_state(q).is_singular


def spinning(model: ada.Model, q: Array) -> Array:
    """Accelerations of the platform about its vertical, and of the legs with it."""
    v = np.zeros(model.nv)
    v[model.v_index("platform").stop - 1] = 1.0
    J = Oracle(model).jacobian(q)
    legs = np.ones(model.nv, dtype=bool)
    legs[model.v_index("platform")] = False
    v[legs] = -np.linalg.lstsq(np.asarray(J, dtype=float)[:, legs], np.asarray(J, dtype=float) @ v, rcond=None)[0]
    return v


def test_a_slider_crank_is_regular_in_its_dead_centres() -> None:
    model, q = mechanisms.slider_crank()
    dynamics = ada.Dynamics(model)
    for crank in (0.0, np.pi):
        guess = q.copy()
        guess[0] = crank
        pose = np.asarray(ada.assemble(model, guess, hold=["crank"]))
        v, tau = state(model, pose)
        assert dynamics.joint_wrenches(pose, v, tau).tier == "fast"
        wanted = Oracle(model).forward(pose, v, tau).acceleration
        assert np.allclose(
            dynamics.forward(pose, v, tau), wanted, rtol=0.0, atol=1e-10 * max(1.0, np.max(np.abs(wanted)))
        )
