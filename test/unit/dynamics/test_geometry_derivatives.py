# SPDX-License-Identifier: Apache-2.0
"""Derivatives by lengths and frames, and gradients by the numbers of q, against differences."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from loop_robots import mechanism
from numpy.typing import NDArray
from random_trees import random_tree, state_of
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.dynamics.computation import ambient_of
from ada_dynamics.model import edit
from ada_dynamics.model.model import link_poses
from ada_dynamics.model.rotations import Pose

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


def closed_state(name: str) -> tuple[ada.Model, Array, Array, Array]:
    model, q = mechanism(name)
    rng = np.random.default_rng(2)
    dynamics = ada.Dynamics(model)
    q, v = dynamics.project_to_constraints(
        model.integrate(q, 0.1 * rng.normal(size=model.nv)), rng.normal(size=model.nv)
    )
    return model, q, v, rng.normal(size=model.nv)


@pytest.mark.parametrize(
    ("name", "by", "names"),
    [
        ("four_bar", ["joint_1"], ["joint_2.x"]),
        ("slider_crank", "actuated", ["rod.x", "guide.child_x"]),
        pytest.param("stewart", "actuated", ["leg_1_hip_1.x", "leg_2_ball.child_z"], marks=pytest.mark.fuzz),
    ],
)
def test_poses_and_closed_configurations_by_lengths_are_those_between_models(
    name: str, by: str | list[str], names: list[str]
) -> None:
    model, q, *_ = closed_state(name)
    dynamics, chosen = ada.Dynamics(model), list(ada.Dynamics(model).constraints.indices(by))
    robot, link = edit.adjustable(model, names), model.link_names[-1]
    whole = np.zeros(robot.nq)
    whole[[k for joint in model.joint_names for k in range(robot.nq)[robot.q_index(joint)]]] = q
    own = [k for joint in model.joint_names for k in range(robot.nv)[robot.v_index(joint)]]
    adjusted = ada.Dynamics(robot, q0=whole)
    coordinates = [*(model.actuated if by == "actuated" else by), *names]
    closing = adjusted.constraints.tangent_map(whole, coordinates)[own, -len(names) :]
    poses = adjusted.jacobian(link, whole, coordinates=coordinates)[:, -len(names) :]
    home = dynamics.pose(link, q)
    for k, length in enumerate(names):

        def other(t: float, length: str = length) -> tuple[ada.Model, Array]:
            changed = built_with(model, length, t)
            there, at = ada.Dynamics(changed, q0=q), q
            for _ in range(8):  # Newton, on all but the motors
                J, gap = there.constraints.jacobian(at), there.constraints.violation(at)
                rest = [i for i in range(model.nv) if i not in chosen]
                step = np.zeros(model.nv)
                step[rest] = -np.linalg.lstsq(J[:, rest], gap, rcond=1e-9)[0]
                at = changed.integrate(at, step)
            return changed, at

        same(closing[:, k], derivative(lambda t: model.difference(q, other(t)[1])), 1e-8)
        same(poses[:, k], derivative(lambda t: pose_change(home, link_poses(*other(t))[link])), 1e-8)


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


H = 1e-6  # of central differences: 1e-12 of truncation, 1e-10 of rounding


def turning() -> ada.Model:
    """A floating base, a hinge, a ball joint and a slide."""
    builder = ada.Builder("turning").link("base", 1.0, inertia=(1, 1, 1))
    for i, kind in enumerate(("revolute", "spherical", "prismatic")):
        builder.link(f"link_{i}", 1.0, inertia=(1, 1, 1)).joint(f"joint_{i}", kind, "base", f"link_{i}", (0, 0, 1))
    return builder.build(base="floating")


@pytest.fixture(scope="module")
def world() -> tuple[ada.Model, Any, Array, np.random.Generator]:
    model, rng = turning(), np.random.default_rng(8)
    return model, ambient_of(ada.Dynamics(model)), np.array([model.random_state(rng)[0] for _ in range(4)]), rng


def rate(model: ada.Model, q: Array, v: Array) -> Array:
    return (model.integrate(q, v, H) - model.integrate(q, v, -H)) / (2.0 * H)


def test_a_gradient_by_positions_says_of_every_motion_what_that_by_velocities_says(world: Any) -> None:
    model, ambient, q, rng = world
    by_velocity = rng.normal(size=(4, model.nv))
    found = ambient.gradient(q, by_velocity)
    for _ in range(3):
        v = rng.normal(size=model.nv)
        for row, gradient, own in zip(q, found, by_velocity, strict=True):
            assert gradient @ rate(model, row, v) == pytest.approx(own @ v, abs=1e-8)
    ball = model.q_index("joint_1")
    np.testing.assert_allclose(np.sum(found[:, ball] * q[:, ball], axis=1), 0.0, atol=1e-14)
    np.testing.assert_allclose(np.sum(found[:, 3:7] * q[:, 3:7], axis=1), 0.0, atol=1e-14)
    np.testing.assert_allclose(ambient.velocity_gradient(q, found), by_velocity, atol=1e-13)


def test_a_change_of_positions_is_the_velocity_that_makes_it(world: Any) -> None:
    model, ambient, q, rng = world
    v = rng.normal(size=(4, model.nv))
    changes = np.array([rate(model, *row) for row in zip(q, v, strict=True)])
    np.testing.assert_allclose(ambient.velocity(q, changes), v, atol=1e-8)
    by_position = rng.normal(size=(4, model.nq))
    found = ambient.velocity_gradient(q, by_position)
    np.testing.assert_allclose(np.sum(found * v, axis=1), np.sum(by_position * changes, axis=1), atol=1e-8)
    # what would lengthen a quaternion is no motion
    longer = np.zeros_like(q)
    longer[:, 3:7] = q[:, 3:7]
    np.testing.assert_allclose(ambient.velocity(q, longer), 0.0, atol=1e-14)
