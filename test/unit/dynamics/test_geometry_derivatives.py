# SPDX-License-Identifier: Apache-2.0
"""Motion as it depends on lengths, frames, masses, losses and springs, and gradients by q, against differences."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from complex_step import changes_of_accelerations, slopes
from loop_robots import mechanism
from mechanism_oracle import Oracle
from numpy.typing import NDArray
from random_trees import random_tree, state_of
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.algorithms.rnea import inverse_dynamics
from ada_dynamics.dynamics.arguments import flat_wrenches
from ada_dynamics.dynamics.computation import ambient_of
from ada_dynamics.dynamics.quantities import body_wrenches
from ada_dynamics.model import edit
from ada_dynamics.model.model import link_poses
from ada_dynamics.model.rotations import Pose
from ada_dynamics.robots import mechanisms
from ada_experiments.pinocchio_model import PinocchioModel

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
        pytest.param("stewart", "actuated", ["leg_1_hip.x", "leg_2_ball.child_z"], marks=pytest.mark.fuzz),
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
        kinds = ("revolute", "spherical", "prismatic")
        model = ada.load("pa10") if name == "pa10" else random_tree(5, kinds, "floating")
        q, v, tau = state_of(model, 3)
    dynamics, rng, n = ada.Dynamics(model), np.random.default_rng(0), model.nv
    external = {model.link_names[-1]: rng.normal(size=6), model.link_names[1]: rng.normal(size=6)}
    wrenches = body_wrenches(model.tree, flat_wrenches(model, model.tree, external).tolist())
    directions = block_diag(dynamics.constraints.state_map(q, v) if model.loops else np.eye(2 * n), np.eye(n))
    found = dynamics.forward_derivatives(q, v, tau, external=external)
    same(np.hstack(found) @ directions, changes_of_accelerations(model, (q, v, tau), directions, wrenches))
    if not model.loops:
        inverse = lambda *at: inverse_dynamics(model.tree, *at, wrenches)  # noqa: E731
        of_inverse = dynamics.inverse_derivatives(q, v, tau, external=external)
        same(np.hstack(of_inverse), slopes(inverse, model.tree, (q, v, tau), directions))
    link, more = model.link_names[-1], rng.normal(size=6)
    by_wrench = found.du @ dynamics.jacobian(link, q, "local").T
    changed = dynamics.forward(q, v, tau, {**external, link: external[link] + more})
    same(by_wrench @ more, changed - dynamics.forward(q, v, tau, external), 1e-9)


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


# Where pinocchio has our inertial parameters of a body.
PINOCCHIO = ("mass", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def state(model: ada.Model, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q = model.integrate(model.neutral(), 0.4 * rng.normal(size=model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


FREE_WITH_ROTOR = """<mujoco><worldbody><body><joint type="free" armature="0.7"/>
<geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ("name", "base"),
    [("planar_3r", "floating"), (FREE_WITH_ROTOR, None), pytest.param("khr1", "fixed", marks=pytest.mark.fuzz)],
)
def test_efforts_are_the_regressor_times_the_parameters(name: str, base: str | None) -> None:
    model = ada.load(name, base=base)
    dynamics = ada.Dynamics(model)
    q, v, a = state(model)
    efforts = dynamics.inverse(q, v, a)
    values = np.array(list(dynamics.parameters.values()))
    assert np.max(np.abs(dynamics.regressor(q, v, a) @ values - efforts)) < 1e-13 * np.max(np.abs(efforts))


def test_columns_of_bodies_are_pinocchios() -> None:
    model = ada.load("pa10")
    other = PinocchioModel(model)
    theirs = other.model
    q, v, a = state(model)
    expected = other.pin.computeJointTorqueRegressor(theirs, theirs.createData(), q, v, a)
    dynamics = ada.Dynamics(model)
    names = list(dynamics.parameters)
    found = dynamics.regressor(q, v, a)
    for i, joint in enumerate(list(theirs.names)[1:]):
        link = model.joints[joint.split(".")[0]].child
        for k, parameter in enumerate(PINOCCHIO):
            mine = found[:, names.index(f"{link}.{parameter}")]
            assert np.allclose(mine, expected[:, 10 * i + k], rtol=0.0, atol=1e-12 * np.max(np.abs(expected)))


@pytest.mark.parametrize(
    "name", ["five_bar", *(pytest.param(name, marks=pytest.mark.fuzz) for name in ("delta", "stewart"))]
)
def test_forces_of_the_loops_are_projected_out(name: str) -> None:
    model, q = mechanism(name)
    dynamics, rng = ada.Dynamics(model), np.random.default_rng(1)
    v = np.asarray(Oracle(model).admissible(q, rng.normal(size=model.nv)), dtype=np.float64)
    tau = rng.normal(size=model.nv)
    Y = dynamics.regressor(q, v, dynamics.forward(q, v, tau), coordinates="actuated")
    wanted = dynamics.constraints.tangent_map(q, "actuated").T @ tau
    found = Y @ np.array(list(dynamics.parameters.values()))
    assert np.max(np.abs(found - wanted)) < 1e-10 * np.max(np.abs(Y))


def test_accelerations_change_with_a_parameter_as_another_robot_has_them() -> None:
    step = 1e-4
    masses = (1.0, 1.0, 1.0)
    (model, q), (more, _), (less, _) = (
        mechanisms.four_bar(masses=(masses[0], masses[1] + d, masses[2])) for d in (0.0, step, -step)
    )
    v = np.array([1.0, -1.0, 1.0])
    tau = np.array([0.3, 0.0, 0.0])
    dynamics = ada.Dynamics(model)
    found, names = dynamics.parameters.derivatives(q, v, tau), list(dynamics.parameters)
    # a thin rod of length 1 from its joint: first moment m / 2, inertia m / 3 about the joint
    of_mass = {"mass": 1.0, "mz": 0.5, "Ixx": 1 / 3, "Iyy": 1 / 3}
    column = sum(found[:, names.index(f"link_2.{name}")] * share for name, share in of_mass.items())
    wanted = (ada.Dynamics(more).forward(q, v, tau) - ada.Dynamics(less).forward(q, v, tau)) / (2 * step)
    assert np.max(np.abs(column - wanted)) < 1e-8
