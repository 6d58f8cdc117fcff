# SPDX-License-Identifier: Apache-2.0
"""Derivatives by lengths and frames: against differences between models that were built with other ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from random_trees import KINDS, floats, random_tree, state_of
from refused import refused
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.algorithms.aba import forward_dynamics
from ada_dynamics.model import edit
from ada_dynamics.model.model import link_poses
from ada_dynamics.model.rotations import Pose
from ada_dynamics.robots import mechanisms

Array = NDArray[np.float64]
STEP = 2e-4


def derivative(f: Callable[[float], Array]) -> Array:
    far, near = f(-2 * STEP) - f(2 * STEP), f(STEP) - f(-STEP)
    return np.asarray((8.0 * near + far) / (12.0 * STEP))


def built_with(model: ada.Model, name: str, change: float) -> ada.Model:
    """The model with one length or turn changed, by hand."""
    owner, _, rest = name.rpartition(".")
    side, _, direction = rest.rpartition("_")
    part = model.loops[owner] if side else model.joints[owner]
    prefix = f"{side}_" if side else ""
    axis = np.eye(3)["xyz".index(direction[-1])]
    if direction[0] == "r":
        turned = Rotation.from_rotvec(change * axis).as_matrix() @ getattr(part, f"{prefix}rotation")
        return edit.with_parts(model, replace(part, **{f"{prefix}rotation": turned}))
    return edit.with_parts(model, replace(part, **{f"{prefix}xyz": getattr(part, f"{prefix}xyz") + change * axis}))


def same(found: Array, wanted: Array, tolerance: float = 1e-9) -> None:
    assert found.shape == wanted.shape
    assert np.max(np.abs(found - wanted)) < tolerance * max(1.0, float(np.max(np.abs(wanted))))


def pose_change(one: Array, other: Pose) -> Array:
    R, p = other
    return np.concatenate([p - one[:3, 3], Rotation.from_matrix(R @ one[:3, :3].T).as_rotvec()])


@pytest.mark.parametrize("base", [pytest.param(base, marks=pytest.mark.fuzz) for base in ("fixed", "floating")])
def test_of_a_tree_with_every_kind_of_joint_they_are_those_between_models(base: str) -> None:
    kinds = [*[kind for kind in KINDS if kind != "fixed"][:7], "fixed", "revolute"]
    model = random_tree(5, kinds, base)
    q, v, tau = state_of(model, 3)
    dynamics = ada.Dynamics(model)
    names = [f"joint_{i}.{direction}" for i, direction in ((1, "x"), (2, "ry"), (3, "rx"), (5, "z"))]
    names += ["joint_8.y", "joint_9.rz"]  # of a fixed joint, and of what it carries
    found = dynamics.parameters.derivatives(q, v, tau, names)
    poses = dynamics.parameters.pose_derivatives("link_9", q, names)
    home = dynamics.pose("link_9", q)
    for k, name in enumerate(names):
        other = lambda t, name=name: built_with(model, name, t)  # noqa: E731
        same(
            found[:, k], derivative(lambda t, o=other: np.array(forward_dynamics(o(t).tree, *floats(q, v, tau)))), 1e-8
        )
        same(poses[:, k], derivative(lambda t, o=other: pose_change(home, link_poses(o(t), q)["link_9"])), 1e-8)


def closed_state(name: str) -> tuple[ada.Model, Array, Array, Array]:
    model, q = getattr(mechanisms, name)()
    rng = np.random.default_rng(2)
    dynamics = ada.Dynamics(model)
    q, v = dynamics.project_to_constraints(
        model.integrate(q, 0.1 * rng.normal(size=model.nv)), rng.normal(size=model.nv)
    )
    return model, q, v, rng.normal(size=model.nv)


def lengths_of(model: ada.Model, count: int) -> list[str]:
    """Some lengths of its loops and joints, in the plane of planar mechanisms."""
    known = [
        name
        for name in ada.Dynamics(model).parameters.geometry
        if name[-1] in "xz" and "_r" not in name and ".r" not in name
    ]
    return known[1 :: len(known) // count]


@pytest.mark.parametrize(
    ("name", "by", "count"),
    [
        ("four_bar", ["joint_1"], 1),
        ("slider_crank", "actuated", 4),  # among its lengths are those of a slide across the guide
        pytest.param("five_bar", "actuated", 3, marks=pytest.mark.fuzz),
        pytest.param("stewart", "actuated", 1, marks=pytest.mark.fuzz),
    ],
)
def test_with_loops_they_are_those_between_models_whose_loops_are_closed_again(
    name: str, by: str | list[str], count: int
) -> None:
    model, q, v, tau = closed_state(name)
    dynamics, names = ada.Dynamics(model), lengths_of(model, count)
    chosen = list(dynamics.constraints.indices(by))
    found = dynamics.parameters.derivatives(q, v, tau, names, coordinates=by)
    closing = dynamics.parameters.closure_derivatives(q, names, coordinates=by)
    link = model.link_names[-1]
    poses, home = dynamics.parameters.pose_derivatives(link, q, names, coordinates=by), dynamics.pose(link, q)
    for k, length in enumerate(names):

        def other(t: float, length: str = length) -> tuple[ada.Dynamics, Array]:
            changed = built_with(model, length, t)
            there = ada.Dynamics(changed, q0=q)
            at = q
            for _ in range(8):  # Newton, on all but the motors
                J, gap = there.constraints.jacobian(at), there.constraints.violation(at)
                rest = [i for i in range(model.nv) if i not in chosen]
                step = np.zeros(model.nv)
                step[rest] = -np.linalg.lstsq(J[:, rest], gap, rcond=1e-9)[0]
                at = changed.integrate(at, step)
            return there, at

        def acceleration(t: float) -> Array:
            there, at = other(t)
            return there.forward(at, there.constraints.complete_velocity(at, v[chosen], by), tau)[chosen]

        same(found[:, k], derivative(acceleration), 1e-7)
        same(closing[:, k], derivative(lambda t: model.difference(q, other(t)[1])), 1e-8)
        same(
            poses[:, k], derivative(lambda t: pose_change(home, link_poses(other(t)[0].model, other(t)[1])[link])), 1e-8
        )


def test_a_tool_without_mass_can_be_calibrated() -> None:
    model, q = ada.load("pa10"), np.full(7, 0.3)
    found = ada.Dynamics(model).parameters.pose_derivatives("flange", q, ["flange_fixed.x", "flange_fixed.rz"])
    R = ada.Dynamics(model).pose("link_7", q)[:3, :3]
    wanted = np.zeros((6, 2))
    wanted[:3, 0], wanted[3:, 1] = R[:, 0], R[:, 2]
    same(found, wanted)


def test_turns_that_the_loops_hold_are_refused_by_name() -> None:
    model, q = mechanisms.bennett()
    length = next(name for name in ada.Dynamics(model).parameters.geometry if name.endswith(".x"))
    with refused(ada.InputError, field="parameters", value=(length,), allowed=0):
        ada.Dynamics(model, q0=q).parameters.closure_derivatives(q, [length])


def test_mixed_with_parameters_of_efforts_each_keeps_its_column() -> None:
    model, q, v, tau = closed_state("five_bar")
    dynamics = ada.Dynamics(model)
    mass, length = next(iter(dynamics.parameters)), lengths_of(model, 3)[1]
    for by in ("tree", "actuated"):
        both = dynamics.parameters.derivatives(q, v, tau, [length, mass], coordinates=by)
        for k, name in enumerate((length, mass)):
            assert np.array_equal(both[:, [k]], dynamics.parameters.derivatives(q, v, tau, [name], coordinates=by))
    batch = dynamics.parameters.derivatives([q] * 3, v, tau, [length, mass])
    assert np.allclose(batch[1], dynamics.parameters.derivatives(q, v, tau, [length, mass]), rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("name", ["pa10", "floating", "five_bar"])
def test_external_wrenches_turn_with_their_links(name: str) -> None:
    if name == "five_bar":
        model, q, v, tau = closed_state(name)
    else:
        model = (
            ada.load("pa10") if name == "pa10" else random_tree(5, ("revolute", "spherical", "prismatic"), "floating")
        )
        q, v, tau = state_of(model, 3)
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(0)
    external = {model.link_names[-1]: rng.normal(size=6), model.link_names[1]: rng.normal(size=6)}
    found = dynamics.forward_derivatives(q, v, tau, external=external)
    d = rng.normal(size=model.nv)
    if model.loops:
        d = dynamics.constraints.tangent_map(q) @ rng.normal(size=2)

    def along(t: float) -> Array:
        at = model.integrate(q, d, t)
        return dynamics.forward(at, v, tau, external)

    plain = dynamics.forward_derivatives(q, v, tau)
    if model.loops:  # along the loops alone: off them `forward` has its own way, which both share
        bent = lambda t: along(t) - dynamics.forward(model.integrate(q, d, t), v, tau)  # noqa: E731
        without = dynamics.forward_derivatives(q, v, tau)
        same((found.dq - without.dq) @ d, derivative(bent), 1e-6)
    else:
        same(found.dq @ d, derivative(along), 1e-8)
        a = dynamics.forward(q, v, tau, external)
        efforts = lambda t: dynamics.inverse(model.integrate(q, d, t), v, a, external)  # noqa: E731
        same(dynamics.inverse_derivatives(q, v, a, external=external).dq @ d, derivative(efforts), 1e-8)
    link, more = model.link_names[-1], rng.normal(size=6)
    by_wrench = found.du @ dynamics.jacobian(link, q, "local").T
    changed = dynamics.forward(q, v, tau, {**external, link: external[link] + more})
    same(by_wrench @ more, changed - dynamics.forward(q, v, tau, external), 1e-9)
    assert not np.allclose(found.dq, plain.dq)
