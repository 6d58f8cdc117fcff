# SPDX-License-Identifier: Apache-2.0
"""ADA and DCA where links have singular inertias: thin rods as in the thesis, massless links, point masses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from refused import refused

import ada_dynamics as ada
from ada_dynamics.algorithms import ada as assembly_disassembly
from ada_dynamics.algorithms import crba, dca, rnea
from ada_dynamics.algorithms.assembly_order import ORDERS
from ada_dynamics.model.inertia_regularization import is_thin
from ada_dynamics.spatial.motion import Force
from ada_dynamics.spatial.vector import Vec3

Array = NDArray[np.float64]
ALGORITHMS = {"ada": assembly_disassembly, "dca": dca}
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
ROD = (1.0, (0.0, 0.0, 0.5), (1 / 12, 1 / 12, 0.0))  # diag(ml²/12, ml²/12, 0), l = 1 m (Takahashi 2012, sec. 3.1)
MASSLESS = (0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
ARM = (2.0, (0.0, 0.0, 0.3), (0.1, 0.1, 0.02))
HAND = (1.0, (0.02, 0.01, 0.2), (0.05, 0.05, 0.01))

Part = tuple[tuple[Any, ...], str, Sequence[float], tuple[int, int, int]]  # link, joint type, place, axis


def serial(parts: Sequence[Part], base: str = "fixed") -> ada.Model:
    """Links one after the other; of a floating model the first one's joint does not count."""
    builder = ada.Builder("thin")
    if base == "fixed":
        builder.link("base")
    before = "base" if base == "fixed" else ""
    for i, (link, kind, place, axis) in enumerate(parts, start=1):
        builder.link(f"link_{i}", *link)
        if before:
            second = {"axis2": Y if axis != Y else Z} if kind == "universal" else {}
            builder.joint(f"joint_{i}", kind, before, f"link_{i}", place, axis=axis, **second)
        before = f"link_{i}"
    return builder.build(base)


def rods(*axes: tuple[int, int, int], base: str = "fixed") -> ada.Model:
    return serial([(ROD, "revolute", (0, 0, float(i > 0)), axis) for i, axis in enumerate(axes)], base)


def branched_rods() -> ada.Model:
    """The tree of the thesis' fig. 3.5: two rods on each other, two more at the end of the first."""
    builder = ada.Builder("branched").link("base")
    for i, parent in enumerate(("base", "link_1", "link_1", "link_2"), start=1):
        builder.link(f"link_{i}", *ROD)
        builder.joint(f"joint_{i}", "revolute", parent, f"link_{i}", (0, 0, float(i > 1)), axis=Y)
    return builder.build()


MODELS = {
    "planar rods": rods(Y, Y, Y),
    "seven planar rods": rods(*[Y] * 7),
    "branched rods": branched_rods(),
    "spatial rods": rods(X, Y, X, Y, X),
    "massless cross": serial(
        [(ARM, "revolute", (0, 0, 0), Y), (MASSLESS, "revolute", (0, 0, 0.6), X), (HAND, "revolute", (0, 0, 0), Y)]
    ),
    "point masses": serial(
        [
            ((1.0, (0, 0, -1), (0, 0, 0)), "revolute", (0, 0, 0), X),
            ((1.0, (0, 0, -1), (0, 0, 0)), "revolute", (0, 0, -1), X),
        ]
    ),
}
# No inertia can be moved to these.
REFUSED = {
    "floating rods": rods(Z, X, Y, X, base="floating"),
    "gantry": serial(
        [
            (MASSLESS, "prismatic", (0, 0, 0), X),
            (MASSLESS, "prismatic", (0, 0, 0), Y),
            (HAND, "prismatic", (0, 0, 0), Z),
        ]
    ),
    "spherical pendulum": serial([((1.0, (0, 0, -1), (0, 0, 0)), "universal", (0, 0, 0), X)]),
}


def state_of(model: ada.Model, seed: int = 3) -> tuple[list[float], list[float], list[float]]:
    rng = np.random.default_rng(seed)
    q, v = model.random_state(rng)
    return q.tolist(), v.tolist(), rng.normal(size=model.nv).tolist()


def six(force: Force) -> Array:
    return np.array([*force.moment, *force.force], dtype=float)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", MODELS)
def test_links_with_singular_inertias_move_as_in_joint_space_in_any_order(algorithm: str, name: str) -> None:
    model = MODELS[name]
    assert any(is_thin(body.inertia) for body in model.tree.bodies)
    q, v, tau = state_of(model)
    external = {len(model.tree.bodies) - 1: Force(Vec3(0.1, 0.2, 0.3), Vec3(1.0, 2.0, 3.0))}
    expected = np.array(crba.forward_dynamics(model.tree, q, v, tau, external))
    M = np.array(crba.mass_matrix(model.tree, q).dense())
    wrenches = rnea.joint_wrenches(model.tree, q, v, expected.tolist(), external)
    size = np.max(np.abs(M) @ np.abs(expected)) + max(np.max(np.abs(six(w))) for w in wrenches)
    for order in ORDERS:
        solution = ALGORITHMS[algorithm].solve(model.tree, q, v, tau, external, order=order)
        # a difference of accelerations, as efforts; the joints' own wrenches are those of the links as they were given
        assert np.max(np.abs(M @ (np.array(solution.accelerations) - expected))) < 1e-11 * size
        for ours, theirs in zip(solution.wrenches, wrenches, strict=True):
            assert np.max(np.abs(six(ours) - six(theirs))) < 1e-10 * size


@pytest.mark.parametrize("name", REFUSED)
def test_links_to_which_no_inertia_can_be_moved_are_named(name: str) -> None:
    model = REFUSED[name]
    with refused(ada.ModelError, field="inertia") as caught:
        assembly_disassembly.forward_dynamics(model.tree, *state_of(model))
    assert caught.value.link in model.links and caught.value.joint in [body.name for body in model.tree.bodies]


def test_a_link_that_nothing_resists_is_named() -> None:
    lone = rods(Z, base="floating")  # a rod in space spins about itself for nothing
    with refused(ada.ModelError, link="link_1", joint="root_joint", field="inertia"):
        assembly_disassembly.forward_dynamics(lone.tree, lone.neutral().tolist(), [0.0] * 6, [0.0] * 6)
    spinning = rods(Y, Z)  # the second rod turns about its own line
    with refused(ada.ModelError, link="link_2", joint="joint_2", field="inertia"):
        dca.forward_dynamics(spinning.tree, [0.1, 0.2], [0.0] * 2, [0.0] * 2)
