# SPDX-License-Identifier: Apache-2.0
"""Derivatives by composite bodies: those of sweeps over all bodies, for every kind of joint, in calls and batches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from complex_step import slopes
from hypothesis import given, settings, strategies
from random_trees import (
    BASES,
    KINDS,
    Array,
    constants,
    dense_mass,
    random_tree,
    sprung_chain,
    state_of,
    trees,
    two_free_bodies,
)
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.algorithms.kkt import Plan
from ada_dynamics.algorithms.ldl import factorise
from ada_dynamics.algorithms.rnea import inverse_dynamics
from ada_dynamics.algorithms.rnea_derivatives import BY_Q, BY_V, OF_STATE, VARIABLES, RneaDerivatives
from ada_dynamics.dynamics.derivative_columns import ResidualColumns
from ada_dynamics.dynamics.derivative_quantities import (
    ARTICULATED_ABOVE,
    moving_pairs,
    of_equations,
    open_equations,
    residual_derivatives,
    with_loops,
)
from ada_dynamics.expr import Traced, evaluate, trace
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS
from ada_dynamics.model.tree import WORLD, Loop, Tree
from ada_dynamics.spatial.rotation import MatrixRotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Mat3, Vec3


def by_composites(model: ada.Model, *, solved: bool, widest: int = 8) -> dict[str, Array]:
    """∂r/∂q, ∂r/∂v and M, or the changes of the accelerations with q, v and τ."""

    def body(q, v, a):
        found = RneaDerivatives(model.tree, q, v, a, widest=widest)
        columns = ResidualColumns(found, factorise(found.mass_matrix) if solved else None)
        if not solved:
            return Traced({}, (), [one for name in VARIABLES for one in columns.by(name, name)])
        by_state = [one for name in OF_STATE for one in columns.solved(name)]
        return Traced({}, (), [*by_state, *columns.by_efforts("du")])

    function = trace("composites", {"q": model.nq, "v": model.nv, "a": model.nv}, body)
    return evaluate(function, **dict(zip("qva", (x.tolist() for x in state_of(model)), strict=True)))


def by_sweeps(model: ada.Model) -> dict[str, Array]:
    function = residual_derivatives(model.tree, open_equations(model.tree).plan).trace()
    state = dict(zip("qva", (x.tolist() for x in state_of(model)), strict=True))
    return {**evaluate(function, **state), "du": dense_mass(model, state_of(model)[0])}


def close(found: dict[str, Array], expected: dict[str, Array], tolerance: float) -> None:
    for name, one in expected.items():
        assert np.max(np.abs(one - found[name])) < tolerance * max(1.0, np.max(np.abs(one))), name


@settings(max_examples=25)
@given(model=trees(8), widest=strategies.sampled_from([4, 8]))
def test_trees_of_all_joints(model: ada.Model, widest: int) -> None:
    close(by_composites(model, solved=False, widest=widest), by_sweeps(model), 1e-12)


@pytest.mark.parametrize(
    "model",
    [
        sprung_chain(),
        two_free_bodies(),
        random_tree(1, KINDS, "floating", is_serial=True),
        random_tree(1, ["revolute"] * 40, is_serial=True),
        random_tree(2, ["revolute"] * 7 + ["spherical"], "floating_euler", mimics={3: 1, 6: 5}),
    ],
    ids=["springs", "free bodies", "serial", "long", "mimics"],
)
def test_loads_free_bodies_and_mimics(model: ada.Model) -> None:
    of_residual = by_sweeps(model)
    close(by_composites(model, solved=False), of_residual, 1e-12)
    inverse = np.linalg.inv(of_residual["du"])
    expected = {"dq": -inverse @ of_residual["dq"], "dv": -inverse @ of_residual["dv"], "du": inverse}
    close(by_composites(model, solved=True), expected, 1e-10)


def test_changes_of_different_rows_are_added_to_these() -> None:
    model, more = random_tree(3, ["revolute"] * 3), {BY_Q: {0: [1.0, 2.0, 4.0]}, BY_V: {2: [8.0, 16.0, 32.0]}}

    def body(q, v, a):
        columns = [ResidualColumns(RneaDerivatives(model.tree, q, v, a), None, added) for added in ({}, more)]
        return Traced(
            {}, (), [x for k, one in enumerate(columns) for name in OF_STATE for x in one.by(name, f"{name}_{k}")]
        )

    state = dict(zip("qva", (x.tolist() for x in state_of(model)), strict=True))
    found = evaluate(trace("added", dict.fromkeys("qva", 3), body), **state)
    assert np.allclose(found["dq_1"] - found["dq_0"], [[1.0, 2.0, 4.0], [0.0] * 3, [0.0] * 3], atol=1e-13)
    assert np.allclose(found["dv_1"] - found["dv_0"], [[0.0] * 3, [0.0] * 3, [8.0, 16.0, 32.0]], atol=1e-13)


def in_extended_precision(model: ada.Model, state: tuple[Array, Array, Array]) -> dict[str, Array]:
    """Derivatives of inverse dynamics."""
    found = slopes(partial(inverse_dynamics, model.tree), model.tree, state, np.eye(3 * model.nv))
    return dict(zip(VARIABLES, np.split(found, 3, axis=1), strict=True))


def forked() -> ada.Model:
    """A long chain of rods, and one rod beside it."""
    builder = ada.Builder("forked").link("base")
    for i, (above, length) in enumerate([("base", 0.0), *((f"rod_{k}", 1.0) for k in range(42)), ("base", 0.0)]):
        builder.link(f"rod_{i}", 1.0, rod=1.0)
        builder.joint(f"joint_{i}", "revolute", above, f"rod_{i}", (0.0, 0.0, length), axis=(0.0, 1.0, 0.0))
    return builder.build()


@pytest.mark.parametrize(
    "seeds", [(7,), (0,), pytest.param(range(8, 60), marks=pytest.mark.fuzz)], ids=["one", "long", "many"]
)
def test_random_trees_have_the_derivatives_of_extended_precision(seeds: Iterable[int]) -> None:
    for seed in seeds:
        print("seed", seed)  # the last one is what failed
        kinds = np.random.default_rng(seed).choice(KINDS, size=3 + seed % 11).tolist()
        model = random_tree(seed, kinds, BASES[seed % 3], is_serial=bool(seed % 2)) if seed else forked()
        dynamics, (q, v, a) = ada.Dynamics(model), state_of(model)
        wanted = in_extended_precision(model, (q, v, a))
        close(dynamics.inverse_derivatives(q, v, a)._asdict(), wanted, 1e-12)
        found = dynamics.forward_derivatives(q, v, dynamics.inverse(q, v, a))._asdict()
        residual = {"dq": -wanted["dq"], "dv": -wanted["dv"], "du": np.eye(model.nv)}
        close({name: wanted["du"] @ found[name] for name in residual}, residual, 1e-10)


LONG = ada.Dynamics(
    random_tree(7, ["spherical", "universal", *["revolute", "prismatic"] * 15], "floating", is_serial=True)
)


def test_long_branches_are_solved_by_articulated_bodies() -> None:
    n, (q, v, a) = LONG.model.nv, state_of(LONG.model)
    assert moving_pairs(LONG.model.tree) > ARTICULATED_ABOVE * n
    of_residual, found = LONG.inverse_derivatives(q, v, a), LONG.forward_derivatives(q, v, LONG.inverse(q, v, a))
    residual = {"dq": -of_residual.dq, "dv": -of_residual.dv, "du": np.eye(n)}
    close({name: of_residual.du @ x for name, x in found._asdict().items()}, residual, 1e-10)


@pytest.mark.parametrize(
    ("model", "form"),
    [
        (random_tree(5, ["revolute", "prismatic"] * 5, "floating", is_serial=True), "composites"),
        (LONG.model, "composites"),
        (ada.chain_3d(8), "composites"),  # fewer operations
        (ada.load("pa10"), "sweeps"),  # fewer operations, because of zeros
        (random_tree(4, ["revolute"] * 8), "sweeps"),
    ],
    ids=["deep", "long", "chain", "arm", "flat"],
)
def test_a_state_has_the_same_bits_in_calls_and_in_batches(model: ada.Model, form: str) -> None:
    chosen = of_equations(open_equations(model.tree), "inverse_derivatives").trace()
    assert form == ("composites" if chosen.columns else "sweeps")
    dynamics, states = ada.Dynamics(model, kernel="specialised"), [np.tile(x, (19, 1)) for x in state_of(model)]
    for i in (1, 2):
        states[i] *= np.linspace(0.5, 2.0, 19)[:, None]
    for method in (dynamics.inverse_derivatives, dynamics.forward_derivatives):
        batches = method(*states)
        for k in (0, 7, 18):
            for one, many in zip(method(*(x[k] for x in states)), batches, strict=True):
                assert np.array_equal(one, many[k])


def with_loop(model: ada.Model, kind: str, seed: int) -> Tree:
    """The tree with a loop between random frames, apart from each other, of two bodies or of one and the world."""
    rng = np.random.default_rng(seed)
    turns = Rotation.random(2, rng).as_matrix().tolist()
    A, B = (Transform(MatrixRotation(Mat3.of(turn)), Vec3(*rng.normal(size=3).tolist())) for turn in turns)
    parent, child = rng.choice(np.arange(WORLD, len(model.tree.bodies)), size=2, replace=False).tolist()
    joint, _ = JOINT_TYPES[kind].aligned(np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]), None, **constants(kind))
    loop = Loop("closing", joint, parent, A, child, B)
    return replace(model.tree, loops=(loop.turned() if seed % 2 else loop,))


@pytest.mark.parametrize("kind", LOOP_KINDS)
def test_loops_of_all_joints_change_the_residual_as_sweeps_do(kind: str) -> None:
    models = [
        random_tree(2, ["revolute"] * 5, mimics={3: 1, 5: 4}),
        two_free_bodies(),
        random_tree(3, KINDS, "floating"),
    ]
    for seed, model in enumerate([*models, *models[:2], *models[:2]]):
        tree = with_loop(model, kind, seed)
        plan = Plan({"closing": tuple(range(len(tree.loops[0].rows)))}, ())
        state = dict(zip("qva", (x.tolist() for x in state_of(model, seed)), strict=True))
        state["multipliers"] = np.random.default_rng(seed).normal(size=plan.constraint_count).tolist()

        def body(q, v, a, multipliers, tree=tree, plan=plan):
            found, more = with_loops(RneaDerivatives(tree, q, v, [0.0] * tree.nv), plan, a, multipliers)
            columns = ResidualColumns(found, None, more)
            rows, none = range(tree.nv, tree.nv + plan.constraint_count), [0.0] * tree.nv
            rates = {f"{name}_rates": [more[name].get(row, none) for row in rows] for name in OF_STATE}
            return Traced(rates, (), [one for name in OF_STATE for one in columns.by(name, name)])

        function = trace("loops", {name: len(values) for name, values in state.items()}, body)
        found, wanted = evaluate(function, **state), evaluate(residual_derivatives(tree, plan).trace(), **state)
        close({name: np.vstack([found[name], found[f"{name}_rates"]]) for name in OF_STATE}, wanted, 1e-11)
