# SPDX-License-Identifier: Apache-2.0
"""A model in pinocchio has our coordinates and moves as closed forms, our own dynamics, and an exact solution say."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from loop_robots import mechanism
from mechanism_oracle import Oracle
from pin_tree import pin
from random_trees import Array, constants, solid, state_of
from refused import refused
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.model.elements import Mimic
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.mechanisms import Mechanism
from ada_experiments.pinocchio_model import CONSTRAINT_DYNAMICS, DENSE, PinocchioModel

# Sums of some hundred products in double precision, of which 1e-14 is seen.
ROUNDING = 1e-11
# The worst of these mechanisms, a ladder, has a condition number of 1e5.
MECHANISM = 1e-9
RATES = {"damping": 0.3, "friction": 0.2, "armature": 0.1}
WRENCHES = {"link_3": (1.0, -2.0, 3.0, 0.5, 0.2, -0.4), "link_7": (0.0, 4.0, 0.0, 0.3, 0.0, 1.0)}


def every_joint(with_mimic: bool = False, **rates: float) -> ada.Model:
    """A branched tree with every joint type on oblique axes."""
    rng = np.random.default_rng(0)
    builder = ada.Builder("every_joint").link("link_0", *solid(rng))
    kinds = [kind for kind in JOINT_TYPES if kind != "floating"]
    for i, kind in enumerate(kinds, start=1):
        first, second, _ = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        options: dict[str, Any] = constants(kind) | ({"axis2": second} if kind == "universal" else {})
        if kind != "fixed":
            options |= {"axis": first, **rates}
        pose = rng.uniform(-0.5, 0.5, 3), rng.uniform(-2, 2, 3)
        builder.link(f"link_{i}", *solid(rng)).joint(kind, kind, f"link_{i // 2}", f"link_{i}", *pose, **options)
    if with_mimic:
        for i, leader in ((20, "revolute"), (21, "prismatic")):
            mimic = Mimic(leader, -1.5, 0.2)
            builder.link(f"link_{i}", *solid(rng))
            builder.joint(f"mimic_{i}", leader, "link_5", f"link_{i}", (0.1, 0.2, 0.3), axis=(0, 1, 0), mimic=mimic)
    return builder.build("floating", gravity=(1.0, -2.0, -9.0))


def assert_near(found: Array, expected: Array, tolerance: float = ROUNDING) -> None:
    assert np.max(np.abs(found - expected)) < tolerance * max(1.0, float(np.max(np.abs(expected))))


@pytest.mark.parametrize("with_mimic", [False, True])
def test_a_step_along_our_velocity_is_the_same_step_in_pinocchio(with_mimic: bool) -> None:
    model = every_joint(with_mimic)
    other = PinocchioModel(model)
    for seed in range(5):
        q, v, _ = state_of(model, seed)
        stepped = pin.integrate(other.model, other.position(q), other.velocity(0.1 * v))
        assert_near(other.position(model.integrate(q, v, 0.1)), stepped)


@pytest.mark.parametrize("with_mimic", [False, True])
def test_coordinates_come_back_from_pinocchio_as_they_went_and_efforts_keep_their_power(with_mimic: bool) -> None:
    model = every_joint(with_mimic)
    other = PinocchioModel(model)
    q, v, tau = state_of(model)
    assert other.position(q).shape == (other.model.nq,)
    assert np.allclose(model.difference(other.own_position(other.position(q)), q), 0.0, atol=1e-14)
    assert (other.own_velocity(other.velocity(v)) == v).all()
    assert (other.own_effort(other.effort(tau)) == tau).all()
    assert other.effort(tau) @ other.velocity(v) == pytest.approx(tau @ v, rel=1e-14)


@pytest.mark.parametrize("with_mimic", [False, True])
def test_every_joint_type_with_rotors_losses_and_wrenches_moves_as_our_dynamics_say(with_mimic: bool) -> None:
    model = every_joint(with_mimic, **RATES)
    other, dyn = PinocchioModel(model), ada.Dynamics(model)
    assert other.solvers == (("dense",) if with_mimic else ("aba", "dense"))
    for seed in range(3):
        q, v, tau = state_of(model, seed)
        for solver in other.solvers:
            a = other.forward(q, v, tau, WRENCHES, solver)
            assert_near(dyn.inverse(q, v, a, external=WRENCHES), tau)
        assert_near(other.inverse(q, v, a, WRENCHES), tau)


@pytest.mark.parametrize("solver", [CONSTRAINT_DYNAMICS, DENSE])
def test_a_rhombus_of_unit_rods_swings_as_its_closed_form_says(solver: str) -> None:
    # crank and rocker turn (1/3 m l² each), the coupler only moves along (m l²): 5/3 θ'' = 2 g sin θ, θ from upright
    model, q = mechanisms.four_bar()
    a = PinocchioModel(model).forward(q, np.zeros(3), np.zeros(3), solver=solver)
    crank = 6.0 / 5.0 * 9.81 * np.sin(q[0])
    assert_near(a, np.array([crank, -crank, crank]))


MECHANISMS: dict[str, tuple[Callable[[], Mechanism], str]] = {
    "four_bar": (mechanisms.four_bar, CONSTRAINT_DYNAMICS),
    "five_bar": (mechanisms.five_bar, CONSTRAINT_DYNAMICS),
    "ladder": (lambda: mechanisms.ladder(4), CONSTRAINT_DYNAMICS),
    "hexa": (mechanisms.hexa, CONSTRAINT_DYNAMICS),
    "stewart": (mechanisms.stewart, CONSTRAINT_DYNAMICS),
    "delta": (mechanisms.delta, CONSTRAINT_DYNAMICS),
    "two_feet": (partial(mechanism, "two_feet"), CONSTRAINT_DYNAMICS),
    "slider_crank": (partial(mechanism, "slider_crank"), DENSE),
    "bennett": (partial(mechanism, "bennett"), DENSE),
    "cassie_leg": (partial(mechanism, "cassie_leg"), CONSTRAINT_DYNAMICS),
    "watt_six_bar": (partial(mechanism, "watt_six_bar"), CONSTRAINT_DYNAMICS),
}


QUICK = ("four_bar", "ladder", "slider_crank", "bennett")


@pytest.mark.parametrize("name", [n if n in QUICK else nightly(n) for n in MECHANISMS])
def test_mechanisms_move_as_an_exact_solution_says_by_every_solver_and_by_our_dynamics(name: str) -> None:
    make, default = MECHANISMS[name]
    model, q = make()
    other, oracle = PinocchioModel(model), Oracle(model)
    assert other.solvers[0] == default
    rng = np.random.default_rng(3)
    v, tau = oracle.admissible(q, rng.normal(size=model.nv)), 5.0 * rng.normal(size=model.nv)
    wrenches = {model.link_names[-1]: rng.normal(size=6)}
    exact = oracle.forward(q, v, tau, wrenches).acceleration
    for solver in other.solvers:
        assert_near(other.forward(q, v, tau, wrenches, solver), exact, MECHANISM)
    assert_near(ada.Dynamics(model, q0=q).forward(q, v, tau, wrenches), exact, MECHANISM)


def test_unusable_arguments_are_named() -> None:
    model, q = mechanism("slider_crank")
    other, zero = PinocchioModel(model), np.zeros(3)
    with refused(ada.InputError, field="v", value=(2,), allowed=(3,)):
        other.forward(q, zero[:2], zero)
    with refused(ada.InputError, field="solver for model 'slider_crank' in pinocchio", value="constraintDynamics"):
        other.forward(q, zero, zero, solver=CONSTRAINT_DYNAMICS)
    with refused(ada.InputError, link="slyder"):
        other.forward(q, zero, zero, {"slyder": np.zeros(6)})
    with refused(ada.InputError, link="slider", field="external", value=(3,)):
        other.forward(q, zero, zero, {"slider": np.zeros(3)})


def test_accelerations_that_do_not_exist_are_refused() -> None:
    builder = ada.Builder("loose").link("base").link("nothing")
    model = builder.joint("hinge", "revolute", "base", "nothing", axis=(0, 1, 0)).build()
    for solver in ("aba", "dense"):
        with refused(ada.InputError, field="q"):
            PinocchioModel(model).forward([0.0], [0.0], [1.0], solver=solver)
