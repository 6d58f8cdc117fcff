# SPDX-License-Identifier: Apache-2.0
"""The graphs as CasADi functions: the library's own numbers, and CasADi's derivatives beside its analytic ones."""

from __future__ import annotations

import numpy as np
import pytest
from loop_robots import states
from numpy.typing import NDArray
from random_trees import KINDS, random_tree, sprung_chain, state_of
from refused import refused
from tiers import nightly

import ada_dynamics as ada

casadi = pytest.importorskip("casadi", reason="CasADi is not installed")
from ada_dynamics.casadi import function  # noqa: E402

Array = NDArray[np.float64]


def array(x: object) -> Array:
    return np.array(casadi.DM(x))


def state(name: str) -> tuple[ada.Model, Array, Array, Array]:
    if name == "tree":
        model = random_tree(4, [kind for kind in KINDS if kind != "fixed"], "floating")
        return model, *state_of(model, 2)
    if name == "springs":
        model = sprung_chain()
        return model, *state_of(model, 2)
    model, *rows = states(name, 1)
    q, v, tau = (x[0] for x in rows)
    return model, q, v, tau


@pytest.mark.parametrize(
    "name", ["pa10", nightly("tree"), nightly("springs"), "four_bar", nightly("stewart"), "parallel_gripper"]
)
def test_functions_are_those_of_the_library(name: str) -> None:
    model, q, v, tau = state(name)
    dynamics = ada.Dynamics(model)
    a = dynamics.forward(q, v, tau)
    link = model.link_names[-1]
    wanted = {
        "forward": ((q, v, tau), a),
        "mass_matrix": ((q,), dynamics.mass_matrix(q)),
        "bias": ((q, v), dynamics.bias(q, v)),
        "gravity": ((q,), dynamics.gravity(q)),
        "com": ((q,), dynamics.com(q)),
        "energy": ((q, v), np.array(dynamics.energy(q, v))),
        "pose": ((q,), dynamics.pose(link, q)),
        "jacobian": ((q,), dynamics.jacobian(link, q)),
        "inverse": ((q, v, a), dynamics.inverse(q, v, a)),
    }
    for quantity, (given, value) in wanted.items():
        found = array(function(dynamics, quantity, link=link)(*given)).reshape(value.shape)
        assert np.allclose(found, value, rtol=0.0, atol=1e-10 * max(1.0, float(np.max(np.abs(value))))), quantity


@pytest.mark.parametrize("name", ["pa10", "four_bar"])
def test_its_derivatives_are_the_analytic_ones(name: str) -> None:
    model, q, v, tau = state(name)
    dynamics = ada.Dynamics(model)
    forward = function(dynamics)
    symbols = [casadi.SX.sym(f"x{i}", size) for i, size in enumerate((model.nq, model.nv, model.nv))]
    derivatives = casadi.Function("d", symbols, [casadi.jacobian(forward(*symbols), x) for x in symbols])
    found, wanted = derivatives(q, v, tau), dynamics.forward_derivatives(q, v, tau)
    rates = np.array(casadi.DM(casadi.jacobian(function(dynamics, "position_rate")(q, symbols[1]), symbols[1])))
    for mine, theirs in zip((array(found[0]) @ rates, array(found[1]), array(found[2])), wanted, strict=True):
        assert np.max(np.abs(mine - theirs)) < 1e-10 * np.max(np.abs(theirs))


@pytest.mark.parametrize("name", [nightly("tree"), "five_bar", nightly("stewart")])
def test_the_residual_vanishes_where_the_mechanism_moves_as_it_must(name: str) -> None:
    model, q, v, tau = state(name)
    dynamics = ada.Dynamics(model)
    a = dynamics.forward(q, v, tau)
    residual = function(dynamics, "residual")
    if not model.loops:
        assert np.max(np.abs(array(residual(q, v, a, tau)))) < 1e-10
        return
    of_lambda = casadi.SX.sym("x", residual.size1_in("multipliers"))
    r = residual(q, v, a, of_lambda, tau)
    at = casadi.Function("at", [of_lambda], [r, casadi.jacobian(r, of_lambda)])
    r0, J = map(array, at(np.zeros(of_lambda.numel())))
    multipliers, *_ = np.linalg.lstsq(J, -r0.ravel(), rcond=None)
    assert np.max(np.abs(array(at(multipliers)[0]))) < 1e-9 * np.max(np.abs(r0))
    assert np.max(np.abs(array(function(dynamics, "constraint_violation")(q)))) < 1e-12
    J, rate = map(array, function(dynamics, "constraint_jacobian")(q, v))
    assert np.max(np.abs(J @ v)) < 1e-11 and np.max(np.abs(J @ a + rate.ravel())) < 1e-10 * np.max(np.abs(a))
    T = array(function(dynamics, "tangent_map", coordinates="actuated")(q))
    assert np.allclose(T, dynamics.constraints.tangent_map(q, "actuated"), rtol=0.0, atol=1e-11)


def test_what_a_robot_has_not_is_refused() -> None:
    with refused(ada.InputError, field="constraint_violation", value="pa10"):
        function(ada.load("pa10"), "constraint_violation")
    with refused(ada.UnknownNameError, field="quantity", value="forwards"):
        function(ada.load("pa10"), "forwards")
