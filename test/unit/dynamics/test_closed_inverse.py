# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics with loops is one kernel, for one state and for batches; numbers take what it refuses."""

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from loop_robots import mechanism
from mechanism_oracle import Oracle, least_efforts
from refused import refused

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.robots import mechanisms

Array = Any
FLAT = np.array([np.pi / 2, 0.0, np.pi])  # the unit rhombus, all rods along x
COUNT = 21  # states: blocks of lanes, and some beside them


def states(model: ada.Model, dynamics: ada.Dynamics, start: Array) -> list[Array]:
    """Positions and velocities on the loops, and accelerations that they allow."""
    rng = np.random.default_rng(5)
    near = [model.integrate(start, 0.1 * rng.normal(size=model.nv), 1.0) for _ in range(COUNT)]
    q, v = dynamics.project_to_constraints(np.array(near), 0.3 * rng.normal(size=(COUNT, model.nv)))
    return [q, v, dynamics.forward(q, v, rng.normal(size=v.shape))]


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "bennett", pytest.param("stewart", marks=pytest.mark.fuzz)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_batch_has_the_least_efforts_and_the_bits_of_its_states(name: str, order: Any) -> None:
    model, start = mechanism(name)
    dynamics = ada.Dynamics(model, q0=start)
    given = states(model, dynamics, start)
    alone = np.array([dynamics.inverse(*state) for state in zip(*given, strict=True)])
    assert np.array_equal(dynamics.inverse(*(np.asarray(x, order=order) for x in given)), alone)
    oracle = Oracle(model)
    for q, v, a, tau in zip(*given, alone, strict=True):
        expected = least_efforts(oracle, q, v, a)
        assert np.max(np.abs(tau - expected)) < 1e-8 * np.max(np.abs(expected))


def test_wrenches_on_links_count() -> None:
    model, start = mechanisms.five_bar()
    dynamics = ada.Dynamics(model, q0=start)
    q, v, a = states(model, dynamics, start)
    link, wrench = model.link_names[-1], np.array([10.0, -20.0, 30.0, 1.0, -2.0, 3.0])
    tau = dynamics.inverse(q, v, a, {link: wrench})
    assert np.array_equal(tau[4], dynamics.inverse(q[4], v[4], a[4], {link: wrench}))
    back = dynamics.forward(q, v, tau, {link: wrench})
    assert np.max(np.abs(back - a)) < 1e-9 * np.max(np.abs(a))
    assert np.max(np.abs(tau - dynamics.inverse(q, v, a))) > 0.1


def test_states_in_singular_configurations_leave_the_others_of_a_batch_as_they_are() -> None:
    model, start = mechanisms.four_bar()
    dynamics = ada.Dynamics(model, q0=start)
    given = states(model, dynamics, start)
    alone = dynamics.inverse(*given)
    way = np.array([1.0, -1.0, 1.0])
    for x, flat in zip(given, (FLAT, 2.0 * way, 0.3 * way), strict=True):
        x[[3, 17]] = flat
    with pytest.warns(ada.SingularConfigurationWarning):
        found = dynamics.inverse(*given)
    others = np.setdiff1d(np.arange(COUNT), [3, 17])
    assert np.array_equal(found[others], alone[others])
    if reason_for_fallback() is None:
        assert inspect.isbuiltin(dynamics.inverse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ada.SingularConfigurationWarning)
        assert np.array_equal(found[3], dynamics.inverse(*(x[3] for x in given)))
    assert np.array_equal(found[3], found[17])


def test_numbers_that_are_not_finite_are_refused_by_name() -> None:
    model, start = mechanisms.five_bar()
    dynamics = ada.Dynamics(model, q0=start)
    given = states(model, dynamics, start)
    for is_batch in (True, False):
        for name, i in (("q", 0), ("v", 1), ("a", 2)):
            bad = [x.copy() if is_batch else x[7].copy() for x in given]
            bad[i][..., 1] = np.nan
            with pytest.raises(InputError) as caught:
                dynamics.inverse(*bad)
            assert (caught.value.field, np.isnan(caught.value.value)) == (f"{name}[{'0, ' * is_batch}1]", True)


def test_motors_that_do_not_drive_all_motions_are_refused_in_batches_too() -> None:
    model, start = mechanisms.five_bar()
    parts = [list(x.values()) for x in (model.links, model.joints, model.loops)]
    one = ada.Model("one", model.root, *parts[:2], model.gravity, loops=parts[2], actuated=["left_crank"])
    dynamics = ada.Dynamics(one, q0=start)
    given = states(one, dynamics, start)
    for arguments in (given, [x[0] for x in given]):
        with refused(InputError, field="actuated", allowed=("left_crank",)):
            dynamics.inverse(*arguments[:2], arguments[2] + 1.0)
