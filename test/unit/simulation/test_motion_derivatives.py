# SPDX-License-Identifier: Apache-2.0
"""Derivatives of steps: against differences in extended precision, pinocchio and closed forms."""

import tracemalloc
from collections.abc import Iterable

import numpy as np
import pytest
from loop_robots import mechanism
from numpy.typing import NDArray
from random_trees import KINDS, random_tree
from step_reference import StepReference, moving

import ada_dynamics as ada
from ada_dynamics.model.elements import Limits
from ada_dynamics.robots import mechanisms
from ada_dynamics.simulation import (
    CompiledController,
    ContactSphere,
    Event,
    JointServos,
    JointStops,
    Material,
    constant,
)
from ada_experiments.pinocchio_model import PinocchioModel
from trials.random_mechanism import random_mechanism

Array = NDArray[np.float64]
FIXED_STEPS = ("rk4", "rkf45", "semi_implicit")
CLOSED = ("four_bar", "five_bar", "cassie_leg", "bennett", "delta")


def assert_like_the_reference(sim: ada.Simulation, q: Array, v: Array, tau: Array) -> None:
    directions = np.random.default_rng(2).normal(size=(3 * sim.model.nv, 4))
    wanted = StepReference(sim).along(q, v, tau, directions)
    found = sim.step_derivatives(q, v, tau)
    error, size = np.max(np.abs(np.hstack([found.A, found.B]) @ directions - wanted)), np.max(np.abs(wanted))
    sigma = sim.dynamics.constraints.state(q).sigma if sim.model.loops else 1.0
    if error > max(1e-11, np.finfo(float).eps / sigma**2) * size:  # elimination sees the squares of singular values
        # only where the last bits of the configuration change as much
        ulp = np.finfo(float).eps * np.random.default_rng(3).choice([-1, 1], len(q))
        nearby = StepReference(sim).along(q * (1.0 + ulp), v, tau, directions)
        assert error < 4.0 * np.max(np.abs(nearby - wanted))


@pytest.mark.parametrize(("base", "integrator"), zip(("fixed", "floating", "floating_euler"), FIXED_STEPS, strict=True))
def test_they_are_those_of_a_reference_for_every_type_of_joint(base: str, integrator: str) -> None:
    assert_like_the_reference(*moving(random_tree(5, KINDS, base), integrator=integrator))


@pytest.mark.parametrize("base", ["fixed", "floating", "floating_euler"])
def test_batches_by_matrices_have_the_derivatives_of_single_states(base: str) -> None:
    sim, q, v, tau = moving(random_tree(5, KINDS, base), integrator="rk4")
    many = sim.step_derivatives(np.tile(q, (100, 1)), v, tau, steps=3)
    for one, batch in zip(sim.step_derivatives(q, v, tau, steps=3), many, strict=True):
        assert np.allclose(batch, one, rtol=0.0, atol=1e-12 * np.max(np.abs(one)))


@pytest.mark.parametrize(("name", "integrator"), zip(CLOSED, FIXED_STEPS * 2, strict=False))
def test_with_loops_too_projection_included(name: str, integrator: str) -> None:
    assert_like_the_reference(*moving(*mechanism(name), integrator=integrator))


@pytest.mark.parametrize("integrator", FIXED_STEPS)
def test_a_robust_elimination_serves_regular_poses_that_stop_the_fast_one(integrator: str) -> None:
    model, start = mechanisms.four_bar()
    folded = np.array([np.pi / 2, -0.5, np.pi])
    sim = ada.Simulation(model, start, integrator=integrator, step=1e-3)
    _, v = sim.dynamics.project_to_constraints(folded, np.ones(3))
    rate, robust = sim.context.system.rate, sim.context.system.robust()
    x, u = np.concatenate([folded, v]), sim.context.system.inputs(np.zeros(3))
    assert rate.single_status(x, u, np.zeros(1))[1] and not robust.rate.single_status(x, u, np.zeros(1))[1]
    tau, directions = np.array([0.3, -0.1, 0.2]), sim.dynamics.constraints.state_map(folded, v, coordinates=["joint_2"])
    found, reference = sim.step_derivatives(folded, v, tau), StepReference(sim, robust)
    wanted = reference.along(folded, v, tau, np.vstack([directions, np.zeros((3, 2))]))
    assert np.allclose(found.A @ directions, wanted, rtol=0.0, atol=1e-11 * np.max(np.abs(wanted)))


@pytest.mark.parametrize("seeds", [(1,), pytest.param(range(2, 200), marks=pytest.mark.fuzz)], ids=["one", "many"])
def test_random_mechanisms_have_the_references_derivatives(seeds: Iterable[int]) -> None:
    for seed in seeds:
        print("seed", seed)  # the last one is what failed
        rng = np.random.default_rng(seed)
        model, q = random_mechanism(rng, floating=seed % 3 == 0, spatial=seed % 4 != 3, losses=seed % 2 == 0)
        assert_like_the_reference(*moving(model, q, integrator=FIXED_STEPS[seed % 3], step=1e-3))


@pytest.mark.parametrize("integrator", FIXED_STEPS)
def test_they_hold_in_stops_on_the_ground_and_under_a_control_law(integrator: str) -> None:
    sim, q, v, tau = on_the_ground(integrator)
    deep = sim.contact_wrenches()
    assert all(wrench[2] > 0.5 for wrench in deep.values()) and q[7] > 0.3  # [N]; beyond the stop
    assert_like_the_reference(sim, q, v, tau)


def on_the_ground(integrator: str) -> tuple[ada.Simulation, Array, Array, Array]:
    """A body with a leg: two spheres in the ground, the leg in its stop, a law that depends on time."""
    builder = (
        ada.Builder("hopper").link("body", mass=2.0, inertia=(0.1, 0.12, 0.15)).link("leg", mass=0.5, com=(0, 0, -0.2))
    )
    builder.joint("hip", "revolute", "body", "leg", axis=(0, 1, 0), limits=Limits(-0.3, 0.3), friction=0.2, damping=0.1)
    model = builder.build(base="floating")
    spheres = [
        ContactSphere("foot", "leg", (0.0, 0.0, -0.4), 0.05),
        ContactSphere("heel", "body", (0.1, 0.0, -0.3), 0.1),
    ]
    contact = ada.Contact(spheres=spheres, material=Material(stiffness=500.0, dissipation=0.5, friction=0.7))
    law = CompiledController(lambda t, q, v: [0.0] * 6 + [t - 3.0 * q[7] - 0.5 * v[6]])
    q = np.array([0.0, 0.0, 0.395, 0.0, 0.0, 0.0, 1.0, 0.33])
    v = np.array([0.3, -0.1, -0.4, 0.2, 0.5, -0.3, 0.7])
    sim = ada.Simulation(
        model, q, v, integrator=integrator, step=2e-4, contact=contact, stops=JointStops(200.0, 0.5), controller=law
    )
    return sim, q, v, np.zeros(model.nv)


@pytest.mark.parametrize(("name", "integrator"), [("five_bar", "rk4"), ("bennett", "semi_implicit")])
def test_a_law_that_depends_on_time_acts_at_the_time_given_by_default_the_present_one(
    name: str, integrator: str
) -> None:
    first, q, v, tau = moving(*mechanism(name), integrator=integrator)
    law = CompiledController(lambda t, q, v: [t * (2.0 - v[0]), *(0.0 for _ in tau[1:])])
    sim = ada.Simulation(first.model, q, v, integrator=integrator, step=first.step_length, controller=law)
    for t in (0.0, 3.0):
        sim.reset(t=t)
        q, v = sim.q, sim.v
        found, rows = sim.step_derivatives(q, v, steps=3), []
        for _ in range(3):
            rows.append((sim.t, sim.q, sim.v))
            sim.step()
        assert np.allclose(found.v, sim.v, rtol=0.0, atol=1e-13)
        times, positions, velocities = map(np.array, zip(*rows, strict=True))
        A = sim.step_derivatives(positions, velocities, 0 * tau, t=times).A
        assert np.allclose(A[2] @ A[1] @ A[0], found.A, rtol=0.0, atol=1e-12 * np.max(np.abs(found.A)))
        sim.reset(t=10.0)
        again = sim.step_derivatives(q, v, steps=3, t=t)
        assert all(np.array_equal(a, b) for a, b in zip(again, found, strict=True))
    directions = np.random.default_rng(2).normal(size=(3 * sim.model.nv, 4))
    wanted = StepReference(sim).along(q, v, 0 * tau, directions, t=3.0)
    one = sim.step_derivatives(q, v, t=3.0)
    assert np.max(np.abs(np.hstack([one.A, one.B]) @ directions - wanted)) < 1e-11 * np.max(np.abs(wanted))


def test_a_semi_implicit_step_is_made_of_pinocchios_derivatives() -> None:
    pin = pytest.importorskip("pinocchio")
    model = random_tree(5, ["revolute"] * 6, damping=0.0, friction=0.0, armature=0.0)
    sim, q, v, tau = moving(model, integrator="semi_implicit")
    other, h, one = PinocchioModel(model), sim.step_length, np.eye(model.nv)
    data = other.model.createData()
    pin.computeABADerivatives(other.model, data, other.position(q), other.velocity(v), other.effort(tau))
    by_q, by_v, by_tau = data.ddq_dq, data.ddq_dv, data.Minv
    found = sim.step_derivatives(q, v, tau)
    A = np.block([[one + h * h * by_q, h * one + h * h * by_v], [h * by_q, one + h * by_v]])
    assert np.allclose(found.A, A, rtol=0.0, atol=1e-12 * np.max(np.abs(A)))
    assert np.allclose(found.B, np.vstack([h * h * by_tau, h * by_tau]), rtol=0.0, atol=1e-12 * h * np.max(by_tau))


def test_several_steps_are_the_product_of_single_ones_and_a_batch_has_those_of_its_states() -> None:
    sim, q, v, tau = moving(random_tree(5, KINDS, "floating"))
    first = sim.step_derivatives(q, v, tau)
    second = sim.step_derivatives(first.q, first.v, tau)
    both = sim.step_derivatives(q, v, tau, steps=2)
    assert np.allclose(both.A, second.A @ first.A, rtol=0.0, atol=1e-12)
    assert np.allclose(both.B, second.A @ first.B + second.B, rtol=0.0, atol=1e-12)
    together = sim.step_derivatives(np.array([q, first.q, q]), np.array([v, first.v, v]), tau)
    for one, row in ((first, 0), (second, 1), (first, 2)):
        assert all(np.allclose(a, b[row], rtol=0.0, atol=1e-13) for a, b in zip(one, together, strict=True))


@pytest.mark.parametrize("hold", [1, 70])
@pytest.mark.parametrize(
    ("integrator", "make"),
    [
        ("rk4", lambda: (random_tree(5, KINDS, "floating"), None)),
        ("rkf45", mechanisms.four_bar),
        ("semi_implicit", mechanisms.five_bar),
        ("rk4", lambda: mechanism("bennett")),
    ],
)
def test_gradients_backwards_are_the_products_of_derivatives_forwards(integrator: str, make, hold: int) -> None:
    sim, q, v, _ = moving(*make(), integrator=integrator, step=1e-3)
    assert_adjoint(sim, q, v, hold)


@pytest.mark.parametrize("integrator", FIXED_STEPS)
def test_so_they_are_in_stops_on_the_ground_and_under_a_law_of_time(integrator: str) -> None:
    sim, q, v, _ = on_the_ground(integrator)
    assert_adjoint(sim, q, v, 3)


def test_so_they_are_at_the_zero_of_a_total_rotation_with_a_stop() -> None:
    builder = ada.Builder("ball").link("base").link("arm", 1.0, (0.1, 0.0, 0.2), (0.1, 0.2, 0.25))
    model = builder.joint("ball", "spherical", "base", "arm", limits=Limits(upper=0.5)).build()
    sim = ada.Simulation(model, stops=JointStops(50.0, 0.5))
    assert_adjoint(sim, model.neutral(), np.zeros(3), 3)


def assert_adjoint(sim: ada.Simulation, q: Array, v: Array, hold: int) -> None:
    rng, nv, rows = np.random.default_rng(3), sim.model.nv, 4
    tau, d_tau = rng.normal(size=(2, rows, nv))
    d, w_q, w_v = rng.normal(size=2 * nv), *rng.normal(size=(2, rows + 1, nv))
    if sim.model.loops:  # those of single coordinates depend on the elimination of the constraints
        along = sim.dynamics.constraints.state_map(q, v)
        d = along @ rng.normal(size=along.shape[1])
    path, pull = sim.rollout_vjp(q, v, tau, hold=hold)
    linear = sim.step_derivatives(path.q[:-1], path.v[:-1], tau, steps=hold, t=path.t[:-1])
    assert path.t[-1] == pytest.approx(rows * hold * sim.step_length)
    g, terms, start = pull(w_q, w_v), [], d
    for k in range(rows + 1):
        terms += [w_q[k] @ d[:nv], w_v[k] @ d[nv:]]
        if k < rows:
            d = linear.A[k] @ d + linear.B[k] @ d_tau[k]
    found = np.concatenate([g.dq, g.dv]) @ start + np.sum(g.du * d_tau)
    assert abs(found - sum(terms)) < 1e-12 * sum(map(abs, terms))


@pytest.mark.parametrize("hold", [160_000, 640_000])
def test_the_memory_of_a_gradient_grows_with_the_root_of_the_steps(hold: int) -> None:
    sim = ada.Simulation(ada.planar_chain(7), integrator="semi_implicit", step=1e-4)
    start, by_q, tau = np.full(7, 0.1), np.ones(7), np.zeros((1, 7))
    sim.rollout_vjp(start, None, tau)[1](by_q)  # compiles
    tracemalloc.start()
    sim.rollout_vjp(start, None, tau, hold=hold)[1](by_q)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # checkpoints, and a state of 16 numbers of each step from one of them to the next
    assert most < 4 * np.sqrt(hold) * 16 * 8 + 40_000


def test_what_has_no_derivatives_is_refused() -> None:
    model, q = mechanisms.four_bar()
    sim, rest, chain = ada.Simulation(model, q), np.zeros(3), ada.planar_chain(2)
    of_ending = ada.Simulation(chain, events=[Event("ends", lambda t, q, v: q[0] - 0.299, terminal=True)])

    def of_chain(**settings):
        return lambda: ada.Simulation(chain, **settings).step_derivatives([0.1, 0.2], [0.0, 0.0])

    for refused in (
        of_chain(integrator="dop853"),
        of_chain(controller=lambda t, q, v: 0.0 * v),
        of_chain(servos=JointServos()),
        of_chain(external=[constant("link_1", (1, 0, 0, 0, 0, 0))]),
        lambda: sim.step_derivatives(q + np.array([0.0, 0.1, 0.0]), rest),
        lambda: sim.step_derivatives(q, rest, [0.0, np.nan, 0.0]),
        lambda: sim.step_derivatives(q, rest, steps=0),
        lambda: sim.rollout_vjp(q, rest, rest),
        lambda: sim.rollout_vjp([q, q], rest, [rest]),
        lambda: sim.rollout_vjp(q, rest, [rest])[1](np.zeros(4)),
        lambda: of_ending.rollout_vjp([0.3, 0.2], [-1.0, 0.0], np.zeros((60, 2))),
    ):
        with pytest.raises(ada.InputError):
            refused()


@pytest.mark.filterwarnings("ignore::ada_dynamics.errors.SingularConfigurationWarning")
@pytest.mark.parametrize("integrator", FIXED_STEPS)
def test_steps_through_a_singular_pose_have_none_and_its_loops_are_named(integrator: str) -> None:
    model, q = mechanisms.four_bar()
    flat, v = np.array([np.pi / 2, 0.0, np.pi]), np.array([1.0, -1.0, 1.0])
    sim = ada.Simulation(model, q, integrator=integrator)
    for call in (
        lambda: sim.step_derivatives([q, flat], [0 * v, v]),
        lambda: sim.rollout_vjp(flat, v, np.zeros((5, 3))),
    ):
        with pytest.raises(ada.SingularConfigurationError):
            call()


def test_without_a_compiler_they_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADA_JIT", "off")
    with pytest.raises(ada.InputError):
        ada.Simulation(ada.planar_chain(2)).step_derivatives([0.1, 0.2], [0.0, 0.0])


def test_next_to_a_singular_configuration_products_keep_their_digits() -> None:
    """A parallelogram passes its flat pose by 4e-4 rad at constant speed: θ̈ = (τ + K sin θ) / M, in closed form."""
    model, _ = mechanisms.four_bar((0.5, 1.0, 0.5, 1.0), crank=1.0)
    M, K, h, R = 5.0 / 12.0, -model.gravity[2], 1e-3, 60
    first = np.pi / 2 - 0.0306
    angles = first + h * np.arange(R)
    q, v = np.array([first, np.pi / 2 - first, first + np.pi / 2]), np.array([1.0, -1.0, 1.0])
    tau = np.zeros((R, 3))
    tau[:, 0] = -K * np.sin(angles)
    sim = ada.Simulation(model, q, integrator="rk4", step=h)
    batch, rows = sim.batch(q[None], v[None]), []
    for efforts in tau:
        rows.append((batch.q[0].copy(), batch.v[0].copy()))
        batch.run(1, efforts)
    positions, velocities = map(np.array, zip(*rows, strict=True))
    wanted = np.eye(2)
    for angle in angles + 0.5 * h:
        rate = np.sqrt(K * np.cos(angle) / M + 0j)
        c, s = np.cosh(rate * h).real, (np.sinh(rate * h) / rate).real
        wanted = np.array([[c, s], [(rate * rate * s).real, c]]) @ wanted
    found = sim.dynamics.constraints.state_map(q, v, coordinates=["joint_1"])
    for A in sim.step_derivatives(positions, velocities, tau).A:
        found = A @ found
    assert np.max(np.abs(found[[0, 3]] - wanted)) < 2e-5
