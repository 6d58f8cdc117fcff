# SPDX-License-Identifier: Apache-2.0
"""Random robots with loops, and what makes two models the same: for the tests of readers and writers."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import constants, random_tree, states_of

from ada_dynamics import Dynamics, close_loops, load
from ada_dynamics.model import Builder, Limits, Mimic, Model
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS, SPRUNG
from ada_dynamics.robots import mechanisms
from ada_dynamics.robots.catalogue import start_of

TREE_KINDS = ("revolute", "continuous", "prismatic", "fixed", "spherical", "universal", "cylindrical", "planar")
WITHOUT_AXIS = tuple(kind for kind, cls in JOINT_TYPES.items() if not cls.axes)
# Rounding of a rotation that goes through Euler angles or a quaternion and back: a few units in the last place.
ROUNDING = 4e-15


def mechanism(name, base=None):
    """A mechanism by name: made in code, or of the catalogue at its start."""
    if hasattr(mechanisms, name) and base is None:
        return getattr(mechanisms, name)()
    model = load(name, base)
    return mechanisms.Mechanism(model, start_of(name, model))


def states(name, count=3):
    """The model "pa10", "free", or a mechanism, with rows of q, v and efforts."""
    if name in ("pa10", "free"):
        model = load("pa10") if name == "pa10" else random_tree(3, ("spherical", "revolute"), "floating")
        return model, *states_of(model, count)
    model, q = mechanism(name)
    rng, dynamics = np.random.default_rng(0), Dynamics(model)
    starts = [model.integrate(q, 0.1 * rng.normal(size=model.nv)) for _ in range(count)]
    q, v = dynamics.project_to_constraints(np.array(starts), rng.normal(size=(count, model.nv)))
    return model, q, v, rng.normal(size=(count, model.nv))


def driven_state(model, seed):
    """Dynamics, and a random state whose loops are closed, with random efforts of the motors."""
    rng = np.random.default_rng(seed)
    q = np.array(close_loops(model)) if model.loops else model.random_state(rng)[0]
    dynamics, tau = Dynamics(model, q0=q if model.loops else None), np.zeros(model.nv)
    q, v = dynamics.project_to_constraints(q, rng.normal(size=model.nv))
    for joint in model.actuated:
        tau[model.v_index(joint)] = rng.normal()
    return dynamics, q, v, tau


def slider_crank(crank=0.3, rod=0.7, masses=(0.5, 1.0, 0.8), angle=0.7, height=0.0):
    """The slider-crank of the catalogue with other lengths, in the x-z plane: a crank, a rod, and a slider along +x."""
    robot, y, moments = Builder("slider_crank").link("base"), (0, 1, 0), np.array([0.005, 0.0125, 0.0125]) / 12.0
    robot.link("crank", masses[0], rod=crank).joint("crank", "revolute", "base", "crank", axis=y)
    robot.link("rod", masses[1], rod=rod).joint("rod", "revolute", "crank", "rod", (0, 0, crank), axis=y)
    robot.link("slider", masses[2], inertia=masses[2] * moments)
    robot.joint("slider", "revolute", "rod", "slider", (0, 0, rod), axis=y)
    robot.loop("guide", "prismatic", "base", "slider", (0, 0, height), axis=(1, 0, 0))
    t = np.arccos((height - crank * np.cos(angle)) / rod)  # of both solutions the one with the larger x
    return mechanisms.Mechanism(robot.actuated(["crank"]).build(), np.array([angle, t - angle, -t]))


def rotation(rng):
    """A random rotation; often a multiple of 90 deg, as in real robots."""
    if rng.random() < 0.4:
        return [np.eye(3), np.diag([1.0, -1.0, -1.0]), np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])][rng.integers(3)]
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q @ np.diag(np.sign(np.diag(R)))
    return Q if np.linalg.det(Q) > 0 else -Q


def axis(rng):
    a = np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
    return a / np.linalg.norm(a)


def across(a, rng):
    b = np.cross(a, rng.normal(size=3))
    b -= a * (a @ b)
    return b / np.linalg.norm(b)


def inertia(rng):
    """Of a few point masses, so that the triangle inequality holds."""
    points = rng.normal(size=(4, 3))
    return sum((p @ p) * np.eye(3) - np.outer(p, p) for p in points) * rng.uniform(0.01, 1.0)


def random_robot(
    seed, loop_kinds=LOOP_KINDS, tree_kinds=TREE_KINDS, base="fixed", links=6, closed=False, world=True, extras=True
):
    """A tree with random joints and one loop of each kind."""
    rng, springs = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    robot = Builder(f"robot {seed}")
    robot.link("base", 1.5, rng.normal(size=3), inertia(rng))
    poses = {"world": (np.eye(3), np.zeros(3)), "base": (np.eye(3), np.zeros(3))}
    leaders: list[str] = []
    carrier = {"world": "world"}  # of links that are fixed to each other, one name
    for i in range(1, links + 1):
        name, parent = f"link_{i}", "base" if i == 1 else f"link_{rng.integers(1, i)}"
        robot.link(name, rng.uniform(0.1, 3.0), rng.normal(size=3), inertia(rng))
        kind = "revolute" if i == 1 else str(rng.choice(tree_kinds))
        R, p = rotation(rng), rng.normal(size=3)
        first = axis(rng)
        options = _extras(rng, kind, leaders) | _spring(springs, kind) if extras else {}
        if "mimic" not in options and kind in ("revolute", "continuous", "prismatic"):
            leaders.append(f"joint_{i}")
        second = across(first, rng) if kind == "universal" else None
        robot.joint(
            f"joint_{i}", kind, parent, name, p, rotation=R, axis=first, axis2=second, **constants(kind), **options
        )
        carrier[name] = carrier.get(parent, parent) if kind == "fixed" else name
        poses[name] = (poses[parent][0] @ R, poses[parent][1] + poses[parent][0] @ p)
    for kind in loop_kinds:
        _add_loop(robot, kind, rng, poses, carrier, closed, world)
    return robot.build(base)


def _extras(rng, kind, leaders):
    options = {}
    if kind != "fixed":
        options = {"damping": rng.uniform(0, 1), "friction": rng.uniform(0, 1), "armature": rng.uniform(0, 1)}
    if kind in ("revolute", "prismatic") and rng.random() < 0.7:
        options["limits"] = Limits(-rng.uniform(0, 3), rng.uniform(0, 3), rng.uniform(1, 9), rng.uniform(1, 9))
    if kind in ("revolute", "continuous", "prismatic") and leaders and rng.random() < 0.3:
        options["mimic"] = Mimic(str(rng.choice(leaders)), rng.normal(), rng.normal())
    return options


def _spring(rng, kind):
    if kind not in SPRUNG or rng.random() < 0.5:
        return {}
    return {"stiffness": rng.uniform(0, 1), "rest": 0.0 if kind == "spherical" else rng.normal()}


def _add_loop(robot, kind, rng, poses, carrier, closed, world):
    first = second = "world"
    while carrier[first] == carrier[second] or second == "world" or (first == "world" and not world):
        first, second = (str(x) for x in rng.choice(list(carrier), 2))
    a = axis(rng)
    b = across(a, rng) if kind == "universal" else None
    A, B = (rotation(rng), rng.normal(size=3)), (rotation(rng), rng.normal(size=3))
    if closed:
        (R, p), (S, s) = poses[first], poses[second]
        A = (R.T @ S @ B[0], R.T @ (s + S @ B[1] - p))
    robot.loop(
        f"loop_{kind}",
        kind,
        first,
        second,
        A[1],
        child_xyz=B[1],
        axis=None if kind in WITHOUT_AXIS else a,
        axis2=b,
        parent_rotation=A[0],
        child_rotation=B[0],
        **constants(kind),
    )


def assert_same_description(one, other, tolerance=ROUNDING):
    """Links, joints and loops have the same names, in the same order, and the same constants."""
    assert list(one.links) == list(other.links)
    for a, b in zip(one.links.values(), other.links.values(), strict=True):
        assert a.mass == b.mass
        np.testing.assert_array_equal(a.com, b.com)
        np.testing.assert_array_equal(a.inertia, b.inertia)
    assert list(one.joints) == list(other.joints)
    for a, b in zip(one.joints.values(), other.joints.values(), strict=True):
        assert (a.kind, a.parent, a.child, a.limits, a.mimic) == (b.kind, b.parent, b.child, b.limits, b.mimic)
        assert a.constants == pytest.approx(b.constants, rel=1e-15)
        assert (a.damping, a.friction, a.armature) == (b.damping, b.friction, b.armature)
        assert (a.stiffness, a.rest) == (b.stiffness, b.rest)
        close(a.xyz, b.xyz, tolerance)
        close(a.rotation, b.rotation, tolerance)
        if a.kind not in (*WITHOUT_AXIS, "floating", "floating_euler", "spherical_euler"):
            close(a.axis, b.axis, tolerance)
        assert (a.axis2 is None) == (b.axis2 is None)
        if a.axis2 is not None:
            close(a.axis2, b.axis2, tolerance)
    assert one.actuated == other.actuated
    assert list(one.loops) == list(other.loops)
    for a, b in zip(one.loops.values(), other.loops.values(), strict=True):
        assert_same_loop(a, b, tolerance)


def assert_same_loop(a, b, tolerance=ROUNDING):
    """Two loop joints have the same names and constants."""
    assert (a.name, a.kind, a.parent, a.child) == (b.name, b.kind, b.parent, b.child)
    assert a.constants == pytest.approx(b.constants, rel=1e-15)
    for field in ("parent_xyz", "parent_rotation", "child_xyz", "child_rotation"):
        close(getattr(a, field), getattr(b, field), tolerance)
    if a.kind not in WITHOUT_AXIS:
        close(a.axis, b.axis, tolerance)
    assert (a.axis2 is None) == (b.axis2 is None)
    if a.axis2 is not None:
        close(a.axis2, b.axis2, tolerance)


def assert_same_tree(one, other, tolerance=ROUNDING, loops=True):
    """What moves is the same, whatever links are fixed to it and however they are called."""
    a, b = one.tree, other.tree
    assert [body.name for body in a.bodies] == [body.name for body in b.bodies]
    for x, y in zip(a.bodies, b.bodies, strict=True):
        assert (x.parent, x.joint.nv, getattr(x.joint, "k", None)) == (
            y.parent,
            y.joint.nv,
            getattr(y.joint, "k", None),
        )
        assert (x.armature, x.damping, x.friction) == (y.armature, y.damping, y.friction)
        assert (x.stiffness, x.rest) == (y.stiffness, y.rest)
        close([x.multiplier, x.offset], [y.multiplier, y.offset], tolerance)
        _close_pose(x.placement, y.placement, tolerance)
        close(x.inertia.mass, y.inertia.mass, tolerance)
        close(x.inertia.first_moment, y.inertia.first_moment, tolerance * 10)
        close(x.inertia.about_origin, y.inertia.about_origin, tolerance * 100)
    if loops:
        assert [(l.name, l.parent, l.child, l.joint.kind) for l in a.loops] == [
            (l.name, l.parent, l.child, l.joint.kind) for l in b.loops
        ]
        for x, y in zip(a.loops, b.loops, strict=True):
            assert getattr(x.joint, "k", None) == getattr(y.joint, "k", None)
            _close_pose(x.parent_pose, y.parent_pose, tolerance)
            _close_pose(x.child_pose, y.child_pose, tolerance)


def _close_pose(x, y, tolerance):
    close(x.rotation.matrix(), y.rotation.matrix(), tolerance)
    close(x.position, y.position, tolerance)


def close(x, y, tolerance):
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    np.testing.assert_allclose(x, y, rtol=0.0, atol=tolerance * max(1.0, float(np.max(np.abs(x), initial=0.0))))


def massless_rocker() -> Model:
    """A four-bar with a massless rocker, which only the loop holds; closed where the coupler is level."""
    builder = Builder("massless_rocker").link("ground")
    rod = (1.0, (0, 0, 0.5), (1 / 12, 1 / 12, 0.0))
    nothing = (0.0, (0, 0, 0), (0.0, 0.0, 0.0))
    for name, parent, place, body in (
        ("crank", "ground", (0, 0, 0), rod),
        ("coupler", "crank", (0, 0, 1.0), rod),
        ("rocker", "ground", (1.0, 0, 0), nothing),
    ):
        builder.link(name, *body).joint(f"{name}_joint", "revolute", parent, name, place, axis=(0, 1, 0))
    builder.loop("closing", "revolute", "coupler", "rocker", (0, 0, 1.0), child_xyz=(0, 0, 1.0), axis=(0, 1, 0))
    return builder.build()


def two_legs() -> Model:
    builder = Builder("two_legs").link("ground").link("plate", 2.0, (0.5, 0, 0), (0.2, 0.2, 0.2))
    builder.joint("plate", "planar", "ground", "plate", axis=(0, 1, 0))
    rod = (1.0, (0, 0, 0.25), (0.02, 0.02, 0.001))
    for side, place in (("left", 0.0), ("right", 1.0)):
        builder.link(f"{side}_thigh", *rod).link(f"{side}_shank", *rod)
        builder.joint(f"{side}_hip", "revolute", "plate", f"{side}_thigh", (place, 0, 0), axis=(0, 1, 0))
        builder.joint(f"{side}_knee", "revolute", f"{side}_thigh", f"{side}_shank", (0, 0, 0.5), axis=(0, 1, 0))
        foot = (place if side == "left" else 1.3, 0.0, 1.0)
        builder.loop(f"{side}_foot", "revolute", "ground", f"{side}_shank", foot, child_xyz=(0, 0, 0.5), axis=(0, 1, 0))
    return builder.build()


def on_two_legs(model: Model, short_of: float) -> np.ndarray:
    """A pose whose left leg is that angle [rad] short of stretched: by itself it is singular, the mechanism is not."""
    guess = np.zeros(model.nq)
    guess[model.q_index("right_hip")], guess[model.q_index("right_knee")] = 0.9, -1.0
    guess[model.q_index("left_knee")], guess[model.q_index("left_hip")] = short_of, -0.5 * short_of
    return np.asarray(close_loops(model, guess, hold=["left_knee"]))
