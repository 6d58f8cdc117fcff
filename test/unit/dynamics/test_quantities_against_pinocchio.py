# SPDX-License-Identifier: Apache-2.0
"""Coriolis matrix, inverse inertia, centre of mass, frames and interpolation by pinocchio; calls run compiled code."""

import inspect
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from pin_tree import PinTree, pin
from random_trees import Array, random_tree, states_of
from refused import refused

import ada_dynamics as ada
from ada_dynamics.jit.fallback import reason_for_fallback

MODELS = {
    "arm": lambda: random_tree(4, ["revolute", "prismatic", "revolute"]),
    "floating": lambda: random_tree(4, ["revolute", "spherical"], "floating"),
    "mimic": lambda: random_tree(2, ["revolute"] * 4, mimics={4: 2}),
}
EXACT: dict[str, Any] = {"rtol": 0.0, "atol": 1e-11}


@cache
def case(name: str) -> tuple[ada.Model, ada.Dynamics, PinTree, tuple[Array, ...]]:
    model = MODELS[name]()
    return model, ada.Dynamics(model), PinTree(model), states_of(model, 3)


@pytest.mark.parametrize("name", MODELS)
def test_the_coriolis_matrix_is_that_of_pinocchio(name: str) -> None:
    _, dynamics, peer, (Q, V, _) = case(name)
    C = dynamics.coriolis_matrix(Q, V)
    for i, (q, v) in enumerate(zip(Q, V, strict=True)):
        theirs = pin.computeCoriolisMatrix(peer.model, peer.data, peer.position(q), peer.velocity(v))
        np.testing.assert_allclose(C[i], peer.G.T @ theirs @ peer.G, **EXACT)
        np.testing.assert_allclose(dynamics.coriolis_matrix(q, v), C[i], rtol=0.0, atol=1e-13)


@pytest.mark.parametrize(
    "kinds", [["universal", "cylindrical"], ["spherical_euler", "planar"], ["helical", "universal"]]
)
def test_the_coriolis_matrix_gives_the_velocity_terms_and_the_rate_of_the_mass_matrix(kinds: list[str]) -> None:
    model = random_tree(3, kinds)
    dynamics, ((q,), (v,), _) = ada.Dynamics(model), states_of(model, 1)
    C, h = dynamics.coriolis_matrix(q, v), 1e-6
    terms = [dynamics.bias(q, sign * v) - dynamics.gravity(q) for sign in (1.0, -1.0)]  # losses are odd in v
    np.testing.assert_allclose(C @ v, 0.5 * (terms[0] + terms[1]), **EXACT)
    after, before = (dynamics.mass_matrix(model.integrate(q, v, t)) for t in (h, -h))
    np.testing.assert_allclose(C + C.T, (after - before) / (2.0 * h), rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_the_inverse_mass_matrix_is_that_of_pinocchio(name: str) -> None:
    _, dynamics, peer, (Q, _, _) = case(name)
    for q, found in zip(Q, dynamics.inverse_mass_matrix(Q), strict=True):
        np.testing.assert_allclose(found @ peer.mass_matrix(q), np.eye(len(found)), rtol=0.0, atol=1e-10)
        assert np.array_equal(found, found.T)


@pytest.mark.parametrize("name", MODELS)
def test_the_centre_of_mass_moves_as_in_pinocchio(name: str) -> None:
    _, dynamics, peer, (Q, V, A) = case(name)
    for q, v, a in zip(Q, V, A, strict=True):
        pin.centerOfMass(peer.model, peer.data, peer.position(q), peer.velocity(v), peer.velocity(a))
        np.testing.assert_allclose(dynamics.com_velocity(q, v), peer.data.vcom[0], **EXACT)
        np.testing.assert_allclose(dynamics.com_acceleration(q, v, a), peer.data.acom[0], **EXACT)


def test_all_links_and_frames_are_where_pinocchio_has_them() -> None:
    model, _, peer, (Q, V, _) = case("floating")
    link, xyz, rpy = model.link_names[-1], np.array([0.1, -0.2, 0.3]), np.array([0.4, -0.5, 0.6])
    placed = model.add_frame("tool", link, xyz, rpy).add_frame("camera", "tool", [0.0, 0.0, 0.1])
    dynamics, inside = ada.Dynamics(placed), pin.SE3(pin.rpy.rpyToMatrix(*rpy), xyz)
    assert (placed.nq, placed.nv, placed.actuated) == (model.nq, model.nv, model.actuated)
    for q, v in zip(Q, V, strict=True):
        peer.move(q, v)
        poses = dynamics.forward_kinematics(q)
        frames = {name: peer.frame(name) for name in model.link_names} | {
            "tool": peer.frame(link, inside),
            "camera": peer.frame(link, inside * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.1]))),
        }
        for name, frame in frames.items():
            np.testing.assert_allclose(poses[name][:3], np.column_stack([frame.R, frame.p]), **EXACT)
        tool = frames["tool"]
        np.testing.assert_allclose(dynamics.jacobian("tool", q), np.vstack([tool.Jv, tool.Jw]), **EXACT)
        np.testing.assert_allclose(dynamics.velocity("tool", q, v), np.concatenate([tool.v, tool.w]), **EXACT)
        np.testing.assert_allclose(dynamics.pose("tool", q), poses["tool"], **EXACT)


def test_unusable_frames_are_refused() -> None:
    model = ada.planar_chain(2)
    with refused(ada.UnknownNameError, allowed=tuple(model.link_names)):
        model.add_frame("tool", "hand")
    with refused(ada.InputError, field="name", value=model.link_names[-1]):
        model.add_frame(model.link_names[-1], model.link_names[0])


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0])
def test_configurations_are_interpolated_as_in_pinocchio(t: float) -> None:
    model, _, peer, (Q, _, _) = case("floating")
    theirs = pin.interpolate(peer.model, peer.position(Q[0]), peer.position(Q[1]), t)
    found = model.interpolate(Q[0], Q[1], t)
    np.testing.assert_allclose(model.difference(found, peer.own_position(theirs)), 0.0, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(model.interpolate(Q[:2], Q[1:], t)[0], found)


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
