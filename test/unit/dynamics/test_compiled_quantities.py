# SPDX-License-Identifier: Apache-2.0
"""Quantities whose plain calls run compiled code, no matter when the method was taken from its object."""

import inspect
from operator import attrgetter

import numpy as np
import pytest
from random_trees import random_tree

import ada_dynamics as ada
from ada_dynamics.jit.fallback import reason_for_fallback

ARGUMENTS = {
    "forward": "q v tau",
    "inverse": "q v a",
    "bias": "q v",
    "gravity": "q",
    "mass_matrix": "q",
    "com": "q",
    "com_jacobian": "q",
    "derivatives.com_jacobian_rate": "q v",
    "momentum": "q v",
    "momentum_matrix": "q",
    "derivatives.momentum_matrix_rate": "q v",
}


def state(model, names, rows=None):
    rng = np.random.default_rng(3)
    drawn = [model.random_state(rng) for _ in range(rows or 1)]
    found = {"q": np.array([q for q, _ in drawn]), "v": np.array([v for _, v in drawn])}
    found |= {name: rng.normal(size=(rows or 1, model.nv)) for name in ("tau", "a")}
    return [found[name] if rows else found[name][0] for name in names.split()]


@pytest.fixture(scope="module", params=["arm", "floating"])
def model(request):
    return ada.load("planar_3r") if request.param == "arm" else random_tree(3, ["revolute", "spherical"], "floating")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_method_taken_before_its_first_call_runs_the_kernel_after_it(model, name):
    dynamics = ada.Dynamics(model)
    call, given = attrgetter(name)(dynamics), state(model, ARGUMENTS[name])
    first = call(*given)
    if reason_for_fallback() is None:
        assert inspect.isbuiltin(call) and call is attrgetter(name)(dynamics)
    assert np.array_equal(call(*given), first)
    assert np.array_equal(call(**dict(zip(ARGUMENTS[name].split(), given, strict=True))), first)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_rows_give_what_each_of_them_gives(model, name):
    dynamics, rows = ada.Dynamics(model), state(model, ARGUMENTS[name], rows=11)
    call = attrgetter(name)(dynamics)
    many = call(*rows)
    again = call(*rows)  # by now through the builtin
    assert np.array_equal(many, again)
    for k in range(11):
        one = call(*(x[k] for x in rows))
        assert np.abs(many[k] - one).max() <= 1e-12 * max(1.0, np.abs(one).max())


def test_energies_have_names_and_those_of_many_states_are_arrays(model):
    dynamics, (q, v), rows = ada.Dynamics(model), state(model, "q v"), state(model, "q v", rows=9)
    one, many = dynamics.energy(q, v), dynamics.energy(*rows)
    assert one.kinetic == pytest.approx(0.5 * v @ dynamics.mass_matrix(q) @ v, rel=1e-12)
    assert isinstance(one.potential, float) and many.kinetic.shape == many.potential.shape == (9,)
    alone = [dynamics.energy(q, v) for q, v in zip(*rows, strict=True)]
    np.testing.assert_allclose(many, np.transpose(alone), rtol=1e-12, atol=1e-12)
