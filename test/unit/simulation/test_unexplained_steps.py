# SPDX-License-Identifier: Apache-2.0
"""A run says by itself when steps do not do what the accelerations say, and is silent when something merely jumps."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import ada_dynamics as ada
from ada_dynamics.simulation import JointStops, half_sine
from ada_dynamics.simulation.methods import METHODS
from benchmarks.linkages.families import FAMILIES
from benchmarks.linkages.linkage import model_of


def test_an_integrator_with_one_wrong_coefficient_is_noticed_by_step_and_joint() -> None:
    model = ada.load("stewart")
    q, v = ada.Dynamics(model).project_to_constraints(ada.close_loops(model), np.ones(model.nv))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        well = ada.Simulation(model, q, v).run(0.2)
    right = METHODS["rkf45"]
    stages = right.A.copy()
    stages[3, 1] += 0.01  # the third stage is not where its time is
    with pytest.warns(ada.IntegrationAccuracyWarning):
        ill = ada.Simulation(model, q, v, integrator=replace(right, A=stages)).run(0.2)
    assert ill.energy_drift > 1e-6 > 100 * well.energy_drift


def pushed(model: ada.Model) -> ada.Simulation:
    sim = ada.Simulation(model, pushable=True)
    sim.push(model.link_names[-1], [20.0, 0.0, 5.0, 0.0, 0.0, 0.0], duration=0.0503)
    return sim


def controlled(model: ada.Model) -> ada.Simulation:
    wanted, stiffness = 0.3 * np.ones(model.nv), np.array([40.0, 40, 20, 20, 1, 1, 0.05])
    law = lambda t, q, v: stiffness * (wanted - q - 0.2 * v)  # noqa: E731
    return ada.Simulation(model, controller=law, control_period=0.01)


def stopped(model: ada.Model) -> ada.Simulation:
    q = model.neutral()
    q[1] = 1.5
    return ada.Simulation(model, q, stops=JointStops())


def kicked(model: ada.Model) -> ada.Simulation:
    return ada.Simulation(model, external=[half_sine(model.link_names[-1], [30.0, 0, 0, 0, 0, 0], 0.1003, 0.02)])


@pytest.mark.parametrize("make", [pushed, controlled, stopped, kicked])
def test_what_merely_jumps_is_no_mistake_of_the_integration(make) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log = make(ada.load("pa10")).run(0.5)
    assert np.max(np.abs(log.v)) > 0.01


@pytest.mark.parametrize("family", ["spherical_4", "bennett", "sarrus"])
def test_a_linkage_that_six_decimals_keep_from_closing_moves_without_a_complaint(family: str) -> None:
    rng = np.random.default_rng(4)
    made = model_of(FAMILIES[family](rng), rng, decimals=6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log = ada.Simulation(made.model, ada.close_loops(made.model, made.start)).run(0.5)
    assert 1e-9 < log.loop_gap.max() < 1e-5
    assert log.energy_drift < 1e-4
