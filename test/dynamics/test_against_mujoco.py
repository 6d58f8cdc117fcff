# SPDX-License-Identifier: Apache-2.0
"""Accelerations and mass matrices equal MuJoCo's, whose dynamics share nothing with ours but the physics.

The MJCF is written here from the numbers of the model: bodies, CoM frames, armature and damping.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ada_dynamics as ada

mujoco = pytest.importorskip("mujoco")

from ada_dynamics.engines.mujoco_model import MujocoModel  # noqa: E402

Array = NDArray[np.float64]
JOINT = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}
# Two double-precision solvers on mass matrices with condition numbers up to 1e3: 1e-14 is seen.
RELATIVE = 1e-9


def text(values: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def quaternion(R: Array) -> Array:
    """MuJoCo's (w, x, y, z)."""
    out = np.zeros(4)
    mujoco.mju_mat2Quat(out, np.ascontiguousarray(R, dtype=float).ravel())
    return out


def mjcf(model: ada.Model) -> str:
    """The model without contacts, limits and actuators."""
    children: dict[str, list[Any]] = {}
    for joint in model.joints.values():
        children.setdefault(joint.parent, []).append(joint)

    def inertial(name: str) -> str:
        link = model.links[name]
        if link.mass == 0.0:
            return ""
        moments, axes = np.linalg.eigh(link.inertia)
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        return (
            f'<inertial pos="{text(link.com)}" quat="{text(quaternion(axes))}" mass="{link.mass!r}" '
            f'diaginertia="{text(moments)}"/>'
        )

    def body(joint: Any) -> str:
        if joint.kind == "floating":
            own = f'<freejoint name="{joint.name}"/>'
        elif joint.kind == "fixed":
            own = ""
        else:
            own = (
                f'<joint name="{joint.name}" type="{JOINT[joint.kind]}" axis="{text(joint.axis)}" '
                f'damping="{joint.damping!r}" armature="{joint.armature!r}"/>'
            )
        inner = "".join(body(child) for child in children.get(joint.child, []))
        place = f'pos="{text(joint.xyz)}" quat="{text(quaternion(joint.rotation))}"'
        return f'<body name="{joint.child}" {place}>{own}{inertial(joint.child)}{inner}</body>'

    start = "world" if "world" in children else model.root
    bodies = "".join(body(joint) for joint in children[start])
    return (
        f'<mujoco><compiler angle="radian" autolimits="false" balanceinertia="false" boundmass="0" boundinertia="0"/>'
        f'<option gravity="{text(model.gravity)}" integrator="Euler"><flag contact="disable" constraint="disable" '
        f'actuation="disable"/></option><worldbody>{bodies}</worldbody></mujoco>'
    )


def humanoid() -> ada.Model:
    """A floating torso with 24 joints in five limbs: 30 velocities, every inertial parameter non-zero."""
    rng = np.random.default_rng(3)
    builder = ada.Builder("humanoid")

    def link(name: str, mass: float, size: float) -> None:
        A = rng.normal(size=(3, 3)) * size
        spread = A @ A.T + 0.2 * size**2 * np.eye(3)
        inertia = mass * (np.trace(spread) * np.eye(3) - spread)  # of a real mass distribution
        builder.link(name, mass, rng.uniform(-0.5, 0.5, 3) * size, inertia)

    link("torso", 30.0, 0.3)
    for limb, joints in {"left_leg": 6, "right_leg": 6, "left_arm": 5, "right_arm": 5, "neck": 2}.items():
        parent = "torso"
        for i in range(joints):
            name = f"{limb}_{i}"
            link(name, 4.0 / (1 + i), 0.1)
            axis = np.eye(3)[i % 3] if i < 3 else rng.normal(size=3)
            builder.joint(
                f"{name}_joint", "prismatic" if name == "neck_1" else "revolute", parent, name,
                rng.uniform(-0.3, 0.3, 3), rng.uniform(-1.0, 1.0, 3), axis,
                damping=float(rng.uniform(0.0, 2.0)), armature=float(rng.uniform(0.0, 0.05)),
            )  # fmt: skip
            parent = name
    model = builder.build("floating")
    assert model.nv == 30
    return model


def compare(model: ada.Model, **options: str) -> None:
    other, dynamics = MujocoModel(model, mjcf(model)), ada.Dynamics(model, **options)
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, v = model.random_state(rng)
        q = np.clip(q, -np.pi, np.pi)
        tau = rng.normal(size=model.nv)
        a, expected = dynamics.forward(q, v, tau), other.forward(q, v, tau)
        assert np.max(np.abs(a - expected)) < RELATIVE * np.max(np.abs(expected))
        # entry by entry, against what the diagonal allows
        M = other.mass_matrix(q)
        d = np.sqrt(np.diag(M))
        assert np.max(np.abs(dynamics.mass_matrix(q) - M) / np.outer(d, d)) < 1e-12


def test_pa10_with_rotor_inertia_accelerates_as_in_mujoco() -> None:
    compare(ada.load("pa10"))


def test_a_planar_chain_of_thin_rods_accelerates_as_in_mujoco() -> None:
    # MuJoCo wants positive moments of inertia; a rod never turns about itself in the plane, so 1e-3 changes nothing.
    model = ada.planar_chain(6)
    thick = ada.Builder("planar")
    for link in model.links.values():
        thick.link(link.name, link.mass, link.com, link.inertia + np.diag([0.0, 0.0, 1e-3 if link.mass else 0.0]))
    for j in model.joints.values():
        thick.joint(j.name, j.kind, j.parent, j.child, j.xyz, axis=j.axis)
    compare(thick.build())
    q, v = model.random_state(np.random.default_rng(0))
    assert np.allclose(
        ada.Dynamics(model).forward(q, v, v), ada.Dynamics(thick.build()).forward(q, v, v), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("kernel", ["specialised", "generic"])
def test_a_humanoid_with_armature_and_damping_accelerates_as_in_mujoco(kernel: str) -> None:
    compare(humanoid(), kernel=kernel)
