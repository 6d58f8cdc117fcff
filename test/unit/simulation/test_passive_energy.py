# SPDX-License-Identifier: Apache-2.0
"""Passive mechanisms keep their energy, and motions that gain energy say so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.errors import UnexplainedMotionWarning
from ada_dynamics.simulation import MotionError, Simulation

MECHANISMS = [
    "five_bar",
    "slider_crank",
    *map(
        nightly,
        (
            "four_bar",
            "watt_six_bar",
            "stephenson_six_bar",
            "bennett",
            "goldberg",
            "spherical_four_bar",
            "sarrus",
            "bricard",
            "parallel_gripper",
            "delta",
            "hexa",
            "cassie_leg",
        ),
    ),
]


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


@pytest.mark.parametrize("how", ["run", "step", "motions", "rollout"])
def test_a_motion_that_gains_energy_says_so(how: str) -> None:
    """A chain of four links that turns by up to a radian in a step."""
    start, ways = np.array([1.0, 0.5, 0.3, 0.2]), {
        "run": lambda sim: sim.run(40.0),
        "step": lambda sim: [sim.step(500) for _ in range(4)],
        "motions": lambda sim: sim.motions(sim.q[None]).run(2000),
        "rollout": lambda sim: sim.rollout(sim.q[None], None, 40.0, rows_every=100),
    }  # fmt: skip
    sim = Simulation(ada.load("planar_4r"), start, integrator="semi_implicit", step=2e-2)
    with pytest.warns(UnexplainedMotionWarning):
        ways[how](sim)


@pytest.mark.filterwarnings("error::ada_dynamics.errors.UnexplainedMotionWarning")
def test_motions_at_rest_and_near_turning_points_gain_nothing() -> None:
    """Pendulums of all amplitudes, looked at in all phases: what there is beside the work is bounded."""
    sim = Simulation(ada.planar_chain(1), integrator="semi_implicit", step=2e-3)
    many = sim.motions(np.linspace(0.0, np.pi, 200)[:, None])
    for _ in range(10):
        many.run(1000)


def test_a_run_that_cannot_go_on_has_time_joint_and_the_log_up_to_then() -> None:
    sim = Simulation(ada.load("five_bar"), integrator="semi_implicit", step=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(MotionError) as caught:
            sim.run(60.0)
    problem = caught.value
    assert problem.joint in sim.model.joint_names
    assert problem.log.t[-1] == pytest.approx(problem.time, abs=0.11)
    assert np.isfinite(problem.log.q).all()
