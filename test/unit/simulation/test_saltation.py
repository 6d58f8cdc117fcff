# SPDX-License-Identifier: Apache-2.0
"""Motions through events: saltation matrices against the textbook and differences, and what is refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from random_trees import random_tree
from step_reference import moving

import ada_dynamics as ada
from ada_dynamics.robots import mechanisms
from ada_dynamics.simulation import Event

Array = NDArray[np.float64]


def test_a_ball_that_bounces_has_the_saltation_matrix_of_the_textbook() -> None:
    model = (
        ada.Builder("ball")
        .link("base")
        .link("ball", 2.0)
        .joint("z", "prismatic", "base", "ball", axis=(0, 0, 1))
        .build()
    )
    sim, g, speed, e = ada.Simulation(model, [1.0]), 9.81, -3.0, 0.8
    jump = sim.saltation_matrix(
        Event("lands", lambda t, q, v: q[0]), [0.0], [speed], reset=lambda q, v: (q, [-e * v[0]])
    )
    assert np.allclose(jump.S, [[-e, 0.0], [-(1 + e) * g / speed, -e]], rtol=0.0, atol=1e-13)
    assert np.allclose(jump.at_event, [[0.0, 0.0], [g / speed, 1.0]], rtol=0.0, atol=1e-13)
    assert np.allclose(jump.time, [-1.0 / speed, 0.0], rtol=0.0, atol=1e-13)
    assert jump.v == pytest.approx(-e * speed)


@pytest.mark.parametrize(
    "make", [mechanisms.five_bar, lambda: (random_tree(5, ["revolute", "spherical"], "floating"), None)]
)
def test_a_motion_through_an_event_changes_as_differences_say(make) -> None:
    model, start = make()
    sim, q, v, tau = moving(model, start, integrator="dop853", tolerance=1e-13)
    j, end = model.v_index(model.joint_names[-1]).start, 0.08

    def to_the_end(dq: Array, dv: Array, until: float = end) -> tuple[float, Array, Array, Array]:
        run = lambda *state, events=(), time=until: ada.Simulation(  # noqa: E731
            model, *state, tau=tau, integrator="dop853", tolerance=1e-14, step=1e-2, events=events
        ).run(time)
        first = run(*sim.dynamics.project_to_constraints(model.integrate(q, dq), v + dv), events=[event])
        t = float(first.t[-1])
        second = run(first.q[-1], 0.5 * first.v[-1], time=until - t)
        return t, first.q[-1], first.v[-1], second

    at = ada.Simulation(model, q, v, tau=tau, integrator="dop853", tolerance=1e-14).run(0.05).v[-1, j]
    event = Event("passes", lambda t, q, v: v[j] - at + 3.0 * (t - 0.05), terminal=True)
    t, q_e, v_e, after = to_the_end(np.zeros(model.nv), np.zeros(model.nv))
    before = ada.Simulation(model, q, v, step=t / 50, integrator="rkf45").step_derivatives(q, v, tau, steps=50)
    fixed = ada.Simulation(model, q, v, step=(end - t) / 50, integrator="rkf45")
    jump = fixed.saltation_matrix(event, q_e, v_e, tau, t=t, reset=lambda q, v: (q, [0.5 * x for x in v]))
    later = fixed.step_derivatives(jump.q, jump.v, tau, steps=50)
    whole, h = later.A @ jump.S @ before.A, 1e-4
    rng = np.random.default_rng(4)
    for _ in range(3):
        d = rng.normal(size=2 * model.nv)
        if model.loops:
            d = sim.dynamics.constraints.state_map(q, v) @ rng.normal(
                size=2 * sim.dynamics.constraints.coordinates.mobility
            )
        runs = [to_the_end(*np.split(s * d, 2)) for s in (-2 * h, -h, h, 2 * h)]
        ends = [(t, np.r_[model.difference(after.q[-1], x.q[-1]), x.v[-1]]) for t, _, _, x in runs]
        slope = lambda i: (ends[0][i] - 8 * ends[1][i] + 8 * ends[2][i] - ends[3][i]) / (12 * h)  # noqa: E731, B023
        wanted = slope(1)
        assert np.allclose(whole @ d, wanted, rtol=0.0, atol=1e-7 * np.max(np.abs(wanted)))
        assert jump.time @ before.A @ d == pytest.approx(slope(0), rel=1e-7)


def test_events_without_derivatives_are_refused() -> None:
    model = ada.planar_chain(2)
    ends, seen = (Event(name, lambda t, q, v: q[0] - 0.299, terminal=name == "ends") for name in ("ends", "seen"))
    q, v, tau = [0.3, 0.2], [-1.0, 0.0], np.zeros((60, 2))
    ending, sim = (ada.Simulation(model, q, v, events=[event]) for event in (ends, seen))
    sim.rollout_vjp(q, v, tau)
    for refused in (
        lambda: ending.rollout_vjp(q, v, tau),
        lambda: ending.rollout_derivatives(q, v, tau),
        lambda: sim.saltation_matrix(Event("touched", lambda t, q, v: q[0] - 0.3 + t), q, v),
        lambda: sim.saltation_matrix(Event("x", lambda t, q, v: float(q[0])), q, v),
        lambda: sim.saltation_matrix(Event("x", lambda t, q, v: np.sin(q[0])), q, v),
        lambda: sim.saltation_matrix("seen", q, v, reset=lambda q, v: (q, [])),
    ):
        with pytest.raises(ada.EventError):
            refused()
    with pytest.raises(ada.UnknownNameError):
        sim.saltation_matrix("sean", q, v)
