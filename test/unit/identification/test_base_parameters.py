# SPDX-License-Identifier: Apache-2.0
"""Base parameters: as many as another engine's regressor has independent columns, and those of textbooks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refused import refused
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.identification import excitation
from ada_dynamics.identification.base_parameters import base_parameters
from ada_dynamics.robots import mechanisms
from ada_experiments.pinocchio_model import PinocchioModel


def states(model: ada.Model, count: int = 60):
    rng = np.random.default_rng(1)
    q = np.array([model.random_state(rng)[0] for _ in range(count)])
    return q, rng.normal(size=(count, model.nv)), rng.normal(size=(count, model.nv))


def inertial(model: ada.Model):
    """The regressor of masses, first moments and inertias, and their names."""
    dynamics = ada.Dynamics(model)
    places = [k for k, name in enumerate(dynamics.parameters) if name.partition(".")[0] in model.links]
    return dynamics.regressor(*states(model))[..., places], [list(dynamics.parameters)[k] for k in places]


@pytest.mark.parametrize(("name", "base"), [("pa10", "fixed"), nightly("pa10", "floating"), nightly("khr1", "fixed")])
def test_they_are_as_many_as_pinocchios_regressor_has_independent_columns(name: str, base: str) -> None:
    model = ada.load(name, base=base)
    Y, names = inertial(model)
    other = PinocchioModel(model)
    data = other.model.createData()
    theirs = [other.pin.computeJointTorqueRegressor(other.model, data, *s) for s in zip(*states(model), strict=True)]
    assert len(base_parameters(Y, names).names) == np.linalg.matrix_rank(np.concatenate(theirs), tol=1e-8)


def test_a_planar_arm_has_those_of_the_textbook() -> None:
    model = ada.planar_chain(2, length=0.7)
    Y, names = inertial(model)
    base = base_parameters(Y, names, last=("link_1.my", "link_2.my"))
    assert set(base.names) == {
        "link_1.mx",
        "link_1.mz + 0.7 link_2.mass",
        "link_1.Iyy + 0.49 link_2.mass",
        "link_2.mx",
        "link_2.mz",
        "link_2.Iyy",
    }
    assert {names[k] for k in base.without_effect} >= {"link_1.mass", "link_1.Ixx", "link_2.Izz"}


def test_a_coupler_that_never_turns_counts_as_a_point() -> None:
    model, q = mechanisms.four_bar((1.0, 0.5, 1.0, 0.5), crank=1.0)
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(0)
    poses = np.repeat(
        [ada.close_loops(model, model.integrate(q, x * np.array([1.0, -1.0, 1.0]))) for x in (0.0, 0.2, 0.4)], 8, axis=0
    )
    v = dynamics.constraints.complete_velocity(poses, rng.normal(size=(len(poses), 1)), coordinates=["joint_1"])
    a = dynamics.constraints.complete_acceleration(poses, v, rng.normal(size=(len(poses), 1)), coordinates=["joint_1"])
    places = [k for k, name in enumerate(dynamics.parameters) if name.startswith("link")]
    names = [list(dynamics.parameters)[k] for k in places]
    base = base_parameters(dynamics.regressor(poses, v, a, coordinates=["joint_1"])[..., places], names)
    assert base.names == (
        "link_1.mx - link_3.mx",
        "link_1.mz + link_2.mass + link_3.mass - link_3.mz",
        "link_1.Iyy + link_2.mass + link_3.mass - 2 link_3.mz + link_3.Iyy",
    )
    assert {names[k] for k in base.without_effect} >= {"link_2.mx", "link_2.mz", "link_2.Iyy"}


@pytest.fixture(scope="module")
def arm() -> ada.Dynamics:
    return ada.Dynamics(ada.load("pa10"))


@pytest.mark.parametrize("seed", range(3))
def test_no_limit_is_passed_between_the_states_of_the_search_either(arm: ada.Dynamics, seed: int) -> None:
    model = arm.model
    way = excitation(arm, parameters="link_7.*", evaluations=40, acceleration=1.5, seed=seed)
    q, v, a = way.states(np.linspace(0.0, way.period, 20_001))
    assert np.all(q > model.lower) and np.all(q < model.upper)
    assert np.all(np.abs(v) < model.velocity_limit)
    assert np.max(np.abs(a)) < 1.5
    assert np.max(np.abs(q[-1] - q[0])) < 1e-12
    for rows in (v, a):
        assert np.max(np.abs(rows[[0, -1]])) < 1e-12


def test_velocities_and_accelerations_are_those_of_the_positions(arm: ada.Dynamics) -> None:
    way, h = excitation(arm, parameters="link_7.*", evaluations=1), 1e-4
    before, at, after = (way.joint_trajectory(1.3 + shift) for shift in (-h, 0.0, h))
    assert (after[0] - before[0]) / (2 * h) == pytest.approx(at[1], abs=1e-6)
    assert (after[1] - before[1]) / (2 * h) == pytest.approx(at[2], abs=1e-6)


def test_a_search_finds_better_motions_for_what_is_asked(arm: ada.Dynamics) -> None:
    asked = ("link_[67].*", "*.armature")
    chance, searched = (excitation(arm, parameters=asked, evaluations=n) for n in (1, 400))
    assert searched.condition < 0.3 * chance.condition
    q, v, a = searched.states(np.linspace(0.0, searched.period, 500))
    assert ada.identify(arm, q, v, a, arm.inverse(q, v, a), parameters=asked).unidentifiable == ()


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"harmonics": 1}, {"field": "harmonics", "value": 1}),
        ({"period": 0.0}, {"field": "period", "value": 0.0}),
        ({"joints": ["s9"]}, {"joint": "s9"}),
        ({"parameters": "link_9.*"}, {"field": "parameter", "value": "link_9.*"}),
        ({"parameters": ()}, {"field": "parameters", "value": ()}),
        ({"robot": "pa10"}, {"field": "model", "value": "pa10"}),
        (
            {"robot": ada.load("pa10", base="floating"), "joints": ["root_joint"]},
            {"joint": "root_joint", "field": "joints", "value": 7},
        ),
    ],
)
def test_it_refuses(arm: ada.Dynamics, change: dict, facts: dict[str, Any]) -> None:
    with refused(ada.InputError, **facts):
        excitation(**{"robot": arm, "evaluations": 1, **change})
