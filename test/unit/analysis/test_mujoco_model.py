# SPDX-License-Identifier: Apache-2.0
"""A model in MuJoCo has our coordinates and motions; what it lacks is named; nightly tests compare accelerations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from random_trees import random_tree, two_free_bodies
from refused import refused

import ada_dynamics as ada
from ada_dynamics.errors import InputError
from ada_dynamics.model.elements import Mimic

mujoco = pytest.importorskip("mujoco")

from ada_experiments.mujoco_twin import COVERED, MujocoModel, Twin  # noqa: E402

KINDS = [*(kind for kind in COVERED if kind != "floating"), "fixed"]


def every_joint() -> ada.Model:
    """A branched tree on a floating base, with every joint type that MuJoCo has, on oblique axes."""
    return random_tree(0, KINDS, "floating", damping=0.3, armature=0.1)


MODELS = [every_joint(), two_free_bodies(), ada.load("pa10"), ada.load("khr1", base="floating")]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_state_comes_back_as_it_went(model: ada.Model) -> None:
    other = MujocoModel(model)
    q, v = model.random_state(np.random.default_rng(1))
    other.set_state(q, v)
    back = other.state()
    assert (back[0] == q).all()
    assert np.allclose(back[1], v, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_step_along_our_velocity_is_the_same_step_in_mujoco(model: ada.Model) -> None:
    other = MujocoModel(model)
    q, v = model.random_state(np.random.default_rng(1))
    # MuJoCo's step is along the velocity in the world's axes, ours along a screw: equal to first order in its size.
    size = 1e-7
    x, w = other.position(q), other.velocity(q, v)
    stepped = x.copy()
    mujoco.mj_integratePos(other.model, stepped, w, size)
    assert np.max(np.abs(model.difference(q, other.own_position(stepped)) / size - v)) < 1e-6
    assert np.max(np.abs((stepped - x) / size - other.position_rate(x, w))) < 1e-6


def test_efforts_keep_their_power() -> None:
    model = every_joint()
    other = MujocoModel(model)
    rng = np.random.default_rng(3)
    q, v = model.random_state(rng)
    tau = rng.normal(size=model.nv)
    other.set_state(q, v)
    other.set_efforts(tau)
    assert other.data.qfrc_applied @ other.data.qvel == pytest.approx(tau @ v, rel=1e-13)


def hinged(kind: str = "revolute", **options: Any) -> ada.Model:
    builder = ada.Builder("door").link("frame").link("leaf", 1.0, (0.4, 0.0, 0.0), (0.1, 0.1, 0.1))
    return builder.joint("hinge", kind, "frame", "leaf", **options).build("fixed")


@pytest.mark.parametrize("kind", ["planar", "spherical_euler", "floating_euler"])
def test_a_joint_that_mujoco_lacks_is_refused_by_name(kind: str) -> None:
    with refused(InputError, joint="hinge", field="kind", value=kind):
        MujocoModel(hinged(kind))


def test_a_joint_that_mimics_another_is_refused() -> None:
    builder = ada.Builder("grip").link("palm")
    for name, mimic in (("left", None), ("right", Mimic("left", -1.0, 0.0))):
        builder.link(name, 0.1, (0.0, 0.0, 0.1), (1e-3, 1e-3, 1e-3))
        builder.joint(name, "revolute", "palm", name, axis=(0.0, 1.0, 0.0), mimic=mimic)
    with refused(InputError, joint="right", field="mimic", value="left"):
        MujocoModel(builder.build("fixed"))


def test_accelerations_that_mujoco_has_only_softly_are_refused() -> None:
    with refused(InputError, joint="hinge", field="friction"):
        MujocoModel(hinged(friction=0.1)).forward([0.0], [1.0], [0.0])
    closed = ada.load("closed_4r")
    with refused(InputError, field="loops"):
        MujocoModel(closed).forward(closed.neutral(), np.zeros(3), np.zeros(3))


def test_a_document_that_mujoco_rejects_is_refused() -> None:
    with refused(InputError, field="model", value="door"):
        MujocoModel(hinged(), "no xml")


Array = NDArray[np.float64]
CORNERS = [(x, y, 0.0) for x in (-0.05, 0.05) for y in (-0.04, 0.04)]


def swinging_box() -> ada.Model:
    builder = ada.Builder("box").link("box", 1.0, (0.0, 0.0, 0.05), (2e-3, 3e-3, 4e-3, 1e-4, 2e-4, 3e-4))
    builder.link("arm", 0.2, (0.02, 0.0, 0.05), (1e-3, 1e-3, 2e-4))
    builder.joint("shoulder", "revolute", "box", "arm", (0.0, 0.01, 0.1), axis=(0.0, 1.0, 0.0), armature=1e-3)
    return builder.build(base="floating")


def no_control(t: float, q: Array, v: Array) -> Array:
    return np.zeros(7)


def test_a_throw_in_the_air_is_the_same_in_both() -> None:
    model = swinging_box()
    q = model.integrate(model.neutral(), np.array([0.0, 0.0, 5.0, 0.4, -0.3, 0.8, 0.5]))
    v = np.array([0.3, -0.2, 0.5, 0.6, -0.9, 0.7, 1.5])
    wanted = ada.Simulation(model, q=q, v=v, integrator="dop853").run(0.2)
    off = []
    for step in (4e-4, 1e-4):
        motion = Twin(model, {"box": CORNERS}, step).run(q, v, no_control, 0.2, step)
        assert np.allclose(motion.q[0], q, atol=1e-12)
        assert np.allclose(motion.v[0], v, atol=1e-12)
        off.append(np.abs(motion.q[-1] - wanted.q[-1]).max())
    assert off[1] < 1e-3
    assert off[0] / off[1] == pytest.approx(4.0, rel=0.2)


@pytest.mark.parametrize("friction", [0.3, 0.1])
def test_force_of_the_ground_stays_in_its_cone_and_reaches_it(friction: float) -> None:

    def swing(t: float, q: Array, v: Array) -> Array:
        return np.concatenate([np.zeros(6), [1.5 * np.sin(40.0 * t)]])

    model = swinging_box()
    twin = Twin(model, {"box": CORNERS}, 1e-3, friction=friction)
    force = twin.run(model.neutral(), np.zeros(7), swing, 0.5, 1e-3).forces["box"]
    pressing = force[:, 2] > 0.1
    across = np.linalg.norm(force[pressing, :2], axis=1) / force[pressing, 2]
    assert across.max() == pytest.approx(friction, rel=0.02)
