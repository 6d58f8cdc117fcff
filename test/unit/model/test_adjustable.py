# SPDX-License-Identifier: Apache-2.0
"""A length that is a joint moves what a model with another length moves."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.model import edit
from ada_dynamics.model.edit.adjustable import adjustable, geometry

Array = Any


def turned(direction: str, amount: float) -> Array:
    return Rotation.from_rotvec(amount * np.eye(3)["xyz".index(direction[-1])]).as_matrix()


def chain(base: str = "fixed", to: str = "base") -> ada.Model:
    """Three askew joints, and a loop from the last link to the base or to the world."""
    builder, parent = ada.Builder("askew").link("base", 1.0, inertia=(1, 1, 1)), "base"
    for i, kind in enumerate(("revolute", "prismatic", "revolute")):
        builder.link(f"link_{i}", 1.0, (0, 0.1, 0.2), (0.1, 0.2, 0.15))
        builder.joint(
            f"joint_{i}", kind, parent, f"link_{i}", (0.1, 0.2, 0.3 + i), rpy=(0.3, -0.5, 0.2), axis=(0, 1, 0)
        )
        parent = f"link_{i}"
    sides = {"xyz": (0, 0.1, 0.4), "child_xyz": (0.2, 0.1, 1.0)}
    builder.loop("closing", "revolute", parent, to, sides["xyz"], child_xyz=sides["child_xyz"], axis=(0, 0, 1))
    return builder.build(base=base)


def changed_joint(model: ada.Model, name: str, direction: str, amount: float) -> ada.Model:
    joint = model.joints[name]
    if direction[0] == "r":
        return edit.with_parts(model, replace(joint, rotation=turned(direction, amount) @ joint.rotation))
    return edit.with_parts(model, replace(joint, xyz=joint.xyz + amount * np.eye(3)["xyz".index(direction)]))


def changed_loop(model: ada.Model, side: str, direction: str, amount: float) -> ada.Model:
    loop = model.loops["closing"]
    xyz, rotation = getattr(loop, f"{side}_xyz"), getattr(loop, f"{side}_rotation")
    if direction[0] == "r":
        return edit.with_parts(model, replace(loop, **{f"{side}_rotation": turned(direction, amount) @ rotation}))
    moved = xyz + amount * np.eye(3)["xyz".index(direction)]
    return edit.with_parts(model, replace(loop, **{f"{side}_xyz": moved}))


def placed(model: ada.Model, other: ada.Model, q: Array, name: str, amount: float) -> Array:
    """Positions of the other model, whose root may be a joint of another name: those of the first, and a length."""
    found = other.neutral()
    for joint in (f"joint_{i}" for i in range(3)):
        found[other.q_index(joint)] = q[model.q_index(joint)]
    found[other.q_index(name)] = amount
    return found


@pytest.mark.parametrize("direction", ["x", "y", "z", "rx", "ry", "rz"])
def test_the_place_of_a_joint_moves_as_its_joint_does(direction: str) -> None:
    model = edit.open_loops(chain())
    other = adjustable(model, [f"joint_1.{direction}"])
    q = model.random_state(np.random.default_rng(1))[0]
    moved = changed_joint(model, "joint_1", direction, 0.17)
    expected = ada.Dynamics(moved).forward_kinematics(q)
    found = ada.Dynamics(other).forward_kinematics(placed(model, other, q, f"joint_1.{direction}", 0.17))
    for link in model.link_names:
        np.testing.assert_allclose(found[link], expected[link], atol=1e-14)


def test_several_directions_act_from_x_to_rz_in_whatever_order_they_are_named() -> None:
    model = edit.open_loops(chain())
    q = model.random_state(np.random.default_rng(1))[0]
    names = [f"joint_2.{direction}" for direction in ("rz", "x", "ry")]
    others = [adjustable(model, order) for order in (names, names[::-1])]
    assert [name for name in others[0].joint_names if "." in name] == ["joint_2.x", "joint_2.ry", "joint_2.rz"]
    positions = placed(model, others[0], q, "joint_2.x", 0.1)
    for name, amount in (("joint_2.ry", 0.2), ("joint_2.rz", -0.3)):
        positions[others[0].q_index(name)] = amount
    moved = changed_joint(model, "joint_2", "x", 0.1)
    joint = moved.joints["joint_2"]
    moved = edit.with_parts(moved, replace(joint, rotation=turned("ry", 0.2) @ turned("rz", -0.3) @ joint.rotation))
    expected = ada.Dynamics(moved).forward_kinematics(q)["link_2"]
    for other in others:
        np.testing.assert_allclose(ada.Dynamics(other).forward_kinematics(positions)["link_2"], expected, atol=1e-14)


@pytest.mark.parametrize(
    ("base", "to"), [("fixed", "base"), ("fixed", "world"), ("floating", "base"), ("floating", "world")]
)
@pytest.mark.parametrize("place", ["parent_x", "parent_rx", "child_z", "child_ry"])
def test_the_frames_of_a_loop_move_as_its_joints_do(base: str, to: str, place: str) -> None:
    model = chain(base, to)
    name, (side, direction) = f"closing.{place}", place.split("_")
    other = adjustable(model, [name])
    assert other.nv == model.nv + 1
    rng = np.random.default_rng(2)
    q = model.neutral()
    q[-3:] = rng.normal(size=3)
    found = ConstraintSet(other).violation(placed(model, other, q, name, 0.23))
    expected = ConstraintSet(changed_loop(model, side, direction, 0.23)).violation(q)
    before = ConstraintSet(model).violation(q)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert np.abs(expected - before).max() > 0.01


def test_lengths_are_told_by_name() -> None:
    told = geometry(chain())
    assert [told[f"joint_2.{k}"] for k in ("x", "y", "z", "rx", "rz")] == [0.1, 0.2, 2.3, 0.0, 0.0]
    assert [told[f"closing.parent_{k}"] for k in "xyz"] == [0.0, 0.1, 0.4]
    assert [told[f"closing.child_{k}"] for k in ("x", "y", "z", "ry")] == [0.2, 0.1, 1.0, 0.0]
