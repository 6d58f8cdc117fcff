# SPDX-License-Identifier: Apache-2.0
"""The loop program of ADA: external wrenches, thin links, what it refuses; accelerations are compared with engines."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import assert_same, floats, random_tree, states_of

import ada_dynamics as ada
from ada_dynamics.algorithms import crba
from ada_dynamics.dynamics import quantities
from ada_dynamics.dynamics.loop_programs import loop_kernel
from ada_dynamics.jit.fallback import reason_for_fallback
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vec3 import Vec3

pytestmark = pytest.mark.skipif(reason_for_fallback() is not None, reason="code cannot be compiled here")


def test_external_wrenches_act_on_every_body() -> None:
    model = random_tree(2, ["revolute"] * 9)
    kernel = loop_kernel(model.uniform_tree, "forward", True, "ada")
    q, v, tau = states_of(model, 3)
    rng = np.random.default_rng(0)
    flat = rng.normal(size=6 * len(model.tree.bodies))  # [force, moment] in the axes of the uniform tree's bodies
    external = {
        i: Force(Vec3(*flat[6 * i + 3 : 6 * i + 6].tolist()), Vec3(*flat[6 * i : 6 * i + 3].tolist()))
        for i in range(len(model.tree.bodies))
    }
    for row, found in zip(zip(q, v, tau, strict=True), kernel.batch(q, v, tau, np.tile(flat, (3, 1))), strict=True):
        assert_same(model, *row, found, crba.forward_dynamics(model.uniform_tree, *floats(*row), external))


def test_thin_rods_lend_each_other_inertia() -> None:
    model = ada.planar_chain(7)
    states = states_of(model, 3)
    found = loop_kernel(model.uniform_tree, "forward", False, "ada").batch(*states)
    for row, a in zip(zip(*states, strict=True), found, strict=True):
        assert_same(model, *row, a, crba.forward_dynamics(model.tree, *floats(*row)))


def test_links_that_must_be_taken_in_groups_are_refused_by_name() -> None:
    builder = ada.Builder("pendulum").link("base").link("bob", 1.0, (0, 0, -1))
    model = builder.joint("hook", "universal", "base", "bob", axis=(1, 0, 0), axis2=(0, 1, 0)).build()
    with pytest.raises(ada.ModelError):
        loop_kernel(model.uniform_tree, "forward", False, "ada")


@pytest.mark.parametrize("legs", [1, 4])
def test_the_algorithm_chosen_takes_the_fewest_instructions_in_lanes_where_limbs_are_alike(legs: int) -> None:
    builder = ada.Builder("walker").link("body", 5.0, inertia=(0.2, 0.3, 0.4))
    for i in range(legs):
        before = "body"
        for k, axis in enumerate(((1, 0, 0), (0, 1, 0), (0, 1, 0))):
            builder.link(f"link_{i}{k}", 1.0, (0, 0.01, -0.1), (0.02, 0.03, 0.01))
            builder.joint(f"joint_{i}{k}", "revolute", before, f"link_{i}{k}", (0.1 * i, 0, -0.2), axis=axis)
            before = f"link_{i}{k}"
    model = builder.build(base="floating")
    kernels = ada.Dynamics(model).kernels
    names = ["aba", "crba", *["lanes"] * (legs > 1)]
    costs = kernels.costs({name: quantities.forward(model.tree, name, external=False).trace() for name in names})
    assert kernels.algorithm == min(costs, key=costs.__getitem__) == ("lanes" if legs > 1 else kernels.algorithm)
