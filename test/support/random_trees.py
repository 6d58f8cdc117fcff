# SPDX-License-Identifier: Apache-2.0
"""Random trees of any joints, states clear of singularities, and accelerations compared as efforts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import ada_dynamics as ada
from ada_dynamics.algorithms import crba, rnea
from ada_dynamics.model.elements import Mimic
from ada_dynamics.model.joints import JOINT_TYPES

Array = NDArray[np.float64]
KINDS = tuple(kind for kind in JOINT_TYPES if not kind.startswith("floating"))  # these two are bases
BASES = ("fixed", "floating", "floating_euler")
GRAVITY = (0.3, -0.5, -9.81)
RELATIVE = 1e-11  # some thousand products in double precision on both sides
CONSTANTS = {"pitch": 0.07}  # [m/rad]


def constants(kind: str) -> dict[str, float]:
    """Numbers of a joint type's own."""
    return {name: CONSTANTS[name] for name in JOINT_TYPES[kind].constants}


def solid(rng: np.random.Generator) -> tuple[float, Array, Array]:
    """Mass, centre of mass and an inertia that a body can have."""
    A = rng.normal(size=(3, 3)) * 0.3
    spread = A @ A.T + 0.02 * np.eye(3)
    mass = float(rng.uniform(0.5, 2.0))
    return mass, rng.uniform(-0.3, 0.3, 3), mass * (np.trace(spread) * np.eye(3) - spread)


def random_tree(
    seed: int,
    kinds: Sequence[str],
    base: str = "fixed",
    *,
    is_serial: bool = False,
    gravity: Sequence[float] = GRAVITY,
    order: Sequence[int] | None = None,
    mimics: Mapping[int, int] | None = None,
    **loads: float,
) -> ada.Model:
    """A tree with a joint of each kind in turn: any topology, oblique axes, rotors and losses on some joints."""
    rng = np.random.default_rng(seed)
    links: list[tuple[Any, ...]] = [("link_0", *solid(rng))]
    joints: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for i, kind in enumerate(kinds, start=1):
        axis, second = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2] if i % 3 else np.eye(3)[[i % 2, 2]]
        drawn = dict(zip(("armature", "damping", "friction"), rng.uniform(0.05, 0.5, 3), strict=True))
        above, turn = f"link_{i - 1 if is_serial else rng.integers(0, i)}", rng.uniform(-3, 3, 3)
        hand = (-1) ** (i // 2)
        own = {name: hand * value for name, value in constants(kind).items()}
        options: dict[str, Any] = {} if kind == "fixed" else {"axis": axis, **own}
        if kind == "universal":
            options["axis2"] = second
        if kind != "fixed":
            options |= loads or (drawn if i % 2 else {})
        if mimics and i in mimics:
            factor = np.random.default_rng(seed + i).uniform(-2.0, 2.0)
            options["mimic"] = Mimic(f"joint_{mimics[i]}", factor, 0.5 * factor)
        links.append((f"link_{i}", *solid(rng)))
        joints.append(((f"joint_{i}", kind, above, f"link_{i}", rng.uniform(-0.5, 0.5, 3), turn), options))
    builder = ada.Builder("random")
    for k in range(len(links)) if order is None else [*np.add(order, 1), 0]:
        builder.link(*links[k])
    for k in range(len(joints)) if order is None else order:
        builder.joint(*joints[k][0], **joints[k][1])
    return builder.build(base, gravity)


def sprung_chain(damping: float = 0.1) -> ada.Model:
    """A chain of all kinds of joints that can have a spring, about random axes."""
    rng = np.random.default_rng(0)
    robot = ada.Builder("sprung").link("base")
    for i, kind in enumerate(("revolute", "prismatic", "spherical", "continuous", "revolute")):
        robot.link(f"l{i}", 1.0 + i, (0.1, 0.2, 0.3), (0.2, 0.3, 0.25, 0.01, 0.02, 0.03))
        rest = 0.0 if kind == "spherical" else 0.4 * i + 0.1
        values = {"damping": damping * i, "armature": 0.02, "stiffness": 3.0 + i, "rest": rest}
        place, turn, above = (0.1, 0.3, -0.2), (0.1, 0.2, 0.3), f"l{i - 1}" if i else "base"
        robot.joint(f"j{i}", kind, above, f"l{i}", place, turn, axis=rng.normal(size=3), **values)
    return robot.build()


def oblique(base: str = "floating") -> ada.Model:
    """Oblique axes, a link behind a fixed joint, damping."""
    inertia = (0.02, 0.03, 0.04, 0.001, 0.002, -0.003)
    builder = ada.Builder("oblique").link("trunk", 3.0, (0.1, 0.0, 0.2), (0.3, 0.2, 0.4))
    builder.link("arm", 1.0, (0.1, 0.2, 0.1), inertia).link("hand", 0.5, (0, 0, 0.1), inertia).link("tool", 0.1)
    builder.joint("shoulder", "revolute", "trunk", "arm", (0, 0.2, 0.3), (0.1, 0.2, 0.3), (0.6, -0.5, 0.7), damping=0.3)
    builder.joint("wrist", "revolute", "arm", "hand", (0.3, 0, 0), (0.3, 0, 0.1), (-0.2, 0.9, 0.1))
    return builder.joint("grip", "fixed", "hand", "tool", (0, 0.1, 0.1), (0.4, 0.5, 0.6)).build(base)


def two_free_bodies() -> ada.Model:
    """An arm, and two bodies that float beside it, of which one carries a rod."""
    rng = np.random.default_rng(4)
    builder = ada.Builder("two_free").link("world")
    bodies = (("arm", "revolute", "world"), ("one", "floating", "world"), ("rod", "revolute", "one"))
    for name, kind, above in (*bodies, ("two", "floating", "world")):
        builder.link(name, *solid(rng)).joint(f"{name}_joint", kind, above, name, axis=(0.0, 0.0, 1.0))
    return builder.build("fixed")


def trees(most: int = 8, kinds: Sequence[str] = KINDS, bases: Sequence[str] = BASES, **options: Any) -> Any:
    """Trees that hypothesis draws, with at least one joint that moves."""
    drawn = st.tuples(
        st.integers(0, 10**6), st.lists(st.sampled_from(kinds), min_size=1, max_size=most), st.sampled_from(bases)
    )
    moving = drawn.filter(lambda x: x[2] != "fixed" or any(kind != "fixed" for kind in x[1]))
    return moving.map(lambda x: random_tree(*x, **options))


def state_of(model: ada.Model, seed: int = 1) -> tuple[Array, Array, Array]:
    """q, v and a third vector, with Euler angles clear of their singularity."""
    rng = np.random.default_rng(seed)
    q, _ = model.random_state(rng)
    for name in model.joint_names:
        kind, at = model.joints[name].kind, model.q_index(name)
        if kind == "spherical_euler":
            q[at] = [rng.uniform(-3, 3), rng.uniform(0.6, 2.5), rng.uniform(-3, 3)]
        elif kind == "floating_euler":
            q[at.start + 4] = rng.uniform(-1, 1)
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def states_of(model: ada.Model, count: int, seed: int = 1) -> tuple[Array, Array, Array]:
    q, v, tau = (np.array(x) for x in zip(*(state_of(model, seed + i) for i in range(count)), strict=True))
    return q, v, tau


def floats(*vectors: Any) -> list[list[float]]:
    """As plain numbers, on which an algorithm runs as it is written."""
    return [np.asarray(x, dtype=float).tolist() for x in vectors]


def dense_mass(model: ada.Model, q: Array) -> Array:
    return np.array(crba.mass_matrix(model.tree, q.tolist()).dense(), dtype=float)


def assert_same(model: ada.Model, q: Array, v: Array, tau: Array, found: Any, expected: Any) -> None:
    """Two accelerations differ by no more, as efforts M (a - a'), than rounding of what is added up there."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    M, h = dense_mass(model, q), np.array(rnea.inverse_dynamics(model.tree, *floats(q, v), None), dtype=float)
    size = np.max(np.abs(M) @ np.abs(expected)) + np.max(np.abs(tau)) + np.max(np.abs(h))
    assert np.max(np.abs(M @ (found - expected))) < RELATIVE * size
