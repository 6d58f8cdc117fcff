# SPDX-License-Identifier: Apache-2.0
"""Ways that only long robots, machines without a compiler or trees take, beside those that all take."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from random_trees import random_tree, sprung_chain, states_of

import ada_dynamics as ada
from ada_dynamics.dynamics import closed_derivatives, derivatives, kernels, quantities
from ada_dynamics.dynamics.geometry import Adjusted
from ada_dynamics.dynamics.quantities import derivative_products, equations
from ada_dynamics.dynamics.quantities.derivatives import side_by_side
from ada_dynamics.errors import InputError
from ada_dynamics.jit import Target
from ada_dynamics.jit.loop_kernel import LoopKernel
from ada_dynamics.model import Limits, Mimic
from ada_dynamics.model.edit import open_loops, with_gravity, with_parts
from ada_dynamics.robots import mechanisms
from ada_dynamics.spatial.motion import Force

Array = Any


def agree(found: Any, expected: Any, rounding: float = 1e-10) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0.0, atol=rounding * max(np.abs(b).max(), 1.0))


@pytest.fixture(scope="module")
def chain() -> tuple[ada.Model, tuple[Array, Array, Array]]:
    model = random_tree(2, ["revolute", "prismatic", "spherical"])
    return model, states_of(model, 3)


def test_derivatives_column_by_column_are_those_that_are_written_out(chain: Any, monkeypatch: Any) -> None:
    model, states = chain
    written = ada.Dynamics(model)
    expected = written.inverse_derivatives(*states), written.forward_derivatives(*states)
    external = {model.link_names[-1]: np.arange(6.0)}
    pulled = written.inverse_derivatives(*states, external=external)
    monkeypatch.setattr(derivatives, "WRITTEN_OUT_UP_TO", 0)
    long = ada.Dynamics(model)
    assert not long._is_written_out and written.model is long.model
    agree(long.inverse_derivatives(*states), expected[0])
    agree(long.forward_derivatives(*states), expected[1])
    agree(long.inverse_derivatives(*states, external=external), pulled)
    one = [x[1].copy() for x in states]
    agree(long.inverse_derivatives(*one), [x[1] for x in expected[0]])
    agree(long.forward_derivatives(*one), [x[1] for x in expected[1]])
    # a single velocity counts for all states
    same = ada.Dynamics(model).inverse_derivatives(states[0], one[1], states[2])
    agree([x[1] for x in same], [x[1] for x in expected[0]])
    one[1][0] = np.inf
    with pytest.raises(InputError, match=r"v\[0\]"):
        long.inverse_derivatives(*one)


def test_generic_kernels_know_rotors_losses_and_springs() -> None:
    model = sprung_chain(damping=0.3)
    states = states_of(model, 3)
    plain, generic = ada.Dynamics(model), ada.Dynamics(model, kernel="generic")
    assert all(joint.armature > 0.0 < joint.stiffness for joint in model.joints.values())
    for name in ("forward", "inverse"):
        agree([getattr(generic, name)(*states)], [getattr(plain, name)(*states)])


@pytest.mark.parametrize("make", [lambda: random_tree(2, ["revolute", "prismatic"] * 3), sprung_chain])
def test_without_a_compiler_the_generic_kernels_are_the_algorithms_themselves(make: Any, monkeypatch: Any) -> None:
    model = make()
    states = states_of(model, 3)
    external = {model.link_names[-1]: np.arange(6.0)}
    plain, generic = ada.Dynamics(model), ada.Dynamics(model, kernel="generic")
    assert generic.is_generic and not plain.is_generic
    monkeypatch.setattr(LoopKernel, "available", staticmethod(lambda: False))
    for name in ("forward", "inverse"):
        for more in ({}, {"external": external}):
            expected = getattr(plain, name)(*states, **more)
            agree([getattr(generic, name)(*states, **more)], [expected])
            agree([getattr(generic, name)(*(x[2] for x in states), **more)], [expected[2]])
    wrong = [x.copy() for x in states]
    wrong[1][1, 0] = np.nan
    with pytest.raises(InputError, match=r"v\[0\] of state 1 is nan"):
        generic.forward(*wrong)


@pytest.mark.parametrize("kernel", ["generic", "specialised"])
def test_kernels_are_there_to_be_called_by_their_names(kernel: str) -> None:
    model = random_tree(2, ["revolute", "prismatic"] * 2)
    states = states_of(model, 3)
    dynamics = ada.Dynamics(model, kernel=kernel)
    agree([dynamics.kernel("forward").batch(*states)], [dynamics.forward(*states)], 1e-12)
    agree([dynamics.kernel("inverse").batch(*states)], [dynamics.inverse(*states)], 1e-12)
    for name, inputs, result in (("forward", ["q", "v", "tau"], "a"), ("inverse", ["q", "v", "a"], "tau")):
        signature = dynamics.kernel(name).signature
        assert ([one for one, _ in signature.inputs], signature.outputs) == (inputs, ((result, (model.nv,)),))
    with pytest.raises(InputError, match="no kernel is named 'backward'"):
        dynamics.kernel("backward")


def test_wrenches_on_all_bodies_in_a_row_are_those_on_links(chain: Any) -> None:
    model, states = chain
    dynamics = ada.Dynamics(model)
    flat = np.zeros((3, 6 * len(model.tree.bodies)))
    agree([dynamics.forward_on_bodies(*states, flat)], [dynamics.forward(*states)])
    agree([dynamics.forward_on_bodies(*states, None)], [dynamics.forward(*states)], 1e-15)
    link, wrench = model.link_names[-1], np.arange(1.0, 7.0)
    frame = model.tree.frames[link]
    on_body = frame.pose.to_parent(Force.force_first(wrench.tolist()))
    flat[:, 6 * frame.body : 6 * frame.body + 6] = [*on_body.force, *on_body.moment]
    pulled = dynamics.forward_on_bodies(*states, flat)
    agree([pulled], [dynamics.forward(*states, {link: wrench})])
    assert np.abs(pulled - dynamics.forward(*states)).max() > 0.1


def test_what_there_is_to_say_of_loops_where_there_are_none(chain: Any) -> None:
    model, (q, v, _) = chain
    dynamics = ada.Dynamics(model)
    found = dynamics.loop_state(q[0], v[0])
    assert (found.gap, found.drift, found.sigma, found.mobility, found.worst_gap) == ({}, {}, 1.0, model.nv, 0.0)
    assert dynamics.largest_gap(q).tolist() == [0.0] * 3 and dynamics.largest_gap(q[0]).shape == ()
    assert dynamics.loop_conditions(q).shape == (3, 0, model.nv) and dynamics.loop_conditions(q[0]).shape == (
        0,
        model.nv,
    )
    assert dynamics.loop_gaps(q).shape == (3, 0) and dynamics.loop_gaps(q[0]).shape == (0,)


def test_gaps_of_a_batch_are_the_worst_of_each_state() -> None:
    model, start = mechanisms.four_bar()
    dynamics = ada.Dynamics(model, pose=start)
    q = np.array([start, start + 0.01, start - 0.02])
    found = dynamics.largest_gap(q)
    for gap, row in zip(found, q, strict=True):
        assert gap == pytest.approx(dynamics.loop_state(row).worst_gap, rel=1e-12, abs=1e-15)
    assert found[1] > 1e-3 > 1e-9 > found[0]
    assert dynamics.largest_gap(np.zeros((0, 3))).shape == (0,)
    for given in ((q,), (start, np.zeros((2, 3)))):
        with pytest.raises(InputError, match="one state; call it row by row, or largest_gap"):
            dynamics.loop_state(*given)


def test_derivatives_by_other_algorithms_are_other_functions(chain: Any) -> None:
    """Kernels are found again by their names."""
    model, _ = chain
    ways = {
        name: ada.Dynamics(model, algorithm=name)._open_equations.way for name in ("auto", "aba", "crba", "order_n")
    }
    assert ways == {"auto": "", "aba": "_aba", "crba": "_crba", "order_n": "_order_n"}


def fan(branches: int) -> ada.Model:
    """So many rods that turn on one base."""
    builder = ada.Builder("fan").link("base")
    for i in range(branches):
        builder.link(f"rod_{i}", 1.0, (0.0, 0.0, 0.5), 0.1 * np.eye(3))
        builder.joint(f"joint_{i}", "revolute", "base", f"rod_{i}", axis=(1.0, 0.0, 0.0))
    return builder.build()


def test_long_robots_take_the_generic_kernels_unless_told_otherwise(monkeypatch: Any) -> None:
    monkeypatch.setattr(kernels, "SPECIALISE_UP_TO", 3)
    always, by_itself = {"generic"}, {"generic", "auto"}
    # the mass matrix of a chain of three has 6 numbers
    trees = ((ada.chain_3d(3), always), (ada.chain_3d(4), by_itself), (fan(6), always), (fan(7), by_itself))
    for tree, generic in trees:
        found = {kernel: ada.Dynamics(tree, kernel=kernel) for kernel in ("auto", "generic", "specialised")}
        assert {kernel for kernel, dynamics in found.items() if dynamics.is_generic} == generic
    # loops and joints that follow others have no generic kernels
    model, start = mechanisms.stewart()
    assert not ada.Dynamics(model, pose=start).is_generic


def test_a_dynamics_builds_the_one_tree_that_its_kernels_need() -> None:
    for kernel, built in (("generic", "uniform_tree"), ("specialised", "tree")):
        model = ada.planar_chain(3)
        ada.Dynamics(model, kernel=kernel)  # type: ignore[arg-type]
        assert {name for name in vars(model) if name.endswith("tree")} == {built}


def branches(*lengths: int) -> ada.Model:
    """Branches of hinges, all on a base that turns by one."""
    builder = ada.Builder("branches").link("ground").link("base", 1.0, inertia=(1, 1, 1))
    builder.joint("turn", "revolute", "ground", "base")
    for i, length in enumerate(lengths):
        before = "base"
        for k in range(length):
            builder.link(f"link_{i}_{k}", 1.0, inertia=(1, 1, 1))
            builder.joint(f"joint_{i}_{k}", "revolute", before, f"link_{i}_{k}")
            before = f"link_{i}_{k}"
    return builder.build()


@pytest.mark.parametrize(
    ("lengths", "sizes"),
    [
        # a chain in pieces of eight, the widest vectors
        ((7,), [8]),
        ((8,), [8, 1]),
        ((17,), [8, 8, 2]),
        # limbs by themselves, but for short ones
        ((4, 4), [5, 4]),
        ((4, 4, 2), [5, 6]),
    ],
)
def test_directions_go_side_by_side_branch_by_branch_eight_at_most(lengths: Any, sizes: list[int]) -> None:
    found = side_by_side(branches(*lengths).tree)
    assert [len(group) for group in found] == sizes
    assert [k for group in found for k in group] == list(range(1 + sum(lengths)))


def test_the_cheapest_of_the_algorithms_that_a_depth_is_worth_is_taken(monkeypatch: Any) -> None:
    """Up to 16 joints in a row the matrix is counted too; a trace is not made where there is nothing to compare."""
    for length, names in ((16, {"aba", "crba"}), (17, set())):
        for costs, cheapest in (({"aba": 2.0, "crba": 1.0}, "crba"), ({"aba": 1.0, "crba": 2.0}, "aba")):
            asked: set[str] = set()

            def count(functions: Any, asked: set[str] = asked, costs: dict[str, float] = costs) -> dict[str, float]:
                asked.update(functions)
                return {name: costs[name] for name in functions}

            def forward(tree: Any, name: str, external: bool) -> Any:
                return SimpleNamespace(trace=lambda: name)

            monkeypatch.setattr(kernels.Kernels, "costs", staticmethod(count))
            monkeypatch.setattr(kernels.quantities, "forward", forward)
            found = kernels.Kernels(branches(length - 1), "auto", False, True)
            assert (found.algorithm, asked) == (cheapest if names else "aba", names)
            assert found._traced == ({cheapest: cheapest} if names else {})
    assert kernels.Kernels(ada.planar_chain(2), "auto", True, True).algorithm == "aba"
    assert kernels.Kernels(ada.planar_chain(2), "dca", False, True).algorithm == "dca"


def test_an_algorithm_of_loops_is_a_plan_and_the_cheapest_where_there_is_no_such_one() -> None:
    for algorithm, dense, candidates, plan in (
        ("auto", False, ["kkt sparse"], "cheap"),
        ("aba", False, ["aba early", "kkt sparse"], "aba early"),
        ("aba", False, ["kkt sparse"], "cheap"),
        ("crba", False, ["kkt sparse"], "kkt sparse"),
        ("dca", False, ["kkt sparse"], "dca"),
        ("lagrange", False, [], "lagrange"),
        ("aba", True, ["aba early"], "late"),
    ):
        closed: Any = SimpleNamespace(
            cheapest="cheap", plans=SimpleNamespace(is_dense_only=dense, candidates=dict.fromkeys(candidates))
        )
        found = kernels.Kernels(ada.planar_chain(2), algorithm, False, True)
        assert found._cheapest_candidate(closed) == plan
    assert found._cheapest_candidate(None) == "late"


def test_algorithms_of_trees_get_what_they_take(monkeypatch: Any) -> None:
    """Lagrange's equations are for links without wrenches; hybrid takes cuts, assembly an order."""
    used: list[Any] = []

    def solver(name: str) -> Any:
        return lambda tree, q, v, tau, *external, **more: (used.append((name, tree, more)), [x * 1.0 for x in tau])[1]

    monkeypatch.setattr(equations, "FORWARD", {name: solver(name) for name in equations.FORWARD})
    monkeypatch.setattr(equations, "for_efforts", lambda tree: "regrouped")
    tree, cuts = branches(2).tree, ("joint_0_0",)
    for algorithm, external, order, name, of, more in (
        ("lagrange", False, None, "lagrange", "regrouped", {}),
        ("lagrange", True, None, "crba", "regrouped", {}),
        ("aba", True, None, "aba", "regrouped", {}),
        ("order_n", False, None, "order_n", tree, {}),
        ("hybrid", False, None, "hybrid", tree, {"cuts": "auto"}),
        ("hybrid", False, cuts, "hybrid", tree, {"cuts": cuts}),
        ("ada", False, "chain", "ada", tree, {"order": "chain"}),
        ("dca", False, None, "dca", tree, {"order": None}),
    ):
        used.clear()
        equations.forward(tree, algorithm, external, order).trace()  # type: ignore[arg-type]
        assert used == [(name, of, more)]


@pytest.mark.parametrize(("before", "after", "missing"), [(2, 4, 0), (2, 3, 1), (1, 1, 2)])
def test_lengths_that_loops_leave_no_room_are_counted_and_named(before: int, after: int, missing: int) -> None:
    at: Any = object.__new__(Adjusted)
    motions = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0 if missing < 2 else 0.0]])
    at.names, at.added, at.model = ("width", "turn"), np.array([1, 2]), SimpleNamespace(name="m")
    at.dynamics = SimpleNamespace(choices=SimpleNamespace(mobility=after, samples=[motions]))
    plain: Any = SimpleNamespace(choices=SimpleNamespace(mobility=before))
    if not missing:
        at._refuse_what_loops_hold(plain)
        return
    held = "(width)" if missing == 1 else "(width, turn)"
    with pytest.raises(InputError, match=f"leave {missing} of the lengths and turns width, turn no room") as said:
        at._refuse_what_loops_hold(plain)
    assert f"any more {held}." in str(said.value)


def test_a_robot_has_code_of_its_own_up_to_sixty_velocities() -> None:
    for length, is_generic in ((59, False), (60, True)):
        assert ada.Dynamics(branches(length)).is_generic == is_generic


def test_derivatives_are_those_of_the_algorithm_that_is_in_use(monkeypatch: Any) -> None:
    """Lanes stay lanes where they are differentiated; what has no articulated bodies, or has loops, is factorised."""
    used: list[str] = []

    def recorded(name: str, function: Any) -> Any:
        return lambda *given: (used.append(name), function(*given))[1]

    for name in ("aba", "lanes"):
        own = recorded(f"forward by {name}", derivative_products.ARTICULATED[name])
        monkeypatch.setitem(derivative_products.ARTICULATED, name, own)
    inverse = recorded("inverse by lanes", derivative_products.lanes.inverse_dynamics)
    monkeypatch.setattr(derivative_products, "lanes", SimpleNamespace(inverse_dynamics=inverse))
    tree = branches(2, 2).tree
    for algorithm in ("aba", "lanes", "crba"):
        made = quantities.open_equations(tree, lambda algorithm=algorithm: algorithm)
        ways = {"lanes"} if algorithm == "lanes" else set()
        for make, forward in ((quantities.inverse_change, set()), (quantities.forward_along, {algorithm} - {"crba"})):
            used.clear()
            make(made).trace()
            assert set(used) == {f"inverse by {name}" for name in ways} | {f"forward by {name}" for name in forward}
    model, start = mechanisms.four_bar()
    closed = ada.Dynamics(model, pose=start).kernels.closed
    used.clear()
    made = closed_derivatives.equations(closed)._replace(algorithm=lambda: "lanes")
    quantities.forward_along(made).trace()
    assert not used


def test_derivatives_of_what_has_a_constant_mass_matrix_share_nothing_among_their_columns() -> None:
    builder = ada.Builder("slides").link("base").link("a", 1.0, inertia=(1, 1, 1)).link("b", 3.0, inertia=(1, 1, 1))
    builder.joint("along", "prismatic", "base", "a", axis=(1, 0, 0)).joint(
        "across", "prismatic", "a", "b", axis=(0, 1, 0)
    )
    dynamics = ada.Dynamics(builder.build())
    found = dynamics.forward_derivatives(*np.ones((3, 2)))
    assert not found.dq.any() and not found.dv.any()
    np.testing.assert_allclose(found.du, np.diag([1.0 / 4.0, 1.0 / 3.0]), atol=1e-15)


def test_models_whose_kernels_differ_have_other_fingerprints() -> None:
    """By these, kernels are found on the disk: limits and rests of springs that do not pull change none."""
    model, _ = mechanisms.four_bar()
    name = model.joint_names[1]
    joint, link, loop = model.joints[name], model.links[model.joints[name].child], model.loops["closing"]
    shift, turn = np.array([0.0, 0.0, 0.125]), np.diag([1.0, -1.0, -1.0])
    followed = Mimic(model.joint_names[0], 2.0)
    sprung = replace(joint, stiffness=2.0)
    others = [
        with_gravity(model, (0.0, 0.0, -1.625)),
        *(
            with_parts(model, part)
            for part in (
                replace(joint, xyz=joint.xyz + shift),
                replace(joint, rotation=turn @ joint.rotation),
                replace(joint, axis=-joint.axis),
                replace(joint, kind="prismatic"),
                replace(joint, armature=0.5),
                replace(joint, damping=0.5),
                replace(joint, friction=0.5),
                sprung,
                replace(sprung, rest=0.5),
                replace(joint, mimic=followed),
                replace(joint, mimic=replace(followed, multiplier=3.0)),
                replace(joint, mimic=replace(followed, offset=0.5)),
                replace(link, mass=link.mass + 1.0),
                replace(link, com=link.com + shift),
                replace(link, inertia=2.0 * link.inertia),
                replace(loop, parent_xyz=loop.parent_xyz + shift),
                replace(loop, child_xyz=loop.child_xyz + shift),
                replace(loop, parent_rotation=turn @ loop.parent_rotation),
                replace(loop, child_rotation=turn @ loop.child_rotation),
                replace(loop, kind="spherical"),
            )
        ),
        open_loops(model),
    ]
    found = [kernels.tree_fingerprint(one.tree) for one in (model, *others)]
    assert len(set(found)) == len(found)
    tips = [ada.Builder("tip").link("base").link("arm", 1.0, inertia=(1, 1, 1)).link("tip") for _ in range(2)]
    for k, builder in enumerate(tips):
        builder.joint("turn", "revolute", "base", "arm").joint("at", "fixed", "arm", "tip", (0.0, 0.0, 1.0 + k))
    assert len({kernels.tree_fingerprint(builder.build().tree) for builder in tips}) == 2
    same = (replace(joint, limits=Limits(-1.0, 1.0)), replace(joint, rest=0.5))
    assert {kernels.tree_fingerprint(with_parts(model, part).tree) for part in same} == {found[0]}
    assert kernels.tree_fingerprint(mechanisms.four_bar()[0].tree) == found[0]


def test_instructions_are_counted_for_the_processor_at_hand_or_for_a_usual_one(monkeypatch: Any) -> None:
    monkeypatch.setattr(kernels, "instructions", lambda function, bits: (function, bits))
    for reason, bits in ((None, Target.host().vector_bits), ("no compiler", 256)):
        monkeypatch.setattr(kernels, "reason_for_fallback", lambda reason=reason: reason)
        assert kernels.Kernels.costs({"a": 1, "b": 2}) == {"a": (1, bits), "b": (2, bits)}  # type: ignore[dict-item]


def test_generic_kernels_go_by_assembly_where_that_is_asked_for(monkeypatch: Any) -> None:
    model = ada.planar_chain(3)
    monkeypatch.setattr(kernels, "loop_kernel", lambda tree, *given: [tree is model.uniform_tree, *given])
    for algorithm, forward in (("auto", "aba"), ("aba", "aba"), ("ada", "ada")):
        at = kernels.Kernels(model, algorithm, True, True)
        for name, by in (("forward", forward), ("inverse", "aba")):
            for external in (False, True):
                found: Any = at.loop(name, external)
                assert found == [True, name, external, by] and at.loop(name, external) is found
    name = model.joint_names[1]
    follows = with_parts(model, replace(model.joints[name], mimic=Mimic(model.joint_names[0])))
    with pytest.raises(InputError, match="has mimic joints, which the generic loop kernels cannot couple"):
        kernels.Kernels(follows, "auto", True, True).loop("forward", False)


def test_code_of_long_mechanisms_with_loops_and_of_generic_ones_is_interpreted(monkeypatch: Any) -> None:
    (looped, start), chain = mechanisms.four_bar(), ada.planar_chain(3)
    for limit, is_long in ((3, False), (2, True)):
        monkeypatch.setattr(kernels, "SPECIALISE_UP_TO", limit)
        for model, generic, is_large in ((chain, False, False), (chain, True, is_long), (looped, False, is_long)):
            at = kernels.Kernels(model, "auto", generic, True, start if model is looped else None)
            made = at.get("gravity", lambda: quantities.gravity(chain.tree))
            assert at.large == is_large
            assert type(made).__name__ == ("TapeKernel" if is_large else "Kernel")
            assert at.get("gravity", lambda: pytest.fail("made again")) is made


def test_loops_have_the_algorithm_of_their_plan() -> None:
    model, start = mechanisms.four_bar()
    for candidate, algorithm in (("kkt late", "crba"), ("aba early", "aba"), ("lagrange", "lagrange"), ("ada", "ada")):
        at = kernels.Kernels(model, "auto", False, True, start)
        at._candidate = candidate
        assert at.algorithm == algorithm
