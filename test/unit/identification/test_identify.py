# SPDX-License-Identifier: Apache-2.0
"""Parameters from motions: exact without noise, within their deviations with it, always a machine that can be."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refused import refused
from scipy.optimize import minimize

import ada_dynamics as ada
from ada_dynamics.algorithms.regressor import INERTIAL
from ada_dynamics.identification.consistent_fit import UNITS, BodyParameters, fit, inertial_parameters, pseudo_inertia
from ada_dynamics.model.edit import with_parts

PAYLOAD, AT = 5.0, np.array([0.03, -0.02, 0.15])  # [kg], [m] in link_7


@pytest.fixture(scope="module")
def arm() -> ada.Dynamics:
    return ada.Dynamics(ada.load("pa10"))


def loaded(model: ada.Model) -> ada.Model:
    link = model.links["link_7"]
    mass = link.mass + PAYLOAD
    com = (link.mass * link.com + PAYLOAD * AT) / mass
    heavy = replace(link, mass=mass, com=com, inertia=link.inertia + np.diag([0.03, 0.03, 0.02]))
    lossy = [replace(model.joints[name], damping=2.0, friction=1.0) for name in model.joint_names]
    return with_parts(model, heavy, *lossy)


def states(model: ada.Model, count: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    q = np.array([model.random_state(rng)[0] for _ in range(count)])
    return q, rng.normal(size=(count, model.nv)), 3.0 * rng.normal(size=(count, model.nv))


def test_a_payload_is_found_exactly_where_nothing_disturbs(arm: ada.Dynamics) -> None:
    model = loaded(arm.model)
    motion = states(model)
    truth = ada.Dynamics(model)
    found = ada.identify(arm, *motion, truth.inverse(*motion), parameters=("link_7.*", "*.damping", "*.friction"))
    wanted = np.array([truth.parameters[name] for name in found.names])
    assert np.max(np.abs(np.array(list(found.values.values())) - wanted)) < 1e-6  # noise is not taken for less
    assert {row.status for row in found.parameters()} == {"identified"}
    assert np.all(found.fit.percent < 1e-4)


def test_deviations_tell_how_far_parameters_are_off(arm: ada.Dynamics) -> None:
    truth = ada.Dynamics(loaded(arm.model))
    motion = states(arm.model, 1000)
    efforts = truth.inverse(*motion) + 0.5 * np.random.default_rng(3).normal(size=(1000, 7))
    found = ada.identify(arm, *motion, efforts)
    wanted = found.base.combine @ np.array([truth.parameters[name] for name in found.names])
    error = np.array([row.value for row in found.combinations()]) - wanted
    assert 0.6 < np.sqrt(np.mean((error / found.deviations) ** 2)) < 1.3
    assert found.noise == pytest.approx(0.5, rel=0.1)
    unseen = states(arm.model, 200, seed=9)
    assert np.max(found.validate(*unseen, truth.inverse(*unseen)).percent) < 5.0


def test_what_is_fixed_to_a_link_counts_as_part_of_it() -> None:
    builder = ada.Builder("tool")
    builder.link("base")
    builder.link("arm", mass=1.0, com=(0.2, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
    builder.link("tool", mass=3.0, com=(0.1, 0.0, 0.0), inertia=(0.01, 0.01, 0.01))
    builder.joint("turn", "revolute", "base", "arm", axis=(0, 1, 0))
    builder.joint("mount", "fixed", "arm", "tool", xyz=(0.4, 0.0, 0.0))
    model = builder.build()
    lighter = with_parts(model, replace(model.links["tool"], mass=0.5))
    motion = states(model, 50)
    found = ada.identify(model, *motion, ada.Dynamics(lighter).inverse(*motion), parameters="arm.*")
    again = ada.Dynamics(found.model)
    assert again.inverse(*motion) == pytest.approx(ada.Dynamics(lighter).inverse(*motion), abs=1e-5)
    assert min(link.mass for link in found.model.links.values()) >= 0.0


def test_a_body_stays_one_where_least_squares_would_make_it_none(arm: ada.Dynamics) -> None:
    truth, motion = ada.Dynamics(loaded(arm.model)), states(arm.model, 60)
    efforts = truth.inverse(*motion) + 5.0 * np.random.default_rng(1).normal(size=(60, 7))
    found = ada.identify(arm, *motion, efforts, parameters=("link_*", "*.friction", "*.damping"))
    links = sorted({name.partition(".")[0] for name in found.names if name.startswith("link")})
    values = {link: np.array([found.values[f"{link}.{kind}"] for kind in INERTIAL]) for link in links}
    plain = np.linalg.lstsq(arm.regressor(*motion).reshape(-1, 98), efforts.ravel(), rcond=1e-9)[0]
    names = list(arm.parameters)
    impossible = [plain[[names.index(f"{link}.{kind}") for kind in INERTIAL]] for link in links]
    assert min(np.linalg.eigvalsh(pseudo_inertia(x))[0] for x in impossible) < -1e-3
    assert min(np.linalg.eigvalsh(pseudo_inertia(x))[0] for x in values.values()) > 0.0
    assert min(x for name, x in found.values.items() if name.endswith(("friction", "damping"))) >= 0.0
    assert found.model.total_mass > 0.0


def test_the_fit_is_the_best_of_all_bodies() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 10))
    wanted = rows @ inertial_parameters(np.diag([0.3, 0.2, -0.1, 2.0])) + 0.1 * rng.normal(size=40)
    places = np.arange(10)
    prior = np.diag([0.1, 0.1, 0.1, 1.0])
    body = BodyParameters(places, places, np.zeros((4, 4)), prior, np.eye(4))
    found = fit(rows, wanted, inertial_parameters(prior), [body], [], 1e-7)

    def cost(factors: np.ndarray) -> float:
        L = np.zeros((4, 4))
        L[np.tril_indices(4)] = factors
        return float(np.sum((rows @ inertial_parameters(L @ L.T) - wanted) ** 2))

    best = minimize(cost, np.linalg.cholesky(prior)[np.tril_indices(4)], method="BFGS", options={"gtol": 1e-9})
    assert np.sum((rows @ found - wanted) ** 2) == pytest.approx(best.fun, rel=1e-5)
    assert 0.0 < np.linalg.eigvalsh(pseudo_inertia(found))[0] < 1e-5


def test_a_pseudo_inertia_holds_the_second_moments_of_a_box() -> None:
    I = 2.0 / 12.0 * np.array([4 + 9, 1 + 9, 1 + 4])
    P = pseudo_inertia([2.0, 0.0, 0.0, 0.0, I[0], 0.0, 0.0, I[1], 0.0, I[2]])
    assert pytest.approx(np.diag([1 / 6, 4 / 6, 9 / 6, 2.0])) == P
    values = np.random.default_rng(0).normal(size=10)
    assert inertial_parameters(pseudo_inertia(values)) == pytest.approx(values)
    assert pseudo_inertia(np.eye(10)) == pytest.approx(UNITS)


def test_what_a_motion_does_not_show_stays_with_the_model_and_is_named(arm: ada.Dynamics) -> None:
    q, v, a = states(arm.model)
    for rows in (v, a):
        rows[:, 2:] = 0.0
    q[:, 2:] = 0.3
    with pytest.warns(ada.LittleExcitationWarning):
        found = ada.identify(arm, q, v, a, arm.inverse(q, v, a))
    assert {"s3.armature", "w2.damping"} <= set(found.unidentifiable)
    assert "s1.damping" not in found.unidentifiable
    row = {row.name: row for row in found.parameters()}["s3.armature"]
    assert row.status == "not excited by this motion"
    assert np.isnan(row.deviation)
    assert row.value == pytest.approx(row.model, rel=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ada.identify(arm, q, v, a, arm.inverse(q, v, a), parameters="s1.armature")


def test_a_fit_that_leaves_most_of_the_efforts_is_called_poor(arm: ada.Dynamics) -> None:
    motion = states(arm.model, 100)
    with pytest.warns(ada.PoorFitWarning):
        found = ada.identify(arm, *motion, -arm.inverse(*motion))
    assert np.median(found.fit.percent) > 50.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ada.identify(arm, *motion, arm.inverse(*motion))


@pytest.mark.parametrize(
    ("change", "error", "facts"),
    [
        ({"tau": None}, TypeError, {"field": "tau"}),
        ({"tau": np.zeros((5, 7))}, ada.InputError, {"field": "tau", "value": 0.0}),
        ({"tau": np.full((5, 7), np.nan)}, ada.InputError, {"field": "tau", "value": 0}),
        ({"v": np.zeros((4, 7))}, ada.InputError, {"field": "v", "value": 4}),
        ({"motion": np.zeros((5, 6))}, ada.InputError, {"field": "q", "value": (5, 6)}),
        ({"parameters": "link_8.mass"}, ada.UnknownNameError, {"field": "parameter", "value": "link_8.mass"}),
        ({"parameters": "flange.mass"}, ada.InputError, {"link": "flange", "allowed": "link_7.mass"}),
        ({"parameters": []}, ada.InputError, {"field": "parameters"}),
        ({"prior_weight": 0.0}, ada.InputError, {"field": "prior_weight", "value": 0.0}),
        ({"robot": "pa10"}, ada.InputError, {"field": "model", "value": "pa10"}),
        ({"parameters": "w2.damping"}, ada.InputError, {"field": "parameters", "value": ("w2.damping",)}),
    ],
)
def test_it_refuses(arm: ada.Dynamics, change: dict, error: type, facts: dict[str, Any]) -> None:
    given = {"robot": arm, "motion": np.zeros((5, 7)), **{name: np.zeros((5, 7)) for name in ("v", "a")}}
    with refused(error, **facts):
        ada.identify(**{**given, "tau": np.ones((5, 7)), **change})


def test_a_link_that_is_none_with_what_is_known_is_refused_by_name(arm: ada.Dynamics) -> None:
    link = arm.model.links["link_7"]
    pointed = with_parts(arm.model, replace(link, mass=1.0, inertia=np.zeros((3, 3))))
    motion = states(arm.model, 50)
    with refused(ada.InputError, link="link_7", field="parameters"):
        ada.identify(pointed, *motion, arm.inverse(*motion), parameters="link_7.mass")
