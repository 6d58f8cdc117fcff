# SPDX-License-Identifier: Apache-2.0
"""Motions that excite parameters: within limits, from rest to rest, better than what they were made from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refused import refused

import ada_dynamics as ada
from ada_dynamics.identification import excitation
from ada_dynamics.robots import mechanisms


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
    before, at, after = (way.of_joints(1.3 + shift) for shift in (-h, 0.0, h))
    assert (after[0] - before[0]) / (2 * h) == pytest.approx(at[1], abs=1e-6)
    assert (after[1] - before[1]) / (2 * h) == pytest.approx(at[2], abs=1e-6)


def test_a_search_finds_better_motions_for_what_is_asked(arm: ada.Dynamics) -> None:
    asked = ("link_[67].*", "*.armature")
    chance, searched = (excitation(arm, parameters=asked, evaluations=n) for n in (1, 400))
    assert searched.condition < 0.3 * chance.condition
    q, v, a = searched.states(np.linspace(0.0, searched.period, 500))
    assert ada.identify(arm, q, v, a, arm.inverse(q, v, a), parameters=asked).unidentifiable == ()


@pytest.mark.fuzz
def test_a_platform_is_moved_with_its_loops_closed() -> None:
    model, start = mechanisms.stewart()
    dynamics = ada.Dynamics(model)
    way = excitation(dynamics, start, parameters="platform.mass", evaluations=1, harmonics=2, way=0.05)
    q, v, a = way.states(np.linspace(0.0, 3.0, 7))
    assert np.max(dynamics.largest_gap(q)) < 1e-9
    y, dy, ddy = way.of_joints(np.linspace(0.0, 3.0, 7))
    assert q[:, [model.q_index(name).start for name in way.joints]] == pytest.approx(y, abs=1e-9)
    assert dynamics.complete_velocity(q, dy) == pytest.approx(v)
    assert dynamics.complete_acceleration(q, v, ddy) == pytest.approx(a)


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"harmonics": 1}, {"field": "harmonics", "value": 1}),
        ({"period": 0.0}, {"field": "period", "value": 0.0}),
        ({"joints": ["s9"]}, {"joint": "s9"}),
        ({"parameters": "link_9.*"}, {"field": "parameter", "value": "link_9.*"}),
        ({"parameters": ()}, {"field": "parameters", "value": ()}),
        ({"robot": "pa10"}, {"field": "robot", "value": "pa10"}),
        (
            {"robot": ada.load("pa10", base="floating"), "joints": ["root_joint"]},
            {"joint": "root_joint", "field": "joints", "value": 7},
        ),
    ],
)
def test_it_refuses(arm: ada.Dynamics, change: dict, facts: dict[str, Any]) -> None:
    with refused(ada.InputError, **facts):
        excitation(**{"robot": arm, "evaluations": 1, **change})
