# SPDX-License-Identifier: Apache-2.0
"""Random mechanisms with loop joints of every type for property tests, closed at a known configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ada_dynamics.model.builder import Builder
from ada_dynamics.model.description import WORLD_LINK
from ada_dynamics.model.elements import Mimic
from ada_dynamics.model.joints import JOINT_TYPES, LOOP_KINDS
from ada_dynamics.model.model import Model, displaced, link_poses
from ada_dynamics.model.rotations import NO_MOVE, Pose, compose, inverse
from ada_dynamics.robots.mechanisms.parts import Mechanism, SolidBody, X, Y, Z, turned_y

SPATIAL_KINDS = ("revolute", "continuous", "prismatic", "cylindrical", "universal", "spherical", "planar", "fixed")
PLANAR_KINDS = ("revolute", "continuous", "prismatic", "planar", "fixed")
SPATIAL_LOOP_KINDS = tuple(kind for kind in LOOP_KINDS if not JOINT_TYPES[kind].constants)
PLANAR_LOOP_KINDS = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "fixed")
TRIES = 60  # candidate pairs of links for each loop
CROWDED = 0.15  # share of the loops that may have redundant constraints


def random_mechanism(
    rng: np.random.Generator,
    n_loops: int | None = None,
    *,
    floating: bool = False,
    spatial: bool = True,
    kinds: Sequence[str] | None = None,
    loop_kinds: Sequence[str] | None = None,
    losses: bool = False,
    mimics: bool = False,
) -> Mechanism:
    """Random tree with loop joints that are closed at a random configuration.

    There are somewhat more joint velocities than constraints, so nearly all of these mechanisms can move. Loops share
    links, and some end at the world. Joints are `joint_i`, links `link_i` on the root `link_0`, loops `loop_i`.

    Args:
        rng: random number generator.
        n_loops: number of loops; 1 to 4 by default.
        floating: if True, the base floats.
        spatial: if False, the mechanism lies in the x-z plane, where many constraints are redundant.
        kinds: joint types of the tree; by default all without Euler angles (planar ones if not spatial).
        loop_kinds: types of the loop joints; by default all but helical (planar ones if not spatial).
        losses: if True, some joints have damping, friction and rotor inertia.
        mimics: if True, some joints follow others.

    Returns:
        The model and the configuration that closes its loops.
    """
    count = int(rng.integers(1, 5)) if n_loops is None else n_loops
    tree_kinds = tuple(kinds or (SPATIAL_KINDS if spatial else PLANAR_KINDS))
    closing = tuple(loop_kinds or (SPATIAL_LOOP_KINDS if spatial else PLANAR_LOOP_KINDS))
    chosen = [str(rng.choice(closing)) for _ in range(count)]
    draft = _Draft(rng, spatial, losses, mimics)
    wanted = sum(_rows(kind, spatial) for kind in chosen) + int(rng.integers(1, 5))
    draft.grow(tree_kinds, wanted)
    base = "floating" if floating else "fixed"
    gravity = (0.4, -0.7, -9.7)
    tree = draft.builder().build(base, gravity)
    q, _ = tree.random_state(rng)
    builder = draft.builder()
    poses = link_poses(tree, q)
    for i, kind in enumerate(chosen, start=1):
        ends = draft.ends(_rows(kind, spatial), floating)
        _close(builder, f"loop_{i}", kind, ends, poses, draft)
    return Mechanism(builder.build(base, gravity), q)


def _rows(kind: str, spatial: bool) -> int:
    """Number of independent constraints of a loop joint."""
    free = JOINT_TYPES[kind].nv
    return 6 - free if spatial else max(3 - max(free, 1), 2) if kind != "fixed" else 3


@dataclass
class _Draft:
    """Arguments of `Builder.link` and `Builder.joint` for a random tree."""

    rng: np.random.Generator
    spatial: bool
    losses: bool
    mimics: bool
    links: list[tuple[str, SolidBody]] = field(default_factory=list)
    joints: list[dict[str, Any]] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)  # by link
    freedoms: list[int] = field(default_factory=list)  # of the joint that carries a link
    loops: list[tuple[frozenset[int], int]] = field(default_factory=list)  # joints on the path, constraints

    def grow(self, kinds: Sequence[str], freedoms: int) -> None:
        """Add joints until they have the given number of velocities."""
        self._add_link(-1, 0)
        while sum(self.freedoms) < freedoms:
            i = len(self.links)
            # Mostly on the last link: long branches give loops more degrees of freedom.
            parent = i - 1 if self.rng.random() < 0.8 else int(self.rng.integers(i))
            kind = str(self.rng.choice(list(kinds)))
            rotation, place = self.frame()
            joint: dict[str, Any] = {
                "name": f"joint_{i}",
                "kind": kind,
                "parent": f"link_{parent}",
                "child": f"link_{i}",
            }
            joint |= {"xyz": place, "rotation": rotation, **self.axes(kind)}
            if self.losses and kind != "fixed":
                values = self.rng.uniform(0.05, 0.3, 3) * (self.rng.random(3) < 0.5)
                joint |= dict(zip(("damping", "friction", "armature"), values.tolist(), strict=True))
            own = JOINT_TYPES[kind].nv
            driving = [name for name, free in zip(self.joints, self.freedoms[1:], strict=True) if free == 1]
            if self.mimics and own == 1 and driving and self.rng.random() < 0.5:
                source = driving[int(self.rng.integers(len(driving)))]["name"]
                joint["mimic"], own = Mimic(source, *self.rng.uniform(-1.5, 1.5, 2).tolist()), 0
            self.joints.append(joint)
            self._add_link(parent, own)

    def builder(self) -> Builder:
        """Return a builder with the links and joints."""
        builder = Builder("random_mechanism")
        for name, solid in self.links:
            builder.link(name, *solid)
        for joint in self.joints:
            builder.joint(**joint)
        return builder

    def frame(self) -> Pose:
        """Random pose; in the plane, with a rotation about y."""
        place = self.rng.uniform(-0.4, 0.4, 3)
        if self.spatial:
            Q, _ = np.linalg.qr(self.rng.normal(size=(3, 3)))
            return Q * np.sign(np.linalg.det(Q)), place
        place[1] = 0.0
        return turned_y(self.rng.uniform(-np.pi, np.pi)), place

    def axes(self, kind: str) -> dict[str, Any]:
        """Random axes and constants for a joint of a type."""
        if not self.spatial:
            in_plane = (math.sin(0.7), 0.0, math.cos(0.7)) if self.rng.random() < 0.5 else X
            return {"axis": in_plane if kind == "prismatic" else Y, **({"axis2": Z} if kind == "universal" else {})}
        own = {name: float(self.rng.uniform(0.02, 0.2)) for name in JOINT_TYPES[kind].constants}
        oblique = self.rng.random() < 0.5
        axes = np.linalg.qr(self.rng.normal(size=(3, 3)))[0] if oblique else np.eye(3)[self.rng.permutation(3)]
        return {"axis": axes[0], **({"axis2": axes[1]} if kind == "universal" else {}), **own}

    def ends(self, rows: int, floating: bool) -> tuple[str, str]:
        """Choose two links, or a link and the world, with enough joints between them that all loops can move."""
        crowded = self.rng.random() < CROWDED
        best, best_score, best_path = (0, 1), -np.inf, frozenset[int]()
        for _ in range(TRIES):
            a, b = (int(x) for x in self.rng.integers(len(self.links), size=2))
            if self.rng.random() < 0.25:
                b = -1
            path = frozenset(self._ancestors(a) ^ self._ancestors(b)) | ({-1} if floating and -1 in (a, b) else set())
            room = self._freedoms_of(path) - rows
            # One remaining degree of freedom is best; a loop that locks its path, possibly with others, is worst.
            score = -abs(room - 1) - (0.0 if crowded else 20.0 * max(1 - self._room_with_others(path, rows), 0))
            score += self.rng.random()
            if room + rows > 0 and score > best_score:
                best, best_score, best_path = (a, b), score, path
        self.loops.append((best_path, rows))
        names = [WORLD_LINK if i < 0 else f"link_{i}" for i in best]
        return (names[0], names[1]) if self.rng.random() < 0.5 else (names[1], names[0])

    def _freedoms_of(self, path: frozenset[int]) -> int:
        return sum(6 if i < 0 else self.freedoms[i] for i in path)

    def _room_with_others(self, path: frozenset[int], rows: int) -> int:
        """Smallest difference of velocities and constraints over all sets of loops with this one."""
        rooms = []
        for chosen in range(2 ** len(self.loops)):
            group = [(path, rows)] + [loop for i, loop in enumerate(self.loops) if chosen >> i & 1]
            joints = frozenset[int]().union(*(own for own, _ in group))
            rooms.append(self._freedoms_of(joints) - sum(count for _, count in group))
        return min(rooms)

    def _ancestors(self, link: int) -> set[int]:
        found = set()
        while link >= 0:
            found.add(link)
            link = self.parents[link]
        return found

    def _add_link(self, parent: int, freedoms: int) -> None:
        rng = self.rng
        A = 0.2 * rng.normal(size=(3, 3))
        spread = A @ A.T + 0.02 * np.eye(3)
        mass = float(rng.uniform(0.5, 2.0))
        solid = SolidBody(mass, rng.uniform(-0.2, 0.2, 3), mass * (np.trace(spread) * np.eye(3) - spread))
        self.links.append((f"link_{len(self.links)}", solid))
        self.parents.append(parent)
        self.freedoms.append(freedoms)


def _close(
    builder: Builder, name: str, kind: str, ends: tuple[str, str], poses: dict[str, Pose], draft: _Draft
) -> None:
    """Add a loop joint at a random joint position, which determines its child-side frame."""
    axes = draft.axes(kind)
    near = draft.frame()
    moved = _random_displacement(kind, axes, draft)
    parent, child = (poses[end] if end != WORLD_LINK else NO_MOVE for end in ends)
    far = compose(inverse(child), compose(compose(parent, near), moved))
    rotations: dict[str, Any] = {"parent_rotation": near[0], "child_rotation": far[0]}
    builder.loop(name, kind, ends[0], ends[1], near[1], child_xyz=far[1], **rotations, **axes)


def _random_displacement(kind: str, axes: dict[str, Any], draft: _Draft) -> Pose:
    """Pose of a joint's child-side frame in its parent-side frame at a random position, in the plane if not spatial."""
    if kind == "fixed":
        return NO_MOVE
    probe: Model = Builder("probe").link("a").link("b", 1.0).joint("joint", kind, "a", "b", **axes).build()
    q, _ = probe.random_state(draft.rng)
    if not draft.spatial and kind == "spherical":
        half = 0.5 * draft.rng.uniform(-np.pi, np.pi)
        q = np.array([0.0, math.sin(half), 0.0, math.cos(half)])
    if not draft.spatial and kind == "cylindrical":
        q[0] = 0.0
    if not draft.spatial and kind == "universal":
        q[1] = 0.0
    return displaced(probe, "joint", 0.5 * q if kind in ("prismatic", "cylindrical", "planar") else q)
