# SPDX-License-Identifier: Apache-2.0
"""Motion by `ada.Simulation`: closed forms, invariants, controllers, events, disturbances, refusals."""

import warnings

import numpy as np
import pytest
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.algorithms import aba
from ada_dynamics.algorithms.applied_wrench import applied_loads
from ada_dynamics.analysis.power import power_balance
from ada_dynamics.errors import InputError, SingularConfigurationWarning
from ada_dynamics.model import Limits
from ada_dynamics.model.builder import chain_3d
from ada_dynamics.robots.mechanisms import four_bar
from ada_dynamics.simulation import (
    CompiledController,
    ControllerError,
    Event,
    IntegrationError,
    Simulation,
    constant,
    half_sine,
    rectangle,
)

G = 9.81


@pytest.fixture(scope="module")
def pendulum():
    """A point of 2 kg at 1 m under a hinge: angle'' = -g sin(angle)."""
    b = ada.Builder("pendulum")
    b.link("base")
    b.link("bob", mass=2.0, com=(0, 0, -1.0), inertia=np.diag([1e-12, 1e-12, 1e-12]))
    b.joint("swing", "revolute", "base", "bob", axis=(0, 1, 0), limits=Limits(-1.2, 1.2))
    return b.build()


def cart(**more):
    b = ada.Builder("slider").link("base").link("cart", mass=1.0, inertia=np.eye(3))
    return b.joint("rail", "prismatic", "base", "cart", axis=(1, 0, 0), **more).build()


@pytest.fixture(scope="module")
def slider():
    return cart(friction=2.0)


@pytest.fixture(scope="module")
def ball():
    b = ada.Builder("ball")
    b.link("ball", mass=1.0, inertia=0.1 * np.eye(3))
    return b.build(base="floating")


def period_of(amplitude):
    """Of the pendulum, by the arithmetic-geometric mean."""
    a, g = 1.0, np.cos(0.5 * amplitude)
    for _ in range(6):  # digits double each time
        a, g = 0.5 * (a + g), np.sqrt(a * g)
    return 2.0 * np.pi / np.sqrt(G) / a


def test_a_motion_continues_from_a_row_of_its_log_however_fast_it_is():
    model = ada.load("stewart")  # falls through its base: 70 rad/s
    log = Simulation(model, integrator="rk4", step=2e-3).run(0.3)
    row = int(np.argmax(np.abs(log.v).max(axis=1)))
    again = Simulation(model, log.q[row], log.v[row])
    np.testing.assert_allclose(again.v, log.v[row], atol=1e-4)


def test_a_pendulum_swings_with_the_period_of_the_elliptic_integral(pendulum):
    passing = Event("passes", lambda t, q, v: q[0], direction=1)
    sim = Simulation(pendulum, [1.0], integrator="dop853", tolerance=1e-12, step=0.01, events=[passing])
    times = [event.t for event in sim.run(3 * period_of(1.0)).events]
    # from rest at the top, the first passing upwards comes after three quarters of a period
    expected = (0.75 + np.arange(3)) * period_of(1.0)
    np.testing.assert_allclose(times, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("integrator", ["rkf45", nightly("dop853")])
def test_the_rhombus_keeps_energy_gap_and_branch_through_singular_poses(integrator):
    for masses, offset in (((1.0, 1.0, 1.0), 0.0), ((1.0, 2.0, 0.5), 0.1)):
        model, _ = four_bar(masses=masses, offset=offset)
        start = np.deg2rad([60.0, 30.0, 150.0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", SingularConfigurationWarning)  # passed and logged, nothing to warn of
            log = Simulation(model, start, integrator=integrator, tolerance=1e-12).run(3.0)
        crank = log.q[:, 0]
        assert np.count_nonzero(np.diff(np.sign(np.cos(crank)))) >= 5  # the crank lies flat
        assert log.energy_drift < 1e-9
        assert log.loop_gap.max() < 1e-12
        np.testing.assert_allclose(log.q[:, 0] + log.q[:, 1], np.pi / 2, atol=1e-9)  # the coupler stays level


@pytest.mark.filterwarnings("ignore::ada_dynamics.errors.SingularConfigurationWarning")
@pytest.mark.parametrize(("integrator", "drift"), [("rkf45", 1e-8), ("semi_implicit", 1e-2)])
def test_a_step_from_a_singular_pose_is_logged_and_keeps_the_energy_and_the_branch(integrator, drift):
    model, _ = four_bar(masses=(1.0, 2.0, 0.5), offset=0.1)
    log = Simulation(model, [np.pi / 2, 0.0, np.pi], [2.0, -2.0, 2.0], integrator=integrator).run(0.05)
    assert log.singular == [0.0] and log.energy_drift < drift
    np.testing.assert_allclose(log.a[:, 0] + log.a[:, 1], 0.0, atol=1e-6)  # the coupler stays level
    np.testing.assert_allclose(log.q[:, 0] + log.q[:, 1], np.pi / 2, atol=1e-9)


def test_loops_do_not_drift_in_a_minute():
    model, _ = four_bar()
    log = Simulation(model, np.deg2rad([60.0, 30.0, 150.0]), log_every=50).run(60.0)
    assert log.loop_gap.max() < 1e-12


def test_a_free_body_keeps_its_momentum(ball):
    q = ball.neutral()
    v = np.array([0.3, -0.2, 0.1, 1.0, 2.0, -1.0])
    log = Simulation(ball, q, v, gravity=(0, 0, 0)).run(5.0)
    momentum = log.momentum
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(log), 1)), atol=1e-12)


def test_a_controller_is_called_at_its_rate_and_its_efforts_hold(slider):
    calls = []

    def controller(t, q, v):
        calls.append(t)
        return np.array([float(len(calls))])

    log = Simulation(slider, controller=controller, control_period=0.01, friction_speed=1.0).run(0.1)
    np.testing.assert_allclose(calls, 0.01 * np.arange(10), atol=1e-12)
    np.testing.assert_array_equal(log.tau[:, 0], np.append(np.repeat(np.arange(1.0, 11.0), 10), 10.0))


def test_a_compiled_law_acts_continuously_and_as_the_same_law_called_often(pendulum):
    compiled = CompiledController(lambda t, q, v: [-3.0 * q[0] - 0.4 * v[0]])
    continuous = Simulation(pendulum, [0.5], controller=compiled).run(1.0)
    sampled = Simulation(pendulum, [0.5], controller=compiled, control_period=1e-3).run(1.0)
    called = Simulation(pendulum, [0.5], controller=lambda t, q, v: -3.0 * q - 0.4 * v).run(1.0)
    np.testing.assert_allclose(sampled.q, called.q, atol=1e-12)
    assert 1e-6 < np.max(np.abs(continuous.q - called.q)) < 2e-3  # half a millisecond of delay


def test_impacts_give_their_impulse_whatever_the_grid(ball):
    impulses = {
        half_sine("ball", (3, 0, 0, 0, 0, 0), 0.0103, 0.0507): 3 * 0.0507 * 2 / np.pi,
        rectangle("ball", (3, 0, 0, 0, 0, 0), 0.0103, 0.0507): 3 * 0.0507,
    }
    for profile, impulse in impulses.items():
        log = Simulation(ball, external=[profile], gravity=(0, 0, 0)).run(0.1)
        assert log.v[-1, 0] == pytest.approx(impulse, abs=1e-12)
        assert np.max(log.external["ball"][:, 0]) > 2.0


def test_an_event_ends_a_run_where_wanted(pendulum):
    reached = Event("swing upper", lambda t, q, v: q[0] - 1.2, terminal=True)
    sim = Simulation(pendulum, [0.0], [5.0], events=[reached])
    log = sim.run(5.0)
    (event,) = log.events
    assert event.name == "swing upper"
    assert event.q[0] == pytest.approx(1.2, abs=1e-14)
    assert sim.t == log.t[-1] == event.t
    # ½ v² = ½ v0² - g (1 - cos q)
    assert event.v[0] == pytest.approx(np.sqrt(25.0 - 2 * G * (1 - np.cos(1.2))), abs=1e-9)


def test_events_of_a_falling_ball_are_exact(ball):
    hits = Event("ground", lambda t, q, v: q[2], terminal=True, direction=-1)
    q = ball.neutral()
    q[2] = 1.0
    log = Simulation(ball, q, events=[hits]).run(1.0)
    assert log.events[0].t == pytest.approx(np.sqrt(2.0 / G), abs=1e-14)


@pytest.mark.parametrize(("integrator", "step"), [("rkf45", 1e-3), ("semi_implicit", 1e-3), ("dop853", 0.1)])
@pytest.mark.parametrize(("at", "speed"), [(0.5502, -5.502), (0.5507, -5.307)])
def test_an_event_in_a_step_that_an_input_splits_has_the_state_of_its_own_part(ball, integrator, step, at, speed):
    lift = rectangle("ball", (0, 0, 1000, 0, 0, 0), 0.5505, 1.0)
    event = Event("ends", lambda t, q, v: t - at, terminal=True)
    sim = Simulation(ball, external=[lift], events=[event], gravity=(0, 0, -10), integrator=integrator, step=step)
    log = sim.run(1.0)
    assert sim.t == log.t[-1] == pytest.approx(at, abs=1e-12)
    assert log.events[0].v[2] == log.v[-1, 2] == sim.v[2] == pytest.approx(speed, abs=1e-9)


@pytest.mark.parametrize(("integrator", "step"), [("rkf45", 1e-3), ("dop853", 0.1)])
@pytest.mark.parametrize("terminal", [False, True])
def test_events_are_found_in_the_last_step_of_a_run_that_is_no_multiple_of_steps(ball, integrator, step, terminal):
    event = Event("late", lambda t, q, v: t - 0.3332, terminal=terminal)
    sim = Simulation(ball, events=[event], integrator=integrator, step=step)
    assert [one.t for one in sim.run(1 / 3).events] == pytest.approx([0.3332], abs=1e-14)
    assert sim.t == pytest.approx(0.3332 if terminal else 1 / 3, abs=1e-14)
    assert not sim.run(0.1).events


def test_large_robots_have_implicit_steps_too():
    chain = ada.planar_chain(61)  # the smallest that has no code of its own
    b = ada.Builder("damped").link("base")
    for name, joint in chain.joints.items():
        link = chain.links[joint.child]
        b.link(joint.child, mass=link.mass, com=link.com, inertia=link.inertia)
        b.joint(name, "revolute", joint.parent, joint.child, xyz=joint.xyz, axis=(0, 1, 0), damping=1e3)
    log = Simulation(b.build(), np.full(61, 0.02), integrator="semi_implicit").run(0.05)
    assert np.all(np.diff(log.total_energy) < 0.0)
    assert power_balance(log).worst < 0.05  # first order: a twentieth at this damping


def test_dynamics_of_another_model_or_with_friction_are_refused(pendulum, slider):
    for options in (
        {"model": pendulum, "dynamics": ada.Dynamics(ada.planar_chain(1))},
        {"model": slider, "dynamics": ada.Dynamics(slider)},
        {"model": pendulum, "gravity": (0, 0, -1.62), "dynamics": ada.Dynamics(pendulum)},
    ):
        with pytest.raises(InputError):
            Simulation(**options)
    own = ada.Dynamics(pendulum, "ada")
    assert Simulation(pendulum, [0.5], dynamics=own).run(0.01).info["algorithm"] == "ada"


def test_starts_off_the_loops_at_rest_in_a_singular_pose_and_in_a_gimbal_lock_are_refused():
    model, q = four_bar()
    body = ada.Builder("body").link("body", mass=1.0, inertia=np.diag([0.1, 0.2, 0.3])).build(base="floating_euler")
    for start in (
        (model, q + np.array([0.1, 0.0, 0.0])),
        (model, q, [1.0, 1.0, 1.0]),
        (model, [np.pi / 2, 0.0, np.pi]),
        (body, [0.0, 0.0, 0.0, 0.3, np.pi / 2, 0.1]),
    ):
        with pytest.raises(InputError):
            Simulation(*start).run(0.1)


@pytest.mark.parametrize("result", [np.array([np.nan]), np.zeros(2), "fast", None])
def test_what_a_controller_may_not_give_is_refused_and_the_motion_until_then_kept(pendulum, result):
    with pytest.raises(ControllerError) as caught:
        Simulation(pendulum, [0.5], controller=lambda t, q, v: [0.0] if t < 0.0095 else result).run(1.0)
    assert caught.value.log.t[-1] == pytest.approx(0.009, abs=1e-3)
    assert len(caught.value.log) >= 10


def test_a_motion_that_blows_up_keeps_the_log(pendulum):
    with pytest.raises(IntegrationError) as caught:
        Simulation(pendulum, [0.5], controller=lambda t, q, v: -1e5 * v).run(1.0)
    assert np.isfinite(caught.value.log.q).all()


@pytest.mark.parametrize("duration", [0.0, -1.0, np.nan, np.inf])
def test_a_duration_must_be_positive_and_pushes_need_a_simulation_that_takes_them(pendulum, duration):
    with pytest.raises(InputError):
        Simulation(pendulum).run(duration)
    with pytest.raises(InputError):
        Simulation(pendulum).push("bob", (1, 0, 0, 0, 0, 0))


# --- wrench profiles -----------------------------------------------------------------------------------------------
W = [1.0, -2.0, 3.0, 0.1, 0.2, -0.3]


def test_a_half_sine_has_its_peak_in_the_middle_and_the_impulse_of_its_integral():
    hit = half_sine("hand", W, 1.0, 0.1)
    np.testing.assert_allclose(hit.at(1.05), W)
    assert not hit.at(0.999).any() and not hit.at(1.1).any() and not hit.at(1.2).any()
    t = np.linspace(1.0, 1.1, 20001)[:-1]
    impulse = sum(hit.at(x) for x in t) * (t[1] - t[0])
    np.testing.assert_allclose(impulse, 2 / np.pi * 0.1 * np.array(W), rtol=1e-7)


def test_a_rectangle_begins_with_its_start_and_ends_before_its_end():
    push = rectangle("hand", W, 0.5, 0.25)
    assert push.breaks() == (0.5, 0.75)
    assert not push.at(0.49).any() and not push.at(0.75).any()
    np.testing.assert_array_equal(push.at(0.5), W)
    np.testing.assert_array_equal(push.at(0.7499), W)


@pytest.mark.parametrize("frame", ["link", "world"])
def test_a_wrench_at_a_point_accelerates_like_its_sum_at_the_links_origin(frame):
    model = chain_3d(4)
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(2)
    q, v = model.random_state(rng)
    link, at = model.link_names[2], np.array([0.1, -0.2, 0.3])
    profile = constant(link, W, frame=frame, at=at)
    R = np.eye(3) if frame == "link" else dynamics.pose(link, q)[:3, :3].T
    force, moment = R @ W[:3], R @ W[3:] + np.cross(at, R @ W[:3])
    expected = dynamics.forward(q, v, np.zeros(model.nv), {link: [*force, *moment]})
    for tree in (model.tree, model.uniform_tree, model.full_tree):
        where = profile.resolve(model, tree)
        external = applied_loads(tree, [where, where], [0.25 * profile.at(0.0), 0.75 * profile.at(0.0)], q.tolist())
        found = aba.forward_dynamics(tree, q.tolist(), v.tolist(), [0.0] * model.nv, external)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
