# SPDX-License-Identifier: Apache-2.0
"""Edits carry links, joints, loops, mimics and motors along; a length that is a joint moves as another length does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_robots import mechanism
from mechanism_oracle import Oracle, pin, same_motion
from scipy.spatial.transform import Rotation
from spanning_trees import exchanged, exchanges

import ada_dynamics as ada
from ada_dynamics.constraints.constraint_set import ConstraintSet
from ada_dynamics.model import edit, planar_chain
from ada_dynamics.model.edit.adjustable import adjustable, geometry
from ada_dynamics.model.elements import Mimic
from ada_dynamics.robots import mechanisms
from trials.random_mechanism import random_mechanism

seeds = st.integers(0, 10**6)

# Sums of some hundred products in double precision on both sides, over condition numbers up to 1e4.
RELATIVE = 1e-10


def held(model: ada.Model, q: np.ndarray, names: list[str]) -> tuple[ada.Model, np.ndarray, np.ndarray]:
    """The locked model, its q, and which velocities of the whole model it has."""
    locked = edit.lock(model, {name: q[model.q_index(name)] for name in names})
    free = np.concatenate([np.arange(model.nv)[model.v_index(name)] for name in locked.joint_names])
    return locked, np.concatenate([q[model.q_index(name)] for name in locked.joint_names]), free


@settings(max_examples=12)
@given(seed=seeds, floating=st.booleans(), spatial=st.booleans())
def test_a_locked_mechanism_moves_as_if_a_constraint_held_the_joints(seed, floating, spatial) -> None:
    rng = np.random.default_rng(seed)
    model, q = random_mechanism(rng, floating=floating, spatial=spatial, losses=True)
    names = [str(n) for n in rng.choice(model.joint_names, min(3, len(model.joint_names) - 1), replace=False)]
    locked, own, free = held(model, q, names)
    assert locked.nv == model.nv - sum(model.joints[n].nv for n in names)
    whole, part = Oracle(model), Oracle(locked)
    assert part.gap(own) < 1e-12
    v = part.admissible(own, rng.normal(size=locked.nv))
    wide = np.zeros(model.nv)
    wide[free] = v
    M, J = whole.tree.mass_matrix(q), whole.jacobian(q)
    assert np.max(np.abs(part.tree.mass_matrix(own) - M[np.ix_(free, free)])) < 1e-12 * np.max(np.abs(M))
    tau = rng.normal(size=model.nv)
    answer = part.forward(own, v, tau[free])
    # the same from the whole model, with rows that hold the locked velocities
    fixed = np.setdiff1d(np.arange(model.nv), free)
    rows = np.vstack([J, np.eye(model.nv)[fixed]])
    gamma = np.concatenate([whole.gamma(q, wide), np.zeros(len(fixed))])
    L = np.linalg.cholesky(M)
    W = np.linalg.solve(L, rows.T)
    y = np.linalg.solve(L, tau - whole.tree.bias(q, wide))
    a = np.linalg.solve(L.T, y - np.linalg.pinv(W.T, rcond=1e-9) @ (W.T @ y + gamma))
    assert np.max(np.abs(a[free] - answer.acceleration)) < 1e-9 * (1.0 + np.max(np.abs(a)))
    assert np.max(np.abs(a[fixed]), initial=0.0) < 1e-9 * (1.0 + np.max(np.abs(a)))


def test_a_joint_that_mimics_a_locked_one_is_locked_where_that_leads_it() -> None:
    model, q = mechanism("parallel_gripper")
    locked = edit.lock(model, {"left_drive": -0.5})
    assert locked.joint_names == ["left_pad", "left_link", "right_pad", "right_link"]
    assert locked.actuated == ()
    own = np.concatenate([q[model.q_index(name)] for name in locked.joint_names])
    oracle = Oracle(locked)
    assert oracle.gap(own) < 1e-15
    assert oracle.mobility(own) == 0
    for link in model.links:
        for ours, theirs in zip(oracle.link_pose(link, own), Oracle(model).link_pose(link, q), strict=True):
            assert np.max(np.abs(ours - theirs)) < 1e-15


def test_reduce_keeps_the_named_joints_and_holds_the_rest_at_the_given_pose() -> None:
    model, q = mechanism("two_feet")
    arm = [name for name in model.joint_names if name.startswith("left_") and name in model.joint_names[9:]][-5:]
    reduced = edit.reduce(model, keep=arm, q=q)
    assert reduced.joint_names == arm
    own = np.concatenate([q[model.q_index(name)] for name in arm])
    for link in model.links:
        for ours, theirs in zip(Oracle(reduced).link_pose(link, own), Oracle(model).link_pose(link, q), strict=True):
            assert np.max(np.abs(ours - theirs)) < 1e-14
    at_zero = edit.reduce(model, keep=["waist", "root_joint"])
    assert at_zero.joint_names == ["root_joint", "waist"]
    assert at_zero.nq == 8


def test_two_chains_merged_are_the_long_chain() -> None:
    merged = edit.merge(planar_chain(2), planar_chain(3), "link_2", xyz=(0, 0, 1), prefix="far_")
    long = planar_chain(5)
    assert merged.joint_names == ["joint_1", "joint_2", "far_joint_1", "far_joint_2", "far_joint_3"]
    q, v = long.random_state(np.random.default_rng(0))
    ours, theirs = Oracle(merged), Oracle(long)
    assert np.max(np.abs(ours.tree.mass_matrix(q) - theirs.tree.mass_matrix(q))) < 1e-13
    assert np.max(np.abs(ours.tree.bias(q, v) - theirs.tree.bias(q, v))) < 1e-12


def test_mechanisms_merged_on_the_ground_move_each_by_itself() -> None:
    (one, p), (other, q) = mechanisms.hexa(), mechanism("parallel_gripper")
    merged = edit.merge(one, other, "base", (1, 2, 3), (0.1, 0.2, 0.3), prefix="hand_")
    assert merged.loop_names == [*one.loop_names, "hand_left_pin", "hand_right_pin"]
    assert merged.actuated == (*one.actuated, "hand_left_drive")
    assert merged.joints["hand_right_drive"].mimic == Mimic("hand_left_drive", -1.0)
    oracle, rng = Oracle(merged), np.random.default_rng(1)
    both = np.concatenate([p, q])
    assert oracle.gap(both) < 1e-14
    v = oracle.admissible(both, rng.normal(size=merged.nv))
    answer = oracle.forward(both, v, np.zeros(merged.nv))
    alone = Oracle(one).forward(p, v[: one.nv], np.zeros(one.nv))
    scale = np.max(np.abs(answer.acceleration))
    assert np.max(np.abs(answer.acceleration[: one.nv] - alone.acceleration)) < RELATIVE * scale
    for name, wrench in alone.wrenches.items():
        assert np.max(np.abs(wrench - answer.wrenches[name])) < RELATIVE * np.max(np.abs(wrench))


def test_a_merged_model_may_hang_on_a_joint_and_have_had_a_floating_base() -> None:
    arm, gripper = planar_chain(2), mechanism("parallel_gripper", "floating").model
    merged = edit.merge(arm, gripper, "link_2", (0, 0, 1), prefix="r_", joint="swivel", kind="revolute", axis=(0, 0, 2))
    assert "root_joint" not in merged.joints
    assert merged.joints["r_swivel"].axis.tolist() == [0.0, 0.0, 1.0]
    assert "r_swivel" in merged.actuated
    assert merged.nv == 2 + 1 + 5
    mount = edit.merge(arm, gripper, "link_2", prefix="r_").joints["r_mount"]
    assert (mount.kind, mount.xyz.tolist(), mount.rotation.tolist()) == ("fixed", [0.0] * 3, np.eye(3).tolist())


def test_a_floating_model_keeps_which_of_its_joints_have_motors_when_it_is_merged() -> None:
    builder = ada.Builder("free").link("body", 1.0, (0, 0, 0), (1, 1, 1)).link("arm", 1.0, (0.1, 0, 0), (1, 1, 1))
    builder.joint("swing", "revolute", "body", "arm")
    for motors, kept in ((["root_joint"], ()), (["root_joint", "swing"], ("f_swing",)), (["swing"], ("f_swing",))):
        free = builder.actuated(motors).build(base="floating")
        assert edit.merge(planar_chain(1), free, "link_1", prefix="f_").actuated == ("joint_1", *kept)


def test_loops_to_the_world_are_held_by_the_root_that_was_fixed_there() -> None:
    builder = ada.Builder("swing").link("frame").link("bar", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
    builder.joint("pin", "revolute", "frame", "bar", axis=(0, 1, 0))
    builder.loop("stop", "spherical", "world", "bar", (0.3, 0, 0), child_xyz=(0.3, 0, 0))
    merged = edit.merge(planar_chain(1), builder.build(), "link_1", (0, 0, 1), prefix="s_")
    assert merged.loops["s_stop"].parent == "s_frame"
    assert Oracle(merged).gap(np.array([0.7, 0.0])) < 1e-15


def test_an_opened_mechanism_moves_as_its_tree() -> None:
    model, q = mechanisms.hexa()
    tree, rng = edit.open_loops(model), np.random.default_rng(0)
    assert tree.loop_names == []
    assert tree.actuated == model.actuated
    v, tau = rng.normal(size=model.nv), rng.normal(size=model.nv)
    oracle = Oracle(tree)
    theirs = pin.aba(oracle.tree.model, oracle.tree.data, q, v, tau)
    ours = oracle.forward(q, v, tau).acceleration
    assert np.max(np.abs(ours - theirs)) < RELATIVE * np.max(np.abs(theirs))
    one_less = edit.open_loops(model, ["leg_3_ball"])
    assert one_less.loop_names == [name for name in model.loop_names if name != "leg_3_ball"]
    assert Oracle(one_less).mobility(q) == 9
    assert edit.open_loops(model, ["leg_1_ball", "leg_2_ball"]).loop_names == model.loop_names[2:]


def assert_same_mechanics(model: ada.Model, q: Any, other: ada.Model, p: Any, rng: np.random.Generator) -> None:
    """The same poses, motions and accelerations of all links under gravity, and an external force."""
    one, two = Oracle(model), Oracle(other)
    assert two.gap(p) < 1e-9
    for link in model.links:
        for ours, theirs in zip(one.link_pose(link, q), two.link_pose(link, p), strict=True):
            assert np.max(np.abs(ours - theirs)) < 1e-12
    assert one.mobility(q) == two.mobility(p)
    v = one.admissible(q, rng.normal(size=model.nv))
    w = same_motion(one, q, v, two, p)
    external = {list(model.links)[-1]: rng.normal(size=6)}
    a = one.forward(q, v, np.zeros(model.nv), external).acceleration
    b = two.forward(p, w, np.zeros(other.nv), external).acceleration
    ours = np.array([one.link_acceleration(link, q, v, a) for link in model.links])
    theirs = np.array([two.link_acceleration(link, p, w, b) for link in model.links])
    assert np.max(np.abs(ours - theirs)) < RELATIVE * (1.0 + np.max(np.abs(ours)))


@settings(max_examples=12)
@given(seed=seeds, spatial=st.booleans(), floating=st.booleans())
def test_a_mechanism_moves_the_same_with_every_spanning_tree(seed: int, spatial: bool, floating: bool) -> None:
    rng = np.random.default_rng(seed)
    model, q = random_mechanism(rng, spatial=spatial, floating=floating)
    choices = list(exchanges(model))
    if choices:
        loop, link, cut = choices[int(rng.integers(len(choices)))]
        other, p = exchanged(model, q, loop, link, cut)
        assert cut in other.loops
        assert loop in other.joints
        assert_same_mechanics(model, q, other, p, rng)


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
