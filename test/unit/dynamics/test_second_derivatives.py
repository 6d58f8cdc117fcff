# SPDX-License-Identifier: Apache-2.0
"""Products of derivatives with vectors, and second derivatives as such: against matrices, differences and pinocchio."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from complex_step import Long, slopes
from loop_robots import mechanism as named
from numpy.typing import NDArray
from random_trees import KINDS, random_tree
from refused import refused

import ada_dynamics as ada
from ada_dynamics.dynamics import closed_derivatives
from ada_dynamics.dynamics.computation import kernels_of
from ada_dynamics.dynamics.derivative_quantities import Equations, of_equations, open_equations
from ada_dynamics.dynamics.quantities import Quantity
from ada_dynamics.expr import evaluate
from ada_dynamics.hybrid.lane_tree import lane_tree
from ada_dynamics.robots import mechanisms
from benchmarks import robots
from trials.random_mechanism import random_mechanism

Array = NDArray[np.float64]
SAME = 1e-9
MORE = ("cassie_leg", "parallel_gripper", "delta", "hexa", "stewart", "two_feet", "slider_crank")


def equations(dynamics: ada.Dynamics) -> Equations:
    closed, kernels = kernels_of(dynamics).closed, kernels_of(dynamics)
    if closed is None:
        return open_equations(kernels.tree, lambda: kernels.algorithm)
    return closed_derivatives.equations(closed)


def computed(of: Quantity, given: dict[str, Any]) -> Long:
    found = evaluate(of.trace(), **given)
    return np.array([found[name] for name in of.shapes])


def changes(of: Quantity, model: ada.Model, given: dict[str, Array], moving: dict[str, Array]) -> Long:
    """Of three results, with those of three arguments."""

    def along(*state: Any) -> Long:
        return computed(of, {**given, **dict(zip(moving, state, strict=True))}).ravel()

    directions = np.concatenate(list(moving.values()))[:, None]
    return slopes(along, model.tree, [given[name] for name in moving], directions).reshape(3, -1)


def assert_like_differences(dynamics: ada.Dynamics, q: Array, v: Array) -> None:
    """Of forward dynamics and, without loops, of inverse dynamics, in one random direction."""
    model, made = dynamics.model, equations(dynamics)
    third, w, d_q, d_v, d_third = np.random.default_rng(3).normal(size=(5, model.nv))
    for name, of in [("tau", "forward"), ("a", "inverse")][: 1 if model.loops else 2]:
        given, moving = {"q": q, "v": v, name: third, "w": w}, {"q": d_q, "v": d_v, name: d_third}
        wanted = changes(of_equations(made, f"{of}_vjp"), model, given, moving)
        found = computed(of_equations(made, f"{of}_hvp"), {**given, **{f"d_{key}": x for key, x in moving.items()}})
        assert np.max(np.abs(found - wanted)) < SAME * np.max(np.abs(wanted))


Moving = tuple[ada.Dynamics, Array, Array]


def tree(model: ada.Model, seed: int = 5, **options: Any) -> Moving:
    rng = np.random.default_rng(seed)
    return ada.Dynamics(model, **options), model.random_state(rng)[0], rng.normal(size=model.nv)


def loops(name: str) -> Moving:
    model, start = named(name)
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(1)
    q = model.integrate(start, 0.1 * rng.normal(size=model.nv))
    return dynamics, *dynamics.project_to_constraints(q, rng.normal(size=model.nv))


def mechanism(seed: int) -> Moving:
    rng = np.random.default_rng(seed)
    model, q = random_mechanism(rng, floating=seed % 3 == 0, spatial=seed % 4 != 3, losses=seed % 2 == 0)
    dynamics = ada.Dynamics(model, q0=q)
    return dynamics, *dynamics.project_to_constraints(q, rng.normal(size=model.nv))


CASES: dict[str, Callable[[], Moving]] = {
    "every type of joint": lambda: tree(random_tree(0, KINDS)),
    "joints that follow": lambda: tree(random_tree(2, ["revolute"] * 5, "floating", mimics={4: 2})),
    "random mechanism": lambda: mechanism(1),
    **{name: partial(loops, name) for name in ("four_bar", "five_bar", "bennett")},
}
MORE_CASES: dict[str, Callable[[], Moving]] = {
    **{base: partial(tree, random_tree(0, KINDS, base)) for base in ("floating", "floating_euler")},
    **{f"humanoid {name}": partial(tree, robots.humanoid(), algorithm=name) for name in ("auto", "aba", "crba")},
    **{name: partial(loops, name) for name in MORE},
}


@pytest.mark.parametrize("name", [*CASES, *(pytest.param(name, marks=pytest.mark.fuzz) for name in MORE_CASES)])
def test_they_are_differences(name: str) -> None:
    assert_like_differences(*(CASES | MORE_CASES)[name]())


@pytest.mark.fuzz
@pytest.mark.parametrize("make", [lambda seed: tree(random_tree(seed, KINDS), seed), mechanism])
def test_they_are_differences_for_random_robots(make: Callable[[int], Moving]) -> None:
    for seed in range(2, 600):
        print("seed", seed)  # the last one is what failed
        assert_like_differences(*make(seed))


@pytest.mark.parametrize("make", [lambda: (random_tree(3, ["revolute", "spherical"]), None), mechanisms.four_bar])
@pytest.mark.filterwarnings("ignore::ada_dynamics.errors.LoopVelocityWarning")
def test_they_say_how_the_gradient_changes_where_a_step_of_the_pose_leads(make: Any) -> None:
    model, start = make()
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(4)
    q, v = (model.random_state(rng)[0] if start is None else start), rng.normal(size=model.nv)
    d_q, d_v = rng.normal(size=(2, model.nv))
    if model.loops:
        q, v = dynamics.project_to_constraints(q, v)
        d_q = dynamics.project_to_constraints(q, d_q)[1]
    third, w, d_third = rng.normal(size=(3, model.nv))
    methods = [(dynamics.forward_vjp, dynamics.derivatives.forward_hvp)]
    methods += [] if model.loops else [(dynamics.inverse_vjp, dynamics.derivatives.inverse_hvp)]
    for first, second in methods:

        def gradient(s: float, first: Any = first) -> Array:
            return np.array(first(model.integrate(q, d_q, s), v + s * d_v, third + s * d_third, w))

        h = 1e-3
        wanted = (8.0 * (gradient(h) - gradient(-h)) - (gradient(2 * h) - gradient(-2 * h))) / (12.0 * h)
        given = (q, v, third, w, d_q, d_v, d_third)
        found = second(*given)
        assert np.max(np.abs(np.array(found) - wanted)) < 1e-8 * np.max(np.abs(wanted))
        together = second(*(np.array([x] * 9) for x in given))
        for one, batch in zip(found, together, strict=True):
            assert batch.shape == (9, model.nv)
            assert np.max(np.abs(batch - one)) < 1e-12 * np.max(np.abs(wanted))


@pytest.mark.parametrize("algorithm", ["lanes", pytest.param("aba", marks=pytest.mark.fuzz)])
def test_first_products_are_those_of_the_matrices(algorithm: str) -> None:
    model, rng = random_tree(0, ["revolute", "prismatic"] * 2), np.random.default_rng(6)
    assert lane_tree(model.tree).has_lanes
    dynamics, q = ada.Dynamics(model, algorithm), model.random_state(rng)[0]
    v, third, d_q, d_v, d_third, w = rng.normal(size=(6, model.nv))
    for matrices, along, against in (
        (dynamics.forward_derivatives, dynamics.forward_jvp, dynamics.forward_vjp),
        (dynamics.inverse_derivatives, dynamics.inverse_jvp, dynamics.inverse_vjp),
    ):
        found = matrices(q, v, third)
        size = max(np.max(np.abs(x)) for x in found)
        wanted = found.dq @ d_q + found.dv @ d_v + found.du @ d_third
        assert np.max(np.abs(along(q, v, third, d_q, d_v, d_third) - wanted)) < 1e-11 * size
        for mine, matrix in zip(against(q, v, third, w), found, strict=True):
            assert np.max(np.abs(mine - w @ matrix)) < 1e-11 * size


def test_singular_poses_are_named_and_regular_ones_that_stop_the_fast_elimination_are_served() -> None:
    model, start = mechanisms.four_bar()
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(1)
    tau, w, d_v, d_tau = rng.normal(size=(4, 3))
    flat, folded = np.array([np.pi / 2, 0.0, np.pi]), np.array([np.pi / 2, -0.5, np.pi])
    v, d_q = (dynamics.project_to_constraints(folded, x)[1] for x in rng.normal(size=(2, 3)))
    for where, poses in (("q", flat), ("q[1]", np.array([start, flat, start]))):
        with refused(ada.SingularConfigurationError, loop="closing", field=where):
            dynamics.derivatives.forward_hvp(poses, v, tau, w, d_q, d_v, d_tau)
    closed = kernels_of(dynamics).closed
    assert closed is not None
    robust = closed_derivatives.equations(closed, closed_derivatives.LATE)
    given, moving = {"q": folded, "v": v, "tau": tau, "w": w}, {"q": d_q, "v": d_v, "tau": d_tau}
    wanted = changes(of_equations(robust, "forward_vjp"), model, given, moving)
    found = np.array(dynamics.derivatives.forward_hvp(*given.values(), *moving.values()))
    assert np.max(np.abs(found - wanted)) < SAME * np.max(np.abs(wanted))


def test_redundant_loops_have_none_where_no_fixed_choice_of_conditions_serves() -> None:
    model, q = named("bennett")
    dynamics, z = ada.Dynamics(model, solver="rank-revealing"), np.zeros(model.nv)
    with refused(ada.InputError, field="q") as caught:
        dynamics.derivatives.forward_hvp(q, z, z, z, z, z, z)
    assert caught.value.loop in model.loops


def test_products_of_inverse_dynamics_are_refused_with_loops() -> None:
    model, q = mechanisms.four_bar()
    dynamics, z = ada.Dynamics(model), np.zeros(3)
    with refused(ada.InputError, field="coordinates", allowed=("actuated", "independent")):
        dynamics.inverse_derivatives(q, z, z)
    for ask in (
        lambda: dynamics.inverse_jvp(q, z, z, z, z, z),
        lambda: dynamics.inverse_vjp(q, z, z, z),
        lambda: dynamics.derivatives.inverse_hvp(q, z, z, z, z, z, z),
    ):
        with refused(ada.InputError, loop="closing") as caught:
            ask()
        assert caught.value.field.startswith("inverse_")
