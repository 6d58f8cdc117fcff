# SPDX-License-Identifier: Apache-2.0
"""Efforts with loops, for one state and in batches, and at singular poses, of which every call tells."""

import dataclasses
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from loop_robots import mechanism
from mechanism_oracle import Oracle, least_efforts
from refused import refused

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.jit import GuardError
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.model.edit import with_parts
from ada_dynamics.robots.mechanisms import five_bar, four_bar

Array = Any
FLAT = np.array([np.pi / 2, 0.0, np.pi])  # the unit rhombus, all rods along x: two branches cross
BRANCHES = {"parallelogram": np.array([1.0, -1.0, 1.0]), "fold": np.array([0.0, -1.0, 0.0])}
REST = np.zeros(3)


@pytest.fixture(scope="module")
def rhombus() -> ada.Dynamics:
    return ada.Dynamics(four_bar().model)


def needed(dynamics: ada.Dynamics, q: Array, v: Array, a: Array) -> Array:
    """Efforts on all joints of the open tree, by pinocchio."""
    tree = Oracle(dynamics.model).tree
    return np.asarray(tree.mass_matrix(q) @ a + tree.bias(q, v))


@pytest.mark.parametrize("beside", [0.0, 1e-9, -1e-8, 1e-7, -1e-6, 1e-5, 1e-3])
@pytest.mark.parametrize("branch", list(BRANCHES))
def test_virtual_power_of_efforts_is_that_along_the_branch_it_moves_on(
    rhombus: ada.Dynamics, branch: str, beside: float
) -> None:
    way = BRANCHES[branch]
    q, v, a = FLAT + beside * way, 2.0 * way, 0.3 * way
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ada.SingularConfigurationWarning)
        efforts = rhombus.inverse(q, v, a)
    wanted = float(way @ needed(rhombus, q, v, a))
    # 1e-8 beside the pose, J's null space and the branch's tangent are both good to the root of rounding
    assert float(way @ efforts) == pytest.approx(wanted, abs=1e-6)


def test_efforts_at_rest_hold_along_both_branches(rhombus: ada.Dynamics) -> None:
    with pytest.warns(ada.BifurcationWarning):
        efforts = rhombus.inverse(FLAT, REST, REST)
    weight = needed(rhombus, FLAT, REST, REST)
    for way in BRANCHES.values():
        assert float(way @ efforts) == pytest.approx(float(way @ weight), abs=1e-9)


CALLS: dict[str, Callable[[ada.Dynamics, Array, Array], object]] = {
    "forward": lambda d, q, v: d.forward(q, v, np.zeros_like(v)),
    "inverse": lambda d, q, v: d.inverse(q, v, np.zeros_like(v)),
    "joint_wrenches": lambda d, q, v: d.joint_wrenches(q, v, np.zeros_like(v)),
    "project": lambda d, q, v: d.project_to_constraints(q, v),
}


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("call", list(CALLS))
def test_everything_tells_of_a_singular_pose(rhombus: ada.Dynamics, call: str, is_batch: bool) -> None:
    closed = ada.close_loops(rhombus.model, four_bar().q)
    moving, still = 2.0 * BRANCHES["parallelogram"], REST
    for v, flag in ((moving, ada.SingularConfigurationWarning), (still, ada.BifurcationWarning)):
        q = np.array([closed, FLAT]) if is_batch else FLAT
        with pytest.warns(flag) as caught:
            CALLS[call](rhombus, q, np.array([REST, v]) if is_batch else v)
        assert caught[0].message.loops == ("closing",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CALLS[call](rhombus, np.asarray(closed), REST)
    assert rhombus.constraints.state(FLAT).is_singular


@pytest.mark.parametrize("is_batch", [False, True])
@pytest.mark.parametrize("call", ["forward", "inverse", "joint_wrenches"])
def test_everything_tells_of_open_loops_and_of_velocities_that_open_them(call: str, is_batch: bool) -> None:
    model, q = four_bar()
    still, way = np.zeros(3), np.array([0.0, 0.01, 0.0])
    for off, v, kind in ((q + way, still, ada.ConstraintViolationWarning), (q, 10.0 * way, ada.LoopVelocityWarning)):
        with pytest.warns(kind) as caught:
            CALLS[call](
                ada.Dynamics(model), np.array([q, off]) if is_batch else off, np.array([still, v]) if is_batch else v
            )
        assert (caught[0].message.loops, caught[0].message.states) == (("closing",), (1,) if is_batch else ())


def test_a_projection_that_does_not_close_says_so() -> None:
    off = np.array([-np.pi / 2, 0.0, 0.0])  # stretched away from the second pivot, where no step closes
    with pytest.warns(ada.ConstraintViolationWarning), pytest.warns(ada.BifurcationWarning):
        ada.Dynamics(four_bar().model).project_to_constraints(off, REST)


def test_a_link_without_inertia_that_the_loops_hold_is_projected_as_one_with_next_to_none() -> None:
    model, q = four_bar()
    last = model.links[model.joints[model.joint_names[-1]].child]
    v, found = np.random.default_rng(3).normal(size=3), []
    for mass in (0.0, 1e-11):
        light = dataclasses.replace(last, mass=mass, inertia=mass * np.eye(3))
        dynamics = ada.Dynamics(with_parts(model, light))
        found.append(dynamics.project_to_constraints(q + 1e-3, v))
        assert np.linalg.eigvalsh(dynamics.mass_matrix(q))[0] < 1e-10
    for without, with_some in zip(*found, strict=True):
        np.testing.assert_allclose(without, with_some, atol=1e-8)


def test_motions_that_nothing_resists_have_no_nearest_state() -> None:
    model, q = four_bar()
    light = [dataclasses.replace(x, mass=0.0, inertia=np.zeros((3, 3))) for x in model.links.values()]
    with pytest.raises(GuardError):
        ada.Dynamics(with_parts(model, *light)).project_to_constraints(q, REST)


@pytest.mark.parametrize("copies", [1, 150])
@pytest.mark.parametrize("name", ["four_bar", "bennett"])
def test_a_batch_is_projected_to_the_bits_of_its_states(name: str, copies: int) -> None:
    model, q = mechanism(name)
    dynamics, rng = ada.Dynamics(model, q0=q), np.random.default_rng(2)
    off = np.array([0.0, 0.02, 0.05, 1e-6, 0.0, 0.1, 0.02])
    Q = np.array([model.integrate(q, size * rng.normal(size=model.nv), 1.0) for size in off])
    V = rng.normal(size=(7, model.nv))
    found_q, found_v = dynamics.project_to_constraints(np.tile(Q, (copies, 1)), np.tile(V, (copies, 1)))
    np.testing.assert_array_equal(found_q, np.tile(found_q[:7], (copies, 1)))
    np.testing.assert_array_equal(found_v, np.tile(found_v[:7], (copies, 1)))
    for i in range(7):
        one_q, one_v = dynamics.project_to_constraints(Q[i], V[i])
        np.testing.assert_array_equal(found_q[i], one_q)
        np.testing.assert_array_equal(found_v[i], one_v)
    assert np.max(dynamics.constraints.closure_error(found_q)) < 1e-14
    nothing = dynamics.project_to_constraints(Q[:0], V[:0])
    assert [x.shape for x in nothing] == [(0, model.nq), (0, model.nv)]


def test_one_motor_at_rest_drives_the_branch_that_it_can_in_a_batch_as_alone(rhombus: ada.Dynamics) -> None:
    model = rhombus.model
    links, joints, loops = (list(x.values()) for x in (model.links, model.joints, model.loops))
    crank = ada.Dynamics(
        ada.Model("crank", model.root, links, joints, model.gravity, loops=loops, actuated=["joint_1"])
    )
    a = 0.3 * BRANCHES["parallelogram"]
    rows = (np.array([FLAT, FLAT]), np.zeros((2, 3)), np.array([a, -2.0 * a]))
    with pytest.warns(ada.BifurcationWarning):
        together = crank.inverse(*rows)
        alone = [crank.inverse(*row) for row in zip(*rows, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-12)
    way = BRANCHES["parallelogram"]
    assert not np.any(together[:, 1:])
    with pytest.warns(ada.BifurcationWarning), refused(ada.InputError, field="actuated", allowed=("joint_1",)):
        crank.inverse(FLAT, REST, 0.3 * BRANCHES["fold"])
    for row, efforts in zip(zip(*rows, strict=True), together, strict=True):
        assert float(way @ efforts) == pytest.approx(float(way @ needed(rhombus, *row)), abs=1e-9)


@pytest.mark.parametrize("size", [1.0, 3.0])
def test_open_loops_are_warned_of_from_a_ten_thousandth_of_a_length_on(size: float) -> None:
    model, q = four_bar((size,) * 4)
    way = np.array([1.0, 0.0, 0.0])  # opens the loop of the rhombus by its length per radian
    for share, is_told in ((0.5e-4, False), (3e-4, True)):
        for state, kind in (
            ((q + share * way, REST), ada.ConstraintViolationWarning),
            ((q, share * way), ada.LoopVelocityWarning),
        ):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                ada.Dynamics(model).forward(*state, REST)
            assert [one.category for one in caught] == [kind] * is_told
            assert all(one.filename == __file__ for one in caught)


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
    model, start = five_bar()
    dynamics = ada.Dynamics(model, q0=start)
    q, v, a = states(model, dynamics, start)
    link, wrench = model.link_names[-1], np.array([10.0, -20.0, 30.0, 1.0, -2.0, 3.0])
    tau = dynamics.inverse(q, v, a, {link: wrench})
    assert np.array_equal(tau[4], dynamics.inverse(q[4], v[4], a[4], {link: wrench}))
    back = dynamics.forward(q, v, tau, {link: wrench})
    assert np.max(np.abs(back - a)) < 1e-9 * np.max(np.abs(a))
    assert np.max(np.abs(tau - dynamics.inverse(q, v, a))) > 0.1


def test_states_in_singular_configurations_leave_the_others_of_a_batch_as_they_are() -> None:
    model, start = four_bar()
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
    model, start = five_bar()
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
    model, start = five_bar()
    parts = [list(x.values()) for x in (model.links, model.joints, model.loops)]
    one = ada.Model("one", model.root, *parts[:2], model.gravity, loops=parts[2], actuated=["left_crank"])
    dynamics = ada.Dynamics(one, q0=start)
    given = states(one, dynamics, start)
    for arguments in (given, [x[0] for x in given]):
        with refused(InputError, field="actuated", allowed=("left_crank",)):
            dynamics.inverse(*arguments[:2], arguments[2] + 1.0)
