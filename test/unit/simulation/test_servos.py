# SPDX-License-Identifier: Apache-2.0
"""Servos of joints: closed forms, limits, stability, and what is refused."""

import warnings

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.model.builder import Builder
from ada_dynamics.model.elements import Limits
from ada_dynamics.robots.catalogue import start_of
from ada_dynamics.simulation import JointServos, Simulation
from ada_dynamics.simulation.methods import StiffStepWarning

INERTIA = 2.0  # [kg m²] or [kg]


def arm(kind="prismatic", effort=np.inf):
    """One joint without gravity: 2 kg on a slide along x, or 2 kg m² about x."""
    builder = Builder("arm").link("base", 1.0).link("tip", 2.0, inertia=(INERTIA,) * 3)
    limits = Limits(effort=effort)
    return builder.joint("joint", kind, "base", "tip", axis=(1, 0, 0), limits=limits).build(gravity=(0, 0, 0))


def servo(stiffness, damping):
    return JointServos(joints={"joint": (stiffness, damping)})


@pytest.mark.parametrize("integrator", ["rkf45", "rk4", "dop853"])
@pytest.mark.parametrize("kind", ["prismatic", "continuous"])
def test_a_servo_swings_its_joint_as_the_damped_oscillator_does(kind, integrator):
    k, d, target = 50.0, 4.0, 0.3
    sim = Simulation(arm(kind), [0.1], [0.2], integrator=integrator, servos=servo(k, d))
    sim.servos.hold([target])
    log = sim.run(1.0)
    decay = d / (2 * INERTIA)
    omega = np.sqrt(k / INERTIA - decay**2)
    a, b = 0.1 - target, (0.2 + decay * (0.1 - target)) / omega
    expected = target + np.exp(-decay * log.t) * (a * np.cos(omega * log.t) + b * np.sin(omega * log.t))
    assert np.allclose(log.q[:, 0], expected, atol=1e-9)  # 1000 steps of order 4 and more
    assert np.allclose(log.tau[:, 0], k * (target - log.q[:, 0]) - d * log.v[:, 0], atol=1e-12)
    assert log.tau[-1] == pytest.approx(sim.tau)


@pytest.mark.parametrize("harder", [1.0, 1e3, 1e6])
def test_a_semi_implicit_servo_is_stable_whatever_its_stiffness(harder):
    sim = Simulation(arm(), [0.1], integrator="semi_implicit", servos=servo(1e4 * harder, 10.0 * harder))
    sim.servos.hold([0.1005])
    sim.run(3.0)
    assert sim.q[0] == pytest.approx(0.1005, abs=1e-6)
    assert abs(sim.v[0]) < 1e-6


@pytest.mark.parametrize("integrator", ["rkf45", "semi_implicit"])
def test_a_motor_gives_no_more_than_its_limit(integrator):
    sim = Simulation(arm(effort=3.0), [0.0], integrator=integrator, servos=servo(1e4, 100.0))
    sim.servos.hold([10.0])
    log = sim.run(0.5)
    assert np.allclose(log.tau, 3.0)
    assert sim.q[0] == pytest.approx(0.5 * 3.0 / INERTIA * 0.5**2, rel=3e-3)  # semi-implicit: first order
    sim.servos.drive([-50.0])
    assert sim.tau == pytest.approx([-3.0])


def test_efforts_on_top_and_moving_targets_are_followed():
    sim = Simulation(arm(), [0.0], integrator="rkf45", servos=servo(200.0, 40.0))
    for i in range(1000):  # constant speed, after an impulse that gives it
        sim.servos.hold([0.001 * i * 0.5], [0.5])
        sim.step()
    assert sim.v[0] == pytest.approx(0.5, abs=2e-3)
    sim.reset([0.0], [0.0])
    sim.servos.drive([1.0])
    sim.run(1.0)
    assert sim.q[0] == pytest.approx(0.5 / INERTIA, rel=1e-9)
    sim.servos.release()
    sim.run(0.5)
    assert sim.v[0] == pytest.approx(1.0 / INERTIA, rel=1e-9)


def test_an_arm_holds_its_pose_against_its_weight():
    model = ada.load("pa10")
    q = np.array([0.2, 0.8, -0.3, 1.2, 0.5, -0.6, 0.1])
    sim = Simulation(model, q, servos=JointServos())
    sim.servos.hold(q)
    sim.run(2.0)
    assert np.max(np.abs(sim.q - q)) < 0.02  # sag under the weight: no gravity compensation
    assert np.max(np.abs(sim.v)) < 1e-5
    # what the motors give is what the weight asks for
    assert np.allclose(sim.tau, sim.dynamics.gravity(sim.q), atol=1e-3 * np.max(np.abs(sim.tau)))


@pytest.mark.parametrize("name", ["four_bar", "slider_crank", "delta"])
def test_the_motors_of_a_mechanism_with_loops_hold_it(name):
    model = ada.load(name)
    q = start_of(name, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffStepWarning)
        sim = Simulation(model, q, integrator="semi_implicit", servos=JointServos())
    bank = sim.servos
    driven = bank.rows(model.actuated)
    bank.hold(np.asarray(q)[bank.q_index[driven]], rows=driven)
    sim.run(2.0)
    moved = np.abs(sim.q - q)[bank.q_index]
    assert np.max(moved) < 0.05
    assert np.max(np.abs(sim.v)) < 1e-3
    assert sim.dynamics.constraints.closure_error(sim.q) < 1e-12


@pytest.mark.parametrize("name", ["parallel_ankle", "stewart", "excavator_arm"])
def test_servos_have_the_stiffness_for_the_inertia_that_motors_move_through_the_loops(name):
    model = ada.load(name)
    q = start_of(name, model)
    sim = Simulation(model, q, servos=JointServos(bandwidth=20.0), integrator="semi_implicit")
    T = sim.dynamics.constraints.tangent_map(q, "actuated")
    inertia = np.diag(T.T @ sim.dynamics.mass_matrix(q) @ T)  # of each motor, with the other motors at rest
    rows = sim.servos.rows(model.actuated)
    assert sim.servos.stiffness[rows] == pytest.approx(400.0 * inertia, rel=1e-6)


def test_what_servos_cannot_be_is_refused():
    sim = Simulation(arm(), servos=JointServos())
    for refused in (
        lambda: Simulation(arm(), servos=JointServos(joints={"knee": (1.0, 1.0)})),
        lambda: JointServos(joints={"joint": (-1.0, 1.0)}),
        lambda: JointServos(bandwidth=np.nan),
        lambda: Simulation(arm(), servos=3.0),
        lambda: Simulation(arm()).servos,
        lambda: sim.servos.hold([np.nan]),
        lambda: sim.servos.drive("all"),
        lambda: sim.servos.rows(["knee"]),
        lambda: sim.rollout([[0.0]], None, 0.1),
    ):
        with pytest.raises(InputError):
            refused()
    assert not sim.servos.commands.any(), "a refused command leaves the servo as it was"


@pytest.mark.parametrize("frame", ["world", "link"])
def test_a_push_is_in_the_axes_that_it_names_and_can_replace_another(frame):
    sim = Simulation(arm("continuous"), [np.pi / 2], pushable=True)
    for _ in range(2):
        # about x, where both frames have the same axis: the second push does not come on top
        sim.push("tip", [0, 0, 0, 1.0, 0, 0], 1.0, frame, replaces=True)
    sim.run(1.0)
    assert sim.v[0] == pytest.approx(1.0 / INERTIA, rel=1e-9)
    with pytest.raises(InputError):
        sim.push("tip", [0.0] * 6, 1.0, "hand")
