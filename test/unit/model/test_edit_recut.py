# SPDX-License-Identifier: Apache-2.0
"""A mechanism moves the same whatever joints its description cuts: every spanning tree is the same robot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_constants import constants
from mechanism_oracle import Oracle, same_motion

import ada_dynamics as ada
from ada_dynamics.model import edit
from ada_dynamics.model.elements import Mimic
from ada_dynamics.model.joints import LOOP_KINDS
from ada_dynamics.robots import mechanisms

seeds = st.integers(0, 10**6)

# Two descriptions with other matrices: each is right to 1e-15 times the condition of its loops (up to some 1e3).
RELATIVE = 1e-10


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
    model, q = mechanisms.random_mechanism(rng, spatial=spatial, floating=floating)
    loop = str(rng.choice(model.loop_names))
    choices = [n for n in edit.loop_path(model, loop) if n != "root_joint"]
    joint = str(rng.choice(choices)) if choices else None
    if joint is None:
        return
    other, p = edit.recut(model, q, loop, joint)
    assert joint in other.loops
    assert loop in other.joints
    assert loop not in other.actuated  # it had no motor as a loop joint either
    assert_same_mechanics(model, q, other, p, rng)


@pytest.mark.parametrize("kind", [*LOOP_KINDS, "spherical_euler", "continuous"])
def test_a_joint_of_every_type_can_be_turned_round_cut_and_put_back(kind: str) -> None:
    rng = np.random.default_rng(7)
    builder = ada.Builder("loop").link("base")
    kinds = ["revolute", kind, "universal", kind, "spherical"]
    for i, own in enumerate(kinds):
        axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        builder.link(f"l{i}", 1.0 + i, rng.uniform(-0.1, 0.1, 3), rng.uniform(0.2, 0.3, 3))
        builder.joint(
            f"j{i}", own, f"l{i - 1}" if i else "base", f"l{i}", rng.uniform(-0.5, 0.5, 3), rng.uniform(-1, 1, 3),
            axis=axes[0], axis2=axes[1] if own == "universal" else None, **constants(own),
        )  # fmt: skip
    tree = builder.build()
    q, _ = tree.random_state(rng)
    _, p = Oracle(tree).link_pose("l4", q)
    model = builder.loop("end", "spherical", "l4", "base", child_xyz=p).build()
    cut, at = edit.recut(model, q, "end", "j1")  # turns j2, j3 and j4 round
    assert cut.loops["j1"].kind == {"spherical_euler": "spherical", "continuous": "revolute"}.get(kind, kind)
    assert cut.joints["j3"].parent == "l3"
    assert_same_mechanics(model, q, cut, at, rng)
    back, home = edit.recut(cut, at, "j1", "end")
    assert back.loops["end"].kind == "spherical"
    assert_same_mechanics(model, q, back, home, rng)


@pytest.mark.parametrize(
    ("make", "loop", "joint"),
    [
        (mechanisms.four_bar, "closing", "joint_2"),
        (mechanisms.slider_crank, "guide", "crank"),
        (mechanisms.bennett, "closing", "joint_1"),
        (mechanisms.hexa, "leg_2_ball", "leg_2_knee"),
        (mechanisms.cassie_leg, "achilles_end", "tarsus"),
        (mechanisms.two_feet, "left_foot", "left_knee"),
        (mechanisms.parallel_gripper, "right_pin", "right_link"),
    ],
)
def test_mechanisms_of_the_library_can_be_cut_elsewhere(make: Any, loop: str, joint: str) -> None:
    model, q = make()
    other, p = edit.recut(model, q, loop, joint)
    assert_same_mechanics(model, q, other, p, np.random.default_rng(0))


def test_a_floating_robot_that_stands_can_be_described_from_its_foot() -> None:
    model, q = mechanisms.two_feet()
    other, p = edit.recut(model, q, "left_foot", "left_hip_yaw")
    assert other.root == "world"
    assert other.joints["root_joint"].kind == "floating"
    assert other.joints["left_foot"].kind == "fixed"
    assert other.joints["left_foot"].parent == "world"
    assert "left_hip_yaw" not in other.actuated
    assert other.loop_names == ["left_hip_yaw", "right_foot"]
    assert other.nv == 29
    for name in ("left_knee", "right_knee", "left_ankle_roll"):  # joints that are turned round keep their positions
        np.testing.assert_allclose(p[other.q_index(name)], q[model.q_index(name)], rtol=0.0, atol=1e-15)


def test_the_path_of_a_loop_leads_from_its_parent_to_its_child() -> None:
    model, _ = mechanisms.ladder(2)
    assert edit.loop_path(model, "cell_1") == ["right_1", "left_1", "rung_1"]
    assert edit.loop_path(model, "cell_2") == ["right_2", "left_2", "rung_2"]


def open_four_bar() -> tuple[ada.Model, Any]:
    model, q = mechanisms.four_bar()
    return model, q + 0.1


def short_four_bar() -> tuple[ada.Model, Any]:
    model, q = mechanisms.four_bar()
    return model, q[:2]


def losing(first: dict[str, float], second: dict[str, float], kind: str = "planar") -> tuple[ada.Model, Any]:
    """A closed chain whose joints have losses, which would vanish with them."""
    builder = ada.Builder("chain").link("base").link("a", 1.0).link("b", 1.0)
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0), **first)
    builder.joint("second", kind, "a", "b", (0, 0, 1), axis=(0, 1, 0), **second)
    model = builder.loop("end", "fixed", "base", "b", (0, 0, 1)).build()
    return model, model.neutral()


@pytest.mark.parametrize(
    ("make", "loop", "joint", "message"),
    [
        (mechanisms.hexa, "leg_9_ball", "leg_1_crank", "no loop is named 'leg_9_ball'"),
        (mechanisms.hexa, "leg_1_ball", "leg_2_crank", "no joint on loop 'leg_1_ball' is named 'leg_2_crank'"),
        (mechanisms.hexa, "leg_1_ball", "platform", "'platform' is floating; a loop can be closed by"),
        (mechanisms.parallel_gripper, "left_pin", "left_drive", "'left_drive' cannot close a loop.* mimics"),
        (mechanisms.parallel_gripper, "right_pin", "right_drive", "'right_drive' cannot close a loop.* mimics"),
        (open_four_bar, "closing", "joint_2", r"'closing' is open at this q.*closes all loops"),
        (short_four_bar, "closing", "joint_2", r"q has shape \(2,\)"),
        (lambda: losing({"damping": 0.1}, {}), "end", "first", "'first' cannot close a loop: it has damping"),
        (lambda: losing({"friction": 0.1}, {}), "end", "first", "'first' cannot close a loop: it has friction"),
        (lambda: losing({"armature": 0.1}, {}), "end", "first", "'first' cannot close a loop: it has armature"),
        (lambda: losing({}, {"damping": 0.1}), "end", "first", "'second' lies between .* turned round: it has damping"),
        (lambda: losing({}, {"friction": 0.1}), "end", "first", "'second' lies between .* round: it has friction"),
        (lambda: losing({}, {"armature": 0.1}), "end", "first", "'second' lies between .* round: it has armature"),
        (lambda: losing({}, {}, "floating_euler"), "end", "first", "'second' lies .* floating_euler .* turned round"),
    ],
)
def test_a_cut_that_cannot_be_made_is_refused_by_name(make: Any, loop: str, joint: str, message: str) -> None:
    model, q = make()
    with pytest.raises(ada.InputError, match=message):
        edit.recut(model, q, loop, joint)


def test_joints_that_are_turned_round_keep_their_followers() -> None:
    """A gear between two joints of the far part goes on when that part is carried from its other end."""
    builder = ada.Builder("geared").link("base").link("a", 1.0).link("b", 1.0, (0, 0, 0.5)).link("c", 1.0, (0, 0, 0.4))
    builder.joint("first", "revolute", "base", "a", axis=(0, 1, 0))
    builder.joint("second", "revolute", "a", "b", (0, 0, 1), axis=(0, 1, 0))
    builder.joint("third", "revolute", "b", "c", (0, 0, 1), axis=(0, 1, 0), mimic=Mimic("second", -0.5, 0.2))
    for name in "abc":
        builder.link(f"{name}_load", 1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))
        builder.joint(f"{name}_weld", "fixed", name, f"{name}_load")
    tree = builder.build()
    q = np.array([0.3, 7.0])  # more than a turn: the follower's angle depends on it
    R, p = Oracle(tree).link_pose("c", q)
    model = builder.loop("end", "cylindrical", "c", "base", (0, 0, 1), child_xyz=p + R[:, 2], axis=(0, 1, 0)).build()
    other, at = edit.recut(model, q, "end", "first")
    assert other.joints["third"].mimic == Mimic("second", -0.5, 0.2)
    assert at[other.q_index("second")] == pytest.approx([7.0], abs=1e-14)
    assert_same_mechanics(model, q, other, at, np.random.default_rng(0))
