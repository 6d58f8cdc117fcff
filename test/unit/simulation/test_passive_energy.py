# SPDX-License-Identifier: Apache-2.0
"""Passive mechanisms keep their energy, and motions that gain energy say so."""

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.errors import IntegrationAccuracyWarning
from ada_dynamics.simulation import IntegrationError, JointStops, Simulation
from ada_dynamics.simulation.methods import METHODS, Method

MORE = "four_bar watt_six_bar stephenson_six_bar bennett parallel_gripper delta hexa cassie_leg"
MECHANISMS = ["five_bar", "slider_crank", *map(nightly, MORE.split())]


@pytest.mark.parametrize("step", [1e-3, 2e-3])
@pytest.mark.parametrize("name", MECHANISMS)
def test_a_passive_mechanism_keeps_its_energy_with_semi_implicit_steps(name: str, step: float) -> None:
    """For 60 s within 2 % of what moves; it may lose more, by damping, but not gain it."""
    model = ada.load(name)
    log = Simulation(model, integrator="semi_implicit", step=step, log_every=10).run(60.0)
    total = log.energy.kinetic + log.energy.potential
    swing = max(float(log.energy.kinetic.max()), float(np.ptp(log.energy.potential)))
    assert total.max() - total[0] < 0.02 * swing
    if not model.damping.any() and not model.friction.any() and not model.stiffness.any():
        assert total[0] - total.min() < 0.02 * swing


def gaining(name: str) -> tuple[Method, float]:
    """An integrator that adds energy, and its step [s]: without stage coefficients it is the explicit Euler method."""
    method = METHODS[name]
    if method.is_direct:
        return method, 2e-2  # links of the chain turn by up to a radian in a step
    errors = None if method.errors is None else np.zeros_like(method.errors)
    return replace(method, A=0.0 * method.A, errors=errors), 5e-3


WAYS: dict[str, Callable[[Simulation], object]] = {
    "run": lambda sim: sim.run(2000 * sim.step_length),
    "step": lambda sim: [sim.step(500) for _ in range(4)],
    "motions": lambda sim: sim.batch(sim.q[None]).run(2000),
    "rollout": lambda sim: sim.rollout(sim.q[None], None, 2000 * sim.step_length),
}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("integrator", METHODS)
def test_a_motion_that_gains_energy_raises_a_warning(integrator: str, how: str) -> None:
    method, step = gaining(integrator)
    sim = Simulation(ada.load("planar_4r"), [1.0, 0.5, 0.3, 0.2], integrator=method, step=step)
    with pytest.warns(IntegrationAccuracyWarning):
        WAYS[how](sim)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("integrator", METHODS)
@pytest.mark.filterwarnings("error::ada_dynamics.errors.IntegrationAccuracyWarning")
def test_a_motion_that_keeps_its_energy_raises_no_warning(integrator: str, how: str) -> None:
    WAYS[how](Simulation(ada.load("planar_4r"), [1.0, 0.5, 0.3, 0.2], integrator=integrator, step=1e-3))


@pytest.mark.filterwarnings("error::ada_dynamics.errors.IntegrationAccuracyWarning")
def test_motions_at_rest_and_near_turning_points_gain_nothing() -> None:
    """Pendulums of all amplitudes, looked at in all phases: what there is beside the work is bounded."""
    sim = Simulation(ada.planar_chain(1), integrator="semi_implicit", step=2e-3)
    many = sim.batch(np.linspace(0.0, np.pi, 200)[:, None])
    for _ in range(10):
        many.run(1000)


@pytest.mark.filterwarnings("error::ada_dynamics.errors.IntegrationAccuracyWarning")
def test_a_controlled_arm_in_its_stops_gains_nothing_but_the_work_of_its_motors() -> None:
    arm = ada.load("pa10")
    stiffness, q = np.array([40.0, 40, 20, 20, 1, 1, 0.05]), 1.5 * np.eye(arm.nv)[1]
    law = lambda t, q, v: stiffness * (0.3 - q - 0.2 * v)  # noqa: E731
    for more in ({"controller": law, "control_period": 0.01}, {"q": q, "stops": JointStops()}):
        assert np.max(np.abs(Simulation(arm, **more).run(0.5).v)) > 0.01


def test_a_run_that_cannot_go_on_has_time_joint_and_the_log_up_to_then() -> None:
    sim = Simulation(ada.load("five_bar"), integrator="rk4", step=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(IntegrationError) as caught:
            sim.run(60.0)
    problem = caught.value
    assert problem.joint in sim.model.joint_names
    assert problem.log.t[-1] == pytest.approx(problem.time, abs=0.11)
    assert np.isfinite(problem.log.q).all()
