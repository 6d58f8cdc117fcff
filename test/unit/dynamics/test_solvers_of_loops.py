# SPDX-License-Identifier: Apache-2.0
"""Each solver of loop constraints moves random mechanisms as a dense reference in extended precision."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from mechanism_oracle import Case, Oracle, least_efforts
from refused import refused

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms
from trials.random_mechanism import random_mechanism

Array = Any
FLAT = np.array([np.pi / 2, 0.0, np.pi])  # configuration of a change-point linkage with all bars on one line


def random_case(seed: int, loops: int = 1, **options: Any) -> Case:
    """A random mechanism: floating, planar (with redundant constraints) or with losses, by its seed."""
    chosen = {"floating": seed % 3 == 0, "spatial": seed % 4 != 1, "losses": seed % 2 == 0, **options}
    return Case(*random_mechanism(np.random.default_rng(seed), loops, **chosen), seed)


def change_point_linkage(seed: int) -> ada.Model:
    """A four-bar whose crank and coupler are together as long as rocker and ground: two branches cross in FLAT."""
    rng = np.random.default_rng(seed)
    crank, coupler, rocker = rng.uniform(0.4, 1.2, 3)
    masses = rng.uniform(0.5, 2.0, 3)
    lengths = (crank, coupler, rocker, crank + coupler - rocker)
    return mechanisms.four_bar(tuple(map(float, lengths)), tuple(map(float, masses)), offset=0.1).model


def on_branch(oracle: Oracle, way: Array, s: float) -> tuple[Array, Array]:
    """Configuration at distance s from FLAT on the branch with that tangent, and the branch's unit tangent there."""
    q = np.asarray(oracle.close(oracle.model.integrate(FLAT, s * way)), dtype=float)
    tangent = np.linalg.svd(oracle.jacobian(q))[2][-1]
    return q, tangent * np.sign(tangent @ way)


def limit_on_branch(oracle: Oracle, way: Array, of: Callable[[Array, Array], Array], step: float = 2e-3) -> Array:
    """Limit in FLAT of a function of configuration and tangent that is smooth along the branch; error step⁴."""
    far, near = (of(*on_branch(oracle, way, s)) + of(*on_branch(oracle, way, -s)) for s in (2 * step, step))
    return (4.0 * near - far) / 6.0


def kinetic_projection(oracle: Oracle, q: Array, v: Array) -> Array:
    """The velocity nearest to v, by kinetic energy, that the loops allow."""
    M, J = oracle.tree.mass_matrix(q), oracle.jacobian(q)
    across = np.linalg.solve(M, J.T)
    return v - across @ np.linalg.pinv(J @ across, rcond=1e-9) @ (J @ v)


SOLVERS = ("auto", "robust", "rank-revealing")
# Random mechanisms have condition numbers up to 1e3, of which an elimination sees the square.
SAME = 1e-10
CHECKED = [*((2, solver) for solver in SOLVERS), *((5, solver) for solver in SOLVERS)]
CHECKED += [(seed, "rank-revealing") for seed in (0, 1, 4, 9)] + [("screws", solver) for solver in SOLVERS[::2]]
MORE = [pytest.param(seed, solver, marks=pytest.mark.fuzz) for seed in range(200) for solver in SOLVERS]


def made(seed: int | str) -> Case:
    if seed == "screws":
        return random_case(0, 2, kinds=("revolute", "helical", "spherical"), loop_kinds=("helical", "revolute"))
    return random_case(int(seed), loops=1 + int(seed) % 2)


def near(found: Array, wanted: Array, tolerance: float = SAME) -> None:
    size = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=tolerance * size)


@pytest.mark.parametrize(("seed", "solver"), [*CHECKED, *MORE])
def test_accelerations_wrenches_and_efforts_are_those_of_the_reference(seed: int | str, solver: str) -> None:
    case = made(seed)
    dynamics = ada.Dynamics(case.model, q0=case.q, solver=solver)
    link = case.model.link_names[-1]
    wrench = {link: np.random.default_rng(1).normal(size=6)}
    near(dynamics.forward(*case.state), case.a)
    near(dynamics.forward(*case.state, wrench), case.oracle.forward(*case.state, wrench).acceleration)
    for external in (None, wrench):
        found = dynamics.joint_wrenches(*case.state, external)
        answer = Oracle(case.model, found.moment_length).forward(*case.state, external)
        assert found.tier == {"auto": "fast"}.get(solver, solver)
        for name, wanted in {**answer.tree_wrenches, **answer.wrenches}.items():
            if name in found:
                near(found[name], wanted)
        for name, flags in answer.unique.items():
            assert not np.any(found.unique[name] & ~np.asarray(flags))
    near(dynamics.inverse(case.q, case.v, case.a), least_efforts(case.oracle, case.q, case.v, case.a))


def portal(tilt: float | None, fixed: bool) -> ada.Model:
    """A portal on a turntable or a fixed base; two planes with a tilt between them, or fixed joints, hold its tool."""
    at, builder = np.sqrt([0.02, 0.03]), ada.Builder("portal").link("base")
    builder.link("frame", 3.0, (0.1, 0.0, 0.2), (0.1, 0.2, 0.25)).link("bridge", 2.0).link("trolley", 1.0)
    builder.link("tool", 0.5).joint("turn", "fixed" if fixed else "revolute", "base", "frame", axis=(0, 0.6, 0.8))
    builder.joint("x", "prismatic", "frame", "bridge", axis=(1, 0, 0))
    if tilt is None:
        builder.joint("y", "fixed", "bridge", "trolley", (0, at[0], 0))
        builder.joint("z", "fixed", "trolley", "tool", (0, 0, at[1]))
    else:
        builder.joint("y", "prismatic", "bridge", "trolley", axis=(0, 1, 0))
        builder.joint("z", "prismatic", "trolley", "tool", axis=(0, 0, 1))
        for name, angle in {"level": 0.0, "tilted": tilt}.items():
            builder.loop(name, "planar", "frame", "tool", (0, *at), axis=(0, np.cos(angle), np.sin(angle)))
    return builder.build(gravity=(1.0, 2.0, -9.0))


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("tilt", [3e-4, 3e-5])
@pytest.mark.parametrize("solver", SOLVERS)
def test_constraints_that_nearly_depend_on_each_other_everywhere_hold(solver: str, tilt: float, fixed: bool) -> None:
    q, v, tau = np.array([[0.3, 0.1, *np.sqrt([0.02, 0.03])], [0.5, 0.3, 0, 0], [0.4, 0.7, 0.2, -0.1]])[:, int(fixed) :]
    held, dynamics = ada.Dynamics(portal(None, fixed)), ada.Dynamics(portal(tilt, fixed), q0=q, solver=solver)
    ada.Simulation(dynamics.model, q)  # at rest, and not refused as in a bifurcation
    near(dynamics.forward(q, v, tau), [*held.forward(q[:-2], v[:-2], tau[:-2]), 0.0, 0.0], 1e-9)
    found = dynamics.forward_derivatives(q, v, tau, "independent")
    for one, wanted in zip(found, held.forward_derivatives(q[:-2], v[:-2], tau[:-2]), strict=True):
        near(one[:, : len(q) - 2], wanted)


@pytest.mark.parametrize("seed", [2, 5])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_batch_has_the_results_of_its_states(seed: int, solver: str) -> None:
    case, rng = made(seed), np.random.default_rng(seed)
    dynamics = ada.Dynamics(case.model, q0=case.q, solver=solver)
    q = np.array([case.oracle.nearby(case.q, rng, 0.1) for _ in range(4)], dtype=float)
    v = np.array([case.oracle.admissible(x, case.v) for x in q], dtype=float)
    a, wrenches = dynamics.forward(q, v, case.tau), dynamics.joint_wrenches(q, v, case.tau)
    efforts = dynamics.inverse(q, v, a)
    for i in range(4):
        near(a[i], case.oracle.forward(q[i], v[i], case.tau).acceleration)
        near(efforts[i], least_efforts(case.oracle, q[i], v[i], a[i]), 1e-9)
        alone = dynamics.joint_wrenches(q[i], v[i], case.tau)
        for name, wrench in alone.items():
            near(wrenches[name][i], wrench, 1e-9)


def test_a_solver_is_refused_where_it_is_unknown_or_there_are_no_loops() -> None:
    with refused(ada.UnknownNameError, field="solver", value="qr", allowed=SOLVERS):
        ada.Dynamics(ada.load("four_bar"), solver="qr")  # type: ignore[arg-type]
    with refused(ada.InputError, field="solver", value="robust", allowed=("auto",)):
        ada.Dynamics(ada.planar_chain(2), solver="robust")


@pytest.mark.filterwarnings("ignore::ada_dynamics.LoopVelocityWarning")
@pytest.mark.parametrize("solver", SOLVERS)
def test_velocities_whose_squares_overflow_are_refused(solver: str) -> None:
    model, q = mechanisms.four_bar()
    with refused(ada.InputError, field="result", allowed="finite"):
        ada.Dynamics(model, solver=solver).forward(q, np.full(3, 1e200), np.zeros(3))


@pytest.mark.parametrize("seed", range(4))
def test_states_are_projected_by_kinetic_energy(seed: int) -> None:
    case, rng = made(seed), np.random.default_rng(seed)
    dynamics = ada.Dynamics(case.model, q0=case.q, solver="rank-revealing")
    v = rng.normal(size=case.model.nv)
    q, u = dynamics.project_to_constraints(case.model.integrate(case.q, 1e-4 * rng.normal(size=case.model.nv)), v)
    assert np.max(np.abs(case.oracle.gap(q))) < 1e-13
    near(u, kinetic_projection(case.oracle, q, v), 1e-11)
    off = case.model.integrate(q, 1e-5 * rng.normal(size=case.model.nv))
    back, _ = dynamics.project_to_constraints(off, v)
    step = case.model.difference(off, back)
    pushed = case.oracle.tree.mass_matrix(back) @ step
    free = np.linalg.svd(case.oracle.jacobian(back))[2][case.answer.rank :]
    assert np.linalg.norm(free @ pushed) < 1e-3 * np.linalg.norm(pushed)
    far = case.model.integrate(case.q, 0.05 * rng.normal(size=case.model.nv))
    assert np.max(np.abs(case.oracle.gap(dynamics.project_to_constraints(far, v)[0]))) < 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_the_state_of_the_loops_is_that_of_the_reference(seed: int) -> None:
    case, rng = made(seed), np.random.default_rng(seed)
    dynamics = ada.Dynamics(case.model, q0=case.q, solver="rank-revealing")
    length = dynamics.joint_wrenches(*case.state).moment_length
    off = case.model.integrate(case.q, 0.02 * rng.normal(size=case.model.nv))
    found, v = dynamics.constraints.state(case.q, case.v), rng.normal(size=case.model.nv)
    sizes = Oracle(case.model, length).forward(*case.state).singular_values
    assert found.sigma == pytest.approx(sizes[case.answer.rank - 1], rel=1e-9)
    assert (found.mobility, found.is_singular) == (case.oracle.mobility(case.q), False)
    assert found.largest_violation < 1e-12 and max(np.abs(x).max() for x in found.rate.values()) < 1e-12
    J, gap = dynamics.constraints.jacobian(off), dynamics.constraints.violation(off)
    h = 1e-6  # central difference: rounding 1e-10, truncation 1e-12
    there = dynamics.project_to_constraints(case.q, v)[0]
    ahead, behind = (dynamics.constraints.violation(case.model.integrate(there, s * h * v)) for s in (1.0, -1.0))
    np.testing.assert_allclose(dynamics.constraints.jacobian(there) @ v, (ahead - behind) / (2.0 * h), atol=1e-7)
    assert J.shape == (len(gap), case.model.nv)
    assert dynamics.constraints.closure_error(off) == pytest.approx(
        dynamics.constraints.state(off).largest_violation, rel=1e-12
    )


@pytest.fixture
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ada.SingularConfigurationWarning)
        yield


@pytest.mark.parametrize("solver", ["auto", "rank-revealing"])
@pytest.mark.parametrize("seed", range(2))
def test_where_branches_cross_the_motion_is_the_limit_along_its_branch(quiet: None, seed: int, solver: str) -> None:
    model = change_point_linkage(seed)
    oracle, dynamics = Oracle(model), ada.Dynamics(model, solver=solver)
    tau = np.random.default_rng(seed).normal(size=3)
    ways = dynamics.constraints.branch_directions(FLAT)
    assert len(ways) == 2 and abs(ways[0] @ ways[1]) < 0.999
    for way in ways:
        assert np.linalg.norm(way) == pytest.approx(1.0)
        wanted = limit_on_branch(oracle, way, lambda q, t: oracle.forward(q, 2.0 * t, tau).acceleration)
        # a velocity of constant size: what it gains along itself is the part of the acceleration that is free
        near(dynamics.forward(FLAT, 2.0 * way, tau), wanted, 1e-7)
        power = limit_on_branch(oracle, way, lambda q, t: _power(oracle, q, 2.0 * t, tau))
        a = dynamics.forward(FLAT, 2.0 * way, tau)
        near(way * power, dynamics.inverse(FLAT, 2.0 * way, a), 1e-7)
        wrenches = dynamics.joint_wrenches(FLAT, 2.0 * way, tau)
        for name, effort in zip(model.joint_names, tau, strict=True):  # infinite forces without arms have moments
            assert wrenches[name][4] == pytest.approx(effort, abs=1e-9) or not wrenches.unique[name][4]


def _power(oracle: Oracle, q: Array, v: Array, tau: Array) -> Array:
    """Efforts along the unit tangent that give the acceleration of some efforts."""
    a = oracle.forward(q, v, tau).acceleration
    t = v / np.linalg.norm(v)
    return np.array(t @ (oracle.tree.mass_matrix(q) @ a + oracle.tree.bias(q, v)))


@pytest.mark.parametrize("seed", range(2))
def test_at_rest_where_branches_cross_only_the_kept_constraints_hold(quiet: None, seed: int) -> None:
    model = change_point_linkage(seed)
    tau = np.random.default_rng(seed).normal(size=3)
    dynamics, still = ada.Dynamics(model), np.zeros(3)
    near(dynamics.forward(FLAT, still, tau), Oracle(model).forward(FLAT, still, tau).acceleration)
    state = dynamics.constraints.state(FLAT)
    assert (state.is_singular, state.mobility, state.sigma < 1e-12) == (True, 2, True)
    wrenches = dynamics.joint_wrenches(FLAT, still, tau)
    assert wrenches.tier == "rank-revealing" and not wrenches.unique["closing"].all()


@pytest.mark.parametrize("seed", range(4))
def test_tangents_keep_the_loops_closed_to_second_order(seed: int) -> None:
    model = change_point_linkage(seed)
    oracle, dynamics = Oracle(model), ada.Dynamics(model)
    J = np.asarray(oracle.jacobian(FLAT), dtype=float)
    ways = dynamics.constraints.branch_directions(FLAT)
    for way in ways:
        np.testing.assert_allclose(J @ way, 0.0, atol=1e-12)
    h = 1e-4
    third = (ways[0] + ways[1]) / np.linalg.norm(ways[0] + ways[1])  # allowed to first order only
    lost = np.linalg.svd(J)[0][:, 1:]  # combinations of the constraints that hold no velocity
    open_by = [np.abs(lost.T @ oracle.closing(model.integrate(FLAT, h * w))).max() for w in (*ways, third)]
    assert max(open_by[:2]) < 1e-3 * open_by[2] > 0.0


@pytest.mark.parametrize(("distance", "speed"), [(1e-3, 1.5), (1e-6, 1.5), (1e-8, 1.5), (1e-3, 0.0), (1e-5, 0.0)])
def test_beside_a_crossing_the_motion_is_that_of_the_reference(quiet: None, distance: float, speed: float) -> None:
    model = ada.robots.mechanisms.four_bar((0.5, 1.0, 0.5, 1.0), (1.0, 2.0, 0.5), offset=0.07).model
    way, tau = np.array([1.0, -1.0, 1.0]), np.array([0.3, -0.2, 0.5])
    dynamics, oracle = ada.Dynamics(model), Oracle(model)
    q = FLAT + distance * way
    v = speed * way
    along = np.asarray(oracle.tree.mass_matrix(q), dtype=float)
    wanted = way * (way @ (tau - oracle.tree.bias(q, v))) / (way @ along @ way)
    near(dynamics.forward(q, v, tau), wanted, 1e-6)
