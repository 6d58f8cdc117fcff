# SPDX-License-Identifier: Apache-2.0
"""Hybrid modelling: wherever a mechanism is cut, its pieces accelerate as pinocchio or a closed form says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mechanism_oracle import Oracle
from pin_tree import PinTree
from random_trees import Array, constants, floats, random_tree, solid, state_of
from random_trees import assert_same as same
from refused import refused
from tiers import nightly

import ada_dynamics as ada
from ada_dynamics.algorithms import crba, rnea
from ada_dynamics.expr import Function, cost, evaluate, expand, trace
from ada_dynamics.hybrid import lane_dynamics
from ada_dynamics.hybrid.cut_selection import assembly_order, forward_dynamics, pieces
from ada_dynamics.hybrid.lane_tree import lane_tree
from ada_dynamics.jit import Kernel, Signature
from ada_dynamics.model.joints import JOINT_TYPES
from ada_dynamics.model.tree import Tree, for_efforts
from ada_dynamics.robots import mechanisms
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import Vec3

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Assembly:
    """A model that grows limb by limb."""

    def __init__(self, name: str, seed: int = 0, trunk_axes: str = "") -> None:
        self.builder = ada.Builder(name)
        self.rng = np.random.default_rng(seed)
        self.builder.link("root", *solid(self.rng))
        parent = "root"
        for i, axis in enumerate(trunk_axes):
            parent = self._add(f"trunk_{i}", parent, "revolute", AXES[axis], {})

    def limb(self, name: str, parent: str, kinds: Sequence[str], **loads: float) -> Assembly:
        """A chain of joints, each "x", "y" or "z" for a revolute one, or a joint type; constants are random."""
        for i, kind in enumerate(kinds):
            axis: Any = AXES.get(kind, AXES["z"])
            parent = self._add(f"{name}_{i}", parent, "revolute" if kind in AXES else kind, axis, loads)
        return self

    def _add(self, name: str, parent: str, kind: str, axis: Any, loads: dict[str, float]) -> str:
        self.builder.link(name, *solid(self.rng))
        options: dict[str, Any] = {"axis": axis, "axis2": (0.0, 1.0, 0.0)} if kind == "universal" else {"axis": axis}
        xyz = self.rng.uniform(-0.4, 0.4, 3)
        self.builder.joint(f"to_{name}", kind, parent, name, xyz, **options, **constants(kind), **loads)
        return name

    def build(self, base: str = "floating") -> ada.Model:
        return self.builder.build(base)


def humanoid() -> ada.Model:
    """A free trunk of two joints, two legs on the pelvis, two arms on the chest, and a neck."""
    made = Assembly("humanoid", trunk_axes="zy")
    made.limb("leg_l", "root", "zxyyyx").limb("arm_l", "trunk_1", "yxzyz")
    made.limb("leg_r", "root", "zxyyyx").limb("arm_r", "trunk_1", "yxzyz")
    return made.limb("neck", "trunk_1", "zy").build()


def walker(legs: int, kinds: Sequence[str] = "xyy", base: str = "floating") -> ada.Model:
    made = Assembly(f"walker_{legs}")
    for leg in range(legs):
        made.limb(f"leg_{leg}", "root", kinds)
    return made.build(base)


def assert_same(model: ada.Model, q: Array, v: Array, tau: Array, found: Any, pull: Any = 0.0) -> None:
    """As pinocchio's mass matrix and bias have it; `pull` holds the efforts of forces on links."""
    tree = PinTree(model)
    same(model, q, v, tau, found, np.linalg.solve(tree.mass_matrix(q), tau - tree.bias(q, v) + pull))


def names(model: ada.Model) -> list[str]:
    return [body.name for body in model.tree.bodies]


@pytest.mark.parametrize("straight", [True, False])
def test_thin_rods_cut_anywhere_fall_as_in_pinocchio_also_when_they_are_in_line(straight: bool) -> None:
    model = ada.planar_chain(5)
    q, v, tau = state_of(model)
    if straight:
        q = np.array([np.pi / 2, 0.0, 0.0, 0.0, 0.0])
    for cuts in [*([name] for name in names(model)), names(model), "auto"]:
        assert_same(model, q, v, tau, forward_dynamics(model.tree, *floats(q, v, tau), cuts=cuts))


def test_a_traced_program_with_forces_on_links_computes_what_pinocchio_does() -> None:
    model = random_tree(3, ["revolute", "spherical", "universal"] * 2, "floating")
    tree = model.tree
    q, v, tau = state_of(model)
    rng = np.random.default_rng(5)
    pulled = {link: rng.normal(size=6) for link in model.link_names[::2]}  # [force, moment] in the link's axes
    wrenches = {
        tree.frames[link].body: tree.frames[link].pose.to_parent(Force(Vec3(*x[3:]), Vec3(*x[:3])))
        for link, x in pulled.items()
    }
    cuts = [names(model)[2], names(model)[4]]

    def program(q: Any, v: Any, tau: Any) -> dict[str, Any]:
        return {"a": forward_dynamics(tree, q, v, tau, wrenches, cuts=cuts)}

    traced = trace("hybrid", {"q": model.nq, "v": model.nv, "tau": model.nv}, program)
    assert_same(model, q, v, tau, evaluate(traced, q=q, v=v, tau=tau)["a"], PinTree(model).pull(q, pulled))


@pytest.mark.parametrize("seed", range(3))
def test_a_hexa_cut_anywhere_accelerates_as_a_dense_solution_says(seed: int) -> None:
    model, q = mechanisms.hexa()
    oracle = Oracle(model)
    rng = np.random.default_rng(seed)
    v = oracle.admissible(q, rng.normal(size=model.nv))
    tau = rng.normal(size=model.nv)
    expected = oracle.forward(q, v, tau).acceleration
    cuts = [name for name in names(model) if rng.random() < 0.3]
    found = forward_dynamics(model.tree, *floats(q, v, tau), cuts=cuts)
    # the loops' conditions have a condition number of some hundred
    assert np.max(np.abs(found - expected)) < 1e-9 * np.max(np.abs(expected))


def test_the_thesis_seven_links_are_joined_in_three_steps() -> None:
    tree = ada.planar_chain(7).tree
    assert pieces(tree, (4,)) == [(0, 1, 2, 3), (5, 6)]
    steps = assembly_order(tree, (4,)).steps
    assert [(step.joints, step.handles, step.in_joint_space) for step in steps] == [
        ((0, 1, 2, 3), (3,), True),
        ((5, 6), (4,), True),
        ((4,), (), False),
    ]


def test_cuts_that_cannot_be_are_refused_by_name() -> None:
    state = floats(np.zeros(3), np.zeros(3), np.zeros(3))
    tree = mechanisms.four_bar(crank=1.0)[0].tree
    with refused(ada.AdaError, joint="elbow"):
        forward_dynamics(tree, *state, cuts=["elbow"])
    with refused(ada.AdaError, loop="closing", field="cuts"):
        forward_dynamics(tree, *state, cuts=["closing"])
    with refused(ada.AdaError, field="cuts", value="joint_2"):
        forward_dynamics(tree, *state, cuts="joint_2")


# Sums of some hundred products in double precision, through different algorithms.
RELATIVE = 1e-11
KINDS = [kind for kind in JOINT_TYPES if kind not in ("fixed", "floating", "floating_euler")]


def states(model: ada.Model, count: int, seed: int = 0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    q = np.array([model.random_state(rng)[0] for _ in range(count)])
    return q, rng.normal(size=(count, model.nv)), 3.0 * rng.normal(size=(count, model.nv))


def mismatch(tree: Tree, q: Array, v: Array, tau: Array, a: Array, external: dict[int, Force] | None = None) -> float:
    """Largest error of the efforts that accelerations need, relative to what motion, weight and efforts add up to."""
    needed = rnea.inverse_dynamics(tree, q.tolist(), v.tolist(), a.tolist(), external)
    bias = rnea.inverse_dynamics(tree, q.tolist(), v.tolist(), None, external)
    size = max(np.abs(tau).max(), np.abs(bias).max())
    return float(np.abs(np.array(needed) - tau).max() / size)


def traced(tree: Tree) -> Function:
    sizes = {"q": tree.nq, "v": tree.nv, "tau": tree.nv}
    return trace("forward", sizes, lambda q, v, tau: {"a": lane_dynamics.forward_dynamics(tree, q, v, tau)})


def compiled(tree: Tree, key: str) -> Kernel:
    function = traced(tree)
    return Kernel(Signature.of(function), lambda: function, key)


def limb_names(model: ada.Model) -> set[tuple[str, ...]]:
    bodies = model.tree.bodies
    groups = lane_tree(model.tree).members
    return {tuple(bodies[i].name.removeprefix("to_") for i in group) for group in groups if len(group) > 1}


def test_legs_and_arms_of_a_humanoid_are_equal():
    legs = {(f"leg_l_{i}", f"leg_r_{i}") for i in range(6)}
    arms = {(f"arm_l_{i}", f"arm_r_{i}") for i in range(5)}
    assert limb_names(humanoid()) == legs | arms


def test_limbs_that_end_with_other_joints_or_axes_are_not_equal():
    for other in ("xyx", "x", "xyyz", ["x", "y", "prismatic"]):
        model = Assembly("two").limb("a", "root", "xyy").limb("b", "root", other).build()
        assert limb_names(model) == set()


def test_equal_parts_of_unequal_limbs_share_lanes():
    made = Assembly("tails").limb("a", "root", "z").limb("b", "root", "x")
    for end in ("a_0", "b_0"):
        made.limb(f"tail_{end}", end, "yy").limb(f"side_{end}", end, "xz")
    model = made.build()
    assert {len(group) for group in limb_names(model)} == {2}
    assert limb_names(model) == {
        *((f"tail_a_0_{i}", f"tail_b_0_{i}") for i in range(2)),
        *((f"side_a_0_{i}", f"side_b_0_{i}") for i in range(2)),
    }


def test_more_than_eight_equal_limbs_are_several_groups():
    assert sorted(len(group) for group in lane_tree(walker(11, "y").tree).members) == [1, 3, 8]


ROBOTS = {
    "humanoid": humanoid,
    "quadruped": lambda: walker(4),
    "tripod": lambda: walker(3, "zyy"),
    "hexapod": lambda: walker(6),
    "eleven": lambda: walker(11, "y"),
    "two arms": lambda: walker(2, "zyzyzyz", base="fixed"),
    "cranes": lambda: walker(2, ["z", "prismatic", "y"], base="fixed"),
    "screws": lambda: walker(4, ["x", "helical", "y"]),
    "lone arm": lambda: walker(1, "zyzy", base="fixed"),
}


QUICK = ("quadruped", "cranes")


@pytest.mark.parametrize("name", [n if n in QUICK else nightly(n) for n in ROBOTS])
def test_accelerations_are_those_of_pinocchio(name):
    model = ROBOTS[name]()
    peer = PinTree(model)
    q, v, tau = states(model, 9)
    rows = zip(q, v, tau, strict=True)
    expected = np.array([np.linalg.solve(peer.mass_matrix(x), u - peer.bias(x, y)) for x, y, u in rows])
    scale = np.abs(expected).max(axis=1, keepdims=True)
    kernel = compiled(for_efforts(model.tree), name)
    singles = np.array([kernel.single(*row) for row in zip(q, v, tau, strict=True)])
    assert np.abs(singles / scale - expected / scale).max() < RELATIVE
    if name in ("quadruped", "two arms"):
        assert np.abs(kernel.batch(q, v, tau) / scale - expected / scale).max() < RELATIVE


# Type of a joint, and for each limb whether its joints have armature, damping and friction.
limb_kinds = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4)


@settings(max_examples=25)
@given(
    kinds=limb_kinds,
    loaded=st.lists(st.booleans(), min_size=2, max_size=4),
    on_trunk=st.lists(st.booleans(), min_size=4, max_size=4),
    base=st.sampled_from(["fixed", "floating"]),
    seed=st.integers(0, 1000),
)
def test_efforts_come_back_for_limbs_of_every_joint_type(kinds, loaded, on_trunk, base, seed):
    made = Assembly("any", seed, trunk_axes="x")
    for i, loads in enumerate(loaded):
        given_loads = {"armature": 0.3, "damping": 0.2, "friction": 0.1 * i} if loads else {}
        made.limb(f"limb_{i}", "trunk_0" if on_trunk[i] else "root", kinds, **given_loads)
    model = made.limb("tail", "trunk_0", "z").build(base)
    rng = np.random.default_rng(seed)
    tree, (q, v, tau) = model.tree, (x[0] for x in states(model, 1, seed))
    condition = np.linalg.cond(np.array(crba.mass_matrix(tree, q.tolist()).dense(), dtype=float))
    assume(condition < 1e6)  # else near gimbal lock, where digits are lost; usual ones are up to 1e5
    assert any(len(group) >= len(loaded) for group in lane_tree(tree).members)
    external = {i: Force(*(Vec3(*x) for x in rng.normal(size=(2, 3)).tolist())) for i in (1, len(tree.bodies) - 2)}
    a = np.array(lane_dynamics.forward_dynamics(tree, q.tolist(), v.tolist(), tau.tolist(), external), dtype=float)
    assert mismatch(tree, q, v, tau, a, external) < RELATIVE


def test_oblique_placements_that_differ_between_limbs_are_right():
    builder = ada.Builder("star").link("root", 3.0, (0.0, 0.0, 0.1), np.diag([0.1, 0.2, 0.3]))
    rng = np.random.default_rng(4)
    turns = {
        "straight": (0.0, 0.0, 0.0),
        "half": (0.0, 0.0, np.pi),
        "oblique": (0.3, -1.1, 2.0),
        "about_x": (0.7, 0.0, 0.0),
    }
    for name, rpy in turns.items():
        builder.link(f"{name}_0", 1.0, rng.uniform(-0.1, 0.1, 3), np.diag([0.01, 0.02, 0.015]))
        builder.link(f"{name}_1", 1.0, rng.uniform(-0.1, 0.1, 3), np.diag([0.01, 0.02, 0.015]))
        builder.joint(f"{name}_hip", "revolute", "root", f"{name}_0", (0.3, 0.1, 0.0), rpy, axis=(0.0, 1.0, 0.0))
        builder.joint(f"{name}_knee", "revolute", f"{name}_0", f"{name}_1", (0.0, 0.0, -0.4), axis=(0.0, 1.0, 0.0))
    model = builder.build("floating")
    assert max(map(len, lane_tree(model.tree).members)) == 4
    q, v, tau = (x[0] for x in states(model, 1))
    a = compiled(model.tree, "star").single(q, v, tau)
    assert mismatch(model.tree, q, v, tau, a) < RELATIVE


def test_lanes_take_no_more_operations_than_the_limbs_one_by_one():
    from ada_dynamics.algorithms import aba

    tree = for_efforts(humanoid().tree)
    sizes = {"q": tree.nq, "v": tree.nv, "tau": tree.nv}
    one_by_one = trace("forward", sizes, lambda q, v, tau: {"a": aba.forward_dynamics(tree, q, v, tau)})
    function = traced(tree)
    assert cost(expand(function)).flops <= 1.01 * cost(one_by_one).flops
    assert len(function.nodes()) < 0.65 * len(one_by_one.nodes())
