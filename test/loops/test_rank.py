# SPDX-License-Identifier: Apache-2.0
"""Mobility holds under any rounding that a file can have, and what is locked or nearly singular is not misjudged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from mechanism_oracle import Oracle
from random_trees import solid
from scipy.spatial.transform import Rotation

import ada_dynamics as ada
from ada_dynamics.loops.study import study
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.mechanisms.random_mechanism import random_mechanism

Array = Any
DIGITS = [None, 9, 6, 4]


def unit(x: Array) -> Array:
    return np.asarray(x) / np.linalg.norm(x)


def turn(rng: np.random.Generator) -> Array:
    return Rotation.from_quat(rng.normal(size=4)).as_matrix()


def closed_chain(
    name: str, points: Array, axes: Array, rng: np.random.Generator, closing: str = "revolute"
) -> ada.Model:
    """Revolute joints along the axes through the points, anyhow in space; the last one closes the loop."""
    R = turn(rng)
    points, axes = [R @ np.asarray(p, float) for p in points], [R @ unit(a) for a in axes]
    builder, below, origin = ada.Builder(name).link("base"), "base", np.zeros(3)
    for i, (point, axis) in enumerate(zip(points[:-1], axes[:-1], strict=True)):
        builder.link(f"link_{i}", *solid(rng))
        builder.joint(f"joint_{i}", "revolute", below, f"link_{i}", point - origin, axis=axis)
        below, origin = f"link_{i}", point
    along = {} if closing == "spherical" else {"axis": axes[-1]}
    builder.loop("closing", closing, below, "base", points[-1] - origin, child_xyz=points[-1], **along)
    return builder.build()


def rounded(model: ada.Model, decimals: int | None) -> ada.Model:
    """As it would come out of a file with so many decimals in lengths, axes and roll-pitch-yaw angles."""
    if decimals is None:
        return model

    def angles(R: Array) -> Array:
        rpy = np.round(Rotation.from_matrix(R).as_euler("xyz"), decimals)
        return Rotation.from_euler("xyz", rpy).as_matrix()

    def axis(a: Array | None) -> Array | None:
        return None if a is None else unit(np.round(a, decimals))

    joints = [
        replace(j, xyz=np.round(j.xyz, decimals), rotation=angles(j.rotation), axis=axis(j.axis), axis2=axis(j.axis2))
        for j in model.joints.values()
    ]
    loops = [
        replace(
            loop,
            parent_xyz=np.round(loop.parent_xyz, decimals),
            child_xyz=np.round(loop.child_xyz, decimals),
            parent_rotation=angles(loop.parent_rotation),
            child_rotation=angles(loop.child_rotation),
            axis=axis(loop.axis),
            axis2=axis(loop.axis2),
        )
        for loop in model.loops.values()
    ]
    links = list(model.links.values())
    return ada.Model(model.name, model.root, links, joints, model.gravity, model.source, loops, model.actuated)


# --- overconstrained mechanisms -------------------------------------------------------------------------------------
def spherical(rng: np.random.Generator, n: int) -> ada.Model:
    axes = [unit(rng.normal(size=3)) for _ in range(n)]
    return closed_chain(f"spherical_{n}", [a * rng.uniform(0.2, 1.0) for a in axes], axes, rng)


def bennett(rng: np.random.Generator) -> ada.Model:
    """Twists α, β and lengths with sin α / a = sin β / b; tan(θ₁/2) tan(θ₂/2) = sin((β+α)/2) / sin((β-α)/2)."""
    a, alpha, beta = rng.uniform(0.4, 0.8), rng.uniform(0.4, 0.8), rng.uniform(0.9, 1.3)
    first = rng.uniform(0.6, 2.4)
    k = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    second = 2 * np.arctan2(k, np.tan(first / 2))
    b = a * np.sin(beta) / np.sin(alpha)
    T, points, axes = np.eye(4), [], []
    for angle, length, twist in ((first, a, alpha), (second, b, beta), (-first, a, alpha), (-second, b, beta)):
        points.append(T[:3, 3].copy())
        axes.append(T[:3, 2].copy())
        step = np.eye(4)
        step[:3, :3] = Rotation.from_euler("ZX", (angle, twist)).as_matrix()
        step[:3, 3] = Rotation.from_euler("Z", angle).as_matrix() @ (length, 0, 0)
        T = T @ step
    np.testing.assert_allclose(T, np.eye(4), atol=1e-12)
    return closed_chain("bennett", points, axes, rng)


def sarrus(rng: np.random.Generator) -> ada.Model:
    x, z = rng.uniform(0.2, 0.6), rng.uniform(0.4, 0.6)
    points = [(1, 0, 0), (1 + x, 0, z), (1, 0, 2 * z), (0, 1, 2 * z), (0, 1 + x, z), (0, 1, 0)]
    return closed_chain("sarrus", points, [(0, 1, 0)] * 3 + [(1, 0, 0)] * 3, rng)


def four_bar(rng: np.random.Generator, closing: str) -> ada.Model:
    points = [(0, 0, 0), (0.1, 0, rng.uniform(0.4, 0.8)), (rng.uniform(0.9, 1.1), 0, rng.uniform(0.5, 0.9)), (1, 0, 0)]
    return closed_chain("four_bar", points, [(0, 1, 0)] * 4, rng, closing)


def parallel_cranks(rng: np.random.Generator, count: int = 3, flat: bool = False) -> ada.Model:
    """A coupler on parallel cranks of one length, which carries a pendulum: mobility 2."""
    R = np.eye(3) if flat else turn(rng)
    angle, length = rng.uniform(-1, 1), rng.uniform(0.4, 0.8)
    tip, y = R @ (length * np.sin(angle), 0, length * np.cos(angle)), R[:, 1]
    feet = [R @ (0.0, 0, 0)] + [R @ (rng.uniform(0.2, 1.2), 0, rng.uniform(-0.2, 0.2)) for _ in range(count - 1)]
    builder = ada.Builder("cranks").link("base")
    for i, foot in enumerate(feet):
        builder.link(f"crank_{i}", *solid(rng)).joint(f"foot_{i}", "revolute", "base", f"crank_{i}", foot, axis=y)
    builder.link("coupler", *solid(rng)).link("bob", *solid(rng))
    builder.joint("first", "revolute", "crank_0", "coupler", tip, axis=y)
    for i in range(1, count):
        builder.loop(f"loop_{i}", "revolute", f"crank_{i}", "coupler", tip, child_xyz=feet[i], axis=y)
    builder.joint("pendulum", "revolute", "coupler", "bob", R @ (0.3, 0, 0.1), axis=y)
    return builder.build()


KINDS: dict[str, tuple[Callable[[np.random.Generator], ada.Model], int]] = {
    "spherical four-bar": (lambda rng: spherical(rng, 4), 1),
    "spherical five-bar": (lambda rng: spherical(rng, 5), 2),
    "bennett": (bennett, 1),
    "sarrus": (sarrus, 1),
    "planar four-bar": (lambda rng: four_bar(rng, "revolute"), 1),
    "planar four-bar, closed by a ball": (lambda rng: four_bar(rng, "spherical"), 1),
    "three cranks": (parallel_cranks, 2),
    "four cranks": (lambda rng: parallel_cranks(rng, 4), 2),
}


@pytest.mark.parametrize("decimals", DIGITS)
@pytest.mark.parametrize("kind", list(KINDS))
def test_mobility_of_overconstrained_mechanisms_holds_under_rounding(kind: str, decimals: int | None) -> None:
    make, mobility = KINDS[kind]
    found = [study(rounded(make(np.random.default_rng(seed)), decimals)).mobility for seed in range(2)]
    assert found == [mobility] * 2


@pytest.mark.parametrize("seed", range(0, 24, 3))
def test_inverse_of_parallel_cranks_undoes_forward(seed: int) -> None:
    """Poses that close with the third crank the other way are locked, and say nothing of the parallelogram."""
    rng = np.random.default_rng(seed)
    model = parallel_cranks(rng, flat=True)
    oracle, q = Oracle(model), model.neutral()
    v, tau = oracle.admissible(q, rng.normal(size=model.nv)), rng.normal(size=model.nv)
    dynamics = ada.Dynamics(model)
    assert dynamics.loop_state(q).mobility == 2
    wanted = oracle.forward(q, v, tau).acceleration
    effort = dynamics.inverse(q, v, wanted)
    back = oracle.forward(q, v, effort).acceleration
    np.testing.assert_allclose(back, wanted, atol=1e-8 * (1.0 + np.max(np.abs(wanted))))  # by the poses' condition


@pytest.mark.parametrize("decimals", [6, 4])
@pytest.mark.parametrize(
    "name", ["closed_4r", "slider_crank", "watt_six_bar", "bennett", "delta", "stewart", "cassie_leg"]
)
def test_mobility_of_the_catalogue_holds_under_rounding(name: str, decimals: int) -> None:
    model = ada.load(name)
    assert study(rounded(model, decimals)).mobility == study(model).mobility


# --- the other side -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rise", [0.3, 1e-2, 1e-3, 1e-4])
def test_a_truss_is_locked_however_flat_it_is(rise: float) -> None:
    builder = ada.Builder("truss").link("ground")
    for i, place in enumerate((0.0, 2.0 * np.sqrt(1.0 - rise**2))):
        builder.link(f"rod_{i}", 1.0, (0, 0, 0.5), (1 / 12, 1 / 12, 0.0))
        builder.joint(f"joint_{i}", "revolute", "ground", f"rod_{i}", (place, 0, 0), axis=(0, 1, 0))
    builder.loop("apex", "revolute", "rod_0", "rod_1", (0, 0, 1), child_xyz=(0, 0, 1), axis=(0, 1, 0))
    angle = np.arccos(rise)
    assert study(builder.build(), np.array([angle, -angle])).mobility == 0


def test_nearly_parallel_slides_with_all_their_digits_are_taken_at_their_word() -> None:
    """Smallest singular value 2.7e-4 in every pose: of a file with four decimals that would be rounding."""
    model, q = random_mechanism(np.random.default_rng(0), spatial=False)
    assert study(model, q).mobility == Oracle(model).mobility(q) == 2


@pytest.mark.parametrize("short_of", [5e-4, 1e-5])
def test_rods_that_do_not_reach_are_not_taken_for_rounding(short_of: float) -> None:
    builder = ada.Builder("short").link("ground")
    for i, place in enumerate((0.0, 2.0 + short_of)):
        builder.link(f"rod_{i}", 1.0, (0, 0, 0.5), (1 / 12, 1 / 12, 0.0))
        builder.joint(f"joint_{i}", "revolute", "ground", f"rod_{i}", (place, 0, 0), axis=(0, 1, 0))
    builder.loop("apex", "revolute", "rod_0", "rod_1", (0, 0, 1), child_xyz=(0, 0, 1), axis=(0, 1, 0))
    with pytest.raises(ada.ModelError, match="cannot be assembled"):
        ada.assemble(builder.build(), [1.5, -1.5])


@pytest.mark.parametrize("n", [2, 10])
def test_a_ladder_has_a_motion_per_cell_under_rounding(n: int) -> None:
    model, q = mechanisms.ladder(n)
    for decimals in DIGITS:
        assert study(rounded(model, decimals), q).mobility == n
