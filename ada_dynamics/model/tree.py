# SPDX-License-Identifier: Apache-2.0
"""Tree of moving bodies for the algorithms: joint axes on coordinate axes, constants as floats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ada_dynamics.arrays import Array
from ada_dynamics.model.elements import Joint
from ada_dynamics.model.joints import JointType
from ada_dynamics.model.joints.base import RowKind
from ada_dynamics.model.rotations import Pose, clean_relative, clean_rotation, to_mat3, to_vec3
from ada_dynamics.spatial.inertia import RigidInertia
from ada_dynamics.spatial.rotation import constant_rotation
from ada_dynamics.spatial.transform import Transform
from ada_dynamics.spatial.vector import Mat3, Scalar, Vec3

WORLD = -1


@dataclass(frozen=True, eq=False, slots=True)
class Body:
    """A moving rigid body (a link and all links fixed to it) and the joint to its parent.

    `placement`, `inertia`, spring and dissipation terms are floats in specialised kernels and expression nodes in
    generic kernels.
    """

    name: str  # of the joint
    index: int
    parent: int  # index of the parent body, or WORLD
    joint: JointType
    placement: Transform  # of the joint's frame in the parent body's frame
    inertia: RigidInertia  # about the origin of the body's frame
    q: slice  # slice of the joint's positions in q
    v: slice  # of the joint's velocities in v
    armature: Scalar = 0.0
    damping: Scalar = 0.0
    friction: Scalar = 0.0
    multiplier: float = 1.0  # of a mimic joint: position = multiplier * q[self.q] + offset
    offset: float = 0.0
    stiffness: Scalar = 0.0  # of the joint's spring
    rest: Scalar = 0.0  # position at which the spring is at rest
    is_mimic: bool = False  # whether q[self.q] are the positions of another joint

    def positions(self, q: Sequence[Scalar]) -> Sequence[Scalar]:
        """Position variables of the joint from q."""
        own = q[self.q]
        if self.is_independent:
            return own
        return tuple(self.multiplier * x + self.offset for x in own)

    def velocities(self, v: Sequence[Scalar]) -> Sequence[Scalar]:
        """Velocities or accelerations of the joint from a vector of length nv."""
        own = v[self.v]
        return own if self.multiplier == 1.0 else tuple(self.multiplier * x for x in own)

    @property
    def is_independent(self) -> bool:
        """Return True if the joint has coordinates of its own."""
        return not self.is_mimic

    def transform(self, q: Sequence[Scalar]) -> Transform:
        """Pose of the body frame in the parent body frame at the joint position."""
        return self.placement @ self.joint.pose(q)


@dataclass(frozen=True, eq=False)
class BodyColumns:
    """Constants of all bodies as stacked arrays and lists."""

    carriers: Sequence[Joint | Body]  # names, friction and springs of the bodies
    kinds: Sequence[JointType]
    parents: Sequence[int]
    rotations: Array  # of the placements: (n, 3, 3)
    positions: Array  # (n, 3)
    inertias: Inertias
    q: Sequence[slice]
    v: Sequence[slice]

    @classmethod
    def of(cls, bodies: Sequence[Body]) -> BodyColumns:
        """Stack the constants of bodies."""
        alike = {body.placement.rotation for body in bodies}  # equal placements share a rotation
        matrices = {rotation: np.array(rotation.matrix(), dtype=float) for rotation in alike}
        return cls(
            bodies,
            [body.joint for body in bodies],
            [body.parent for body in bodies],
            stack([matrices[body.placement.rotation] for body in bodies]).reshape(-1, 3, 3),
            np.array([body.placement.position for body in bodies], dtype=float).reshape(-1, 3),
            Inertias.of([body.inertia for body in bodies]),
            [body.q for body in bodies],
            [body.v for body in bodies],
        )

    @cached_property
    def loads(self) -> Array:
        """Armature, damping and friction, (n, 3)."""
        return self._of_each("armature", "damping", "friction")

    @cached_property
    def springs(self) -> Array:
        """Stiffness and rest position, (n, 2)."""
        return self._of_each("stiffness", "rest")

    def _of_each(self, *names: str) -> Array:
        count = len(self.carriers)
        return np.column_stack([np.fromiter(map(attrgetter(name), self.carriers), float, count) for name in names])

    def inertia(self, index: int) -> RigidInertia:
        """Inertia of one body."""
        return Inertias(*(column[index : index + 1] for column in self.inertias)).each()[0]

    def bodies(self) -> tuple[Body, ...]:
        """Return one object per body."""
        placements = transforms(self.rotations, self.positions)
        inertias = self.inertias.each()
        rows = zip(self.carriers, self.kinds, self.parents, placements, inertias, self.q, self.v, strict=True)
        made = []
        for index, (own, kind, parent, placement, inertia, q, v) in enumerate(rows):
            loads = (own.armature, own.damping, own.friction)
            mimic = own.mimic if isinstance(own, Joint) else None
            tie = (mimic.multiplier, mimic.offset) if mimic else (1.0, 0.0)
            rest = (own.stiffness, own.rest, mimic is not None)
            made.append(Body(own.name, index, parent, kind, placement, inertia, q, v, *loads, *tie, *rest))
        return tuple(made)


class Bodies(Sequence[Body]):
    """Sequence of bodies stored as columns; the objects are created on first access."""

    def __init__(self, columns: BodyColumns) -> None:
        """Store the columns."""
        self.columns = columns

    @property
    def _all(self) -> tuple[Body, ...]:
        made: tuple[Body, ...] | None = vars(self).get("_made")
        # setdefault: concurrent threads get the same objects.
        return made if made is not None else vars(self).setdefault("_made", self.columns.bodies())

    def __len__(self) -> int:
        return len(self.columns.parents)

    def __iter__(self) -> Iterator[Body]:
        return iter(self._all)

    def __getitem__(self, index: Any) -> Any:
        return self._all[index]


@dataclass(frozen=True, eq=False, slots=True)
class Frame:
    """Constant pose of a link of the description in a body frame or the world frame."""

    link: str
    body: int
    pose: Transform


class LinkFrames(Mapping[str, Frame]):
    """Mapping of link frames; the objects are created on first access."""

    def __init__(self, places: Mapping[str, tuple[int, Pose]]) -> None:
        """Store the body of each link and the pose of the link in it."""
        self._places = places

    @property
    def _all(self) -> dict[str, Frame]:
        made: dict[str, Frame] | None = vars(self).get("_made")
        return made if made is not None else vars(self).setdefault("_made", self._make())

    def _make(self) -> dict[str, Frame]:
        """Create the frames; equal poses are shared."""
        distinct = {id(pose): pose for _, pose in self._places.values()}
        rows = cleaned(*stacked(list(distinct.values())))
        poses = dict(zip(distinct, transforms(*rows), strict=True))
        return {name: Frame(name, body, poses[id(pose)]) for name, (body, pose) in self._places.items()}

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, link: object) -> bool:
        return link in self._places

    def __getitem__(self, link: str) -> Frame:
        return self._all[link]


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop joint between frame A of one body and frame B of another body or the world.

    The joint axis is on the same coordinate axis in both frames. The first axis of a universal joint is z of frame A,
    the second one y of frame B.
    """

    name: str
    joint: JointType
    parent: int  # body of frame A, or WORLD
    parent_pose: Transform  # of frame A in that body
    child: int
    child_pose: Transform  # of frame B
    turn: Transform = field(default_factory=Transform)  # frame B in the child-side frame of the description
    is_turned: bool = False  # parent and child are exchanged relative to the description

    @cached_property
    def rows(self) -> tuple[RowKind, ...]:
        """Constraint rows: the columns of T, forces first."""
        return self.joint.rows()

    @cached_property
    def kept_axes(self) -> tuple[int, ...]:
        """Coordinate axes that keep the same direction in both frames."""
        return self.joint.kept_axes()

    @cached_property
    def moves_origin(self) -> bool:
        """Return True if the joint allows relative translation of the origins."""
        return self.joint.moves_origin()

    def turned(self) -> Loop:
        """Return the joint with parent and child exchanged; a universal joint is returned unchanged."""
        if self.joint.axes == 2:
            return self
        half = replace(self, parent=self.child, parent_pose=self.child_pose, is_turned=not self.is_turned)
        return replace(half, child=self.parent, child_pose=self.parent_pose)


@dataclass(frozen=True, eq=False)
class Tree:
    """Bodies in depth-first order (parents before children), and loop joints."""

    bodies: Sequence[Body]
    frames: Mapping[str, Frame]
    gravity: Vec3
    nq: int
    nv: int
    loops: tuple[Loop, ...] = ()

    @cached_property
    def columns(self) -> BodyColumns:
        """Constants of all bodies, which must be numbers."""
        return self.bodies.columns if isinstance(self.bodies, Bodies) else BodyColumns.of(self.bodies)

    @property
    def grounded_loops(self) -> list[str]:
        """Names of loop joints between a body and the world."""
        return [loop.name for loop in self.loops if WORLD in (loop.parent, loop.child)]

    def ancestry(self, body: int) -> list[int]:
        """The body and its ancestors, innermost first."""
        path = []
        while body != WORLD:
            path.append(body)
            body = self.bodies[body].parent
        return path

    def with_turned_loops(self) -> Tree:
        """Return the tree with parent and child of all loop joints exchanged."""
        return replace(self, loops=tuple(loop.turned() for loop in self.loops))

    def with_inertias(self, inertias: Sequence[RigidInertia]) -> Tree:
        """Return the tree with other body inertias."""
        bodies = tuple(replace(b, inertia=i) for b, i in zip(self.bodies, inertias, strict=True))
        return replace(self, bodies=bodies)


# --- base inertial parameters -----------------------------------------------------------------------------------------
MAX_DEPTH = 12  # of a chain of joints up to which a few roundings are lost


def depth(tree: Tree) -> int:
    """Number of joints on the longest path from the base."""
    below = [0] * len(tree.bodies)
    for body in tree.bodies:
        below[body.index] = 1 + (below[body.parent] if body.parent != WORLD else 0)
    return max(below, default=0)


def for_efforts(tree: Tree) -> Tree:
    """Return the tree for efforts and accelerations: regrouped in short chains, where no digits are lost."""
    return regroup(tree) if depth(tree) <= MAX_DEPTH else tree


def regroup(tree: Tree) -> Tree:
    """Return the tree with base inertial parameters, which contain more zeros for constant folding.

    A mass on the axis of a revolute joint and an inertia that is symmetric about it act on the joint and its ancestors
    as if fixed to the parent link. Moving them there keeps efforts, accelerations and the mass matrix; it changes
    wrenches, energies and momenta of single links. In long chains the parameters of the parents grow and digits are
    lost (2e-13 at 32 links, 1e-12 at 128).
    """
    inertias = [body.inertia for body in tree.bodies]
    for body in reversed(tree.bodies):
        parts = body.joint.split_inertia(inertias[body.index])
        if parts is None:
            continue
        kept, moved = parts
        inertias[body.index] = kept
        if body.parent != WORLD:
            inertias[body.parent] = _clean(inertias[body.parent] + body.placement.to_parent(moved))
    return tree.with_inertias(inertias)


def _clean(inertia: RigidInertia) -> RigidInertia:
    h: Array = np.array(inertia.first_moment)
    about: Array = np.array(inertia.about_origin)
    return RigidInertia(inertia.mass, to_vec3(clean_relative(h)), to_mat3(clean_relative(about)))


# --- stacked constants, ten times as fast as single small arrays ----------------------------------------------------
def stack(values: Sequence[Array]) -> Array:
    """Stack small arrays; shared ones are converted once."""
    distinct = dict(zip(map(id, values), values, strict=True))
    rows = np.array(list(distinct.values()))
    if len(distinct) == len(values):
        return rows
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    index = np.fromiter(map(numbers.__getitem__, map(id, values)), np.intp, len(values))
    shared: Array = rows[index]
    return shared


def stacked(poses: Sequence[Pose]) -> Pose:
    """Stack poses: rotations (n, 3, 3) and positions (n, 3)."""
    return stack([R for R, _ in poses]).reshape(-1, 3, 3), stack([p for _, p in poses]).reshape(-1, 3)


def cleaned(R: Array, p: Array) -> Pose:
    """Remove rounding errors next to exact zeros and ones, and negative zeros."""
    return clean_rotation(R) + 0.0, clean_relative(p, axes=1) + 0.0


def transforms(matrices: Array, positions: Array) -> list[Transform]:
    """Convert cleaned poses to transforms in their cheapest form; equal rotations are shared."""
    keys = [row.tobytes() for row in matrices]
    distinct = dict(zip(keys, matrices.tolist(), strict=True))
    rotations = {key: constant_rotation(Mat3.of(rows)) for key, rows in distinct.items()}
    return [Transform(rotations[key], Vec3(*x)) for key, x in zip(keys, positions.tolist(), strict=True)]


class Inertias(NamedTuple):
    """Spatial inertias of many bodies about their origins, one per row."""

    mass: Array
    first_moment: Array
    about_origin: Array

    @classmethod
    def of(cls, bodies: Sequence[RigidInertia]) -> Inertias:
        """Stack the inertias of bodies."""
        m, h, about = zip(*bodies, strict=True) if bodies else ((), (), ())
        return cls(np.array(m, float), np.array(h, float).reshape(-1, 3), np.array(about, float).reshape(-1, 3, 3))

    def each(self) -> list[RigidInertia]:
        """Return one object per body."""
        rows = zip(*(column.tolist() for column in self), strict=True)
        return [RigidInertia(m, Vec3(*h), Mat3.of(I)) for m, h, I in rows]


def point_inertias(m: Array, c: Array) -> Array:
    """Inertias about the origin of point masses (n,) at positions (n, 3).

    Diagonal entries are sums such as cy² + cz²; |c|² - cx² would lose the digits of small entries.
    """
    squares, found = c * c, -c[:, :, None] * c[:, None, :]
    for i in range(3):
        found[:, i, i] = squares[:, (i + 1) % 3] + squares[:, (i + 2) % 3]
    return np.asarray(m[:, None, None] * found)


def point_inertia(m: float, c: Array) -> Array:
    """Inertia about the origin of one point mass at c."""
    return np.asarray(point_inertias(np.array([m]), np.asarray(c, dtype=float)[None, :])[0])


def inertia_about_com(inertia: RigidInertia) -> Array:
    """Rotational inertia of a body with mass about its centre of mass."""
    c = np.array(inertia.first_moment) / inertia.mass
    return np.asarray(np.array(inertia.about_origin) - point_inertia(inertia.mass, c))
