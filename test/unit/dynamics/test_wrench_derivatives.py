# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the wrenches of all joints: against differences of a reference, by joint, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mechanism_oracle import Oracle
from numpy.typing import NDArray
from random_trees import KINDS, random_tree
from refused import refused

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms

Array = NDArray[np.float64]


def derivative(f: Callable[[float], Array], h: float = 1e-3) -> Array:
    """At 0, over five points."""
    return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)


def moving(name: str) -> tuple[ada.Model, Oracle, Array, Array, Array]:
    model, q = getattr(mechanisms, name)()
    oracle, rng = Oracle(model), np.random.default_rng(3)
    q = oracle.nearby(q, rng, 0.2)
    v = np.asarray(oracle.admissible(q, rng.normal(size=model.nv)), dtype=np.float64)
    return model, oracle, q, v, rng.normal(size=model.nv)


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("five_bar", "tree"),
        ("five_bar", "actuated"),
        ("four_bar", "independent"),
        ("bennett", "independent"),
        pytest.param("cassie_leg", "tree", marks=pytest.mark.fuzz),
        pytest.param("delta", "independent", marks=pytest.mark.fuzz),
    ],
)
def test_along_the_loops_they_are_differences_of_the_reference(name: str, by: str) -> None:
    model, oracle, q, v, tau = moving(name)
    dynamics, rng, n = ada.Dynamics(model), np.random.default_rng(5), model.nv
    found, unique = dynamics.joint_wrench_derivatives(q, v, tau, by), dynamics.joint_wrenches(q, v, tau).unique

    def wrenches(q: Array, v: Array, tau: Array) -> Array:
        answer = oracle.forward(q, v, tau)
        by_joint = {**answer.tree_wrenches, **answer.wrenches}
        return np.array([by_joint[joint] for joint in found])

    def at(t: float) -> tuple[Array, Array]:
        closed = oracle.close(model.integrate(q, d[:n], t))
        assert closed is not None
        return closed, np.asarray(oracle.admissible(closed, v + t * d[n:]), dtype=np.float64)

    d = dynamics.changes(q, v) @ rng.normal(size=2 * dynamics.choices.mobility)
    speeds = derivative(lambda t: at(t)[1])  # which the loops let change otherwise than was asked for
    more, own = rng.normal(size=n), list(range(n) if by == "tree" else dynamics.velocity_indices(by))
    of_state = derivative(lambda t: wrenches(*at(t), tau))
    of_efforts = wrenches(q, v, tau + more) - wrenches(q, v, tau)
    size = max(1.0, float(np.max(np.abs(of_state))))
    for joint, state, efforts in zip(found, of_state, of_efforts, strict=True):
        mine, flags = found[joint], unique[joint]
        assert np.allclose((mine.dq @ d[own] + mine.dv @ speeds[own] - state)[flags], 0.0, atol=2e-9 * size), joint
        assert np.allclose((mine.du @ more - efforts)[flags], 0.0, atol=1e-9 * size), joint
        assert np.isnan(mine.du[~flags]).all()
    assert any(flags.any() for flags in unique.values())


def test_without_loops_they_are_differences_of_the_wrenches_for_every_type_of_joint() -> None:
    model, rng = random_tree(5, KINDS[:5]), np.random.default_rng(1)
    dynamics, (q, v) = ada.Dynamics(model), model.random_state(rng)[:2]
    tau, (d_q, d_v, d_tau) = rng.normal(size=model.nv), rng.normal(size=(3, model.nv))
    found = dynamics.joint_wrench_derivatives(np.array([q, q]), v, tau)

    def wrenches(t: float) -> Array:
        here = dynamics.joint_wrenches(model.integrate(q, d_q, t), v + t * d_v, tau + t * d_tau)
        return np.array(list(here.values()))

    wanted = derivative(wrenches, 2e-4)
    mine = [by.dq[1] @ d_q + by.dv[1] @ d_v + by.du[1] @ d_tau for by in found.values()]
    assert np.allclose(mine, wanted, rtol=0.0, atol=1e-9 * np.max(np.abs(wanted)))


def test_what_has_none_is_refused_by_name() -> None:
    model, q = mechanisms.bennett()
    rest = np.zeros(model.nv)
    with refused(ada.InputError, field="by", allowed=("independent", "actuated")):
        ada.Dynamics(model).joint_wrench_derivatives(q, rest, rest)
    flat, v = np.array([np.pi / 2, 0.0, np.pi]), np.array([1.0, -1.0, 1.0])
    with refused(ada.SingularPoseError, loop="closing"):
        ada.Dynamics(mechanisms.four_bar()[0]).joint_wrench_derivatives(flat, v, 0 * v, "independent")
    with refused(ada.UnknownNameError, joint="ankle"):
        ada.Dynamics(model).joint_wrench_derivatives(q, rest, rest, "independent")["ankle"]
